package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/plan/rules"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// rhel94 is RHEL 9.4 with a ConnectX-7 and what an installed release tells of itself.
func rhel94(changes ...change) facts.Facts {
	f := host("9.4", "5.14.0-427.42.1.el9_4.x86_64", "")
	f.Distro.ID, f.Distro.Family, f.Distro.PrettyName = facts.Is("rhel", "os"), facts.Is("rhel", "os"), facts.Is("RHEL 9.4", "os")
	f.Kernel.Flavour, f.Packages.Manager = facts.Field[string]{}, facts.Is("dnf", "os")
	function(facts.PCIDevice{
		Address: "0000:3b:00.0", Vendor: "15b3", Device: "1021", Class: "0207", Generation: facts.Is("connectx-7", "ids"),
		RDMACapable: true, WantsDriver: "mlx5_core", WantsRDMADriver: "mlx5_ib", WantsProvider: "mlx5",
	})(&f)
	for _, c := range changes {
		c(&f)
	}
	return f
}

// hasRelease puts the packages of a release on a host; driver is for DOCA.
func hasRelease(stack, version, driver string) change {
	return func(f *facts.Facts) {
		name, info := "mlnx-ofed-all", "MLNX_OFED_LINUX-"+version
		if stack == "doca-ofed" {
			name, info = "doca-ofed", "OFED-internal-"+driver
		}
		installed(facts.Package{Name: name, Version: version, Status: "install ok installed", Origin: stack},
			facts.Package{Name: "libibverbs", Version: "1", Status: "install ok installed", Origin: stack})(f)
		f.Packages.Vendor = facts.Is(facts.VendorStack{Stack: stack, Version: version, Driver: driver}, "rpm -qa")
		if stack != "doca-ofed" || driver != "" {
			f.Packages.OFEDInfo = facts.Is(info, "ofed_info -s")
		}
	}
}

func touches(p plan.Plan) bool {
	return slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Kind == plan.KindPackages || s.Kind == plan.KindActivate })
}

// A healthy host of the vendor's line is never taken back unasked.
func TestNoDowngradeUnasked(t *testing.T) {
	for name, tc := range map[string]struct {
		f       facts.Facts
		profile string
		req     plan.Request
		// version stays; empty when the plan moves on, to what moved says.
		version, moved string
		said, unsaid   []string
	}{
		"a long-term release that nothing documents, over an older one that is": {
			rhel94(hasRelease("mlnx-ofed", "24.10-1.1.4.0", "")), "lts",
			plan.Request{},
			"24.10-1.1.4.0", "",
			[]string{"installed-not-documented"},
			[]string{"downgrade", "downgrade-not-taken"},
		},
		"DOCA over an older MLNX_OFED that is documented": {
			rhel94(hasRelease("doca-ofed", "3.2.1", "25.10-1.7.1")), "lts",
			plan.Request{},
			"3.2.1", "",
			[]string{"installed-not-documented"},
			[]string{"downgrade"},
		},
		"a newer release of no long-term branch": {
			rhel94(hasRelease("mlnx-ofed", "24.04-0.6.6.0", "")), "lts",
			plan.Request{},
			"24.04-0.6.6.0", "",
			[]string{"downgrade-not-taken", "not-long-term"},
			[]string{"downgrade"},
		},
		"also with --upgrade": {
			rhel94(hasRelease("mlnx-ofed", "24.04-0.6.6.0", "")), "lts",
			plan.Request{Upgrade: true},
			"24.04-0.6.6.0", "",
			[]string{"downgrade-not-taken"},
			[]string{"downgrade"},
		},
		"a long-term release that is documented": {
			rhel94(hasRelease("mlnx-ofed", "23.10-3.2.2.0", "")), "lts",
			plan.Request{},
			"23.10-3.2.2.0", "",
			nil,
			[]string{"installed-not-documented", "downgrade-not-taken"},
		},
		"an older release of no long-term branch moves up": {
			rhel94(hasRelease("mlnx-ofed", "23.04-1.1.3.0", "")), "lts",
			plan.Request{},
			"", "23.10-3.2.2.0",
			nil,
			[]string{"downgrade", "downgrade-not-taken"},
		},
		"a version that is named is taken": {
			rhel94(hasRelease("mlnx-ofed", "24.10-1.1.4.0", "")), "lts",
			plan.Request{Stack: "mlnx-ofed", Version: "23.10-3.2.2.0"},
			"", "23.10-3.2.2.0",
			[]string{"downgrade"},
			[]string{"downgrade-not-taken"},
		},
		"a branch that is named is taken, also of the other stack": {
			rhel94(hasRelease("doca-ofed", "3.2.1", "25.10-1.7.1")), "lts",
			plan.Request{Stack: "mlnx-ofed", Version: "23.10"},
			"", "23.10-3.2.2.0",
			[]string{"downgrade"},
			nil,
		},
	} {
		tc.req.Date = "2026-11-30"
		p := makePlan(t, tc.f, tc.profile, tc.req)
		if p.Chosen == nil || p.Chosen.Version != tc.version+tc.moved || touches(p) != (tc.moved != "") {
			t.Errorf("%s: %s %+v %q", name, p.Summary, p.Chosen, stepIDs(p))
			continue
		}
		warned := codes(p.Warnings)
		for _, code := range tc.said {
			if !slices.Contains(warned, code) {
				t.Errorf("%s: no %s in %q", name, code, warned)
			}
		}
		for _, code := range tc.unsaid {
			if slices.Contains(warned, code) {
				t.Errorf("%s: %s in %q", name, code, warned)
			}
		}
		if back := strings.Contains(p.Summary, "a downgrade from "); back != slices.Contains(warned, "downgrade") {
			t.Errorf("%s: %s", name, p.Summary)
		}
	}
}

