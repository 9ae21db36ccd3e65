package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/version"
	"github.com/rdmactl/rdmactl/plan/rules"
)

// Codes of the choice among the releases of a stack.
const (
	ReleaseChosen      rules.Code = "release-chosen"
	ReleaseInPlace     rules.Code = "release-in-place"
	NewerRelease       rules.Code = "newer-release"
	VersionUnknown     rules.Code = "version-not-known"
	NothingDocumented  rules.Code = "nothing-documented"
	NotLongTerm        rules.Code = "not-long-term"
	NeverChosenRelease rules.Code = "never-chosen"
	NeverReleased      rules.Code = "never-released"
)

// offer is the best that one stack has for this host, and why.
type offer struct {
	// best is nil when no release can be taken.
	best *rules.Candidate
	// reasons say why best was taken, or why none was.
	reasons []Reason
	// notes are worth a warning when the offer is chosen.
	notes []Reason
	// excluded says that every release is excluded by a rule, not merely undocumented.
	excluded bool
	// onlyNamed says that best is taken only when the user names the stack: nothing documents it, or a profile of
	// long-term branches leaves it out.
	onlyNamed bool
	// installed is the release that the host has, nil for none or one that was not judged.
	installed *rules.Candidate
}

// pick chooses among the releases of one stack, newest first. Unknown combinations are taken only when
// the user named the stack; a release that the user named exactly is the only one looked at.
func pick(in rules.Input, all []rules.Candidate, req Request) offer {
	list := make([]*rules.Candidate, len(all))
	for i := range all {
		list[i] = &all[i]
	}
	asked := req.Version != "" && req.Version != "latest"
	if asked {
		named := ofVersion(list, req.Version)
		if len(named) == 0 {
			named = pointRelease(list, req.Version)
		}
		if list = named; len(list) == 0 {
			o := offer{excluded: true, reasons: common(all)}
			o.reasons = append(o.reasons, Reason{
				Code: string(VersionUnknown), Source: "the compatibility matrix",
				Text: fmt.Sprintf("no release %s of %s is known%s", req.Version, all[0].Release.Stack, nearest(all, req.Version)),
			})
			return o
		}
	}
	exact := asked && len(list) == 1
	if exact && noProduct(list[0]) {
		return offer{excluded: true, reasons: []Reason{neverReleased(list[0])}}
	}
	preferLTS := vendorLine(all[0].Release.Stack) && in.Profile.Branches == "lts" && !asked && req.Version != "latest"
	if req.Stack != "" || exact {
		return among(in, list, preferLTS, true, exact)
	}
	o := among(in, list, preferLTS, false, false)
	if o.best != nil {
		return o
	}
	// What the stack would be if it were named, so that a plan tells the same of it as --stack and --compare.
	if named := among(in, list, preferLTS, true, false); named.best != nil {
		o.best, o.onlyNamed, o.excluded = named.best, true, false
	}
	return o
}

// vendorLine says that a stack is of the line of releases that has long-term branches; the others have none.
func vendorLine(stack string) bool { return stack == "mlnx-ofed" || stack == "doca-ofed" }

// among chooses from a list of releases, newest first. With preferLTS a release of another than a long-term
// branch is taken only when the stack was named and nothing tells of a long-term release on such a system.
func among(in rules.Input, list []*rules.Candidate, preferLTS, named, exact bool) offer {
	onlyLTS := preferLTS && !named
	open, barred := make([]*rules.Candidate, 0, len(list)), make([]*rules.Candidate, 0, len(list))
	for _, c := range list {
		if barrier(in, c, onlyLTS) != "" && !exact {
			barred = append(barred, c)
			continue
		}
		open = append(open, c)
	}
	if len(open) == 0 {
		return none(in, nil, barred, onlyLTS)
	}
	groups := byBranch(open, in.Day, preferLTS)
	for _, take := range takers(preferLTS, named) {
		for _, group := range groups {
			for i, c := range group {
				if len(c.Refusals) == 0 && take(c) {
					return taken(c, open, group[:i], group[i+1:], in.Day)
				}
			}
		}
	}
	return none(in, open, barred, onlyLTS)
}

// takers are the conditions under which a release is taken, the best first.
func takers(preferLTS, named bool) []func(*rules.Candidate) bool {
	type taker = func(*rules.Candidate) bool
	fits := func(c *rules.Candidate) bool { return documented(c.Status) }
	if !named {
		return []taker{fits}
	}
	any := func(*rules.Candidate) bool { return true }
	if !preferLTS {
		return []taker{fits, seen, any}
	}
	lts := func(take taker) taker {
		return func(c *rules.Candidate) bool { return isLongTerm(c) && take(c) }
	}
	return []taker{lts(fits), lts(seen), fits, seen, lts(any), any}
}

