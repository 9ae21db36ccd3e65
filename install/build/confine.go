package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/rdmactl/rdmactl/host"
)

// Bounds of what a build of packages may take, beside those of its user.
const (
	confinedFile      = 4 << 30 // bytes of one file
	confinedProcesses = 16384
)

// confined is how a build is run that may do anything its source says, such as debian/rules: in namespaces without a
// network, where the directories that everyone writes to are the build's own, no process of the host is seen, and none
// of the build's outlives it. unprivileged takes its rights. dir is the build's own directory. An image's commands run
// in such namespaces anyway, without the right to make more; apart asks for what they lack.
func confined(h Host, dir string) (argv []string, apart, as string, err error) {
	drop, as, err := unprivileged(h)
	if err != nil {
		return nil, "", "", err
	}
	if len(drop) == 0 {
		return nil, "", "", stop("not-root", "run it with sudo", "cannot build packages: only root can shut a build in")
	}
	bounds := []string{"prlimit", fmt.Sprintf("--fsize=%d", confinedFile), fmt.Sprintf("--nproc=%d", confinedProcesses), "--core=0", "--"}
	if h.Told().Kind == "root" {
		return append(bounds, drop...), dir, as, nil
	}
	out := []string{
		"unshare", "--net", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc", "--",
		"sh", "-c", `for d in /tmp /var/tmp /dev/shm /dev/mqueue /run/lock; do case "$1" in "$d"/*) continue;; esac; [ ! -d "$d" ] || mount --bind "$1" "$d" || exit 125; done; shift; exec "$@"`, "sh", dir,
	}
	return append(append(out, bounds...), drop...), "", as, nil
}

// CanConfine says beforehand whether this host can shut a build in, by doing so with nothing.
func CanConfine(ctx context.Context, h Host) error {
	const hint = "install util-linux; in a container, give it the rights to make namespaces; leave --method away to build into a directory of its own"
	argv, apart, _, err := confined(h, "/tmp")
	if err != nil {
		return err
	}
	if _, err := h.Stat("/tmp"); errors.Is(err, fs.ErrNotExist) {
		return stop("cannot-confine", hint, "cannot shut a build in: there is no /tmp")
	}
	result, err := h.Run(ctx, host.Command{Argv: append(argv, "true"), Apart: apart})
	switch {
	case errors.Is(err, host.ErrNotInstalled):
		return stop("cannot-confine", hint, "cannot shut a build in: unshare or prlimit (util-linux) is not installed")
	case err != nil:
		return fmt.Errorf("cannot shut a build in: %w", err)
	case result.Exit != 0:
		return stop("cannot-confine", hint, "cannot shut a build in: %s", oneLine(result.Stderr+" "+result.Stdout))
	}
	return nil
}
