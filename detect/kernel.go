package detect

import (
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// kernel describes the running kernel; for an image, the only kernel that is installed in it.
func (p probe) kernel(arch facts.Field[string]) facts.Kernel {
	k := facts.Kernel{
		Release: p.release(), Arch: arch, Taint: parsed(p.attr("/proc/sys/kernel/tainted"), int64Of),
		Lockdown: p.lockdown(), ModulesDisabled: parsed(p.attr("/proc/sys/kernel/modules_disabled"), yesNo),
		Cmdline: parsed(p.attr("/proc/cmdline"), func(s string) (string, error) { return host.CleanCredentials("/proc/cmdline", s), nil }),
	}
	names, err := p.r.ReadDir("/lib/modules")
	k.Installed = field(names, "/lib/modules", err)
	if k.Installed.IsKnown() {
		k.Installed = list(names, "/lib/modules")
	}
	k.Running = k.Release.IsKnown()
	if p.told.IsImage() {
		k.Running = false
		k.Release = onlyKernel(k.Installed)
	}
	if p.kernelAsked != "" {
		k.Running = k.Release.Or("") == p.kernelAsked && !p.told.IsImage()
		k.Release = facts.Is(p.kernelAsked, "--kernel")
	}
	// The release becomes a part of paths and questions.
	if text, ok := k.Release.Get(); ok && !facts.IsKernelRelease(text) {
		k.Release, k.Running = unknown[string](k.Release.Source, "%q is not the release of a kernel", text), false
	}
	release, ok := k.Release.Get()
	if !ok {
		why := "the kernel's release is not known"
		k.Flavour, k.Config, k.Headers = unknown[string](k.Release.Source, "%s", why),
			unknown[map[string]string](k.Release.Source, "%s", why), unknown[string](k.Release.Source, "%s", why)
		return k
	}
	if flavour := kernelFlavour(release); flavour != "" {
		k.Flavour = facts.Is(flavour, k.Release.Source)
	} else {
		k.Flavour = facts.None[string](k.Release.Source)
	}
	k.Config = p.kernelConfig(release, k.Running)
	k.Headers = p.headers(release)
	return k
}

func onlyKernel(installed facts.Field[[]string]) facts.Field[string] {
	names, ok := installed.Get()
	switch {
	case installed.IsAbsent():
		return unknown[string](installed.Source, "no kernel is installed; name one with --kernel")
	case !ok:
		return facts.Field[string]{State: facts.Unknown, Source: installed.Source, Error: installed.Error}
	case len(names) == 1:
		return facts.Is(names[0], installed.Source)
	}
	return unknown[string](installed.Source, "%d kernels are installed; name one with --kernel", len(names))
}

func (p probe) release() facts.Field[string] {
	if p.told.IsImage() {
		return facts.Field[string]{Source: "/lib/modules"}
	}
	f := p.attr("/proc/sys/kernel/osrelease")
	if f.IsKnown() {
		return f
	}
	text, err := p.run("uname", "-r")
	if text = strings.TrimSpace(text); err == nil && text != "" {
		return facts.Is(text, "uname -r")
	}
	if text, source := p.firstTold("uname -a", "cat /proc/version"); text != "" {
		// "Linux NAME RELEASE ..." and "Linux version RELEASE ..."
		if words := strings.Fields(text); len(words) > 2 {
			return facts.Is(words[2], source)
		}
	}
	if words := strings.Fields(p.attr("/proc/version").Or("")); len(words) > 2 && words[1] == "version" {
		return facts.Is(words[2], "/proc/version")
	}
	if f.IsAbsent() {
		return unknown[string](f.Source, "/proc is not mounted")
	}
	return f
}

// arch returns the machine's name. In an image it follows from the loader, whose path is part of
// each architecture's ABI.
func (p probe) arch() facts.Field[string] {
	if !p.told.IsImage() {
		text, err := p.run("uname", "-m")
		if text = strings.TrimSpace(text); err == nil && text != "" {
			return facts.Is(text, "uname -m")
		}
		if text, source := p.firstTold("uname -a"); text != "" {
			for _, word := range strings.Fields(text) {
				if slices.Contains([]string{"x86_64", "aarch64", "ppc64le", "s390x", "riscv64", "i686", "armv7l"}, word) {
					return facts.Is(word, source)
				}
			}
		}
		if arch := p.loaderArch(); p.evidence() && arch.IsKnown() {
			return arch // it was saved of an image
		}
		if err != nil {
			return field("", "uname -m", err)
		}
		return facts.Field[string]{Source: "uname -m"}
	}
	return p.loaderArch()
}

func (p probe) loaderArch() facts.Field[string] {
	for _, l := range loaders() {
		if _, err := p.r.Stat(l.loader); err == nil {
			return facts.Is(l.arch, l.loader)
		}
	}
	return unknown[string]("/lib", "no dynamic loader of a known architecture is there")
}

// kernelConfig reads the options that matter for RDMA. The file is 250 KB, so it is read through the
// filter that a person would use, and a recording has that text.
func (p probe) kernelConfig(release string, running bool) facts.Field[map[string]string] {
	files := []string{"/boot/config-" + release, "/lib/modules/" + release + "/config", "/usr/lib/modules/" + release + "/config"}
	for _, file := range files {
		if p.evidence() {
			if text, err := p.text(file); err == nil {
				return facts.Is(parseKernelConfig(text), file)
			}
		}
		res, err := p.r.Derive(p.ctx, file, []string{"grep", "-E", configPattern, file}, filterConfig)
		switch {
		case err == nil:
			return facts.Is(parseKernelConfig(res.Stdout), file)
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, host.ErrUnknown):
			return facts.Failed[map[string]string](file, err)
		}
	}
	if running {
		const file = "/proc/config.gz" // needs CONFIG_IKCONFIG_PROC
		res, err := p.r.Derive(p.ctx, file, []string{"zgrep", "-E", configPattern, file}, filterGzipConfig)
		if err == nil {
			return facts.Is(parseKernelConfig(res.Stdout), file)
		}
	}
	if p.evidence() {
		return facts.Field[map[string]string]{Source: files[0]}
	}
	return unknown[map[string]string](files[0], "the kernel's configuration is not on the host")
}

