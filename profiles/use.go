package profiles

import (
	"maps"
	"slices"
	"strings"
)

// PackagesFor are the packages of a profile on one release ("ID VERSION_ID") for one stack, in the
// profile's order. The stacks inbox and rdma-core have the distribution's user space beneath them; the
// others bring their own, so that only what belongs to no stack is left for them.
func (p Profile) PackagesFor(family, release, stack string) []Package {
	return slices.DeleteFunc(packagesOn(p.Packages[family], release), func(one Package) bool {
		return stack != "inbox" && stack != "rdma-core" && !one.EveryStack
	})
}

// PackagesFor are the packages that the build needs on one release ("ID VERSION_ID").
func (b Build) PackagesFor(family, release string) []Package {
	return packagesOn(b.Packages[family], release)
}

func packagesOn(list []Package, release string) []Package {
	var out []Package
	for _, one := range list {
		if one.On(release) {
			out = append(out, one)
		}
	}
	return out
}

// On says whether the entry is for a release, given as "ID VERSION_ID" of os-release.
func (p Package) On(release string) bool {
	meets := func(text string) bool { return meetsRelease(text, release) }
	return (len(p.Releases) == 0 || slices.ContainsFunc(p.Releases, meets)) && !slices.ContainsFunc(p.Except, meets)
}

// SetsFor are the package sets that a vendor stack is asked for, best first. A profile that names none
// means the vendor's usual set.
func (v Vendor) SetsFor(stack string) []string {
	if sets := v.Sets[stack]; len(sets) > 0 {
		return slices.Clone(sets)
	}
	switch stack {
	case "doca-ofed":
		return []string{"doca-ofed"}
	case "mlnx-ofed":
		return []string{"mlnx-ofed-all"}
	}
	return nil
}

// PrefixFor is the directory that a version is built into.
func (b Build) PrefixFor(version string) string {
	return strings.ReplaceAll(b.Prefix, versionWord, version)
}

// Options are the options of cmake's command line for a version, the prefix among them, sorted.
func (b Build) Options(version string) []string {
	prefix := b.PrefixFor(version)
	out := []string{"-DCMAKE_INSTALL_PREFIX=" + prefix}
	for _, name := range slices.Sorted(maps.Keys(b.CMake)) {
		out = append(out, "-D"+name+"="+strings.ReplaceAll(b.CMake[name], prefixWord, prefix))
	}
	slices.Sort(out)
	return out
}

// What stands for the prefix in the value of an option, and for the version in the prefix.
const (
	prefixWord  = "{prefix}"
	versionWord = "{version}"
)
