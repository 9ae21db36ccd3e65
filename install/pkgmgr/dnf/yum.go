package dnf

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// yumDB is where yum 3 keeps what it knows of packages beside the rpm database: one directory a
// package, LETTER/PKGID-NAME-VERSION-RELEASE-ARCH, with a file for each fact. The command yumdb, which
// reads and writes it, is of yum-utils and may be missing.
const yumDB = "/var/lib/yum/yumdb"

// yumEntry is the directory of an installed package.
func yumEntry(id, name, version, release, arch string) string {
	return path.Join(yumDB, name[:1], id+"-"+name+"-"+version+"-"+release+"-"+arch)
}

// yumEntries are the directories of packages; PKGID is the SHA-1 of the package's header.
func (m *Manager) yumEntries(ctx context.Context, options ...string) (map[string]string, error) {
	out, err := m.Ask(ctx, append([]string{"rpm", "-q", "--qf", `%{SHA1HEADER}\t%{NAME}\t%{VERSION}\t%{RELEASE}\t%{ARCH}\n`}, options...)...)
	if err != nil {
		return nil, err
	}
	entries := map[string]string{}
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 5 || f[1] == "" {
			return nil, fmt.Errorf("cannot read the rpm database: %q", line)
		}
		entries[yumEntry(f[0], f[1], f[2], f[3], f[4])] = f[1]
	}
	return entries, nil
}

func (m *Manager) yumAuto(ctx context.Context) ([]string, error) {
	entries, err := m.yumEntries(ctx, "-a")
	if err != nil {
		return nil, err
	}
	auto := []string{}
	for dir, name := range entries {
		reason, err := m.Host.ReadFile(dir + "/reason")
		if errors.Is(err, fs.ErrNotExist) {
			continue // installed by rpm itself: asked for
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read yum's marks: %w", err)
		}
		if strings.TrimSpace(string(reason)) == "dep" {
			auto = append(auto, name)
		}
	}
	return auto, nil
}

func (m *Manager) yumMark(ctx context.Context, names []string, reason string) error {
	entries, err := m.yumEntries(ctx, names...)
	if err != nil {
		return err
	}
	for dir := range entries {
		if err := m.Writer.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("cannot make %s: %w", dir, err)
		}
		// yum links files of equal content: a file is replaced, never written into.
		if err := m.Drop([]string{dir + "/reason"}); err != nil {
			return err
		}
		if err := m.Writer.WriteFile(dir+"/reason", []byte(reason), 0o644); err != nil {
			return fmt.Errorf("cannot mark a package: %w", err)
		}
	}
	return nil
}
