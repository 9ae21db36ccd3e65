package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/internal/fault"
)

const ownConfig = "apiVersion: rdmactl/v1\nkind: Config\nprofile: hpc\n"

// ownEtc is a directory of the configuration with one file in it.
func ownEtc(t *testing.T, text string) (etc, file string) {
	t.Helper()
	etc = t.TempDir()
	if err := os.Chmod(etc, 0o755); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(etc, "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return etc, file
}

func TestConfigNamesAProfile(t *testing.T) {
	etc, file := ownEtc(t, ownConfig)
	c, err := readConfig(etc)
	if err != nil || c.profile() != "hpc" || c.file != file {
		t.Errorf("%+v, %v", c, err)
	}
	// The twins: no file, no directory, and no configuration at all.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	for _, none := range []string{etc, filepath.Join(etc, "none"), ""} {
		if c, err := readConfig(none); err != nil || c.profile() != "" || c.file != "" {
			t.Errorf("%q: %+v, %v", none, c, err)
		}
	}
}

func TestConfigFaultsHavePlaces(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: rdmactl/v1\nkind: Config\nprofile: hpc\nstack: inbox\n":  ":4:1: unknown key \"stack\"",
		"apiVersion: rdmactl/v1\nkind: Config\nprofile: hpc\nprofile: soft\n": ":4:1: ",
		"apiVersion: rdmactl/v1\nkind: Config\nprofile: ../../tmp/x.yaml\n":   ":3:10: profile: ",
		"apiVersion: rdmactl/v1\nkind: Config\nprofile: \"\"\n":               ":3:10: profile: ",
		"apiVersion: rdmactl/v1\nkind: Config\nprofile: 5\n":                  ":3:10: ",
		"kind: Config\nprofile: hpc\n":                                        ":1:1: apiVersion must be",
		"apiVersion: rdmactl/v1\nprofile: hpc\n":                              ":1:1: kind must be",
		"profile: [\n":                                                        ":",
		"":                                                                    ":1:1: ",
		"- hpc\n":                                                             ":1:1: ",
		strings.Repeat("# a long one\n", maxConfig/8):                         "larger than",
	} {
		etc, file := ownEtc(t, text)
		_, err := readConfig(etc)
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

// What somebody else can write does not decide about what is installed, by whoever asks.
func TestConfigMustBeTheAdministrators(t *testing.T) {
	etc, file := ownEtc(t, ownConfig)
	refused := func(what string) {
		t.Helper()
		if c, err := readConfig(etc); fault.KindOf(err) != fault.Usage || c.profile() != "" || !strings.Contains(err.Error(), "not root's alone to write") {
			t.Errorf("%s: %+v, %v", what, c, err)
		}
	}
	for _, mode := range []os.FileMode{0o664, 0o646, 0o666} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		refused(mode.String())
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if c, err := readConfig(etc); err != nil || c.profile() != "hpc" {
		t.Errorf("closed to others: %+v, %v", c, err)
	}
	if err := os.Chmod(etc, 0o775); err != nil {
		t.Fatal(err)
	}
	refused("the directory is its group's to write")
	if err := os.Chmod(etc, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	if err := os.Chown(file, 1000, 1000); err != nil {
		t.Fatal(err)
	}
	refused("the file is another user's")
	if err := os.Chown(file, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(etc, 1000, 1000); err != nil {
		t.Fatal(err)
	}
	refused("the directory is another user's")
	if err := os.Chown(etc, 0, 0); err != nil {
		t.Fatal(err)
	}
	// By a link to what somebody else owns it is no better.
	theirs := filepath.Join(t.TempDir(), "theirs.yaml")
	if err := os.WriteFile(theirs, []byte(ownConfig), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(theirs, 1000, 1000); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(theirs, file); err != nil {
		t.Fatal(err)
	}
	refused("a link to another user's file")
}
