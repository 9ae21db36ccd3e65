package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan/rules"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// Make plans how the host of f comes to serve p, by what m knows. An error is a faulty request; a host
// that cannot be served is a Plan with the verdict Refuse.
func Make(f facts.Facts, p profiles.Profile, m *matrix.Index, req Request) (Plan, error) {
	if err := check(p, req); err != nil {
		return Plan{}, err
	}
	mode := activationMode(req)
	f, held := withoutOwn(f, req.Own)
	in := rules.NewInput(f, p, rules.Asked{
		Named:  req.Stack != "" || len(p.Prefer) == 1,
		Cards:  stated(req),
		Kernel: req.Kernel,
		Netdev: req.Netdev,
		Matrix: m, Day: day(f, req), Method: req.Method, Version: req.Version, Aside: req.Aside || mode == ActivateNone && req.Root == "",
	})
	if rules.ModulesLocked(in) {
		var err error
		if mode, err = withoutModules(mode); err != nil {
			return Plan{}, err
		}
		req.Activate = mode
	}
	out := Plan{
		Schema: Schema, Profile: p.Name, ProfileFrom: req.ProfileFrom, Cards: stated(req),
		Steps: []Step{}, Reasons: []Reason{}, Warnings: []Reason{}, Next: []Hint{},
	}
	if mode == ActivateAuto && rules.AwaitsBoot(in) {
		mode = ActivateReboot // what is in memory is another stack's
	}
	request := rules.Judge(in, rules.Request)
	inbox := rules.Judge(in, rules.Inbox)
	inbox = append(inbox, notOffered(req)...)
	offers := judgeStacks(in, inbox, req)
	for _, o := range offers {
		out.Stacks = append(out.Stacks, o.stack)
	}

	wanted := p.Prefer
	if req.Stack != "" {
		wanted = []string{req.Stack}
	}
	choice := choose(in, offers, req)
	chosen, passed := choice.at, choice.passed
	for i, o := range offers {
		out.Stacks[i] = o.stack // the one that stays is another than it would be
	}
	refusals := slices.DeleteFunc(rules.Refusals(request), func(f rules.Finding) bool {
		return f.Code == rules.Container && in.Method == rules.InContainer
	})
	if len(refusals) > 0 || chosen < 0 {
		out = refused(out, refusals, choice.refusal, wanted)
		// What is wrong with the host itself is said whatever the answer is.
		for _, w := range rules.Warnings(request) {
			if w.Code == rules.UserSpaceMixed {
				out.Warnings = append(out.Warnings, reason(w))
			}
		}
		if req.quiet {
			return out, nil
		}
		var err error
		out.Next, err = afterRefusal(in, m, out, req)
		return out, err
	}

	stack, best := &out.Stacks[chosen], offers[chosen].best
	if err := fromElsewhere(in, best, req); err != nil {
		return Plan{}, err
	}
	stack.Verdict = StackChosen
	if stack.Stack == "rdma-core" {
		var err error
		if in.Profile, err = withBuild(p); err != nil {
			return Plan{}, err
		}
	}
	out.Chosen = &Choice{Stack: stack.Stack, Version: stack.Version, Method: stack.Method, Modules: stack.Modules, Status: stack.Status}
	out.Reasons = append(out.Reasons, why(in, offers, chosen, passed)...)
	out.Reasons = append(out.Reasons, choice.excluded(in, offers)...)
	found := rules.Warnings(request)
	gone := ""
	switch {
	case best == nil && rules.Leaves(in):
		act := activate(in).asAsked(mode)
		if err := liveRefused(mode, act); err != nil {
			return Plan{}, err
		}
		gone = leaves(in)
		out.Steps = awaySteps(in, act, mode)
		out.Reboot = needsReboot(out.Steps)
		found = append(found, rules.Warnings(inbox)...)
		if out.Reboot {
			out.Warnings = append(out.Warnings, act.reasons...)
		}
		out.Warnings = append(out.Warnings, gives(in, out.Steps)...)
	case best == nil:
		out.Steps = steps(in, mode)
		out.Reboot = needsReboot(out.Steps) || len(out.Steps) > 0 && !in.Running() && in.Facts.Origin != "root" && mode != ActivateNone
		found = append(found, rules.Warnings(inbox)...)
	default:
		act := activate(in).asAsked(mode)
		if err := liveRefused(mode, act); err != nil {
			return Plan{}, err
		}
		out.Steps = vendorSteps(in, best, act, req)
		out.Reboot = needsReboot(out.Steps)
		found = append(found, best.Warnings...)
		if out.Reboot {
			out.Warnings = append(out.Warnings, act.reasons...)
		}
		out.Warnings = append(out.Warnings, replaced(in, best, out.Steps)...)
		out.Warnings = append(out.Warnings, vendorScriptWarned(best, out.Steps)...)
		out.Warnings = append(out.Warnings, builtNotActive(in, best)...)
		out.Warnings = append(out.Warnings, fromSource(in, best, out.Steps)...)
		out.Warnings = append(out.Warnings, signedInImage(in, best, out.Steps)...)
	}
	out.Steps = toolsAway(holdSteps(in, best, out.Steps, req, held), req)
	burns, err := checkFirmware(in, best, out.Steps, req)
	if err != nil {
		return Plan{}, err
	}
	out.Warnings = append(out.Warnings, burns...)
	out.Warnings = append(out.Warnings, notHeld(best, req)...)
	found = append(found, notes(in, out.Steps)...)
	for _, w := range found {
		out.Warnings = append(out.Warnings, reason(w))
	}
	out.Warnings = append(out.Warnings, offers[chosen].notes...)
	if stack.Status == Unknown && best != nil && !inPlace(in, best) {
		out.Warnings = append(out.Warnings, unknownCombination(best))
	}
	for _, ask := range p.Asks {
		out.Warnings = append(out.Warnings, Reason{Code: string(ProfileAsks), Text: ask.Text, Source: "profile " + p.Name})
	}
	out.Manager = in.Facts.Packages.Manager.Or("")
	out.Verdict = Install
	if len(out.Steps) == 0 {
		out.Verdict = NothingToDo
	}
	if why := ByHand(out); why != "" {
		out.Warnings = append(out.Warnings, Reason{Code: string(NotInstallable), Text: why + "; the steps are for you to carry out", Source: "rdmactl"})
	}
	out.Summary = summary(in, out, passed) + choice.goesBack(out, offers)
	if gone != "" {
		out.Summary += "; takes " + gone + " away"
	}
	out.Next = afterPlan(in, out, req)
	out.Next = append(out.Next, holdHint(in, best, out, req)...)
	return out, nil
}

