package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// waitForManager waits until no other process works with the package manager, and says for whom it waits.
func (r *run) waitForManager(ctx context.Context) error {
	if r.env.Image == nil {
		return r.pm.Wait(ctx, r.lockWait())
	}
	var told bool
	var broken error
	err := pkgmgr.WaitFor(ctx, r.lockWait(), func() *pkgmgr.LockedError {
		held := r.env.Image.lockOwner()
		if held != nil && !told {
			told, broken = true, r.note("waiting up to %v: %v", r.lockWait(), held)
		}
		return held
	})
	if broken != nil {
		return broken
	}
	return err
}

// managerLocks are what dpkg, apt and rpm lock in a root while they work. What runs in an image outside of a run is a
// process of this machine, mostly a chroot of the image's maker; the image's own /proc, where a manager would look
// for it, is empty.
func managerLocks() []string {
	return []string{
		"/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock", "/var/lib/apt/lists/lock", "/var/cache/apt/archives/lock",
		"/var/lib/rpm/.rpm.lock", "/usr/lib/sysimage/rpm/.rpm.lock",
	}
}

// lockOwner finds a process that holds one of the image's locks. What cannot be looked at counts as free: the package
// manager looks at its lock too, and says so.
func (im *Image) lockOwner() *pkgmgr.LockedError {
	for _, file := range managerLocks() {
		pid, held, err := im.lockedBy(file)
		if err != nil || !held {
			continue
		}
		owner := &pkgmgr.LockedError{File: file, PID: pid, Command: "a process"}
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil {
			owner.Command = strings.TrimSpace(string(name))
		}
		return owner
	}
	return nil
}

// lockedBy asks the kernel who has a file of the image locked for writing; pid is 0 for a process that this one does
// not see.
func (im *Image) lockedBy(file string) (pid int, held bool, err error) {
	dir, err := im.host.OpenDir(path.Dir(file))
	if err != nil {
		return 0, false, err
	}
	defer dir.Close()                                                       // it was only looked at
	f, err := dir.OpenFile(path.Base(file), os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe would hold us
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer f.Close() // likewise
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock); err != nil {
		return 0, false, err
	}
	return max(int(lock.Pid), 0), lock.Type != unix.F_UNLCK, nil
}
