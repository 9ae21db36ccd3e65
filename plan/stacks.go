package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/plan/rules"
)

// Codes that come from the choice itself.
const (
	InboxServes       rules.Code = "inbox-serves"
	NotInMatrix       rules.Code = "not-in-matrix"
	VersionNotOffered rules.Code = "version-not-offered"
	MethodNotOffered  rules.Code = "method-not-offered"
	ProfileAsks       rules.Code = "profile-asks"
)

// stackOffer is one of the five stacks with the release that it would be.
type stackOffer struct {
	offer
	stack Stack
}

// judgeStacks gives each of the five a verdict.
func judgeStacks(in rules.Input, inbox []rules.Finding, req Request) []stackOffer {
	versions := rules.StackVersions(in)
	var out []stackOffer
	for _, name := range StackNames() {
		s := Stack{Stack: name, Installed: versions[name], Status: Unknown, Verdict: StackRefused, Reasons: []Reason{}}
		if name == "inbox" {
			out = append(out, judgeInbox(in, s, inbox))
			continue
		}
		out = append(out, judgeVendor(in, s, req))
	}
	return out
}

func judgeInbox(in rules.Input, s Stack, inbox []rules.Finding) stackOffer {
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
	if s.Verdict != StackPossible {
		return stackOffer{stack: s}
	}
	s.Method, s.Modules = "packages", rules.ModulesInbox
	s.Reasons = append(s.Reasons, inboxServes(in))
	o := stackOffer{stack: s}
	if rules.Leaves(in) && !in.Named { // no fallback takes a vendor's stack away
		o.onlyNamed = true
		o.stack.Reasons = nil
		for _, f := range rules.InTheWay(in) {
			f.Text += "; a plan that names inbox takes it away (--profile inbox, `rdmactl uninstall`)"
			o.stack.Reasons = append(o.stack.Reasons, reason(f))
		}
	}
	return o
}

func judgeVendor(in rules.Input, s Stack, req Request) stackOffer {
	mine := req
	if req.Stack != "" && req.Stack != s.Stack {
		mine.Version, mine.Stack = "", "" // the version that was asked for is of another stack
	}
	if never := hopeless(in); len(never) > 0 {
		s.Status = Unsupported
		for _, f := range never {
			s.Reasons = append(s.Reasons, reason(f))
		}
		return stackOffer{stack: s}
	}
	if b := in.Profile.Build; b != nil && s.Stack == "rdma-core" && mine.Version == "" && b.Version != "newest" {
		mine.Version = b.Version
	}
	in.Version = mine.Version
	all := rules.Candidates(in, s.Stack)
	if len(all) == 0 {
		s.Reasons = append(s.Reasons, Reason{Code: string(NotInMatrix), Text: "the matrix has no release of " + s.Stack, Source: "the compatibility matrix"})
		return stackOffer{stack: s}
	}
	o := stackOffer{offer: pick(in, all, mine), stack: s}
	if s.Installed != "" {
		have := rules.ReleaseOnHost(in, s.Stack)
		if i := slices.IndexFunc(all, func(c rules.Candidate) bool { return have != nil && c.Release == have }); i >= 0 {
			o.installed = &all[i]
		}
	}
	o.keepInstalled(in, mine)
	if o.best == nil {
		if o.excluded {
			o.stack.Status = Unsupported
		}
		o.stack.Reasons = o.reasons
		return o
	}
	o.notes = append(o.notes, notLongTerm(in, o.best)...)
	o.stack.describe(o.best)
	o.stack.Verdict = StackPossible
	o.stack.Reasons = o.reasons
	return o
}

// hopeless are the refusals that no other request would help against. A driver container is the one thing
// that is meant to be run inside a container.
func hopeless(in rules.Input) []rules.Finding {
	return slices.DeleteFunc(rules.Refusals(rules.Judge(in, rules.Anything)), func(f rules.Finding) bool {
		return f.Code == rules.Container && in.Method == rules.InContainer
	})
}

