package rpm

import (
	"context"
	"time"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// rpmLocks are what rpm itself holds in a transaction, wherever the distribution keeps its database.
func rpmLocks() []string {
	return []string{"/var/lib/rpm/.rpm.lock", "/usr/lib/sysimage/rpm/.rpm.lock", "/usr/share/rpm/.rpm.lock"}
}

// pidFiles are those of every manager of rpm packages: another manager is as much in the way.
func pidFiles() []string {
	return []string{
		"/run/yum.pid", "/var/run/yum.pid", // yum 3
		"/var/cache/dnf/metadata_lock.pid", "/var/cache/dnf/download_lock.pid", "/var/lib/dnf/rpmdb_lock.pid", // dnf 4
		"/run/zypp.pid", "/var/run/zypp.pid", // libzypp: zypper, YaST, PackageKit
	}
}

// programs hold those files: the managers themselves, and what drives them as a library.
func programs() []string {
	return []string{"dnf", "yum", "zypp", "packagekit", "y2", "yast", "ruby", "python", "platform-python", "tukit", "transactional", "salt", "ansible"}
}

// Wait looks every second who holds the lock of rpm or of a manager above it.
func (t Tool) Wait(ctx context.Context, limit time.Duration) error {
	return pkgmgr.WaitFor(ctx, limit, func() *pkgmgr.LockedError {
		if held := pkgmgr.LockOwner(t.Host, rpmLocks()); held != nil {
			return held
		}
		return pkgmgr.PIDFileOwner(t.Host, pidFiles(), programs())
	})
}
