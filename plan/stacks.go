package plan

import (
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
				if f.Code != rules.UnknownCombination && f.Code != rules.DistroUnknown && f.Code != rules.UnsupportedDistro {
					s.Status = Unsupported
				}
				s.Reasons = append(s.Reasons, reason(f))
			}
		} else {
			s.Reasons = append(s.Reasons, Reason{Code: string(NotInMatrix), Text: "not yet in the matrix: nothing is known of " + name + " on any host", Source: "profiles"})
		}
		out = append(out, s)
	}
	return out
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
			Code: MethodNotOffered, Effect: rules.Refuse, Source: "request",
			Text: "inbox is installed by the package manager; the method " + req.Method + " does not exist for it",
		})
	}
	return found
}
