package host_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
)

// A write that is killed leaves its temporary file; what only looks like it is somebody's.
func TestTidy(t *testing.T) {
	root := t.TempDir()
	r := newRooted(t, root)
	must(t, r.MkdirAll("/etc/modules-load.d", 0o755))
	theirs := []string{
		".other.conf.rdmactl-th4d7t7luior~", // of another file
		".rdmactl.conf.rdmactl-th4d7t7luio~",
		".rdmactl.conf.rdmactl-TH4D7T7LUIOR~",
		".rdmactl.conf.rdmactl-th4d7t7luior",
		"rdmactl.conf",
		"rdmactl.conf~",
	}
	for _, name := range append([]string{".rdmactl.conf.rdmactl-th4d7t7luior~"}, theirs...) {
		must(t, os.WriteFile(filepath.Join(root, "etc/modules-load.d", name), nil, 0o600))
	}
	must(t, os.Symlink("/etc/passwd", filepath.Join(root, "etc/modules-load.d/.rdmactl.conf.rdmactl-aaaaaaaaaaaa~")))
	must(t, host.Tidy(r, "/etc/modules-load.d/rdmactl.conf"))
	must(t, host.Tidy(r, "/etc/none/rdmactl.conf"))
	left, err := r.ReadDir("/etc/modules-load.d")
	must(t, err)
	want := append([]string{".rdmactl.conf.rdmactl-aaaaaaaaaaaa~"}, theirs...)
	slices.Sort(want)
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// The name that a write uses is the one that Tidy knows.
func TestTidyKnowsTheNames(t *testing.T) {
	for range 100 {
		if name := host.TempName("a.conf"); !host.IsTemp("a.conf", name) || host.IsTemp("b.conf", name) {
			t.Errorf("the temporary file %s is not told from others", name)
		}
	}
}
