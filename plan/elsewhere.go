package plan

import (
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan/rules"
)

// fromElsewhere refuses a release that does not come from the source that was named: nobody who names a bundle or a
// mirror means the vendor's public address.
func fromElsewhere(in rules.Input, best *rules.Candidate, req Request) error {
	if best != nil && best.Method == rules.ByVendorScript && req.Installer != nil && !inPlace(in, best) {
		if req.Installer.Version != best.Release.Version {
			return fault.New(fault.Stopped, "source-not-for-host", "name the release with --version, or another bundle",
				"cannot plan %s %s from %s: that is %s", best.Release.Stack, best.Release.Version, req.Source, printable(req.Installer.Version))
		}
		if best.Release.Stack == "ofed" {
			return nil // its file has no repository that could be judged
		}
	}
	if req.Source == "" || best == nil || best.Holding != nil || best.Method == rules.BySource || best.Method == rules.BySourcePackage || inPlace(in, best) {
		return nil
	}
	system := printable(in.Facts.Distro.ID.Or("this system") + " " + in.Facts.Distro.VersionID.Or(""))
	return fault.New(fault.Stopped, "source-not-for-host", "`rdmactl matrix import "+quoted(req.Source)+"` says for which system it is",
		"cannot plan %s %s from %s: it has nothing for %s on %s", best.Release.Stack, best.Release.Version, req.Source, system, in.Facts.Kernel.Arch.Or("this machine"))
}
