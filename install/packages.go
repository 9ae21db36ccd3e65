package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// packagesStep is one transaction of the package manager.
type packagesStep struct{ run *run }

// packagesUndo is what the transaction will do and what was there before it.
type packagesUndo struct {
	Request   pkgmgr.Request         `json:"request"`
	Announced []plan.ResolvedPackage `json:"announced"`
	Before    []pkgmgr.Package       `json:"before"` // entries of announced packages, if any
	Old       []pkgmgr.OldPackage    `json:"old,omitempty"`
	Auto      []string               `json:"auto"` // packages marked automatic
	// Unmet says that dependencies were unmet before.
	Unmet bool `json:"unmet,omitempty"`
	// Keys are the files of keyPairs that were there.
	Keys []string `json:"keys,omitempty"`
	// Etc is the file in the run's directory with what was below /etc, where scripts of a vendor run.
	Etc string `json:"etc,omitempty"`
}

// packagesLeft is what the transaction left other than the package database tells.
type packagesLeft struct {
	Etc []keptFile `json:"etc,omitempty"` // changed, without their texts
}

func (x *packagesStep) recorded(s plan.Step) (packagesUndo, bool, error) {
	var u packagesUndo
	rec, ok := x.run.records()[s.ID]
	if !ok || rec.undo == nil {
		return u, false, nil
	}
	return u, true, decode(rec.undo, &u)
}

func (x *packagesStep) check(ctx context.Context, s plan.Step, _ bool) (bool, error) {
	u, ok, err := x.recorded(s)
	if err != nil {
		return false, err
	}
	if !ok {
		return x.run.requests[s.ID].Empty(), nil
	}
	if x.run.records()[s.ID].left == nil {
		return false, nil // it was cut short: packages may be there, but their marks not
	}
	if s.ID == plan.RemovalStep {
		return true, nil // what has these names now came after it
	}
	if x.run.toolsGone(s.ID) {
		return true, nil // a later step has begun to take them away
	}
	db, err := x.run.pm.Installed(ctx)
	if err != nil {
		return false, err
	}
	for _, a := range u.Announced {
		p := db[a.Name+":"+a.Arch]
		if a.Version == "" && p.Status == pkgmgr.Installed || a.Version != "" && (p.Status != pkgmgr.Installed || p.Version != a.Version) {
			return false, nil
		}
	}
	return true, nil
}

func (x *packagesStep) prepare(ctx context.Context, s plan.Step) (any, error) {
	req := x.run.requests[s.ID]
	sol, err := x.run.pm.Solve(ctx, req)
	if err != nil {
		return nil, err
	}
	if extra := notIn(sol.Actions, x.run.solution.Actions); len(extra) > 0 {
		return nil, fault.New(fault.Stopped, "solution-changed", "run it again", "cannot install packages: the package manager's answer changed since staging: %s", strings.Join(extra, ", "))
	}
	db, err := x.run.pm.Installed(ctx)
	if err != nil {
		return nil, err
	}
	auto, err := x.run.pm.Auto(ctx)
	if err != nil {
		return nil, err
	}
	u := packagesUndo{Request: req, Announced: sol.Actions, Before: []pkgmgr.Package{}, Auto: auto}
	if u.Keys, err = x.run.keysThere(); err != nil {
		return nil, err
	}
	if m, ok := x.run.pm.(pkgmgr.Unmeeting); ok && restoring(x.run.plan) {
		if u.Unmet, err = m.Unmet(ctx); err != nil {
			return nil, err
		}
	}
	if x.run.runsScripts() {
		if u.Etc, err = x.keepEtc(s); err != nil {
			return nil, err
		}
	}
	for _, a := range sol.Actions {
		if p, ok := db[a.Name+":"+a.Arch]; ok {
			u.Before = append(u.Before, p)
			for _, old := range x.run.old {
				if old.Key() == p.Key() && old.Version == p.Version {
					u.Old = append(u.Old, old)
				}
			}
		}
	}
	return u, nil
}

// notIn returns the actions that were not announced before, as lines.
func notIn(actions, announced []plan.ResolvedPackage) []string {
	out := []string{}
	for _, a := range actions {
		if !slices.ContainsFunc(announced, func(b plan.ResolvedPackage) bool {
			return a.Name == b.Name && a.Arch == b.Arch && a.Version == b.Version && a.Action == b.Action
		}) {
			out = append(out, strings.TrimSpace(a.Action+" "+a.Name+" "+a.Version))
		}
	}
	return out
}

