package rules

// OFEDNeverReleased is a version of the OpenFabrics Alliance's OFED that does not exist.
const OFEDNeverReleased Code = "ofed-never-released"

// ofedNeverReleased: "open OFED 5.8" is a number of MLNX_OFED.
func ofedNeverReleased() VendorRule {
	return VendorRule{
		Name: "ofed-never-released", Source: "https://lists.openfabrics.org/pipermail/ewg/2019-November/019459.html; linux-rdma list, announcement of OFED 4.17-1 of 2019-07-01",
		Judge: func(h *vendorHost, c *Candidate) {
			if h.stack != "ofed" {
				return
			}
			if asked := digitsOf(h.in.Version); len(asked) == 0 || asked[0] < 5 {
				return
			}
			c.refuse(h.once("ofed-never-released", func() []Finding {
				return refuse(OFEDNeverReleased, "https://lists.openfabrics.org/pipermail/ewg/2019-November/019459.html",
					"there is no OFED %s: the OpenFabrics Alliance's last release is 4.17-1 of 2019, and 5.x was never released (5.3 existed as daily builds only); numbers such as 5.8 and 5.9 are of NVIDIA's MLNX_OFED (--stack mlnx-ofed)",
					printable(h.in.Version))
			})...)
		},
	}
}
