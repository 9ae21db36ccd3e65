package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/detect"
	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// holdStep has the package manager keep packages at their version, or lifts what earlier runs of rdmactl keep. What
// the administrator holds is neither set again nor lifted.
type holdStep struct{ run *run }

// holdUndo is exactly what the step sets or lifts, and what was there before.
type holdUndo struct {
	Holds  []pkgmgr.Hold `json:"holds"`
	Before []pkgmgr.Hold `json:"before"`
	Files  []savedFile   `json:"files,omitempty"`
}

// holdLeft is what the files were when the step was done.
type holdLeft struct {
	Hashes []string `json:"sha256,omitempty"` // as Files; empty where there is none
}

// holdFate says whether the files are what the run left, before an undo changes them.
type holdFate struct {
	Ours bool `json:"ours"`
}

const noHolds = "holds-not-possible"

// change is the step's order.
func (x *holdStep) change(s plan.Step) (plan.HoldChange, error) {
	c := s.Changes.Hold
	if c == nil || c.Action != plan.ActionHold && c.Action != plan.ActionRelease {
		return plan.HoldChange{}, fmt.Errorf("cannot execute step %s: it names nothing to hold or to lift", s.ID)
	}
	return *c, nil
}

// holding is the package manager, if it can hold.
func (r *run) holding() (pkgmgr.Holding, error) {
	m, ok := r.pm.(pkgmgr.Holding)
	if !ok {
		return nil, fault.New(fault.Stopped, noHolds, "leave --hold away", "cannot hold packages: rdmactl does not know how %s does it", r.pm.Name())
	}
	return m, nil
}

// readyHolds stops where a hold of the plan would not be carried out, and says which of the administrator's are there.
func (r *run) readyHolds(ctx context.Context) error {
	if !slices.ContainsFunc(r.plan.Steps, func(s plan.Step) bool { return s.Kind == plan.KindHold }) {
		return nil
	}
	if _, err := r.holding(); err != nil {
		return err
	}
	if err := canHold(r.pm, r.plan); err != nil {
		return err
	}
	if err := r.waitForManager(ctx); err != nil {
		return managerFault("cannot use the package manager", err)
	}
	return nil
}

// canHold asks the package manager whether it would carry a plan's holds out.
func canHold(solver pkgmgr.Solver, p plan.Plan) error {
	m, ok := solver.(pkgmgr.HoldAsking)
	if !ok || !plan.Holds(p) {
		return nil
	}
	return holdFault(m.CanHold())
}

func holdFault(err error) error {
	var none *pkgmgr.NoHoldError
	if errors.As(err, &none) {
		return fault.New(fault.Stopped, noHolds, none.Hint, "cannot hold packages: %w", err)
	}
	if err != nil {
		return managerFault("cannot tell whether packages can be held", err)
	}
	return nil
}

// unheld is the package manager as it would answer without what this run lifts before it changes packages, or lifts
// again before it takes them back.
func (r *run) unheld(ctx context.Context) (pkgmgr.Manager, error) {
	m, ok := r.pm.(pkgmgr.Holding)
	if !ok || !slices.ContainsFunc(r.plan.Steps, func(s plan.Step) bool { return s.Kind == plan.KindHold }) {
		return r.pm, nil
	}
	now, err := m.Holds(ctx)
	if err != nil {
		return nil, managerFault("cannot ask which packages are held", err)
	}
	var lifted []pkgmgr.Hold
	releases := false
	records := r.records()
	for _, s := range r.plan.Steps {
		if s.Kind != plan.KindHold {
			continue
		}
		rec, recorded := records[s.ID]
		switch {
		case recorded && s.Changes.Hold.Action == plan.ActionHold:
			var u holdUndo
			if err := decode(rec.undo, &u); err != nil {
				return nil, err
			}
			lifted = append(lifted, u.Holds...)
		case s.Changes.Hold.Action == plan.ActionRelease && rec.left == nil:
			of := named(*s.Changes.Hold, now)
			lifted, releases = append(lifted, of...), releases || len(of) > 0
		}
	}
	lifted = slices.DeleteFunc(lifted, func(h pkgmgr.Hold) bool { return !slices.Contains(now, h) })
	if len(lifted) == 0 {
		return r.pm, nil
	}
	pm, err := m.Released(ctx, r.paths.runInside(r.journal.ID)+"/unheld", lifted)
	var none *pkgmgr.NoHoldError
	switch {
	case errors.As(err, &none) && !releases:
		return r.pm, nil // this run's own, on the versions that it asks for
	case errors.As(err, &none):
		return nil, holdFault(err)
	case err != nil:
		return nil, managerFault("cannot foresee the host without the holds of an earlier run", err)
	}
	return pm, nil
}

// named are those of holds that a step to lift names.
func named(c plan.HoldChange, holds []pkgmgr.Hold) []pkgmgr.Hold {
	var out []pkgmgr.Hold
	for _, h := range holds {
		if slices.ContainsFunc(c.Packages, func(p plan.HeldPackage) bool { return p.Name == h.Name && p.Version == h.Version }) {
			out = append(out, h)
		}
	}
	return out
}

