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
)

// Make plans how the host of f comes to serve p. An error is a faulty request; a host that cannot be
// served is a Plan with the verdict Refuse.
func Make(f facts.Facts, p profiles.Profile, req Request) (Plan, error) {
	if err := check(p, req); err != nil {
		return Plan{}, err
	}
	in := rules.NewInput(f, p, rules.Asked{
		Named:  req.Stack != "" || len(p.Prefer) == 1,
		Cards:  stated(req),
		Kernel: req.Kernel,
		Netdev: req.Netdev,
	})
	out := Plan{
		Schema: Schema, Profile: p.Name, Cards: stated(req),
		Steps: []Step{}, Reasons: []Reason{}, Warnings: []Reason{}, Next: []Hint{},
	}
	request := rules.Judge(in, rules.Request)
	inbox := rules.Judge(in, rules.Inbox)
	inbox = append(inbox, notOffered(req)...)
	out.Stacks = judgeStacks(in, inbox)

	var passed []string
	chosen := -1
	wanted := p.Prefer
	if req.Stack != "" {
		wanted = []string{req.Stack}
	}
	for _, name := range wanted {
		i := slices.IndexFunc(out.Stacks, func(s Stack) bool { return s.Stack == name })
		if out.Stacks[i].Verdict == StackPossible {
			chosen = i
			break
		}
		passed = append(passed, name)
	}
	refusals := rules.Refusals(request)
	if len(refusals) > 0 || chosen < 0 {
		out = refused(out, refusals, wanted)
		var err error
		out.Next, err = afterRefusal(in, out, req)
		return out, err
	}

	stack := &out.Stacks[chosen]
	stack.Verdict = StackChosen
	out.Chosen = &Choice{Stack: stack.Stack, Version: stack.Version, Method: "packages", Modules: "inbox", Status: stack.Status}
	out.Steps = steps(in)
	out.Reboot = len(out.Steps) > 0 && !in.Running() && in.Facts.Origin != "root"
	out.Reasons = append(out.Reasons, why(in, passed)...)
	found := append(rules.Warnings(request), rules.Warnings(inbox)...)
	found = append(found, notes(in, out.Steps)...)
	for _, w := range found {
		out.Warnings = append(out.Warnings, reason(w))
	}
	if len(passed) > 0 {
		out.Warnings = append(out.Warnings, Reason{
			Code: string(VendorNotJudged), Source: "profile " + p.Name,
			Text: strings.Join(passed, ", ") + " cannot be judged: not yet in the matrix; inbox is the answer until it is",
		})
	}
	out.Verdict = Install
	if len(out.Steps) == 0 {
		out.Verdict = NothingToDo
	}
	out.Summary = summary(in, out, passed)
	out.Next = afterPlan(in, out, req)
	return out, nil
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
	if req.Date != "" {
		if _, err := time.Parse(time.DateOnly, req.Date); err != nil {
			return fault.New(fault.Usage, "bad-date", "write the day as YYYY-MM-DD", "cannot plan for the day %q: it is not a day", req.Date)
		}
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
func refused(out Plan, request []rules.Finding, wanted []string) Plan {
	out.Verdict = Refuse
	for _, f := range request {
		out.Reasons = append(out.Reasons, reason(f))
		for _, line := range f.Looked {
			if !slices.Contains(out.Looked, line) {
				out.Looked = append(out.Looked, line)
			}
		}
	}
	if len(out.Reasons) > 0 {
		wanted = nil // the stacks say themselves what else there is
	}
	var unknown []Reason
	for _, name := range wanted {
		for _, s := range out.Stacks {
			if s.Stack != name || s.Verdict != StackRefused {
				continue
			}
			for _, r := range s.Reasons {
				if r.Code == string(NotInMatrix) {
					unknown = append(unknown, r)
				} else {
					out.Reasons = append(out.Reasons, r)
				}
			}
		}
	}
	// What excludes a stack, or the request, says more than that others are not known.
	if len(out.Reasons) == 0 {
		out.Reasons = append(out.Reasons, unknown...)
	}
	out.Summary = "refused: " + out.Reasons[0].Text
	return out
}

// why says why the chosen stack is the answer.
func why(in rules.Input, passed []string) []Reason {
	r := inboxServes(in)
	r.Text = "inbox: " + r.Text
	if len(passed) > 0 {
		r.Text += ", the first stack of profile " + in.Profile.Name + " that can be judged"
	}
	return []Reason{r}
}

func summary(in rules.Input, out Plan, passed []string) string {
	head := "profile " + in.Profile.Name
	if len(passed) > 0 {
		head += " is inbox on this host (" + strings.Join(passed, " and ") + " not yet in the matrix)"
	} else {
		head += " on stack " + out.Chosen.Stack
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

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func reason(f rules.Finding) Reason {
	return Reason{Code: string(f.Code), Text: f.Text, Source: f.Source}
}
