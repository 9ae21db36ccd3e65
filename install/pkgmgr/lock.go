package pkgmgr

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/host"
)

// WaitFor asks every second who holds a lock, until nobody does or limit has passed.
func WaitFor(ctx context.Context, limit time.Duration, owner func() *LockedError) error {
	deadline := time.Now().Add(limit)
	for {
		held := owner()
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

// LockOwner finds a process that both holds a POSIX write lock and has one of files open. What cannot
// be seen counts as free: the package manager itself looks at its lock too and says so.
func LockOwner(r host.Reader, files []string) *LockedError {
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
			if err == nil && slices.Contains(files, target) {
				return &LockedError{File: target, PID: pid, Command: commandOf(r, pid)}
			}
		}
	}
	return nil
}

// PIDFileOwner finds a living process that one of files names, as dnf, yum and libzypp leave them, and
// that is one of programs, by the beginning of its name: libzypp leaves its file behind, and the number
// may be another's by now. A file whose process has ended is stale, which they see for themselves.
func PIDFileOwner(r host.Reader, files, programs []string) *LockedError {
	for _, file := range files {
		text, err := r.ReadFile(file)
		if err != nil {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil || pid <= 0 {
			continue
		}
		if _, err := r.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err != nil {
			continue // ended, or not to be seen: an image's process table is not ours
		}
		command := strings.ToLower(commandOf(r, pid))
		if slices.ContainsFunc(programs, func(p string) bool { return strings.HasPrefix(command, p) }) {
			return &LockedError{File: file, PID: pid, Command: commandOf(r, pid)}
		}
	}
	return nil
}

func commandOf(r host.Reader, pid int) string {
	if comm, err := r.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil {
		return strings.TrimSpace(string(comm))
	}
	return "a process"
}
