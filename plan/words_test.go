package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

func ofedInfo(f *facts.Facts) {
	f.Packages.OFEDInfo = facts.Is("MLNX_OFED_LINUX-24.04-0.6.6.0", "ofed_info -s")
}

func stackLine(t *testing.T, text, stack string) string {
	t.Helper()
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), stack+" ") {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	t.Fatalf("no line of %s in\n%s", stack, text)
	return ""
}

// A stack that only ofed_info tells of is in the way of inbox all the same, and is left alone by profiles that
// take the vendor's stacks.
func TestForeignStackStops(t *testing.T) {
	p := makePlan(t, bookworm(connectX5, ofedInfo), "inbox", plan.Request{})
	f := plan.Fault(p)
	if p.Verdict != plan.Refuse || f == nil || f.Kind != fault.Stopped || f.Code != "foreign-stack" {
		t.Fatalf("%s, %+v", p.Summary, f)
	}
	text := render(t, p, false)
	if got := stackLine(t, text, "mlnx-ofed"); !strings.HasSuffix(got, " 24.04-0.6.6.0") {
		t.Errorf("%q", got)
	}
	if !strings.Contains(text, "remove that stack with its own uninstaller") {
		t.Errorf("no remedy in\n%s", text)
	}
	if kept := makePlan(t, bookworm(connectX5, ofedInfo), "lts", plan.Request{}); kept.Chosen == nil || kept.Chosen.Version != "24.04-0.6.6.0" || slices.Contains(stepIDs(kept), "packages") {
		t.Errorf("lts: %s", kept.Summary)
	}
	twin := makePlan(t, bookworm(connectX5), "lts", plan.Request{})
	if got := stackLine(t, render(t, twin, false), "mlnx-ofed"); twin.Verdict != plan.Install || !strings.HasSuffix(got, " unknown -") {
		t.Errorf("%s, %q", twin.Summary, got)
	}
}

// In a container nothing else matters, and nothing is offered that would be refused for the same.
func TestContainerComesFirst(t *testing.T) {
	unseen := func(f *facts.Facts) {
		f.PCI = facts.Field[[]facts.PCIDevice]{Source: "lspci -nn"}
		f.Distro = facts.Distro{}
	}
	for _, tc := range []struct {
		profile string
		req     plan.Request
		facts   facts.Facts
	}{
		{"lts", plan.Request{}, bookworm(inContainer, unseen)},
		{"lts", plan.Request{}, bookworm(inContainer)},
		{"lts", plan.Request{Stack: "mlnx-ofed"}, bookworm(inContainer, connectX5)},
		{"inbox", plan.Request{}, bookworm(inContainer)},
		{"soft", plan.Request{}, bookworm(inContainer)},
	} {
		p := makePlan(t, tc.facts, tc.profile, tc.req)
		if !slices.Equal(codes(p.Reasons), []string{"container"}) {
			t.Errorf("%s: %v", tc.profile, codes(p.Reasons))
		}
		for _, h := range p.Next {
			if strings.Contains(h.Command, "rdmactl plan") || strings.Contains(h.Text, "refused") {
				t.Errorf("%s: %q would be refused as well", tc.profile, h)
			}
		}
		if len(p.Next) != 1 || !strings.Contains(p.Next[0].Text, "run rdmactl on the machine itself") {
			t.Errorf("%s: the remedy is not said: %q", tc.profile, p.Next)
		}
	}
	twin := makePlan(t, bookworm(unseen), "lts", plan.Request{})
	if !slices.Equal(codes(twin.Reasons), []string{"hardware-unknown"}) {
		t.Errorf("%v", codes(twin.Reasons))
	}
}

// Each way out that is another plan must be one that is not refused.
func TestNextIsNoRefusal(t *testing.T) {
	intel := bookworm(intelE810, halfConfigured)
	if p := makePlan(t, intel, "lts", plan.Request{}); slices.ContainsFunc(p.Next, func(h plan.Hint) bool { return strings.Contains(h.Command, "--profile inbox") }) || len(p.Next) == 0 {
		t.Errorf("inbox would be refused: %q", p.Next)
	}
	if p := makePlan(t, bookworm(intelE810), "lts", plan.Request{}); !slices.ContainsFunc(p.Next, func(h plan.Hint) bool { return strings.Contains(h.Command, "--profile inbox") }) {
		t.Errorf("inbox would do: %q", p.Next)
	}
	broken := makePlan(t, bookworm(halfConfigured), "lts", plan.Request{})
	if len(broken.Next) != 1 || !strings.Contains(broken.Next[0].Command, "explain no-rdma-hardware") {
		t.Errorf("nothing can be installed, with or without a card: %q", broken.Next)
	}
}

func TestOldKernel(t *testing.T) {
	p := makePlan(t, bookworm(connectX5), "inbox", plan.Request{Kernel: "2.6.32"})
	if p.Verdict != plan.Refuse || p.Reasons[0].Code != "kernel-too-old" || p.Stacks[0].Status != plan.Unsupported {
		t.Errorf("%s: %v", p.Summary, codes(p.Reasons))
	}
	old := makePlan(t, bookworm(connectX5), "inbox", plan.Request{Kernel: "5.10.0-32-amd64"})
	if old.Verdict != plan.Install || !slices.Contains(codes(old.Warnings), "unknown-combination") {
		t.Errorf("%s: %v", old.Summary, codes(old.Warnings))
	}
	own := makePlan(t, bookworm(connectX5), "inbox", plan.Request{Kernel: "6.1.0-51-amd64"})
	if own.Verdict != plan.Install || slices.Contains(codes(own.Warnings), "unknown-combination") {
		t.Errorf("%s: %v", own.Summary, codes(own.Warnings))
	}
}

