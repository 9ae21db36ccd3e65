package plan

import (
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
	Chosen  string     `json:"chosen"` // what the profile chooses, empty when it refuses
	Stacks  []Compared `json:"stacks"`
}

// Compared is one stack as if it had been named with --stack.
type Compared struct {
	Stack
	// Bytes is an estimate of what is downloaded, 0 when the solver or a repository must tell.
	Bytes int64 `json:"bytes"`
	// Compiles says that modules or programs are built on this host.
	Compiles bool `json:"compiles"`
	Reboot   bool `json:"reboot"`
	// Goes are packages of the host that go or are replaced; Added are those asked for.
	Goes  []string `json:"packages_gone"`
	Added []string `json:"packages_added"`
	// NextKernel is what happens to the stack's modules when the kernel is updated.
	NextKernel string `json:"next_kernel"`
	// Gains and Losses are kernel modules and user-space providers against the distribution's stack.
	Gains  []string `json:"gains"`
	Losses []string `json:"losses"`
	// Steps is the number of steps, 0 when there is nothing to do or the stack is refused.
	Steps int `json:"steps"`
}

// SideBySide plans each stack in turn and compares the plans.
func SideBySide(f facts.Facts, p profiles.Profile, m *matrix.Index, req Request) (Comparison, error) {
	whole, err := Make(f, p, m, req)
	if err != nil {
		return Comparison{}, err
	}
	out := Comparison{Schema: ComparisonSchema, Profile: p.Name}
	if whole.Chosen != nil {
		out.Chosen = whole.Chosen.Stack
	}
	for _, name := range StackNames() {
		one := req
		if req.Stack != name {
			one.Stack, one.Version, one.Method = name, "", ""
		}
		planned, err := Make(f, p, m, one)
		if err != nil {
			return Comparison{}, err
		}
		i := slices.IndexFunc(planned.Stacks, func(s Stack) bool { return s.Stack == name })
		c := Compared{
			Stack: planned.Stacks[i], Reboot: planned.Reboot, Steps: len(planned.Steps),
			Goes: []string{}, Added: []string{}, Gains: []string{}, Losses: []string{},
		}
		for _, s := range planned.Steps {
			c.Bytes += s.Bytes
			c.Compiles = c.Compiles || s.Kind == KindBuild
			for _, change := range s.Changes.Packages {
				if change.Action == "install" {
					c.Added = append(c.Added, change.Name)
				} else {
					c.Goes = append(c.Goes, change.Name)
				}
			}
		}
		c.Compiles = c.Compiles || c.Modules == rules.ModulesDKMS || c.Modules == rules.ModulesBuilt
		c.NextKernel = nextKernel(c.Stack)
		if release, ok := m.Find(name, c.Version); ok && c.Verdict != StackRefused {
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