// noProduct says that a release is no product that anybody could have: only its number, or its source, was
// seen inside another one.
func noProduct(c *rules.Candidate) bool { return c.Release.NoProduct }

func neverReleased(c *rules.Candidate) Reason {
	return Reason{
		Code: string(NeverReleased), Source: sourceOf(c),
		Text: c.Release.Stack + " " + c.Release.Version + " was never released: " + c.Release.Withdrawn,
	}
}

// notLongTerm says that a profile of long-term branches got another one, because the stack was named.
func notLongTerm(in rules.Input, c *rules.Candidate) []Reason {
	if in.Profile.Branches != "lts" || isLongTerm(c) || c.Release.Stack == "rdma-core" || c.Release.Stack == "ofed" {
		return nil
	}
	return []Reason{{
		Code: string(NotLongTerm), Source: sourceOf(c),
		Text: c.Release.Stack + " " + c.Release.Version + " is of no long-term branch, which profile " + in.Profile.Name + " is for",
	}}
}

// common are the refusals that every release has: they are of the host, not of a version.
func common(all []rules.Candidate) []Reason {
	var out []Reason
	for _, f := range all[0].Refusals {
		everywhere := true
		for _, c := range all[1:] {
			everywhere = everywhere && slices.ContainsFunc(c.Refusals, func(o rules.Finding) bool { return o.Code == f.Code })
		}
		if everywhere {
			out = append(out, reason(f))
		}
	}
	return out
}

// seen says that something tells of the release on such a system, although not of support.
func seen(c *rules.Candidate) bool {
	return c.Evidence != ""
}

func documented(s rules.Status) bool {
	return s == rules.Supported || s == rules.Community || s == rules.Present
}

// barrier says why a release is never chosen by itself, empty when it may be.
func barrier(in rules.Input, c *rules.Candidate, longTerm bool) string {
	switch {
	case longTerm && past(c, in.Day) && rules.OnlyVirtualFunctions(in):
		// https://github.com/openlogic/AzureBuildCentOS/issues/92
		return "its branch is past its end, and the host has virtual functions only: card and firmware belong to the machine below, so that it would be without a firmware update, " +
			"and the distribution's own driver serves them"
	case c.Release.Withdrawn != "":
		return c.Release.Withdrawn
	case c.Branch != nil && c.Branch.NeverChosen != "":
		return c.Branch.NeverChosen
	case longTerm && !isLongTerm(c):
		return "not of a long-term branch"
	}
	return ""
}

func isLongTerm(c *rules.Candidate) bool {
	return c.Branch != nil && c.Branch.LTS && c.Release.LTS != "no"
}

// byBranch keeps the order of the releases, newest first. When long-term branches are preferred, those
// that live come first, then those past their end, then other branches.
func byBranch(list []*rules.Candidate, day string, preferLTS bool) [][]*rules.Candidate {
	var living, others, ended [][]*rules.Candidate
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].Release.Branch == list[0].Release.Branch {
			n++
		}
		group := list[:n]
		list = list[n:]
		switch branch := group[0].Branch; {
		case !preferLTS:
			living = append(living, group)
		case branch != nil && branch.LTS && past(group[0], day):
			ended = append(ended, group)
		case branch != nil && branch.LTS:
			living = append(living, group)
		default:
			others = append(others, group)
		}
	}
	return slices.Concat(living, ended, others)
}

// past says whether a release's branch is past its end on a day; an unknown end is no end.
func past(c *rules.Candidate, day string) bool {
	end, _ := supportEnd(c)
	return end != "" && day != "" && day > endOfMonth(end)
}

// supportEnd is the end of a branch's support and what it rests on: "stated" or "computed".
func supportEnd(c *rules.Candidate) (end, basis string) {
	switch {
	case c.Branch == nil:
		return "", ""
	case c.Branch.EndStated != "":
		return c.Branch.EndStated, "stated"
	case c.Branch.EndComputed != "":
		return c.Branch.EndComputed, "computed"
	}
	return "", ""
}

// endOfMonth makes a month comparable with days: "2026-10" ends after each of its days.
func endOfMonth(date string) string {
	if len(date) == len("2006-01") {
		return date + "-31"
	}
	return date
}

