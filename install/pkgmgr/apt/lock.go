package apt

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// lockFiles are what apt and dpkg hold while they change packages. lock-frontend is from apt 1.7 on.
func lockFiles() []string {
	return []string{"/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock", "/var/lib/apt/lists/lock", "/var/cache/apt/archives/lock"}
}

// Wait looks every second who holds apt's locks.
func (m *Manager) Wait(ctx context.Context, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for {
		held := lockOwner(m.Host)
		if held == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return held
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot wait for %s: %w", held.Command, ctx.Err())
		case <-time.After(time.Second):
		}
	}
}

// lockOwner finds a process that both holds a POSIX lock and has one of the lock files open. What
// cannot be seen counts as free: apt itself waits for its lock too and says so.
func lockOwner(r host.Reader) *pkgmgr.LockedError {
	locks, err := r.ReadFile("/proc/locks")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(locks)) {
		// 1: POSIX  ADVISORY  WRITE 1234 fd:01:393240 0 EOF
		f := strings.Fields(line)
		if len(f) < 5 || f[1] != "POSIX" || f[3] != "WRITE" {
			continue
		}
		pid, err := strconv.Atoi(f[4])
		if err != nil || pid <= 0 {
			continue
		}
		dir := fmt.Sprintf("/proc/%d", pid)
		fds, err := r.ReadDir(dir + "/fd")
		if err != nil {
			continue // ended since, or not ours to see
		}
		for _, fd := range fds {
			target, err := r.Readlink(dir + "/fd/" + fd)
			if err != nil {
				continue
			}
			for _, file := range lockFiles() {
				if target != file {
					continue
				}
				command := "a process"
				if comm, err := r.ReadFile(dir + "/comm"); err == nil {
					command = strings.TrimSpace(string(comm))
				}
				return &pkgmgr.LockedError{File: file, PID: pid, Command: command}
			}
		}
	}
	return nil
}
