package rules

// EndOfSupport is a branch past its end.
const EndOfSupport Code = "end-of-support"

// endOfSupport tells stated and computed ends apart. The day is an input.
func endOfSupport() VendorRule {
	return VendorRule{Name: "end-of-support", Source: "the vendor's three years of a long-term branch", Judge: func(h *vendorHost, c *Candidate) {
		if c.Branch == nil || h.in.Day == "" {
			return
		}
		end, stated := c.Branch.EndStated, true
		if end == "" {
			end, stated = c.Branch.EndComputed, false
		}
		// A month ends after all of its days; a text that is no date tells no day.
		if len(end) < len("2006-01") || end[0] < '0' || end[0] > '9' || h.in.Day[:min(len(h.in.Day), len(end))] <= end {
			return
		}
		c.warn(h.say(cause{rule: "end", of: c.Branch.Name}, func() Finding {
			text := "the branch " + c.Branch.Name + " of " + h.stack + " is past its end of support, " + end
			if stated {
				text += " as the vendor states it"
			} else {
				text += " as computed from its start in " + c.Branch.Start + " and the three years of a long-term branch; no page states a date"
			}
			return Finding{Code: EndOfSupport, Effect: Warn, Text: text, Source: firstSource(c.Branch.Source, "the compatibility matrix")}
		}))
	}}
}
