package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProfileDir(t *testing.T) {
	none := profileDir(filepath.Join(t.TempDir(), "none"))
	if names, err := none.Names(); len(names) > 0 || err != nil {
		t.Errorf("%v, %v", names, err)
	}
	if _, _, err := none.Read("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	d := profileDir(t.TempDir())
	for _, name := range []string{"b.yaml", "a.yaml", ".hidden.yaml", "a.yaml~", "readme"} {
		if err := os.WriteFile(filepath.Join(string(d), name), []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	names, err := d.Names()
	if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" || err != nil {
		t.Errorf("%s%v", diff, err)
	}
	if file, data, err := d.Read("a"); err != nil || string(data) != "text" || file != filepath.Join(string(d), "a.yaml") {
		t.Errorf("%s: %q, %v", file, data, err)
	}
	// The name of a file that no profile can have is said, not passed over.
	if err := os.WriteFile(filepath.Join(string(d), "My Site.yaml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Names(); err == nil || !strings.Contains(err.Error(), "My Site.yaml") {
		t.Errorf("got %v", err)
	}
}

// TestProfileDirIsRoots: what others may write does not tell root what to do.
func TestProfileDirIsRoots(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root trusts by owner and mode")
	}
	d := profileDir(filepath.Join(t.TempDir(), "profiles.d"))
	file := filepath.Join(string(d), "a.yaml")
	if err := errors.Join(os.Mkdir(string(d), 0o755), os.WriteFile(file, []byte("text"), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		change func() error
	}{
		{"writable file", func() error { return os.Chmod(file, 0o664) }},
		{"another's file", func() error { return os.Chown(file, 12345, 0) }},
		{"writable directory", func() error { return os.Chmod(string(d), 0o777) }},
		{"another's directory", func() error { return os.Chown(string(d), 12345, 0) }},
	} {
		reset := errors.Join(os.Chmod(string(d), 0o755), os.Chmod(file, 0o644), os.Chown(string(d), 0, 0), os.Chown(file, 0, 0))
		if reset != nil {
			t.Fatal(reset)
		}
		if _, _, err := d.Read("a"); err != nil {
			t.Fatal(err)
		}
		if err := tc.change(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.Read("a"); err == nil || !strings.Contains(err.Error(), "written by others") {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}
