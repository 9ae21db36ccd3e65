package plan

import (
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan/rules"
)

// HoldStep and ReleaseStep are the ids of the steps of KindHold: the first keeps packages at their version after
// they came, the second lifts what earlier runs of rdmactl keep, before packages change.
const (
	HoldStep    = "hold"
	ReleaseStep = "release-holds"
)

// The actions of a HoldChange.
const (
	ActionHold    = "hold"
	ActionRelease = "release"
)

// NothingToHold tells that --hold was given for a stack that no package manager replaces.
const NothingToHold rules.Code = "nothing-to-hold"

// HoldChange is what is held by the package manager, or lifted.
type HoldChange struct {
	// Action is hold or release.
	Action   string        `json:"action"`
	Packages []HeldPackage `json:"packages"`
	// Brought adds every package that has the mark of a vendor's stack once the packages are there: which of them
	// come is known to the package manager alone.
	Brought bool `json:"brought,omitempty"`
}

// HeldPackage is one package of a HoldChange.
type HeldPackage struct {
	Name string `json:"name"`
	// Version is the one that an earlier run's hold names, of a release; empty where a hold names none.
	Version string `json:"version,omitempty"`
	Why     string `json:"why,omitempty"`
	// Optional packages are held if they are there.
	Optional bool `json:"optional,omitempty"`
}

// OwnHold is a hold that an earlier run of rdmactl has set, by its journal.
type OwnHold struct {
	Package string
	Version string // as facts.Hold has it; empty where the manager's holds name none
	Run     string
}

// withoutOwn are the facts as the administrator alone would have made them, and those of own that are in place.
// A hold that is there twice, or whose name another one's pattern has too, stays with the administrator.
func withoutOwn(f facts.Facts, own []OwnHold) (facts.Facts, []OwnHold) {
	if len(own) == 0 {
		return f, nil
	}
	var there []OwnHold
	used := map[OwnHold]bool{}
	mine := func(name, version, kind string) bool {
		if !slices.Contains([]string{"hold", "versionlock", "lock"}, kind) {
			return false
		}
		i := slices.IndexFunc(own, func(o OwnHold) bool {
			return o.Package == name && (o.Version == version || o.Version == "" && kind == "hold") && !used[o]
		})
		if i < 0 {
			return false
		}
		used[own[i]] = true
		there = append(there, own[i])
		return true
	}
	if all, ok := f.Packages.Holds.Get(); ok {
		f.Packages.Holds.Value = slices.DeleteFunc(slices.Clone(all), func(h facts.Hold) bool {
			return h.Repository == "" && mine(h.Package, h.Version, h.Kind)
		})
	}
	if held, ok := f.Packages.Held.Get(); ok {
		f.Packages.Held.Value = slices.DeleteFunc(slices.Clone(held), func(name string) bool {
			named := func(o OwnHold) bool { return o.Package == name }
			if slices.ContainsFunc(there, named) { // told by Holds too
				return !slices.ContainsFunc(f.Packages.Holds.Or(nil), func(h facts.Hold) bool { return h.Package == name && h.Kind != "pin" })
			}
			return mine(name, "", "hold")
		})
	}
	return f, there
}

// holdSteps adds to the steps of a plan the one that lifts what earlier runs hold, where the plan changes it, and
// the one that holds what the plan brings, where that is asked for. in has the administrator's holds only; held is
// what earlier runs hold.
func holdSteps(in rules.Input, c *rules.Candidate, steps []Step, req Request, held []OwnHold) []Step {
	out := steps
	if len(held) > 0 && changesHeld(c, steps, held) {
		out = slices.Insert(slices.Clone(out), firstPackages(out), releaseStep(in, req, held))
		held = nil
	}
	if req.Hold && (c == nil || fromPackages(c)) {
		out = slices.Insert(slices.Clone(out), afterPackages(out), holdStep(in, c, steps, held)...)
	}
	return out
}

// fromPackages says that the package manager has the release's packages.
func fromPackages(c *rules.Candidate) bool {
	return c.Method != rules.BySource && c.Method != rules.InContainer
}

// changesHeld says that the plan changes packages that an earlier run holds. What comes with a vendor's set is known to
// the package manager alone, so any release that comes, goes or is replaced may change any of them.
func changesHeld(c *rules.Candidate, steps []Step, held []OwnHold) bool {
	for _, s := range steps {
		if s.Kind == KindVendorScript || s.Kind == KindPackages && s.ID == "packages" && c != nil && fromPackages(c) {
			return true
		}
		if s.Kind != KindPackages {
			continue
		}
		for _, p := range s.Changes.Packages {
			if slices.Contains([]string{"upgrade", "remove", "replace", "restore"}, p.Action) ||
				p.Action == "install" && slices.ContainsFunc(held, func(o OwnHold) bool { return rules.NameMeets(o.Package, p.Name) }) {
				return true
			}
		}
	}
	return false
}

