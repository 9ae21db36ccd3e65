package apt_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/apt"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// holdPlan brings alpha and holds it; earlier are held by an earlier run and lifted first.
func holdPlan(action string, earlier ...string) plan.Plan {
	p := plan.Plan{Schema: plan.Schema, Verdict: plan.Install, Summary: "test", Warnings: []plan.Reason{}, Steps: []plan.Step{
		{ID: "packages", Kind: plan.KindPackages, Summary: "alpha", Changes: plan.Changes{Packages: []plan.PackageChange{{Name: "alpha", Action: action}}}},
		{ID: plan.HoldStep, Kind: plan.KindHold, Summary: "hold", Changes: plan.Changes{Hold: &plan.HoldChange{
			Action: plan.ActionHold, Packages: []plan.HeldPackage{{Name: "alpha"}, {Name: "beta"}},
		}}},
	}}
	if len(earlier) == 0 {
		return p
	}
	lift := plan.HoldChange{Action: plan.ActionRelease}
	for _, n := range earlier {
		lift.Packages = append(lift.Packages, plan.HeldPackage{Name: n})
	}
	p.Steps = slices.Insert(p.Steps, 0, plan.Step{ID: plan.ReleaseStep, Kind: plan.KindHold, Summary: "lift", Changes: plan.Changes{Hold: &lift}})
	return p
}

func (r *aptRoot) newer() {
	r.deb("alpha", "2.0", "Depends: beta (>= 2.0)\n", "")
	r.deb("beta", "2.0", "", "")
	r.publish()
}

// upgrades are the packages that an upgrade of the whole host would bring.
func (r *aptRoot) upgrades(m *apt.Manager) []string {
	r.t.Helper()
	if _, err := m.Refresh(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	out := []string{}
	for line := range strings.Lines(r.sh(r.env, "/", "apt-get", "-s", "dist-upgrade")) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Inst" {
			out = append(out, f[1])
		}
	}
	slices.Sort(out)
	return out
}

// TestRealHold takes holds the whole way through the engine, with the machine's own apt.
func TestRealHold(t *testing.T) {
	ctx := context.Background()
	r, m := stocked(t)
	env := install.Env{Host: r, Paths: install.Paths{State: r.dir + "/var/lib/rdmactl", Log: r.dir + "/var/log/rdmactl", Lock: r.dir + "/run/rdmactl/lock"}}
	start := func(p plan.Plan) (install.RunReport, error) {
		return install.Start(ctx, env, p, install.Options{Foreground: true})
	}
	held := func() []string {
		t.Helper()
		return strings.Fields(r.sh(r.env, "/", "apt-mark", "showhold"))
	}
	if rep, err := start(holdPlan("install")); err != nil || rep.Verdict != install.VerdictDone {
		t.Fatalf("%+v, %v", rep, err)
	}
	if diff := cmp.Diff([]string{"alpha", "beta"}, held()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	if again, err := start(holdPlan("install")); err != nil || again.Verdict != install.VerdictNothingToDo {
		t.Errorf("the second run: %+v, %v", again, err)
	}
	r.newer()
	if up := r.upgrades(m); len(up) > 0 {
		t.Errorf("an upgrade of the host brings %v", up)
	}
	// Nothing lifts the holds: apt does not answer, and the run stops before anything changes.
	tree := r.tree()
	if _, err := start(holdPlan("upgrade")); fault.KindOf(err) != fault.Stopped {
		t.Errorf("held: %v", err)
	}
	if rep, err := start(holdPlan("upgrade", "alpha", "beta", "gamma")); err != nil || rep.Verdict != install.VerdictDone {
		t.Fatalf("lifted: %+v, %v", rep, err)
	}
	if diff := cmp.Diff(map[string]string{"alpha": "2.0", "beta": "2.0"}, versions(t, m)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"alpha", "beta"}, held()); diff != "" {
		t.Errorf("held again (-want +got):\n%s", diff)
	}
	// Back, with the holds of the first run; then those are gone too.
	if _, err := install.Rollback(ctx, env, install.RollbackOptions{Foreground: true}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"alpha": "1.0", "beta": "1.0"}, versions(t, m)); diff != "" {
		t.Errorf("rolled back (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"alpha", "beta"}, held()); diff != "" {
		t.Errorf("held as before (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tree, r.tree()); diff != "" {
		t.Errorf("files left:\n%s", diff)
	}
	if _, err := install.Rollback(ctx, env, install.RollbackOptions{Foreground: true}); err != nil {
		t.Fatal(err)
	}
	if names := held(); len(names) > 0 || len(versions(t, m)) > 0 {
		t.Errorf("rolled back to the start: held are %v of %v", names, versions(t, m))
	}
	for _, argv := range r.asked {
		if err := host.Allowed(argv); err != nil {
			t.Errorf("a Reader would not run %q: %v", argv, err)
		}
	}
}

// The twin: without the hold an upgrade of the host brings the other version, and what a person held stays held.
func TestRealWithoutHold(t *testing.T) {
	ctx := context.Background()
	r, m := stocked(t)
	apply(t, m, "alpha=1.0")
	r.newer()
	if diff := cmp.Diff([]string{"alpha", "beta"}, r.upgrades(m)); diff != "" {
		t.Errorf("an upgrade of the host (-want +got):\n%s", diff)
	}
	r.sh(r.env, "/", "apt-mark", "hold", "beta")
	db, err := m.Installed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	holds, err := m.HoldsOn(ctx, []pkgmgr.Package{db["alpha:all"], {Name: "lib", Arch: "riscv64", Version: "1"}})
	if err != nil || !slices.Equal(holds, []pkgmgr.Hold{{Name: "alpha"}, {Name: "lib:riscv64"}}) {
		t.Fatalf("%v, %v", holds, err)
	}
	if err := m.Hold(ctx, holds[:1]); err != nil {
		t.Fatal(err)
	}
	if err := m.Release(ctx, append(holds[:1], pkgmgr.Hold{Name: "gamma"})); err != nil {
		t.Fatal(err)
	}
	if now, err := m.Holds(ctx); err != nil || !slices.Equal(now, []pkgmgr.Hold{{Name: "beta"}}) {
		t.Errorf("%v, %v", now, err)
	}
	for _, name := range []string{"-x", "a b", "--simulate"} {
		if err := m.Hold(ctx, []pkgmgr.Hold{{Name: name}}); err == nil {
			t.Errorf("%q was held", name)
		}
	}
	// A foreseen host is only asked.
	foreseen, err := m.Released(ctx, r.dir+"/var/lib/foreseen", []pkgmgr.Hold{{Name: "beta"}})
	if err != nil {
		t.Fatal(err)
	}
	if sol, err := foreseen.Solve(ctx, request("alpha=2.0")); err != nil || len(sol.Actions) != 2 {
		t.Errorf("without the hold on beta: %v, %v", sol, err)
	}
	if sol, err := m.Solve(ctx, request("alpha=2.0")); err == nil {
		t.Errorf("with the hold on beta: %v", sol)
	}
	if err := foreseen.Apply(ctx, request("alpha=2.0")); err == nil {
		t.Error("a foreseen host was installed into")
	}
}
