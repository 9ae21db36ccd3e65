package apt

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/plan"
)

// Unmet asks apt whether dependencies are unmet on the host: it then refuses to install nothing at all.
func (s *Solver) Unmet(ctx context.Context) (bool, error) {
	_, err := s.ask(ctx, "apt-get", "-s", "install")
	var command *pkgmgr.CommandError
	if errors.As(err, &command) && slices.ContainsFunc(command.Lines, func(l string) bool { return strings.Contains(strings.ToLower(l), "unmet dependencies") }) {
		return true, nil
	}
	return false, err
}

// mending is the option that has apt solve a request on a host whose dependencies are unmet. What it would do beside
// the request is in its answer, and is judged there.
func (s *Solver) mending(ctx context.Context, req pkgmgr.Request) ([]string, error) {
	if len(req.Remove) == 0 {
		return nil, nil // only what takes packages away is meant to work on such a host
	}
	unmet, err := s.Unmet(ctx)
	if err != nil || !unmet {
		return nil, err
	}
	return []string{"--fix-broken"}, nil
}

// undoUnmet puts packages back on a host whose dependencies were unmet before: apt cannot, and dpkg is told to go on in
// spite of that, since so it was. What goes is removed without that, so that it stops for whoever needs it since.
func (m *Manager) undoUnmet(ctx context.Context, u pkgmgr.Undo) error {
	files := []string{}
	for _, b := range u.Back {
		files = append(files, b.File)
	}
	if len(files) > 0 {
		if _, err := m.run(ctx, slices.Concat([]string{"dpkg", "--install", "--force-depends", "--force-confdef", "--force-confold", "--"}, files)...); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		verb  string
		names []string
	}{{"--remove", u.Remove}, {"--purge", u.Purge}} {
		db, err := m.Installed(ctx)
		if err != nil {
			return err
		}
		names := slices.DeleteFunc(slices.Clone(c.names), func(n string) bool { return len(named(db, n)) == 0 })
		if len(names) == 0 {
			continue
		}
		if _, err := m.run(ctx, slices.Concat([]string{"dpkg", c.verb, "--"}, names)...); err != nil {
			return err
		}
	}
	return nil
}

// undoneUnmet is what undoUnmet does.
func undoneUnmet(u pkgmgr.Undo) []plan.ResolvedPackage {
	out := []plan.ResolvedPackage{}
	for _, b := range u.Back {
		out = append(out, plan.ResolvedPackage{Name: b.Name, Arch: b.Arch, Version: b.Version, Action: "install"})
	}
	return out
}
