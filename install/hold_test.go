package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// holdingManager is a fakeManager that keeps packages back, by a file with a name a line. It changes nothing that is
// held, as the real ones.
type holdingManager struct {
	*fakeManager
	lifted []string // of a manager that Released made
	unable error
	deaf   bool // it takes orders about holds and does nothing
}

const heldFile = "/etc/held"

func (m *holdingManager) names() []string {
	text, err := os.ReadFile(m.h.path(heldFile))
	if err != nil && !os.IsNotExist(err) {
		m.h.t.Fatal(err)
	}
	return strings.Fields(string(text))
}

func (m *holdingManager) CanHold() error { return m.unable }

func (m *holdingManager) HoldsOn(_ context.Context, packages []pkgmgr.Package) ([]pkgmgr.Hold, error) {
	var out []pkgmgr.Hold
	for _, p := range packages {
		out = append(out, pkgmgr.Hold{Name: p.Name})
	}
	return out, nil
}

func (m *holdingManager) Holds(context.Context) ([]pkgmgr.Hold, error) {
	out := []pkgmgr.Hold{}
	for _, n := range m.names() {
		out = append(out, pkgmgr.Hold{Name: n})
	}
	return out, nil
}

func (m *holdingManager) HoldFiles() ([]string, error) { return []string{heldFile}, nil }

// write writes one hold after the other, so that a crash leaves some.
func (m *holdingManager) write(holds []pkgmgr.Hold, set bool) error {
	if m.deaf {
		return nil
	}
	for _, h := range holds {
		names := m.names()
		if slices.Contains(names, h.Name) == set {
			continue
		}
		if set {
			names = append(names, h.Name)
		} else {
			names = slices.DeleteFunc(names, func(n string) bool { return n == h.Name })
		}
		m.h.tick()
		m.h.put(heldFile, strings.Join(names, "\n")+"\n")
		m.h.tick()
	}
	return nil
}

func (m *holdingManager) Hold(_ context.Context, holds []pkgmgr.Hold) error {
	return m.write(holds, true)
}

func (m *holdingManager) Release(_ context.Context, holds []pkgmgr.Hold) error {
	return m.write(holds, false)
}

func (m *holdingManager) Released(_ context.Context, dir string, holds []pkgmgr.Hold) (pkgmgr.Manager, error) {
	if !strings.HasSuffix(dir, "/unheld") {
		return nil, fmt.Errorf("cannot foresee in %s", dir)
	}
	out := *m
	for _, h := range holds {
		out.lifted = append(out.lifted, h.Name)
	}
	return &out, nil
}

// barred is the error of a transaction that would change what is held.
func (m *holdingManager) barred(actions []plan.ResolvedPackage) error {
	held := slices.DeleteFunc(m.names(), func(n string) bool { return slices.Contains(m.lifted, n) })
	for _, a := range actions {
		if a.From != "" || a.Action == "remove" || a.Action == "downgrade" {
			if slices.Contains(held, a.Name) {
				return errors.New("held packages would be changed: " + a.Name)
			}
		}
	}
	return nil
}

func (m *holdingManager) Solve(ctx context.Context, req pkgmgr.Request) (plan.Solution, error) {
	sol, err := m.fakeManager.Solve(ctx, req)
	if err == nil {
		err = m.barred(sol.Actions)
	}
	return sol, err
}

func (m *holdingManager) Apply(ctx context.Context, req pkgmgr.Request) error {
	if m.lifted != nil {
		return errors.New("a host that is only foreseen")
	}
	if _, err := m.Solve(ctx, req); err != nil {
		return err
	}
	return m.fakeManager.Apply(ctx, req)
}

func (m *holdingManager) SolveUndo(ctx context.Context, u pkgmgr.Undo) ([]plan.ResolvedPackage, error) {
	actions, err := m.fakeManager.SolveUndo(ctx, u)
	if err == nil {
		err = m.barred(actions)
	}
	return actions, err
}

