package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan"
)

// builtCopy is a version of rdma-core in a directory of its own.
func builtCopy(directory, version string, active facts.Field[bool]) change {
	return func(f *facts.Facts) {
		prefix := "/opt/rdma-core/" + directory
		f.Userspace.Built = facts.Is(append(f.Userspace.Built.Value, facts.BuiltLibrary{
			Prefix: prefix, Path: prefix + "/lib/libibverbs.so.1", Version: facts.Is(version, prefix), PrivateABI: facts.Is(64, "objdump"), Active: active,
		}), "/opt/rdma-core")
	}
}

// A version that is built into its directory is in place when programs get it, and only then.
func TestBuiltVersionIsInPlace(t *testing.T) {
	const version = "64.0"
	is := func(v bool) facts.Field[bool] { return facts.Is(v, "ldconfig -p") }
	tests := []struct {
		name     string
		copies   []change
		build    bool // the plan builds it
		use      bool // the plan makes it what programs get
		warned   bool // and says that it is there already
		on, kept string
	}{
		{"nothing is built", nil, true, true, false, "", version},
		{"built and active", []change{builtCopy(version, version, is(true))}, false, false, false, version, version},
		{"built and not active", []change{builtCopy(version, version, is(false))}, false, true, true, "", version},
		{"built, and nothing tells whether active", []change{builtCopy(version, version, facts.Field[bool]{Source: "/etc/ld.so.conf"})}, false, true, true, "", version},
		{"another version in its directory", []change{builtCopy(version, "60.0", is(true))}, true, true, false, "60.0", version},
		{"an older one active beside it", []change{builtCopy("60.0", "60.0", is(true)), builtCopy(version, version, is(false))}, false, true, true, "60.0", version},
		{"the same version elsewhere", []change{builtCopy("mine", version, is(true))}, true, true, false, version, version},
	}
	for _, test := range tests {
		p := makePlan(t, bookworm(append([]change{connectX5}, test.copies...)...), "edge", plan.Request{Stack: "rdma-core", Version: version, Date: "2026-11-30"})
		if p.Chosen == nil || p.Chosen.Version != test.kept {
			t.Fatalf("%s: %s", test.name, p.Summary)
		}
		build := slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Kind == plan.KindBuild })
		use := slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Kind == plan.KindUse })
		if build != test.build || use != test.use || slices.Contains(codes(p.Warnings), "built-not-active") != test.warned {
			t.Errorf("%s: builds %v, uses %v, warnings %v", test.name, build, use, codes(p.Warnings))
		}
		i := slices.IndexFunc(p.Stacks, func(s plan.Stack) bool { return s.Stack == "rdma-core" })
		if p.Stacks[i].Installed != test.on {
			t.Errorf("%s: on the host is %q, want %q", test.name, p.Stacks[i].Installed, test.on)
		}
	}
	// To stand beside the distribution's, being built is enough, and the plan has no step that makes it the default.
	for _, built := range []bool{true, false} {
		changes := []change{connectX5}
		if built {
			changes = append(changes, builtCopy(version, version, is(false)))
		}
		p := makePlan(t, bookworm(changes...), "edge", plan.Request{Stack: "rdma-core", Version: version, Date: "2026-11-30", Activate: plan.ActivateNone})
		for _, s := range p.Steps {
			if s.Kind == plan.KindUse || s.Kind == plan.KindBuild && built {
				t.Errorf("beside, built %v: step %s", built, s.ID)
			}
		}
	}
	// With the files of the profile there is nothing left to do.
	f := bookworm(connectX5, builtCopy(version, version, is(true)))
	request := plan.Request{Stack: "rdma-core", Version: version, Date: "2026-11-30"}
	if again := makePlan(t, carriedOut(f, makePlan(t, f, "edge", request)), "edge", request); again.Verdict != plan.NothingToDo {
		t.Errorf("the second plan: %s, %d steps", again.Summary, len(again.Steps))
	}
	// A version that is in use stays when the stack is named and no version is.
	old := bookworm(connectX5, builtCopy("60.0", "60.0", is(true)))
	if p := makePlan(t, old, "edge", plan.Request{Stack: "rdma-core", Date: "2026-11-30"}); p.Chosen == nil || p.Chosen.Version != "60.0" || !slices.Contains(codes(p.Reasons), "release-in-place") {
		t.Errorf("%s %+v", p.Summary, p.Chosen)
	}
	if p := makePlan(t, old, "edge", plan.Request{Stack: "rdma-core", Upgrade: true, Date: "2026-11-30"}); p.Chosen == nil || p.Chosen.Version == "60.0" {
		t.Errorf("--upgrade: %s %+v", p.Summary, p.Chosen)
	}
}

// An image is never activated, and uses the build when it boots: unless it is asked to leave the default alone.
func TestImageUsesBuild(t *testing.T) {
	for _, aside := range []bool{false, true} {
		image := bookworm(connectX5, func(f *facts.Facts) { f.Origin = "root" })
		req := plan.Request{Stack: "rdma-core", Version: "64.0", Date: "2026-11-30", Root: "/srv/image", Activate: plan.ActivateNone, Aside: aside}
		p := makePlan(t, image, "edge", req)
		if use := slices.Contains(stepIDs(p), "use"); use == aside || !slices.Contains(stepIDs(p), "build") {
			t.Errorf("aside %v: steps %v", aside, stepIDs(p))
		}
		if strings.Contains(p.Next[0].Command, "--activate none") != aside {
			t.Errorf("aside %v: next is %q", aside, p.Next[0].Command)
		}
		req.Root = ""
		if p := makePlan(t, image, "edge", req); slices.Contains(stepIDs(p), "use") {
			t.Errorf("not by its directory, aside %v: steps %v", aside, stepIDs(p))
		}
	}
}
