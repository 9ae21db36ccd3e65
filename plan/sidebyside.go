package plan

import (
	"fmt"
	"slices"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan/rules"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// ComparisonSchema names the JSON form of a Comparison.
const ComparisonSchema = "rdmactl.comparison/v1"

// Comparison puts the stacks side by side for one host.
type Comparison struct {
	Schema  string     `json:"schema"`
	Profile string     `json:"profile"`
	Kernel  string     `json:"kernel"`  // that the answer is for, empty when nothing tells it
	Chosen  string     `json:"chosen"`  // what the profile chooses, empty when it refuses
	Summary string     `json:"summary"` // the answer of the plan that chooses
	Stacks  []Compared `json:"stacks"`
}

// Compared is one stack as if it had been named with --stack.
type Compared struct {
	Stack
	// Download is what is fetched, Disk what stays on disk. Neither is the solver's answer.
	Download Amount `json:"download_bytes"`
	Disk     Amount `json:"disk_bytes"`
	// AgeMonths is how long ago the release was made, null when its day is not documented.
	AgeMonths *int `json:"age_months"`
	// Compiles says that modules or programs are built on this host, Minutes how long that took where it
	// was measured or reported.
	Compiles bool    `json:"compiles"`
	Minutes  Minutes `json:"compile_minutes"`
	// Licence names what the stack's parts come under.
	Licence string `json:"licence"`
	Reboot  bool   `json:"reboot"`
	// PackagesTold says whether the host's packages are known, without which Goes is empty for that reason.
	PackagesTold bool `json:"packages_told"`
	// Goes are packages of the host that go or are replaced; Added are those asked for.
	Goes  []string `json:"packages_gone"`
	Added []string `json:"packages_added"`
	// NextKernel is what happens to the stack's modules when the kernel is updated.
	NextKernel string `json:"next_kernel"`
	// Gains and Losses are kernel modules and user-space providers against the distribution's stack.
	Gains  []string `json:"gains"`
	Losses []string `json:"losses"`
	// Warnings are what must be known when this stack is taken, those of "plan --stack" for it.
	Warnings []Reason `json:"warnings"`
	// Steps is the number of steps, 0 when there is nothing to do or the stack is refused.
	Steps int `json:"steps"`
}

// SideBySide plans each stack in turn and compares the plans.
func SideBySide(f facts.Facts, p profiles.Profile, m *matrix.Index, req Request) (Comparison, error) {
	whole, err := Make(f, p, m, req)
	if err != nil {
		return Comparison{}, err
	}
	out := Comparison{Schema: ComparisonSchema, Profile: p.Name, Summary: whole.Summary, Kernel: req.Kernel}
	if out.Kernel == "" {
		out.Kernel = f.Kernel.Release.Or("")
	}
	_, told := rules.InstalledPackages(f)
	if whole.Chosen != nil {
		out.Chosen = whole.Chosen.Stack
	}
	for _, name := range StackNames() {
		one := req
		if req.Stack != name {
			one.Stack, one.Version, one.Method = name, "", ""
		}
		planned := whole // of the stack that is chosen, exactly the plan that chooses it
		if name != out.Chosen {
			if p.SoftRoCE != nil && name != "inbox" {
				one = req // Soft-RoCE is for inbox only: the others are judged and not planned
			}
			one.quiet = true
			if planned, err = Make(f, p, m, one); err != nil {
				return Comparison{}, err
			}
			if planned.goesNotBack() { // what it would be is compared all the same
				one.Version = planned.Stacks[slices.IndexFunc(planned.Stacks, func(s Stack) bool { return s.Stack == name })].Version
				if planned, err = Make(f, p, m, one); err != nil {
					return Comparison{}, err
				}
			}
		}
		ofThis := planned.Chosen != nil && planned.Chosen.Stack == name
		if !ofThis { // judged only: what is planned, if anything, is another stack
			planned.Steps, planned.Warnings, planned.Reboot = nil, nil, false
		}
		i := slices.IndexFunc(planned.Stacks, func(s Stack) bool { return s.Stack == name })
		c := Compared{
			Stack: planned.Stacks[i], PackagesTold: told, Reboot: planned.Reboot, Steps: len(planned.Steps),
			AgeMonths: age(planned.Stacks[i].Released, day(f, req)), Licence: licence(name), Goes: []string{}, Added: []string{}, Gains: []string{}, Losses: []string{},
			Warnings: append([]Reason{}, planned.Warnings...),
		}
		if c.Verdict == StackChosen && name != out.Chosen {
			c.Verdict = StackPossible
		}
		for _, s := range planned.Steps {
			c.Compiles = c.Compiles || s.Kind == KindBuild
			for _, change := range s.Changes.Packages {
				switch change.Action {
				case "install", "upgrade":
					c.Added = append(c.Added, change.Name)
				case "remove", "replace":
					c.Goes = append(c.Goes, change.Name)
				}
			}
		}
		c.Compiles = c.Compiles || c.Modules == rules.ModulesDKMS || c.Modules == rules.ModulesBuilt || c.Method == rules.BySource || c.Method == rules.BySourcePackage
		release, known := m.Find(name, c.Version)
		bill := bill{f: f, m: m, c: c, release: release, steps: planned.Steps, planned: ofThis}
		c.Download, c.Disk, c.Minutes = bill.download(), bill.disk(), bill.minutes()
		c.NextKernel = nextKernel(c.Stack)
		if known && c.Verdict != StackRefused {
			if layout, ok := m.Layout(name, m.VersionOf(release), f.Distro.Family.Or("")); ok {
				c.Gains = append(c.Gains, layout.Adds...)
				for _, provider := range layout.Drops {
					c.Losses = append(c.Losses, "provider "+provider)
				}
			}
		}
		out.Stacks = append(out.Stacks, c)
	}
	return out, nil
}

// nextKernel says what a kernel update does to a stack's modules.
func nextKernel(s Stack) string {
	switch {
	case s.Verdict == StackRefused:
		return ""
	case s.Modules == rules.ModulesInbox:
		return "every kernel of the distribution brings its own modules"
	case s.Modules == rules.ModulesDKMS:
		return "built anew for each kernel, where its headers are installed before it boots and the release builds on it"
	case s.Modules == rules.ModulesPrebuilt:
		return "kept for errata kernels of the same minor release; another minor release needs other packages first"
	case s.Modules == rules.ModulesBuilt:
		return "must be built anew before another kernel boots"
	}
	return ""
}

// age counts whole months between two days or months; nil when one is not told.
func age(released, today string) *int {
	var y1, m1, y2, m2 int
	if _, err := fmt.Sscanf(released, "%d-%d", &y1, &m1); err != nil {
		return nil
	}
	if _, err := fmt.Sscanf(today, "%d-%d", &y2, &m2); err != nil {
		return nil
	}
	months := max(0, (y2-y1)*12+m2-m1)
	return &months
}

// licence is of each stack's parts: COPYING.md of rdma-core and the kernel's SPDX lines for what is open, the
// file LICENSE of the vendor's bundle for the rest.
func licence(stack string) string {
	const open = "kernel modules GPL-2.0 or OpenIB BSD, rdma-core GPL-2.0 or OpenIB BSD"
	if stack == "mlnx-ofed" || stack == "doca-ofed" {
		return open + "; the vendor's own tools and libraries under its licence agreement"
	}
	return open
}
