package rules

import (
	"slices"
	"strings"
)

// OtherCardBroken is another RDMA card of the host that the stack breaks.
const OtherCardBroken Code = "other-card-broken"

const otherCardsSource = "kernel modules that MLNX_OFED and DOCA-OFED replace: modules of other drivers that are built for the kernel's ib_core do not load against theirs"

// otherCardsOnly: on a host whose only RDMA cards are other vendors', a vendor's stack serves nothing and
// breaks what is there.
func otherCardsOnly() VendorRule {
	return VendorRule{Name: "other-cards-only", Source: "https://github.com/amzn/amzn-drivers/issues/308", Judge: func(h *vendorHost, c *Candidate) {
		if !h.vendor() || len(h.cards) > 0 || len(h.foreign) == 0 {
			return
		}
		c.refuse(h.once("other-cards-only", func() []Finding {
			var names []string
			for _, d := range h.foreign {
				names = append(names, h.foreignName(d.Vendor, d.Device, d.Description.Or(""), d.Address))
			}
			return refuse(ForeignHardware, h.in.Facts.PCI.Source,
				"the only RDMA hardware is %s: this stack has no driver for it, and its ib_core keeps the card's own driver from loading", list(names))
		})...)
	}}
}

// otherCards: beside a ConnectX card another vendor's loses its kernel driver, which is built for the
// kernel's own ib_core, and with some releases its user-space driver. That is for the user to decide, so
// a release is taken only when the stack was named.
func otherCards() VendorRule {
	return VendorRule{Name: "other-cards", Source: otherCardsSource, Judge: func(h *vendorHost, c *Candidate) {
		if !h.vendor() || len(h.cards) == 0 || len(h.foreign) == 0 {
			return
		}
		var parts []string
		for _, d := range h.foreign {
			text := h.foreignName(d.Vendor, d.Device, d.Description.Or(""), d.Address)
			if d.WantsRDMADriver != "" {
				text += " (module " + printable(d.WantsRDMADriver) + ")"
			}
			if c.Layout != nil && d.WantsProvider != "" && slices.Contains(c.Layout.Drops, d.WantsProvider) {
				text += ", whose provider " + printable(d.WantsProvider) + " the release's libibverbs does not have"
			}
			parts = append(parts, text)
		}
		text := "the stack replaces ib_core, against which the drivers of other cards must be built anew; until then this host loses RDMA on " + strings.Join(parts, "; ")
		found := Finding{Code: OtherCardBroken, Effect: Warn, Text: text, Source: otherCardsSource}
		if !h.in.Named {
			found.Effect = Refuse
			c.refuse(found)
			return
		}
		c.warn(found)
	}}
}

// foreignName is a card as a person finds it again in lspci.
func (h *vendorHost) foreignName(vendor, device, description, address string) string {
	name := printable(description)
	for _, known := range h.matrix.Matrix().Foreign {
		if name == "" && known.Vendor == vendor {
			name = known.Name
		}
	}
	if name == "" {
		name = "a card"
	}
	return name + " [" + vendor + ":" + device + "] at " + printable(address)
}
