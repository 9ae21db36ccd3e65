package rules

import (
	"slices"
	"strconv"
	"strings"
)

// Codes of rdma-core from source.
const (
	BuildDocumented Code = "build-documented"
	ProviderABIMix  Code = "provider-abi-mix"
)

const rdmaCoreSource = "https://github.com/linux-rdma/rdma-core (README.md, debian/control, redhat/rdma-core.spec, buildlib/cbuild)"

// rdmaCoreHost: rdma-core builds wherever a C compiler, cmake and libnl are, and states no lowest kernel.
// Its own targets and README name the distributions that its maintainers build it on; these count as
// documented. It runs on the kernel's modules, which must be there.
func rdmaCoreHost() VendorRule {
	return VendorRule{Name: "rdma-core-host", Source: rdmaCoreSource, Judge: func(h *vendorHost, c *Candidate) {
		if h.stack != "rdma-core" {
			return
		}
		if found := h.once("rdma-core-kernel", h.kernelServes); len(found) > 0 {
			c.refuse(found...)
			return
		}
		if h.rdmaCoreTarget() {
			c.Status = Supported
			c.because(h.say(cause{rule: "target"}, func() Finding {
				return Finding{
					Code: BuildDocumented, Effect: Warn, Source: rdmaCoreSource,
					Text: "upstream builds rdma-core on " + h.system.name + " or names it; it runs on the distribution's kernel modules, and needs gcc, cmake, pkg-config, python3 and the headers of libnl",
				}
			}))
		} else {
			c.because(h.say(cause{rule: "no target"}, func() Finding {
				return Finding{
					Code: NoRow, Effect: Warn, Source: rdmaCoreSource,
					Text: "upstream does not name " + h.system.name + "; rdma-core builds where gcc, cmake, pkg-config, python3 and the headers of libnl are",
				}
			}))
		}
		for _, doubt := range h.doubts {
			c.lower(Unknown, doubt)
		}
	}}
}

// rdmaCoreTarget: Debian 9 and Ubuntu 16.04 and later are named by README.md; Enterprise Linux 7 to 9,
// Fedora, openSUSE Leap 16 and Tumbleweed are targets of buildlib/cbuild. There is none for EL 10.
func (h *vendorHost) rdmaCoreTarget() bool {
	major, err := strconv.Atoi(majorOf(h.system.version))
	id := h.system.id
	switch {
	case id == "fedora", id == "opensuse-tumbleweed":
		return true
	case id == "debian" && h.system.version == "":
		return true // testing
	case err != nil:
		return false
	}
	switch {
	case id == "debian":
		return major >= 9
	case id == "ubuntu":
		return major >= 16
	case id == "rhel" || slices.Contains(rebuilds(), id):
		return major >= 7 && major <= 9
	case id == "opensuse-leap":
		return major >= 16
	}
	return false
}

// kernelServes refuses where the kernel lacks a module that is needed, or is older than it. The number of
// an enterprise distribution's kernel tells nothing of the drivers in it.
func (h *vendorHost) kernelServes() []Finding {
	backports := (h.system.family == "rhel" || h.system.family == "suse") && (h.kernel.kind == kernelDistro || h.kernel.kind == kernelFlavour)
	var missing []Module
	var young []string
	for _, m := range h.in.Modules {
		if m.Optional {
			continue
		}
		if m.State == StateMissing {
			missing = append(missing, m)
		}
		if since := digitsOf(firstKernel(m.Name)); m.State == StateUnknown && !backports && len(since) > 0 && len(h.kernel.digits) > 0 && slices.Compare(h.kernel.digits, since) < 0 {
			young = append(young, m.Name+" (Linux "+firstKernel(m.Name)+")")
		}
	}
	if len(missing) > 0 {
		return refuse(ModuleMissing, missing[0].Source, "%s; rdma-core from source runs on the kernel's own modules", lacks(h.in, missing))
	}
	if len(young) > 0 {
		return refuse(KernelTooOld, h.kernel.source, "kernel %s is older than what rdma-core needs of it: %s", h.kernel.release, strings.Join(young, ", "))
	}
	return nil
}

// privateABI: a provider loads only into a libibverbs with the same private ABI, so the distribution's
// providers and tools and those from source cannot be mixed when the numbers differ.
func privateABI() VendorRule {
	return VendorRule{Name: "private-abi", Source: "rdma-core Documentation/versioning.md, libibverbs/dynamic_driver.c", Judge: func(h *vendorHost, c *Candidate) {
		if h.stack != "rdma-core" || c.Release.PrivateABI == 0 {
			return
		}
		for _, lib := range h.in.Facts.Userspace.Libibverbs.Or(nil) {
			abi, ok := lib.PrivateABI.Get()
			if !ok || abi == c.Release.PrivateABI {
				continue
			}
			c.warn(h.say(cause{rule: "abi", n: c.Release.PrivateABI}, func() Finding {
				return Finding{
					Code: ProviderABIMix, Effect: Warn, Source: lib.PrivateABI.Source,
					Text: "the libibverbs on this host (" + printable(lib.Path) + ") has the private ABI " + strconv.Itoa(abi) + ", the release " + strconv.Itoa(c.Release.PrivateABI) +
						": providers and ibv_devinfo of the one do not load with the library of the other, so it is installed under a prefix of its own and programs use one or the other whole",
				}
			}))
			return
		}
	}}
}