// day is the day that support is judged for.
func day(f facts.Facts, req Request) string {
	if req.Date != "" {
		return req.Date
	}
	if at := f.RecordedAt.Or(""); len(at) >= len(time.DateOnly) {
		return at[:len(time.DateOnly)]
	}
	return ""
}

// check refuses requests that no host could make right.
func check(p profiles.Profile, req Request) error {
	if req.Stack != "" && !slices.Contains(StackNames(), req.Stack) {
		return fault.New(fault.Usage, "unknown-stack", "stacks are "+strings.Join(StackNames(), ", "),
			"cannot plan for stack %q: there is none of this name", req.Stack)
	}
	for _, card := range stated(req) {
		if !slices.Contains(rules.Generations(), card) {
			return fault.New(fault.Usage, "unknown-card", "cards are "+strings.Join(rules.Generations(), ", "),
				"cannot plan for card %q: there is no such generation", card)
		}
	}
	if req.Kernel != "" && !facts.IsKernelRelease(req.Kernel) {
		return fault.New(fault.Usage, "bad-kernel", "name a kernel as `uname -r` or /lib/modules does", "cannot plan for kernel %q: it is not the release of a kernel", req.Kernel)
	}
	if err := checkActivation(req); err != nil {
		return err
	}
	if req.Date != "" {
		if _, err := time.Parse(time.DateOnly, req.Date); err != nil {
			return fault.New(fault.Usage, "bad-date", "write the day as YYYY-MM-DD", "cannot plan for the day %q: it is not a day", req.Date)
		}
	}
	if p.SoftRoCE != nil && req.Stack != "" && req.Stack != "inbox" {
		return fault.New(fault.Usage, "soft-on-inbox", "leave --stack away, or name another profile",
			"cannot plan profile %s on stack %s: Soft-RoCE is a module of the distribution's own kernel", p.Name, req.Stack)
	}
	if req.Netdev != "" {
		if err := profiles.CheckNetdev(req.Netdev); err != nil {
			return fault.New(fault.Usage, "bad-netdev", "name an interface that `ip link` shows", "cannot plan for --netdev: %w", err)
		}
		if p.SoftRoCE == nil {
			return fault.New(fault.Usage, "bad-netdev", "use it with --profile soft",
				"cannot plan for --netdev %s: profile %s makes no Soft-RoCE device", req.Netdev, p.Name)
		}
	}
	for _, name := range p.Prefer {
		if !slices.Contains(StackNames(), name) {
			return fault.New(fault.Usage, "unknown-stack", "stacks are "+strings.Join(StackNames(), ", "),
				"cannot plan for profile %s: it prefers %q", p.Name, name)
		}
	}
	if len(p.Prefer) == 0 {
		return fault.New(fault.Usage, "unknown-stack", "give the profile a stack under prefer", "cannot plan for profile %s: it prefers no stack", p.Name)
	}
	return nil
}

