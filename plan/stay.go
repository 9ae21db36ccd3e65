package plan

import (
	"slices"

	"github.com/rdmactl/rdmactl/plan/rules"
)

// Codes of a release of the vendor's line that is on the host.
const (
	// DowngradeNotTaken is an older release that the profile would choose on a host without the newer one.
	DowngradeNotTaken rules.Code = "downgrade-not-taken"
	// InstalledNotDocumented is a release that stays although nothing documents it for the host.
	InstalledNotDocumented rules.Code = "installed-not-documented"
	// UnknownInstalledRelease is one that the matrix lacks, so that nothing can be said of it.
	UnknownInstalledRelease rules.Code = "unknown-installed-release"
)

// choice is which stack a plan takes.
type choice struct {
	// at is the position of the stack among the offers, -1 for none.
	at int
	// passed are the stacks that come first in the profile and were not taken.
	passed []string
	// refusal says why none is taken although one could be.
	refusal *Reason
	// from is what the plan goes back from, empty when it does not: the release on the host is newer.
	from string
	// stays says that the release on the host was kept over what the profile would choose without it.
	stays bool
}

// choose takes the first stack of the profile, or the one that was named, that can be had. Without --version it
// never goes back behind the release of the vendor's line that is on the host, where nothing excludes that one.
func choose(in rules.Input, offers []stackOffer, req Request) choice {
	wanted := in.Profile.Prefer
	if req.Stack != "" {
		wanted = []string{req.Stack}
	}
	c := choice{at: -1}
	for _, name := range wanted {
		i := offerOf(offers, name)
		if offers[i].stack.Verdict == StackPossible && !offers[i].onlyNamed {
			c.at = i
			break
		}
		c.passed = append(c.passed, name)
	}
	have, there := rules.VendorOnHost(in)
	if !there || !slices.ContainsFunc(wanted, vendorLine) {
		return c
	}
	var target *rules.Candidate // of the vendor's line
	if c.at >= 0 && vendorLine(offers[c.at].stack.Stack) {
		target = offers[c.at].best
	}
	back := target != nil && have.NewerThan(target.Release)
	if back {
		c.from = have.Name()
	}
	if req.Version != "" && req.Version != "latest" {
		return c
	}
	own := &offers[offerOf(offers, have.Stack)]
	switch {
	case have.Release == nil:
		asked := req.Upgrade || req.Stack != ""
		if target == nil && c.at >= 0 || asked && target != nil && have.Told() && !back {
			return c
		}
		why := unknownInstalled(in, have, offers, wanted)
		return choice{at: -1, refusal: &why}
	case own.installed == nil || len(own.installed.Refusals) > 0:
		return c // a rule excludes what is there
	case target != nil && target.Release == own.installed.Release, target == nil && c.at >= 0:
		return c
	case !slices.Contains(wanted, have.Stack):
		if !back {
			return c
		}
		why := goBack(in, have, target)
		return choice{at: -1, refusal: &why}
	case target != nil && !back && (req.Upgrade || !isLongTerm(own.installed) || in.Profile.Branches != "lts"):
		return c // it moves on
	}
	return c.stay(in, have, offers, target)
}

// stay keeps what is on the host instead of the target, which is nil where nothing can be chosen.
func (c choice) stay(in rules.Input, have rules.Standing, offers []stackOffer, target *rules.Candidate) choice {
	i := offerOf(offers, have.Stack)
	o := &offers[i]
	longTerm := in.Profile.Branches != "lts" || isLongTerm(o.installed)
	would := target
	if would == nil && !longTerm {
		would = longTermOf(offers, in.Profile.Prefer, have)
	}
	o.keep(o.installed)
	switch {
	case target != nil && !have.NewerThan(target.Release):
		o.notes = append(o.notes, movesTo(target))
	case would != nil && !longTerm:
		o.notes = append(o.notes, goBack(in, have, would))
	}
	o.notes = append(o.notes, notLongTerm(in, o.installed)...)
	o.stack.describe(o.installed)
	o.stack.Verdict, o.stack.Reasons = StackPossible, o.reasons
	return choice{at: i, stays: true}
}

