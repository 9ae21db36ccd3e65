package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan"
)

// onHold has packages on hold by dpkg's selections, whoever set them, as detect tells it: in both places.
func onHold(names ...string) change {
	return func(f *facts.Facts) {
		const source = "/var/lib/dpkg/status"
		f.Packages.Held = facts.Is(append(slices.Clone(f.Packages.Held.Value), names...), source)
		for _, n := range names {
			f.Packages.Holds = facts.Is(append(slices.Clone(f.Packages.Holds.Value), facts.Hold{Package: n, Kind: "hold", Source: source}), source)
		}
	}
}

// own are holds of an earlier run.
func own(names ...string) []plan.OwnHold {
	var out []plan.OwnHold
	for _, n := range names {
		out = append(out, plan.OwnHold{Package: n, Run: "20261101T000000Z-1"})
	}
	return out
}

// heldBy are the packages that a step of a plan holds or lifts; nil where there is no such step.
func heldBy(p plan.Plan, id string) []string {
	for _, s := range p.Steps {
		if s.ID != id {
			continue
		}
		names := []string{}
		for _, h := range s.Changes.Hold.Packages {
			names = append(names, h.Name)
		}
		return names
	}
	return nil
}

func TestHoldOfTheDistributionsStack(t *testing.T) {
	wanted := []string{"ibverbs-providers", "ibverbs-utils", "infiniband-diags", "libibverbs1", "mstflint", "perftest", "rdma-core", "rdmacm-utils"}
	// They come as dependencies, under the one name or the other.
	libraries := []string{"libibmad5", "libibnetdisc5", "libibnetdisc5t64", "libibumad3", "librdmacm1", "librdmacm1t64"}
	bare := makePlan(t, bookworm(), "inbox", plan.Request{Hold: true})
	all := slices.Sorted(slices.Values(slices.Concat(wanted, libraries)))
	if diff := cmp.Diff(all, heldBy(bare, plan.HoldStep)); diff != "" {
		t.Fatalf("of a bare host (-want +got):\n%s", diff)
	}
	// The step comes right after the packages, says how the holds are lifted by hand, and does not touch ethtool.
	ids := stepIDs(bare)
	if i := slices.Index(ids, plan.HoldStep); i != slices.Index(ids, "packages")+1 {
		t.Errorf("the steps are %v", ids)
	}
	if s := step(t, bare, plan.HoldStep); s.Kind != plan.KindHold || s.Changes.Hold.Brought || !strings.Contains(s.Why, "apt-mark unhold NAME") {
		t.Errorf("%+v", s)
	}
	if !strings.Contains(bare.Next[0].Command, " --hold") {
		t.Errorf("what to type next lacks --hold: %q", bare.Next[0].Command)
	}
	// The twin, which is not asked to.
	if twin := makePlan(t, bookworm(), "inbox", plan.Request{}); heldBy(twin, plan.HoldStep) != nil || strings.Contains(twin.Next[0].Command, "--hold") {
		t.Errorf("without --hold: %v, %q", stepIDs(twin), twin.Next)
	}
	// On a finished stack nothing but the hold is left to do, and then nothing.
	done := carriedOut(bookworm(), bare)
	again := makePlan(t, done, "inbox", plan.Request{Hold: true})
	if diff := cmp.Diff([]string{plan.HoldStep}, stepIDs(again)); diff != "" || again.Verdict != plan.Install {
		t.Errorf("%s (-want +got):\n%s", again.Summary, diff)
	}
	onHold(wanted...)(&done)
	for _, o := range [][]plan.OwnHold{nil, own(wanted...)} { // whoever set them
		if last := makePlan(t, done, "inbox", plan.Request{Hold: true, Own: o}); last.Verdict != plan.NothingToDo {
			t.Errorf("all is held: %s, %v", last.Summary, stepIDs(last))
		}
	}
	// What is missing is held.
	done.Packages.Held.Value, done.Packages.Holds.Value = done.Packages.Held.Value[1:], done.Packages.Holds.Value[1:]
	if part := makePlan(t, done, "inbox", plan.Request{Hold: true}); !slices.Equal(heldBy(part, plan.HoldStep), wanted[:1]) {
		t.Errorf("one is not held: %v", heldBy(part, plan.HoldStep))
	}
}