// stated are the generations of --card, lower case, sorted and each once.
func stated(req Request) []string {
	var out []string
	for _, one := range req.Cards {
		out = append(out, strings.ToLower(strings.TrimSpace(one)))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// refused finishes a plan that installs nothing.
func refused(out Plan, request []rules.Finding, because *Reason, wanted []string) Plan {
	out.Verdict = Refuse
	for _, f := range request {
		out.Reasons = append(out.Reasons, reason(f))
		for _, line := range f.Looked {
			if !slices.Contains(out.Looked, line) {
				out.Looked = append(out.Looked, line)
			}
		}
	}
	if because != nil {
		out.Reasons = append(out.Reasons, *because)
	}
	if len(out.Reasons) > 0 {
		wanted = nil // the stacks say themselves what else there is
	}
	var unknown []Reason
	// The last resort first: it is refused for what is wrong with the host, those before it mostly for
	// what nobody documents.
	for _, name := range slices.Backward(wanted) {
		for _, s := range out.Stacks {
			if s.Stack != name {
				continue
			}
			// Where some release is only undocumented, what excludes others does not decide.
			if i := slices.IndexFunc(s.Reasons, func(r Reason) bool { return r.Code == string(NotInMatrix) || r.Code == string(NothingDocumented) }); i >= 0 {
				unknown = append(unknown, s.Reasons[i])
				continue
			}
			out.Reasons = append(out.Reasons, s.Reasons...)
		}
	}
	// What excludes a stack, or the request, says more than that others are not known.
	out.Reasons = append(out.Reasons, unknown...)
	if len(out.Reasons) == 0 { // each refusal has a reason; a table that lacks it must not end the program
		out.Reasons = append(out.Reasons, Reason{
			Code: string(rules.UnknownCombination), Source: "the compatibility matrix",
			Text: "no release of " + strings.Join(wanted, " or ") + " can be chosen, and no rule or row tells why",
		})
	}
	out.Summary = "refused: " + out.Reasons[0].Text
	return out
}

// why says why the chosen stack is the answer, and in a few words why those before it are not.
func why(in rules.Input, offers []stackOffer, chosen int, passed []string) []Reason {
	var out []Reason
	for _, r := range offers[chosen].stack.Reasons {
		r.Text = offers[chosen].stack.Stack + ": " + r.Text
		out = append(out, r)
	}
	for _, name := range passed {
		i := slices.IndexFunc(offers, func(o stackOffer) bool { return o.stack.Stack == name })
		if len(offers[i].stack.Reasons) > 0 {
			r := offers[i].stack.Reasons[0]
			r.Text = "not " + name + ": " + r.Text
			out = append(out, r)
		}
	}
	return out
}

func summary(in rules.Input, out Plan, passed []string) string {
	head := "profile " + in.Profile.Name
	switch {
	case len(passed) > 0:
		how := "can be chosen"
		if slices.ContainsFunc(out.Stacks, func(s Stack) bool { return s.Verdict == StackPossible && slices.Contains(passed, s.Stack) }) {
			how = "is chosen by itself" // it can be named
		}
		head += " is " + release(out.Chosen) + " on this host (no release of " + strings.Join(passed, " or ") + " " + how + ")"
	case out.Chosen.Stack == in.Profile.Name:
		head += " on stack " + out.Chosen.Stack
	default:
		head += " on stack " + release(out.Chosen)
	}
	if out.Verdict == NothingToDo {
		return "nothing to do: " + head + " is in place"
	}
	var packages, files int
	for _, s := range out.Steps {
		packages += len(s.Changes.Packages)
		files += len(s.Changes.Files)
	}
	return fmt.Sprintf("%s: %s (%s, %s)", head, plural(len(out.Steps), "step"), plural(packages, "package"), plural(files, "file"))
}

// release is the chosen stack with its version, where it has one of its own.
func release(c *Choice) string {
	if c.Stack == "inbox" || c.Version == "" {
		return c.Stack
	}
	return c.Stack + " " + c.Version
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func reason(f rules.Finding) Reason {
	return Reason{Code: string(f.Code), Text: f.Text, Source: f.Source}
}