func (m *holdingManager) Undo(ctx context.Context, u pkgmgr.Undo) error {
	if _, err := m.SolveUndo(ctx, u); err != nil {
		return err
	}
	return m.fakeManager.Undo(ctx, u)
}

// holdBench is a host on which a person holds rest and keeper.
func holdBench(t *testing.T) (*bench, *holdingManager) {
	t.Helper()
	b := newBench(t)
	m := &holdingManager{fakeManager: b.m}
	b.env.Manager = m
	db := b.m.load()
	db.Packages["keeper:amd64"] = pkgmgr.Package{Name: "keeper", Arch: "amd64", Version: "1", Status: pkgmgr.Installed}
	b.m.store(db)
	b.h.put(heldFile, "rest\nkeeper\n")
	return b, m
}

func heldPackages(names ...string) []plan.HeldPackage {
	var out []plan.HeldPackage
	for _, n := range names {
		out = append(out, plan.HeldPackage{Name: n, Optional: n == "nowhere"})
	}
	return out
}

// holdPlan installs alpha, moves tool, and holds both and keeper, which a person holds already.
func holdPlan() plan.Plan {
	return plan.Plan{
		Schema: plan.Schema, Verdict: plan.Install, Summary: "held", Warnings: []plan.Reason{},
		Steps: []plan.Step{
			{ID: "packages", Kind: plan.KindPackages, Summary: "install alpha", Changes: plan.Changes{Packages: []plan.PackageChange{
				{Name: "alpha", Action: "install"}, {Name: "tool", Action: "upgrade"},
			}}},
			{ID: plan.HoldStep, Kind: plan.KindHold, Summary: "hold", Changes: plan.Changes{Hold: &plan.HoldChange{
				Action: plan.ActionHold, Packages: heldPackages("alpha", "keeper", "nowhere", "tool"),
			}}},
		},
	}
}

// movePlan takes the next release of tool, as a plan does for a host on which an earlier run holds it.
func movePlan(held ...string) plan.Plan {
	p := holdPlan()
	p.Steps[0].Changes.Packages = p.Steps[0].Changes.Packages[1:]
	p.Steps = append([]plan.Step{{ID: plan.ReleaseStep, Kind: plan.KindHold, Summary: "lift", Changes: plan.Changes{Hold: &plan.HoldChange{
		Action: plan.ActionRelease, Packages: heldPackages(held...),
	}}}}, p.Steps...)
	return p
}

func (b *bench) run(p plan.Plan) (RunReport, error) {
	return Start(context.Background(), b.env, p, b.opts)
}

// nextTool has the repository offer another version of tool. The fake manager's kept packages have no files.
func (b *bench) nextTool() {
	b.t.Helper()
	b.m.repo["tool"] = fakeRepo{version: "3.0"}
	for _, file := range []string{"/usr/share/tool", "/etc/tool.conf"} {
		if err := os.RemoveAll(b.h.path(file)); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bench) ownHolds() []string {
	b.t.Helper()
	own, err := OwnHolds(b.env.Paths)
	if err != nil {
		b.t.Fatal(err)
	}
	names := []string{}
	for _, o := range own {
		names = append(names, o.Package)
	}
	return names
}

func TestHoldAndRollback(t *testing.T) {
	b, m := holdBench(t)
	before := b.h.tree()
	rep, err := b.run(holdPlan())
	if err != nil || rep.Verdict != VerdictDone {
		t.Fatalf("%+v, %v", rep, err)
	}
	if diff := cmp.Diff([]string{"rest", "keeper", "alpha", "tool"}, m.names()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"alpha", "tool"}, b.ownHolds()); diff != "" {
		t.Errorf("of rdmactl (-want +got):\n%s", diff)
	}
	again, err := b.run(holdPlan())
	if err != nil || again.Changed {
		t.Errorf("the second run: %+v, %v", again, err)
	}
	if _, err := b.rollback(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("rolled back (-before +after):\n%s", diff)
	}
	if own := b.ownHolds(); len(own) > 0 {
		t.Errorf("still held by a run that is rolled back: %v", own)
	}
}

