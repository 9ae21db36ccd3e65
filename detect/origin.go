package detect

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

// The origins of packages.
const (
	inbox    = "inbox"
	mlnxOFED = "mlnx-ofed"
	docaOFED = "doca-ofed"
	ofaOFED  = "ofed"
	other    = "unknown"
)

// interesting are names of packages that belong to an RDMA stack, and of what a plan needs to know
// beside them: kernels, headers, dkms and iproute2. A name ending in "*" is a prefix.
func interesting() []string {
	return []string{
		"rdma-core*", "rdma", "libibverbs*", "ibverbs-*", "librdmacm*", "rdmacm-utils", "libibumad*", "libibmad*", "libibnetdisc*",
		"infiniband-diags*", "opensm*", "libopensm*", "libosm*", "ibacm", "srptools", "srp_daemon", "srp", "srp-*", "iwpmd", "rdma-ndd", "perftest*",
		"mstflint*", "mft*", "kernel-mft*", "kmod-kernel-mft*", "ucx*", "libucx*", "mlnx-*", "mlnx_*", "mlnxofed*", "kmod-mlnx*", "ofed-*", "kmod-ofed*", "ofed",
		"doca-*", "libdoca*", "libmlx4*", "libmlx5*", "libmana*", "libefa*", "python3-pyverbs", "pyverbs", "knem*", "kmod-knem*", "xpmem*", "kmod-xpmem*",
		"hcoll", "sharp", "iser", "iser-*", "isert", "isert-*", "kmod-iser*", "kmod-isert*", "kmod-srp*", "libvma*", "libxlio*", "dapl*", "mpitests*",
		"nvidia-peer-memory*", "nvidia_peer_memory*", "kmod-nvidia_peer*", "efa", "efa-*", "libfabric*", "ibutils*", "rshim*", "dpcp", "openibd", "compat-rdma*", "kmod-compat-rdma*",
		"openmpi*", "mvapich2*", "lustre-client*", "kmod-lustre*", "nvidia-peermem*", "fwctl*", "kmod-fwctl*", "srp-dkms", "mlnx-en*", "kmod-mlnx-en*",
		"gcc", "make", "perl", "mokutil", "epel-release", "dracut", "initramfs-tools", "rpm-build", "createrepo_c", "zstd", "openssl", "patch", "binutils", "elfutils-libelf-devel",
		"iproute2", "iproute", "ethtool", "dkms", "linux-headers-*", "linux-modules-*", "linux-image-*", "kernel", "kernel-core", "kernel-modules*", "kernel-devel*",
		"kernel-headers", "kernel-uek*", "kernel-default*", "kernel-azure*", "kernel-rt*", "kernel-64k*", "kernel-source", "kernel-syms", "kernel-macros", "kernel-rpm-macros", "proxmox-headers-*", "proxmox-kernel-*", "pve-headers-*", "pve-kernel-*",
	}
}

func ofInterest(name string) bool { return matchesAny(interesting(), name) }

// matchesAny says that a name is one of the patterns.
func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
			return strings.HasPrefix(name, prefix)
		}
		return name == pattern
	})
}

