package vendorlab

import (
	"os/exec"
	"strings"
)

// Bind is a directory of this machine that is seen in a root.
type Bind struct {
	// From is on this machine, To the place in the root, which must be there.
	From, To string
}

// enter runs in mount and process namespaces of its own, so that nothing stays mounted whatever happens.
const enter = `set -e
root=$1; shift
mount -t proc proc "$root/proc"
while [ "$1" != -- ]; do mkdir -p "$root$2"; mount --bind "$1" "$root$2"; shift 2; done
shift
exec chroot "$root" "$@"`

// Chroot is a shell script as it runs in a root, with a small environment and no network of its own
// removed: set -e holds, and standard input is empty.
func Chroot(root, script string, binds ...Bind) *exec.Cmd {
	args := []string{"--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-c", enter, "sh", root}
	for _, b := range binds {
		args = append(args, b.From, b.To)
	}
	args = append(args, "--", "/bin/sh", "-ec", script)
	cmd := exec.Command("unshare", args...)
	cmd.Env = []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C",
		"DEBIAN_FRONTEND=noninteractive", "TERM=dumb",
	}
	return cmd
}

// quoted is a word for a shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
