package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

// PackageHeld is a package that the administrator keeps as it is.
const PackageHeld Code = "package-held"

func heldPackages() Rule {
	return Rule{Name: "held-packages", Scope: Inbox, Source: "apt-mark(8): a held package is not installed, upgraded or removed", Judge: func(in Input) []Finding {
		var names []string
		source := ""
		for _, want := range MissingPackages(in) {
			if hold, ok := holdOn(in, want.Name, "hold", "lock", "exclude"); ok {
				names = append(names, want.Name)
				source = firstSource([]string{source}, hold.Source)
			}
		}
		if Leaves(in) {
			for _, p := range AwayPackages(in) {
				if hold, ok := holdOn(in, p.Name, "hold", "versionlock", "lock"); ok && !slices.Contains(names, p.Name) {
					names = append(names, p.Name)
					source = firstSource([]string{source}, hold.Source)
				}
			}
			if len(names) > 0 {
				return refuse(PackageHeld, source, "packages that are to be installed, replaced or removed are on hold: %s", list(names))
			}
		}
		if len(names) == 0 {
			return nil
		}
		return refuse(PackageHeld, source, "packages that are to be installed are on hold: %s", list(names))
	}}
}

// heldFromVendor: a vendor's stack takes the place of the distribution's packages, and a newer release that of an
// older one. What is held keeps the package manager from it.
func heldFromVendor() VendorRule {
	return VendorRule{Name: "held-from-vendor", Source: "apt-mark(8), dnf-plugin-versionlock, zypper(8): a held or locked package is not replaced or removed", Judge: func(h *vendorHost, c *Candidate) {
		if !h.vendor() || c.Method == InContainer || !anyHold(h.in) {
			return
		}
		var names []string
		source := ""
		for _, p := range changedPackages(h.in, c) {
			if hold, ok := holdOn(h.in, p.Name, "hold", "versionlock", "lock", "exclude"); ok {
				names = append(names, printable(p.Name)+" ("+hold.Kind+")")
				source = hold.Source
			}
		}
		if len(names) > 0 {
			c.refuse(refuse(PackageHeld, source, "%s takes the place of packages that the administrator holds: %s; release them first if that is meant (%s)", c.Release.Stack, list(names), howReleased(h.in))...)
		}
	}}
}

// howReleased is how a hold is taken away.
func howReleased(in Input) string {
	switch in.Facts.Distro.Family.Or("") {
	case "rhel":
		return "dnf versionlock delete PACKAGE, or the line exclude= of dnf.conf"
	case "suse":
		return "zypper removelock PACKAGE"
	}
	return "apt-mark unhold PACKAGE"
}

// ReplacedPackages are the installed packages of a stack that a release would replace: those that the vendor's own
// installer removes, and all of another vendor's stack.
func ReplacedPackages(in Input, c *Candidate) []facts.Package {
	installed, _ := InstalledPackages(in.Facts)
	var out []facts.Package
	for _, p := range installed {
		foreign := p.Origin != "inbox" && p.Origin != "unknown" && p.Origin != c.Release.Stack
		listed := c.Layout != nil && (slices.ContainsFunc(c.Layout.Replaces, nameMeets(p.Name)) || slices.ContainsFunc(c.Layout.Conflicts, nameMeets(p.Name)))
		kept := c.Layout != nil && slices.ContainsFunc(c.Layout.Keeps, nameMeets(p.Name))
		if p.Origin != c.Release.Stack && (foreign || listed || boundToLibrary(in, p)) && !kept {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b facts.Package) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// changedPackages are the replaced ones, and those of another release of the same stack.
func changedPackages(in Input, c *Candidate) []facts.Package {
	here := ReleaseOnHost(in, c.Release.Stack)
	if here == c.Release {
		return nil
	}
	out := ReplacedPackages(in, c)
	installed, _ := InstalledPackages(in.Facts)
	for _, p := range installed {
		if here != nil && p.Origin == c.Release.Stack {
			out = append(out, p)
		}
	}
	return out
}

// Held says that the administrator keeps a package from being upgraded.
func Held(in Input, name string) bool {
	_, ok := holdOn(in, name, "hold", "versionlock", "lock", "exclude")
	return ok
}

func anyHold(in Input) bool {
	return len(in.Facts.Packages.Held.Or(nil)) > 0 || len(in.Facts.Packages.Holds.Or(nil)) > 0
}

// holdOn finds what holds a package: a mark of its name, or a wish of one of these kinds. A pin chooses a version,
// and what is excluded from one repository comes from another.
func holdOn(in Input, name string, kinds ...string) (facts.Hold, bool) {
	for _, h := range in.Facts.Packages.Holds.Or(nil) {
		if slices.Contains(kinds, h.Kind) && h.Repository == "" && NameMeets(name, h.Package) {
			return h, true
		}
	}
	held := in.Facts.Packages.Held
	if slices.ContainsFunc(held.Or(nil), func(h string) bool { return sameName(h, name) }) {
		return facts.Hold{Package: name, Kind: "hold", Source: held.Source}, true
	}
	return facts.Hold{}, false
}

// nameMeets matches a package against an entry of a list, which may be a pattern (mlnx-ofed-*).
func nameMeets(name string) func(string) bool {
	return func(entry string) bool { return NameMeets(name, entry) }
}

// NameMeets says that a package is meant by an entry of a list, which may be a pattern (mlnx-ofed-*). From Debian 13
// and Ubuntu 24.04 on the libraries whose interface has times in it have names of their own (librdmacm1t64), and
// take the place of those without.
func NameMeets(name, entry string) bool {
	name, _, _ = strings.Cut(name, ":")
	entry, _, _ = strings.Cut(entry, ":")
	for _, one := range []string{name, strings.TrimSuffix(name, "t64")} {
		if ok, err := path.Match(entry, one); entry == one || err == nil && ok {
			return true
		}
	}
	return false
}
