package profiles

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// The kinds of text in a profile. Each checks itself, so that the decoder reports a bad one where it
// stands.
type (
	apiVersion      string
	kind            string
	profileNameText string
	sentence        string
	stackText       string
	branchesText    string
	hardwareText    string
	debText         string // a package of the family debian
	rpmText         string // a package of the families rhel and suse
	releaseText     string
	moduleText      string
	optionsText     string
	groupText       string
	unitText        string
	deviceText      string
	netdevText      string
	docaSetText     string
	mlnxSetText     string
	prefixText      string
	sourceText      string // a version of rdma-core
	cmakeNameText   string
	cmakeValueText  string
	askNameText     string
	askKindText     string
	askText         string
	omittedText     string // a package of any family
)

func (t *apiVersion) UnmarshalText(b []byte) error   { return oneOf(t, b, "rdmactl/v1") }
func (t *kind) UnmarshalText(b []byte) error         { return oneOf(t, b, "Profile") }
func (t *branchesText) UnmarshalText(b []byte) error { return oneOf(t, b, "lts", "all") }
func (t *hardwareText) UnmarshalText(b []byte) error { return oneOf(t, b, "needed", "optional") }
func (t *askKindText) UnmarshalText(b []byte) error  { return oneOf(t, b, "question", "remark") }

func (t *stackText) UnmarshalText(b []byte) error {
	return oneOf(t, b, "inbox", "rdma-core", "ofed", "mlnx-ofed", "doca-ofed")
}

// The package sets are the vendor's names: DOCA profiles, and the metapackages of MLNX_OFED.
func (t *docaSetText) UnmarshalText(b []byte) error {
	return oneOf(t, b, "doca-ofed", "doca-roce", "doca-networking", "doca-all", "doca-host-basic")
}

func (t *mlnxSetText) UnmarshalText(b []byte) error {
	return oneOf(t, b, "mlnx-ofed-all", "mlnx-ofed-basic", "mlnx-ofed-hpc", "mlnx-ofed-dpdk", "mlnx-ofed-dpdk-upstream-libs",
		"mlnx-ofed-vma", "mlnx-ofed-vma-eth", "mlnx-ofed-vma-vpi", "mlnx-ofed-kernel-only", "mlnx-ofed-guest", "mlnx-ofed-hypervisor")
}

// The options are those that rdma-core's CMakeLists.txt knows (v64.0) and that do not run a program; one
// that it does not know would be taken and change nothing.
func (t *cmakeNameText) UnmarshalText(b []byte) error {
	if string(b) == "NO_VALGRIND" {
		return errors.New(`"NO_VALGRIND" is not an option of rdma-core; it is ENABLE_VALGRIND: "0"`)
	}
	return oneOf(t, b, "ACM_PROVIDER_DIR", "CMAKE_BUILD_TYPE", "CMAKE_INSTALL_INITDDIR", "CMAKE_INSTALL_LIBDIR", "CMAKE_INSTALL_LIBEXECDIR",
		"CMAKE_INSTALL_MODPROBEDIR", "CMAKE_INSTALL_PERLDIR", "CMAKE_INSTALL_PYTHON_ARCH_LIB", "CMAKE_INSTALL_RUNDIR",
		"CMAKE_INSTALL_SHAREDSTATEDIR", "CMAKE_INSTALL_SYSCONFDIR", "CMAKE_INSTALL_SYSTEMD_BINDIR", "CMAKE_INSTALL_SYSTEMD_SERVICEDIR",
		"CMAKE_INSTALL_UDEV_RULESDIR", "CMAKE_POLICY_VERSION_MINIMUM", "DISTRO_FLAVOUR", "ENABLE_IBDIAGS_COMPAT", "ENABLE_RESOLVE_NEIGH",
		"ENABLE_STATIC", "ENABLE_VALGRIND", "IBACM_ACME_PLUS_KERNEL_ONLY_DEFAULT", "IBACM_SERVER_MODE_DEFAULT", "IOCTL_MODE",
		"NO_COMPAT_SYMS", "NO_MAN_PAGES", "NO_PYVERBS", "SYSUSERS_DIR", "TRACING", "VERBS_PROVIDER_DIR")
}

func (t *cmakeValueText) UnmarshalText(b []byte) error {
	return checked(t, b, func(s string) error {
		if err := matches(cmakeValue, s, "a value of a cmake option", "letters, digits, _ / . + -, and {prefix} at its begin"); err != nil {
			return err
		}
		if strings.Contains(s, "..") {
			return fmt.Errorf("%q is not a value of a cmake option (no ..)", s)
		}
		return nil
	})
}

func (t *sourceText) UnmarshalText(b []byte) error {
	return checked(t, b, func(s string) error {
		if s == "newest" {
			return nil
		}
		return matches(sourceLevel, s, "a version of rdma-core", `such as "64.0", or newest`)
	})
}

func (t *askNameText) UnmarshalText(b []byte) error {
	return checked(t, b, func(s string) error {
		return matches(askName, s, "an id", "at most 32 lower-case letters, digits, -")
	})
}

func (t *omittedText) UnmarshalText(b []byte) error {
	return checked(t, b, func(s string) error {
		if CheckPackage(s) == nil {
			return nil
		}
		return CheckRPM(s)
	})
}

func (t *profileNameText) UnmarshalText(b []byte) error { return checked(t, b, CheckName) }
func (t *debText) UnmarshalText(b []byte) error         { return checked(t, b, CheckPackage) }
func (t *rpmText) UnmarshalText(b []byte) error         { return checked(t, b, CheckRPM) }
func (t *releaseText) UnmarshalText(b []byte) error     { return checked(t, b, CheckRelease) }
func (t *moduleText) UnmarshalText(b []byte) error      { return checked(t, b, CheckModule) }
func (t *optionsText) UnmarshalText(b []byte) error     { return checked(t, b, CheckOptions) }
func (t *groupText) UnmarshalText(b []byte) error       { return checked(t, b, CheckGroup) }
func (t *unitText) UnmarshalText(b []byte) error        { return checked(t, b, CheckUnit) }
func (t *deviceText) UnmarshalText(b []byte) error      { return checked(t, b, CheckRDMADevice) }
func (t *netdevText) UnmarshalText(b []byte) error      { return checked(t, b, CheckNetdev) }
func (t *prefixText) UnmarshalText(b []byte) error      { return checked(t, b, CheckPrefix) }

func (t *sentence) UnmarshalText(b []byte) error {
	return checked(t, b, func(s string) error { return checkLine(s, 300) })
}

func (t *askText) UnmarshalText(b []byte) error {
	return checked(t, b, func(s string) error { return checkLine(s, 500) })
}

// checkLine keeps reasons to one printable line: they become comments in files that root reads.
func checkLine(s string, limit int) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("must say something")
	}
	if len(s) > limit {
		return fmt.Errorf("is longer than %d bytes", limit)
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		return fmt.Errorf("must be one line of printable text, byte %d is not", i)
	}
	return nil
}

func checked[T ~string](t *T, b []byte, check func(string) error) error {
	if err := check(string(b)); err != nil {
		return err
	}
	*t = T(b)
	return nil
}

func oneOf[T ~string](t *T, b []byte, allowed ...string) error {
	if !slices.Contains(allowed, string(b)) {
		return fmt.Errorf("%q is not one of %s", string(b), strings.Join(allowed, ", "))
	}
	*t = T(b)
	return nil
}
