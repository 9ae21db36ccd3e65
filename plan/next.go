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
	var words []string
	add := func(flag, value string) {
		if value != "" {
			words = append(words, flag, quoted(value))
		}
	}
	back := "`rdmactl rollback`"
	image := imageOf(in, req)
	if image != "" {
		add("--root", image)
		add("--kernel", req.Kernel)
		back = "`rdmactl rollback --root " + quoted(image) + "`"
	}
	add("--profile", profileWord(p, req))
	add("--stack", req.Stack)
	add("--version", req.Version)
	if p.Chosen.Method == rules.ByVendorScript || p.Chosen.Method == rules.BySourcePackage {
		add("--method", req.Method)
	}
	add("--card", strings.Join(p.Cards, ","))
	add("--netdev", req.Netdev)
	if req.Upgrade {
		words = append(words, "--upgrade")
	}
	if req.Firmware {
		words = append(words, "--firmware")
	}
	if req.Hold {
		words = append(words, "--hold")
	}
	if req.RemoveBuildDeps {
		words = append(words, "--remove-build-deps")
	}
	if image == "" { // an image is never activated, but by its boot
		add("--activate", req.Activate)
	} else if req.Aside {
		add("--activate", ActivateNone)
	}
	add("--source", req.Source)
	if slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Kind == KindBuild && s.Changes.Build.Source == "" }) {
		words = append(words, "--source FILE --sha256 DIGITS") // nothing that rdmactl knows proves upstream's archive
	}
	add("--sha256", req.SHA256)
	add("--signature", req.Signature)
	for _, file := range req.Keys {
		add("--key", file)
	}
	for _, file := range req.Matrix {
		add("--matrix", file)
	}
	arguments := strings.Join(words, " ")
	if ByHand(p) != "" {
		return []Hint{{Command: "rdmactl plan " + arguments + " -o json", Text: "the same steps for a script: this version does not carry them out itself"}}
	}
	if p.Chosen.Status == Unknown && p.Chosen.Stack != "inbox" {
		arguments += " --allow-unknown"
	}
	arguments += scriptWords(p)
	return []Hint{{Command: "sudo rdmactl install " + arguments, Text: "carries out these steps, each journalled; " + back + " takes them back"}}
}

// NotInstallable says that this version plans what it cannot carry out.
const NotInstallable rules.Code = "not-installable"

// ByHand says why this version does not carry out a plan that it can make, empty when it does.
func ByHand(p Plan) string {
	switch {
	case p.Verdict != Install || p.Chosen == nil:
		return ""
	case slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Kind == KindVendorScript }) && slices.Contains([]string{"apt", "dnf", "yum", "zypper", ""}, p.Manager):
		return ""
	case (p.Chosen.Method == rules.ByVendorScript || p.Chosen.Modules == rules.ModulesBuilt) && slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Kind == KindBuild || s.Kind == KindPackages }):
		return "this version of rdmactl plans " + release(p.Chosen) + " by the vendor's own scripts and does not run them yet"
	case p.Chosen.Method == rules.BySourcePackage && p.Manager != "apt" && p.Manager != "":
		return "this version of rdmactl builds packages from a source tree on hosts with apt alone, and this host has " + p.Manager +
			"; without --method it builds the same source into a directory of its own, which changes no package"
	case p.Manager != "apt" && p.Manager != "" && slices.ContainsFunc(p.Steps, func(s Step) bool { return s.ID == RemovalStep }):
		return "this version of rdmactl removes the old release in a transaction of its own with apt alone, which can be asked beforehand what the host without it would get"
	case slices.ContainsFunc(p.Steps, func(s Step) bool { return s.ID == RemovalStep && len(s.Changes.Packages) == 0 }):
		return "nothing tells which packages the old release has, so rdmactl cannot remove it"
	case p.Manager == "yum" && slices.ContainsFunc(p.Steps, restores):
		return "yum 3 does not replace packages by older ones and remove others in one transaction"
	case !slices.Contains([]string{"apt", "dnf", "yum", "zypper"}, p.Manager) && p.Manager != "" && slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Kind == KindPackages }):
		return "this version of rdmactl installs packages with apt, dnf, yum or zypper, and this host has " + p.Manager
	}
	return ""
}

