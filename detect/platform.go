package detect

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// platform says what the host runs on and as whom it is read.
func (p probe) platform() facts.Platform {
	var out facts.Platform
	if p.told.IsImage() {
		// An image runs nowhere yet.
		const source, why = "--root", "an image runs nowhere yet"
		for _, f := range []*facts.Field[string]{&out.Virtualization, &out.ContainerRuntime, &out.MachineVendor, &out.MachineModel} {
			*f = unknown[string](source, why)
		}
		out.Container, out.Systemd = unknown[bool](source, why), unknown[bool](source, why)
		out.UID, out.ImageBased = p.uid(), p.imageBased()
		return out
	}
	out.MachineVendor = p.attr("/sys/class/dmi/id/sys_vendor")
	out.MachineModel = p.attr("/sys/class/dmi/id/product_name")
	out.Virtualization = p.virtualization(out.MachineVendor.Or(""), out.MachineModel.Or(""))
	out.Container, out.ContainerRuntime = p.container()
	out.UID = p.uid()
	out.ImageBased, out.RebootPending = p.imageBased(), p.rebootPending()
	out.CPUs = parsed(p.attr("/sys/devices/system/cpu/online"), countOfList)
	if text, from := p.firstTold("nproc"); out.CPUs.IsUnknown() && text != "" {
		out.CPUs = parsed(facts.Is(strings.TrimSpace(text), from), number)
	}
	_, err := p.r.Stat("/run/systemd/system")
	switch {
	case err == nil:
		out.Systemd = facts.Is(true, "/run/systemd/system")
	case errors.Is(err, fs.ErrNotExist):
		out.Systemd = facts.Is(false, "/run/systemd/system")
	default:
		out.Systemd = field(false, "/run/systemd/system", err)
	}
	return out
}

// countOfList counts the members of a list of the kernel such as "0-3,8".
func countOfList(text string) (int, error) {
	n := 0
	for part := range strings.SplitSeq(text, ",") {
		low, high, ranged := strings.Cut(part, "-")
		from, err := number(low)
		if err != nil {
			return 0, err
		}
		to := from
		if ranged {
			if to, err = number(high); err != nil {
				return 0, err
			}
		}
		if to < from {
			return 0, fmt.Errorf("%q is not a range", part)
		}
		n += to - from + 1
	}
	return n, nil
}

// rebootPending looks for the mark that packages leave. Its absence means something only where marks are
// made: /run/reboot-required comes from update-notifier and unattended-upgrades.
func (p probe) rebootPending() facts.Field[bool] {
	for _, file := range []string{"/run/reboot-required", "/run/reboot-needed"} {
		if _, err := p.r.Stat(file); err == nil {
			return facts.Is(true, file)
		} else if f := field(false, file, err); f.Error != "" {
			return f
		}
	}
	return facts.Field[bool]{Source: "/run/reboot-required"}
}

// imageBased looks for the marks of systems whose files are replaced as a whole.
func (p probe) imageBased() facts.Field[string] {
	marks := []struct{ file, name string }{{"/run/ostree-booted", "ostree"}, {"/usr/sbin/transactional-update", "transactional-update"}}
	absent := 0
	out := facts.Field[string]{Source: marks[0].file}
	for _, m := range marks {
		_, err := p.r.Stat(m.file)
		switch f := field(m.name, m.file, err); {
		case f.IsKnown():
			return f
		case f.IsAbsent():
			absent++
		case f.Error != "":
			out = f
		}
	}
	if absent == len(marks) {
		return facts.None[string](marks[0].file)
	}
	return out
}

func (p probe) uid() facts.Field[int] {
	if p.told.UID != nil {
		return facts.Is(*p.told.UID, "the reader")
	}
	text, err := p.run("id", "-u")
	if err != nil {
		return field(0, "id -u", err)
	}
	return parsed(facts.Is(strings.TrimSpace(text), "id -u"), number)
}

