package rules

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/version"
)

// KernelTooOld is a kernel that lacks what the profile needs.
const KernelTooOld Code = "kernel-too-old"

func kernelAge() Rule {
	return Rule{Name: "kernel-age", Scope: Inbox, Source: "RDMA_NLDEV_CMD_NEWLINK, which rdma link add uses, came with Linux 5.1; mlx5_ib came with 3.11 and mlx4_ib's " +
		"attributes with 2.6.24; kernels of Debian's and Ubuntu's releases, read 2026-11-30", Judge: func(in Input) []Finding {
		release, source := in.targetKernel()
		kernel, err := version.ParseKernel(release)
		if in.inContainer() || err != nil {
			return nil // a release that cannot be read is not known to be old
		}
		older := func(than string) bool {
			first, err := version.ParseKernel(than)
			return err == nil && kernel.Compare(first) < 0
		}
		if in.Profile.SoftRoCE != nil && older("5.1") {
			return refuse(KernelTooOld, source, "kernel %s cannot make a Soft-RoCE device with rdma link add, which needs 5.1", release)
		}
		if in.Facts.Distro.Family.Or("") == "rhel" {
			return nil // RHEL keeps one kernel number for years while the RDMA code in it moves
		}
		var lacks []string
		for _, m := range in.Modules {
			// An old number is no proof where the module is there: distributions bring drivers to old kernels.
			there := slices.Contains([]ModuleState{StateLoaded, StateOnDisk}, m.State)
			if since := firstKernel(m.Name); since != "" && older(since) && !m.Optional && !there {
				lacks = append(lacks, m.Name+" (Linux "+since+")")
			}
		}
		if len(lacks) > 0 {
			return refuse(KernelTooOld, source, "kernel %s is older than what the profile needs of it: %s", release, strings.Join(lacks, ", "))
		}
		if own, known := inboxOf(in); known && own.kernel != "" && older(own.kernel) {
			return warn(UnknownCombination, source, "kernel %s is older than %s, with which %s was made; nothing is known of its RDMA packages on it", release, own.kernel, own.name)
		}
		return nil
	}}
}

// firstKernel is the kernel that a module came with, empty where that is not known.
func firstKernel(module string) string {
	switch module {
	case "mlx5_ib":
		return "3.11"
	case "mlx4_ib":
		return "2.6.24"
	}
	return ""
}
