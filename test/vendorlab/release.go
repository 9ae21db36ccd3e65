package vendorlab

import (
	"regexp"
	"strings"
)

// Release is one release of the vendor for one system.
type Release struct {
	// Stack is mlnx-ofed or doca-ofed, Version as the vendor writes it: 24.10-2.1.8.0, 2.9.2.
	Stack, Version string
	// Driver is the version of the drivers in it, of MLNX_OFED its own.
	Driver string
	// Label is the vendor's name for the system, as in paths: debian12.5, rhel9.4.
	Label string
	// Build is the build number of a release of DOCA, as in names of files: 012101.
	Build string
}

// MLNXDebian is MLNX_OFED 24.10 for Debian 12: of 24.10 the only release for which a bundle for Debian was
// seen (MLNX_OFED_LINUX-24.10-2.1.8.0-debian12.5-x86_64.tgz).
func MLNXDebian() Release {
	return Release{Stack: mlnx, Version: "24.10-2.1.8.0", Driver: "24.10-2.1.8.0", Label: "debian12.5"}
}

// DOCADebian is the release of DOCA with the same drivers.
func DOCADebian() Release {
	return Release{Stack: doca, Version: "2.9.2", Driver: "24.10-2.1.8.0", Label: "debian12.5", Build: "012101"}
}

// MLNXRHEL is MLNX_OFED 24.10 for RHEL 9.4 and its rebuilds, for which a bundle was seen.
func MLNXRHEL() Release {
	return Release{Stack: mlnx, Version: "24.10-1.1.4.0", Driver: "24.10-1.1.4.0", Label: "rhel9.4"}
}

// DOCARHEL is DOCA 2.9 for RHEL 9.4 and its rebuilds.
func DOCARHEL() Release {
	return Release{Stack: doca, Version: "2.9.2", Driver: "24.10-2.1.8.0", Label: "rhel9.4", Build: "012101"}
}

// MLNXSLES is MLNX_OFED 24.10 for SLES 15 SP6.
func MLNXSLES() Release {
	return Release{Stack: mlnx, Version: "24.10-1.1.4.0", Driver: "24.10-1.1.4.0", Label: "sles15sp6"}
}

// DOCASLES is DOCA 2.9 for SLES 15 SP6.
func DOCASLES() Release {
	return Release{Stack: doca, Version: "2.9.2", Driver: "24.10-2.1.8.0", Label: "sles15sp6", Build: "012101"}
}

// Releases are all that the lab makes.
func Releases() []Release {
	return []Release{MLNXDebian(), DOCADebian(), MLNXRHEL(), DOCARHEL(), MLNXSLES(), DOCASLES()}
}

const (
	mlnx = "mlnx-ofed"
	doca = "doca-ofed"
)

// String is short and fit for the name of a file.
func (r Release) String() string { return r.Stack + "-" + r.Version + "-" + r.Label }

// RPM says that the packages are RPMs.
func (r Release) RPM() bool { return strings.HasPrefix(r.Label, "rhel") || r.SUSE() }

// SUSE says that they are for SLES.
func (r Release) SUSE() bool { return strings.HasPrefix(r.Label, "sles") }

// branch is 24.10.
func (r Release) branch() string { b, _, _ := strings.Cut(r.Driver, "-"); return b }

// dist ends the releases of the driver's RPMs: rhel9u4, sles15sp6.
func (r Release) dist() string {
	if minor, ok := strings.CutPrefix(r.Label, "rhel"); ok {
		return "rhel" + strings.ReplaceAll(minor, ".", "u")
	}
	return r.Label
}

// three is the driver's version without its last number, as the modules tell it: 24.10-2.1.8.
func (r Release) three() string { return r.Driver[:strings.LastIndexByte(r.Driver, '.')] }

// ofed is the version of the driver's packages: OFED.24.10.2.1.8.
func (r Release) ofed() string { return "OFED." + strings.ReplaceAll(r.three(), "-", ".") }

// dkms is the version of the DKMS module and the upstream version of the packages of the drivers.
func (r Release) dkms() string { return r.branch() + "." + r.ofed() + ".1" }

// plain is the label in names of files: debian125, rhel94.
func (r Release) plain() string { return strings.ReplaceAll(r.Label, ".", "") }

// short is what ofed_info -s prints before the colon.
func (r Release) short() string {
	if r.Stack == doca {
		return "OFED-internal-" + r.three()
	}
	return "MLNX_OFED_LINUX-" + r.Version
}

// Meta are the metapackages that a host is meant to install.
func (r Release) Meta() []string {
	var names []string
	for _, m := range r.metas() {
		names = append(names, m.name)
	}
	return names
}

// meta is a metapackage, by groups of what it depends on.
type meta struct {
	name         string
	kernel, user bool
	more         []string
}

// metas are those of 24.10 and 2.9 as far as the packages that they stand for are in the lab.
func (r Release) metas() []meta {
	tools := []string{"infiniband-diags", "perftest", "mlnx-iproute2", "mlnx-ethtool"}
	all := []meta{
		{"mlnx-ofed-all", true, true, tools},
		{"mlnx-ofed-all-user-only", false, true, tools},
		{"mlnx-ofed-basic", true, true, nil},
		{"mlnx-ofed-basic-user-only", false, true, nil},
		{"mlnx-ofed-hpc", true, true, tools},
		{"mlnx-ofed-hpc-user-only", false, true, tools},
		{"mlnx-ofed-dpdk", true, true, tools[2:]},
		{"mlnx-ofed-dpdk-user-only", false, true, tools[2:]},
		{"mlnx-ofed-kernel-only", true, false, nil},
	}
	if r.Stack == doca {
		all = append(
			all,
			meta{"doca-ofed", true, true, tools},
			meta{"doca-ofed-userspace", false, true, tools},
			meta{"doca-roce", true, true, tools[2:]},
			meta{"doca-networking", true, true, append([]string{"doca-runtime"}, tools...)},
			meta{"doca-networking-userspace", false, true, append([]string{"doca-runtime"}, tools...)},
			meta{"doca-all", true, true, append([]string{"doca-runtime", "doca-devel"}, tools...)},
			meta{"doca-all-userspace", false, true, append([]string{"doca-runtime", "doca-devel"}, tools...)},
			meta{"doca-runtime", false, false, nil},
			meta{"doca-devel", false, false, nil},
		)
	}
	return all
}

// User space of all releases of 24.10: rdma-core 54 as the vendor builds it.
const (
	userUpstream = "2410mlnx54"
	userRevision = "1.2410068"
	userVersion  = userUpstream + "-" + userRevision
)

// soname54 finds the file names of Debian's libraries of rdma-core 44: libibverbs.so.1.14.44.0.
var soname54 = regexp.MustCompile(`(\.so\.\d+\.\d+)\.44\.0$`)

// vendorFile is the name of a library's file in the vendor's packages: its soname stays the same.
func vendorFile(name string) string { return soname54.ReplaceAllString(name, "$1.54.0") }

// FirmwareMark is left in a root by the firmware updater's scriptlet: nothing that a test did not ask for may
// make it.
const FirmwareMark = "/var/lib/vendorlab/firmware-was-burnt"

// ScriptMark is left in a root by the vendor's installer and uninstaller.
const ScriptMark = "/var/lib/vendorlab/vendor-script-was-run"
