package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

// ForeignStack is another stack in the way of inbox.
const ForeignStack Code = "foreign-stack"

// AwaitingBoot is a stack that has gone and whose modules serve until the next boot.
const AwaitingBoot Code = "awaiting-boot"

// trace is one thing that another stack left on the host.
type trace struct {
	stack, text, source string
}

func foreignStack() Rule {
	return Rule{Name: "foreign-stack", Scope: Inbox, Source: "vendor packages replace libibverbs1, rdma-core and the modules of the kernel package; depmod prefers updates/ to kernel/", Judge: func(in Input) []Finding {
		if Leaves(in) {
			return nil // a plan that names inbox takes it away
		}
		if AwaitsBoot(in) {
			return warn(AwaitingBoot, vendorModuleSource(in), "the vendor's stack has gone and its modules are still in memory: %s; the kernel's own are loaded at the next boot", list(vendorModules(in)))
		}
		return InTheWay(in)
	}}
}

// InTheWay are the stacks that are on the host where inbox would be, with what tells of them.
func InTheWay(in Input) []Finding {
	traces := foreignTraces(in)
	var found []Finding
	for _, stack := range foreignStacks() {
		var texts []string
		source := ""
		for _, t := range traces {
			if t.stack != stack {
				continue
			}
			if source == "" {
				source = t.source
			}
			texts = append(texts, t.text)
		}
		if len(texts) > 0 {
			found = append(found, refuse(ForeignStack, source, "%s is on this host and inbox would be installed over it: %s", stack, strings.Join(texts, "; "))...)
		}
	}
	return found
}

func foreignStacks() []string { return []string{"ofed", "mlnx-ofed", "doca-ofed"} }

// foreignTraces are what tells of another stack: ofed_info, packages, DKMS, and modules outside of the
// kernel package.
func foreignTraces(in Input) []trace {
	var out []trace
	info := in.Facts.Packages.OFEDInfo
	vendor, _ := stackOfOFEDInfo(info.Or(""))
	if vendor != "" {
		out = append(out, trace{vendor, "ofed_info says " + printable(info.Value), info.Source})
	}
	if v, ok := in.Facts.Packages.Vendor.Get(); ok && vendor == "" && slices.Contains(foreignStacks(), v.Stack) {
		vendor = v.Stack
		out = append(out, trace{v.Stack, "its packages are of " + vendorName(v), in.Facts.Packages.Vendor.Source})
	}
	if kernels := in.Facts.Modules.VendorSymbols; len(kernels.Or(nil)) > 0 && vendor == "" {
		vendor = "mlnx-ofed"
		out = append(out, trace{vendor, "its kernel headers are there for " + list(kernels.Value), kernels.Source})
	}
	installed, _ := InstalledPackages(in.Facts)
	for _, stack := range foreignStacks() {
		var names []string
		for _, p := range installed {
			if p.Origin == stack {
				names = append(names, p.Name)
			}
		}
		if len(names) > 0 {
			out = append(out, trace{stack, "its packages are installed: " + list(names), in.Facts.Packages.Installed.Source})
			if vendor == "" {
				vendor = stack
			}
		}
	}
	for _, d := range in.Facts.Modules.DKMS.Or(nil) {
		if slices.Contains(foreignStacks(), d.Origin) && replacesKernel(d.Name) {
			out = append(out, trace{d.Origin, "DKMS builds its modules: " + printable(d.Name+" "+d.Version), in.Facts.Modules.DKMS.Source})
			if vendor == "" {
				vendor = d.Origin
			}
		}
	}
	if vendor == "" {
		vendor = "mlnx-ofed" // DOCA-OFED has the same modules, and a package or ofed_info beside them
	}
	if modules := vendorModules(in); len(modules) > 0 {
		out = append(out, trace{vendor, "its kernel modules are there: " + list(modules), vendorModuleSource(in)})
	}
	return out
}

// vendorName is a vendor's stack with the release that its packages tell.
func vendorName(v facts.VendorStack) string {
	name := v.Stack
	switch {
	case v.Version != "" && v.Driver != "" && v.Version != v.Driver:
		name += " " + v.Version + " (drivers " + v.Driver + ")"
	case v.Version != "":
		name += " " + v.Version
	case v.Driver != "":
		name += " " + v.Driver
	default:
		name += ", of which they tell no release"
	}
	return printable(name)
}

// stackOfOFEDInfo splits what ofed_info prints into stack and version.
func stackOfOFEDInfo(text string) (stack, version string) {
	for _, known := range []struct{ prefix, stack string }{
		{"MLNX_OFED_LINUX-", "mlnx-ofed"}, {"MLNX_OFED-", "mlnx-ofed"}, {"OFED-internal-", "doca-ofed"}, {"DOCA-OFED-", "doca-ofed"}, {"OFED-", "ofed"},
	} {
		if rest, ok := strings.CutPrefix(text, known.prefix); ok && rest != "" {
			return known.stack, rest
		}
	}
	return "", ""
}

