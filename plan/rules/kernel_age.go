package rules

import "github.com/rdmactl/rdmactl/internal/version"

// KernelTooOld is a kernel that lacks what the profile needs.
const KernelTooOld Code = "kernel-too-old"

func kernelAge() Rule {
	return Rule{Name: "kernel-age", Scope: Inbox, Source: "RDMA_NLDEV_CMD_NEWLINK, which rdma link add uses, came with Linux 5.1", Judge: func(in Input) []Finding {
		release, known := in.Facts.Kernel.Release.Get()
		if in.inContainer() || in.Profile.SoftRoCE == nil || !known {
			return nil
		}
		kernel, err := version.ParseKernel(release)
		if err != nil {
			return nil // a release that cannot be read is not known to be old
		}
		first, err := version.ParseKernel("5.1")
		if err != nil || kernel.Compare(first) >= 0 {
			return nil
		}
		return refuse(KernelTooOld, in.Facts.Kernel.Release.Source, "kernel %s cannot make a Soft-RoCE device with rdma link add, which needs 5.1", release)
	}}
}
