package plan

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/plan/rules"
)

// LeftoversStep and OldRepositoryStep are the ids of the steps that take away what a vendor's packages leave.
const (
	LeftoversStep     = "leftovers"
	OldRepositoryStep = "old-repository"
)

// awaySteps take a vendor's stack away and leave the distribution's own in its place. The packages change in one
// transaction of the package manager, after all that comes and all that goes is kept.
func awaySteps(in rules.Input, act activation, mode string) []Step {
	out := []Step{}
	out = append(out, restoreStep(in)...)
	out = append(out, leftoversStep(rules.AwayFiles(in))...)
	out = append(out, oldRepositoryStep(in, "")...)
	boot := rules.AwayModules(in)
	if boot {
		out = append(out, initramfsStep(in))
	}
	out = append(out, fileSteps(in)...)
	if boot && mode != ActivateNone {
		s := activationStep(&rules.Candidate{}, act)
		s.Summary, s.Undo = "the kernel's own modules are loaded at the next boot, which rdmactl leaves to you", "the modules that are then on disk are loaded at the next boot"
		out = append(out, s)
		return append(out, bootServiceStep(in, false)...)
	}
	out = append(out, atBootStep(in, mode, out)...)
	if !now(in, mode) || boot {
		return append(out, bootServiceStep(in, false)...)
	}
	out = append(out, udevStep(in, out)...)
	out = append(out, loadStep(in)...)
	out = append(out, bootServiceStep(in, true)...)
	out = append(out, servicesStep(in, out)...)
	if len(out) > 0 {
		out = append(out, verifyStep(in))
	}
	return out
}

// restoreStep gives the vendor's packages back to the distribution, and brings what of the profile is missing.
func restoreStep(in rules.Input) []Step {
	away := rules.AwayPackages(in)
	wanted := in.Profile.PackagesFor(in.Facts.Distro.Family.Or(""), rules.PackageRelease(in), "inbox")
	var changes []PackageChange
	stacks := []string{}
	for _, p := range away {
		name := p.Name
		if slices.ContainsFunc(changes, func(c PackageChange) bool { return c.Name == name }) {
			continue
		}
		// What the profile wants must come from the distribution: a host is not left without a stack because no
		// repository of its own is there.
		must := false
		for _, w := range wanted {
			must = must || !w.Optional && named(name)(w.Name)
		}
		changes = append(changes, PackageChange{Name: name, Action: "restore", Why: "of " + p.Origin + ", " + printable(p.Version), Optional: !must})
		if !slices.Contains(stacks, p.Origin) && p.Origin != "unknown" {
			stacks = append(stacks, p.Origin)
		}
	}
	for _, p := range rules.MissingPackages(in) {
		if !slices.ContainsFunc(changes, func(c PackageChange) bool { return named(c.Name)(p.Name) }) {
			changes = append(changes, PackageChange{Name: p.Name, Action: "install", Why: p.Why, Optional: p.Optional})
		}
	}
	if len(changes) == 0 {
		return nil
	}
	summary := "give " + plural(len(away), "package") + " of " + strings.Join(stacks, " and ") + " back to the distribution"
	if len(away) == 0 {
		summary = "install " + plural(len(changes), "package")
	} else if n := len(changes) - len(away); n > 0 {
		summary += ", and install " + plural(n, "package")
	}
	return []Step{{
		ID: "packages", Kind: KindPackages, Summary: summary,
		Why: "each is replaced by the distribution's version, however low its number is, or goes where the distribution has none; " +
			"all that comes and all that goes is kept before the first package changes",
		Changes: Changes{Packages: changes, NotFrom: rules.AwayRepositoryNames(in)},
		Undo:    "put the packages back as they were kept before the change, and remove those that this step added",
		Root:    true, Network: true,
	}}
}

// leftoversStep removes what no package owns.
func leftoversStep(trees []string) []Step {
	if len(trees) == 0 {
		return nil
	}
	return []Step{{
		ID: LeftoversStep, Kind: KindRemove, Summary: "remove what the vendor's packages leave, of " + plural(len(trees), "place"),
		Why:     "its configuration, modules that DKMS keeps and links of its service outlive the packages and would act on the distribution's stack; what a package owns stays",
		Changes: Changes{Trees: trees},
		Undo:    "put them back as they were", Root: true,
	}}
}

// oldRepositoryStep takes away the repositories of vendors' stacks, but for those of the stack that comes: the next
// upgrade of the host would bring their packages again.
func oldRepositoryStep(in rules.Input, comes string) []Step {
	files, _ := rules.AwayRepositories(in, comes)
	if len(files) == 0 {
		return nil
	}
	var changes []FileChange
	for _, file := range files {
		changes = append(changes, FileChange{Path: file, Action: "remove"})
		if key := keyOf(file); key != "" {
			changes = append(changes, FileChange{Path: key, Action: "remove"})
		}
	}
	return []Step{{
		ID: OldRepositoryStep, Kind: KindFiles, Summary: "remove the vendor's repository: " + strings.Join(files, ", "),
		Why:     "its packages have higher numbers than the distribution's, so the next upgrade of the host would bring them again",
		Changes: Changes{Files: changes},
		Undo:    "put the files back", Root: true,
	}}
}

// keyOf is the key that rdmactl has laid down for a repository of its own, empty for another's repository: an
// administrator's key may serve others.
func keyOf(file string) string {
	for _, stack := range StackNames() {
		name := "rdmactl-" + stack
		switch file {
		case "/etc/apt/sources.list.d/" + name + ".list":
			return "/etc/apt/keyrings/" + name + ".asc"
		case "/etc/yum.repos.d/" + name + ".repo", "/etc/zypp/repos.d/" + name + ".repo":
			return "/etc/pki/rpm-gpg/" + name + ".asc"
		}
	}
	return ""
}

// gives names the packages that are given back, and what of the vendor's is left to a person.
func gives(in rules.Input, steps []Step) []Reason {
	var out []Reason
	var names []string
	for _, s := range steps {
		for _, c := range s.Changes.Packages {
			if c.Action == "restore" {
				names = append(names, c.Name)
			}
		}
	}
	if len(names) > 12 {
		names = append(names[:12], plural(len(names)-12, "package")+" more")
	}
	if len(names) > 0 {
		out = append(out, Reason{
			Code: string(PackagesReplaced), Source: in.Facts.Packages.Installed.Source,
			Text: "these packages go or are replaced by the distribution's: " + strings.Join(names, ", ") + "; what depends on them is named by --dry-run and stops the run unless --allow-remove names it",
		})
	}
	if _, shared := rules.AwayRepositories(in, ""); len(shared) > 0 {
		out = append(out, Reason{
			Code: string(VendorRepositoryStays), Source: in.Facts.Packages.RepositoryList.Source,
			Text: "a repository of the vendor's is configured in " + strings.Join(shared, ", ") + " beside others, and stays: disable it there, or the next upgrade of the host brings its packages again",
		})
	}
	return out
}

// VendorRepositoryStays says that a repository of a stack that goes could not be taken out.
const VendorRepositoryStays rules.Code = "vendor-repository-stays"

// leaves is what the plan takes away, for its summary; empty for nothing.
func leaves(in rules.Input) string {
	if !rules.Leaves(in) {
		return ""
	}
	if have, there := rules.VendorOnHost(in); there {
		return have.Name()
	}
	for _, p := range rules.AwayPackages(in) {
		return p.Origin
	}
	for _, d := range rules.AwayDKMS(in) {
		return "the modules " + d.Name + " " + d.Version + " of " + d.Origin + " that DKMS keeps"
	}
	return ""
}