// What rdmactl holds itself does not stop it, what a person holds does, in the same words as ever.
func TestOwnHoldsAreLifted(t *testing.T) {
	req := func(o []plan.OwnHold) plan.Request { return plan.Request{Stack: "inbox", Own: o} }
	vendor := bookworm(connectX5, vendorPackages, onHold("libibverbs1", "ofed-scripts"))
	p := makePlan(t, vendor, "inbox", req(own("libibverbs1", "ofed-scripts", "not-held-any-more")))
	if diff := cmp.Diff([]string{"libibverbs1", "ofed-scripts"}, heldBy(p, plan.ReleaseStep)); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", p.Summary, diff)
	}
	ids := stepIDs(p)
	if slices.Index(ids, plan.ReleaseStep) > slices.Index(ids, "packages") || heldBy(p, plan.HoldStep) != nil {
		t.Errorf("the steps are %v", ids)
	}
	s := step(t, p, plan.ReleaseStep)
	if s.Undo == "" || !strings.Contains(s.Changes.Hold.Packages[0].Why, "20261101T000000Z-1") || !strings.Contains(s.Why, "without --hold they are not held again") {
		t.Errorf("%+v", s)
	}
	for name, o := range map[string][]plan.OwnHold{"a person's": nil, "one of each": own("libibverbs1")} {
		refused := makePlan(t, vendor, "inbox", req(o))
		if refused.Verdict != plan.Refuse || !slices.Contains(codes(refused.Reasons), "package-held") || strings.Contains(refused.Reasons[0].Text, "libibverbs1") != (o == nil) {
			t.Errorf("%s: %s, %v", name, refused.Summary, refused.Reasons)
		}
	}
	// With --hold what takes the place is held.
	again := req(own("libibverbs1", "ofed-scripts"))
	again.Hold = true
	if p = makePlan(t, vendor, "inbox", again); !slices.Contains(heldBy(p, plan.HoldStep), "libibverbs1") || heldBy(p, plan.ReleaseStep) == nil || slices.Contains(heldBy(p, plan.HoldStep), "ofed-scripts") {
		t.Errorf("with --hold: %v, %v", stepIDs(p), heldBy(p, plan.HoldStep))
	}
	// A plan that changes nothing of it leaves the holds.
	kept := carriedOut(bookworm(), makePlan(t, bookworm(), "inbox", plan.Request{}))
	kept.Packages.Installed.Value = slices.DeleteFunc(kept.Packages.Installed.Value, func(one facts.Package) bool { return one.Name == "perftest" })
	onHold("libibverbs1")(&kept)
	if p = makePlan(t, kept, "inbox", req(own("libibverbs1"))); p.Verdict != plan.Install || heldBy(p, plan.ReleaseStep) != nil {
		t.Errorf("another package comes: %s, %v", p.Summary, stepIDs(p))
	}
}

// A lock of dnf's is rdmactl's if its version is the journal's too; a pattern over it is a person's.
func TestOwnLocksByVersion(t *testing.T) {
	const list = "/etc/dnf/plugins/versionlock.list"
	lock := func(name, version string) facts.Hold {
		return facts.Hold{Package: name, Version: version, Kind: "versionlock", Source: list}
	}
	locked := func(all ...facts.Hold) change {
		return func(f *facts.Facts) {
			f.Packages.Holds = facts.Is(all, list)
			var names []string
			for _, h := range all {
				names = append(names, h.Package)
			}
			f.Packages.Held = facts.Is(names, list)
		}
	}
	vendor := func(c change) facts.Facts {
		return rhel94(installed(facts.Package{Name: "libibverbs", Version: "2410mlnx54-1.2410068", Origin: "mlnx-ofed"},
			facts.Package{Name: "mlnx-ofed-all", Version: "24.10-1.1.4.0", Origin: "mlnx-ofed"}), c)
	}
	mine := plan.OwnHold{Package: "libibverbs", Version: "2410mlnx54-1.2410068", Run: "r"}
	for name, c := range map[string]struct {
		holds   change
		refused bool
	}{
		"its own":                      {locked(lock("libibverbs", "2410mlnx54-1.2410068")), false},
		"of another version":           {locked(lock("libibverbs", "46.0-1.el9")), true},
		"a person's pattern besides":   {locked(lock("libibverbs", "2410mlnx54-1.2410068"), lock("lib*", "")), true},
		"an exclude, which no run set": {locked(facts.Hold{Package: "libibverbs", Version: "2410mlnx54-1.2410068", Kind: "exclude", Source: list}), true},
	} {
		p := makePlan(t, vendor(c.holds), "inbox", plan.Request{Stack: "inbox", Own: []plan.OwnHold{mine}})
		if (p.Verdict == plan.Refuse) != c.refused || c.refused != slices.Contains(codes(p.Reasons), "package-held") || (heldBy(p, plan.ReleaseStep) == nil) != c.refused {
			t.Errorf("%s: %s, %v", name, p.Summary, stepIDs(p))
		}
	}
}

