package install

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
)

const someMounts = `/dev/vda1 / ext4 rw,relatime 0 0
/dev/vda2 /usr ext4 ro,relatime,errors=remount-ro 0 0
tmpfs /usr/local tmpfs rw 0 0
/dev/vda3 /var/my\040disk ext4 ro 0 0
/dev/vda4 /mnt ext4 ro 0 0
/dev/vda5 /mnt ext4 rw 0 0
broken line
`

func TestMountOf(t *testing.T) {
	for dir, want := range map[string]struct {
		point    string
		readOnly bool
	}{
		"/etc": {"/", false}, "/usr": {"/usr", true}, "/usr/lib": {"/usr", true}, "/usr/local/lib": {"/usr/local", false},
		"/usrlocal": {"/", false}, "/var/my disk/x": {"/var/my disk", true}, "/mnt/x": {"/mnt", false},
	} {
		if point, readOnly := mountOf(someMounts, dir); point != want.point || readOnly != want.readOnly {
			t.Errorf("%s is on %s, read-only %v; want %+v", dir, point, readOnly, want)
		}
	}
}

func TestReadOnlyFileSystemStopsBeforeAnything(t *testing.T) {
	b := newBench(t)
	b.h.put("/proc/self/mounts", "/dev/vda1 / ext4 rw 0 0\n/dev/vda2 /usr ext4 ro 0 0\n")
	before := b.h.tree()
	_, err := b.start()
	wantKind(t, err, fault.Stopped, "/usr, which is mounted read-only")
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("something changed (-before +after):\n%s", diff)
	}
	b.h.put("/proc/self/mounts", "/dev/vda1 / ext4 rw 0 0\n/dev/vda2 /usr ext4 rw 0 0\n/dev/vda3 /srv ext4 ro 0 0\n")
	if _, err := b.start(); err != nil {
		t.Error(err)
	}
}

// TestReadOnlyDirectoryOfAnImage asks the file system of a directory itself, or of the one above.
func TestReadOnlyDirectoryOfAnImage(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: a file system is mounted")
	}
	dir := t.TempDir()
	for _, name := range []string{"usr", "etc"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	usr := filepath.Join(dir, "usr")
	if err := unix.Mount("rdmactl-test", usr, "tmpfs", unix.MS_RDONLY, "size=16k"); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(usr, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	h, err := host.NewRooted(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, want := range map[string]bool{"/usr": true, "/usr/lib/gone": true, "/etc": false, "/etc/gone": false, "/": false} {
		if got, err := isReadOnly(h, name); err != nil || got != want {
			t.Errorf("%s is read-only: %v, %v; want %v", name, got, err, want)
		}
	}
}