// taken is the offer of a release; open are all that may be chosen, newer and older the others of its branch.
func taken(c *rules.Candidate, open, newer, older []*rules.Candidate, day string) offer {
	o := offer{best: c}
	for _, f := range c.Reasons {
		o.reasons = append(o.reasons, reason(f))
	}
	text := c.Release.Version + " is the newest release of " + c.Release.Stack
	if c.Release.Stack != "rdma-core" { // it has one line of releases
		text += " " + c.Release.Branch
	}
	text += " that fits this host"
	if c.Branch != nil && c.Branch.LTS {
		text += ", a long-term branch"
		if c.Branch.Start != "" {
			text += " since " + c.Branch.Start
		}
		text += supported(c, day)
	}
	o.reasons = append(o.reasons, Reason{Code: string(ReleaseChosen), Text: text, Source: sourceOf(c)})
	for _, other := range older {
		for _, f := range other.Refusals {
			if f.Code == rules.KernelBreaksBuild {
				o.reasons = append(o.reasons, Reason{Code: string(f.Code), Text: "not " + other.Release.Version + " of the same branch: " + f.Text, Source: f.Source})
			}
		}
	}
	o.notes = newerNotTaken(c, open, newer)
	return o
}

// supported tells the end of a branch's support, and when that is this very month.
func supported(c *rules.Candidate, day string) string {
	end, basis := supportEnd(c)
	text, computed := "", " (computed from its start; no page states a date)"
	switch basis {
	case "stated":
		text = ", supported until " + end + " as the vendor states"
	case "computed":
		text = ", supported until about " + end
		if past(c, day) {
			text = ", past its end of about " + end
		}
		text += computed
	}
	if len(day) >= len("2006-01") && len(end) >= len("2006-01") && day[:len("2006-01")] == end[:len("2006-01")] && !past(c, day) {
		text += ", which ends this month"
	}
	return text
}

// newerNotTaken names the newest long-term release, and the newest of the same branch, that came after the one
// that is taken, with the reason why they were not.
func newerNotTaken(c *rules.Candidate, open, newer []*rules.Candidate) []Reason {
	var passed []*rules.Candidate
	if vendorLine(c.Release.Stack) {
		for _, other := range open { // newest first
			if other == c {
				break
			}
			if isLongTerm(other) {
				passed = append(passed, other)
				break
			}
		}
	}
	if len(newer) > 0 && !slices.Contains(passed, newer[0]) {
		passed = append(passed, newer[0])
	}
	if len(passed) == 0 {
		return nil
	}
	var texts []string
	for _, other := range passed {
		why := "nothing documents it for this host"
		if len(other.Refusals) > 0 {
			why = other.Refusals[0].Text
		}
		name := other.Release.Stack + " " + other.Release.Version
		if other.Release.Branch != c.Release.Branch && isLongTerm(other) {
			name += ", of the newest long-term branch,"
		}
		texts = append(texts, name+" is newer and was not taken: "+why)
	}
	return []Reason{{Code: string(NewerRelease), Source: sourceOf(passed[0]), Text: strings.Join(texts, "; ")}}
}

// none says why no release of a stack can be taken: each kind of reason once, in the words of the newest
// release that has it.
func none(in rules.Input, open, barred []*rules.Candidate, longTerm bool) offer {
	o := offer{excluded: len(open) > 0}
	refusals := map[rules.Code]int{}
	stages := map[rules.Code]int{}
	unknown := 0
	var first *rules.Candidate
	for _, c := range open {
		if len(c.Refusals) == 0 {
			o.excluded = false
			unknown++
			if first == nil {
				first = c
			}
			continue
		}
		seen := map[rules.Code]bool{}
		for _, f := range c.Refusals {
			if seen[f.Code] {
				continue
			}
			seen[f.Code] = true
			stages[f.Code] = max(stages[f.Code], c.Stage)
			if refusals[f.Code]++; refusals[f.Code] == 1 {
				o.reasons = append(o.reasons, reason(f))
			}
		}
	}
	// What the releases that came nearest are refused for decides.
	slices.SortStableFunc(o.reasons, func(a, b Reason) int { return stages[rules.Code(b.Code)] - stages[rules.Code(a.Code)] })
	for i, r := range o.reasons {
		if n := refusals[rules.Code(r.Code)]; n > 1 {
			o.reasons[i].Text += fmt.Sprintf(" (so for %d of %d releases)", n, len(open))
		}
	}
	if first != nil {
		text := fmt.Sprintf("nothing documents %s for this host", plural(unknown, "release"))
		if unknown == 1 {
			text = "nothing documents " + first.Release.Version + " for this host"
		}
		text += "; name the stack (--stack " + first.Release.Stack + ") to plan it all the same"
		o.reasons = append([]Reason{{Code: string(NothingDocumented), Text: text, Source: "the compatibility matrix"}}, o.reasons...)
		for _, f := range first.Reasons {
			o.reasons = append(o.reasons, reason(f))
		}
	}
	switch {
	case len(barred) == 0:
	case len(open) == 0 && longTerm && !slices.ContainsFunc(barred, isLongTerm):
		o.reasons = append(o.reasons, Reason{Code: string(NotLongTerm), Text: "it has no long-term branch", Source: "the compatibility matrix"})
	default:
		// The newest one that only the barrier keeps out.
		for _, c := range barred {
			if len(c.Refusals) == 0 && documented(c.Status) && (!longTerm || isLongTerm(c)) {
				o.excluded = false
				o.reasons = append([]Reason{{
					Code: string(NeverChosenRelease), Source: sourceOf(c),
					Text: c.Release.Version + " is " + string(c.Status) + " and not chosen by itself: " + barrier(in, c, longTerm) +
						"; --stack " + c.Release.Stack + " names it, if what only the vendor's stack has is needed",
				}}, o.reasons...)
				break
			}
		}
	}
	if len(o.reasons) == 0 && len(barred) > 0 {
		o.reasons, o.excluded = kept(in, barred, longTerm), false
	}
	return o
}