// longTermOf is the newest long-term release that the profile's stacks would be if they were named, and that
// is older than what is there.
func longTermOf(offers []stackOffer, stacks []string, have rules.Standing) *rules.Candidate {
	for _, name := range stacks {
		o := offers[offerOf(offers, name)]
		if o.best != nil && vendorLine(name) && isLongTerm(o.best) && have.NewerThan(o.best.Release) {
			return o.best
		}
	}
	return nil
}

func offerOf(offers []stackOffer, name string) int {
	return slices.IndexFunc(offers, func(o stackOffer) bool { return o.stack.Stack == name })
}

// notDocumented says that a release stays because it is there.
func notDocumented(c *rules.Candidate) Reason {
	return Reason{
		Code: string(InstalledNotDocumented), Source: sourceOf(c),
		Text: c.Release.Stack + " " + c.Release.Version + " stays because it is on this host and no rule excludes it; nothing documents it for this system",
	}
}

// goBack names the older release that is not taken and the command that takes it.
func goBack(in rules.Input, have rules.Standing, older *rules.Candidate) Reason {
	text := older.Release.Stack + " " + older.Release.Version + " is what profile " + in.Profile.Name + " would choose on a host without " + have.Name()
	if !documented(older.Status) {
		text += ", if the stack were named"
	}
	return Reason{
		Code: string(DowngradeNotTaken), Source: sourceOf(older),
		Text: text + "; it is older, so the host does not go back to it unasked: `" + exactly(in, older) + "` plans that",
	}
}

// exactly is the command that plans one release.
func exactly(in rules.Input, c *rules.Candidate) string {
	return "rdmactl plan --profile " + quoted(in.Profile.Name) + " --stack " + c.Release.Stack + " --version " + c.Release.Version
}

// unknownInstalled says that a release stays because nothing is known of it.
func unknownInstalled(in rules.Input, have rules.Standing, offers []stackOffer, wanted []string) Reason {
	text := have.Name() + " is on this host and the matrix does not know that release, so nothing tells what serves the host better; it stays as it is"
	if have.Version == "" {
		text = have.Stack + " is on this host and nothing tells which release, so nothing tells whether another would be older; it stays as it is"
	}
	for _, name := range wanted {
		if o := offers[offerOf(offers, name)]; o.best != nil && vendorLine(name) {
			text += "; `" + exactly(in, o.best) + "` plans " + name + " " + o.best.Release.Version
			if have.NewerThan(o.best.Release) {
				text += ", which is older,"
			}
			text += " all the same"
			break
		}
	}
	return Reason{Code: string(UnknownInstalledRelease), Source: have.Source, Text: text}
}

// goesBack says in a summary that the plan is a downgrade, and for which reason.
func (c choice) goesBack(p Plan, offers []stackOffer) string {
	if c.from == "" || p.Verdict != Install || c.stays {
		return ""
	}
	text := "; a downgrade from " + c.from
	for _, o := range offers {
		if have := o.installed; have != nil && vendorLine(o.stack.Stack) && len(have.Refusals) > 0 {
			return text + ", which is excluded here (" + string(have.Refusals[0].Code) + ")"
		}
	}
	return text
}

// excluded says why the release that is on the host does not stay, when the plan goes back from it.
func (c choice) excluded(in rules.Input, offers []stackOffer) []Reason {
	have, there := rules.VendorOnHost(in)
	if !there || c.from == "" || c.stays {
		return nil
	}
	o := offers[offerOf(offers, have.Stack)]
	if o.installed == nil || len(o.installed.Refusals) == 0 {
		return nil
	}
	f := o.installed.Refusals[0]
	return []Reason{{Code: string(f.Code), Text: "not " + c.from + ", which is installed: " + f.Text, Source: f.Source}}
}

// goesNotBack says that the plan is refused for the release on the host alone, and would be made with --version.
func (p Plan) goesNotBack() bool {
	return p.Verdict == Refuse && slices.Contains([]string{string(DowngradeNotTaken), string(UnknownInstalledRelease)}, p.Reasons[0].Code)
}