// The warning about the older release has the command that takes it, and that command does.
func TestDowngradeNotTakenNamesTheWay(t *testing.T) {
	f := rhel94(hasRelease("mlnx-ofed", "24.04-0.6.6.0", ""))
	p := makePlan(t, f, "lts", plan.Request{Date: "2026-11-30"})
	i := slices.IndexFunc(p.Warnings, func(r plan.Reason) bool { return r.Code == "downgrade-not-taken" })
	if i < 0 || !strings.Contains(p.Warnings[i].Text, "`rdmactl plan --profile lts --stack mlnx-ofed --version 23.10-3.2.2.0`") {
		t.Fatalf("%v", p.Warnings)
	}
	back := makePlan(t, f, "lts", plan.Request{Stack: "mlnx-ofed", Version: "23.10-3.2.2.0", Date: "2026-11-30"})
	if back.Chosen == nil || back.Chosen.Version != "23.10-3.2.2.0" || !touches(back) {
		t.Errorf("%s", back.Summary)
	}
}

// A stack that is named and older than the other one on the host is not taken without a version.
func TestOlderStackWhenNamed(t *testing.T) {
	f := rhel94(hasRelease("doca-ofed", "3.2.1", "25.10-1.7.1"))
	p := makePlan(t, f, "lts", plan.Request{Stack: "mlnx-ofed", Date: "2026-11-30"})
	if p.Verdict != plan.Refuse || p.Reasons[0].Code != "downgrade-not-taken" {
		t.Errorf("%s", p.Summary)
	}
	// The twin: the other way is newer.
	up := makePlan(t, rhel94(hasRelease("mlnx-ofed", "24.10-1.1.4.0", "")), "lts", plan.Request{Stack: "doca-ofed", Date: "2026-11-30"})
	if up.Chosen == nil || up.Chosen.Stack != "doca-ofed" || !touches(up) {
		t.Errorf("%s", up.Summary)
	}
}

