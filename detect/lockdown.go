package detect

import "github.com/rdmactl/rdmactl/facts"

// lockdown reads the kernel's lockdown mode. The file is in securityfs: where that is not mounted, its
// mount point is empty and the mode is not known.
func (p probe) lockdown() facts.Field[string] {
	const dir = "/sys/kernel/security"
	f := parsed(p.attr(dir+"/lockdown"), bracketed)
	if !f.IsAbsent() {
		return f
	}
	if names, err := p.r.ReadDir(dir); err != nil || len(names) == 0 {
		return unknown[string](f.Source, "securityfs is not mounted")
	}
	return f
}
