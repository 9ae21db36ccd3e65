package rules

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

// Codes of module signatures.
const (
	MOKEnrolment       Code = "mok-enrolment"
	VendorKeyEnrolment Code = "vendor-key-enrolment"
	UnsignedModules    Code = "unsigned-modules"
)

// secureBoot: with Secure Boot, module.sig_enforce or lockdown the kernel loads only modules whose
// signer it trusts. Until DOCA 3.1 the vendor signs the modules of its packages for RHEL and SLES (KMP); from 3.2 on, and of
// deb packages at any version, DKMS signs them with a key of the host; what is built by
// add-kernel-support is not signed.
func secureBoot() VendorRule {
	return VendorRule{Name: "secure-boot", Source: "DOCA-Host installation and DKMS management guide; docs/Secure_Boot/README.txt of the bundle", Judge: func(h *vendorHost, c *Candidate) {
		why, source := h.enforced, h.enforcedSource
		if why == "" || c.Modules == ModulesInbox || c.Modules == "" {
			return
		}
		sb := h.in.Facts.SecureBoot
		// The vendor signs the module packages for RHEL, which a rebuild takes as they are, and SLES.
		signed := slices.Contains([]string{"rhel", "sles"}, h.system.rowID()) && c.Method != InContainer
		switch {
		case c.Modules == ModulesDKMS && sb.DKMSKeyEnrolled.Or(false):
			return
		case c.Modules == ModulesPrebuilt && signed && slices.ContainsFunc(sb.EnrolledKeys.Or(nil), vendorKey):
			return
		}
		c.warn(h.say(cause{rule: "secure boot", of: c.Modules}, func() Finding {
			f := Finding{Code: UnsignedModules, Effect: Warn, Source: source}
			f.Text = why + ", and modules that are built on this host are not signed: sign them with a key that is enrolled, or they do not load"
			switch c.Modules {
			case ModulesDKMS:
				f.Code = MOKEnrolment
				f.Text = why + ", and DKMS signs the modules with a key of this host: it must be enrolled with mokutil --import and confirmed in the MOK manager at the next boot, " +
					"which needs the console; until then the modules do not load"
			case ModulesPrebuilt:
				if !signed {
					f.Text = why + ", and no source says that the prebuilt modules for " + h.system.name + " are signed (those for RHEL and SLES are): see modinfo -F signer, and sign them with a key that is enrolled, or they do not load"
					break
				}
				f.Code = VendorKeyEnrolment
				f.Text = why + ", and the modules are signed with the vendor's key: it must be enrolled with mokutil --import and confirmed in the MOK manager at the next boot, " +
					"which needs the console; until then the modules do not load"
			}
			return f
		}))
	}}
}

// vendorKey says that a certificate is the vendor's.
func vendorKey(c facts.Certificate) bool {
	return strings.Contains(c.Subject, "Mellanox") || strings.Contains(c.Subject, "NVIDIA")
}

// signaturesEnforced says why the kernel refuses unsigned modules, empty when it is not known to.
func (h *vendorHost) signaturesEnforced() (why, source string) {
	sb, lockdown := h.in.Facts.SecureBoot, h.in.Facts.Kernel.Lockdown
	switch {
	case sb.Enabled.Or(false):
		return "Secure Boot is on", sb.Enabled.Source
	case sb.SigEnforce.Or(false):
		return "the kernel enforces module signatures (module.sig_enforce)", sb.SigEnforce.Source
	case !h.otherKernel && h.in.Facts.Kernel.Config.Or(nil)["MODULE_SIG_FORCE"] == "y":
		return "the kernel is built to load signed modules only (CONFIG_MODULE_SIG_FORCE=y)", h.in.Facts.Kernel.Config.Source
	case lockdown.Or("") == "integrity" || lockdown.Or("") == "confidentiality":
		return "the kernel is locked down (" + lockdown.Value + ")", lockdown.Source
	}
	return "", ""
}
