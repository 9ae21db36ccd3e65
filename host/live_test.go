package host_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
)

// fake puts a shell script in place of a program.
func fake(t *testing.T, dir, name, script string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755))
}

func fakes(t *testing.T, options ...host.LiveOption) (*host.Live, string) {
	t.Helper()
	dir := t.TempDir()
	return host.NewLive(append([]host.LiveOption{host.WithPath(dir + ":/usr/bin:/bin")}, options...)...), dir
}

func TestLiveQuery(t *testing.T) {
	t.Setenv("LD_PRELOAD", "/nowhere.so")
	t.Setenv("http_proxy", "http://proxy.example.com")
	live, dir := fakes(t)
	fake(t, dir, "lspci", `echo "$LC_ALL:$LD_PRELOAD:$http_proxy:$HOME:$#:$1"; echo trouble >&2; exit 7`)
	res, err := live.Query(context.Background(), "lspci", "-nn")
	must(t, err)
	res.Duration = 0
	want := host.Result{Argv: []string{"lspci", "-nn"}, Stdout: "C::::1:-nn\n", Stderr: "trouble\n", Exit: 7}
	if diff := cmp.Diff(want, res); diff != "" {
		t.Error(diff)
	}
	if _, err := live.Query(context.Background(), "ofed_info", "-s"); !errors.Is(err, host.ErrNotInstalled) {
		t.Errorf("a missing program gives %v", err)
	}
	if _, err := live.Query(context.Background(), "lspci", "-M"); !errors.Is(err, host.ErrNotAllowed) {
		t.Errorf("a dangerous option gives %v", err)
	}
	fake(t, dir, "lsmod", "kill -9 $$")
	if res, err := live.Query(context.Background(), "lsmod"); err != nil || res.Exit != 128+9 {
		t.Errorf("a killed program gives %+v, %v", res, err)
	}
}