func TestHoldOfAVendorsStack(t *testing.T) {
	day := plan.Request{Stack: "doca-ofed", Version: "2.9.4", Date: "2026-11-30"}
	older := jammy(installed(facts.Package{Name: "libibverbs1", Version: "39.0-1", Status: "install ok installed", Origin: "inbox"}))
	plain := makePlan(t, older, "lts", day)
	// One line says that --hold exists.
	hinted := func(p plan.Plan) bool {
		return slices.ContainsFunc(p.Next, func(h plan.Hint) bool { return strings.HasSuffix(h.Command, " --hold") })
	}
	if !hinted(plain) || heldBy(plain, plan.HoldStep) != nil {
		t.Errorf("%v, %v", plain.Next, stepIDs(plain))
	}
	pinned := func(priority int, origin string) change {
		return func(f *facts.Facts) {
			f.Packages.Holds = facts.Is([]facts.Hold{{Package: "*", Version: "origin " + origin, Kind: "pin", Priority: priority, Source: "/etc/apt/preferences.d/x"}}, "/etc/apt")
		}
	}
	for name, c := range map[string]struct {
		pin    change
		hinted bool
	}{
		"a pin of the vendor's repository": {pinned(600, "linux.mellanox.com"), false},
		"a low one":                        {pinned(400, "linux.mellanox.com"), true},
		"another's":                        {pinned(600, "deb.example.com"), true},
	} {
		f := older
		c.pin(&f)
		if got := hinted(makePlan(t, f, "lts", day)); got != c.hinted {
			t.Errorf("%s: --hold is offered: %v", name, got)
		}
	}
	day.Hold = true
	p := makePlan(t, older, "lts", day)
	s := step(t, p, plan.HoldStep)
	if !s.Changes.Hold.Brought || !slices.Contains(heldBy(p, plan.HoldStep), "libibverbs1") || len(heldBy(p, plan.HoldStep)) < 2 || len(p.Next) != 1 || !strings.Contains(p.Next[0].Command, " --hold") {
		t.Errorf("%+v, %v", s, p.Next)
	}
	// In place: the hold alone. Held: nothing. Moved: the old holds are lifted first, and set again.
	in := plan.Request{Date: "2026-11-30", Hold: true}
	f := jammy(withDOCA29)
	before := makePlan(t, f, "lts", plan.Request{Date: "2026-11-30"})
	p = makePlan(t, f, "lts", in)
	if diff := cmp.Diff([]string{"doca-ofed"}, heldBy(p, plan.HoldStep)); diff != "" || len(p.Steps) != len(before.Steps)+1 {
		t.Errorf("in place: %v (-want +got):\n%s", stepIDs(p), diff)
	}
	onHold("doca-ofed")(&f)
	if p = makePlan(t, f, "lts", in); heldBy(p, plan.HoldStep) != nil {
		t.Errorf("held: %v", stepIDs(p))
	}
	up := plan.Request{Date: "2026-11-30", Hold: true, Stack: "doca-ofed", Upgrade: true, Own: own("doca-ofed")}
	p = makePlan(t, f, "lts", up)
	if ids := stepIDs(p); !slices.Equal(heldBy(p, plan.ReleaseStep), []string{"doca-ofed"}) || !slices.Contains(heldBy(p, plan.HoldStep), "doca-ofed") ||
		slices.Index(ids, plan.ReleaseStep) > slices.Index(ids, "packages") || slices.Index(ids, plan.HoldStep) < slices.Index(ids, "packages") {
		t.Errorf("moved: %v, %v, %v", ids, heldBy(p, plan.ReleaseStep), heldBy(p, plan.HoldStep))
	}
	up.Own = nil
	if p = makePlan(t, f, "lts", up); slices.Contains(stepIDs(p), "packages") || heldBy(p, plan.ReleaseStep) != nil {
		t.Errorf("a person's hold: %s, %v", p.Summary, stepIDs(p))
	}
}

func TestNothingToHold(t *testing.T) {
	req := plan.Request{Stack: "rdma-core", Hold: true}
	p := makePlan(t, bookworm(connectX5), "edge", req)
	if p.Verdict != plan.Install || heldBy(p, plan.HoldStep) != nil || !slices.Contains(codes(p.Warnings), "nothing-to-hold") {
		t.Errorf("%s: %v, %v", p.Summary, stepIDs(p), codes(p.Warnings))
	}
	req.Hold = false
	if twin := makePlan(t, bookworm(connectX5), "edge", req); slices.Contains(codes(twin.Warnings), "nothing-to-hold") {
		t.Errorf("without --hold: %v", codes(twin.Warnings))
	}
}

func TestHoldIsShown(t *testing.T) {
	var text strings.Builder
	if err := plan.Render(&text, makePlan(t, bookworm(), "inbox", plan.Request{Hold: true}), false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"hold: hold the stack's packages at the version that this plan leaves", "hold libibverbs1: the verbs library", "apt-mark unhold NAME"} {
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}