// A release that a rule excludes does not stay, and the summary says that the plan goes back.
func TestExcludedReleaseGoesBack(t *testing.T) {
	connectX4 := func(f *facts.Facts) {
		f.PCI.Value[1].Device, f.PCI.Value[1].Generation = "1013", facts.Is("connectx-4", "ids")
	}
	p := makePlan(t, rhel94(hasRelease("doca-ofed", "3.2.1", "25.10-1.7.1"), connectX4), "lts", plan.Request{Date: "2026-11-30"})
	if p.Chosen == nil || p.Chosen.Stack != "mlnx-ofed" || !strings.Contains(p.Summary, "a downgrade from doca-ofed 3.2.1, which is excluded here (card-not-served)") ||
		!slices.Contains(codes(p.Reasons), "card-not-served") {
		t.Errorf("%s: %q", p.Summary, codes(p.Reasons))
	}
	if twin := makePlan(t, rhel94(hasRelease("doca-ofed", "3.2.1", "25.10-1.7.1")), "lts", plan.Request{Date: "2026-11-30"}); strings.Contains(twin.Summary, "downgrade") {
		t.Errorf("%s", twin.Summary)
	}
}

// A release that the matrix does not know is left alone, and nothing older takes its place unasked.
func TestUnknownInstalledRelease(t *testing.T) {
	request := func(change func(*plan.Request)) plan.Request {
		req := plan.Request{Date: "2026-11-30"}
		change(&req)
		return req
	}
	to := rhel94(hasRelease("doca-ofed", "4.0.0", "26.10-0.5.0"))
	for name, tc := range map[string]struct {
		f       facts.Facts
		req     plan.Request
		refused bool
	}{
		"by default":                 {to, request(func(*plan.Request) {}), true},
		"with --upgrade":             {to, request(func(r *plan.Request) { r.Upgrade = true }), true},
		"its stack named":            {to, request(func(r *plan.Request) { r.Stack = "doca-ofed" }), true},
		"the other stack named":      {to, request(func(r *plan.Request) { r.Stack = "mlnx-ofed" }), true},
		"a version named":            {to, request(func(r *plan.Request) { r.Stack, r.Version = "doca-ofed", "3.2.3" }), false},
		"nothing tells its release":  {rhel94(hasRelease("mlnx-ofed", "", "")), request(func(*plan.Request) {}), true},
		"an old one, and --upgrade":  {rhel94(hasRelease("mlnx-ofed", "23.10-9.9.9.9", "")), request(func(r *plan.Request) { r.Upgrade, r.Stack = true, "doca-ofed" }), false},
		"an old one, and by default": {rhel94(hasRelease("mlnx-ofed", "5.8-9.9.9.9", "")), request(func(*plan.Request) {}), true},
		"known":                      {rhel94(hasRelease("doca-ofed", "3.2.1", "25.10-1.7.1")), request(func(*plan.Request) {}), false},
	} {
		p := makePlan(t, tc.f, "lts", tc.req)
		if (p.Verdict == plan.Refuse) != tc.refused || tc.refused != (p.Reasons[0].Code == "unknown-installed-release") {
			t.Errorf("%s: %s (%q)", name, p.Summary, codes(p.Reasons))
		}
		if tc.refused && len(p.Next) == 0 {
			t.Errorf("%s: nothing says what to do", name)
		}
	}
}

