package install

import (
	"slices"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// Able says why this version cannot carry out a plan that it can make; see plan.ByHand.
func Able(p plan.Plan) error {
	why := plan.ByHand(p)
	switch {
	case why == "":
		return nil
	case p.Chosen.Stack != "inbox":
		return fault.New(fault.Stopped, "stack-not-installable",
			"`rdmactl plan` shows the way step by step; `rdmactl install --profile inbox` installs the distribution's own stack",
			"cannot install: %s; nothing was changed", why)
	}
	return fault.New(fault.Stopped, "manager-not-supported",
		"install the packages that `rdmactl plan` names with "+p.Manager+"; the rest of the plan is carried out then",
		"cannot install: %s; nothing was changed", why)
}

// Allowed stops before a combination that nothing documents, unless the user takes the risk by name. A release that
// is on the host already and stays is no risk to take.
func Allowed(p plan.Plan, unknown bool) error {
	if unknown || p.Verdict != plan.Install || p.Chosen == nil || p.Chosen.Stack == "inbox" || p.Chosen.Status != plan.Unknown || !bringsStack(p) {
		return nil
	}
	return fault.New(fault.Stopped, "unknown-combination", "the warnings of `rdmactl plan` say what is risked; --allow-unknown takes it",
		"cannot install %s %s: nothing documents it for this host; nothing was changed", p.Chosen.Stack, p.Chosen.Version)
}

// Consented stops before a stack that nobody maintains, unless the user takes it by name.
func Consented(p plan.Plan, eol bool) error {
	if eol || p.Verdict != plan.Install || !plan.NeedsConsent(p) {
		return nil
	}
	return fault.New(fault.Stopped, "not-maintained", "the warnings of `rdmactl plan` say what that means; --accept-eol takes it",
		"cannot install %s %s: nobody maintains it any more; nothing was changed", p.Chosen.Stack, p.Chosen.Version)
}

// bringsStack says that the plan brings a stack, not only files beside one that is there.
func bringsStack(p plan.Plan) bool {
	return slices.ContainsFunc(p.Steps, func(s plan.Step) bool {
		return slices.Contains([]plan.Kind{plan.KindPackages, plan.KindRepository, plan.KindBuild, plan.KindActivate, plan.KindVendorScript}, s.Kind)
	})
}