// firstPackages is where the first step is that changes packages.
func firstPackages(steps []Step) int {
	return max(0, slices.IndexFunc(steps, changesPackages))
}

func changesPackages(s Step) bool { return s.Kind == KindPackages || s.Kind == KindVendorScript }

// afterPackages is the place behind the last step that changes packages.
func afterPackages(steps []Step) int {
	at := 0
	for i, s := range steps {
		if changesPackages(s) || s.ID == OldRepositoryStep {
			at = i + 1
		}
	}
	return at
}

func releaseStep(in rules.Input, req Request, held []OwnHold) Step {
	change := HoldChange{Action: ActionRelease}
	for _, o := range held {
		change.Packages = append(change.Packages, HeldPackage{Name: o.Package, Version: o.Version, Why: "held by run " + printable(o.Run)})
	}
	slices.SortFunc(change.Packages, func(a, b HeldPackage) int { return strings.Compare(a.Name+" "+a.Version, b.Name+" "+b.Version) })
	why := "rdmactl's own earlier runs hold them, and this plan changes packages; what the administrator holds stays"
	if !req.Hold {
		why += "; without --hold they are not held again"
	}
	return Step{
		ID: ReleaseStep, Kind: KindHold, Summary: "lift the holds that rdmactl has set on " + plural(len(change.Packages), "package"),
		Why: why, Changes: Changes{Hold: &change}, Undo: "hold them again as they were", Root: true,
	}
}

// holdStep holds what the stack consists of, but for what is held already: none, if all of it is. own is what earlier
// runs hold and this plan does not lift.
func holdStep(in rules.Input, c *rules.Candidate, steps []Step, own []OwnHold) []Step {
	vendor := c != nil && c.Method != rules.BySourcePackage // that has the distribution's own names
	change := HoldChange{Action: ActionHold, Packages: []HeldPackage{}, Brought: vendor}
	add := func(p HeldPackage) {
		is := func(have HeldPackage) bool { return have.Name == p.Name }
		mine := func(o OwnHold) bool { return o.Package == p.Name }
		if !slices.ContainsFunc(change.Packages, is) && !rules.Held(in, p.Name) && !slices.ContainsFunc(own, mine) {
			change.Packages = append(change.Packages, p)
		}
	}
	if vendor {
		vendorHeld(in, c, steps, add)
	} else {
		inboxHeld(in, c, steps, add)
	}
	if len(change.Packages) == 0 && !(vendor && slices.ContainsFunc(steps, changesPackages)) {
		return nil
	}
	slices.SortFunc(change.Packages, func(a, b HeldPackage) int { return strings.Compare(a.Name, b.Name) })
	return []Step{{
		ID: HoldStep, Kind: KindHold, Summary: "hold the stack's packages at the version that this plan leaves",
		Why: "an upgrade of the whole host then passes them over, security updates among them; rdmactl lifts its own holds itself where it changes the stack. By hand: " +
			liftedByHand(in.Facts.Packages.Manager.Or("")),
		Changes: Changes{Hold: &change},
		Undo:    "lift the holds that this step set; those of the administrator stay", Root: true,
	}}
}

// inboxHeld are the packages of the distribution's stack that the profile names, under the names that they have here,
// and all others of rdma-core's source: some of them come as dependencies, and half a stack that is held is a mixed one.
// Those that belong to no stack (ethtool) are not held. What is built from the source tree's own packaging (c) has the
// same names.
func inboxHeld(in rules.Input, c *rules.Candidate, steps []Step, add func(HeldPackage)) {
	installed, told := rules.InstalledPackages(in.Facts)
	comes := map[string]bool{}
	for _, s := range steps {
		for _, p := range s.Changes.Packages {
			comes[p.Name] = comes[p.Name] || s.Kind == KindPackages && p.Action == "install"
		}
	}
	for _, want := range in.Profile.PackagesFor(in.Facts.Distro.Family.Or(""), rules.PackageRelease(in), "inbox") {
		if want.EveryStack {
			continue
		}
		name, here := want.Name, false
		for _, have := range installed {
			if named(have.Name)(want.Name) {
				name, here = have.Name, true
				break
			}
		}
		switch {
		case here || comes[want.Name] || !told && !want.Optional:
			add(HeldPackage{Name: name, Why: want.Why, Optional: want.Optional})
		case c != nil && len(steps) > 0:
			add(HeldPackage{Name: name, Why: want.Why, Optional: true})
		}
	}
	family := in.Facts.Distro.Family.Or("")
	for _, name := range builtPackages(family) {
		library := strings.HasPrefix(name, "lib") && !strings.HasSuffix(name, "-dev") && !strings.HasSuffix(name, "-devel")
		if slices.ContainsFunc(installed, isNamed(name)) || library && len(comes) > 0 {
			add(HeldPackage{Name: name, Why: "of the same source", Optional: true})
		}
	}
}

