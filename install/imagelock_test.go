package install

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLockOwnerOfAnImage has another process hold a lock in an image; as far as the kernel is concerned, an open file
// description of its own is one.
func TestLockOwnerOfAnImage(t *testing.T) {
	dir := t.TempDir()
	const lock = "/var/lib/dpkg/lock-frontend"
	if err := os.MkdirAll(filepath.Dir(dir+lock), 0o755); err != nil {
		t.Fatal(err)
	}
	im, err := OpenImage(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := im.Close(); err != nil {
			t.Error(err)
		}
	})
	if held := im.lockOwner(); held != nil {
		t.Errorf("there is no lock, and yet %v", held)
	}
	if err := unix.Mkfifo(dir+"/var/lib/dpkg/lock", 0o600); err != nil { // nothing may wait at it
		t.Fatal(err)
	}
	f, err := os.OpenFile(dir+lock, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // closed below
	if held := im.lockOwner(); held != nil {
		t.Errorf("nobody holds the lock, and yet %v", held)
	}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		t.Fatal(err)
	}
	held := im.lockOwner()
	if held == nil || held.File != lock {
		t.Errorf("the lock is held, and yet %v", held)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if held := im.lockOwner(); held != nil {
		t.Errorf("the lock is free again, and yet %v", held)
	}
}
