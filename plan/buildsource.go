package plan

import (
	"slices"
	"strings"

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

// BuiltNotActive says that a version is built and not what programs get.
const BuiltNotActive rules.Code = "built-not-active"

// useStep makes a build what programs get by default.
func useStep(in rules.Input, c *rules.Candidate, prefix string) Step {
	alone := ownRules(in.Facts)
	return Step{
		ID: "use", Kind: KindUse, Summary: "make " + c.Release.Stack + " " + c.Release.Version + " the library that programs get by default",
		Why:     useWhy + rulesWhy(alone),
		Changes: Changes{Use: &UseChange{Stack: c.Release.Stack, Version: c.Release.Version, Prefix: prefix, Rules: alone}},
		Undo:    "put the loader's configuration back, so that programs get the distribution's library again", Root: true,
	}
}

// buildProviders are the drivers without which a build does not serve this host: those of its cards and of the
// devices that are there, of what rdma-core has a provider for.
func buildProviders(in rules.Input) []string {
	var out []string
	add := func(name string) {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, g := range rules.CardsOf(in) {
		if in.Matrix == nil {
			break
		}
		if d, ok := in.Matrix.CardDriver(g); ok {
			add(d.Provider)
		}
	}
	slices.Sort(out)
	return out
}

// builtInPlace says whether this version is built into its directory and, unless it is to stand beside it only, is
// the library that programs get.
func builtInPlace(in rules.Input, c *rules.Candidate) bool {
	if in.Aside {
		return len(builtCopies(in, c)) > 0
	}
	return slices.ContainsFunc(builtCopies(in, c), func(l facts.BuiltLibrary) bool { return l.Active.Or(false) })
}

// builtCopies are the libraries of a release that are in the directory that it would be built into,
// and of exactly this version.
func builtCopies(in rules.Input, c *rules.Candidate) []facts.BuiltLibrary {
	prefix := buildPrefix(in, c)
	var out []facts.BuiltLibrary
	for _, l := range in.Facts.Userspace.Built.Or(nil) {
		version, ok := l.Version.Get()
		if l.Prefix != prefix || !ok || plainNumber(version) != plainNumber(c.Release.Version) {
			continue
		}
		out = append(out, l)
	}
	for _, l := range in.Facts.Userspace.Libibverbs.Or(nil) {
		// A prefix of the profile that is elsewhere: only what the loader finds there is known.
		if strings.HasPrefix(l.Path, prefix+"/") && !slices.ContainsFunc(in.Facts.Userspace.Built.Or(nil), func(b facts.BuiltLibrary) bool { return b.Path == l.Path }) {
			first := in.Facts.Userspace.Libibverbs.Value[0].Path == l.Path
			out = append(out, facts.BuiltLibrary{Prefix: prefix, Path: l.Path, PrivateABI: l.PrivateABI, Providers: l.Providers, Active: facts.Is(first, in.Facts.Userspace.Libibverbs.Source)})
		}
	}
	return out
}

// builtNotActive says that what is planned stands there already, beside what programs get.
func builtNotActive(in rules.Input, c *rules.Candidate) []Reason {
	if c.Method != rules.BySource || builtInPlace(in, c) {
		return nil
	}
	copies := builtCopies(in, c)
	if len(copies) == 0 {
		return nil
	}
	l := copies[0]
	text := c.Release.Version + " is built already (" + printable(l.Path) + "), and programs get another copy, unless they are told of this one"
	if !l.Active.IsKnown() {
		text = c.Release.Version + " is built already (" + printable(l.Path) + "), and nothing tells whether programs get it"
	}
	return []Reason{{Code: string(BuiltNotActive), Source: l.Active.Source, Text: text}}
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
