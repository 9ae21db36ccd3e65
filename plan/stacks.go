package plan

import (
	"slices"

	"github.com/rdmactl/rdmactl/plan/rules"
)

// Codes that come from the choice itself.
const (
	InboxServes       rules.Code = "inbox-serves"
	NotInMatrix       rules.Code = "not-in-matrix"
	VendorNotJudged   rules.Code = "vendor-not-judged"
	VersionNotOffered rules.Code = "version-not-offered"
	MethodNotOffered  rules.Code = "method-not-offered"
)

// judgeStacks gives each of the five a verdict. Only inbox is judged by rules; what is documented of
// the others belongs to the matrix, which Make will get beside the profile. Until then they are
// unknown, and nothing is chosen that is unknown.
func judgeStacks(in rules.Input, inbox []rules.Finding) []Stack {
	versions := rules.StackVersions(in)
	var out []Stack
	for _, name := range StackNames() {
		s := Stack{Stack: name, Installed: versions[name], Status: Unknown, Verdict: StackRefused, Reasons: []Reason{}}
		if name == "inbox" {
			s.Verdict = StackPossible
			if rules.ReleaseKnown(in) {
				s.Status = Present
			}
			for _, f := range rules.Refusals(inbox) {
				s.Verdict = StackRefused
				if slices.Contains(excluding(), f.Code) {
					s.Status = Unsupported
				}
				s.Reasons = append(s.Reasons, reason(f))
			}
			if s.Verdict == StackPossible {
				s.Reasons = append(s.Reasons, inboxServes(in))
			}
		} else {
			s.Reasons = append(s.Reasons, Reason{Code: string(NotInMatrix), Text: "not yet in the matrix: nothing is known of " + name + " on any host", Source: "the compatibility matrix"})
		}
		out = append(out, s)
	}
	return out
}

// excluding are the reasons that make a combination unsupported; others can be put right, or say
// that nothing is known.
func excluding() []rules.Code {
	return []rules.Code{rules.NotLinux, rules.KernelTooOld, rules.ModuleMissing, rules.Container, VersionNotOffered, MethodNotOffered}
}

func inboxServes(in rules.Input) Reason {
	d := in.Facts.Distro
	return Reason{
		Code: string(InboxServes), Source: d.ID.Source,
		Text: "the kernel modules and packages of " + d.PrettyName.Or(d.ID.Or("the distribution")) + " itself",
	}
}

// notOffered are the parts of a request that the stack inbox cannot meet.
func notOffered(req Request) []rules.Finding {
	var found []rules.Finding
	if req.Version != "" && req.Version != "latest" {
		found = append(found, rules.Finding{
			Code: VersionNotOffered, Effect: rules.Refuse, Source: "--version",
			Text: "inbox has the version that the distribution ships; " + req.Version + " cannot be asked for",
		})
	}
	if req.Method != "" && req.Method != "packages" {
		found = append(found, rules.Finding{
			Code: MethodNotOffered, Effect: rules.Refuse, Source: "the evidence's request",
			Text: "inbox is installed by the package manager; the method " + req.Method + " does not exist for it",
		})
	}
	return found
}
