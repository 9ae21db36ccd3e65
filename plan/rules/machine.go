package rules

import (
	"slices"
	"strings"
)

// ArchUnknown is a text that is no architecture that Linux runs on.
const ArchUnknown Code = "arch-unknown"

// machineName is an architecture as uname -m prints it, for one as a package manager writes it.
func machineName(text string) string {
	switch name := strings.ToLower(text); name {
	case "amd64", "x64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	case "ppc64el":
		return "ppc64le"
	}
	return text
}

// machines64 and machines32 are what uname -m prints.
func machines64() []string {
	return []string{
		"x86_64", "aarch64", "aarch64_be", "ppc64le", "ppc64", "s390x", "riscv64", "loongarch64", "mips64", "sparc64", "ia64", "alpha", "parisc64",
	}
}

func machines32() []string {
	return []string{
		"i386", "i486", "i586", "i686", "armv5tel", "armv5tejl", "armv6l", "armv7l", "armv8l", "ppc", "mips", "s390", "sparc", "parisc", "riscv32", "m68k",
	}
}

// IsMachine says that a text is an architecture that Linux runs on, as uname -m or a package manager writes it.
func IsMachine(text string) bool {
	name := machineName(text)
	return slices.Contains(machines64(), name) || slices.Contains(machines32(), name)
}

// machine: a misspelt architecture would pass for one of which nothing is documented.
func machine() Rule {
	return Rule{Name: "machine", Scope: Request, Source: "arch/ of Linux: what uname -m prints", Judge: func(in Input) []Finding {
		arch := in.Facts.Kernel.Arch
		name, known := arch.Get()
		if !known || slices.Contains(machines64(), name) || slices.Contains(machines32(), name) || len(notLinux().Judge(in)) > 0 {
			return nil
		}
		return refuse(ArchUnknown, arch.Source, "%q is no architecture that Linux runs on (uname -m prints x86_64, aarch64, ppc64le, s390x and others); nothing can be planned for it", printable(name))
	}}
}
