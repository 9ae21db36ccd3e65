package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan"
)

// sles is a host of SUSE's with a card.
func sles(version, kernel string, changes ...change) facts.Facts {
	return bookworm(append([]change{connectX5, func(f *facts.Facts) {
		f.Distro.ID, f.Distro.VersionID, f.Distro.Family = facts.Is("sles", "os"), facts.Is(version, "os"), facts.Is("suse", "os")
		f.Distro.PrettyName = facts.None[string]("os")
		f.Packages.Manager = facts.Is("zypper", "os")
		f.Kernel.Release, f.Kernel.Installed = facts.Is(kernel, "uname -r"), facts.Is([]string{kernel}, "/lib/modules")
	}}, changes...)...)
}

// A release whose packages nobody looked at is refused by a profile that chooses, and the way out is the profile of the
// distribution's own stack, where that plans.
func TestUnknownReleaseHasAWayOut(t *testing.T) {
	hint := func(p plan.Plan, command string) bool {
		return slices.ContainsFunc(p.Next, func(h plan.Hint) bool { return h.Command == command })
	}
	p := makePlan(t, sles("15.7", "6.4.0-150700.53-default"), "lts", plan.Request{})
	if p.Verdict != plan.Refuse || p.Reasons[0].Code != "unknown-combination" || !hint(p, "rdmactl plan --profile inbox") {
		t.Errorf("%s %+v, next %+v", p.Verdict, p.Reasons, p.Next)
	}
	if p := makePlan(t, sles("15.7", "6.4.0-150700.53-default"), "inbox", plan.Request{}); p.Verdict != plan.Install {
		t.Errorf("the way out is refused: %s", p.Summary)
	}
	// Half configured packages keep inbox from it as well.
	p = makePlan(t, sles("15.7", "6.4.0-150700.53-default", halfConfigured), "lts", plan.Request{})
	if p.Verdict != plan.Refuse || hint(p, "rdmactl plan --profile inbox") {
		t.Errorf("%s %+v, next %+v", p.Verdict, p.Reasons, p.Next)
	}
	if p := makePlan(t, bookworm(connectX5), "inbox", plan.Request{}); p.Verdict == plan.Refuse || hint(p, "rdmactl plan --profile inbox") {
		t.Errorf("%s, next %+v", p.Verdict, p.Next)
	}
}

// What is held is lifted with the package manager of the host.
func TestHeldPackagesHaveAWayOut(t *testing.T) {
	held := func(f *facts.Facts) { f.Packages.Held = facts.Is([]string{"perftest"}, "the package manager") }
	for _, tc := range []struct {
		f    facts.Facts
		want string
	}{
		{bookworm(connectX5, held), "apt-mark showhold"},
		{sles("15.5", "5.14.21-150500.53-default", held), "zypper locks"},
		{bookworm(connectX5), ""},
	} {
		p := makePlan(t, tc.f, "inbox", plan.Request{})
		got := ""
		for _, h := range p.Next {
			if strings.Contains(h.Command, "hold") || strings.Contains(h.Command, "locks") {
				got = h.Command
			}
		}
		if got != tc.want || (p.Verdict == plan.Refuse) != (tc.want != "") {
			t.Errorf("%s %+v: next %+v, want %q", p.Verdict, p.Reasons, p.Next, tc.want)
		}
	}
}
