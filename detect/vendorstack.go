package detect

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

var (
	// Canonical's own packages of DOCA-OFED for Ubuntu 26.04: doca-ofed-generic, doca-ofed-aws-64k,
	// linux-modules-doca-ofed-3.4-generic, doca-ofed-3.4-dkms.
	canonicalName = regexp.MustCompile(`^(?:linux-modules-doca-ofed-.*|doca-ofed-[0-9.]+-dkms|doca-ofed-(?:generic|aws|azure|gcp|oracle|nvidia|ibm)(?:-.*)?)$`)
	canonicalLine = regexp.MustCompile(`^(?:linux-modules-)?doca-ofed-([0-9]+\.[0-9]+)-`)
	// 5.4-OFED.5.4.1.0.3.1.ol8u4 and 23.10.OFED.23.10.1.1.9.1-1 are 5.4-1.0.3 and 23.10-1.1.9: branch, release,
	// and the number of the package's build.
	driverRelease = regexp.MustCompile(`OFED\.([0-9]+\.[0-9]+)\.([0-9]+(?:\.[0-9]+){2})(?:\.[0-9]+)?`)
	// ...1.kver.5.4.17_2102.203.6.el8uek.x86_64: prebuilt for one kernel
	prebuiltFor = regexp.MustCompile(`[.-]kver\.(.+)$`)
	dottedStart = regexp.MustCompile(`^[0-9]+(?:\.[0-9]+)+`)
	bundleName  = regexp.MustCompile(`^(?:MLNX_OFED_LINUX|mlnx-en|OFED-internal|OFED|DOCA-OFED)-([0-9][0-9A-Za-z.-]*)`)
)

// docaMeta are the packages that stand for DOCA on a host, with the release as their version.
func docaMeta() []string {
	return []string{
		"doca-ofed", "doca-all", "doca-networking", "doca-roce", "doca-host-basic", "doca-ofed-userspace", "doca-all-userspace", "doca-networking-userspace",
		"doca-runtime", "doca-kernel", "doca-cx",
	}
}

// vendorStack tells from the packages which vendor stack is installed, and from ofed_info where that is
// there. It is absent when the database was asked and has nothing of one.
func vendorStack(pkgs facts.Packages, all facts.Field[[]facts.Package], d facts.Distro) facts.Field[facts.VendorStack] {
	var v facts.VendorStack
	source := pkgs.Installed.Source
	info, told := pkgs.OFEDInfo.Get()
	if told {
		v.Stack, source = vendorOf(nil, info), pkgs.OFEDInfo.Source
		if m := bundleName.FindStringSubmatch(info); m != nil && v.Stack != docaOFED {
			v.Version = m[1]
		} else if m != nil {
			v.Driver = m[1]
		}
	}
	for _, pkg := range pkgs.Installed.Or(nil) {
		if pkg.Origin != mlnxOFED && pkg.Origin != docaOFED && pkg.Origin != ofaOFED || pkg.Name == "doca-host" || strings.HasSuffix(pkg.Name, "-repo") {
			continue // doca-host brings a repository and nothing of the stack
		}
		if v.Stack == "" && ofStackItself(pkg.Name) {
			v.Stack = pkg.Origin
		}
	}
	for _, pkg := range pkgs.Installed.Or(nil) {
		if v.Stack != "" && pkg.Origin == v.Stack {
			addVendorPackage(&v, pkg)
		}
	}
	if v.Stack == "" {
		switch {
		case pkgs.Installed.IsUnknown(), pkgs.Excerpt:
			return facts.Field[facts.VendorStack]{Source: source, Error: pkgs.Installed.Error}
		}
		return facts.None[facts.VendorStack](all.Source)
	}
	if v.Supplier == "" && v.Stack != ofaOFED {
		v.Supplier = nvidia
	}
	return facts.Is(v, source)
}

