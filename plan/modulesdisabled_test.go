package plan_test

import (
	"slices"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan"
)

// On a kernel that loads no modules everything waits for the next boot, and what is asked for live is refused.
func TestModulesDisabled(t *testing.T) {
	for _, disabled := range []bool{true, false} {
		f := bookworm(connectX5, func(f *facts.Facts) {
			f.Kernel.ModulesDisabled = facts.Is(disabled, "/proc/sys/kernel/modules_disabled")
		})
		p := makePlan(t, f, "inbox", plan.Request{})
		loads := slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Kind == plan.KindModules })
		waits := slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Kind == plan.KindActivate && s.Reboot })
		warned := slices.ContainsFunc(p.Warnings, func(r plan.Reason) bool { return r.Code == "modules-disabled" })
		if loads == disabled || waits != disabled || warned != disabled || p.Reboot != disabled {
			t.Errorf("disabled %v: loads %v, waits %v, warned %v, reboot %v", disabled, loads, waits, warned, p.Reboot)
		}
		_, err := plan.Make(f, profile(t, "inbox"), known(t), plan.Request{Activate: plan.ActivateLive})
		if (err != nil) != disabled {
			t.Errorf("disabled %v, live: %v", disabled, err)
		}
	}
}