// describe fills in what is known of the release.
func (s *Stack) describe(c *rules.Candidate) {
	s.Version, s.Branch, s.Released = c.Release.Version, c.Release.Branch, c.Release.Date
	s.LongTerm = c.Branch != nil && c.Branch.LTS
	s.SupportEnd, s.SupportBasis = supportEnd(c)
	s.Status, s.Method, s.Modules = c.Status, c.Method, c.Modules
}

// keepInstalled leaves a host on the release that it has, when nothing excludes it: for a stack that the user
// named, and else when it is of the branch that would be chosen, or of one that may be where nothing documented
// can be. A newer release alone is no reason to change a working host. What concerns several stacks is for
// stay to say.
func (o *stackOffer) keepInstalled(in rules.Input, req Request) {
	have := o.installed
	if have == nil || req.Upgrade || len(have.Refusals) > 0 || (o.best != nil && have.Release == o.best.Release && !o.onlyNamed) ||
		len(ofVersion([]*rules.Candidate{have}, orAny(req.Version, have))) == 0 {
		return
	}
	longTerm := in.Profile.Branches == "lts"
	switch {
	case req.Stack != "":
	case o.best != nil && !o.onlyNamed && have.Release.Branch != o.best.Release.Branch:
		return
	case (o.best == nil || o.onlyNamed) && (!slices.Contains(in.Profile.Prefer, o.stack.Stack) || barrier(in, have, longTerm) != ""):
		return
	}
	newer := o.best
	if o.onlyNamed {
		newer = nil // nothing documents it
	}
	o.keep(have)
	if newer != nil && newer.Release != have.Release {
		o.notes = append(o.notes, movesTo(newer))
	}
}

// keep makes the release that is on the host the offer.
func (o *stackOffer) keep(have *rules.Candidate) {
	o.best, o.reasons, o.notes, o.onlyNamed = have, nil, nil, false
	for _, f := range have.Reasons {
		o.reasons = append(o.reasons, reason(f))
	}
	o.reasons = append(o.reasons, Reason{
		Code: string(ReleaseInPlace), Source: sourceOf(have),
		Text: have.Release.Version + " is on this host, and nothing excludes it",
	})
	if !documented(have.Status) {
		o.notes = append(o.notes, notDocumented(have))
	}
}

// movesTo says what a host without the installed release would get.
func movesTo(newer *rules.Candidate) Reason {
	return Reason{
		Code: string(NewerRelease), Source: sourceOf(newer),
		Text: newer.Release.Stack + " " + newer.Release.Version + " would be chosen for a host without it; --upgrade moves to it",
	}
}

// orAny is the version that was asked for; none stands for the one at hand.
func orAny(version string, have *rules.Candidate) string {
	if version == "" || version == "latest" {
		return have.Release.Version
	}
	return version
}

// unknownCombination says what is risked with a release that nothing documents for this host.
func unknownCombination(c *rules.Candidate) Reason {
	return Reason{
		Code: string(rules.UnknownCombination), Source: sourceOf(c),
		Text: "nothing documents " + c.Release.Stack + " " + c.Release.Version + " for this host: its packages may not exist, not build or not load here. " +
			"`rdmactl install` takes it only with --allow-unknown",
	}
}

// replaced names the packages that go.
func replaced(in rules.Input, c *rules.Candidate, steps []Step) []Reason {
	if !slices.ContainsFunc(steps, func(s Step) bool { return s.Kind == KindPackages && s.ID == "packages" || s.Kind == KindVendorScript }) {
		return nil
	}
	var names []string
	for _, p := range slices.Concat(removedWhole(in, c), stackPackages(in, c)) {
		names = append(names, p.Name)
	}
	for _, group := range rdmaGroups(in) {
		names = append(names, "the packages of the group "+group+" ("+groupRemoval(in, group)+")")
	}
	if len(names) == 0 {
		return nil
	}
	if len(names) > 12 {
		names = append(names[:12], fmt.Sprintf("and %d more", len(names)-12))
	}
	return []Reason{{
		Code: string(PackagesReplaced), Source: in.Facts.Packages.Installed.Source,
		Text: "these packages go or are replaced: " + strings.Join(names, ", ") + "; what depends on them is named by --resolve and stops the run unless --allow-remove names it",
	}}
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
	if req.Stack != "" && req.Stack != "inbox" {
		return nil
	}
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
