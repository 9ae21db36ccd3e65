package detect

import (
	"errors"
	"io/fs"
	"regexp"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

var (
	// 6.1.0-50-cloud-amd64, 6.11.5-amd64, 6.12.117+deb13-amd64, 6.12.9+bpo-amd64
	debianRelease = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9]+|\+(?:deb|bpo)[0-9.]*)?(?:\.bpo\.[0-9]+|-unsigned)?-(?:[a-z]+-)?(?:amd64|arm64|arm64-16k|686|686-pae|armmp|powerpc64le|s390x|riscv64|loong64)$`)
	// 5.15.0-101-generic, 6.11.0-1003-nvidia-64k
	ubuntuRelease = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+-[0-9]+-[a-z][a-z0-9-]*$`)
	pveRelease    = regexp.MustCompile(`^([0-9]+)\.([0-9]+)\.[0-9]+-[0-9]+-pve$`)
	// 5.14.0-427.el9.x86_64, 4.18.0-553.rt7.342.el8_10.x86_64, 5.14.0-427.el9.aarch64+64k, fc41, oe2403, an8, azl3
	rpmRelease = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9][0-9a-z.]*-[0-9][0-9A-Za-z._]*\.(?:el[0-9]|fc[0-9]|oe[0-9]|an[0-9]|al[0-9]|azl[0-9]|amzn[0-9])`)
	rtRelease  = regexp.MustCompile(`\.rt[0-9]`)
	// 5.14.21-150400.24.100-default, 4.12.14-122.37-azure
	suseRelease = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+-[0-9lp][0-9a-z.]*-([a-z0-9]+)$`)
)

// headersPackage names the package with the build tree of a kernel, as far as the release and the
// distribution tell. Absent is that of a kernel that the distribution did not make.
func headersPackage(release string, d facts.Distro) facts.Field[string] {
	id, source := d.ID.Or(""), d.ID.Source
	name := ""
	switch d.Family.Or("") {
	case "debian":
		m := pveRelease.FindStringSubmatch(release)
		switch {
		case m != nil && (len(m[1]) == 1 && m[1] < "6" || m[1] == "6" && len(m[2]) == 1 && m[2] < "5"):
			name = "pve-headers-" + release // Proxmox VE 8.0 and before
		case m != nil:
			name = "proxmox-headers-" + release
		case id == "ubuntu" && ubuntuRelease.MatchString(release), id != "ubuntu" && debianRelease.MatchString(release):
			name = "linux-headers-" + release
		}
	case "suse":
		if m := suseRelease.FindStringSubmatch(release); m != nil {
			name = "kernel-" + m[1] + "-devel"
		}
	case "rhel":
		name = rpmHeaders(release)
	default:
		return facts.Field[string]{Source: source}
	}
	if name == "" {
		return facts.None[string](source)
	}
	return facts.Is(name, source)
}

// rpmHeaders is kernel-devel of Red Hat's naming, with the variant in the name.
func rpmHeaders(release string) string {
	if !rpmRelease.MatchString(release) || strings.Contains(release, ".elrepo.") || strings.Contains(release, "_lustre") {
		return "" // elrepo's are kernel-lt-devel or kernel-ml-devel, which the release does not tell
	}
	base, variant, _ := strings.Cut(release, "+")
	switch {
	case strings.Contains(release, "uek"):
		variant = "uek"
	case variant == "" && rtRelease.MatchString(release):
		variant = "rt" // EL 7 and 8
	}
	if variant != "" {
		variant += "-"
	}
	return "kernel-" + variant + "devel-" + base
}

// kernels describes each kernel under /lib/modules.
func (p probe) kernels(installed facts.Field[[]string], d facts.Distro) facts.Field[[]facts.InstalledKernel] {
	names, ok := installed.Get()
	if !ok {
		return facts.Field[[]facts.InstalledKernel]{State: installed.State, Source: installed.Source, Error: installed.Error}
	}
	var out []facts.InstalledKernel
	for _, release := range names {
		if !facts.IsKernelRelease(release) {
			continue
		}
		k := facts.InstalledKernel{Release: release, Image: p.kernelImage(release), Headers: p.headers(release), HeadersPackage: headersPackage(release, d)}
		if flavour := kernelFlavour(release); flavour != "" {
			k.Flavour = facts.Is(flavour, installed.Source)
		} else {
			k.Flavour = facts.None[string](installed.Source)
		}
		out = append(out, k)
	}
	return list(out, installed.Source)
}

// kernelImage finds the file that boots: in /boot, or beside the modules, where Fedora's systems on
// images and boot loader entries have it.
func (p probe) kernelImage(release string) facts.Field[string] {
	files := []string{"/boot/vmlinuz-" + release, "/lib/modules/" + release + "/vmlinuz", "/boot/Image-" + release, "/boot/vmlinux-" + release}
	absent := 0
	for _, file := range files {
		switch _, err := p.r.Stat(file); {
		case err == nil:
			return facts.Is(file, file)
		case errors.Is(err, fs.ErrNotExist):
			absent++
		case !errors.Is(err, host.ErrUnknown):
			return facts.Failed[string](file, err)
		}
	}
	if absent == len(files) {
		return facts.None[string](files[0])
	}
	return facts.Field[string]{Source: files[0]}
}

// pageSize follows from the architecture, and where that has several from the kernel's configuration or,
// without it, from a release that ends in 64k as those of NVIDIA, Ubuntu and Red Hat do.
func (p probe) pageSize(k facts.Kernel) facts.Field[int] {
	if k.Running {
		if text, from := p.firstTold("getconf PAGESIZE", "getconf PAGE_SIZE"); text != "" {
			return parsed(facts.Is(strings.TrimSpace(text), from), number)
		}
	}
	sizes := map[string]int{"4K": 4 << 10, "16K": 16 << 10, "64K": 64 << 10}
	for option, value := range k.Config.Or(nil) {
		for name, size := range sizes {
			if value == "y" && (option == "ARM64_"+name+"_PAGES" || option == "PPC_"+name+"_PAGES" || option == "PAGE_SIZE_"+name+"B") {
				return facts.Is(size, k.Config.Source)
			}
		}
	}
	switch k.Arch.Or("") {
	case "x86_64", "s390x", "riscv64", "i686", "i386":
		return facts.Is(4<<10, k.Arch.Source)
	}
	if release, ok := k.Release.Get(); ok && strings.HasSuffix(release, "64k") {
		return facts.Is(64<<10, k.Release.Source)
	}
	return facts.Field[int]{Source: k.Config.Source}
}

var compiledBy = regexp.MustCompile(`\((?:[^()\s]+@[^()\s]+)\) \(((?:[^()]|\([^()]*\))*)\)`)

// compilerOf reads the compiler from /proc/version: "Linux version R (who@where) (gcc-12 (Ubuntu ...)
// 12.3.0, GNU ld ...) ...". Kernels before 5.8 write "(gcc version 8.5.0 20210514 (Red Hat 8.5.0-22) (GCC))".
func (p probe) compilerOf(k facts.Kernel) facts.Field[string] {
	const source = "/proc/version"
	if !k.Running {
		return facts.Field[string]{Source: source}
	}
	text := p.attr(source)
	if told, from := p.firstTold("cat /proc/version"); text.IsUnknown() && told != "" {
		text = facts.Is(told, from)
	}
	return parsed(text, func(s string) (string, error) {
		m := compiledBy.FindStringSubmatch(s)
		if m == nil {
			return "", errors.New("it names no compiler")
		}
		compiler, _, _ := strings.Cut(m[1], ", GNU ld")
		return compiler, nil
	})
}