func TestCodenameIsARelease(t *testing.T) {
	unnumbered := func(f *facts.Facts) { f.Distro.VersionID = facts.None[string]("/etc/os-release") }
	p := makePlan(t, host("", "6.12.117+deb13-amd64", "trixie", connectX5, unnumbered), "lts", plan.Request{})
	if p.Verdict != plan.Install || p.Chosen.Status != plan.Present {
		t.Errorf("%s", p.Summary)
	}
	p = makePlan(t, host("", "6.12.117+deb13-amd64", "nosuch", connectX5, unnumbered), "lts", plan.Request{})
	if p.Verdict != plan.Refuse || p.Reasons[0].Code != "unknown-combination" {
		t.Errorf("%s", p.Summary)
	}
}

// A request may name a profile by its file; the plan has the profile's own name.
func TestProfileOfAFile(t *testing.T) {
	own := profile(t, "inbox")
	own.Name = "my"
	for path, word := range map[string]string{"./my.yaml": "./my.yaml", "/etc/it's mine.yaml": `'/etc/it'\''s mine.yaml'`, "": "my"} {
		p, err := plan.Make(bookworm(connectX5), own, known(t), plan.Request{Profile: path})
		if err != nil {
			t.Fatal(err)
		}
		if p.Profile != "my" || p.Next[0].Command != "sudo rdmactl install --profile "+word {
			t.Errorf("%q: profile %q, %q", path, p.Profile, p.Next)
		}
	}
}

func TestLegendOfStacks(t *testing.T) {
	text := strings.Join(strings.Fields(render(t, makePlan(t, bookworm(connectX5), "lts", plan.Request{}), false)), " ")
	if !strings.Contains(text, "or the distribution's, holds it; unknown: no source says") || strings.Contains(text, "community:") {
		t.Error(text)
	}
	refused := render(t, makePlan(t, bookworm(inContainer), "inbox", plan.Request{}), false)
	if !strings.Contains(refused, "unsupported: ruled out") || strings.Contains(refused, "present:") {
		t.Error(refused)
	}
}

// Of what is not chosen the table has the first two reasons in full and the codes of the others.
func TestReasonsInTheTable(t *testing.T) {
	p := makePlan(t, bookworm(connectX5, func(f *facts.Facts) {
		f.Modules.Blacklisted = facts.Is(map[string]string{
			"ib_uverbs": "/etc/modprobe.d/a.conf:1", "rdma_ucm": "/etc/modprobe.d/a.conf:2",
			"ib_umad": "/etc/modprobe.d/a.conf:3", "mlx5_ib": "/etc/modprobe.d/a.conf:4",
		}, "/etc/modprobe.d")
	}), "inbox", plan.Request{})
	if n := len(p.Stacks[0].Reasons); n != 4 {
		t.Fatalf("%d reasons", n)
	}
	_, table, _ := strings.Cut(render(t, p, false), "\nStacks\n")
	table, _, _ = strings.Cut(table, "rdma-core")
	if strings.Count(table, "module-blacklisted: ") != 2 || !strings.Contains(table, "also: module-blacklisted, module-blacklisted") {
		t.Error(table)
	}
}

func TestUndoOfFilesIsShort(t *testing.T) {
	p := makePlan(t, bookworm(), "soft", plan.Request{})
	text := render(t, p, false)
	if strings.Contains(text, "where there was none") || strings.Count(text, "undo: restore the former file") < 4 {
		t.Error(text)
	}
	if !strings.Contains(step(t, p, "memlock").Undo, "a file edited since is kept") {
		t.Error("the JSON form says all of it")
	}
}

// Two long texts that differ in the middle must not look the same.
func TestCompareShowsTheDifference(t *testing.T) {
	now := makePlan(t, bookworm(), "soft", plan.Request{})
	then := makePlan(t, bookworm(), "soft", plan.Request{})
	long := strings.Repeat("x", 300)
	now.Summary, then.Summary = long+"é one "+long, long+"é two "+long
	diff := plan.Compare(then, now)
	if len(diff) != 1 {
		t.Fatalf("%q", diff)
	}
	was, is, ok := strings.Cut(strings.TrimPrefix(diff[0], "summary was "), ", is ")
	if !ok || was == is || !strings.Contains(was, "é two ") || !strings.Contains(is, "é one ") || !strings.HasPrefix(was, "... ") || !strings.HasSuffix(is, " ...") {
		t.Errorf("%q", diff[0])
	}
	if len(diff[0]) > 300 {
		t.Errorf("%d bytes", len(diff[0]))
	}
	now.Summary, then.Summary = long, long+"y"
	if diff := plan.Compare(then, now); len(diff) != 1 || !strings.Contains(diff[0], `xy"`) {
		t.Errorf("%q", diff)
	}
}
