package sidebyside

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
)

// withCapabilities is a host where one file has file capabilities.
type withCapabilities struct {
	*host.Live
	file string
}

func (w withCapabilities) Xattrs(file string) (map[string][]byte, error) {
	if file == w.file {
		return map[string][]byte{"security.capability": {1}}, nil
	}
	return nil, nil
}

// programs are a copy of this test's own program and variants of it.
func programs(t *testing.T) (string, Caller) {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte, mode fs.FileMode) {
		if err := errors.Join(os.WriteFile(filepath.Join(dir, name), data, 0o700), os.Chmod(filepath.Join(dir, name), mode)); err != nil {
			t.Fatal(err)
		}
	}
	write("plain", data, 0o755)
	write("suid", data, 0o755|fs.ModeSetuid)
	write("sgid", data, 0o755|fs.ModeSetgid)
	write("locking", data, 0o745|fs.ModeSetgid) // without the group's x it means mandatory locking
	write("caps", data, 0o755)
	foreign := append([]byte{}, data[:4096]...)
	foreign[18], foreign[19] = 43, 0
	write("text", []byte("no program\n"), 0o644)
	write("script", []byte("#! "+dir+"/caps -x\n"), 0o755|fs.ModeSetuid)
	write("shell", []byte("#!/bin/sh\n"), 0o755|fs.ModeSetuid)
	write("loop", []byte("#!"+dir+"/loop\n"), 0o755)
	foreign = append([]byte{}, data...)
	foreign[18], foreign[19] = 43, 0
	write("foreign", foreign, 0o755)
	info, err := os.Stat(filepath.Join(dir, "plain"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Fatal(info, err)
	}
	return dir, Caller{UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Dir: dir}
}

func TestCheckProgram(t *testing.T) {
	dir, me := programs(t)
	other := Caller{UID: me.UID + 1, GID: me.GID + 1, Dir: dir}
	root := Caller{Dir: dir}
	nosuid := other
	nosuid.NoSUID = func(string) bool { return true }
	h := withCapabilities{host.NewLive(), filepath.Join(dir, "caps")}
	c := buildOf("56.1", 34)
	c.Format = Native()
	for _, test := range []struct {
		program string
		by      Caller
		code    string // empty: it gets the library
	}{
		{"plain", other, ""},
		{"suid", other, "secure-program"},
		{"suid", me, ""},
		{"suid", nosuid, ""},
		{"sgid", other, "secure-program"},
		{"locking", other, ""},
		{"caps", other, "secure-program"},
		{"caps", root, ""},
		{"caps", nosuid, ""},
		{"script", other, "secure-program"},
		{"shell", other, ""},
		{"loop", other, ""},
		{"text", other, ""},
		{"foreign", other, "other-architecture"},
	} {
		err := CheckProgram(t.Context(), h, filepath.Join(dir, test.program), c, test.by)
		var f *fault.Error
		switch {
		case test.code == "" && err != nil:
			t.Errorf("%s as %d: %v", test.program, test.by.UID, err)
		case test.code != "" && (!errors.As(err, &f) || f.Code != test.code || f.Kind != fault.Stopped):
			t.Errorf("%s as %d: %v, want %s", test.program, test.by.UID, err, test.code)
		}
	}
}

func TestFind(t *testing.T) {
	dir, me := programs(t)
	h := host.NewLive()
	env := []string{"PATH=/nowhere:" + dir + ":/usr/bin"}
	for name, want := range map[string]string{
		"plain": dir + "/plain", "./plain": dir + "/plain", dir + "/plain": dir + "/plain",
		"text": "", "./text": "", "./absent": "", "absent": "", "": "", "..": "", dir: "",
	} {
		got, err := Find(h, name, env, me)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v, want %q", name, got, err, want)
		}
	}
	if got, err := Find(h, "plain", []string{"PATH=:/usr/bin"}, me); err != nil || got != dir+"/plain" {
		t.Errorf("an empty element of PATH is the working directory: %q, %v", got, err)
	}
}