// restores says that a step gives packages back to the distribution.
func restores(s Step) bool {
	return slices.ContainsFunc(s.Changes.Packages, func(c PackageChange) bool { return c.Action == "restore" })
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./+,:@%-]+$`)

// profileWord is the profile as it was asked for, which may be a file.
func profileWord(p Plan, req Request) string {
	if req.Profile == "" {
		return p.Profile
	}
	return req.Profile
}

// quoted is a word in a shell's quotes where it needs some.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// afterRefusal is what would help, by the first reason, and else what the registry of codes says.
func afterRefusal(in rules.Input, m *matrix.Index, p Plan, req Request) ([]Hint, error) {
	hints, err := waysOut(in, m, p, req)
	if err != nil {
		return nil, err
	}
	if len(hints) == 0 {
		hints = []Hint{explained(p.Reasons[0].Code)}
	}
	if image := imageOf(in, req); image != "" {
		hints = inImage(hints, image, req.Kernel)
	}
	return hints, nil
}

// imageOf is the directory of the image that is planned for, empty for a host. Of one in evidence it is not told where
// it is unpacked.
func imageOf(in rules.Input, req Request) string {
	if req.Root == "" && in.Facts.Origin == "root" {
		return "DIR"
	}
	return req.Root
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
	case rules.ForeignStack:
		return staying(in, m, p, req)
	case UnknownInstalledRelease:
		return []Hint{
			{"rdmactl matrix import REPOSITORY-OR-BUNDLE", "reads the repository or bundle that the release came from, for --matrix"},
			explained(p.Reasons[0].Code),
		}, nil
	case rules.BrokenPackages:
		return []Hint{
			{"sudo dpkg --configure -a", "finishes what was interrupted"},
			{"sudo apt-get -f install", "repairs dependencies if that was not enough"},
		}, nil
	case rules.PackageHeld:
		return []Hint{showHolds(in)}, nil
	case rules.UnknownCombination:
		// What nobody looked at is planned when it is asked for by name.
		hints, err := whatIf(in, m, "inbox", "the distribution's own stack, with package names of its family that nobody compared with this release's")
		return append(hints, explained(p.Reasons[0].Code)), err
	case rules.ModuleMissing:
		if flavour, ok := strings.CutPrefix(in.Facts.Kernel.Flavour.Or(""), "cloud-"); ok && in.Facts.Distro.ID.Or("") == "debian" {
			if name := "linux-image-" + flavour; profiles.CheckPackage(name) == nil {
				return []Hint{{"sudo apt-get install " + name, "the kernel with all RDMA modules; boot it, then plan again"}}, nil
			}
		}
	case rules.SoftRoCEConflict, rules.NoNetdev:
		return []Hint{{"rdmactl plan --profile " + quoted(profileWord(p, req)) + " --netdev NAME", "names the interface; `ip -br link` and `rdma link` show what there is"}}, nil
	}
	if p.Reasons[0].Code != string(rules.Container) && req.Stack != "" && req.Stack != "inbox" {
		if slices.ContainsFunc(p.Stacks, func(s Stack) bool { return s.Stack == "inbox" && s.Verdict == StackPossible }) {
			return whatIf(in, m, "inbox", "the distribution's own stack, which serves this host")
		}
	}
	return nil, nil
}

// showHolds lists what the administrator holds.
func showHolds(in rules.Input) Hint {
	switch in.Facts.Distro.Family.Or("") {
	case "rhel":
		return Hint{"dnf versionlock list", "lists the locks; `dnf versionlock delete NAME` lifts one, and exclude= of dnf.conf is edited by hand"}
	case "suse":
		return Hint{"zypper locks", "lists the locks; `zypper removelock NAME` lifts one"}
	}
	return Hint{"apt-mark showhold", "lists the holds; `apt-mark unhold NAME` lifts one"}
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
	stated, err := Make(in.Facts, in.Profile, m, Request{Cards: []string{example}, Kernel: in.Kernel, Date: in.Day, quiet: true})
	if err != nil || stated.Verdict == Refuse {
		return hints, err
	}
	return append(hints, Hint{"rdmactl plan --card " + example, "states a card that is not seen yet, by its generation: " + stated.Summary}), nil
}

// staying is the way for a host that has a vendor's stack: to keep it, or move to a newer release of it.
func staying(in rules.Input, m *matrix.Index, p Plan, req Request) ([]Hint, error) {
	var hints []Hint
	profile, err := profiles.Load("lts") // what a plan answers for when no profile is named
	if err != nil {
		return nil, err
	}
	for _, s := range p.Stacks {
		if s.Installed == "" || s.Stack == "inbox" || req.Stack == s.Stack {
			continue
		}
		for _, upgrade := range []bool{false, true} {
			kept, err := Make(in.Facts, profile, m, Request{Stack: s.Stack, Kernel: in.Kernel, Date: in.Day, Upgrade: upgrade, quiet: true})
			if err != nil {
				return nil, err
			}
			if kept.Verdict == Refuse || (upgrade && kept.Verdict == NothingToDo) {
				continue
			}
			command := "rdmactl plan --stack " + s.Stack
			if upgrade {
				command += " --upgrade"
			}
			hint := Hint{command, "the stack that is on this host: " + kept.Summary}
			if len(hints) == 0 || hints[len(hints)-1].Text != hint.Text {
				hints = append(hints, hint)
			}
		}
	}
	if entry, ok := facts.LookupCode(string(rules.ForeignStack)); ok {
		hints = append(hints, Hint{"rdmactl explain " + string(rules.ForeignStack), "for inbox instead: " + entry.Remedy})
	}
	return hints, nil
}

// whatIf plans the host for another embedded profile. One that would be refused as well is no way out.
func whatIf(in rules.Input, m *matrix.Index, name, what string) ([]Hint, error) {
	profile, err := profiles.Load(name)
	if err != nil {
		return nil, err
	}
	p, err := Make(in.Facts, profile, m, Request{Kernel: in.Kernel, Date: in.Day, quiet: true})
	if err != nil || p.Verdict == Refuse {
		return nil, err
	}
	return []Hint{{"rdmactl plan --profile " + name, what + ": " + p.Summary}}, nil
}
