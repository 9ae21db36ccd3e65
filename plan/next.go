package plan

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/plan/rules"
	"github.com/rdmactl/rdmactl/profiles"
)

// afterPlan is what to type when the plan can be carried out.
func afterPlan(in rules.Input, p Plan, req Request) []Hint {
	if p.Verdict == NothingToDo {
		if !in.Running() {
			return []Hint{}
		}
		return []Hint{{Command: "rdmactl verify", Text: "sends and compares real data through each active port"}}
	}
	command := "sudo rdmactl install --profile " + p.Profile
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

// afterRefusal is what would help, by the first reason. What cannot be typed is in the registry of
// codes.
func afterRefusal(in rules.Input, p Plan) []Hint {
	first := rules.Code(p.Reasons[0].Code)
	inbox := Hint{"rdmactl plan --profile inbox", "the distribution's RDMA stack without a card: packages, modules and limits, ready for one"}
	soft := Hint{"rdmactl plan --profile soft", "Soft-RoCE: an RDMA device in software over an Ethernet interface, to develop and test with"}
	card := Hint{"rdmactl plan --card connectx-6-dx", "plans for a card that is not seen yet (state its generation)"}
	switch first {
	case rules.NoRDMAHardware:
		return []Hint{inbox, soft, card}
	case rules.HardwareUnknown:
		return []Hint{{"rdmactl detect --save host.yaml", "on the host itself, or add the output of `lspci -nn` to the evidence"}, card}
	case rules.ForeignHardware:
		return []Hint{{inbox.Command, "the distribution's own stack, which has drivers for this card where its kernel has them"}}
	case rules.BrokenPackages:
		return []Hint{
			{"sudo dpkg --configure -a", "finishes what was interrupted"},
			{"sudo apt-get -f install", "repairs dependencies if that was not enough"},
		}
	case rules.PackageHeld:
		return []Hint{{"apt-mark showhold", "lists the holds; `apt-mark unhold NAME` lifts one"}}
	case rules.ModuleMissing:
		if flavour, ok := strings.CutPrefix(in.Facts.Kernel.Flavour.Or(""), "cloud-"); ok && in.Facts.Distro.ID.Or("") == "debian" {
			if name := "linux-image-" + flavour; profiles.CheckPackage(name) == nil {
				return []Hint{{"sudo apt-get install " + name, "the kernel with all RDMA modules; boot it, then plan again"}}
			}
		}
	case rules.SoftRoCEConflict, rules.NoNetdev:
		return []Hint{{"rdmactl plan --profile " + p.Profile + " --netdev NAME", "names the interface; `ip -br link` and `rdma link` show what there is"}}
	case NotInMatrix:
		if slices.ContainsFunc(p.Stacks, func(s Stack) bool { return s.Stack == "inbox" && s.Verdict == StackPossible }) {
			return []Hint{{inbox.Command, "the stack that can be judged on this host"}}
		}
	}
	return []Hint{{"rdmactl explain " + string(first), "says what this means and what to do"}}
}