func (p probe) virtualization(vendor, model string) facts.Field[string] {
	const source = "systemd-detect-virt --vm"
	// On bare metal it prints "none" and ends with 1.
	res, err := p.r.Query(p.ctx, "systemd-detect-virt", "--vm")
	if word := strings.TrimSpace(res.Stdout); err == nil && word != "" && !strings.ContainsAny(word, " \n") {
		return facts.Is(word, source)
	}
	if kind := virtualizationOf(vendor, model); kind != "" {
		return facts.Is(kind, "/sys/class/dmi/id")
	}
	if errors.Is(err, host.ErrNotInstalled) {
		return unknown[string](source, "systemd-detect-virt is not installed")
	}
	return field("", source, err)
}

// virtualizationOf names the hypervisor by the machine's name, in systemd-detect-virt's words.
func virtualizationOf(vendor, model string) string {
	switch {
	case vendor == "QEMU":
		return "qemu"
	case vendor == "Microsoft Corporation" && model == "Virtual Machine":
		return "microsoft"
	case strings.HasPrefix(vendor, "VMware"):
		return "vmware"
	case vendor == "innotek GmbH":
		return "oracle"
	case vendor == "Xen":
		return "xen"
	case vendor == "Google" && model == "Google Compute Engine":
		return "google"
	case vendor == "Amazon EC2" && !strings.Contains(model, ".metal"):
		return "amazon"
	}
	return ""
}

// container finds out whether the reader is in a container. What the source says of itself outdoes
// what its files show; where both say the same, the files are named as the source.
func (p probe) container() (facts.Field[bool], facts.Field[string]) {
	in, runtime := p.containerByFiles()
	told := p.told.Container
	if told == nil {
		return in, runtime
	}
	const source = "the evidence's context"
	if known, ok := in.Get(); !ok || known != *told {
		in, runtime = facts.Is(*told, source), facts.Field[string]{Source: source}
		if !*told {
			runtime = facts.None[string](source)
		}
	}
	if name := p.told.ContainerRuntime; name != "" && runtime.Or("") != name {
		runtime = facts.Is(name, source)
	}
	return in, runtime
}

// containerByFiles looks for a runtime's file and at the first process's control group.
func (p probe) containerByFiles() (facts.Field[bool], facts.Field[string]) {
	if runtime := p.attr("/run/systemd/container"); runtime.IsKnown() {
		return facts.Is(true, runtime.Source), runtime
	}
	for _, f := range []struct{ path, runtime string }{
		{"/var/run/secrets/kubernetes.io", "kubernetes"}, {"/.dockerenv", "docker"}, {"/run/.containerenv", "podman"},
	} {
		if _, err := p.r.Stat(f.path); err == nil {
			return facts.Is(true, f.path), facts.Is(f.runtime, f.path)
		}
	}
	const cgroup = "/proc/1/cgroup"
	groups := p.attr(cgroup).Or("")
	if runtime := cgroupRuntime(groups); runtime != "" {
		return facts.Is(true, cgroup), facts.Is(runtime, cgroup)
	}
	const virt = "systemd-detect-virt --container"
	res, err := p.r.Query(p.ctx, "systemd-detect-virt", "--container")
	switch word := strings.TrimSpace(res.Stdout); {
	case err == nil && word == "none":
		return facts.Is(false, virt), facts.None[string](virt)
	case err == nil && word != "" && !strings.ContainsAny(word, " \n"):
		return facts.Is(true, virt), facts.Is(word, virt)
	}
	// systemd as the init system puts itself into init.scope.
	if strings.HasSuffix(groups, "/init.scope") {
		return facts.Is(false, cgroup), facts.None[string](cgroup)
	}
	if p.evidence() || groups == "" {
		return facts.Field[bool]{Source: cgroup}, facts.Field[string]{Source: cgroup}
	}
	return unknown[bool](cgroup, "neither a runtime's file nor the control group tells"), facts.Field[string]{Source: cgroup}
}

func cgroupRuntime(text string) string {
	for _, r := range []struct{ word, runtime string }{
		{"kubepods", "kubernetes"}, {"libpod", "podman"}, {"docker", "docker"}, {"/lxc", "lxc"}, {"containerd", "containerd"}, {"crio-", "cri-o"},
	} {
		for line := range strings.Lines(text) {
			// "ID:controllers:path"; a controller's name is not looked at.
			parts := strings.SplitN(line, ":", 3)
			if len(parts) == 3 && strings.Contains(parts[2], r.word) {
				return r.runtime
			}
		}
	}
	return ""
}
