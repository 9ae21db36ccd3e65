package ibv

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestPrivateABI(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed: no library to read can be built")
	}
	dir := t.TempDir()
	build := func(name, versions string) string {
		src, script, out := filepath.Join(dir, name+".c"), filepath.Join(dir, name+".map"), filepath.Join(dir, name)
		if err := os.WriteFile(src, []byte("void verb(void) {}\nvoid inner(void) {}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(script, []byte(versions), 0o600); err != nil {
			t.Fatal(err)
		}
		if msg, err := exec.Command(gcc, "-shared", "-fPIC", "-Wl,--version-script="+script, "-o", out, src).CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, msg)
		}
		return out
	}
	read := func(path string) (int, error) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return PrivateABI(f)
	}

	with := build("with.so", "IBVERBS_1.1 { global: verb; local: *; };\nIBVERBS_PRIVATE_34 { global: inner; } IBVERBS_1.1;\n")
	if nn, err := read(with); err != nil || nn != 34 {
		t.Errorf("PrivateABI = %d, %v; want 34", nn, err)
	}
	without := build("without.so", "IBVERBS_1.1 { global: verb; local: *; };\n")
	if nn, err := read(without); err == nil || !strings.Contains(err.Error(), "IBVERBS_PRIVATE") {
		t.Errorf("PrivateABI without the version = %d, %v", nn, err)
	}
	if nn, err := read(filepath.Join(dir, "with.so.c")); err == nil {
		t.Errorf("PrivateABI of a text = %d", nn)
	}
}
