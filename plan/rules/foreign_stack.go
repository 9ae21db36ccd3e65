package rules

import (
	"slices"
	"strings"
)

// ForeignStack is another stack's packages in the way of inbox.
const ForeignStack Code = "foreign-stack"

func foreignStack() Rule {
	return Rule{Name: "foreign-stack", Scope: Inbox, Source: "vendor packages replace libibverbs1, rdma-core and the modules of the kernel package", Judge: func(in Input) []Finding {
		installed, _ := InstalledPackages(in.Facts)
		byStack := map[string][]string{}
		for _, p := range installed {
			if slices.Contains([]string{"mlnx-ofed", "doca-ofed", "ofed"}, p.Origin) {
				byStack[p.Origin] = append(byStack[p.Origin], p.Name)
			}
		}
		var found []Finding
		for _, stack := range []string{"ofed", "mlnx-ofed", "doca-ofed"} {
			if names := byStack[stack]; len(names) > 0 {
				found = append(found, refuse(ForeignStack, in.Facts.Packages.Installed.Source,
					"packages of %s are installed and would be replaced by the distribution's: %s", stack, list(names))...)
			}
		}
		return found
	}}
}

// StackVersions are the versions of the stacks that are installed, by stack.
func StackVersions(in Input) map[string]string {
	installed, _ := InstalledPackages(in.Facts)
	versions := map[string]string{}
	rank := map[string]int{}
	// The package that carries a stack's version best, last one wins.
	order := []string{"libibverbs1", "libibverbs", "rdma-core", "mlnx-ofed-kernel-utils", "mlnx-ofed-kernel-dkms", "ofed-scripts", "doca-ofed"}
	for _, p := range installed {
		name, _, _ := strings.Cut(p.Name, ":")
		if i := slices.Index(order, name) + 1; i > rank[p.Origin] {
			versions[p.Origin], rank[p.Origin] = p.Version, i
		}
	}
	return versions
}
