package kmod

import (
	"fmt"
	"strings"

	"github.com/rdmactl/rdmactl/internal/fault"
)

// Codes of faults of loading and unloading.
const (
	CodeBlacklisted    = "module-blacklisted"
	CodeNotFound       = "module-not-found"
	CodeUnknownSymbol  = "module-unknown-symbol"
	CodeSymbolVersion  = "module-symbol-version"
	CodeVermagic       = "module-vermagic"
	CodeSignature      = "module-signature-rejected"
	CodeLockdown       = "module-lockdown"
	CodeNotPermitted   = "module-not-permitted"
	CodeNotLoaded      = "module-not-loaded"
	CodeInUse          = "module-in-use"
	CodeLoadFailed     = "module-load-failed"
	CodeConfigUnknown  = "module-config-unreadable"
	codeUnloadFailed   = "module-unload-failed"
	maxKernelLogExtent = 5 // lines of the kernel's log that a message repeats
)

// cause is what a message of modprobe and the kernel's log mean.
type cause struct {
	code string
	text string
	hint string
}

// explain maps the words of modprobe (strerror of init_module(2)) and of the kernel's log to a
// cause. Texts: kmod 28 to 34; kernel/module/{main,version,signing}.c up to Linux 6.12. log has the
// lines about this module only.
func explain(name, message, log string) cause {
	has := func(s string) bool { return strings.Contains(message, s) }
	logged := func(s string) bool { return strings.Contains(log, s) }
	switch {
	case has("not found in directory") || has("Module "+name+" not found"):
		return cause{
			CodeNotFound, "the kernel has no such module",
			"install the package with the kernel's extra modules (linux-modules-extra, kernel-modules-extra), " +
				"or reboot if the running kernel is not installed any more; built for another kernel: run depmod -a",
		}
	// The kernel names the symbol twice: "disagrees about version", then "Unknown symbol (err -22)".
	case logged("disagrees about version of symbol"):
		return cause{
			CodeSymbolVersion, "its symbol checksums differ from those of the modules that are loaded",
			"it was built against another kernel or another RDMA stack: rebuild it (dkms), or remove the stack it belongs to",
		}
	case has("Unknown symbol") || logged("Unknown symbol"):
		return cause{
			CodeUnknownSymbol, "a symbol that it needs is missing",
			"modules of two stacks are mixed, or a dependency is missing: compare `modinfo -n ib_core` with `modinfo -n " + name +
				"`, and reload the whole stack or reboot",
		}
	case has("Exec format error") || has("Invalid module format") || logged("version magic"):
		return cause{
			CodeVermagic, "it was built for another kernel release or configuration",
			"compare vermagic in `modinfo " + name + "` with `uname -r`, and install or rebuild it for the running kernel",
		}
	case has("Key was rejected") || has("Required key not available") ||
		logged("Loading of unsigned module is rejected") || logged("Loading of module with un"):
		return cause{
			CodeSignature, "the kernel does not accept its signature",
			"Secure Boot or module.sig_enforce is on: enroll the signing key (mokutil --import KEY, then reboot) or use signed modules",
		}
	case logged("Lockdown:"):
		return cause{
			CodeLockdown, "kernel lockdown refuses unsigned modules",
			"sign the module with an enrolled key, or use the distribution's own modules",
		}
	case has("Operation not permitted") || has("Permission denied"):
		return cause{
			CodeNotPermitted, "the kernel does not let this process load modules",
			"run as root with CAP_SYS_MODULE (not in a container); with Secure Boot on, see /sys/kernel/security/lockdown",
		}
	case has("Invalid argument"):
		return cause{
			CodeSymbolVersion, "the kernel refused it as invalid",
			"see dmesg: \"disagrees about version of symbol\" means built against another kernel or RDMA stack",
		}
	case has("No such device"):
		return cause{CodeLoadFailed, "it found no device that it drives", "look at lspci -nn and dmesg"}
	}
	return cause{CodeLoadFailed, "see the message", "look at the end of dmesg"}
}

// loadFault is the fault of a modprobe that ended badly.
func loadFault(name, message, log string, exit int) error {
	c := explain(name, message, log)
	said := oneLine(message)
	if said == "" {
		said = fmt.Sprintf("modprobe ended with %d and no message", exit)
	}
	if log != "" {
		said += "; kernel: " + oneLine(log)
	}
	return fault.New(fault.Failed, c.code, c.hint, "cannot load module %s: %s (%s)", name, c.text, said)
}

// oneLine joins lines, without the program's own prefix.
func oneLine(text string) string {
	var parts []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, prefix := range []string{"modprobe: ", "ERROR: ", "FATAL: "} {
			line = strings.TrimPrefix(line, prefix)
		}
		if line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}

// logOf returns the last lines of the kernel's log that speak of a module and of why it was refused.
func logOf(name, dmesg string) string {
	var lines []string
	for line := range strings.Lines(dmesg) {
		text := stripStamp(strings.TrimSpace(line))
		about := strings.HasPrefix(Normalize(text), Normalize(name)+":")
		policy := strings.HasPrefix(text, "Lockdown: modprobe:") || strings.HasPrefix(text, "Loading of ")
		if about || policy {
			lines = append(lines, text)
		}
	}
	if len(lines) > maxKernelLogExtent {
		lines = lines[len(lines)-maxKernelLogExtent:]
	}
	return strings.Join(lines, "\n")
}

// stripStamp cuts "[   12.345678] " or "[Mon Jan  1 ...] " off a line of dmesg.
func stripStamp(line string) string {
	if strings.HasPrefix(line, "[") {
		if _, rest, ok := strings.Cut(line, "] "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return line
}
