package apt

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
)

// TestStrays has a root in which dpkg was killed while it unpacked a package: its half-unpacked files are told from
// all others of that ending.
func TestStrays(t *testing.T) {
	root := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h, err := host.NewRooted(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	m := New(h)
	for _, name := range []string{
		"usr/lib/libone.so.1.54.dpkg-new", "usr/lib/libone.so.1.44", "usr/share/doc/one/readme.dpkg-new",
		"usr/lib/another.so.dpkg-new",   // of no file of the package
		"etc/one.conf.dpkg-new",         // waits to be configured
		"usr/libexec/one/tool.dpkg-new", // in a directory that the package does not have
	} {
		put(name, "")
	}
	if err := os.Symlink("libone.so.1.54", filepath.Join(root, "usr/lib/libone.so.1.dpkg-new")); err != nil {
		t.Fatal(err)
	}
	got, err := m.strays()
	if err != nil || len(got) != 0 {
		t.Errorf("dpkg was unpacking nothing, and yet: %v, %v", got, err)
	}
	put("var/lib/dpkg/tmp.ci/md5sums", "0123  usr/lib/libone.so.1.54\n4567  usr/share/doc/one/readme\n89ab  etc/one.conf\ncdef  usr/share/gone/file\n")
	got, err = m.strays()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	want := []string{"/usr/lib/libone.so.1.54.dpkg-new", "/usr/lib/libone.so.1.dpkg-new", "/usr/share/doc/one/readme.dpkg-new"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := m.tidy(got); err != nil {
		t.Fatal(err)
	}
	if got, err = m.strays(); err != nil || len(got) != 0 {
		t.Errorf("after they went there are %v, %v", got, err)
	}
}
