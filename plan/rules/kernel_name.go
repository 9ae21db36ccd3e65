package rules

import "github.com/rdmactl/rdmactl/internal/version"

// KernelUnreadable is a text that cannot be the release of a Linux kernel.
const KernelUnreadable Code = "kernel-unreadable"

// kernelName: a release starts with the kernel's version. Evidence may be typed, and a text that is none
// must not pass for a kernel that nothing is told of.
func kernelName() Rule {
	return Rule{Name: "kernel-name", Scope: Request, Source: "Makefile of Linux: KERNELRELEASE starts with VERSION.PATCHLEVEL", Judge: func(in Input) []Finding {
		release, source := in.targetKernel()
		if release == "" || len(notLinux().Judge(in)) > 0 {
			return nil
		}
		if _, err := version.ParseKernel(release); err == nil {
			return nil
		}
		return refuse(KernelUnreadable, source, "%q is not the release of a Linux kernel, which starts with its version (6.1.0-50-amd64); nothing can be planned for it", printable(release))
	}}
}