func TestLiveQueryEnds(t *testing.T) {
	live, dir := fakes(t, host.WithQueryDeadline(300*time.Millisecond))
	pid := filepath.Join(dir, "pid")
	fake(t, dir, "ibstat", "sleep 1000 & echo $! >"+pid+"; wait")
	if _, err := live.Query(context.Background(), "ibstat"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want the deadline", err)
	}
	data, err := os.ReadFile(pid)
	must(t, err)
	child := strings.TrimSpace(string(data))
	waitFor(t, "the end of the program's child", func() bool {
		stat, err := os.ReadFile("/proc/" + child + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
	fake(t, dir, "lsmod", "yes")
	generous, _ := fakes(t, host.WithPath(dir+":/usr/bin:/bin"), host.WithQueryDeadline(time.Minute))
	if _, err := generous.Query(context.Background(), "lsmod"); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("an endless answer gives %v", err)
	}
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 500 {
		if done() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}

func TestLiveRun(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://proxy.example.com:3128")
	t.Setenv("SECRET", "x")
	live, dir := fakes(t)
	fake(t, dir, "apt-get", `echo "$HTTPS_PROXY $SECRET $EXTRA $*"; cat; echo err >&2; exit 100`)
	var log bytes.Buffer
	res, err := live.Run(context.Background(), host.Command{Argv: []string{"apt-get", "install", "a;b"}, Env: []string{"EXTRA=1"}, Stdin: []byte("in\n"), Output: &log})
	must(t, err)
	want := "http://proxy.example.com:3128  1 install a;b\nin\n"
	if res.Stdout != want || res.Stderr != "err\n" || res.Exit != 100 {
		t.Errorf("got %+v", res)
	}
	if !strings.Contains(log.String(), "install a;b\n") || !strings.Contains(log.String(), "in\n") || !strings.Contains(log.String(), "err\n") {
		t.Errorf("the log has %q", log.String())
	}
	if _, err := live.Run(context.Background(), host.Command{}); err == nil {
		t.Error("an empty command gave no error")
	}
	full := writerFunc(func([]byte) (int, error) { return 0, syscall.ENOSPC })
	if res, err := live.Run(context.Background(), host.Command{Argv: []string{"apt-get"}, Output: full}); !errors.Is(err, syscall.ENOSPC) || res.Exit != 0 && res.Exit != 100 || !strings.Contains(res.Stderr, "err") {
		t.Errorf("a full disk for the log gives %+v, %v; want that the command ended and the error is told", res, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	fake(t, dir, "dnf", "trap 'echo undone; exit 1' TERM\necho ready\nwhile :; do sleep 0.05; done")
	res, err = live.Run(ctx, host.Command{Argv: []string{"dnf"}, Output: writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })})
	if !errors.Is(err, context.Canceled) || res.Stdout != "ready\nundone\n" {
		t.Errorf("got %+v, %v; want that it ends itself after SIGTERM", res, err)
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	live := host.NewLive()
	p := filepath.Join(dir, "file")
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	must(t, live.WriteFile(p, []byte("one"), 0))
	check := func(text string, mode fs.FileMode) {
		t.Helper()
		data, err := live.ReadFile(p)
		must(t, err)
		info, err := live.Stat(p)
		must(t, err)
		if string(data) != text || info.Mode != mode {
			t.Errorf("got %q with mode %v, want %q with %v", data, info.Mode, text, mode)
		}
		names, err := live.ReadDir(dir)
		must(t, err)
		if diff := cmp.Diff([]string{"file"}, names); diff != "" {
			t.Errorf("left over: %s", diff)
		}
	}
	check("one", 0o644)
	must(t, live.Chmod(p, 0o640))
	must(t, live.WriteFile(p, []byte("two"), 0))
	check("two", 0o640)
	must(t, live.WriteFile(p, []byte("three"), 0o600))
	check("three", 0o600)
	if err := live.SetXattr(p, "user.mark", []byte{0, 1}); errors.Is(err, syscall.ENOTSUP) {
		t.Log("no extended attributes on this file system")
	} else {
		must(t, err)
		must(t, live.WriteFile(p, []byte("four"), 0))
		got, err := live.Xattrs(p)
		must(t, err)
		if diff := cmp.Diff([]byte{0, 1}, got["user.mark"]); diff != "" {
			t.Error(diff)
		}
	}
	if os.Geteuid() == 0 {
		must(t, live.Chown(p, 1234, 2345))
		must(t, live.Chmod(p, 0o755|fs.ModeSetuid))
		must(t, live.WriteFile(p, []byte("five"), 0))
		info, err := live.Stat(p)
		must(t, err)
		if info.UID != 1234 || info.GID != 2345 || info.Mode != 0o755|fs.ModeSetuid {
			t.Errorf("got %+v", info)
		}
	}
	if err := live.WriteFile(dir, nil, 0); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("writing a directory gives %v", err)
	}
	if err := live.WriteFile("relative", nil, 0); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a relative path gives %v", err)
	}
	if err := live.WriteFile(filepath.Join(dir, "no/file"), nil, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing directory gives %v", err)
	}
}

func TestTreeChanges(t *testing.T) {
	for name, w := range map[string]host.Writer{"rooted": newRooted(t, t.TempDir()), "dry run": host.NewDryRun(newRooted(t, t.TempDir()))} {
		t.Run(name, func(t *testing.T) { treeChanges(t, w) })
	}
}

// treeChanges is what every Writer has to show after its own changes.
func treeChanges(t *testing.T, w host.Writer) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	must(t, w.MkdirAll("/etc/rdmactl/x", 0o755))
	must(t, w.MkdirAll("/etc/rdmactl/x", 0o700))
	info, err := w.Stat("/etc/rdmactl")
	must(t, err)
	if info.Mode != fs.ModeDir|0o755 {
		t.Errorf("the mode is %v", info.Mode)
	}
	must(t, w.WriteFile("/etc/rdmactl/x/a", []byte("a"), 0))
	must(t, w.Symlink("x/a", "/etc/rdmactl/l"))
	if data, err := w.ReadFile("/etc/rdmactl/l"); err != nil || string(data) != "a" {
		t.Errorf("through the link: %q, %v", data, err)
	}
	if target, err := w.Readlink("/etc/rdmactl/l"); err != nil || target != "x/a" {
		t.Errorf("the link: %q, %v", target, err)
	}
	if err := w.Symlink("y", "/etc/rdmactl/l"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second link gives %v", err)
	}
	must(t, w.Rename("/etc/rdmactl/x", "/etc/rdmactl/y"))
	if _, err := w.ReadFile("/etc/rdmactl/x/a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old name gives %v", err)
	}
	if data, err := w.ReadFile("/etc/rdmactl/y/a"); err != nil || string(data) != "a" {
		t.Errorf("the new name: %q, %v", data, err)
	}
	if err := w.Remove("/etc/rdmactl/y"); !errors.Is(err, syscall.ENOTEMPTY) {
		t.Errorf("removing a full directory gives %v", err)
	}
	must(t, w.Chmod("/etc/rdmactl/y/a", 0o600))
	if info, err := w.Stat("/etc/rdmactl/y/a"); err != nil || info.Mode != 0o600 || info.Size != 1 {
		t.Errorf("after chmod: %+v, %v", info, err)
	}
	names, err := w.ReadDir("/etc/rdmactl")
	must(t, err)
	if diff := cmp.Diff([]string{"l", "y"}, names); diff != "" {
		t.Error(diff)
	}
	must(t, w.Remove("/etc/rdmactl/y/a"))
	must(t, w.Remove("/etc/rdmactl/y"))
	must(t, w.Remove("/etc/rdmactl/l"))
	for _, p := range []string{"/etc/rdmactl/y", "/etc/rdmactl/l", "/etc/rdmactl/y/a"} {
		if _, err := w.Lstat(p); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v after its removal", p, err)
		}
		if err := w.Remove(p); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("removing %s again gives %v", p, err)
		}
	}
	if err := w.WriteFile("/missing/x", nil, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("writing below a missing directory gives %v", err)
	}
	if err := w.Chmod("/missing", 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("chmod of a missing file gives %v", err)
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	root := sample(t)
	rooted := newRooted(t, root)
	dry := host.NewDryRun(rooted)
	must(t, dry.WriteFile("/etc/os-release", []byte("ID=other\n"), 0))
	must(t, dry.WriteFile("/etc/new", []byte("new"), 0))
	must(t, dry.Remove("/etc/crlf"))
	must(t, dry.Rename("/a", "/z"))
	must(t, dry.Chmod("/z/b/c/d", 0o600))
	res, err := dry.Run(context.Background(), host.Command{Argv: []string{"modprobe", "mlx5_core"}})
	must(t, err)
	if res.Exit != 0 {
		t.Errorf("got %+v", res)
	}
	var kinds []string
	for _, a := range dry.Actions() {
		kinds = append(kinds, a.Kind)
	}
	if diff := cmp.Diff([]string{"write", "write", "remove", "rename", "chmod", "run"}, kinds); diff != "" {
		t.Error(diff)
	}
	for p, want := range map[string]string{"/etc/os-release": "ID=other\n", "/link": "ID=other\n", "/etc/new": "new", "/z/b/c/d": "deep"} {
		if data, err := dry.ReadFile(p); err != nil || string(data) != want {
			t.Errorf("%s reads %q, %v in the dry run", p, data, err)
		}
	}
	for _, p := range []string{"/etc/crlf", "/a/b/c/d", "/a"} {
		if _, err := dry.ReadFile(p); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s gives %v in the dry run", p, err)
		}
	}
	for p, want := range map[string]string{"/etc/os-release": "ID=debian\nVERSION_ID=\"12\"\n", "/etc/crlf": "a\r\nb\r\n", "/a/b/c/d": "deep"} {
		if data, err := rooted.ReadFile(p); err != nil || string(data) != want {
			t.Errorf("%s reads %q, %v: it was changed", p, data, err)
		}
	}
	if _, err := rooted.ReadFile("/etc/new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("/etc/new was written: %v", err)
	}
}
