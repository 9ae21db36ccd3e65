package plan_test

import (
	"slices"
	"testing"

	"github.com/rdmactl/rdmactl/plan"
)

func TestPointRelease(t *testing.T) {
	for asked, want := range map[string]string{
		"56.1": "56.1", "56.12": "56.12", "56.0": "56.0",
		"56.1.2": "", "99.1": "", "56.1-1": "", "56.x": "", "v56.1": "", "56.": "",
	} {
		p := makePlan(t, bookworm(connectX5), "edge", plan.Request{Stack: "rdma-core", Version: asked})
		if want == "" {
			if p.Verdict != plan.Refuse || !slices.Contains(codes(p.Reasons), "version-not-known") {
				t.Errorf("%s: %s, %v", asked, p.Summary, codes(p.Reasons))
			}
			continue
		}
		if p.Chosen == nil || p.Chosen.Version != want {
			t.Errorf("%s: %s", asked, p.Summary)
			continue
		}
		i := slices.IndexFunc(p.Steps, func(s plan.Step) bool { return s.Kind == plan.KindBuild })
		if b := p.Steps[i].Changes.Build; b.Version != want || b.Prefix != "/opt/rdma-core/"+want {
			t.Errorf("%s: builds %+v", asked, b)
		}
		stack := p.Stacks[slices.IndexFunc(p.Stacks, func(s plan.Stack) bool { return s.Stack == "rdma-core" })]
		if slices.Contains(codes(stack.Reasons), string(plan.PointRelease)) != (want != "56.0") {
			t.Errorf("%s: reasons %v", asked, codes(stack.Reasons))
		}
	}
	// Numbers of the other stacks are whole lists; nothing is guessed there.
	p := makePlan(t, bookworm(connectX5), "lts", plan.Request{Stack: "doca-ofed", Version: "2.9.77"})
	if p.Verdict != plan.Refuse {
		t.Errorf("%s", p.Summary)
	}
}
