package plan

import (
	"slices"

	"github.com/rdmactl/rdmactl/plan/rules"
)

// NotMaintained tells that a stack is taken that had its last release in 2019.
const NotMaintained rules.Code = "not-maintained"

// ofaScript is install.pl of the OpenFabrics Alliance's OFED. Its options are known from what others wrote down only:
// --all (Intel's irdma README, as ./install --all), --hpc and --kernel (OFED 1.5.3). No more than these are used.
func ofaScript(in rules.Input, c *rules.Candidate, s *Step) {
	x := s.Changes.Script
	x.Program = OFAInstaller
	x.Args = []string{"--all"}
	if in.Profile.Name == "hpc" {
		x.Args = []string{"--hpc"}
	}
	kernel := in.Facts.Kernel.Release.Or("")
	if in.OtherKernel() {
		kernel = in.Kernel
	}
	if kernel != "" {
		x.Args = append(x.Args, "--kernel", kernel)
	}
	s.Summary = "run install.pl of " + c.Release.Stack + " " + c.Release.Version + ", which builds packages and replaces those of the distribution"
	s.Why = "this stack has no repository; its own installer is the only documented way. No source lists all of its options, nor what it removes: " +
		"the packages named here are those that MLNX_OFED, which came of it, is known to remove, and the run is taken back when another one goes"
}

// ofaRemoves says whether a package is one that goes for OFED. No source lists those of its installer; MLNX_OFED's, which
// came of it, has a list of the distributions' packages and of those of every OFED before it.
func ofaRemoves(in rules.Input, name string) bool {
	if in.Matrix == nil {
		return false
	}
	for _, l := range in.Matrix.Layouts("mlnx-ofed") {
		if l.Family == in.Facts.Distro.Family.Or("") && slices.ContainsFunc(l.Replaces, named(name)) && !slices.ContainsFunc(l.Keeps, named(name)) {
			return true
		}
	}
	return false
}

// NeedsConsent says that a plan brings a stack that nobody maintains, which takes the user's own word (--accept-eol).
func NeedsConsent(p Plan) bool {
	return p.Chosen != nil && p.Chosen.Stack == "ofed" && slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Kind == KindVendorScript })
}

func notMaintained() Reason {
	return Reason{
		Code: string(NotMaintained), Source: "https://lists.openfabrics.org/pipermail/ewg/2020-April/019488.html",
		Text: "nobody maintains OFED of the OpenFabrics Alliance since 4.17-1 of 2019, faults of security are not mended, and its modules fit the kernels of its time alone; `rdmactl install` takes it only with --accept-eol",
	}
}
