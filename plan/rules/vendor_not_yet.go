package rules

// NotYetReleased is a release that came after the day that is planned for.
const NotYetReleased Code = "not-yet-released"

// notYetReleased: a plan for a day in the past (--date, or evidence of then) takes what there was. Only
// a documented date says so.
func notYetReleased() VendorRule {
	return VendorRule{Name: "not-yet-released", Source: "release dates of the matrix", Judge: func(h *vendorHost, c *Candidate) {
		date, day := c.Release.Date, h.in.Day
		// A month is past its start on each of its days; a text that is no date tells no day.
		if len(date) < len("2006-01") || day == "" || date[0] < '0' || date[0] > '9' || day[:min(len(day), len(date))] >= date {
			return
		}
		c.refuse(Finding{
			Code: NotYetReleased, Effect: Refuse, Source: firstSource(c.Release.Source, "the compatibility matrix"),
			Text: h.stack + " " + c.Release.Version + " was released " + date + ", after " + day + ", the day that is planned for",
		})
	}}
}
