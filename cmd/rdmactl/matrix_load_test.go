package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rdmactl/rdmactl/internal/fault"
)

const ownRelease = `apiVersion: rdmactl/v1
kind: Matrix
releases:
  - stack: doca-ofed
    version: "77.1.0"
    branch: "77.1"
    lts: "no"
    source: ["a test"]
branches:
  - stack: doca-ofed
    name: "77.1"
    lts: false
    versions: ["~> 77.1.0"]
    source: ["a test"]
`

func TestMatrixFilesAreAdded(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "own.yaml")
	if err := os.WriteFile(file, []byte(ownRelease), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, paths := range map[string][]string{"a file": {file}, "a directory": {dir}} {
		x, err := (&wishOptions{matrix: paths}).loadMatrix()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, ok := x.Find("doca-ofed", "77.1.0"); !ok {
			t.Errorf("%s: the release is not in the matrix", name)
		}
	}
	plain, err := (&wishOptions{}).loadMatrix()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := plain.Find("doca-ofed", "77.1.0"); ok {
		t.Error("a release that nobody added is in the matrix")
	}
	empty := t.TempDir()
	for name, path := range map[string]string{"no such file": filepath.Join(dir, "none.yaml"), "an empty directory": empty} {
		if _, err := (&wishOptions{matrix: []string{path}}).loadMatrix(); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What decides about root's installs is root's alone to write.
func TestAdministratorsMatrixMustBeRoots(t *testing.T) {
	etc := t.TempDir()
	dir := filepath.Join(etc, "matrix.d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	load := func() error { _, err := (&wishOptions{etc: etc}).loadMatrix(); return err }
	if err := load(); err != nil {
		t.Errorf("an empty directory: %v", err)
	}
	file := filepath.Join(dir, "own.yaml")
	if err := os.WriteFile(file, []byte(ownRelease), 0o644); err != nil {
		t.Fatal(err)
	}
	root := os.Geteuid() == 0
	if err := load(); (err == nil) != root {
		t.Errorf("a file of uid %d: %v", os.Geteuid(), err)
	}
	for _, path := range []string{file, dir} {
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := load(); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s can be written by others and was used: %v", path, err)
		}
		if err := os.Chmod(path, before.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
}
