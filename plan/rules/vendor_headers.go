package rules

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// Codes of building modules.
const (
	HeadersMissing   Code = "headers-missing"
	HeadersNotTold   Code = "headers-not-told"
	HeadersToInstall Code = "headers-to-install"
	BuildNeeds       Code = "build-needs"
)

// kernelHeaders: modules are built against the headers of exactly the kernel that they are for. Headers
// of another build end in modules that do not load, or load and misbehave.
func kernelHeaders() VendorRule {
	return VendorRule{Name: "kernel-headers", Source: "DOCA-Host DKMS guide: headers of the running kernel; https://github.com/SolidRun/lx2160a_build/issues/84", Judge: func(h *vendorHost, c *Candidate) {
		// The driver container brings headers of its own.
		if c.Modules != ModulesDKMS && c.Modules != ModulesBuilt || h.kernel.kind == kernelUntold || c.Method == InContainer {
			return
		}
		for _, f := range h.once("kernel-headers", h.findHeaders) {
			if f.Effect == Refuse {
				c.refuse(f)
				return
			}
			c.warn(f)
		}
	}}
}

func (h *vendorHost) findHeaders() []Finding {
	headers := h.in.Facts.Kernel.Headers
	source := named(headers.Source, "/lib/modules/"+h.kernel.release+"/build")
	name := HeadersPackage(h.in)
	other := h.otherKernel
	switch {
	case headers.IsKnown() && !other, h.headersInstalled():
		return nil
	case headers.IsAbsent() && !other && name == "":
		return refuse(HeadersMissing, source, "the headers of kernel %s are not there, and no package of %s can supply them: it is not a kernel of the distribution. "+
			"Modules built against other headers do not fit. The kernel's own drivers with rdma-core (inbox) serve, or an image with the headers of the same build", h.kernel.release, h.system.name)
	case headers.IsAbsent() && !other:
		return warn(HeadersToInstall, source, "the headers of kernel %s are not there and modules are built; %s brings them", h.kernel.release, name)
	case name == "":
		return warn(HeadersNotTold, source, "modules are built, which takes the headers of exactly kernel %s; nothing tells whether they are there, and no package of %s supplies them", h.kernel.release, h.system.name)
	}
	return warn(HeadersNotTold, source, "modules are built, which takes the headers of exactly kernel %s; nothing tells whether they are there; the package is %s", h.kernel.release, name)
}

// headersInstalled looks for the package in the database.
func (h *vendorHost) headersInstalled() bool {
	for _, p := range h.packages {
		name, _, _ := strings.Cut(p.Name, ":")
		switch {
		case name == "linux-headers-"+h.kernel.release, name == "proxmox-headers-"+h.kernel.release, name == "pve-headers-"+h.kernel.release:
			return true
		case strings.HasPrefix(name, "kernel") && strings.HasSuffix(name, "-devel") && p.Version != "" && strings.HasPrefix(h.kernel.release, p.Version):
			return true
		}
	}
	return false
}

// HeadersPackage is the package with the headers of the target kernel, empty when the distribution has
// none for it.
func HeadersPackage(in Input) string {
	if told := in.Facts.Kernel.HeadersPackage; !in.OtherKernel() && !told.IsUnknown() {
		return printable(told.Or(""))
	}
	system := systemOf(in)
	k := kernelOf(in, system.id)
	release := k.release
	switch {
	case k.kind == kernelUntold:
		return ""
	case system.family == "debian" && strings.HasSuffix(release, "-pve"):
		return "proxmox-headers-" + release
	case k.kind == kernelOther || k.kind == kernelCandidate:
		return ""
	case system.family == "debian":
		return "linux-headers-" + release
	case system.family == "rhel":
		bare, flavour, found := strings.Cut(release, "+")
		switch {
		case isUEK(release):
			return "kernel-uek-devel-" + release
		case found:
			return "kernel-" + printable(flavour) + "-devel-" + bare
		}
		return "kernel-devel-" + release
	case system.family == "suse":
		bare, flavour, _ := cutLast(release, "-")
		return "kernel-" + printable(flavour) + "-devel (" + bare + ")"
	}
	return ""
}

// buildTools: what a build takes beside the headers.
func buildTools() VendorRule {
	return VendorRule{Name: "build-tools", Source: "DOCA-Host installation guide (prerequisites); mlnx_add_kernel_support.sh", Judge: func(h *vendorHost, c *Candidate) {
		if c.Modules != ModulesDKMS && c.Modules != ModulesBuilt || c.Method == InContainer || !h.vendor() {
			return
		}
		c.warn(h.say(cause{rule: "tools", of: h.toolKey(c)}, func() Finding {
			text := "modules are built on this host for kernel " + orUntold(h.kernel.release)
			switch {
			case c.Modules == ModulesDKMS:
				text += " by DKMS, now and for each new kernel"
			case h.stack == "mlnx-ofed":
				text += " (mlnxofedinstall --add-kernel-support"
				if h.system.like != "" && !h.official {
					text += " --distro RHEL" + h.system.like
				}
				text += "), and again for each new kernel; then the initramfs must be made anew"
			case h.stack == "ofed":
				text += " (install.pl, from source packages), and again for each new kernel"
			case h.stack == "doca-ofed":
				text += " (doca-kernel-support), and again for each new kernel; then the initramfs must be made anew"
			}
			text += "; it takes " + h.needs(c) + " and the kernel's headers"
			if missing := h.missingTools(); len(missing) > 0 {
				text += " (not on this host: " + list(missing) + ")"
			}
			switch {
			case c.Modules != ModulesDKMS:
			case h.system.id == "rhel" || slices.Contains(rebuilds(), h.system.id):
				text += "; dkms comes from EPEL" // Fedora has its own; of others nothing is told
			case h.system.id == "sles":
				text += "; dkms comes from Backports"
			}
			if h.system.family == "suse" && !h.in.Facts.Modules.AllowUnsupported.Or(false) {
				text += "; modprobe loads the modules only with allow_unsupported_modules 1"
			}
			source := "DOCA-Host and MLNX_OFED installation guides"
			if h.stack == "ofed" && c.Layout != nil {
				source = firstSource(c.Layout.Source, source)
			}
			return Finding{Code: BuildNeeds, Effect: Warn, Text: text, Source: source}
		}))
	}}
}

// toolKey is the same for releases that need the same.
type toolKey struct {
	modules string
	layout  *matrix.Layout
}

func (h *vendorHost) toolKey(c *Candidate) string {
	key := toolKey{c.Modules, c.Layout}
	text, known := h.toolKeys[key]
	if !known {
		text = c.Modules + h.needs(c)
		h.toolKeys[key] = text
	}
	return text
}

func (h *vendorHost) needs(c *Candidate) string {
	needs := []string{"gcc", "make"}
	if c.Modules == ModulesDKMS {
		needs = append(needs, "dkms")
	}
	if c.Layout != nil {
		for _, name := range c.Layout.Needs {
			if !slices.Contains(needs, name) && (name != "dkms" || c.Modules == ModulesDKMS) {
				needs = append(needs, name)
			}
		}
	}
	return list(needs)
}

// missingTools are those that are known not to be on the host.
func (h *vendorHost) missingTools() []string {
	var out []string
	for _, t := range h.in.Facts.Tools {
		if slices.Contains([]string{"gcc", "make", "dkms"}, t.Name) && t.Path.IsAbsent() {
			out = append(out, t.Name)
		}
	}
	return out
}