// rpmNames are the packages that rpm is asked for: those that decide which stack is installed, by
// the names of the Red Hat family, SUSE and the vendor.
func rpmNames() []string {
	return []string{
		"rdma-core", "rdma-core-devel", "rdma", "libibverbs", "libibverbs1", "libibverbs-utils", "librdmacm", "librdmacm1", "librdmacm-utils",
		"libibumad", "libibumad3", "libmlx4", "libmlx5", "libmlx4-1", "libmlx5-1", "libefa1", "libmana1", "libhns1", "infiniband-diags", "opensm", "opensm-libs",
		"ibacm", "srp_daemon", "iwpmd", "rdma-ndd", "perftest", "mstflint", "mft", "kernel-mft", "kmod-kernel-mft-mlnx", "ucx", "python3-pyverbs",
		"mlnx-ofa_kernel", "mlnx-ofa_kernel-devel", "mlnx-ofa_kernel-modules", "mlnx-ofa_kernel-dkms", "mlnx-ofa_kernel-source", "kmod-mlnx-ofa_kernel",
		"mlnx-tools", "mlnx-fw-updater", "mlnx-ethtool", "mlnx-iproute2", "mlnx-ofed-all", "mlnx-ofed-basic", "mlnx-ofed-hpc", "mlnx-ofed-kernel-only", "ofed-scripts",
		"doca-host", "doca-ofed", "doca-ofed-userspace", "doca-all", "doca-networking", "doca-kernel", "doca-kernel-repo", "doca-extra", "doca-repo",
		"knem", "kmod-knem", "xpmem", "kmod-xpmem", "iser", "isert", "srp", "kmod-iser", "kmod-isert", "kmod-srp", "mlnx-nvme", "kmod-mlnx-nvme", "mlnx-nfsrdma", "kmod-mlnx-nfsrdma",
		"libvma", "libxlio", "hcoll", "sharp", "nvidia_peer_memory", "compat-rdma", "kmod-compat-rdma", "efa", "libfabric",
		"kernel", "kernel-core", "kernel-modules", "kernel-modules-core", "kernel-modules-extra", "kernel-devel", "kernel-headers", "kernel-uek", "kernel-uek-devel", "kernel-uek-modules",
		"kernel-uek-modules-extra", "kernel-uek-core", "kernel-uek-modules-core", "kernel-default", "kernel-default-base", "kernel-default-devel", "kernel-default-extra", "kernel-azure", "kernel-azure-devel",
		"kernel-source", "kernel-syms", "kernel-macros", "kernel-rpm-macros", "kernel-rt", "kernel-rt-core", "kernel-rt-devel", "kernel-64k", "kernel-64k-core", "kernel-64k-devel",
		"dkms", "iproute", "iproute2", "ethtool", "libibmad", "libibmad-devel", "libibmad5", "libibnetdisc5", "libibverbs-devel", "libibumad-devel", "librdmacm-devel", "opensm-devel",
		"doca-roce", "doca-host-basic", "doca-cx", "doca-runtime", "doca-all-userspace", "doca-networking-userspace", "doca-devel", "doca-samples",
		"mlnx-en", "mlnx-en-utils", "mlnx-en-dkms", "kmod-mlnx-en", "mlnx-ofed-dpdk", "mlnx-ofed-vma", "mlnx-ofed-guest", "mlnx-ofed-hypervisor",
		"mlnx-ofa_kernel-kmp-default", "kernel-mft-kmp-default", "kernel-mft-dkms", "iser-dkms", "isert-dkms", "srp-dkms", "mlnx-nvme-dkms", "mlnx-nfsrdma-dkms", "knem-dkms", "xpmem-dkms",
		"kernel-mft-modules", "iser-modules", "isert-modules", "srp-modules", "knem-modules", "xpmem-modules", "mlnx-nvme-modules", "mlnx-nfsrdma-modules", "fwctl", "kmod-fwctl", "fwctl-dkms",
		"openmpi", "mvapich2", "mpitests_openmpi", "ucx-ib", "ucx-rdmacm", "ucx-cma", "ucx-devel", "lustre-client", "kmod-lustre-client", "kmod-lustre-client-o2ib",
		"gcc", "make", "perl", "perl-interpreter", "patch", "zstd", "binutils", "mokutil", "openssl", "epel-release", "dracut", "rpm-build", "createrepo_c", "elfutils-libelf-devel",
	}
}

// vendorOf says which vendor stack the packages with a vendor's mark belong to: since 24.10 the same
// packages ship in MLNX_OFED and in DOCA-OFED, and only the meta packages and ofed_info tell them
// apart.
func vendorOf(packages []facts.Package, ofedInfo string) string {
	switch {
	case strings.HasPrefix(ofedInfo, "MLNX_OFED"):
		return mlnxOFED
	case strings.HasPrefix(ofedInfo, "OFED-internal"), strings.HasPrefix(ofedInfo, "DOCA"):
		return docaOFED
	case strings.HasPrefix(ofedInfo, "OFED-"):
		return ofaOFED
	}
	found, driver := "", ""
	for _, p := range packages {
		_, _, state := statusWords(p.Status)
		if state == "config-files" || state == "not-installed" {
			continue
		}
		switch {
		case slices.Contains(docaMeta(), p.Name), canonicalName.MatchString(p.Name):
			return docaOFED
		case metaOfMLNX(p.Name):
			found = mlnxOFED
		case (strings.Contains(p.Version, "OFED") || strings.Contains(p.Version, "mlnx")) && onlyDOCA.MatchString(p.Version):
			driver = docaOFED
		}
	}
	if found == "" {
		found = driver
	}
	return found
}

