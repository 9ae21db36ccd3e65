package rules

import (
	"slices"
)

// Codes of going from one release to another.
const (
	Downgrade         Code = "downgrade"
	UpgradeNotInPlace Code = "upgrade-not-in-place"
	VerbsAPIChanged   Code = "verbs-api-changed"
	NamesChange       Code = "interface-names-change"
)

// upgradePath: what the way from the installed release to this one brings with it.
func upgradePath() VendorRule {
	return VendorRule{Name: "upgrade-path", Source: "DOCA-Host installation and upgrade guide; MLNX_OFED release notes 5.0 (upstream verbs) and 5.6 (82-net-setup-link.rules)", Judge: func(h *vendorHost, c *Candidate) {
		was := h.installed
		if was.Stack == "" || !was.Told() || !vendorLine(h.stack) || was.Release == c.Release {
			return
		}
		to := lineOf(c.Release)
		name := h.stack + " " + c.Release.Version
		if was.NewerThan(c.Release) {
			c.warn(Finding{
				Code: Downgrade, Effect: Warn, Source: was.Source,
				Text: name + " is older than " + was.Name() + ", which is installed",
			})
		}
		modern := h.stack == "doca-ofed" || len(to) > 0 && to[0] >= 5
		wasModern := was.Stack == "doca-ofed" || len(was.driver) > 0 && was.driver[0] >= 5
		switch {
		case h.stack == "doca-ofed" && was.Stack == "doca-ofed" && (len(was.driver) > 1 && slices.Compare(was.driver, []int{24, 1}) < 0 || len(was.driver) == 0 && slices.Compare(was.numbers, []int{2, 6}) < 0):
			c.warn(h.say(cause{rule: "in place"}, func() Finding {
				return Finding{
					Code: UpgradeNotInPlace, Effect: Warn, Source: was.Source,
					Text: was.Name() + " is installed, and an upgrade in place is possible from 2.6.0 on only: it must be removed whole first (ofed_uninstall.sh --force)",
				}
			}))
		case h.stack == "doca-ofed" && was.Stack == "mlnx-ofed":
			c.warn(h.say(cause{rule: "in place"}, func() Finding {
				return Finding{
					Code: UpgradeNotInPlace, Effect: Warn, Source: was.Source,
					Text: was.Name() + " is installed, and an upgrade to doca-ofed in place is documented from doca-ofed 2.6.0 on only: " +
						"remove it whole first with its own uninstaller (ofed_uninstall.sh --force)",
				}
			}))
		}
		if was.Stack == "mlnx-ofed" && !wasModern && modern {
			c.warn(h.say(cause{rule: "verbs"}, func() Finding {
				return Finding{
					Code: VerbsAPIChanged, Effect: Warn, Source: was.Source,
					Text: was.Name() + " is installed; from 5.0 on the verbs are those of rdma-core, so programs built for its default libraries (experimental verbs) must be built anew",
				}
			}))
		}
		if wasModern && !modern {
			c.warn(h.say(cause{rule: "verbs back"}, func() Finding {
				return Finding{
					Code: VerbsAPIChanged, Effect: Warn, Source: was.Source,
					Text: was.Name() + " is installed, with the verbs of rdma-core; the default libraries before 5.0 have others (experimental verbs), so programs built for those of " + was.Name() + " must be built anew",
				}
			}))
		}
		if was.Stack == "mlnx-ofed" && slices.Compare(was.driver, []int{5, 6}) < 0 && (h.stack == "doca-ofed" || slices.Compare(to, []int{5, 6}) >= 0) {
			c.warn(h.say(cause{rule: "names"}, func() Finding {
				return Finding{
					Code: NamesChange, Effect: Warn, Source: was.Source,
					Text: was.Name() + " names interfaces with 82-net-setup-link.rules, which releases from 5.6 on do not bring: names of network interfaces change",
				}
			}))
		}
	}}
}
