package apt

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// Holds are dpkg's selections: apt-mark writes them, apt-get and every other front end heed them.

// CanHold is nil: dpkg has always had selections.
func (s *Solver) CanHold() error { return nil }

// HoldsOn are named as showhold names them: with the architecture where it is not the host's own.
func (m *Manager) HoldsOn(ctx context.Context, packages []pkgmgr.Package) ([]pkgmgr.Hold, error) {
	out, err := m.ask(ctx, "dpkg", "--print-architecture")
	if err != nil {
		return nil, err
	}
	holds := []pkgmgr.Hold{}
	for _, p := range packages {
		h := pkgmgr.Hold{Name: p.Name}
		if p.Arch != "all" && p.Arch != strings.TrimSpace(out) {
			h.Name = p.Key()
		}
		holds = append(holds, h)
	}
	return holds, nil
}

// Holds lists dpkg's selections.
func (m *Manager) Holds(ctx context.Context) ([]pkgmgr.Hold, error) {
	out, err := m.ask(ctx, "apt-mark", "showhold")
	if err != nil {
		return nil, err
	}
	holds := []pkgmgr.Hold{}
	for _, name := range strings.Fields(out) {
		holds = append(holds, pkgmgr.Hold{Name: name})
	}
	return holds, nil
}

// Hold marks packages. One that is not installed is refused: apt-mark would mark it for an installation to come.
func (m *Manager) Hold(ctx context.Context, holds []pkgmgr.Hold) error {
	return m.mark(ctx, "hold", holds, true)
}

// Release takes marks away.
func (m *Manager) Release(ctx context.Context, holds []pkgmgr.Hold) error {
	return m.mark(ctx, "unhold", holds, false)
}

// mark runs apt-mark for the holds whose state is another one.
func (m *Manager) mark(ctx context.Context, verb string, holds []pkgmgr.Hold, set bool) error {
	now, err := m.Holds(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, h := range holds {
		if err := checkName(h.Name); err != nil {
			return err
		}
		if slices.Contains(now, h) != set {
			names = append(names, h.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	_, err = m.run(ctx, append([]string{"apt-mark", verb}, names...)...)
	return err
}

// HoldFiles are none: the marks are in dpkg's database.
func (m *Manager) HoldFiles() ([]string, error) { return nil, nil }

// Released returns a manager that reads a copy of dpkg's status without the marks.
func (m *Manager) Released(_ context.Context, dir string, holds []pkgmgr.Hold) (pkgmgr.Manager, error) {
	if len(holds) == 0 {
		return m, nil
	}
	if !path.IsAbs(dir) || strings.ContainsAny(dir, " ,;\"\t\n") {
		return nil, fmt.Errorf("cannot foresee packages in %q: not an absolute path of plain letters", dir)
	}
	text, err := m.Host.ReadFile(m.after.source())
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", m.after.source(), err)
	}
	a := &after{status: dir + "/status"}
	if m.after != nil {
		a.gone = m.after.gone
	}
	if err := pkgmgr.WriteFiles(m.Writer, []pkgmgr.File{{Path: a.status, Data: []byte(withoutHolds(string(text), holds)), Mode: 0o644}}); err != nil {
		return nil, err
	}
	out := *m
	out.after, out.runner = a, m.Writer
	return &out, nil
}

// withoutHolds is a status file in which packages are not on hold.
func withoutHolds(text string, holds []pkgmgr.Hold) string {
	const held, free = "Status: hold ", "Status: install "
	var out strings.Builder
	for paragraph := range strings.SplitAfterSeq(text, "\n\n") {
		p := pkgmgr.Package{Name: field(paragraph, "Package"), Arch: field(paragraph, "Architecture")}
		if slices.ContainsFunc(holds, func(h pkgmgr.Hold) bool { return h.Covers(p) }) {
			if rest, ok := strings.CutPrefix(paragraph, held); ok {
				paragraph = free + rest
			} else {
				paragraph = strings.Replace(paragraph, "\n"+held, "\n"+free, 1)
			}
		}
		out.WriteString(paragraph)
	}
	return out.String()
}
