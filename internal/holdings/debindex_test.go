package holdings

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDebIndex(t *testing.T) {
	deb := debOf(t, zipped(t, tarOf(t, sound(inDeb))))

	for name, c := range map[string]struct {
		fill func(dir string)
		says string // empty: there is an index
	}{
		"two folders": {func(dir string) {
			write(t, dir+"/pool/a.deb", string(deb))
			write(t, dir+"/b.deb", string(deb))
			write(t, dir+"/README", "")
		}, ""},
		"a link within": {func(dir string) {
			write(t, dir+"/pool/a.deb", string(deb))
			must(t, os.Symlink("pool/a.deb", dir+"/b.deb"))
		}, ""},
		"a link out": {func(dir string) { must(t, os.Symlink("/etc/passwd", dir+"/b.deb")) }, "escapes"},
		"no package": {func(dir string) { write(t, dir+"/README", "") }, "0 deb packages"},
		"cut":        {func(dir string) { write(t, dir+"/b.deb", string(deb[:len(deb)/2])) }, "b.deb is no sound deb package"},
		"text":       {func(dir string) { write(t, dir+"/b.deb", "text") }, "b.deb is no sound deb package"},
		"no file":    {func(dir string) { must(t, os.MkdirAll(dir+"/b.deb/c.deb", 0o755)) }, "0 deb packages"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.fill(dir)
			folder, err := os.OpenRoot(dir)
			must(t, err)
			defer folder.Close()
			text, err := DebIndex(context.Background(), folder)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v, want %q", err, c.says)
				}
				return
			}
			must(t, err)
			list, err := parsePackages("Packages", text)
			must(t, err)
			if len(list) != 2 {
				t.Fatalf("%s", text)
			}
			for _, p := range list {
				if p.Name != "doca-host" || p.Bytes != int64(len(deb)) || p.sum.sum != sumOfFile(t, filepath.Join(dir, p.path)) {
					t.Errorf("%+v", p)
				}
			}
		})
	}
}

// A package says nothing of the file that it is in: what does could name another one.
func TestDebThatStatesItsFile(t *testing.T) {
	control := zipped(t, tarOf(t, []entry{{name: "./control", text: "Package: a\nVersion: 1\nArchitecture: all\nFilename: ../../etc/passwd\n"}}))
	data := zipped(t, tarOf(t, nil))
	out := "!<arch>\n"
	for _, m := range []struct{ name, data string }{{"debian-binary", "2.0\n"}, {"control.tar.gz", string(control)}, {"data.tar.gz", string(data)}} {
		out += fmt.Sprintf("%-16s%-12d%-6d%-6d%-8s%-10d`\n", m.name, 0, 0, 0, "100644", len(m.data)) + m.data + strings.Repeat("\n", len(m.data)%2)
	}
	dir := t.TempDir()
	write(t, dir+"/a.deb", out)
	folder, err := os.OpenRoot(dir)
	must(t, err)
	defer folder.Close()
	if _, err := DebIndex(context.Background(), folder); err == nil || !strings.Contains(err.Error(), "states its own Filename") {
		t.Error(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
