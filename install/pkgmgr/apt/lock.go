package apt

import (
	"context"
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
	if m.staged.away() {
		return pkgmgr.WaitFor(ctx, limit, func() *pkgmgr.LockedError { return pkgmgr.LockOwner(m.Host, m.staged.locks()) })
	}
	return pkgmgr.WaitFor(ctx, limit, func() *pkgmgr.LockedError { return lockOwner(m.Host) })
}

func lockOwner(r host.Reader) *pkgmgr.LockedError { return pkgmgr.LockOwner(r, lockFiles()) }
