package rules

// FirmwareNotHere is a card whose firmware belongs to another machine.
const FirmwareNotHere Code = "firmware-not-here"

// virtualFunctions: a virtual function has no firmware of its own to update, and the installer stops at
// the ids of ConnectX-3's.
func virtualFunctions() VendorRule {
	return VendorRule{Name: "virtual-functions", Source: "mlnxofedinstall of MLNX_OFED 5.9: --without-fw-update, --skip-unsupported-devices-check", Judge: func(h *vendorHost, c *Candidate) {
		if !h.vendor() || len(h.cards) == 0 {
			return
		}
		for i := range h.cards {
			if !h.cards[i].vf {
				return
			}
		}
		c.warn(h.say(cause{rule: "vf"}, func() Finding {
			return Finding{
				Code: FirmwareNotHere, Effect: Warn, Source: h.cards[0].source,
				Text: h.cards[0].name + ": the firmware belongs to the machine that has the card, so no firmware is updated here (the vendor's installer takes --without-fw-update, and --skip-unsupported-devices-check)",
			}
		}))
	}}
}
