package rules

// KernelOutside is a kernel that no support matrix has.
const KernelOutside Code = "kernel-outside-matrix"

// kernelOutside: vendors' tables have kernels of distributions. A release candidate and a kernel that was
// built by someone else are in none of them, so nothing is documented for them.
func kernelOutside() VendorRule {
	return VendorRule{Name: "kernel-outside", Source: "support tables name kernels of distributions only", Judge: func(h *vendorHost, c *Candidate) {
		if !h.vendor() || h.kernel.kind != kernelOther && h.kernel.kind != kernelCandidate {
			return
		}
		found := h.say(cause{rule: "kernel-outside"}, func() Finding {
			text := "kernel " + h.kernel.release + " is not a kernel of " + h.system.name + "; such kernels are outside every support matrix"
			if h.kernel.kind == kernelCandidate {
				text = "kernel " + h.kernel.release + " is a release candidate; -rc kernels are outside every support matrix"
			}
			return Finding{Code: KernelOutside, Effect: Warn, Text: text, Source: h.kernel.source}
		})
		if c.Status != Present {
			c.lower(Unknown, found)
		}
		c.warn(found)
	}}
}