// wanted are the holds that the step has to set: on what is installed now, and held by nobody.
func (x *holdStep) wanted(ctx context.Context, m pkgmgr.Holding, c plan.HoldChange, now []pkgmgr.Hold) ([]pkgmgr.Hold, error) {
	db, err := m.Installed(ctx)
	if err != nil {
		return nil, err
	}
	var packages []pkgmgr.Package
	missing := []string{}
	add := func(p pkgmgr.Package) {
		covered := slices.ContainsFunc(now, func(h pkgmgr.Hold) bool { return h.Covers(p) })
		if !covered && !slices.Contains(packages, p) {
			packages = append(packages, p)
		}
	}
	for _, want := range c.Packages {
		there := installedAs(db, want.Name)
		if len(there) == 0 && !want.Optional {
			missing = append(missing, want.Name)
		}
		for _, p := range there {
			add(p)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("cannot hold %s: not installed", strings.Join(missing, ", "))
	}
	if c.Brought {
		for _, key := range slices.Sorted(maps.Keys(db)) {
			if p := db[key]; p.Status == pkgmgr.Installed && detect.OfVendor(p.Name, p.Version) {
				add(p)
			}
		}
	}
	return m.HoldsOn(ctx, packages)
}

// installedAs are the installed packages of a name, of whatever architecture. From Debian 13 and Ubuntu 24.04 on some
// libraries have "t64" behind their names.
func installedAs(db pkgmgr.Database, name string) []pkgmgr.Package {
	var out []pkgmgr.Package
	for _, n := range []string{name, name + "t64"} {
		for _, p := range statesOf(db, n) {
			if p.Status == pkgmgr.Installed {
				out = append(out, p)
			}
		}
	}
	return out
}

// target are the holds that the step sets or lifts, from the journal if it has begun.
func (x *holdStep) target(ctx context.Context, m pkgmgr.Holding, s plan.Step, c plan.HoldChange, now []pkgmgr.Hold) (holds []pkgmgr.Hold, done bool, err error) {
	if rec, ok := x.run.records()[s.ID]; ok {
		var u holdUndo
		err := decode(rec.undo, &u)
		return u.Holds, rec.left != nil, err
	}
	if c.Action == plan.ActionRelease {
		return named(c, now), false, nil
	}
	holds, err = x.wanted(ctx, m, c, now)
	return holds, false, err
}

func (x *holdStep) open(ctx context.Context, s plan.Step) (plan.HoldChange, pkgmgr.Holding, []pkgmgr.Hold, error) {
	c, err := x.change(s)
	if err != nil {
		return c, nil, nil, err
	}
	m, err := x.run.holding()
	if err != nil {
		return c, nil, nil, err
	}
	now, err := m.Holds(ctx)
	return c, m, now, err
}

func (x *holdStep) check(ctx context.Context, s plan.Step, _ bool) (bool, error) {
	c, m, now, err := x.open(ctx, s)
	if err != nil {
		return false, err
	}
	holds, done, err := x.target(ctx, m, s, c, now)
	if err != nil || done && c.Action == plan.ActionRelease {
		return done, err // what is held by these names now was set after it
	}
	return !slices.ContainsFunc(holds, func(h pkgmgr.Hold) bool {
		return slices.Contains(now, h) != (c.Action == plan.ActionHold)
	}), nil
}

func (x *holdStep) prepare(ctx context.Context, s plan.Step) (any, error) {
	c, m, now, err := x.open(ctx, s)
	if err != nil {
		return nil, err
	}
	u := holdUndo{Before: now}
	if u.Holds, _, err = x.target(ctx, m, s, c, now); err != nil {
		return nil, err
	}
	files, err := m.HoldFiles()
	if err != nil {
		return nil, err
	}
	for i, file := range files {
		saved, err := save(x.run.host, x.run.journal, file, fmt.Sprintf("%s-%d", s.ID, i))
		if err != nil {
			return nil, err
		}
		u.Files = append(u.Files, saved)
	}
	return u, nil
}

func (x *holdStep) do(ctx context.Context, s plan.Step, undo json.RawMessage) (any, string, error) {
	c, m, _, err := x.open(ctx, s)
	if err != nil {
		return nil, "", err
	}
	var u holdUndo
	if err := decode(undo, &u); err != nil {
		return nil, "", err
	}
	if err := x.run.waitForManager(ctx); err != nil {
		return nil, "", managerFault("cannot use the package manager", err)
	}
	set := c.Action == plan.ActionHold
	if err := x.apply(ctx, m, u.Holds, set); err != nil {
		return nil, "", err
	}
	left := holdLeft{}
	for _, f := range u.Files {
		now, _, err := look(x.run.host, f.Path)
		if err != nil {
			return nil, "", err
		}
		left.Hashes = append(left.Hashes, now.Hash)
	}
	return left, fmt.Sprintf("%d packages: %s", len(u.Holds), strings.Join(holdNames(u.Holds), ", ")), nil
}

// apply sets or lifts holds, and looks whether that is so then.
func (x *holdStep) apply(ctx context.Context, m pkgmgr.Holding, holds []pkgmgr.Hold, set bool) error {
	act, what := m.Release, "lift the holds on"
	if set {
		act, what = m.Hold, "hold"
	}
	if err := act(ctx, holds); err != nil {
		return fmt.Errorf("cannot %s %s: %w", what, strings.Join(holdNames(holds), ", "), err)
	}
	now, err := m.Holds(ctx)
	if err != nil {
		return err
	}
	wrong := slices.DeleteFunc(slices.Clone(holds), func(h pkgmgr.Hold) bool { return slices.Contains(now, h) == set })
	if len(wrong) > 0 {
		return fault.New(fault.Failed, "holds-differ", "", "cannot %s %s: %s took the order, and they are as they were", what, strings.Join(holdNames(wrong), ", "), m.Name())
	}
	return nil
}

func holdNames(holds []pkgmgr.Hold) []string {
	out := []string{}
	for _, h := range holds {
		if !slices.Contains(out, h.Name) {
			out = append(out, h.Name)
		}
	}
	slices.Sort(out)
	return out
}

func (x *holdStep) stopper(context.Context, plan.Step, record) error { return nil }

// beforeUndo compares the files with what the run left, before the undo itself changes them.
func (x *holdStep) beforeUndo(_ context.Context, _ plan.Step, rec record) (any, error) {
	if len(rec.kept) > 0 {
		return nil, nil
	}
	var u holdUndo
	if err := decode(rec.undo, &u); err != nil {
		return nil, err
	}
	var left holdLeft
	if err := decode(rec.left, &left); err != nil {
		return nil, err
	}
	fate := holdFate{Ours: len(u.Files) > 0 && len(left.Hashes) == len(u.Files)}
	for i, f := range u.Files {
		now, _, err := look(x.run.host, f.Path)
		if err != nil {
			return nil, err
		}
		fate.Ours = fate.Ours && now.Link == "" && now.Hash == left.Hashes[i]
	}
	return fate, nil
}

// undo lifts what the step has set, or sets what it has lifted; the files are as they were to the byte where nobody
// else has changed them.
func (x *holdStep) undo(ctx context.Context, s plan.Step, rec record) (undone, error) {
	out := undone{}
	c, m, _, err := x.open(ctx, s)
	if err != nil {
		return out, err
	}
	var u holdUndo
	if err := decode(rec.undo, &u); err != nil {
		return out, err
	}
	var fate holdFate
	if len(rec.kept) > 0 {
		if err := decode(rec.kept[0], &fate); err != nil {
			return out, err
		}
	}
	if err := x.run.waitForManager(ctx); err != nil {
		return out, managerFault("cannot use the package manager", err)
	}
	for _, f := range u.Files {
		if err := host.Tidy(x.run.host, f.Path); err != nil { // of a run that was killed
			return out, err
		}
	}
	if !fate.Ours {
		if err := x.apply(ctx, m, u.Holds, c.Action == plan.ActionRelease); err != nil {
			return out, err
		}
		// Of a step that did not come to its end it is not known what it left: the holds decide.
		now, err := m.Holds(ctx)
		if err != nil {
			return out, err
		}
		fate.Ours = rec.left == nil && sameHolds(now, u.Before)
	}
	if fate.Ours {
		for _, f := range u.Files {
			if err := putBack(x.run.host, x.run.journal, f, f.Path); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// sameHolds compares holds whatever their order is.
func sameHolds(a, b []pkgmgr.Hold) bool {
	return !slices.ContainsFunc(a, func(h pkgmgr.Hold) bool { return !slices.Contains(b, h) }) &&
		!slices.ContainsFunc(b, func(h pkgmgr.Hold) bool { return !slices.Contains(a, h) })
}

// OwnHolds are the holds that runs of rdmactl have set and neither a later run nor a rollback has lifted, by their
// journals. A person may have lifted some of them since. Only root can ask.
func OwnHolds(paths Paths) ([]plan.OwnHold, error) {
	store := paths.orDefault().store()
	ids, err := store.IDs()
	if err != nil {
		return nil, journalFault(err)
	}
	var out []plan.OwnHold
	for _, id := range ids {
		j, err := store.Open(id)
		if err != nil {
			return nil, journalFault(err)
		}
		if out, err = withHolds(out, j); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// withHolds are the holds after one more run.
func withHolds(own []plan.OwnHold, j *journal.Run) ([]plan.OwnHold, error) {
	records := recordsOf(j.Entries)
	if len(records) == 0 {
		return own, nil
	}
	p, _, err := readRun(j)
	if err != nil {
		return own, err
	}
	for _, s := range p.Steps {
		rec, ok := records[s.ID]
		if !ok || s.Kind != plan.KindHold || s.Changes.Hold == nil {
			continue
		}
		var u holdUndo
		if err := decode(rec.undo, &u); err != nil {
			return own, err
		}
		for _, h := range u.Holds {
			own = slices.DeleteFunc(own, func(o plan.OwnHold) bool { return o.Package == h.Name && o.Version == h.Version })
			if s.Changes.Hold.Action == plan.ActionHold {
				own = append(own, plan.OwnHold{Package: h.Name, Version: h.Version, Run: j.ID})
			}
		}
	}
	return own, nil
}
