package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/plan"
)

// What is installed to build with goes again where that is asked for: behind the build and what uses it, before the
// verification.
func TestToolsAway(t *testing.T) {
	for _, method := range []string{"source", "source-package"} {
		request := plan.Request{
			Stack: "rdma-core", Version: "64.0", Method: method, Date: "2026-11-30",
			Source: "/srv/rdma-core-64.0.tar.gz", SHA256: strings.Repeat("a", 64), RemoveBuildDeps: true,
		}
		p := makePlan(t, bookworm(connectX5), "inbox", request)
		ids := stepIDs(p)
		at := slices.Index(ids, plan.ToolsAwayStep)
		if at < 0 || p.Steps[at].Kind != plan.KindRemove || p.Steps[at].Changes.BroughtBy != plan.BuildToolsStep {
			t.Fatalf("%s: steps %v", method, ids)
		}
		for _, before := range []string{"build-tools", "build", "use", "built-packages"} {
			if i := slices.Index(ids, before); i > at {
				t.Errorf("%s: %s comes behind it in %v", method, before, ids)
			}
		}
		if i := slices.Index(ids, "verify"); i >= 0 && i < at {
			t.Errorf("%s: verified with what goes: %v", method, ids)
		}
		if !strings.Contains(p.Next[0].Command, "--remove-build-deps") {
			t.Errorf("%s: next %q", method, p.Next[0].Command)
		}
		request.RemoveBuildDeps = false
		if ids := stepIDs(makePlan(t, bookworm(connectX5), "inbox", request)); slices.Contains(ids, plan.ToolsAwayStep) {
			t.Errorf("%s: it goes unasked: %v", method, ids)
		}
	}
	// Without a build there is nothing to take away.
	p := makePlan(t, bookworm(connectX5), "inbox", plan.Request{Date: "2026-11-30", RemoveBuildDeps: true})
	if slices.Contains(stepIDs(p), plan.ToolsAwayStep) {
		t.Errorf("steps %v", stepIDs(p))
	}
}