// kept says why the releases that a barrier keeps out are not chosen, where that is all there is to say.
func kept(in rules.Input, barred []*rules.Candidate, longTerm bool) []Reason {
	c := barred[0]
	if i := slices.IndexFunc(barred, func(c *rules.Candidate) bool { return len(c.Refusals) == 0 }); i >= 0 {
		c = barred[i]
	}
	text := c.Release.Stack + " " + c.Release.Version + " is not chosen by itself: " + barrier(in, c, longTerm)
	if len(barred) > 1 {
		text = fmt.Sprintf("none of %d releases of %s %s is chosen by itself: %s", len(barred), c.Release.Stack, branchesOf(barred), barrier(in, c, longTerm))
	}
	if len(c.Refusals) == 0 {
		text += "; name it exactly (--stack " + c.Release.Stack + " --version " + c.Release.Version + ") to plan it all the same"
	}
	out := []Reason{{Code: string(NeverChosenRelease), Text: text, Source: sourceOf(c)}}
	for _, f := range c.Refusals {
		out = append(out, reason(f))
	}
	return out
}

func branchesOf(list []*rules.Candidate) string {
	var out []string
	for _, c := range list {
		if !slices.Contains(out, c.Release.Branch) {
			out = append(out, c.Release.Branch)
		}
	}
	return strings.Join(out, ", ")
}

// ofVersion are the releases that a text names: one exactly, or all of a branch ("5.4", "24.10"). A
// driver container has the number of the drivers inside, and writes 25.1.0 for 25.01-0.
func ofVersion(all []*rules.Candidate, text string) []*rules.Candidate {
	wanted := plainNumber(text)
	var inside []*rules.Candidate
	for _, name := range []func(*rules.Candidate) string{
		func(c *rules.Candidate) string { return c.Release.Version },
		func(c *rules.Candidate) string { return c.Release.Driver },
	} {
		for _, c := range all {
			switch have := plainNumber(name(c)); {
			case have == wanted:
				return []*rules.Candidate{c}
			case strings.HasPrefix(have, wanted+"."):
				inside = append(inside, c)
			}
		}
		if len(inside) > 0 {
			break
		}
	}
	return inside
}

// plainNumber is a version without leading zeros in its numbers, "-" as ".".
func plainNumber(text string) string {
	parts := strings.Split(dotted(text), ".")
	for i, part := range parts {
		if short := strings.TrimLeft(part, "0"); short != "" {
			parts[i] = short
		} else if part != "" {
			parts[i] = "0"
		}
	}
	return strings.Join(parts, ".")
}

func dotted(text string) string { return strings.ReplaceAll(strings.ToLower(text), "-", ".") }

// nearest names the branches that are known, when a version is not.
func nearest(all []rules.Candidate, text string) string {
	if _, err := version.ParseStack(text); err != nil || len(all) == 0 {
		return ""
	}
	var branches []string
	for _, c := range all {
		if !slices.Contains(branches, c.Release.Branch) {
			branches = append(branches, c.Release.Branch)
		}
	}
	if len(branches) > 8 {
		branches = append(branches[:8], "...")
	}
	return "; known are " + strings.Join(branches, ", ")
}

func sourceOf(c *rules.Candidate) string {
	if len(c.Release.Source) > 0 {
		return c.Release.Source[0]
	}
	return "the compatibility matrix"
}
