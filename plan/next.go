package plan

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan/rules"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// afterPlan is what to type when the plan can be carried out.
func afterPlan(in rules.Input, p Plan, req Request) []Hint {
	if p.Verdict == NothingToDo {
		if !in.Running() {
			return []Hint{}
		}
		return []Hint{{Command: "rdmactl verify", Text: "sends and compares real data through each active port"}}
	}
	command := "sudo rdmactl install --profile " + profileWord(p, req)
	if req.Stack != "" {
		command += " --stack " + req.Stack
	}
	if len(p.Cards) > 0 {
		command += " --card " + strings.Join(p.Cards, ",")
	}
	if req.Netdev != "" {
		command += " --netdev " + req.Netdev
	}
	return []Hint{{Command: command, Text: "carries out these steps, each journalled; `rdmactl rollback` takes them back"}}
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./+,:@%-]+$`)

// profileWord is the profile as it was asked for, which may be a file, in a shell's quotes where it
// needs some.
func profileWord(p Plan, req Request) string {
	switch {
	case req.Profile == "":
		return p.Profile
	case plainWord.MatchString(req.Profile):
		return req.Profile
	}
	return "'" + strings.ReplaceAll(req.Profile, "'", `'\''`) + "'"
}

// afterRefusal is what would help, by the first reason, and else what the registry of codes says.
func afterRefusal(in rules.Input, m *matrix.Index, p Plan, req Request) ([]Hint, error) {
	hints, err := waysOut(in, m, p, req)
	if err != nil || len(hints) > 0 {
		return hints, err
	}
	return []Hint{explained(p.Reasons[0].Code)}, nil
}

// explained points at the registry and says its remedy at once.
func explained(code string) Hint {
	hint := Hint{"rdmactl explain " + code, "says what this means"}
	if entry, ok := facts.LookupCode(code); ok && entry.Remedy != "nothing" {
		hint.Text = "says more; what to do: " + entry.Remedy
	}
	return hint
}

func waysOut(in rules.Input, m *matrix.Index, p Plan, req Request) ([]Hint, error) {
	switch rules.Code(p.Reasons[0].Code) {
	case rules.NoRDMAHardware:
		return withoutCard(in, m)
	case rules.HardwareUnknown:
		return []Hint{
			{"rdmactl detect --save host.yaml", "on the host itself, or add the output of `lspci -nn` to the evidence"},
			{"rdmactl plan --card GENERATION", "plans for a card that is not seen; generations are " + strings.Join(rules.Generations(), ", ")},
		}, nil
	case rules.ForeignHardware:
		return whatIf(in, m, "inbox", "the distribution's own stack, which serves this card where its kernel has the driver")
	case rules.BrokenPackages:
		return []Hint{
			{"sudo dpkg --configure -a", "finishes what was interrupted"},
			{"sudo apt-get -f install", "repairs dependencies if that was not enough"},
		}, nil
	case rules.PackageHeld:
		return []Hint{{"apt-mark showhold", "lists the holds; `apt-mark unhold NAME` lifts one"}}, nil
	case rules.ModuleMissing:
		if flavour, ok := strings.CutPrefix(in.Facts.Kernel.Flavour.Or(""), "cloud-"); ok && in.Facts.Distro.ID.Or("") == "debian" {
			if name := "linux-image-" + flavour; profiles.CheckPackage(name) == nil {
				return []Hint{{"sudo apt-get install " + name, "the kernel with all RDMA modules; boot it, then plan again"}}, nil
			}
		}
	case rules.SoftRoCEConflict, rules.NoNetdev:
		return []Hint{{"rdmactl plan --profile " + profileWord(p, req) + " --netdev NAME", "names the interface; `ip -br link` and `rdma link` show what there is"}}, nil
	}
	if p.Reasons[0].Code != string(rules.Container) && req.Stack != "" && req.Stack != "inbox" {
		if slices.ContainsFunc(p.Stacks, func(s Stack) bool { return s.Stack == "inbox" && s.Verdict == StackPossible }) {
			return whatIf(in, m, "inbox", "the distribution's own stack, which serves this host")
		}
	}
	return nil, nil
}

// withoutCard is what the profiles that need no card would do on this host, and what a card would.
func withoutCard(in rules.Input, m *matrix.Index) ([]Hint, error) {
	inbox, err := whatIf(in, m, "inbox", "the distribution's RDMA stack, ready for a card")
	if err != nil {
		return nil, err
	}
	soft, err := whatIf(in, m, "soft", "an RDMA device in software over an Ethernet interface, to develop and test with")
	if err != nil {
		return nil, err
	}
	hints := slices.Concat(inbox, soft)
	const example = "connectx-6-dx"
	stated, err := Make(in.Facts, in.Profile, m, Request{Cards: []string{example}, Kernel: in.Kernel})
	if err != nil || stated.Verdict == Refuse {
		return hints, err
	}
	return append(hints, Hint{"rdmactl plan --card " + example, "states a card that is not seen yet, by its generation: " + stated.Summary}), nil
}

// whatIf plans the host for another embedded profile. One that would be refused as well is no way out.
func whatIf(in rules.Input, m *matrix.Index, name, what string) ([]Hint, error) {
	profile, err := profiles.Load(name)
	if err != nil {
		return nil, err
	}
	p, err := Make(in.Facts, profile, m, Request{Kernel: in.Kernel})
	if err != nil || p.Verdict == Refuse {
		return nil, err
	}
	return []Hint{{"rdmactl plan --profile " + name, what + ": " + p.Summary}}, nil
}
