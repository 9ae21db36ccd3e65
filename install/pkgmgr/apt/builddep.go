package apt

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// BuildNeeds has apt's solver answer for the build dependencies of a directory (apt 1.1 and newer): alternatives,
// virtual packages, architectures and profiles are its to read.
func (m *Manager) BuildNeeds(ctx context.Context, dir string, profiles []string) ([]pkgmgr.Want, error) {
	if !path.IsAbs(dir) || !regexp.MustCompile(`^[A-Za-z0-9/._+~-]+$`).MatchString(dir) {
		return nil, fmt.Errorf("cannot read build dependencies in %q: not an absolute path of plain letters", dir)
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	// Not all options of an installation are known to build-dep.
	argv := []string{
		"apt-get", "--simulate", "build-dep", "--no-install-recommends", "-o", "APT::Get::AllowUnauthenticated=false",
		"--build-profiles", strings.Join(profiles, ","), dir,
	}
	res, err := m.Writer.Run(ctx, host.Command{Argv: m.with(argv), Env: env()})
	if err != nil {
		return nil, fmt.Errorf("cannot run apt-get: %w", err)
	}
	if res.Exit != 0 {
		if lines := unmetNeeds(res.Stdout); len(lines) > 0 {
			return nil, &pkgmgr.UnmetNeedsError{Lines: lines}
		}
		return nil, failure(res)
	}
	actions, _, err := m.actions(ctx, res.Stdout)
	if err != nil {
		return nil, err
	}
	var out []pkgmgr.Want
	for _, a := range actions {
		if a.Action != "install" && a.Action != "upgrade" {
			return nil, fmt.Errorf("cannot install what the build needs: apt-get would %s %s", a.Action, a.Name)
		}
		out = append(out, pkgmgr.Want{Name: a.Name, Version: a.Version})
	}
	return out, nil
}

// unmetNeeds are the lines in which apt names dependencies that nothing meets, without the directory.
func unmetNeeds(out string) []string {
	_, after, ok := strings.Cut(out, "unmet dependencies:\n")
	if !ok {
		return nil
	}
	var lines []string
	for line := range strings.Lines(after) {
		if !strings.HasPrefix(line, " ") {
			break
		}
		if i := strings.Index(line, "Depends: "); i >= 0 && len(lines) < 6 {
			lines = append(lines, strings.TrimSpace(line[i:]))
		}
	}
	return lines
}