// ofStackItself says that a package is a part without which there is no stack: modules, the libraries, or
// what stands for the whole. Firmware tools, the firmware updater and MPI parts are installed alone, too.
func ofStackItself(name string) bool {
	if core(name) || slices.Contains(docaMeta(), name) || metaOfMLNX(name) || canonicalName.MatchString(name) {
		return true
	}
	for _, prefix := range []string{"rdma-core", "libibverbs", "ibverbs-providers", "librdmacm", "libmlx4", "libmlx5", "libibumad", "libibmad", "ofed-scripts", "mlnx-en", "kmod-mlnx-en"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// withDKMS completes the stack by what DKMS keeps: a host may tell no packages, and an evidence of
// "dkms status" alone shows the stack as well. Sources that outlived their packages do not make a stack.
func withDKMS(v facts.Field[facts.VendorStack], dkms facts.Field[[]facts.DKMSPackage]) facts.Field[facts.VendorStack] {
	for _, d := range dkms.Or(nil) {
		if !core(d.Name) || d.Origin != mlnxOFED && d.Origin != docaOFED || v.IsAbsent() {
			continue
		}
		if v.IsUnknown() {
			v = facts.Is(facts.VendorStack{Stack: d.Origin, Supplier: nvidia}, dkms.Source)
		}
		if v.Value.Build == "" {
			v.Value.Build = "dkms"
		}
		if m := driverRelease.FindStringSubmatch(d.Version); m != nil && v.Value.Driver == "" {
			v.Value.Driver = m[1] + "-" + m[2]
		}
	}
	return v
}

// addVendorPackage adds what one package tells.
func addVendorPackage(v *facts.VendorStack, pkg facts.Package) {
	name := pkg.Name
	if pkg.Supplier == canonical || pkg.Supplier == hpe {
		v.Supplier = pkg.Supplier
	}
	if m := canonicalLine.FindStringSubmatch(name); pkg.Supplier == canonical && m != nil && v.Version == "" {
		v.Version = m[1]
	}
	if slices.Contains(docaMeta(), name) && v.Stack == docaOFED && v.Version == "" {
		v.Version = dottedStart.FindString(pkg.Version)
	}
	if metaOfMLNX(name) && v.Stack == mlnxOFED && v.Version == "" {
		v.Version = pkg.Version // 24.10-1.1.4.0
	}
	if name == "libibverbs" || name == "libibverbs1" {
		v.Library = pkg.Version
	}
	kernelPart := kernelPackage(name)
	if !kernelPart {
		return
	}
	if m := driverRelease.FindStringSubmatch(pkg.Version); m != nil && (v.Driver == "" || core(name)) {
		v.Driver = m[1] + "-" + m[2]
	}
	if !core(name) && v.Build != "" {
		return
	}
	switch m := prebuiltFor.FindStringSubmatch(pkg.Version); {
	case m != nil:
		v.Build = "kernel"
		if !slices.Contains(v.Kernels, m[1]) {
			v.Kernels = append(v.Kernels, m[1])
		}
	case strings.HasPrefix(name, "linux-modules-doca-ofed-"):
		v.Build = "kernel"
	case v.Build == "kernel":
	case strings.Contains(name, "dkms"):
		v.Build = "dkms"
	case strings.HasPrefix(name, "kmod-"), strings.HasSuffix(name, "-kmp-default"), strings.Contains(name, "-kmp-"):
		v.Build = "kmp"
	case strings.HasSuffix(name, "-modules"):
		v.Build = "kernel"
	}
}

// kernelPackage says that a package holds kernel modules or their source.
func kernelPackage(name string) bool {
	return core(name) || strings.Contains(name, "-dkms") || strings.HasPrefix(name, "kmod-") || strings.Contains(name, "-kmp-") || strings.HasSuffix(name, "-modules") ||
		strings.HasPrefix(name, "linux-modules-doca-ofed-")
}

// core says that a package holds the RDMA core and mlx5.
func core(name string) bool {
	return strings.Contains(name, "mlnx-ofa_kernel") || strings.HasPrefix(name, "mlnx-ofed-kernel") || strings.HasPrefix(name, "compat-rdma") || strings.HasPrefix(name, "linux-modules-doca-ofed-")
}

// excerptOf says that a listing of evidence is not the whole: it lacks what every host has. The answer
// about named packages is whole.
func excerptOf(all facts.Field[[]facts.Package]) bool {
	if all.Source == "rpm -q" {
		return false
	}
	return !slices.ContainsFunc(all.Value, func(p facts.Package) bool {
		return p.Name == "base-files" || p.Name == "bash" || p.Name == "filesystem" || p.Name == "glibc"
	})
}

// vendorSymbols lists /usr/src/ofa_kernel/ARCH, whose directories are named for kernels. "default" is a link
// to one of them, in MLNX_OFED up to 5.x beside ARCH.
func (p probe) vendorSymbols(arch facts.Field[string]) facts.Field[[]string] {
	const dir = "/usr/src/ofa_kernel"
	below := dir
	if name, ok := arch.Get(); ok {
		below += "/" + name
	}
	var kernels []string
	names, complete, err := p.listed(below)
	for _, name := range names {
		if name != "default" && name != "source" && facts.IsKernelRelease(name) {
			kernels = append(kernels, name)
		}
	}
	if target := p.linkBase(dir + "/default"); target.IsKnown() && len(kernels) == 0 && facts.IsKernelRelease(target.Value) {
		return facts.Is([]string{target.Value}, dir+"/default")
	}
	if err != nil || len(kernels) == 0 && !complete {
		return field[[]string](nil, below, cmp.Or(err, host.ErrUnknown))
	}
	return list(kernels, below)
}
