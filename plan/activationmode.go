package plan

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan/rules"
)

// How an installed stack comes into use, the values of Request.Activate and --activate.
const (
	ActivateAuto   = "auto"   // now where that is safe, else at the next boot
	ActivateLive   = "live"   // now, or not at all
	ActivateReboot = "reboot" // at the next boot
	ActivateNone   = "none"   // left to whoever boots the host, as for images
)

// ActivationModes are the values of Request.Activate, the default first.
func ActivationModes() []string {
	return []string{ActivateAuto, ActivateLive, ActivateReboot, ActivateNone}
}

// activationMode is what was asked for, auto where nothing was.
func activationMode(req Request) string {
	if req.Activate == "" {
		return ActivateAuto
	}
	return req.Activate
}

// now says whether the steps bring the stack into use: a system that does not run cannot, and the user may
// leave it to the next boot.
func now(in rules.Input, mode string) bool {
	return in.Running() && mode != ActivateReboot && mode != ActivateNone
}

// atBootStep leaves the use of what was installed to the next boot. Without a change there is nothing to
// wait for.
func atBootStep(in rules.Input, mode string, before []Step) []Step {
	if mode != ActivateReboot || !in.Running() || len(before) == 0 {
		return nil
	}
	why := "asked for with --activate reboot: nothing is loaded, started or verified before"
	if rules.ModulesLocked(in) {
		why = "the running kernel loads no modules (kernel.modules_disabled): nothing is loaded, started or verified before"
	}
	return []Step{{
		ID: "activate", Kind: KindActivate, Summary: "what is installed comes into use at the next boot, which rdmactl leaves to you",
		Why:  why,
		Undo: "nothing to undo", Root: true, Reboot: true,
	}}
}

// withoutModules is the mode on a kernel that loads no modules: the next boot, or what was asked for that does not load
// any.
func withoutModules(mode string) (string, error) {
	switch mode {
	case ActivateAuto:
		return ActivateReboot, nil
	case ActivateLive:
		return "", fault.New(fault.Stopped, "live-unsafe", "--activate reboot leaves it to the next boot", "cannot plan a live activation: kernel.modules_disabled keeps the running kernel from loading modules")
	}
	return mode, nil
}

// asAsked leaves the activation to the next boot where that was asked for, and where nothing was: modules
// in memory are not replaced live by this version, however safe that would be.
func (a activation) asAsked(mode string) activation {
	why := "this version of rdmactl does not replace modules in memory, so the new ones are loaded at the next boot"
	if mode == ActivateReboot {
		why = "asked for with --activate reboot"
	}
	if !a.reboot {
		a.reboot = true
		a.reasons = append(a.reasons, Reason{Code: string(ActivateAtReboot), Text: why})
	}
	return a
}

// liveRefused is the error of a plan that was to be activated live where that cuts something off.
func liveRefused(mode string, act activation) error {
	if mode != ActivateLive || !act.reboot {
		return nil
	}
	var why []string
	for _, r := range act.reasons {
		why = append(why, r.Text)
	}
	return fault.New(fault.Stopped, "live-unsafe", "--activate reboot leaves it to the next boot",
		"cannot plan a live activation: %s", strings.Join(why, "; "))
}

// checkActivation refuses a mode that there is none of.
func checkActivation(req Request) error {
	if slices.Contains(ActivationModes(), activationMode(req)) {
		return nil
	}
	return fault.New(fault.Usage, "bad-activation", "it is "+strings.Join(ActivationModes(), ", "), "cannot plan for --activate %q: there is no such way", req.Activate)
}