// Where no upgrade in place is documented, the old release goes whole in a step before the new one comes.
func TestRemovalStep(t *testing.T) {
	removed := func(p plan.Plan) (names []string) {
		for _, s := range p.Steps {
			if s.ID != plan.RemovalStep {
				continue
			}
			for _, c := range s.Changes.Packages {
				if c.Action != "remove" {
					t.Errorf("%s is %s", c.Name, c.Action)
				}
				names = append(names, c.Name)
			}
		}
		return names
	}
	for name, tc := range map[string]struct {
		has, stack string
		driver     string
		to         string
		want       []string
	}{
		"DOCA before 2.6":      {"2.5.2", "doca-ofed", "23.10-3.2.2", "2.9.4", []string{"doca-ofed", "libibverbs"}},
		"MLNX_OFED":            {"24.10-1.1.4.0", "mlnx-ofed", "", "3.2.3", []string{"libibverbs", "mlnx-ofed-all"}},
		"DOCA from 2.6 on":     {"2.9.1", "doca-ofed", "24.10-1.1.4", "3.2.3", nil},
		"the release in place": {"2.5.2", "doca-ofed", "23.10-3.2.2", "2.5.2", nil},
	} {
		p := makePlan(t, rhel94(hasRelease(tc.stack, tc.has, tc.driver)), "lts", plan.Request{Stack: "doca-ofed", Version: tc.to, Date: "2026-11-30"})
		if p.Chosen == nil || p.Chosen.Version != tc.to || !slices.Equal(removed(p), tc.want) {
			t.Errorf("%s: %s, removed are %q", name, p.Summary, removed(p))
			continue
		}
		order := stepIDs(p)
		if at := slices.Index(order, plan.RemovalStep); (at >= 0) != slices.Contains(codes(p.Warnings), "upgrade-not-in-place") || at > slices.Index(order, "packages") {
			t.Errorf("%s: %q with %q", name, order, codes(p.Warnings))
		}
		for _, s := range p.Steps {
			for _, c := range s.Changes.Packages {
				if s.ID == "packages" && slices.Contains(tc.want, c.Name) && c.Action != "install" {
					t.Errorf("%s: %s goes twice", name, c.Name)
				}
			}
		}
	}
	// A group of the distribution has a command in the step.
	group := func(f *facts.Facts) { f.Packages.Groups = facts.Is([]string{"Infiniband Support"}, "dnf group list") }
	why := func(f facts.Facts) string {
		return step(t, makePlan(t, f, "lts", plan.Request{Stack: "mlnx-ofed", Date: "2026-11-30"}), "packages").Why
	}
	const command = "sudo dnf group remove 'Infiniband Support'"
	if !strings.Contains(why(rhel94(group)), command) || strings.Contains(why(rhel94()), command) {
		t.Errorf("%q, %q", why(rhel94(group)), why(rhel94()))
	}
}

// Under a profile of long-term branches a stack that is named is of one, where anything tells of such a release.
func TestNamedStackIsLongTerm(t *testing.T) {
	ubuntu := jammy(func(f *facts.Facts) {
		f.Distro.VersionID, f.Kernel.Release = facts.Is("22.04", "os"), facts.Is("5.15.0-124-generic", "uname -r")
	})
	lts := makePlan(t, ubuntu, "lts", plan.Request{Stack: "mlnx-ofed", Date: "2026-11-30"})
	if lts.Chosen == nil || !strings.HasPrefix(lts.Chosen.Version, "24.10-") || slices.Contains(codes(lts.Warnings), "not-long-term") {
		t.Errorf("%s", lts.Summary)
	}
	late := makePlan(t, ubuntu, "latest", plan.Request{Date: "2026-11-30"})
	i := slices.IndexFunc(late.Warnings, func(r plan.Reason) bool { return r.Code == "newer-release" })
	if late.Chosen == nil || late.Chosen.Version != "5.9-0.5.6.0.125" || i < 0 || !strings.HasPrefix(late.Warnings[i].Text, "mlnx-ofed 24.10-4.1.4.0, of the newest long-term branch, is newer") ||
		!slices.Contains(codes(late.Warnings), "end-of-support") {
		t.Errorf("%s: %v", late.Summary, late.Warnings)
	}
	// The twin: a system of which only another branch tells.
	rhel80 := rhel94(func(f *facts.Facts) {
		f.Distro.VersionID, f.Kernel.Release = facts.Is("8.0", "os"), facts.Is("4.18.0-80.el8.x86_64", "uname -r")
		f.PCI.Value[1].Device, f.PCI.Value[1].Generation = "1017", facts.Is("connectx-5", "ids")
	})
	other := makePlan(t, rhel80, "lts", plan.Request{Stack: "mlnx-ofed", Date: "2026-11-30"})
	if other.Chosen == nil || other.Chosen.Status != plan.Supported || !slices.Contains(codes(other.Warnings), "not-long-term") {
		t.Errorf("%s: %q", other.Summary, codes(other.Warnings))
	}
}

