package install

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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