func (x *packagesStep) do(ctx context.Context, s plan.Step, undo json.RawMessage) (any, string, error) {
	var u packagesUndo
	if err := decode(undo, &u); err != nil {
		return nil, "", err
	}
	before, err := x.run.pm.Installed(ctx)
	if err != nil {
		return nil, "", err
	}
	if err := x.applyWith(ctx, u); err != nil {
		return nil, "", fmt.Errorf("cannot install packages: %w", err)
	}
	after, err := x.run.pm.Installed(ctx)
	if err != nil {
		return nil, "", err
	}
	if diff := pkgmgr.Difference(before, after, u.Announced); len(diff) > 0 {
		return nil, "", fault.New(fault.Failed, "database-differs", "", "cannot install packages as announced: %s", strings.Join(diff, "; "))
	}
	if err := x.markDependencies(ctx, u, before); err != nil {
		return nil, "", err
	}
	if err := x.keepMarks(ctx, u, after); err != nil {
		return nil, "", err
	}
	var left any
	if u.Etc != "" {
		changed, err := x.changedEtc(u)
		if err != nil {
			return nil, "", err
		}
		left = packagesLeft{Etc: changed}
	}
	names := []string{}
	for _, a := range u.Announced {
		names = append(names, a.Name)
	}
	return left, fmt.Sprintf("%d packages: %s", len(names), strings.Join(names, ", ")), nil
}

// keepEtc keeps what is below /etc in the run's directory.
func (x *packagesStep) keepEtc(s plan.Step) (string, error) {
	files, err := lookAtEtc(x.run.host, true)
	if err != nil {
		return "", err
	}
	data, err := packKept(files)
	if err != nil {
		return "", err
	}
	name := "backup/" + s.ID + "-etc.json.gz"
	return name, x.run.journal.WriteFile(name, data)
}

func (x *packagesStep) keptEtc(u packagesUndo) ([]keptFile, error) {
	data, err := x.run.journal.ReadFile(u.Etc)
	if err != nil {
		return nil, err
	}
	return unpackKept(data)
}

// changedEtc is what is other than it was before the step.
func (x *packagesStep) changedEtc(u packagesUndo) ([]keptFile, error) {
	before, err := x.keptEtc(u)
	if err != nil {
		return nil, err
	}
	after, err := lookAtEtc(x.run.host, false)
	if err != nil {
		return nil, err
	}
	return changedEtc(before, after), nil
}

// markDependencies marks what came only as a dependency, after an attempt that was cut short: the
// package manager writes its marks at the end of a transaction and would take what the first attempt
// brought for asked for.
func (x *packagesStep) markDependencies(ctx context.Context, u packagesUndo, before pkgmgr.Database) error {
	auto := []string{}
	cut := false
	for _, a := range u.Announced {
		if a.Action != "install" {
			continue
		}
		key := a.Name + ":" + a.Arch
		was := slices.ContainsFunc(u.Before, func(p pkgmgr.Package) bool { return p.Key() == key })
		if _, here := before[key]; here && !was {
			cut = true
		}
		// A kernel that is kept beside others is asked for by its plain name.
		base := before[key].Base
		if !slices.ContainsFunc(u.Request.Install, func(w pkgmgr.Want) bool { return w.Name == a.Name || base != "" && w.Name == base }) {
			auto = append(auto, a.Name)
		}
	}
	if !cut {
		return nil
	}
	return x.run.pm.SetAuto(ctx, auto, nil)
}

// keepMarks marks what was a dependency before as one again: a version that is asked for by name counts as asked for.
func (x *packagesStep) keepMarks(ctx context.Context, u packagesUndo, after pkgmgr.Database) error {
	if !u.Request.Purge {
		return nil
	}
	auto := slices.Clone(u.Request.Dependencies)
	for _, w := range u.Request.Install {
		if slices.Contains(u.Auto, w.Name) && after.Has(w.Name) && !slices.Contains(auto, w.Name) {
			auto = append(auto, w.Name)
		}
	}
	if len(auto) == 0 {
		return nil
	}
	return x.run.pm.SetAuto(ctx, auto, nil)
}

