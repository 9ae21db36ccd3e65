package install

import (
	"slices"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// Able says why this version cannot carry out a plan that it can make: it installs the stack inbox with
// apt, and plans the other stacks and package managers. manager is the host's: apt, dnf, yum or zypper.
func Able(p plan.Plan, manager string) error {
	if p.Verdict != plan.Install {
		return nil
	}
	if p.Chosen != nil && p.Chosen.Stack != "inbox" {
		return fault.New(fault.Stopped, "stack-not-installable",
			"`rdmactl plan` shows the way step by step; `rdmactl install --profile inbox` installs the distribution's own stack",
			"cannot install %s %s: this version plans that stack and does not install it yet; nothing was changed", p.Chosen.Stack, p.Chosen.Version)
	}
	packages := slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Kind == plan.KindPackages })
	if packages && manager != "apt" && manager != "" {
		return fault.New(fault.Stopped, "manager-not-supported",
			"install the packages that `rdmactl plan` names with "+manager+"; the rest of the plan is carried out then",
			"cannot install packages with %s: this version works with apt only; nothing was changed", manager)
	}
	return nil
}
