package rules

import "slices"

// PackageHeld is a package that the administrator keeps as it is.
const PackageHeld Code = "package-held"

func heldPackages() Rule {
	return Rule{Name: "held-packages", Scope: Inbox, Source: "apt-mark(8): a held package is not installed, upgraded or removed", Judge: func(in Input) []Finding {
		held := in.Facts.Packages.Held.Or(nil)
		var names []string
		for _, want := range MissingPackages(in) {
			if slices.ContainsFunc(held, func(name string) bool { return sameName(name, want.Name) }) {
				names = append(names, want.Name)
			}
		}
		if len(names) == 0 {
			return nil
		}
		return refuse(PackageHeld, in.Facts.Packages.Held.Source, "packages that are to be installed are on hold: %s", list(names))
	}}
}