// replacesKernel says that a module package of DKMS has modules of the kernel's own names. Others
// (kernel-mft, knem, xpmem) stand beside any stack.
func replacesKernel(name string) bool {
	return strings.HasPrefix(name, "mlnx-") || slices.Contains([]string{"iser", "isert", "srp", "compat-rdma"}, name)
}

// vendorVersion is the version of the modules of MLNX_OFED and DOCA-OFED (24.04-0.6.6, 4.9-7.1.0).
// The kernel's own have none, or 5.0-0 and 4.0-0.
var vendorVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+-[0-9]+\.[0-9]+\.[0-9]+`)

func vendorFile(d facts.DiskModule) bool {
	return slices.Contains([]string{"updates", "dkms", "extra", "weak-updates"}, d.Origin.Or("")) && vendorVersion.MatchString(d.Version.Or(""))
}

// vendorModules are the modules of the card's drivers that a vendor's stack put on disk or into memory.
func vendorModules(in Input) []string {
	if in.inContainer() {
		return nil // the kernel is the machine's
	}
	var out []string
	for _, d := range in.Facts.Modules.OnDisk {
		if vendorFile(d) && !in.OtherKernel() {
			out = append(out, printable(d.Name+" "+d.Version.Value)+" in "+d.Origin.Value)
		}
	}
	if len(out) == 0 && in.Running() {
		for _, m := range in.Facts.Modules.Loaded.Or(nil) {
			if vendorVersion.MatchString(m.Version.Or("")) && strings.HasPrefix(m.Name, "mlx") {
				out = append(out, printable(m.Name+" "+m.Version.Value)+" in memory")
			}
		}
	}
	slices.Sort(out)
	return out
}

func vendorModuleSource(in Input) string {
	for _, d := range in.Facts.Modules.OnDisk {
		if vendorFile(d) {
			return d.Version.Source
		}
	}
	return in.Facts.Modules.Loaded.Source
}

// StackVersions are the versions of the stacks that are on the host, by stack: what ofed_info says,
// else the package that carries a stack's version best, else DKMS, else the driver's own. Of DOCA ofed_info
// tells the drivers' version only, so the package that has DOCA's own wins.
func StackVersions(in Input) map[string]string {
	installed, _ := InstalledPackages(in.Facts)
	versions := map[string]string{}
	rank := map[string]int{}
	own := "" // DOCA's own version
	// The package that carries a stack's version best, last one wins.
	order := []string{"libibverbs1", "libibverbs", "rdma-core", "mlnx-ofed-kernel-utils", "mlnx-ofed-kernel-dkms", "ofed-scripts", "doca-ofed"}
	for _, p := range installed {
		name, _, _ := strings.Cut(p.Name, ":")
		if name == "libibverbs1" && strings.Contains(p.Version, PackageMark) {
			versions["rdma-core"] = UpstreamVersion(p) // packages that were built from source
			continue
		}
		if i := slices.Index(order, name) + 1; i > rank[p.Origin] {
			versions[p.Origin], rank[p.Origin] = p.Version, i
			if name == "doca-ofed" && p.Origin == name {
				own = p.Version
			}
		}
	}
	if v, ok := in.Facts.Packages.Vendor.Get(); ok { // from DOCA 4.0 there is no ofed_info
		switch {
		case v.Version != "":
			versions[v.Stack] = v.Version
			if v.Stack == "doca-ofed" {
				own = v.Version
			}
		case v.Driver != "":
			versions[v.Stack] = v.Driver
		}
	}
	if stack, version := stackOfOFEDInfo(in.Facts.Packages.OFEDInfo.Or("")); stack != "" && (own == "" || stack != "doca-ofed") {
		versions[stack] = version
	}
	for _, d := range in.Facts.Modules.DKMS.Or(nil) {
		if slices.Contains(foreignStacks(), d.Origin) && replacesKernel(d.Name) && versions[d.Origin] == "" {
			versions[d.Origin] = d.Version
		}
	}
	for _, t := range foreignTraces(in) {
		if versions[t.stack] == "" {
			if modules := vendorModules(in); len(modules) > 0 {
				versions[t.stack] = strings.Fields(modules[0])[1]
			}
		}
	}
	for _, l := range in.Facts.Userspace.Built.Or(nil) {
		if version, ok := l.Version.Get(); ok && l.Active.Or(false) {
			versions["rdma-core"] = version
		}
	}
	return versions
}
