package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan/rules"
)

// Codes of packages that are built from a source tree's own packaging.
const (
	PackagesFromSource rules.Code = "packages-from-source"
	BindingsStay       rules.Code = "bindings-stay"
)

// PackageMark ends the version of a package that rdmactl built.
const PackageMark = rules.PackageMark

// builtPackages are what the packaging of rdma-core makes, by the names of all its releases. Python's bindings are left
// out.
func builtPackages(family string) []string {
	switch family {
	case "rhel": // redhat/rdma-core.spec
		return []string{"rdma-core", "libibverbs", "libibverbs-utils", "librdmacm", "librdmacm-utils", "libibumad", "infiniband-diags", "ibacm", "iwpmd", "srp_daemon", "rdma-core-devel"}
	case "suse": // suse/rdma-core.spec
		return []string{
			"rdma-core", "libibverbs", "libibverbs1", "libibverbs-utils", "libefa1", "libmana1", "libmlx4-1", "libmlx5-1", "librdmacm1", "librdmacm-utils",
			"rsocket", "libibumad3", "libibmad5", "libibnetdisc5", "infiniband-diags", "ibacm", "iwpmd", "rdma-ndd", "srp_daemon", "rdma-core-devel",
		}
	}
	return []string{
		"rdma-core", "libibverbs1", "ibverbs-providers", "ibverbs-utils", "librdmacm1", "librdmacm1t64", "rdmacm-utils",
		"libibumad3", "libibmad5", "libibnetdisc5", "libibnetdisc5t64", "infiniband-diags", "ibacm", "srptools",
		"libibverbs-dev", "librdmacm-dev", "libibumad-dev", "libibmad-dev", "libibnetdisc-dev",
	}
}

// pythonBindings is the package of the tree that is not built.
const pythonBindings = "python3-pyverbs"

// packagesOfSource are the packages of a source that this host gets: those that are installed, and those that the
// profile wants.
func packagesOfSource(in rules.Input) []PackageChange {
	installed, _ := rules.InstalledPackages(in.Facts)
	have := func(name string) bool { return slices.ContainsFunc(installed, isNamed(name)) }
	var out []PackageChange
	family := in.Facts.Distro.Family.Or("")
	for _, name := range builtPackages(family) {
		wanted := name == "libibverbs1" || name == "ibverbs-providers" || family == "rhel" && name == "libibverbs"
		why := "the verbs library and the user-space drivers go together"
		for _, p := range in.Packages {
			if p.Name == name {
				wanted, why = true, p.Why
			}
		}
		switch {
		case have(name):
			out = append(out, PackageChange{Name: name, Action: "upgrade", Why: "it is installed, and packages of two versions do not go together"})
		case wanted:
			out = append(out, PackageChange{Name: name, Action: "install", Why: why})
		}
	}
	return out
}

func isNamed(name string) func(facts.Package) bool {
	return func(p facts.Package) bool {
		plain, _, _ := strings.Cut(p.Name, ":")
		return plain == name
	}
}

// packagesBuilt says that the host has the packages of a release, built from source.
func packagesBuilt(in rules.Input, c *rules.Candidate) bool {
	installed, told := rules.InstalledPackages(in.Facts)
	if !told {
		return false
	}
	for _, change := range packagesOfSource(in) {
		if !slices.ContainsFunc(installed, func(p facts.Package) bool {
			return isNamed(change.Name)(p) && strings.Contains(p.Version, PackageMark) && plainNumber(rules.UpstreamVersion(p)) == plainNumber(c.Release.Version)
		}) {
			return false
		}
	}
	return true
}

// Steps of a build of packages.
const (
	// BuildToolsStep is the step that brings what is compiled with.
	BuildToolsStep = "build-tools"
	// BuiltPackagesStep is the step that installs what the step before it has built.
	BuiltPackagesStep = "built-packages"
)

// sourcePackageSteps build the tree's own packages and install them in the place of the distribution's.
func sourcePackageSteps(in rules.Input, c *rules.Candidate, req Request) []Step {
	tools := buildNeeds(in, c)
	format, by, extras := "deb", "debian/control", []PackageChange{
		{Name: "debhelper", Action: "install", Why: "builds deb packages"},
		{Name: "dh-python", Action: "install", Why: "the packaging calls it"},
	}
	if family := in.Facts.Distro.Family.Or(""); family == "rhel" || family == "suse" {
		format, by = "rpm", map[string]string{"rhel": "redhat", "suse": "suse"}[family]+"/rdma-core.spec"
		extras = []PackageChange{{Name: "rpm-build", Action: "install", Why: "builds rpm packages"}}
	}
	for _, extra := range extras {
		if !rules.PackageInstalled(in, extra.Name) {
			tools = append(tools, extra)
		}
	}
	b := BuildChange{Source: address(in, c), Version: c.Release.Version, Packages: format}
	if req.Source != "" {
		b.Source, b.SHA256, b.Signature = req.Source, req.SHA256, req.Signature
	}
	return []Step{
		{
			ID: BuildToolsStep, Kind: KindPackages, Summary: "install what the source's " + by + " needs to be built",
			Why:     "the packages are compiled on this host; what is needed beyond those named here is read from the verified source, and solved by the package manager before anything changes",
			Changes: Changes{Packages: tools},
			Undo:    "remove the packages that this step added", Root: true, Network: true,
		},
		{
			ID: "build", Kind: KindBuild, Summary: fmt.Sprintf("build the packages of %s %s by the source's own %s", c.Release.Stack, c.Release.Version, strings.Replace(by, "control", "rules", 1)),
			Why:     "as a user without rights, without a network, in a directory of its own; what it made is put into a repository that a key of this run signs",
			Changes: Changes{Build: &b}, Undo: "nothing to undo on the host: the packages stay in the run's directory", Root: true, Network: true,
		},
		{
			ID: BuiltPackagesStep, Kind: KindPackages, Summary: fmt.Sprintf("install the packages of %s %s in the place of the distribution's", c.Release.Stack, c.Release.Version),
			Why:     "one transaction of the package manager, with the old packages kept; the exact versions are known after the build and end with " + PackageMark + "1",
			Changes: Changes{Packages: packagesOfSource(in), BuiltBy: "build"},
			Undo:    "put the exact old packages back and remove those that this step added", Root: true,
		},
	}
}

// fromSource says what packages built from source are and what is left out of them.
func fromSource(in rules.Input, c *rules.Candidate, steps []Step) []Reason {
	if c.Method != rules.BySourcePackage || !slices.ContainsFunc(steps, func(s Step) bool { return s.ID == BuiltPackagesStep }) {
		return nil
	}
	out := []Reason{{
		Code: string(PackagesFromSource), Source: "the packaging in the tree of rdma-core",
		Text: "the distribution gives no updates for packages that are built here. Left out, since each costs more to build with: Python's bindings (" + pythonBindings +
			"), annotations for valgrind, debug symbols, tests; manual pages are taken ready-made where the source has them",
	}}
	if rules.PackageInstalled(in, pythonBindings) {
		out = append(out, Reason{
			Code: string(BindingsStay), Source: in.Facts.Packages.Installed.Source,
			Text: pythonBindings + " is installed and stays in its version, since it is not built; where it does not go with the new library, the run stops unless --allow-remove names it",
		})
	}
	return out
}
