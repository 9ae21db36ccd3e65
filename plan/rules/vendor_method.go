package rules

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// Codes of methods and modules.
const (
	MethodNotOffered  Code = "method-not-offered"
	WeakUpdatesDecide Code = "weak-updates-decide"
	MixedOrigins      Code = "mixed-origins"
)

// installMethod chooses how a release is installed and where its modules come from.
//
// rpm: prebuilt module packages, linked through weak-updates for errata of the same line; the kernel's
// name must match the installer's pattern. A rebuild of RHEL that the vendor does not name has them only
// with exactly RHEL's kernel. Where nobody was seen to make packages for the minor release, and on another
// kernel, modules are built: mlnx_add_kernel_support.sh works on a bundle, doca-kernel-support on a
// repository. deb: DKMS, which the installer turns off when the kernel's headers are not a package. DOCA
// from 3.2 on: DKMS everywhere.
func installMethod() VendorRule {
	return VendorRule{Name: "install-method", Source: "mlnxofedinstall and common.pl of MLNX_OFED 5.9; DOCA-Host installation and DKMS management guides", Judge: func(h *vendorHost, c *Candidate) {
		switch h.stack {
		case "rdma-core":
			c.Method, c.Modules = BySource, ModulesInbox
			if h.asked(c, BySource, BySourcePackage) && h.in.Method == BySourcePackage {
				c.Method = BySourcePackage
				h.olderThanInstalled(c)
			}
			return
		case "ofed":
			c.Method, c.Modules = ByVendorScript, ModulesBuilt
			h.asked(c, ByVendorScript)
			return
		}
		offered := []string{ByRepository, ByLocalRepo, ByBundle, InContainer, "packages"}
		if h.stack == "mlnx-ofed" { // DOCA has no installer of its own
			offered = append(offered, ByVendorScript)
		}
		if !h.asked(c, offered...) {
			return
		}
		if h.mixedOrigins(c) {
			return
		}
		if c.Modules == "" {
			c.Modules = h.modules(c)
		}
		if h.in.Method == ByVendorScript && c.Modules == ModulesBuilt {
			c.refuse(h.once("script-builds", func() []Finding {
				return refuse(MethodNotOffered, "mlnxofedinstall of MLNX_OFED 4.9: invoke_add_kernel_support", "the release has no modules for this kernel, and the vendor's installer builds them only with --add-kernel-support, which then removes whatever is in its way (--force)")
			})...)
			return
		}
		switch {
		case h.in.Method != "" && h.in.Method != "packages":
			c.Method = h.in.Method
		case c.Holding != nil:
			c.Method = heldBy(c.Holding)
		case h.stack == "mlnx-ofed" && c.Modules == ModulesBuilt:
			c.Method = ByBundle
		case c.Layout != nil && c.Layout.Repository == "" && c.Layout.Bundle != "":
			c.Method = ByBundle
		default:
			c.Method = ByRepository
		}
		if h.stack == "doca-ofed" && c.Method == ByBundle {
			c.Method = ByLocalRepo // DOCA's bundle is a package that lays down a repository
		}
	}}
}

// asked refuses a method that the stack does not have.
func (h *vendorHost) asked(c *Candidate, offered ...string) bool {
	if h.in.Method == "" || slices.Contains(offered, h.in.Method) {
		return true
	}
	c.refuse(h.once("asked", func() []Finding {
		return refuse(MethodNotOffered, "the request", "%s is not installed by the method %s; there are %s", h.stack, printable(h.in.Method), list(offered))
	})...)
	return false
}

// heldBy is the method that a holding's origin allows.
func heldBy(held *matrix.Holding) string {
	origin := held.Origin
	switch {
	case strings.HasSuffix(origin, ".tgz"), strings.HasSuffix(origin, ".tar.gz"), strings.HasSuffix(origin, ".iso"):
		return ByBundle
	case held.File == nil && (strings.HasPrefix(origin, "http://") || strings.HasPrefix(origin, "https://")):
		return ByRepository
	}
	return ByLocalRepo
}

