package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestYAMLFiles: the name of a directory is no pattern, and one that cannot be read has not "no files".
func TestYAMLFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rack[1]*")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b.yaml", "a.yaml", "c.yml", "yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := yamlFiles(dir)
	if diff := cmp.Diff([]string{filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := yamlFiles(filepath.Join(dir, "gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that is not there: %v", err)
	}
	if err := os.Chmod(dir, 0o300); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(dir, 0o700) }() // so that it can be removed
	if _, err := yamlFiles(dir); os.Geteuid() != 0 && !errors.Is(err, fs.ErrPermission) {
		t.Errorf("one that may not be read: %v", err)
	}
}