var (
	// MLNX_OFED ended with 24.10: what counts 25.01 or later is of DOCA.
	onlyDOCA = regexp.MustCompile(`OFED\.2[5-9]\.|\b2[5-9](?:0[1-9]|1[0-2])mlnx[0-9]`)
	// 54mlnx1-1.54103, 2410mlnx54-1.2410068, 1.3.11.MLNX20150329, 5.4-OFED.5.4.1.0.3.1, 23.07.OFED.23.07.0.5.1.1
	vendorMark = regexp.MustCompile(`[0-9]mlnx[0-9]|MLNX|OFED\.`)
	// 1.15.0-1.2307055, 24.10.0-0.95.g370212b.2410325: the release that the vendor's builds of other packages carry.
	vendorRelease = regexp.MustCompile(`-[0-9]+(?:\.[0-9]+\.g[0-9a-f]+)?\.(?:2[0-9]{6}|[45][0-9]{4})(?:\.|$)`)
	// 2510.0.11-1: rdma-core of DOCA-OFED counts by year and month.
	docaScheme = regexp.MustCompile(`^2[4-9](?:0[1-9]|1[0-2])\.[0-9]+\.[0-9]+`)
	// The dist tag that a distribution puts into an rpm release; SUSE's are numbers such as 150400.4.6.
	distTag = regexp.MustCompile(`\.(?:el[6-9]|el1[0-9]|fc[0-9]|an[0-9]|al[0-9]|oe[0-9]|amzn[0-9]|azl[0-9]|cm[0-9]|ph[0-9]|uel|ky[0-9]|tl[0-9])|-(?:lp)?1[2-9]0[0-9]00\.`)
)

// metaOfMLNX says that a package is a meta package of MLNX_OFED. mlnx-ofed-kernel-dkms and its like are in
// DOCA as well.
func metaOfMLNX(name string) bool {
	return strings.HasPrefix(name, "mlnx-ofed-") && (!strings.HasPrefix(name, "mlnx-ofed-kernel-") || name == "mlnx-ofed-kernel-only")
}

// originOf says which stack a package comes from, as far as its name and version tell.
func originOf(name, version, vendor, distro string) string {
	orVendor := func(fallback string) string {
		if vendor != "" {
			return vendor
		}
		return fallback
	}
	switch {
	case strings.HasPrefix(name, "doca-"), strings.HasPrefix(name, "libdoca"), strings.HasPrefix(name, "linux-modules-doca-ofed-"):
		return docaOFED
	case strings.HasPrefix(name, "mlnx-ofed-"), strings.HasPrefix(name, "mlnxofed"):
		return orVendor(mlnxOFED)
	case strings.HasPrefix(name, "compat-rdma"), strings.HasPrefix(name, "kmod-compat-rdma"):
		return ofaOFED
	case strings.HasPrefix(name, "nvidia-peer"), strings.HasPrefix(name, "nvidia_peer"), name == "efa", strings.HasPrefix(name, "efa-"):
		return other
	case strings.Contains(version, "amzn") && distro != "amzn":
		return other // Amazon's EFA installer
	case vendorMark.MatchString(version), vendorRelease.MatchString(version):
		return orVendor(mlnxOFED)
	case distro != "azurelinux" && distro != "mariner" && docaScheme.MatchString(version):
		// Azure Linux builds its own rdma-core from the vendor's sources, under the vendor's numbers.
		return docaOFED
	case strings.HasPrefix(name, "mlnx-"), strings.HasPrefix(name, "kmod-mlnx"), name == "ofed-scripts", name == "mft", strings.HasPrefix(name, "kernel-mft"), strings.HasPrefix(name, "kmod-kernel-mft"):
		return orVendor(mlnxOFED)
	case version == "":
		return other
	case distTag.MatchString(version), debianLike(distro) && strings.Contains(version, "-"):
		return inbox
	}
	return other
}

// debianLike says that a distribution's packages are debs, whose versions have no mark of origin: a
// revision is all that tells them from a local build.
func debianLike(distro string) bool { return distroFamily(distro, nil) == "debian" }

// OfVendor says that a package's name and version carry the mark of a vendor's stack, whichever it is.
func OfVendor(name, version string) bool {
	return slices.Contains([]string{mlnxOFED, docaOFED, ofaOFED}, originOf(name, version, "", ""))
}