// vendorHeld are the packages of a vendor's stack that are known before the package manager is asked: what is asked
// for, what takes the place of the distribution's, and what is on the host.
func vendorHeld(in rules.Input, c *rules.Candidate, steps []Step, add func(HeldPackage)) {
	for _, s := range steps {
		if s.ID != "packages" || s.Kind != KindPackages {
			continue
		}
		for _, p := range s.Changes.Packages {
			switch p.Action {
			case "install", "upgrade":
				if slices.Contains(metaPackages(in, c), p.Name) {
					add(HeldPackage{Name: p.Name, Why: "the vendor's package set"})
				}
			case "replace":
				add(HeldPackage{Name: p.Name, Why: "the distribution has a package of this name too", Optional: true})
			}
		}
	}
	installed, _ := rules.InstalledPackages(in.Facts)
	for _, p := range installed {
		if p.Origin == c.Release.Stack {
			add(HeldPackage{Name: p.Name, Why: "of " + c.Release.Stack + ", on this host", Optional: true})
		}
	}
}

// liftedByHand is how a hold is lifted without rdmactl.
func liftedByHand(manager string) string {
	switch manager {
	case "dnf":
		return "`dnf versionlock delete NAME`"
	case "yum":
		return "`yum versionlock delete NAME`"
	case "zypper":
		return "`zypper removelock NAME`"
	}
	return "`apt-mark unhold NAME`"
}

// Holds says that the plan holds packages, as --hold asks for.
func Holds(p Plan) bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool {
		return s.Kind == KindHold && s.Changes.Hold != nil && s.Changes.Hold.Action == ActionHold
	})
}

// notHeld says why --hold has nothing to hold.
func notHeld(c *rules.Candidate, req Request) []Reason {
	if !req.Hold || c == nil || fromPackages(c) {
		return nil
	}
	return []Reason{{
		Code: string(NothingToHold), Source: "--hold",
		Text: "nothing is held: " + c.Release.Stack + " " + c.Release.Version + " does not come as packages of a repository, so no upgrade of the host's packages replaces it",
	}}
}

// holdHint tells of --hold where the distribution has packages of the same names as the vendor's stack that comes, so
// that an upgrade of the host could bring them, and nothing of the administrator's keeps that from it.
func holdHint(in rules.Input, c *rules.Candidate, p Plan, req Request) []Hint {
	brings := slices.ContainsFunc(p.Steps, func(s Step) bool { return s.ID == "packages" && s.Kind == KindPackages })
	if req.Hold || c == nil || !fromPackages(c) || !brings || c.Layout == nil || len(c.Layout.Replaces) == 0 || preferred(in, c) {
		return nil
	}
	for _, h := range p.Next {
		if command, ok := strings.CutPrefix(h.Command, "sudo rdmactl install "); ok {
			return []Hint{{
				Command: "sudo rdmactl install " + command + " --hold",
				Text:    "the same, and an upgrade of the host can then not put the distribution's packages of the same names in their place",
			}}
		}
	}
	return nil
}

// preferred says that a pin, or the priority of a repository, gives the vendor's packages precedence already.
func preferred(in rules.Input, c *rules.Candidate) bool {
	const aptDefault, rpmDefault = 500, 99
	for _, h := range in.Facts.Packages.Holds.Or(nil) {
		if h.Kind != "pin" || h.Priority <= aptDefault {
			continue
		}
		ofVendor := slices.ContainsFunc([]string{"mellanox", "nvidia", "doca", "mlnx"}, func(word string) bool { return strings.Contains(strings.ToLower(h.Version), word) })
		matches := slices.ContainsFunc(c.Layout.Replaces, func(name string) bool { ok, err := path.Match(h.Package, name); return err == nil && ok })
		if ofVendor && matches {
			return true
		}
	}
	return slices.ContainsFunc(in.Facts.Packages.RepositoryList.Or(nil), func(r facts.Repository) bool {
		return r.Kind == "rpm" && r.Enabled && r.Stack == c.Release.Stack && r.Priority > 0 && r.Priority < rpmDefault
	})
}

// held lists what a step holds or lifts.
func held(line func(name, why string, optional bool), c HoldChange) {
	for _, p := range c.Packages {
		line(strings.TrimSpace(c.Action+" "+printable(p.Name)+" "+printable(p.Version)), p.Why, p.Optional)
	}
	if c.Brought {
		line(c.Action+" every other package of the vendor's stack that is there by then", "which ones come with the set is known to the package manager", false)
	}
}
