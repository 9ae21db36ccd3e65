package zypper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr/rpm"
)

// autoInstalled is libzypp's list of packages that came only as dependencies: one name a line, beside
// comments. zypper has no command that writes it.
const autoInstalled = "/var/lib/zypp/AutoInstalled"

// Auto returns the packages that were installed only as dependencies.
func (m *Manager) Auto(context.Context) ([]string, error) {
	text, err := m.Host.ReadFile(autoInstalled)
	if errors.Is(err, fs.ErrNotExist) {
		return []string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", autoInstalled, err)
	}
	auto := []string{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			auto = append(auto, line)
		}
	}
	return auto, nil
}

// SetAuto rewrites the list.
func (m *Manager) SetAuto(ctx context.Context, auto, manual []string) error {
	if len(auto) == 0 && len(manual) == 0 {
		return nil
	}
	for _, n := range slices.Concat(auto, manual) {
		if err := rpm.CheckName(n); err != nil {
			return err
		}
	}
	now, err := m.Auto(ctx)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, n := range slices.Concat(now, auto) {
		names[n] = true
	}
	for _, n := range manual {
		delete(names, n)
	}
	list := []string{}
	for n := range names {
		list = append(list, n)
	}
	sort.Strings(list)
	text := "# written by rdmactl in libzypp's form\n#\n" + strings.Join(append(list, "#"), "\n") + "\n"
	if err := m.Writer.MkdirAll("/var/lib/zypp", 0o755); err != nil {
		return fmt.Errorf("cannot make /var/lib/zypp: %w", err)
	}
	if err := m.Writer.WriteFile(autoInstalled, []byte(text), 0o644); err != nil {
		return fmt.Errorf("cannot write %s: %w", autoInstalled, err)
	}
	return nil
}
