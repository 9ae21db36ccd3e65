package rules

import (
	"slices"
	"sort"

	"github.com/rdmactl/rdmactl/facts"
)

// BrokenPackages stops before a package manager that cannot work.
const BrokenPackages Code = "broken-packages"

func brokenPackages() Rule {
	return Rule{Name: "broken-packages", Scope: Inbox, Source: "dpkg(1): apt refuses every transaction while a package is half installed or half configured", Judge: func(in Input) []Finding {
		broken := in.Facts.Packages.Broken.Or(nil)
		if Leaves(in) { // those that go need not be whole
			away := AwayPackages(in)
			broken = slices.DeleteFunc(slices.Clone(broken), func(p facts.Package) bool {
				return !tornPackage(p) && slices.ContainsFunc(away, func(a facts.Package) bool { return a.Name == p.Name })
			})
		}
		if len(broken) == 0 {
			return nil
		}
		var names []string
		for _, p := range broken {
			name := p.Name
			if p.Status != "" {
				name += " (" + p.Status + ")"
			}
			names = append(names, name)
		}
		sort.Strings(names)
		return refuse(BrokenPackages, in.Facts.Packages.Broken.Source, "packages are half installed or half configured: %s", list(names))
	}}
}
