package install

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/internal/fault"
)

func TestIsWorkerOf(t *testing.T) {
	const id = "20261130T061541Z-4f2a"
	start := func(args ...string) int {
		cmd := exec.Command("sh", "-c", "read never")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Args = append([]string{"rdmactl"}, args...)
		cmd.Path = "/bin/sh"
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			in.Close()
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		return cmd.Process.Pid
	}
	// A shell that has these arguments; it reads from its standard input until that is closed.
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("install-worker", []byte("read never\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	worker := start(workerArguments(id, doApply, "/srv/image")...)
	for _, c := range []struct {
		pid  int
		id   string
		want bool
	}{
		{worker, id, true},
		{worker, "20261130T061541Z-4f2b", false},
		{start("-c", "read never"), id, false},
		{os.Getpid(), id, false},
		{1, id, false},
		{0, id, false},
		{-1, id, false},
		{1 << 30, id, false},
	} {
		if got := isWorkerOf(c.pid, c.id); got != c.want {
			t.Errorf("pid %d, run %s: %v, want %v", c.pid, c.id, got, c.want)
		}
	}
}

func TestOpenImage(t *testing.T) {
	for _, dir := range []string{"/", "/..", "/proc/self/root"} {
		var f *fault.Error
		if _, err := OpenImage(dir); !errors.As(err, &f) || f.Kind != fault.Usage || f.Code != "root-is-this-host" {
			t.Errorf("%s: %v", dir, err)
		}
	}
	dir := t.TempDir()
	im, err := OpenImage(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer im.Close()
	paths := im.Paths()
	if runs, err := History(paths); err != nil || len(runs) != 0 {
		t.Errorf("an image without runs has %v, %v", runs, err)
	}
	if got, want := paths.logFile("20261130T061541Z-4f2a"), filepath.Join(dir, "/var/log/rdmactl/20261130T061541Z-4f2a.log"); got != want {
		t.Errorf("the log is shown as %s", got)
	}
	said := im.Said("cannot read /proc/self/fd/9/runs/20261130T061541Z-4f2a/plan.json; log: /proc/self/fd/10/20261130T061541Z-4f2a.log; lock /proc/self/fd/9/lock; /proc/self/fd/9/other")
	want := "cannot read D/var/lib/rdmactl/runs/20261130T061541Z-4f2a/plan.json; log: D/var/log/rdmactl/20261130T061541Z-4f2a.log; lock D/var/lib/rdmactl/lock; /proc/self/fd/9/other"
	if want = strings.ReplaceAll(want, "D/", dir+"/"); said != want {
		t.Errorf("it says %s", said)
	}
	if err := im.Prepare(); err != nil {
		t.Fatal(err)
	}
	if said, want := im.Said("cannot use "+im.Paths().State+": owned"), "cannot use "+dir+"/var/lib/rdmactl: owned"; said != want {
		t.Errorf("it says %s", said)
	}
	if other := im.Paths().State + "0"; im.Said(other) != other {
		t.Errorf("another descriptor is taken for the state: %s", im.Said(other))
	}
	if kernel, err := im.Kernel(""); kernel != "" || err != nil {
		t.Errorf("no kernel: %q, %v", kernel, err)
	}
	if kernel, err := im.Kernel("6.1.0-9-amd64"); kernel != "6.1.0-9-amd64" || err != nil {
		t.Errorf("a kernel that is named where there is none yet: %q, %v", kernel, err)
	}
	for _, k := range []string{"6.1.0-9-amd64", "6.1.0-10-amd64"} {
		if err := os.MkdirAll(filepath.Join(dir, "lib/modules", k), 0o755); err != nil {
			t.Fatal(err)
		}
		if k == "6.1.0-9-amd64" {
			if kernel, err := im.Kernel(""); kernel != k || err != nil {
				t.Errorf("one kernel: %q, %v", kernel, err)
			}
		}
	}
	var f *fault.Error
	if _, err := im.Kernel(""); !errors.As(err, &f) || f.Kind != fault.Usage || !strings.Contains(f.Msg, "6.1.0-10-amd64, 6.1.0-9-amd64") || !strings.Contains(f.Hint, "--kernel") {
		t.Errorf("two kernels: %v", err)
	}
	if kernel, err := im.Kernel("6.1.0-10-amd64"); kernel != "6.1.0-10-amd64" || err != nil {
		t.Errorf("one of two: %q, %v", kernel, err)
	}
	if _, err := im.Kernel("5.10.0-1-amd64"); !errors.As(err, &f) || f.Kind != fault.Usage {
		t.Errorf("a kernel that is not there: %v", err)
	}
}

// TestTidy removes what a killed package manager left, and nothing else.
func TestTidy(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"tmp/apt-dpkg-install-HrDtTL", "tmp/apt-dpkg-install-mine", "tmp/other"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"var/tmp/zypp.A4GTUq", "var/tmp/zypp.mine", "var/tmp/apt.conf.AAAAAA"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	outside := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(outside, "kept"), nil, 0o644),
		os.WriteFile(filepath.Join(dir, "tmp/tmpr33ais32"), nil, 0o600),
		os.WriteFile(filepath.Join(dir, "tmp/tmpreadable"), nil, 0o644),
		os.WriteFile(filepath.Join(dir, "tmp/tmpr33ais3_"), nil, 0o644),
		os.WriteFile(filepath.Join(dir, "tmp/tmpR33ais32"), nil, 0o600),
		os.WriteFile(filepath.Join(dir, "var/tmp/rpm-tmp.HoT7Ye"), nil, 0o600),
		os.Symlink(outside, filepath.Join(dir, "tmp/apt.conf.AAAAAA")),
		os.Symlink(filepath.Join(outside, "kept"), filepath.Join(dir, "tmp/apt-dpkg-install-HrDtTL/00-x.deb"))); err != nil {
		t.Fatal(err)
	}
	im, err := OpenImage(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer im.Close()
	asked, err := json.Marshal(map[string]string{"Kernel": "6.1.0-9-amd64"})
	if err != nil {
		t.Fatal(err)
	}
	if err := im.ready(order{Request: asked}, false); err != nil {
		t.Fatal(err)
	}
	if names := namesIn(t, filepath.Join(dir, "tmp")); names != "apt-dpkg-install-HrDtTL apt-dpkg-install-mine apt.conf.AAAAAA other tmpR33ais32 tmpr33ais32 tmpr33ais3_ tmpreadable" {
		t.Errorf("a first attempt leaves %s", names)
	}
	if err := im.ready(order{Request: asked}, true); err != nil {
		t.Fatal(err)
	}
	if names := namesIn(t, filepath.Join(dir, "tmp")); names != "apt-dpkg-install-mine other tmpR33ais32 tmpr33ais3_ tmpreadable" {
		t.Errorf("a second attempt leaves %s", names)
	}
	if names := namesIn(t, filepath.Join(dir, "var/tmp")); names != "apt.conf.AAAAAA zypp.mine" {
		t.Errorf("a second attempt leaves %s in /var/tmp", names)
	}
	if names := namesIn(t, outside); names != "kept" {
		t.Errorf("outside holds %s", names)
	}
}

func namesIn(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// An image's runs are root's.
func TestOpenRunsNeedsRoot(t *testing.T) {
	dir := t.TempDir()
	im, err := OpenImage(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer im.Close()
	err = im.OpenRuns()
	var f *fault.Error
	if os.Geteuid() != 0 {
		if !errors.As(err, &f) || f.Code != "not-root" {
			t.Errorf("as an ordinary user: %v", err)
		}
		return
	}
	if err != nil {
		t.Errorf("root's own directory: %v", err)
	}
	for what, harm := range map[string]func() error{
		"world-writable": func() error { return os.Chmod(dir, 0o777) },
		"another's":      func() error { return errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, 1000, 1000)) },
	} {
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		if err := im.OpenRuns(); !errors.As(err, &f) || f.Code != "root-not-trusted" || f.Kind != fault.Stopped {
			t.Errorf("%s: %v", what, err)
		}
		if err := os.Chown(dir, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
}