// What a person changed since stays: a hold that they set, and one that they lifted.
func TestHoldUndoIsThreeWay(t *testing.T) {
	b, m := holdBench(t)
	if _, err := b.run(holdPlan()); err != nil {
		t.Fatal(err)
	}
	b.h.put(heldFile, "late\nrest\nkeeper\nalpha\n")
	if _, err := b.rollback(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"late", "rest", "keeper"}, m.names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOwnHoldsAreLiftedAndComeBack(t *testing.T) {
	b, m := holdBench(t)
	if _, err := b.run(holdPlan()); err != nil {
		t.Fatal(err)
	}
	b.nextTool()
	held := b.h.tree()
	// The twin first: nothing lifts the hold, so the package manager does not answer, and nothing changes.
	stuck := movePlan()
	stuck.Steps = stuck.Steps[1:]
	if _, err := b.run(stuck); fault.KindOf(err) != fault.Stopped || err == nil || !strings.Contains(err.Error(), "held packages would be changed: tool") {
		t.Fatalf("without the step: %v", err)
	}
	if diff := cmp.Diff(held, b.h.tree()); diff != "" {
		t.Fatalf("stopped (-before +after):\n%s", diff)
	}
	if _, err := b.run(movePlan("alpha", "tool")); err != nil {
		t.Fatal(err)
	}
	if v := b.m.load().Packages["tool:amd64"].Version; v != "3.0" {
		t.Errorf("tool is %s", v)
	}
	if diff := cmp.Diff([]string{"rest", "keeper", "alpha", "tool"}, m.names()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	if _, err := b.rollback(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(held, b.h.tree()); diff != "" {
		t.Errorf("rolled back (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"alpha", "tool"}, b.ownHolds()); diff != "" {
		t.Errorf("of the first run again (-want +got):\n%s", diff)
	}
	// Lifted and not set again: the journals say so.
	gone := movePlan("alpha", "tool")
	gone.Steps = gone.Steps[:2]
	if _, err := b.run(gone); err != nil {
		t.Fatal(err)
	}
	if own := b.ownHolds(); len(own) > 0 || !slices.Equal(m.names(), []string{"rest", "keeper"}) {
		t.Errorf("held: %v, of rdmactl %v", m.names(), own)
	}
}

// A run whose holds stand is not forgotten: without its journal they would count as a person's.
func TestPruneKeepsHolds(t *testing.T) {
	b, _ := holdBench(t)
	first, err := b.run(holdPlan())
	if err != nil {
		t.Fatal(err)
	}
	b.m.repo["tool"] = fakeRepo{version: "3.0"}
	gone := movePlan("alpha", "tool")
	other := plan.Plan{Schema: plan.Schema, Verdict: plan.Install, Summary: "other", Warnings: []plan.Reason{}, Steps: []plan.Step{
		{ID: "files", Kind: plan.KindFiles, Summary: "file", Changes: plan.Changes{Files: []plan.FileChange{{Path: "/etc/y.conf", Action: "write", Mode: "0644", Content: "y\n"}}}},
	}}
	if _, err := b.run(other); err != nil {
		t.Fatal(err)
	}
	pruned, err := Prune(b.env, 1)
	if err != nil || !slices.Equal(pruned.Kept, []string{first.RunID}) {
		t.Fatalf("%+v, %v", pruned, err)
	}
	gone.Steps = gone.Steps[:2]
	if _, err := b.run(gone); err != nil {
		t.Fatal(err)
	}
	if pruned, err = Prune(b.env, 1); err != nil || !slices.Contains(pruned.Runs, first.RunID) {
		t.Errorf("with its holds lifted: %+v, %v", pruned, err)
	}
}

func TestHoldsThatCannotBe(t *testing.T) {
	b, m := holdBench(t)
	before := b.h.tree()
	m.unable = &pkgmgr.NoHoldError{Why: "the plugin is not installed", Hint: "install the package plugin"}
	_, err := b.run(holdPlan())
	wantKind(t, err, fault.Stopped, "the plugin is not installed")
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != noHolds || f.Hint != "install the package plugin" {
		t.Errorf("%+v", f)
	}
	if _, err := DryRun(context.Background(), b.env, holdPlan(), nil, &strings.Builder{}); fault.KindOf(err) != fault.Stopped {
		t.Errorf("a dry run: %v", err)
	}
	// A manager that nobody taught to hold.
	b.env.Manager = b.m
	_, err = b.run(holdPlan())
	wantKind(t, err, fault.Stopped, "does not know how fake does it")
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("stopped (-before +after):\n%s", diff)
	}
	// One that takes the order and does nothing: the run goes back.
	m.unable, m.deaf, b.env.Manager = nil, true, m
	_, err = b.run(holdPlan())
	wantKind(t, err, fault.RolledBack, "alpha", "tool")
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("rolled back (-before +after):\n%s", diff)
	}
	// What has to be held and is not there is an error too.
	m.deaf = false
	lacks := holdPlan()
	lacks.Steps[1].Changes.Hold.Packages = heldPackages("absent")
	_, err = b.run(lacks)
	wantKind(t, err, fault.RolledBack, "cannot hold absent: not installed")
}

// Brought holds every package with a vendor's mark, whichever the package manager brought.
func TestHoldWhatIsBrought(t *testing.T) {
	b, m := holdBench(t)
	b.m.repo["alpha"] = fakeRepo{version: "2410mlnx54-1", needs: []string{"beta"}}
	p := holdPlan()
	p.Steps[1].Changes.Hold = &plan.HoldChange{Action: plan.ActionHold, Packages: heldPackages("tool"), Brought: true}
	if _, err := b.run(p); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"rest", "keeper", "tool", "alpha"}, m.names()); diff != "" { // beta has no such mark
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDryRunNamesHolds(t *testing.T) {
	b, _ := holdBench(t)
	var out strings.Builder
	rep, err := DryRun(context.Background(), b.env, holdPlan(), nil, &out)
	if err != nil || rep.Verdict != VerdictDone || !strings.Contains(out.String(), "  hold alpha\n  hold keeper\n") {
		t.Errorf("%+v, %v:\n%s", rep, err, out.String())
	}
	moved := movePlan("alpha", "tool")
	out.Reset()
	if rep, err = DryRun(context.Background(), b.env, moved, nil, &out); err != nil || !strings.Contains(out.String(), "  release alpha\n") ||
		!slices.ContainsFunc(rep.Warnings, func(w plan.Reason) bool { return w.Code == "not-resolved" }) {
		t.Errorf("%+v, %v:\n%s", rep, err, out.String())
	}
}

func TestCrashAtEveryPointOfHolds(t *testing.T) {
	crashEverywhere(t, 40, func() *bench {
		b, _ := holdBench(t)
		return b
	}, func(b *bench) (RunReport, error) { return b.run(holdPlan()) }, journal.Done)
}

// The step lifts what the plan names; an earlier run's journal is not needed for it, and would be rolled back in its
// turn.
func TestCrashAtEveryPointOfAMove(t *testing.T) {
	moved := movePlan("tool", "keeper-of-nothing")
	moved.Steps[2].Changes.Hold.Packages = heldPackages("tool", "keeper")
	crashEverywhere(t, 40, func() *bench {
		b, _ := holdBench(t)
		b.h.put(heldFile, "tool\nrest\nkeeper\n")
		return b
	}, func(b *bench) (RunReport, error) {
		p := moved
		if b.m.load().Packages["tool:amd64"].Version == "2.0" && slices.Contains(strings.Fields(b.h.text(heldFile)), "tool") {
			p.Verdict = plan.NothingToDo // as a plan that is made anew
		}
		return b.run(p)
	}, journal.Done)
}