// What is only a number was never released, also when it is named.
func TestNeverReleased(t *testing.T) {
	p := makePlan(t, jammy(), "lts", plan.Request{Stack: "mlnx-ofed", Version: "25.01", Date: "2026-11-30"})
	if p.Verdict != plan.Refuse || p.Reasons[0].Code != "never-released" {
		t.Errorf("%s", p.Summary)
	}
	if twin := makePlan(t, jammy(), "lts", plan.Request{Stack: "mlnx-ofed", Version: "24.10", Date: "2026-11-30"}); twin.Verdict == plan.Refuse {
		t.Errorf("%s", twin.Summary)
	}
}

// The end of a branch in this very month is said so.
func TestEndsThisMonth(t *testing.T) {
	text := func(day string) string {
		p := makePlan(t, rhel94(), "lts", plan.Request{Date: day})
		i := slices.IndexFunc(p.Reasons, func(r plan.Reason) bool { return r.Code == "release-chosen" })
		if i < 0 || p.Chosen.Version != "23.10-3.2.2.0" {
			t.Fatalf("%s: %s", day, p.Summary)
		}
		return p.Reasons[i].Text
	}
	for day, want := range map[string]bool{"2026-11-01": true, "2026-11-30": true, "2026-10-31": false, "2026-12-01": false} {
		if strings.Contains(text(day), "which ends this month") != want {
			t.Errorf("%s: %s", day, text(day))
		}
	}
	if !strings.Contains(text("2026-12-01"), "past its end of about 2026-11") {
		t.Error(text("2026-12-01"))
	}
}

// A stack is refused only where a rule or a document excludes it. What nothing documents is possible, and the plan,
// the plan for the stack when it is named, and the comparison say the same.
func TestOneTruthAboutAStack(t *testing.T) {
	for name, f := range map[string]facts.Facts{
		"jammy": jammy(), "bookworm": bookworm(connectX5), "rhel 9.4": rhel94(), "connectx-3": bookworm(connectX3),
		"doca 3.2": rhel94(hasRelease("doca-ofed", "3.2.1", "25.10-1.7.1")), "mlnx 24.04": rhel94(hasRelease("mlnx-ofed", "24.04-0.6.6.0", "")),
	} {
		day := plan.Request{Date: "2026-11-30"}
		whole := makePlan(t, f, "lts", day)
		compared, err := plan.SideBySide(f, profile(t, "lts"), known(t), day)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range whole.Stacks {
			named := day
			named.Stack = s.Stack
			alone := makePlan(t, f, "lts", named).Stacks[i]
			c := compared.Stacks[i]
			for what, other := range map[string]plan.Stack{"--stack": alone, "--compare": c.Stack} {
				refused := s.Verdict == plan.StackRefused
				if refused != (other.Verdict == plan.StackRefused) || s.Version != other.Version || s.Status != other.Status {
					t.Errorf("%s, %s: plan says %s %s %s, %s says %s %s %s", name, s.Stack, s.Verdict, s.Version, s.Status, what, other.Verdict, other.Version, other.Status)
				}
			}
			if c.Verdict == plan.StackPossible && c.Stack.Stack != "inbox" && c.Steps == 0 {
				t.Errorf("%s, %s is possible and compared without a step", name, s.Stack)
			}
			if s.Verdict == plan.StackRefused && s.Status == plan.Unknown && !slices.Contains(codes(s.Reasons), "not-in-matrix") {
				t.Errorf("%s, %s is refused for %q", name, s.Stack, codes(s.Reasons))
			}
		}
	}
	// What nothing documents is possible and not chosen; what a rule excludes is refused.
	whole := makePlan(t, jammy(), "lts", plan.Request{Date: "2026-11-30"})
	excluded := makePlan(t, jammy(func(f *facts.Facts) { f.Kernel.Config.Value["MLX5_CORE"] = "y" }), "lts", plan.Request{Date: "2026-11-30"})
	for i, s := range whole.Stacks {
		if s.Stack == "doca-ofed" && (s.Verdict != plan.StackPossible || s.Status != plan.Unknown || !slices.Contains(codes(s.Reasons), "nothing-documented") ||
			excluded.Stacks[i].Verdict != plan.StackRefused || excluded.Stacks[i].Status != plan.Unsupported) {
			t.Errorf("%+v, %+v", s, excluded.Stacks[i])
		}
	}
	if whole.Chosen == nil || whole.Chosen.Stack == "doca-ofed" {
		t.Errorf("%s", whole.Summary)
	}
}

