package facts

import (
	"regexp"
	"strings"
)

// kernelRelease is what a kernel's build accepts as its release: the version, the local version and
// what a distribution adds. 64 is the room that uname(2) has.
var kernelRelease = regexp.MustCompile(`^[A-Za-z0-9_+~][A-Za-z0-9._+~-]{0,63}$`)

// IsKernelRelease says whether text can be the release of a kernel, and so a directory name below
// /lib/modules. Whatever is not must never become a part of a path or of a command.
func IsKernelRelease(text string) bool {
	return kernelRelease.MatchString(text) && !strings.Contains(text, "..")
}
