package host_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rdmactl/rdmactl/host"
)

// TestRootedKeepsThePlaceholderItKnows has an image in which a killed process left its placeholder, and one in
// which the administrator has a file of the same kind.
func TestRootedKeepsThePlaceholderItKnows(t *testing.T) {
	root := image(t, "sh", "cat")
	r := newRooted(t, root)
	file := filepath.Join(root, "usr/sbin/policy-rc.d")
	// What stands there while a command runs is what the next process has to know again.
	var left []byte
	seen := writerFunc(func(p []byte) (int, error) {
		var err error
		left, err = os.ReadFile(file)
		must(t, err)
		return len(p), nil
	})
	_, err := r.Run(context.Background(), host.Command{Argv: []string{"sh", "-c", "echo ready"}, Output: seen})
	must(t, err)
	if len(left) == 0 {
		t.Fatal("no placeholder was seen")
	}
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		gone bool
	}{
		"ours": {string(left), 0o644, true}, "cut off at once": {"", 0o644, true},
		"an administrator's": {"# mine\n", 0o644, false}, "a program": {string(left), 0o755, false},
	} {
		for way, act := range map[string]func(){"a command": func() { run(t, r, "true") }, "tidying": func() { must(t, r.RemovePlaceholders()) }} {
			must(t, os.WriteFile(file, []byte(c.text), c.mode))
			must(t, os.Chmod(file, c.mode))
			act()
			_, err := os.Lstat(file)
			if gone := errors.Is(err, fs.ErrNotExist); gone != c.gone {
				t.Errorf("%s, after %s: gone is %v, want %v", name, way, gone, c.gone)
			}
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
	must(t, os.Symlink("/etc/passwd", file))
	must(t, r.RemovePlaceholders())
	if _, err := os.Lstat(file); err != nil {
		t.Errorf("a link in its place: %v", err)
	}
}

// TestRootedUsesThisMachinesNetwork shows package managers this machine's name servers, and nobody else.
func TestRootedUsesThisMachinesNetwork(t *testing.T) {
	own, err := os.ReadFile("/etc/resolv.conf")
	if err != nil || len(own) == 0 {
		t.Skipf("this machine has no name servers: %v", err)
	}
	root := image(t, "sh", "cat")
	must(t, os.WriteFile(filepath.Join(root, "usr/bin/apt-get"), []byte("#!/usr/bin/sh\ncat /etc/resolv.conf; echo x >>/etc/resolv.conf\n"), 0o755))
	file := filepath.Join(root, "etc/resolv.conf")
	const theirs = "nameserver 192.0.2.1\n"
	for name, prepare := range map[string]func(){
		"none":    func() {},
		"a file":  func() { must(t, os.WriteFile(file, []byte(theirs), 0o644)) },
		"to /run": func() { must(t, os.Symlink("../run/systemd/resolve/stub-resolv.conf", file)) },
	} {
		prepare()
		r := newRooted(t, root)
		res, err := r.Run(context.Background(), host.Command{Argv: []string{"apt-get", "update"}})
		must(t, err)
		if !strings.HasPrefix(res.Stdout, string(own)) {
			t.Errorf("%s: apt-get sees %q", name, res.Stdout)
		}
		if other := run(t, r, "cat /etc/resolv.conf").Stdout; strings.HasPrefix(other, string(own)) {
			t.Errorf("%s: other programs see it too", name)
		}
		if data, err := os.ReadFile(file); name == "a file" && (err != nil || string(data) != theirs) || name == "none" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the image's file is now %q, %v", name, data, err)
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	now, err := os.ReadFile("/etc/resolv.conf")
	must(t, err)
	if string(now) != string(own) {
		t.Errorf("this machine's file is now %q", now)
	}
}

// TestRootedTellsTheImagesKernel has uname tell the release that was asked for.
func TestRootedTellsTheImagesKernel(t *testing.T) {
	root := image(t, "sh", "uname")
	r := newRooted(t, root)
	own := strings.TrimSpace(run(t, r, "uname -r").Stdout)
	r.UseKernel("5.14.0-427.13.1.el9_4.x86_64")
	if got := run(t, r, "uname -r; uname -s").Stdout; got != "5.14.0-427.13.1.el9_4.x86_64\nLinux\n" {
		t.Errorf("uname tells %q", got)
	}
	if got := run(t, r, "uname -a").Stdout; !strings.Contains(got, " 5.14.0-427.13.1.el9_4.x86_64 ") || strings.Contains(got, own) {
		t.Errorf("uname -a tells %q", got)
	}
	if got := run(t, r, "uname --nonsense"); got.Exit == 0 {
		t.Errorf("a faulty call ends with %d", got.Exit)
	}
}

// TestRootedHasNoDevicesOfItsOwn opens a device node that came with the image.
func TestRootedHasNoDevicesOfItsOwn(t *testing.T) {
	root := image(t, "sh", "cat", "head")
	if err := unix.Mknod(filepath.Join(root, "null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
		t.Skipf("no device node can be made here: %v", err)
	}
	r := newRooted(t, root)
	if got := run(t, r, "cat /null"); got.Exit == 0 {
		t.Errorf("a node of the image could be opened: %+v", got)
	}
	if got := run(t, r, "cat /dev/null"); got.Exit != 0 {
		t.Errorf("/dev/null cannot be opened: %+v", got)
	}
}
