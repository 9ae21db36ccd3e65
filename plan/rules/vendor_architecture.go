package rules

// Arch32Bit is a 32-bit system.
const Arch32Bit Code = "arch-32-bit"

// architecture: 32-bit platforms are excluded by the vendor's general rules. That a release has no row
// for another architecture is judged with its rows.
func architecture() VendorRule {
	return VendorRule{Name: "architecture", Source: "general rules of MLNX_OFED: 32-bit platforms are not supported", Judge: func(h *vendorHost, c *Candidate) {
		if !h.vendor() || !h.arch32 {
			return
		}
		c.refuse(h.once("architecture", func() []Finding {
			return refuse(Arch32Bit, h.archSource, "%s is a 32-bit platform, which no release supports", h.arch)
		})...)
	}}
}