// modules tells where the modules of a release come from on this host.
func (h *vendorHost) modules(c *Candidate) string {
	switch {
	case h.in.Method == InContainer:
		if h.fit == fitExact {
			return ModulesPrebuilt
		}
		return ModulesBuilt
	case c.Release.Modules == "dkms":
		return ModulesDKMS
	case h.system.family == "debian":
		if h.stack == "mlnx-ofed" && (h.kernel.kind == kernelOther || h.kernel.kind == kernelCandidate) {
			return ModulesBuilt
		}
		return ModulesDKMS
	case h.kernel.kind == kernelOther || h.kernel.kind == kernelCandidate || h.kernel.kind == kernelFlavour && h.fit == fitOff:
		return ModulesBuilt
	case !h.made && c.Holding == nil:
		return ModulesBuilt // nobody was seen to make packages for this minor release
	}
	rebuild := h.system.like != "" && !h.official
	kmp, known := h.kmp(h.system.label(false))
	switch {
	case known && kmp.Disabled:
		return ModulesBuilt // Oracle Linux 7.6 to 7.9 with UEK
	case h.fit == fitExact && !rebuild:
		return ModulesPrebuilt
	case rebuild && h.fit != fitExact:
		return ModulesBuilt // its errata are named like RHEL's and are others' builds
	case known && kmp.Kernel != "" && !h.matrix.Named([]string{kmp.Kernel}, h.kernel.release):
		return ModulesBuilt
	case h.fit == fitOff && !known:
		return ModulesBuilt
	}
	if h.kernel.kind != kernelUntold {
		c.warn(h.weakUpdates(&kmp, rebuild))
	}
	return ModulesPrebuilt
}

// weakUpdates: modules that are made for one kernel serve another only through links.
func (h *vendorHost) weakUpdates(kmp *matrix.KMP, rebuild bool) Finding {
	text := "the prebuilt modules are for another line than kernel " + h.kernel.release
	switch {
	case rebuild:
		text = "the prebuilt modules are for RHEL's kernel " + h.table + "; " + h.system.name + " builds its kernel " + h.kernel.release + " itself"
	case h.fit == fitErrata:
		text = "the prebuilt modules are for " + named(h.table, "the first kernel of the release") + "; kernel " + h.kernel.release + " is another build of the same line"
	case h.fit == fitUntold:
		text = "no source tells the kernel that the prebuilt modules are for; that may be another one than " + h.kernel.release
	}
	return h.say(cause{rule: "weak-updates", of: text}, func() Finding {
		return Finding{
			Code: WeakUpdatesDecide, Effect: Warn, Source: firstSource(kmp.Source, "MLNX_OFED, Application Binary Interface (ABI) incompatibility with kernel modules (weak-updates)"),
			Text: text + ": they serve it when weak-updates links them, and must be built for it when no links appear",
		}
	})
}

// kmp is the installer's rule for the label, else that for all minor releases of its major one.
func (h *vendorHost) kmp(label string) (matrix.KMP, bool) {
	if k, ok := h.matrix.KMP(label); ok {
		return k, true
	}
	major, _, ok := strings.Cut(label, ".")
	if !ok {
		return matrix.KMP{}, false
	}
	return h.matrix.KMP(major + ".x")
}

// mixedOrigins refuses where packages of another origin are installed that must not be mixed with the
// vendor's, such as Canonical's DOCA-OFED on Ubuntu 26.04.
func (h *vendorHost) mixedOrigins(c *Candidate) bool {
	if c.Layout == nil || len(c.Layout.Conflicts) == 0 {
		return false
	}
	var there []string
	for _, p := range h.packages {
		name, _, _ := strings.Cut(p.Name, ":")
		if slices.ContainsFunc(c.Layout.Conflicts, func(pattern string) bool {
			prefix, wild := strings.CutSuffix(pattern, "*")
			return name == pattern || wild && strings.HasPrefix(name, prefix)
		}) {
			there = append(there, printable(p.Name))
		}
	}
	if len(there) == 0 {
		return false
	}
	c.refuse(Finding{
		Code: MixedOrigins, Effect: Refuse, Source: firstSource(c.Layout.Source, h.in.Facts.Packages.Installed.Source),
		Text: "packages of another origin are installed that must not be mixed with the vendor's: " + list(there) + "; remove them first",
	})
	return true
}
