package plan_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan"
)

func render(t *testing.T, p plan.Plan, color bool) string {
	t.Helper()
	var b strings.Builder
	if err := plan.Render(&b, p, color); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRender(t *testing.T) {
	for _, g := range goldens(t) {
		p := makePlan(t, g.facts, g.profile, g.req)
		text := render(t, p, false)
		if first, _, _ := strings.Cut(text, "\n"); !strings.HasPrefix(p.Summary, first) {
			t.Errorf("%s: the first line is %q", g.name, first)
		}
		for _, line := range strings.Split(text, "\n") {
			if n := utf8.RuneCountInString(line); n > 100 {
				t.Errorf("%s: %d characters: %s", g.name, n, line)
			}
			if strings.TrimRight(line, " ") != line {
				t.Errorf("%s: blanks at the end of %q", g.name, line)
			}
		}
		if strings.Contains(text, "\x1b") {
			t.Errorf("%s: colour without being asked", g.name)
		}
		if !strings.Contains(render(t, p, true), "\x1b[") {
			t.Errorf("%s: no colour", g.name)
		}
		flat := strings.Join(strings.Fields(text), " ")
		for i, s := range p.Steps {
			undo := s.Undo
			if s.Kind == plan.KindFiles {
				undo = "restore the former file"
			}
			for _, want := range []string{s.ID + ": " + s.Summary, "why: " + s.Why, "undo: " + undo} {
				if !strings.Contains(flat, want) {
					t.Errorf("%s: step %d lacks %q", g.name, i+1, want)
				}
			}
		}
		for _, h := range p.Next {
			if !strings.Contains(flat, h.Command) {
				t.Errorf("%s: no %q", g.name, h.Command)
			}
		}
		for _, s := range p.Stacks {
			version := s.Version
			if version == "" {
				version = "-"
			}
			if !strings.Contains(flat, s.Stack+" "+version+" "+string(s.Verdict)+" "+string(s.Status)) {
				t.Errorf("%s: no line of %s", g.name, s.Stack)
			}
		}
	}
}

func TestRenderKeepsTerminalsSafe(t *testing.T) {
	evil := facts.Is("\x1b]0;owned\x07\x1b[2J", "/etc/os-release")
	p := makePlan(t, bookworm(connectX5, func(f *facts.Facts) {
		f.Distro.PrettyName = evil
		f.Distro.VersionID = facts.Is("99", "x")
	}), "inbox", plan.Request{})
	if text := render(t, p, false); strings.ContainsAny(text, "\x1b\x07") {
		t.Errorf("control characters of the facts reach the terminal: %q", text)
	}
}

func TestRenderSolution(t *testing.T) {
	p := makePlan(t, bookworm(), "soft", plan.Request{})
	p.Solver = &plan.Solution{Manager: "apt", DownloadBytes: 2_500_000, InstalledBytes: -1, Actions: []plan.ResolvedPackage{
		{Name: "rdma-core", Arch: "amd64", Version: "44.0-2", Origin: "Debian:12", Action: "install"},
		{Name: "iproute2", Arch: "amd64", From: "6.1.0-2", Version: "6.1.0-3", Origin: "Debian:12", Action: "upgrade"},
	}}
	text := render(t, p, false)
	for _, want := range []string{"install rdma-core:amd64 44.0-2 Debian:12", "upgrade iproute2:amd64 6.1.0-2 -> 6.1.0-3", "download 2.5 MB, installed not told"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestRenderReportsWriteErrors(t *testing.T) {
	if plan.Render(fullDisk{}, makePlan(t, bookworm(), "soft", plan.Request{}), false) == nil {
		t.Error("a write that failed was not reported")
	}
}

// TestRenderActions: a word says what becomes of a package, as far as it is known.
func TestRenderActions(t *testing.T) {
	p := plan.Plan{Verdict: plan.Install, Steps: []plan.Step{{ID: "packages", Kind: plan.KindPackages, Changes: plan.Changes{Packages: []plan.PackageChange{
		{Name: "perftest", Action: "replace"},
		{Name: "ibutils", Action: "replace"},
		{Name: "libibverbs1", Action: "replace"},
		{Name: "rdma-core", Action: "restore"},
		{Name: "ofed-scripts", Action: "restore", Optional: true},
		{Name: "mlnx-tools", Action: "remove"},
		{Name: "new", Action: "install"},
	}}}}}
	text := render(t, p, false)
	for _, want := range []string{
		"replace, remove or keep perftest\n", " restore rdma-core\n", "restore or remove ofed-scripts\n", " remove mlnx-tools\n", " new\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not said:\n%s", want, text)
		}
	}
	p.Solver = &plan.Solution{Manager: "apt", Actions: []plan.ResolvedPackage{}}
	if text = render(t, p, false); !strings.Contains(text, "Answer of apt") {
		t.Errorf("it has nothing to change:\n%s", text)
	}
	p.Warnings = []plan.Reason{{Code: "not-resolved", Text: "the lists have not been read"}}
	if text = render(t, p, false); strings.Contains(text, "Answer of apt") || !strings.Contains(text, "replace, remove or keep perftest") {
		t.Errorf("it was not asked:\n%s", text)
	}
	p.Solver = &plan.Solution{Manager: "apt", Actions: []plan.ResolvedPackage{
		{Action: "remove", Name: "ibutils"}, {Action: "upgrade", Name: "libibverbs1"}, {Action: "downgrade", Name: "rdma-core"}, {Action: "remove", Name: "ofed-scripts"},
	}}
	text = render(t, p, false)
	for _, want := range []string{" keep perftest\n", " remove ibutils\n", " replace libibverbs1\n", " restore rdma-core\n", " remove ofed-scripts\n", " remove mlnx-tools\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("with the package manager's answer %q is not said:\n%s", want, text)
		}
	}
}
