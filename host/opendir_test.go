package host_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rdmactl/rdmactl/host"
)

func TestOpenDir(t *testing.T) {
	image, outside := t.TempDir(), t.TempDir()
	for _, dir := range []string{"opt/real", "proc/1"} {
		if err := os.MkdirAll(filepath.Join(image, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"opt/link": "/opt/real", "opt/out": outside, "opt/real/out": outside} {
		if err := os.Symlink(target, filepath.Join(image, name)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := host.NewRooted(image)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// A link to an absolute path is one within the image.
	root, err := r.OpenDir("/opt/link")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.WriteFile("x", []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(image, "opt/real/x")); err != nil || string(text) != "text" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if err := root.WriteFile("out/x", nil, 0o644); err == nil {
		t.Error("a link leads out of the directory")
	}
	for name, want := range map[string]error{"/opt/out": fs.ErrNotExist, "/none": fs.ErrNotExist, "/proc/1": host.ErrUnknown} {
		if dir, err := r.OpenDir(name); !errors.Is(err, want) {
			t.Errorf("%s: %v, %v", name, dir, err)
		}
	}
	if _, err := r.OpenDir("/opt/real/x"); err == nil {
		t.Error("a file is opened as a directory")
	}
	if names, err := os.ReadDir(outside); err != nil || len(names) != 0 {
		t.Errorf("outside there are %v, %v", names, err)
	}
	live, err := host.NewLive().OpenDir(outside)
	if err != nil {
		t.Fatal(err)
	}
	if err := live.Close(); err != nil {
		t.Error(err)
	}
}