// Each pair of a stack and a version that somebody may type, on hosts of all kinds: there is an answer, with a reason.
func TestEveryVersionHasAnAnswer(t *testing.T) {
	m := known(t)
	pairs := asked(m)
	if len(pairs) < 200 {
		t.Fatalf("only %d pairs", len(pairs))
	}
	hosts := []facts.Facts{
		jammy(), bookworm(connectX3), rhel94(), rhel94(hasRelease("doca-ofed", "3.2.1", "25.10-1.7.1")), rhel94(hasRelease("mlnx-ofed", "24.10-1.1.4.0", "")),
		jammy(func(f *facts.Facts) { // BlueField-2, Ubuntu 20.04
			f.Distro.VersionID, f.Kernel.Release = facts.Is("20.04", "os"), facts.Is("5.4.0-26-generic", "uname -r")
			f.PCI.Value[1].Device, f.PCI.Value[1].Generation = "a2d6", facts.Is("bluefield-2", "ids")
		}),
		bookworm(intelE810), bookworm(), bookworm(connectX5, inContainer),
		{},
	}
	if testing.Short() {
		hosts = hosts[:3]
	}
	all := []profiles.Profile{profile(t, "lts"), profile(t, "latest")}
	refused := map[rules.Code]int{}
	for _, p := range all {
		for n, f := range hosts {
			for _, pair := range pairs {
				if n > 1 && (p.Name == "latest" || pair[0] == "rdma-core") {
					continue // the same as the others
				}
				got, err := plan.Make(f, p, m, plan.Request{Stack: pair[0], Version: pair[1], Date: "2026-11-30"})
				if err != nil {
					t.Fatal(err)
				}
				if got.Verdict == plan.Refuse {
					refused[rules.Code(got.Reasons[0].Code)]++
					if got.Reasons[0].Text == "" || got.Reasons[0].Code == string(rules.UnknownCombination) {
						t.Errorf("host %d, %q: %+v", n, pair, got.Reasons)
					}
				}
				for _, s := range got.Stacks {
					if len(s.Reasons) == 0 {
						t.Errorf("host %d, %q: %s is %s without a reason", n, pair, s.Stack, s.Verdict)
					}
				}
			}
		}
	}
	for _, code := range []rules.Code{plan.NeverChosenRelease, plan.NeverReleased, plan.VersionUnknown, rules.CardNotServed} {
		if refused[code] == 0 {
			t.Errorf("no pair is refused for %s: %v", code, refused)
		}
	}
}

// asked are the versions of the matrix as they may be typed: whole, by their branch and by their first number.
func asked(m *matrix.Index) [][2]string {
	var out [][2]string
	seen := map[[2]string]bool{}
	for _, stack := range plan.StackNames() {
		versions := []string{"", "latest", "0.1"}
		for _, r := range m.Releases(stack) {
			first, _, _ := strings.Cut(r.Version, ".")
			versions = append(versions, r.Version, r.Driver, r.Branch, first)
		}
		for _, version := range versions {
			if pair := [2]string{stack, version}; !seen[pair] {
				seen[pair] = true
				out = append(out, pair)
			}
		}
	}
	return out
}