// undoOf says what goes and what comes back, from the package database as it is now.
func (x *packagesStep) undoOf(ctx context.Context, u packagesUndo) (pkgmgr.Undo, error) {
	out := pkgmgr.Undo{Unmet: u.Unmet}
	db, err := x.run.pm.Installed(ctx)
	if err != nil {
		return out, err
	}
	before := map[string]pkgmgr.Package{}
	for _, p := range u.Before {
		before[p.Key()] = p
	}
	for _, a := range u.Announced {
		key := a.Name + ":" + a.Arch
		was, now := before[key], db[key]
		name := a.Name
		if count(db, a.Name) > 1 {
			name = key
		}
		switch was.Status {
		case pkgmgr.Installed, pkgmgr.Broken:
			asBefore := now.Status == pkgmgr.Installed || now.Status == was.Status
			if asBefore && now.Version == was.Version {
				continue
			}
			i := slices.IndexFunc(u.Old, func(o pkgmgr.OldPackage) bool { return o.Key() == key })
			if i < 0 {
				return out, fmt.Errorf("cannot put back package %s %s: its file was not kept", a.Name, was.Version)
			}
			out.Back = append(out.Back, u.Old[i])
		case pkgmgr.ConfigFiles:
			if now.Status == pkgmgr.Installed || now.Status == pkgmgr.Broken {
				out.Remove = append(out.Remove, name)
			}
		default:
			if now.Status != "" {
				out.Purge = append(out.Purge, name)
			}
		}
	}
	return out, nil
}

// wasBroken says that some of the packages were not installed whole before.
func wasBroken(u packagesUndo) bool {
	return slices.ContainsFunc(u.Before, func(p pkgmgr.Package) bool { return p.Status == pkgmgr.Broken })
}

func count(db pkgmgr.Database, name string) int {
	n := 0
	for _, p := range db {
		if p.Name == name {
			n++
		}
	}
	return n
}

// stopper looks whether packages of others would go with ours.
func (x *packagesStep) stopper(ctx context.Context, _ plan.Step, rec record) error {
	var u packagesUndo
	if err := decode(rec.undo, &u); err != nil {
		return err
	}
	undo, err := x.undoOf(ctx, u)
	if err != nil || undo.Empty() {
		return err
	}
	pm, err := x.run.unheld(ctx)
	if err != nil {
		return err
	}
	actions, err := pm.SolveUndo(ctx, undo)
	if err != nil {
		return err
	}
	foreign := []string{}
	for _, a := range actions {
		ours := slices.ContainsFunc(u.Announced, func(b plan.ResolvedPackage) bool { return a.Name == b.Name && a.Arch == b.Arch })
		if !ours {
			foreign = append(foreign, a.Name)
		}
	}
	if len(foreign) > 0 {
		return fault.New(fault.Stopped, "foreign-packages", "remove them first, or keep the run",
			"cannot remove the packages of run %s: others that were installed since need them and would change too: %s",
			x.run.journal.ID, strings.Join(foreign, ", "))
	}
	return nil
}

// editedFiles are configuration files that the administrator changed, saved before a purge.
type editedFiles struct {
	Files []savedFile `json:"files"`
	// Etc is what is other below /etc than it was before the run, without the texts.
	Etc []keptFile `json:"etc,omitempty"`
}