// configPattern selects the options of drivers/infiniband, the drivers and the users of RDMA, and
// what decides about building, signing and loading modules, and about the size of pages.
const configPattern = `^(# )?CONFIG_(INFINIBAND|MLX[45]|RDMA|RDS|SMC|NVME_RDMA|NVME_TARGET_RDMA|SUNRPC_XPRT_RDMA|NET_9P_RDMA|CIFS_SMB_DIRECT|CGROUP_RDMA|PCI_P2PDMA|DMABUF_MOVE_NOTIFY|CONFIGFS_FS|DCB|MANA|MODULES|MODVERSIONS|MODULE_|SECURITY_LOCKDOWN_LSM|LOCK_DOWN_KERNEL_FORCE|ARM64_[0-9]+K_PAGES|PPC_[0-9]+K_PAGES|PAGE_SIZE_[0-9]+KB|PREEMPT_RT|TRIM_UNUSED_KSYMS|DEBUG_INFO_BTF|PCI_HYPERV|NET_DEVLINK|DPLL|FWCTL|AUXILIARY_BUS|INTEGRITY_MACHINE_KEYRING|SECONDARY_TRUSTED_KEYRING)[A-Z0-9_]*[= ]`

var configLine = regexp.MustCompile(configPattern)

func filterConfig(file io.ReaderAt, size int64) (string, error) {
	data, err := io.ReadAll(io.NewSectionReader(file, 0, size))
	return grepConfig(string(data)), err
}

func filterGzipConfig(file io.ReaderAt, _ int64) (string, error) {
	// A file of /proc has size 0; this one is 60 KB and 250 KB unpacked.
	unpacked, err := gzip.NewReader(io.NewSectionReader(file, 0, 4<<20))
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(unpacked, 4<<20))
	return grepConfig(string(data)), err
}

func grepConfig(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		// The prefix test spares the expression for most of the ten thousand lines.
		if (strings.HasPrefix(line, "CONFIG_") || strings.HasPrefix(line, "# CONFIG_")) && configLine.MatchString(line) {
			out.WriteString(line)
		}
	}
	return out.String()
}

// parseKernelConfig reads "CONFIG_X=m" and "# CONFIG_X is not set". An option that is not in the
// text is not in the map: an older kernel does not know it, and an excerpt does not show it.
func parseKernelConfig(text string) map[string]string {
	config := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !configLine.MatchString(line + " ") {
			continue
		}
		if name, ok := strings.CutSuffix(line, " is not set"); ok {
			config[strings.TrimPrefix(name, "# CONFIG_")] = "n"
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "CONFIG_"), "=")
		if ok && (value == "y" || value == "m" || value == "n") {
			config[name] = value
		}
	}
	return config
}

// headers returns the build tree. Its link may be left over from a removed headers package.
func (p probe) headers(release string) facts.Field[string] {
	path := "/lib/modules/" + release + "/build"
	target, err := p.r.Readlink(path)
	if errors.Is(err, host.ErrUnknown) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return field("", path, err)
	}
	if err != nil {
		target = path // a directory, not a link
	}
	if _, err := p.r.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return facts.None[string](path + " -> " + target)
	}
	return facts.Is(target, path)
}

var rcSuffix = regexp.MustCompile(`^rc[0-9]+$`)

// kernelFlavour returns what a release says behind the version: "cloud-amd64" of
// 6.1.0-50-cloud-amd64, "generic", "nvidia-64k", "pve"; "uek" of Oracle's kernels, "rt" and "64k"
// of Red Hat's variants.
func kernelFlavour(release string) string {
	if strings.Contains(release, "uek") {
		return "uek"
	}
	// Red Hat writes variants behind a plus: 5.14.0-427.el9.x86_64+rt.
	if at := strings.LastIndexByte(release, '+'); at >= 0 && strings.Contains(release[:at], ".el") {
		return release[at+1:]
	}
	parts := strings.Split(release, "-")
	at := len(parts)
	for at > 1 && startsWithLetter(parts[at-1]) || at > 2 && parts[at-1] == "64k" {
		at--
	}
	if at < len(parts) && rcSuffix.MatchString(parts[at]) {
		at++
	}
	return strings.Join(parts[at:], "-")
}

func startsWithLetter(s string) bool {
	return s != "" && (s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z')
}

func int64Of(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, errors.New(strconv.Quote(s) + " is not a number")
	}
	return n, nil
}

// bracketed returns the chosen word of a list such as "none [integrity] confidentiality".
func bracketed(s string) (string, error) {
	_, rest, ok := strings.Cut(s, "[")
	word, _, closed := strings.Cut(rest, "]")
	if !ok || !closed || word == "" {
		return "", errors.New(strconv.Quote(s) + " has no word in brackets")
	}
	return word, nil
}
