package plan

import (
	"slices"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan/rules"
)

// Fault is a refusal as an error with its exit code, nil for any other verdict. A host that could be
// served once something is put right stops the plan; one that no stack serves refuses it.
func Fault(p Plan) *fault.Error {
	if p.Verdict != Refuse || len(p.Reasons) == 0 {
		return nil
	}
	first := p.Reasons[0]
	kind := fault.Refused
	if slices.Contains(preconditions(), rules.Code(first.Code)) {
		kind = fault.Stopped
	}
	hint := ""
	if code, ok := facts.LookupCode(first.Code); ok {
		hint = code.Remedy
	}
	return fault.New(kind, first.Code, hint, "cannot plan profile %s: %s", p.Profile, first.Text)
}

// preconditions are reasons that someone can put right on this host without another kernel or card.
func preconditions() []rules.Code {
	return []rules.Code{rules.BrokenPackages, rules.PackageHeld, rules.ModuleBlacklisted, rules.ForeignStack, rules.SoftRoCEConflict}
}