func (x *packagesStep) beforeUndo(ctx context.Context, s plan.Step, rec record) (any, error) {
	var u packagesUndo
	if err := decode(rec.undo, &u); err != nil {
		return nil, err
	}
	undo, err := x.undoOf(ctx, u)
	if err != nil {
		return nil, err
	}
	edited, err := x.run.pm.Edited(ctx, undo.Purge)
	if err != nil {
		return nil, err
	}
	var left packagesLeft
	if err := decode(rec.left, &left); err != nil {
		return nil, err
	}
	byRun := byPath(left.Etc)
	if u.Etc != "" && rec.left == nil {
		edited = nil // the transaction did not come to its end: what was edited, the packages' own scripts edited
	}
	out := editedFiles{Files: []savedFile{}}
	for i, file := range edited {
		// A package's own script may edit its configuration files; that is no administrator's work.
		if now, err := lookAtKept(x.run.host, file, false); err == nil && now.Hash != "" && sameKept(now, byRun[file]) {
			continue
		}
		f, err := save(x.run.host, x.run.journal, file, fmt.Sprintf("%s-edited-%d-%d", s.ID, len(rec.kept), i))
		if err != nil {
			return nil, err
		}
		out.Files = append(out.Files, f)
	}
	if u.Etc != "" && len(rec.kept) == 0 {
		if out.Etc, err = x.changedEtc(u); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (x *packagesStep) undo(ctx context.Context, _ plan.Step, rec record) (undone, error) {
	out := undone{}
	var u packagesUndo
	if err := decode(rec.undo, &u); err != nil {
		return out, err
	}
	undo, err := x.undoOf(ctx, u)
	if err != nil {
		return out, err
	}
	if failed := x.run.pm.Undo(ctx, undo); failed != nil {
		// A package that could not be configured before cannot be configured now.
		if left, err := x.undoOf(ctx, u); err != nil || !left.Empty() || !wasBroken(u) {
			return out, errors.Join(fmt.Errorf("cannot take packages back: %w", failed), err)
		}
		out.notes = append(out.notes, "packages that were not installed whole before the run are so again")
	}
	if left, err := x.undoOf(ctx, u); err != nil {
		return out, err
	} else if !left.Empty() {
		return out, fmt.Errorf("cannot take packages back: still different from before: %s", strings.Join(append(left.Purge, left.Remove...), ", "))
	}
	again := slices.ContainsFunc(u.Before, func(p pkgmgr.Package) bool { return p.Status == pkgmgr.Installed && strings.Contains(p.Name, "dkms") })
	if err := x.run.dropModuleKeys(u.Keys, again); err != nil {
		return out, err
	}
	if err := x.restoreMarks(ctx, u); err != nil {
		return out, err
	}
	notes := out.notes
	if out, err = x.undoScripts(u, rec); err != nil {
		return out, err
	}
	out.notes = append(notes, out.notes...)
	done := map[string]bool{}
	for _, k := range rec.kept {
		var edited editedFiles
		if err := decode(k, &edited); err != nil {
			return out, err
		}
		for _, f := range edited.Files {
			if done[f.Path] {
				continue // saved again by a second attempt
			}
			done[f.Path] = true
			_, err := x.run.host.Lstat(f.Path)
			switch {
			case err == nil: // the package manager left it, or an earlier attempt put it back
			case errors.Is(err, fs.ErrNotExist):
				if err := putBack(x.run.host, x.run.journal, f, f.Path); err != nil {
					return out, err
				}
			default:
				return out, fmt.Errorf("cannot look at %s: %w", f.Path, err)
			}
			out.kept = append(out.kept, f.Path)
			out.notes = append(out.notes, fmt.Sprintf("%s was edited after its package was installed and is kept", f.Path))
		}
	}
	return out, nil
}

// undoScripts puts back what the packages' scripts changed and the package manager does not know of.
func (x *packagesStep) undoScripts(u packagesUndo, rec record) (undone, error) {
	if u.Etc == "" {
		return undone{}, nil
	}
	var found editedFiles // of the first attempt: a later one finds a host that the first has changed
	if len(rec.kept) > 0 {
		if err := decode(rec.kept[0], &found); err != nil {
			return undone{}, err
		}
	}
	left := packagesLeft{Etc: found.Etc} // of a transaction that did not come to its end nothing else is known
	if rec.left != nil {
		left = packagesLeft{}
		if err := decode(rec.left, &left); err != nil {
			return undone{}, err
		}
	}
	before, err := x.keptEtc(u)
	if err != nil {
		return undone{}, err
	}
	return putBackScripted(x.run.host, before, left.Etc, found.Etc)
}

func (x *packagesStep) restoreMarks(ctx context.Context, u packagesUndo) error {
	now, err := x.run.pm.Auto(ctx)
	if err != nil {
		return err
	}
	db, err := x.run.pm.Installed(ctx)
	if err != nil {
		return err
	}
	auto, manual := []string{}, []string{}
	for _, a := range u.Announced {
		if !db.Has(a.Name) {
			continue
		}
		was, is := slices.Contains(u.Auto, a.Name), slices.Contains(now, a.Name)
		switch {
		case was && !is:
			auto = append(auto, a.Name)
		case is && !was:
			manual = append(manual, a.Name)
		}
	}
	for _, w := range u.Request.Install {
		if db.Has(w.Name) && slices.Contains(u.Auto, w.Name) && !slices.Contains(now, w.Name) && !slices.Contains(auto, w.Name) {
			auto = append(auto, w.Name)
		}
	}
	return x.run.pm.SetAuto(ctx, auto, manual)
}
