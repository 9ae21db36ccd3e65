package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/plan"
)

func TestCompare(t *testing.T) {
	now := makePlan(t, bookworm(), "soft", plan.Request{})
	// As --plan has it: through a file.
	data, err := json.Marshal(now)
	if err != nil {
		t.Fatal(err)
	}
	read := func() plan.Plan {
		var p plan.Plan
		if err := json.Unmarshal(data, &p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	if diff := plan.Compare(read(), now); len(diff) != 0 {
		t.Errorf("a plan differs from itself: %q", diff)
	}
	resolved := read()
	resolved.Solver = &plan.Solution{Manager: "apt"}
	if diff := plan.Compare(resolved, now); len(diff) != 0 {
		t.Errorf("the solver's answer counts: %q", diff)
	}
	for want, spoil := range map[string]func(*plan.Plan){
		"steps[4].changes.files[0].content was": func(p *plan.Plan) { p.Steps[4].Changes.Files[0].Content += "x" },
		"steps[9] is new":                       func(p *plan.Plan) { p.Steps = p.Steps[:9] },
		"steps[0].changes.packages[6] is gone": func(p *plan.Plan) {
			p.Steps[0].Changes.Packages = append(p.Steps[0].Changes.Packages, plan.PackageChange{Name: "rootkit", Action: "install"})
		},
		`verdict was "refuse", is "install"`: func(p *plan.Plan) { p.Verdict = plan.Refuse },
		"chosen was null":                    func(p *plan.Plan) { p.Chosen = nil },
		"cards is gone":                      func(p *plan.Plan) { p.Cards = []string{"connectx-5"} },
	} {
		p := read()
		spoil(&p)
		diff := plan.Compare(p, now)
		if len(diff) != 1 || !strings.HasPrefix(diff[0], want) {
			t.Errorf("want %q, got %q", want, diff)
		}
		for _, line := range diff {
			if len(line) > 400 || strings.Contains(line, "\n") {
				t.Errorf("not a line: %q", line)
			}
		}
	}
}
