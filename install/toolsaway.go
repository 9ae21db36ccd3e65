package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/plan"
)

// toolsAwayStep removes the packages that an earlier step of the run has brought for a build. Its undo is none: that of
// the earlier step takes away what is left of them.
type toolsAwayStep struct {
	noUndo
	run *run
}

// toolsAwayUndo is what goes and what stays, settled before the first package goes.
type toolsAwayUndo struct {
	Go   []string `json:"go"`
	Stay []string `json:"stay,omitempty"` // as asked for, not as a dependency of what goes
}

// toolsGone says that the run has begun to remove what a step brought: from then on nobody wants it back.
func (r *run) toolsGone(step string) bool {
	records := r.records()
	return slices.ContainsFunc(r.plan.Steps, func(s plan.Step) bool {
		_, begun := records[s.ID]
		return begun && s.Changes.BroughtBy == step
	})
}

// brought are the packages that a step has added to the host, as far as they are there still.
func (x *toolsAwayStep) brought(ctx context.Context, step string) ([]pkgmgr.Package, pkgmgr.Database, error) {
	db, err := x.run.pm.Installed(ctx)
	if err != nil {
		return nil, nil, managerFault("cannot read the package database", err)
	}
	rec, ok := x.run.records()[step]
	if !ok {
		return nil, db, nil // all of it was there before
	}
	var u packagesUndo
	if err := decode(rec.undo, &u); err != nil {
		return nil, nil, err
	}
	var out []pkgmgr.Package
	for _, a := range u.Announced {
		key := a.Name + ":" + a.Arch
		was := slices.ContainsFunc(u.Before, func(p pkgmgr.Package) bool { return p.Key() == key })
		if p, here := db[key]; here && !was && p.Status == pkgmgr.Installed {
			out = append(out, p)
		}
	}
	return out, db, nil
}

func (x *toolsAwayStep) check(ctx context.Context, s plan.Step, _ bool) (bool, error) {
	rec, ok := x.run.records()[s.ID]
	if !ok {
		all, _, err := x.brought(ctx, s.Changes.BroughtBy)
		return len(all) == 0, err
	}
	var u toolsAwayUndo
	if err := decode(rec.undo, &u); err != nil {
		return false, err
	}
	db, err := x.run.pm.Installed(ctx)
	if err != nil {
		return false, managerFault("cannot read the package database", err)
	}
	return rec.left != nil && !slices.ContainsFunc(u.Go, func(key string) bool { return db[key].Status == pkgmgr.Installed }), nil
}

