package rules

import "slices"

// KernelFilesGone is a running kernel whose modules were removed by an upgrade.
const KernelFilesGone Code = "kernel-files-gone"

func kernelFiles() Rule {
	return Rule{Name: "kernel-files", Scope: Inbox, Source: "modprobe(8) looks in /lib/modules of the running release only", Judge: func(in Input) []Finding {
		k := in.Facts.Kernel
		release, known := k.Release.Get()
		installed, told := k.Installed.Get()
		if in.inContainer() || !known || !told || !in.Running() || slices.Contains(installed, release) {
			return nil
		}
		needs := slices.ContainsFunc(in.Modules, func(m Module) bool { return m.State != StateLoaded && !m.Optional })
		if !needs {
			return nil
		}
		have := "none is"
		if len(installed) > 0 {
			sorted := slices.Sorted(slices.Values(installed))
			have = list(sorted) + " is"
			if len(sorted) > 1 {
				have = list(sorted) + " are"
			}
		}
		return refuse(KernelFilesGone, k.Installed.Source, "the running kernel %s has no modules on disk any more; %s there", release, have)
	}}
}
