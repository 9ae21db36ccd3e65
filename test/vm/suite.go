package vm

// Suite is one Debian release.
type Suite struct {
	// Name is the code name that apt knows, Version the number in os-release.
	Name, Version string
	// soname64 says that libraries with a 64-bit time_t have the suffix t64 (Debian 13 and later).
	soname64 bool
	// splitUsr says that mmdebstrap leaves /bin and /usr/bin apart, as no installed host of that
	// release has them (Debian 11).
	splitUsr bool
	// buildTools says that the repository offers what rdma-core is built with, see WithBuildTools.
	buildTools bool
	// twoProcessors says that the machine has two, see Measuring.
	twoProcessors bool
}

// Measuring is the suite with a machine of two processors, for scenarios that measure: of two processes that wait for
// each other on one, the scheduler would be measured. Others do one thing after the other, and the second emulated
// processor would cost a fifth more of the real ones' time.
func (s Suite) Measuring() Suite {
	s.twoProcessors = true
	return s
}

// processors is how many the machine has.
func (s Suite) processors() int {
	if s.twoProcessors {
		return 2
	}
	return 1
}

// WithBuildTools is the suite with a repository that also offers what profile edge builds rdma-core with.
func (s Suite) WithBuildTools() Suite {
	s.buildTools = true
	return s
}

// Bullseye is Debian 11.
func Bullseye() Suite { return Suite{Name: "bullseye", Version: "11", splitUsr: true} }

// Bookworm is Debian 12.
func Bookworm() Suite { return Suite{Name: "bookworm", Version: "12"} }

// Trixie is Debian 13.
func Trixie() Suite { return Suite{Name: "trixie", Version: "13", soname64: true} }

// Suites returns the tested releases, oldest first.
func Suites() []Suite { return []Suite{Bullseye(), Bookworm(), Trixie()} }

func (s Suite) String() string { return s.Name }

// rootPackages are on the machine before a test starts: what a server install has, and nothing that
// belongs to an RDMA stack. Perl and Python are of Debian's standard system; mstflint and rdma-core need
// them, and unpacking them under emulation would take longer than all the rest.
func (s Suite) rootPackages() []string {
	return []string{
		"dbus", "iproute2", "kmod", "linux-image-amd64", "perl", "procps", "python3", "systemd",
		"systemd-sysv", "udev", "util-linux",
	}
}

// repoPackages are offered by the repository on the disk, with everything they need or recommend.
func (s Suite) repoPackages() []string {
	t64 := ""
	if s.soname64 {
		t64 = "t64"
	}
	var tools []string
	if s.buildTools {
		tools = []string{
			"build-essential", "cmake", "ninja-build", "pkg-config", "libnl-3-dev", "libnl-route-3-dev", "libudev-dev", "libsystemd-dev",
		}
	}
	return append([]string{
		"rdma-core", "libibverbs1", "ibverbs-providers", "ibverbs-utils", "librdmacm1" + t64,
		"rdmacm-utils", "libibumad3", "libibmad5", "libibnetdisc5" + t64, "infiniband-diags",
		"perftest", "mstflint", "ethtool", "opensm", "ibacm", "srptools", "pciutils",
	}, tools...)
}

// forbidden are name patterns (path.Match) of packages that must not be in a root.
func forbidden() []string {
	return []string{
		"rdma-core", "libibverbs*", "ibverbs-*", "librdmacm*", "rdmacm-*", "libibumad*", "libibmad*",
		"libibnetdisc*", "infiniband-diags", "perftest", "mstflint", "opensm*", "ibacm", "srptools",
	}
}
