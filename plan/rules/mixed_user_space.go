package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

// UserSpaceMixed is a verbs user space whose parts are not of one build.
const UserSpaceMixed Code = "user-space-mixed"

// mixedUserSpace: what is built from rdma-core's source needs its other parts in exactly its own version, and a
// provider loads only into the library of its own private ABI. Packages whose origin nothing tells are in
// neither half.
func mixedUserSpace() Rule {
	return Rule{Name: "mixed-user-space", Scope: Request, Source: "debian/control and redhat/rdma-core.spec of rdma-core: a part needs the exact version of the library; " +
		"https://github.com/aws/aws-parallelcluster-cookbook/pull/2154", Judge: func(in Input) []Finding {
		installed, _ := InstalledPackages(in.Facts)
		halves := map[string][]string{}
		for _, p := range installed {
			if userSpacePart(p.Name) && !is32Bit(p) {
				halves[p.Origin] = append(halves[p.Origin], packageVersion(p.Name, p.Version))
			}
		}
		source := in.Facts.Packages.Installed.Source
		var found []Finding
		for _, stack := range foreignStacks() {
			if len(halves["inbox"]) > 0 && len(halves[stack]) > 0 {
				found = append(found, warn(UserSpaceMixed, source,
					"the user space of the RDMA stack comes half from the distribution (%s) and half from %s (%s); parts of rdma-core need each other's exact version. "+
						"Take the whole from one side: a plan that names inbox gives the half of %[2]s back to the distribution; a plan for %[2]s replaces the distribution's half in its step packages, "+
						"except over a release that is in place already, where that half must be removed by hand",
					list(halves["inbox"]), stack, list(halves[stack]))...)
			}
		}
		return append(found, brought(in, installed)...)
	}}
}

// brought is what an installer brings that needs other versions of the libraries than those that are installed.
func brought(in Input, installed []facts.Package) []Finding {
	var sources []string
	there, news, needs := map[string][]string{}, map[string][]string{}, map[string][]string{}
	names := map[string][]string{}
	add := func(m map[string][]string, source, text string) {
		if !slices.Contains(m[source], text) {
			m[source] = append(m[source], text)
		}
	}
	for _, u := range in.Facts.Packages.Unmet {
		i := slices.IndexFunc(installed, func(p facts.Package) bool { return sameName(p.Name, u.Needs) && !is32Bit(p) })
		if !userSpacePart(u.Package) || !userSpacePart(u.Needs) || i < 0 || installed[i].Origin != "inbox" || installed[i].Version == u.NeedsVersion {
			continue
		}
		if !slices.Contains(sources, u.Source) {
			sources = append(sources, u.Source)
		}
		add(there, u.Source, packageVersion(installed[i].Name, installed[i].Version))
		add(news, u.Source, packageVersion(u.Package, u.Version))
		add(needs, u.Source, printable(u.Needs+" "+u.NeedsVersion))
		add(names, u.Source, printable(u.Package))
	}
	var found []Finding
	for _, source := range sources {
		found = append(found, warn(UserSpaceMixed, source,
			"the user space of the RDMA stack would come half from the distribution (%s) and half from a bundle or other repository, as %s tells (%s, which need %s); parts of rdma-core need each other's exact version. "+
				"Take the whole from one side: %s from the distribution as well; the step packages of --profile inbox installs the libraries and tools of the distribution",
			list(there[source]), printable(source), list(news[source]), list(needs[source]), list(names[source]))...)
	}
	return found
}

// userSpacePart says that a package is built from the one source of rdma-core by all who package it, vendors and
// distributions alike.
func userSpacePart(name string) bool {
	name, _, _ = strings.Cut(name, ":")
	return slices.Contains([]string{
		"rdma-core", "rdma-core-devel", "libibverbs", "libibverbs1", "libibverbs-utils", "ibverbs-utils", "ibverbs-providers", "libibverbs-dev",
		"librdmacm", "librdmacm1", "librdmacm1t64", "librdmacm-utils", "rdmacm-utils", "librdmacm-dev", "libibumad", "libibumad3", "libibumad-dev",
	}, name)
}

// is32Bit says that a package is of the 32-bit architecture beside the host's own: its programs use its libraries
// only.
func is32Bit(p facts.Package) bool {
	_, arch, _ := strings.Cut(p.Name, ":")
	return slices.Contains(machines32(), p.Arch) || slices.Contains(machines32(), arch)
}

func packageVersion(name, version string) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s", printable(name), printable(version)))
}
