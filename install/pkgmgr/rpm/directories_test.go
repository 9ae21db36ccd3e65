package rpm

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
)

// rpmHost is a root of which rpm knows a few things.
type rpmHost struct {
	host.Writer
	lists map[string]string // files of packages, by their last argument
	owned map[string]bool
}

func (h rpmHost) Run(_ context.Context, c host.Command) (host.Result, error) {
	last := c.Argv[len(c.Argv)-1]
	switch c.Argv[1] {
	case "-qp":
		return host.Result{Argv: c.Argv, Stdout: h.lists[last]}, nil
	case "-qf":
		var out strings.Builder
		for _, dir := range c.Argv[2:] {
			if h.owned[dir] {
				out.WriteString("filesystem-3.16-2.el9.x86_64\n")
				continue
			}
			out.WriteString("file " + dir + " is not owned by any package\n")
		}
		return host.Result{Argv: c.Argv, Stdout: out.String(), Exit: 1}, nil
	}
	return host.Result{}, errors.New("it was not expected")
}

// TestDirectories removes the directories that a transaction made and that nobody else needs, and no other.
func TestDirectories(t *testing.T) {
	dir := t.TempDir()
	mkdir := func(names ...string) {
		for _, n := range names {
			if err := os.MkdirAll(filepath.Join(dir, n), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	mkdir("usr/bin", "opt/empty", "srv")
	r, err := host.NewRooted(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	h := rpmHost{Writer: r, lists: map[string]string{"/kept/a.rpm": "/opt/vendor/tool/bin/x\n/opt/vendor/log/y\n/opt/owned/z\n/opt/empty/e\n/usr/bin/x\n/srv/swapped/q\n(contains no files)\n"}, owned: map[string]bool{"/opt/owned": true}}
	tool := Tool{Host: h, Writer: h}
	note := func() {
		t.Helper()
		if err := tool.NoteDirectories(t.Context(), []string{"/kept/a.rpm"}); err != nil {
			t.Fatal(err)
		}
	}
	note()
	mkdir("opt/vendor/tool/bin", "opt/vendor/log", "opt/owned")
	note() // of an attempt that was cut short: what is there by now is still ours
	if err := os.WriteFile(filepath.Join(dir, "opt/vendor/log/mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "srv/swapped"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	drop := func(want map[string]bool) {
		t.Helper()
		if err := tool.DropDirectories(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for name := range want {
			_, err := os.Lstat(filepath.Join(dir, name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			got[name] = err == nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("what is there (-want +got):\n%s", diff)
		}
	}
	drop(map[string]bool{"opt/vendor/tool": false, "opt/vendor/log/mine": true, "opt/owned": true, "opt/empty": true, "usr/bin": true, "srv/swapped": true})
	for _, n := range []string{"opt/vendor/log/mine", "srv/swapped"} {
		if err := os.Remove(filepath.Join(dir, n)); err != nil {
			t.Fatal(err)
		}
	}
	delete(h.owned, "/opt/owned")
	drop(map[string]bool{"opt/vendor": false, "opt/owned": false, "opt/empty": true, "opt": true, "srv": true, "var/lib/rdmactl/rpm-directories.json": false})
	// What the list says is not believed.
	for _, bad := range []string{`["/opt/../etc"]`, `["opt"]`, `["/"]`, `{`} {
		if err := r.WriteFile(directoriesFile, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := tool.DropDirectories(t.Context()); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