// prepare settles what goes: all that was brought, but for packages with shared libraries, and for what something else
// needs by now.
func (x *toolsAwayStep) prepare(ctx context.Context, s plan.Step) (any, error) {
	all, db, err := x.brought(ctx, s.Changes.BroughtBy)
	if err != nil || len(all) == 0 {
		return toolsAwayUndo{}, err
	}
	m, ok := x.run.pm.(pkgmgr.FileLister)
	if !ok {
		return nil, fmt.Errorf("cannot tell which of the packages have libraries with %s", x.run.pm.Name())
	}
	files, err := m.FilesOf(ctx, all)
	if err != nil {
		return nil, managerFault("cannot ask for the files of packages", err)
	}
	u := toolsAwayUndo{Go: []string{}}
	for _, p := range all {
		if slices.ContainsFunc(files[p.Key()], sharedLibrary) {
			u.Stay = append(u.Stay, p.Key())
		} else {
			u.Go = append(u.Go, p.Key())
		}
	}
	for len(u.Go) > 0 {
		actions, err := x.run.pm.SolveUndo(ctx, x.undoOf(u, db))
		if err != nil {
			return nil, managerFault("cannot solve for the removal of what was built with", err)
		}
		foreign := []string{}
		for _, a := range actions {
			if key := a.Name + ":" + a.Arch; a.Action == "remove" && !slices.Contains(u.Go, key) {
				foreign = append(foreign, key)
			}
		}
		if len(foreign) == 0 {
			break
		}
		// A package with a library that needs one that goes, such as a library and its data: both stay.
		if u.Go, u.Stay, err = x.without(ctx, u, foreign, db); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// without leaves out of what goes each package whose removal alone takes one of others with it.
func (x *toolsAwayStep) without(ctx context.Context, u toolsAwayUndo, others []string, db pkgmgr.Database) (goes, stay []string, err error) {
	goes, stay = []string{}, slices.Clone(u.Stay)
	for _, key := range u.Go {
		actions, err := x.run.pm.SolveUndo(ctx, x.undoOf(toolsAwayUndo{Go: []string{key}}, db))
		if err != nil {
			return nil, nil, managerFault("cannot solve for the removal of what was built with", err)
		}
		if slices.ContainsFunc(actions, func(a plan.ResolvedPackage) bool {
			return a.Action == "remove" && slices.Contains(others, a.Name+":"+a.Arch)
		}) {
			stay = append(stay, key)
		} else {
			goes = append(goes, key)
		}
	}
	if len(goes) == len(u.Go) {
		return nil, nil, errors.New("cannot tell which package to build with is needed by " + strings.Join(others, ", "))
	}
	return goes, stay, nil
}

// sharedLibrary says that a file is one that programs are linked to: libnl-3.so.200, not libnl-3.so of a package to
// build with.
func sharedLibrary(file string) bool {
	_, version, ok := strings.Cut(path.Base(file), ".so.")
	return ok && version != "" && strings.Trim(version, "0123456789.") == "" && slices.ContainsFunc([]string{"/lib", "/lib64", "/usr/lib", "/usr/lib64"}, func(dir string) bool {
		rest, below := strings.CutPrefix(path.Dir(file), dir)
		return below && (rest == "" || strings.Count(rest, "/") == 1) // of Debian, /usr/lib/x86_64-linux-gnu
	})
}

// undoOf asks for what of the set is there still.
func (x *toolsAwayStep) undoOf(u toolsAwayUndo, db pkgmgr.Database) pkgmgr.Undo {
	out := pkgmgr.Undo{}
	for _, key := range u.Go {
		p, ok := db[key]
		if !ok || p.Status == pkgmgr.ConfigFiles {
			continue
		}
		name := p.Name
		if count(db, name) > 1 {
			name = key
		}
		out.Purge = append(out.Purge, name)
	}
	return out
}

func (x *toolsAwayStep) do(ctx context.Context, _ plan.Step, undo json.RawMessage) (any, string, error) {
	var u toolsAwayUndo
	if err := decode(undo, &u); err != nil {
		return nil, "", err
	}
	if err := x.run.waitForManager(ctx); err != nil {
		return nil, "", managerFault("cannot use the package manager", err)
	}
	db, err := x.run.pm.Installed(ctx)
	if err != nil {
		return nil, "", managerFault("cannot read the package database", err)
	}
	stay := []string{}
	for _, key := range u.Stay {
		if p, ok := db[key]; ok {
			stay = append(stay, p.Name)
		}
	}
	if len(stay) > 0 {
		// The next `apt autoremove` would take a library that the build is linked to.
		if err := x.run.pm.SetAuto(ctx, nil, stay); err != nil {
			return nil, "", fmt.Errorf("cannot keep the libraries of the build: %w", err)
		}
	}
	if goes := x.undoOf(u, db); !goes.Empty() {
		if err := x.run.pm.Undo(ctx, goes); err != nil {
			return nil, "", fmt.Errorf("cannot remove what was built with: %w", err)
		}
	}
	after, err := x.run.pm.Installed(ctx)
	if err != nil {
		return nil, "", managerFault("cannot read the package database", err)
	}
	var announced []plan.ResolvedPackage
	for _, key := range u.Go {
		if p, ok := db[key]; ok {
			announced = append(announced, plan.ResolvedPackage{Name: p.Name, Arch: p.Arch, From: p.Version, Action: "remove"})
		}
	}
	if diff := pkgmgr.Difference(db, after, announced); len(diff) > 0 {
		return nil, "", fmt.Errorf("cannot remove what was built with as announced: %s", strings.Join(diff, "; "))
	}
	text := fmt.Sprintf("%d packages went", len(u.Go))
	if len(u.Stay) > 0 {
		text += fmt.Sprintf(", %d stay for their libraries", len(u.Stay))
	}
	return toolsAwayUndo{Go: u.Go}, text, nil
}

func (x *toolsAwayStep) undo(context.Context, plan.Step, record) (undone, error) {
	return undone{}, nil
}
