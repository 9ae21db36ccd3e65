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

// installedStack is the vendor stack that is on the host.
type installedStack struct {
	stack, version string
	digits         []int
	source         string
}

func installedOf(in Input) installedStack {
	if v, ok := in.Facts.Packages.Vendor.Get(); ok && (v.Stack == "doca-ofed" || v.Stack == "mlnx-ofed") {
		text := v.Version
		if text == "" {
			text = v.Driver
		}
		if text != "" {
			return installedStack{stack: v.Stack, version: printable(text), digits: digitsOf(text), source: in.Facts.Packages.Vendor.Source}
		}
	}
	versions := StackVersions(in)
	for _, stack := range []string{"doca-ofed", "mlnx-ofed"} {
		if v := versions[stack]; v != "" {
			return installedStack{stack: stack, version: printable(v), digits: digitsOf(v), source: in.Facts.Packages.Installed.Source}
		}
	}
	return installedStack{}
}

// driver is the version of the drivers: of DOCA either ofed_info tells it (24.10-1.1.4) or the package
// has DOCA's own number (2.9.1), which is below every driver's.
func (s installedStack) driver() bool { return len(s.digits) > 0 && s.digits[0] >= 5 }

// upgradePath: what the way from the installed release to this one brings with it.
func upgradePath() VendorRule {
	return VendorRule{Name: "upgrade-path", Source: "DOCA-Host installation and upgrade guide; MLNX_OFED release notes 5.0 (upstream verbs) and 5.6 (82-net-setup-link.rules)", Judge: func(h *vendorHost, c *Candidate) {
		was := h.installed
		if was.stack == "" || len(was.digits) == 0 || h.stack != "mlnx-ofed" && h.stack != "doca-ofed" {
			return
		}
		to := digitsOf(c.Release.Version)
		name := h.stack + " " + c.Release.Version
		if h.stack == "doca-ofed" && was.driver() {
			to = digitsOf(c.Release.Driver)
		}
		comparable := was.stack == h.stack || h.stack == "doca-ofed" && was.driver() || was.stack == "doca-ofed" && was.driver()
		if comparable && len(to) > 1 && slices.Compare(to, was.digits[:min(len(was.digits), len(to))]) < 0 {
			c.warn(Finding{
				Code: Downgrade, Effect: Warn, Source: was.source,
				Text: name + " is older than " + was.stack + " " + was.version + ", which is installed",
			})
		}
		modern := h.stack == "doca-ofed" || len(to) > 0 && to[0] >= 5
		switch {
		case h.stack == "doca-ofed" && was.stack == "doca-ofed" && (was.driver() && slices.Compare(was.digits, []int{24, 1}) < 0 || !was.driver() && slices.Compare(was.digits, []int{2, 6}) < 0):
			c.warn(h.say(cause{rule: "in place"}, func() Finding {
				return Finding{
					Code: UpgradeNotInPlace, Effect: Warn, Source: was.source,
					Text: "doca-ofed " + was.version + " is installed, and an upgrade in place is possible from 2.6.0 on only: it must be removed whole first (ofed_uninstall.sh --force)",
				}
			}))
		case h.stack == "doca-ofed" && was.stack == "mlnx-ofed":
			c.warn(h.say(cause{rule: "in place"}, func() Finding {
				return Finding{
					Code: UpgradeNotInPlace, Effect: Warn, Source: was.source,
					Text: "mlnx-ofed " + was.version + " is installed, and an upgrade to doca-ofed in place is documented from doca-ofed 2.6.0 on only: " +
						"remove it whole first with its own uninstaller (ofed_uninstall.sh --force)",
				}
			}))
		}
		if was.stack == "mlnx-ofed" && was.digits[0] < 5 && modern {
			c.warn(h.say(cause{rule: "verbs"}, func() Finding {
				return Finding{
					Code: VerbsAPIChanged, Effect: Warn, Source: was.source,
					Text: "mlnx-ofed " + was.version + " is installed; from 5.0 on the verbs are those of rdma-core, so programs built for its default libraries (experimental verbs) must be built anew",
				}
			}))
		}
		if was.stack == "mlnx-ofed" && slices.Compare(was.digits, []int{5, 6}) < 0 && (h.stack == "doca-ofed" || slices.Compare(to, []int{5, 6}) >= 0) {
			c.warn(h.say(cause{rule: "names"}, func() Finding {
				return Finding{
					Code: NamesChange, Effect: Warn, Source: was.source,
					Text: "mlnx-ofed " + was.version + " names interfaces with 82-net-setup-link.rules, which releases from 5.6 on do not bring: names of network interfaces change",
				}
			}))
		}
	}}
}
