package rules

// ForeignModules are a vendor's kernel modules below an rdma-core from source.
const ForeignModules Code = "foreign-modules"

// vendorModulesBelow: rdma-core from source runs on whatever ib_core is loaded. A vendor's is a fork with
// user-space libraries of its own.
func vendorModulesBelow() VendorRule {
	return VendorRule{Name: "vendor-modules-below", Source: "MLNX_OFED and DOCA-OFED replace ib_core, ib_uverbs and mlx5_ib and bring an rdma-core that is built with them", Judge: func(h *vendorHost, c *Candidate) {
		if h.stack != "rdma-core" {
			return
		}
		for _, f := range h.once("foreign-modules", h.findForeignModules) {
			c.warn(f)
		}
	}}
}

func (h *vendorHost) findForeignModules() []Finding {
	traces := foreignTraces(h.in)
	if len(traces) == 0 || h.otherKernel {
		return nil
	}
	t := traces[0]
	return warn(ForeignModules, named(t.source, "the facts"), "the RDMA modules of this host are those of %s (%s), not the kernel's; rdma-core from source is made for the kernel's own, "+
		"and no source says that it works on these: uninstall %s first, or use its own libraries", t.stack, t.text, t.stack)
}
