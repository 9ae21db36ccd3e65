package plan

import (
	"slices"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan/rules"
	"github.com/rdmactl/rdmactl/profiles"
)

// buildNeeds are the packages of the profile that a build from source takes and the host lacks.
func buildNeeds(in rules.Input, c *rules.Candidate) []PackageChange {
	installed, told := rules.InstalledPackages(in.Facts)
	have := func(name string) bool {
		return told && slices.ContainsFunc(installed, func(p facts.Package) bool { return p.Name == name })
	}
	var out []PackageChange
	if b := in.Profile.Build; b != nil && c.Release.Stack == "rdma-core" {
		for _, p := range b.PackagesFor(in.Facts.Distro.Family.Or(""), rules.PackageRelease(in)) {
			if !have(p.Name) {
				out = append(out, PackageChange{Name: p.Name, Action: "install", Why: p.Why, Optional: p.Optional})
			}
		}
		return out
	}
	if c.Layout != nil {
		for _, name := range c.Layout.Needs {
			if !have(name) {
				out = append(out, PackageChange{Name: name, Action: "install", Why: "the build needs it"})
			}
		}
	}
	return out
}

// buildOptions are the CMake options of the profile for a version.
func buildOptions(in rules.Input, version string) []string {
	if in.Profile.Build == nil {
		return nil
	}
	return in.Profile.Build.Options(version)
}

// withBuild is a profile that says how rdma-core is built: as it has it, else as profile edge does.
func withBuild(p profiles.Profile) (profiles.Profile, error) {
	if p.Build != nil {
		return p, nil
	}
	edge, err := profiles.Load("edge")
	p.Build = edge.Build
	return p, err
}

// vendorSet is the package set that the profile wants of a vendor stack and this release has.
func vendorSet(in rules.Input, c *rules.Candidate) string {
	for _, set := range in.Profile.Vendor.SetsFor(c.Release.Stack) {
		if slices.Contains(c.Release.Profiles, set) || (c.Layout != nil && slices.Contains(c.Layout.Meta, set)) {
			return set
		}
	}
	return ""
}
