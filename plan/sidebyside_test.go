package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan"
)

// TestSideBySide compares the stacks for RHEL 9.4 with a ConnectX-6 Dx: each row is what a plan for that stack
// alone says.
func TestSideBySide(t *testing.T) {
	f := bookworm(func(f *facts.Facts) {
		f.Distro.ID, f.Distro.VersionID, f.Distro.Family = facts.Is("rhel", "os"), facts.Is("9.4", "os"), facts.Is("rhel", "os")
		f.Packages.Manager = facts.Is("dnf", "os")
		f.Kernel.Release = facts.Is("5.14.0-427.13.1.el9_4.x86_64", "uname -r")
		f.Packages.Installed = facts.Is([]facts.Package{{Name: "libibverbs", Version: "48.0-1.el9", Origin: "inbox"}}, "rpm")
	}, function(facts.PCIDevice{
		Address: "0000:3b:00.0", Vendor: "15b3", Device: "101d", Class: "0200", Generation: facts.Is("connectx-6-dx", "ids"),
		RDMACapable: true, WantsDriver: "mlx5_core", WantsRDMADriver: "mlx5_ib", WantsProvider: "mlx5",
	}))
	m := known(t)
	c, err := plan.SideBySide(f, profile(t, "lts"), m, plan.Request{Date: "2026-11-30"})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Stacks) != len(plan.StackNames()) || c.Chosen != "mlnx-ofed" {
		t.Fatalf("chosen %q, %d stacks", c.Chosen, len(c.Stacks))
	}
	for _, s := range c.Stacks {
		alone, err := plan.Make(f, profile(t, "lts"), m, plan.Request{Date: "2026-11-30", Stack: s.Stack.Stack})
		if err != nil {
			t.Fatal(err)
		}
		if s.Steps != len(alone.Steps) || s.Reboot != alone.Reboot || (alone.Chosen != nil && s.Version != alone.Chosen.Version) {
			t.Errorf("%s: %d steps, reboot %v, %s; alone %d, %v, %+v", s.Stack.Stack, s.Steps, s.Reboot, s.Version, len(alone.Steps), alone.Reboot, alone.Chosen)
		}
		want := alone.Warnings
		if alone.Chosen == nil {
			want = []plan.Reason{}
		}
		if diff := cmp.Diff(want, s.Warnings); s.Stack.Stack != c.Chosen && diff != "" {
			t.Errorf("%s: other warnings than alone:\n%s", s.Stack.Stack, diff)
		}
		if s.Licence == "" || s.Goes == nil || s.Added == nil || s.Gains == nil || s.Losses == nil {
			t.Errorf("%+v", s)
		}
		vendor := s.Stack.Stack == "mlnx-ofed" || s.Stack.Stack == "doca-ofed"
		if vendor != slices.Contains(s.Goes, "libibverbs") {
			t.Errorf("%s: packages that go: %q", s.Stack.Stack, s.Goes)
		}
		if nothing := s.Minutes.To != nil && *s.Minutes.To == 0; s.Verdict != plan.StackRefused && s.Compiles == nothing {
			t.Errorf("%s: compiles %v, minutes %+v", s.Stack.Stack, s.Compiles, s.Minutes)
		}
		if known := s.Minutes.To != nil; known != (s.Minutes.Source != "") || known == (s.Minutes.Reason != "") {
			t.Errorf("%s: minutes without source or reason: %+v", s.Stack.Stack, s.Minutes)
		}
		for _, a := range []plan.Amount{s.Download, s.Disk} {
			if known := a.Value != nil; known != (a.Scope != "") || known && a.Source == "" || known == (a.Reason != "") {
				t.Errorf("%s: an amount without scope, source or reason: %+v", s.Stack.Stack, a)
			}
		}
	}
	var text strings.Builder
	if err := plan.RenderComparison(&text, c, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mlnx-ofed", "chosen", "(computed)", "packages that go: libibverbs", "next kernel:", "licence:"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
}

// What must be known of a card on a kernel is in the comparison as it is in the plan, in data and in text.
func TestSideBySideWarns(t *testing.T) {
	for device, generation := range map[string]string{"1023": "connectx-8", "1017": "connectx-5"} {
		f := host("11", "5.10.0-30-amd64", "bullseye", function(facts.PCIDevice{
			Address: "0000:3b:00.0", Vendor: "15b3", Device: device, Class: "0200", Generation: facts.Is(generation, "ids"),
			RDMACapable: true, WantsDriver: "mlx5_core", WantsRDMADriver: "mlx5_ib", WantsProvider: "mlx5",
		}))
		c, err := plan.SideBySide(f, profile(t, "inbox"), known(t), plan.Request{Date: "2026-11-30"})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := plan.RenderComparison(&text, c, false); err != nil {
			t.Fatal(err)
		}
		warned := slices.ContainsFunc(c.Stacks[0].Warnings, func(r plan.Reason) bool { return r.Code == "card-newer-than-kernel" })
		if want := generation == "connectx-8"; warned != want || strings.Contains(text.String(), "warning card-newer-than-kernel:") != want {
			t.Errorf("%s: warnings %+v in\n%s", generation, c.Stacks[0].Warnings, &text)
		}
		for _, s := range c.Stacks {
			if s.Verdict == plan.StackRefused && len(s.Warnings) > 0 {
				t.Errorf("%s: refused, and warns %+v", s.Stack.Stack, s.Warnings)
			}
		}
	}
}
