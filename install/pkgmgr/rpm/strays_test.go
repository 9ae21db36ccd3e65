package rpm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
)

// TestStrays finds what rpm was writing, and nothing that is only named alike.
func TestStrays(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"usr/bin/mstconfig", "usr/bin/mstconfig;6b0d8fc7", "usr/bin/mstflint;6b0d8fc7", // the second never came to its name
		"usr/bin/other;6b0d8fc7", "usr/bin/mstconfig;old", "usr/bin/mstconfig;6B0D8FC7", "usr/bin/mstconfig;6b0d8fc7.bak",
		"usr/share/a;00000001", "usr/share/a", // a package's own
		"srv/mstconfig;6b0d8fc7",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := host.NewRooted(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	files := filesIn("/usr/bin/mstconfig\n/usr/bin/mstflint\n/usr/share/a\n/usr/share/a;00000001\n/gone/file\n(contains no files)\n")
	got, err := Tool{Host: r}.strays(files)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/usr/bin/mstconfig;6b0d8fc7", "/usr/bin/mstflint;6b0d8fc7"}, got); diff != "" {
		t.Errorf("strays (-want +got):\n%s", diff)
	}
}
