package holdings

import (
	"regexp"
	"slices"
	"strings"
)

// isCoreDriver says that a package has the core modules (ib_core, mlx5_core): only that one decides
// for which kernels a release has prebuilt modules.
func isCoreDriver(name string) bool {
	return name == "kmod-mlnx-ofa_kernel" || name == "mlnx-ofa_kernel-modules" || strings.HasPrefix(name, "mlnx-ofa_kernel-kmp-") ||
		name == "mlnx-ofed-kernel-modules" || strings.HasPrefix(name, "mlnx-ofed-kernel-modules-")
}

// isDKMS says that a package has the sources of the core modules for DKMS.
func isDKMS(name string) bool {
	return name == "mlnx-ofed-kernel-dkms" || name == "mlnx-ofa_kernel-dkms"
}

var (
	modulePath = regexp.MustCompile(`^(?:\./|/)?(?:usr/)?lib/modules/([^/]+)/.+\.ko(?:\.xz|\.gz|\.zst)?$`)
	// kverPart is how the vendor's builds for one kernel carry it: 5.4-OFED.5.4.1.0.3.1.kver.5.4.0-42-generic.
	kverPart = regexp.MustCompile(`\.kver\.(.+)$`)
	// kmpPart is the suffix of SUSE's kernel module packages: 24.10.OFED.24.10.1.1.4.1_k6.4.0_150600.21.
	kmpPart  = regexp.MustCompile(`_k([0-9]+\.[0-9]+\.[0-9]+(?:_[0-9.]+)?)`)
	flavour  = regexp.MustCompile(`_([a-z][a-z0-9]*)$`)
	archTail = regexp.MustCompile(`\.(?:x86_64|aarch64|ppc64le)$`)
)

// kernelsOfPaths are the kernels that a package has modules for.
func kernelsOfPaths(paths []string) ([]string, error) {
	seen := map[string]bool{}
	for _, p := range paths {
		m := modulePath.FindStringSubmatch(p)
		if m == nil || seen[m[1]] {
			continue
		}
		if !kernelPattern.MatchString(m[1]) {
			return nil, refuse(hintHostile, "a package has modules for %q, which is no kernel release", clip(m[1]))
		}
		if seen[m[1]] = true; len(seen) > maxKernels {
			return nil, refuse(hintHostile, "a package has modules for more than %d kernels", maxKernels)
		}
	}
	var kernels []string
	for k := range seen {
		kernels = append(kernels, k)
	}
	slices.Sort(kernels)
	return kernels, nil
}

// kernelsOfDeb is the kernel that name or version of a deb package tell, if they do.
func kernelsOfDeb(name, version string) []string {
	if !isCoreDriver(name) {
		return nil
	}
	if kernel, ok := strings.CutPrefix(name, "mlnx-ofed-kernel-modules-"); ok && kernelPattern.MatchString(kernel) {
		return []string{kernel}
	}
	if m := kverPart.FindStringSubmatch(version); m != nil && kernelPattern.MatchString(m[1]) {
		return []string{m[1]}
	}
	return nil
}

// kernelsOfRPM is the same for an rpm, whose version and release cannot hold the kernel's "-": the
// first "_" stands for the one before the kernel's release, the last before a flavour in letters for
// SUSE's.
func kernelsOfRPM(name, version string) []string {
	if !isCoreDriver(name) {
		return nil
	}
	var kernel string
	if m := kverPart.FindStringSubmatch(version); m != nil {
		kernel = flavour.ReplaceAllString(m[1], "-$1")
		if f := archTail.FindString(m[1]); f != "" { // el8_10.x86_64 is no flavour
			kernel = m[1]
		}
	} else if flavour, ok := strings.CutPrefix(name, "mlnx-ofa_kernel-kmp-"); ok {
		m := kmpPart.FindStringSubmatch(version)
		if m == nil {
			return nil
		}
		kernel = m[1] + "-" + flavour
	}
	kernel = strings.Replace(kernel, "_", "-", 1)
	if !kernelPattern.MatchString(kernel) {
		return nil
	}
	return []string{kernel}
}
