package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan"
)

func inbox44(names ...string) change {
	var list []facts.Package
	for _, name := range names {
		list = append(list, facts.Package{Name: name, Version: "44.0-2", Status: "install ok installed", Origin: "inbox"})
	}
	return installed(list...)
}

// TestPackagesFromSource: packages of the tree's own packaging take the place of those that are installed, and of those
// that the profile wants.
func TestPackagesFromSource(t *testing.T) {
	request := plan.Request{Stack: "rdma-core", Version: "64.0", Method: "source-package", Date: "2026-11-30", Source: "/srv/rdma-core-64.0.tar.gz", SHA256: strings.Repeat("a", 64)}
	f := bookworm(connectX5, inbox44("libibverbs1", "libibumad3", "python3-pyverbs"))
	p := makePlan(t, f, "inbox", request)
	if p.Verdict != plan.Install || p.Chosen.Method != "source-package" || p.Chosen.Version != "64.0" {
		t.Fatalf("%s %+v", p.Summary, p.Chosen)
	}
	ids := stepIDs(p)
	if at := slices.Index(ids, "build-tools"); at < 0 || !slices.Equal(ids[at:at+3], []string{"build-tools", "build", "built-packages"}) || slices.Contains(ids, "use") {
		t.Fatalf("steps %v", ids)
	}
	steps := map[string]plan.Step{}
	for _, s := range p.Steps {
		steps[s.ID] = s
	}
	if b := steps["build"].Changes.Build; b.Packages != "deb" || b.Prefix != "" || b.Source != request.Source || b.SHA256 != request.SHA256 {
		t.Errorf("it builds %+v", b)
	}
	if steps["built-packages"].Changes.BuiltBy != "build" {
		t.Errorf("the packages are of %q", steps["built-packages"].Changes.BuiltBy)
	}
	actions := map[string]string{}
	for _, c := range steps["built-packages"].Changes.Packages {
		actions[c.Name] = c.Action
	}
	for name, want := range map[string]string{
		"libibverbs1": "upgrade", "libibumad3": "upgrade", "ibverbs-providers": "install", "rdma-core": "install", "ibverbs-utils": "install",
		"python3-pyverbs": "", "libibverbs-dev": "", "perftest": "", "librdmacm1t64": "",
	} {
		if actions[name] != want {
			t.Errorf("%s: %q, want %q", name, actions[name], want)
		}
	}
	if told := codes(p.Warnings); !slices.Contains(told, "packages-from-source") || !slices.Contains(told, "bindings-stay") {
		t.Errorf("warnings %v", told)
	}
	if plan.ByHand(p) != "" || !strings.Contains(p.Next[0].Command, "--method source-package") {
		t.Errorf("by hand %q, next %q", plan.ByHand(p), p.Next[0].Command)
	}

	// In place: all of them, of that version, and built here; then nothing else is left to do.
	done := func(version string, but ...string) facts.Facts {
		after := carriedOut(f, p)
		list := slices.DeleteFunc(after.Packages.Installed.Value, func(one facts.Package) bool {
			_, ours := actions[one.Name]
			return ours
		})
		for name := range actions {
			if !slices.Contains(but, name) {
				list = append(list, facts.Package{Name: name, Version: version, Status: "install ok installed", Origin: "inbox"})
			}
		}
		slices.SortFunc(list, func(a, b facts.Package) int { return strings.Compare(a.Name, b.Name) })
		after.Packages.Installed.Value = list
		return after
	}
	for _, test := range []struct {
		name    string
		host    facts.Facts
		verdict plan.Verdict
	}{
		{"built here", done("64.0-1+rdmactl1"), plan.NothingToDo},
		{"the distribution's of the same version", done("64.0-1"), plan.Install},
		{"built here of another version", done("60.0-1+rdmactl1"), plan.Install},
		{"one is missing", done("64.0-1+rdmactl1", "ibverbs-utils"), plan.Install},
	} {
		if again := makePlan(t, test.host, "inbox", request); again.Verdict != test.verdict {
			t.Errorf("%s: %s", test.name, again.Summary)
		}
	}
	i := slices.IndexFunc(p.Stacks, func(s plan.Stack) bool { return s.Stack == "rdma-core" })
	if s := makePlan(t, done("64.0-1+rdmactl1"), "inbox", request).Stacks[i]; s.Installed != "64.0" {
		t.Errorf("on the host is %q", s.Installed)
	}
}

// Without --method the same wish is a build into a directory of its own; an older release is refused for packages only;
// a host without apt is told the other way.
func TestPackagesFromSourceNot(t *testing.T) {
	request := plan.Request{Stack: "rdma-core", Version: "64.0", Date: "2026-11-30"}
	f := bookworm(connectX5, inbox44("libibverbs1"))
	if p := makePlan(t, f, "inbox", request); p.Chosen.Method != "source" || slices.Contains(stepIDs(p), "built-packages") || slices.Contains(codes(p.Warnings), "packages-from-source") {
		t.Errorf("%+v %v", p.Chosen, stepIDs(p))
	}
	request.Method, request.Version = "source-package", "40.0"
	if p := makePlan(t, f, "inbox", request); p.Verdict != plan.Refuse || !slices.Contains(codes(p.Reasons), "older-than-installed") {
		t.Errorf("an older one: %s", p.Summary)
	}
	// A point release is newer than the release that it mends.
	request.Version = "56.1"
	at56 := bookworm(connectX5, installed(facts.Package{Name: "libibverbs1", Version: "56.1-1+rdmactl1", Status: "install ok installed", Origin: "inbox"}))
	if p := makePlan(t, at56, "inbox", request); p.Verdict != plan.Install {
		t.Errorf("a point release: %s", p.Summary)
	}
	request.Method, request.Version = "source", "40.0"
	if p := makePlan(t, f, "inbox", request); p.Verdict != plan.Install {
		t.Errorf("an older one beside: %s", p.Summary)
	}
	request.Method, request.Version = "source-package", "64.0"
	rhel := bookworm(connectX5, func(f *facts.Facts) {
		f.Distro.ID, f.Distro.VersionID, f.Distro.Family = facts.Is("rhel", "os"), facts.Is("9.4", "os"), facts.Is("rhel", "os")
		f.Packages.Manager = facts.Is("dnf", "os")
		f.Packages.Installed = facts.Is([]facts.Package{{Name: "libibverbs", Version: "48.0-1.el9", Origin: "inbox"}}, "rpm")
	})
	if p := makePlan(t, rhel, "inbox", request); !strings.Contains(plan.ByHand(p), "without --method") || slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return strings.Contains(s.Summary, "debian/") }) {
		t.Errorf("with dnf: %q, %s", plan.ByHand(p), p.Summary)
	}
}
