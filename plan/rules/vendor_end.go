package rules

import "strings"

// Codes of the end of a branch.
const (
	// EndOfSupport is a branch past its end.
	EndOfSupport Code = "end-of-support"
	// EndsThisMonth is a branch whose end is in the month that is planned for.
	EndsThisMonth Code = "support-ends-this-month"
)

// endOfSupport tells stated and computed ends apart. The day is an input.
func endOfSupport() VendorRule {
	return VendorRule{Name: "end-of-support", Source: "the vendor's three years of a long-term branch", Judge: func(h *vendorHost, c *Candidate) {
		switch {
		case h.stack == "ofed":
			h.ofedEnded(c)
			return
		case c.Branch == nil || h.in.Day == "":
			return
		case vendorLine(h.stack) && !c.Branch.LTS:
			h.overtaken(c)
			return
		}
		end, stated := c.Branch.EndStated, true
		if end == "" {
			end, stated = c.Branch.EndComputed, false
		}
		// A text that is no date tells no day.
		if len(end) < len("2006-01") || end[0] < '0' || end[0] > '9' {
			return
		}
		code, is := EndOfSupport, "is past its end of support, "
		switch day := h.in.Day[:min(len(h.in.Day), len(end))]; { // a month ends after all of its days
		case day > end:
		case len(h.in.Day) >= len("2006-01") && h.in.Day[:len("2006-01")] == end[:len("2006-01")]:
			code, is = EndsThisMonth, "ends this month, "
		default:
			return
		}
		c.warn(h.say(cause{rule: "end", of: c.Branch.Name}, func() Finding {
			text := "the branch " + c.Branch.Name + " of " + h.stack + " " + is + end
			if stated {
				text += " as the vendor states it"
			} else {
				text += " as computed from its start in " + c.Branch.Start + " and the three years of a long-term branch; no page states a date"
			}
			return Finding{Code: code, Effect: Warn, Text: text, Source: firstSource(c.Branch.Source, "the compatibility matrix")}
		}))
	}}
}

// overtaken: a branch that is no long-term one ends when the next one comes.
func (h *vendorHost) overtaken(c *Candidate) {
	next := ""
	for _, r := range h.matrix.Releases(h.stack) { // newest first
		if r == c.Release {
			break
		}
		known := len(r.Date) >= len("2006-01") && r.Date[0] >= '0' && r.Date[0] <= '9' && h.in.Day[:min(len(h.in.Day), len(r.Date))] >= r.Date
		if known && r.Branch != c.Release.Branch && r.Withdrawn == "" {
			next = r.Version + " of " + r.Date
		}
	}
	if next == "" {
		return
	}
	c.warn(h.say(cause{rule: "overtaken", of: c.Branch.Name}, func() Finding {
		return Finding{
			Code: EndOfSupport, Effect: Warn, Source: firstSource(c.Branch.Source, "the compatibility matrix"),
			Text: "the branch " + c.Branch.Name + " of " + h.stack + " is no long-term branch and a newer one has followed it (" + next + "), so fixes for it are not to be expected",
		}
	}))
}

// ofedEnded: no notice of its end was ever found, and no release since 2019.
func (h *vendorHost) ofedEnded(c *Candidate) {
	if h.in.Day != "" && strings.Compare(h.in.Day, "2020-04") < 0 {
		return
	}
	c.warn(h.say(cause{rule: "end"}, func() Finding {
		return Finding{
			Code: EndOfSupport, Effect: Warn, Source: "https://lists.openfabrics.org/pipermail/ewg/2020-April/019488.html",
			Text: "OFED of the OpenFabrics Alliance has had no release since 4.17-1 of 2019-07-01 and nobody maintains it; no notice of its end was found",
		}
	}))
}
