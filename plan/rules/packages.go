package rules

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/profiles"
)

// wantedPackages are the profile's packages for this family and release on the distribution's own stack.
func wantedPackages(f facts.Facts, p profiles.Profile) []profiles.Package {
	in := Input{Facts: f}
	return p.PackagesFor(f.Distro.Family.Or(""), PackageRelease(in), "inbox")
}

// PackageRelease is the release by which package names are looked up: a rebuild has RHEL's names. Other
// distributions of the family count their versions on their own (Azure Linux 3, Photon 5) and are not
// compared with RHEL's.
func PackageRelease(in Input) string {
	s := systemOf(in)
	if s.id != "rhel" && !slices.Contains(rebuilds(), s.id) {
		return ReleaseName(in)
	}
	version := strings.TrimSuffix(s.version, "alt")
	if version != "" && !strings.Contains(version, ".") {
		// Nothing tells the minor release (CentOS 7, whose VERSION_ID is "7"): the newest has the names of
		// today, and is what such a host mostly is.
		version += ".999"
	}
	return "rhel " + version
}

// InstalledPackages are the packages of RDMA stacks that are fully installed, by name. The second
// value is false when the database was not told.
func InstalledPackages(f facts.Facts) ([]facts.Package, bool) {
	all, ok := f.Packages.Installed.Get()
	if !ok && !f.Packages.Installed.IsAbsent() {
		return nil, false
	}
	all = slices.DeleteFunc(slices.Clone(all), func(p facts.Package) bool {
		return p.Status != "" && !strings.HasSuffix(p.Status, " ok installed")
	})
	slices.SortStableFunc(all, func(a, b facts.Package) int { return strings.Compare(a.Name, b.Name) })
	return all, true
}

// MissingPackages are the wanted packages that are not known to be installed.
func MissingPackages(in Input) []profiles.Package {
	installed, _ := InstalledPackages(in.Facts)
	var out []profiles.Package
	for _, want := range in.Packages {
		if !slices.ContainsFunc(installed, func(p facts.Package) bool { return sameName(p.Name, want.Name) }) {
			out = append(out, want)
		}
	}
	return out
}

// PackageInstalled says that a package is on the host, which may be named with its version and architecture as rpm
// writes them: kernel-devel-4.18.0-348.el8.x86_64.
func PackageInstalled(in Input, name string) bool {
	installed, _ := InstalledPackages(in.Facts)
	return slices.ContainsFunc(installed, func(p facts.Package) bool {
		full := p.Name + "-" + p.Version
		return sameName(p.Name, name) || p.Version != "" && (name == full || name == full+"."+p.Arch)
	})
}

// withModulePackages adds the packages that have modules which the kernel's own package lacks.
func withModulePackages(in Input) []profiles.Package {
	out := slices.Clone(in.Packages)
	for _, m := range in.Modules {
		if m.State == StateInPackage && !slices.ContainsFunc(out, func(p profiles.Package) bool { return p.Name == m.Package }) {
			out = append(out, profiles.Package{Name: m.Package, Why: "kernel module " + m.Name + " of this kernel", Optional: m.Optional})
		}
	}
	return out
}

// sameName compares package names where one may carry an architecture (libibverbs1:amd64).
func sameName(a, b string) bool {
	a, _, _ = strings.Cut(a, ":")
	b, _, _ = strings.Cut(b, ":")
	return a == b
}
