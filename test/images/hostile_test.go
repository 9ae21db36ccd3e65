package images

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// debian builds a package of the name and version that a plan will ask for, with a maintainer script.
func debian(t *testing.T, name, version, postinst string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "tree/DEBIAN"), 0o755))
	control := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: amd64\nMaintainer: nobody <nobody@rdmactl.invalid>\nDescription: of a test\n", name, version)
	must(t, os.WriteFile(filepath.Join(dir, "tree/DEBIAN/control"), []byte(control), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "tree/DEBIAN/postinst"), []byte(postinst), 0o755))
	file := filepath.Join(dir, name+"_"+strings.ReplaceAll(version, ":", "%3a")+"_amd64.deb")
	must(t, rootlab.Run(exec.Command("dpkg-deb", "-Znone", "--root-owner-group", "--build", filepath.Join(dir, "tree"), file)))
	return file
}

// TestHostilePackage has a package that tries all it can to reach the build host. What it writes inside the
// image proves that it ran.
func TestHostilePackage(t *testing.T) {
	whole, err := os.ReadFile("testdata/postinst.py")
	must(t, err)
	prepared(t) // skips before a package is built
	im := newImage(t, debian(t, "ethtool", "2:99", string(whole)))
	victim := exec.Command("sleep", "600")
	must(t, victim.Start())
	ended := make(chan error, 1)
	go func() { ended <- victim.Wait() }()
	t.Cleanup(func() { _ = victim.Process.Kill() })
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "kept"), []byte("of the build host"), 0o644))
	var root unix.Stat_t
	must(t, unix.Stat(im.State, &root)) // the disk that the image lies on
	disk := fmt.Sprintf("%d:%d", unix.Major(root.Dev), unix.Minor(root.Dev))
	must(t, os.MkdirAll(im.Path("opt"), 0o755))
	must(t, unix.Mknod(im.Path("opt/disk"), unix.S_IFBLK|0o666, int(root.Dev)))
	if f, err := os.Open(im.Path("opt/disk")); err != nil {
		t.Logf("the node is of no use outside of the image either: %v", err)
	} else {
		must(t, f.Close())
	}
	im.write(t, "given", fmt.Sprintf("outside=%s\nvictim=%d\ndisk=%s\n", outside, victim.Process.Pid, disk), 0o644)
	host := thisMachine(t)

	if r := im.installs(t, "--profile", "inbox"); r.Verdict != "done" {
		t.Errorf("the verdict is %s", r.Verdict)
	}
	if v := im.packages(t)["ethtool"]; v != "2:99" {
		t.Fatalf("the hostile package is not installed: %q", v)
	}
	told, err := os.ReadFile(im.Path("told"))
	must(t, err)
	t.Logf("the package says:\n%s", told)
	lines := strings.Split(strings.TrimSpace(string(told)), "\n")
	if lines[len(lines)-1] != "end" {
		t.Errorf("the script did not reach its end: %q", lines[len(lines)-1])
	}
	attempts := strings.Count(string(whole), "@attempt(")
	if len(lines) != attempts+1 || attempts < 30 {
		t.Errorf("%d attempts, %d lines", attempts, len(lines))
	}
	for _, line := range lines[:len(lines)-1] {
		if !strings.Contains(line, ": refused: ") {
			t.Errorf("this was not refused: %s", line)
		}
	}
	select {
	case err := <-ended:
		t.Errorf("a process of the build host was ended: %v", err)
	default:
	}
	names, err := os.ReadDir(outside)
	must(t, err)
	if len(names) != 1 {
		t.Errorf("outside of the image there is now %v", names)
	}
	host.unchanged(t)
}

// turncoat replaces what the run keeps in the image by links to a directory of the build host.
const turncoat = `#!/bin/sh
set -e
echo ran >/ran
outside=$(sed -n 's/^outside=//p' /given)
cd /var/lib/rdmactl
id=$(ls runs)
case $(sed -n 's/^what=//p' /given) in
run) mv "runs/$id" away && ln -s "$outside" "runs/$id" ;;
runs) mv runs away && ln -s "$outside" runs ;;
state) mv /var/lib/rdmactl /var/lib/away && ln -s "$outside" /var/lib/rdmactl ;;
backup) rm -rf "runs/$id/backup" && ln -s "$outside" "runs/$id/backup" ;;
output) rm -f "runs/$id/worker.out" && ln -s "$outside/kept" "runs/$id/worker.out" ;;
log) rm -f /var/log/rdmactl/* && ln -s "$outside/kept" "/var/log/rdmactl/$id.log" ;;
logs) mv /var/log/rdmactl /var/log/away && ln -s "$outside" /var/log/rdmactl ;;
lock) rm lock && mkfifo lock ;;
esac
exit 1
`

// TestScriptTurnsOnTheJournal has a script that makes the run's own files lead out of the image, and fails, so
// that the run goes on to undo. Whatever comes of the run, nothing is written outside.
func TestScriptTurnsOnTheJournal(t *testing.T) {
	for _, what := range []string{"run", "runs", "state", "backup", "output", "log", "logs", "lock"} {
		t.Run(what, func(t *testing.T) {
			prepared(t) // skips before a package is built
			im := newImage(t, debian(t, "ethtool", "2:99", turncoat))
			outside := t.TempDir()
			for _, name := range []string{"kept", "environment", "rdmactl"} { // the last two are what a worker removes
				must(t, os.WriteFile(filepath.Join(outside, name), []byte("of the build host"), 0o644))
			}
			before := rootlab.TreeOf(t, outside, rootlab.View{})
			im.write(t, "given", "outside="+outside+"\nwhat="+what+"\n", 0o644)
			// A file that the run would keep a copy of.
			im.write(t, "etc/modules-load.d/rdmactl.conf", "# the administrator's\n", 0o644)
			cmd := lab.Command(t, "install", "--root", im.Dir, "--profile", "inbox", "--yes")
			said, err := cmd.CombinedOutput()
			if err == nil {
				t.Errorf("the run did not fail:\n%s", said)
			}
			if !im.has("ran", "ran") {
				t.Fatalf("the script did not run:\n%s", said)
			}
			for _, args := range [][]string{{"history"}, {"rollback"}, {"install", "--resume", "--yes"}, {"rollback"}} {
				out, err := lab.Command(t, append(args, "--root", im.Dir)...).CombinedOutput()
				t.Logf("%v: %v\n%s", args, err, out)
			}
			if diff := before.Changed(rootlab.TreeOf(t, outside, rootlab.View{})); len(diff) > 0 {
				t.Errorf("outside of the image:\n%s", strings.Join(diff, "\n"))
			}
		})
	}
}

// TestHostileImages are trees whose links and pipes stand where the run reads and writes.
func TestHostileImages(t *testing.T) {
	for _, c := range []struct {
		name   string
		make   func(t *testing.T, im image, outside string)
		exits  []int // of install
		inside string
	}{
		{"etc leads out", func(t *testing.T, im image, outside string) {
			// Followed outside it would be a whole /etc.
			must(t, rootlab.Run(exec.Command("cp", "--archive", im.Path("etc")+"/.", outside)))
			must(t, os.RemoveAll(im.Path("etc")))
			must(t, os.Symlink(outside, im.Path("etc")))
		}, []int{1, 3, 4}, ""},
		{"etc elsewhere in the image", func(t *testing.T, im image, outside string) {
			must(t, rootlab.Run(exec.Command("cp", "--archive", im.Path("etc"), im.Path("real-etc"))))
			must(t, os.RemoveAll(im.Path("etc")))
			must(t, os.Symlink("/real-etc", im.Path("etc")))
		}, []int{0}, "real-etc/modules-load.d/rdmactl.conf"},
		{"state leads out", func(t *testing.T, im image, outside string) {
			must(t, os.Symlink(outside, im.Path("var/lib/rdmactl")))
		}, []int{4}, ""},
		{"state leads out by dots", func(t *testing.T, im image, outside string) {
			must(t, os.Symlink("../../../../../../../../.."+outside, im.Path("var/lib/rdmactl")))
		}, []int{4}, ""},
		{"runs lead out", func(t *testing.T, im image, outside string) {
			must(t, os.Mkdir(im.Path("var/lib/rdmactl"), 0o700))
			must(t, os.Symlink(outside, im.Path("var/lib/rdmactl/runs")))
		}, []int{4}, ""},
		{"state of another user", func(t *testing.T, im image, outside string) {
			must(t, os.Mkdir(im.Path("var/lib/rdmactl"), 0o700))
			must(t, os.Chown(im.Path("var/lib/rdmactl"), 1000, 1000))
		}, []int{4}, ""},
		{"logs lead out", func(t *testing.T, im image, outside string) {
			must(t, os.Symlink(outside, im.Path("var/log/rdmactl")))
		}, []int{4}, ""},
		{"state elsewhere in the image", func(t *testing.T, im image, outside string) {
			must(t, os.Mkdir(im.Path("opt/state"), 0o700))
			must(t, os.Symlink("/opt/state", im.Path("var/lib/rdmactl")))
		}, []int{0}, "opt/state/runs"},
		{"lock is a pipe", func(t *testing.T, im image, outside string) {
			must(t, os.Mkdir(im.Path("var/lib/rdmactl"), 0o700))
			must(t, syscall.Mkfifo(im.Path("var/lib/rdmactl/lock"), 0o600))
		}, []int{4}, ""},
		{"lock leads out", func(t *testing.T, im image, outside string) {
			must(t, os.Mkdir(im.Path("var/lib/rdmactl"), 0o700))
			must(t, os.Symlink(filepath.Join(outside, "lock"), im.Path("var/lib/rdmactl/lock")))
		}, []int{4}, ""},
		{"a pipe for a file of the plan", func(t *testing.T, im image, outside string) {
			must(t, syscall.Mkfifo(im.Path("etc/security/limits.d/90-rdmactl-memlock.conf"), 0o644))
		}, []int{1, 3, 4, 6}, ""},
		{"a pipe for os-release", func(t *testing.T, im image, outside string) {
			for _, name := range []string{"etc/os-release", "usr/lib/os-release"} {
				must(t, os.RemoveAll(im.Path(name)))
				must(t, syscall.Mkfifo(im.Path(name), 0o644))
			}
		}, []int{3}, ""},
		{"a file of the plan leads out", func(t *testing.T, im image, outside string) {
			must(t, os.Symlink(filepath.Join(outside, "conf"), im.Path("etc/modules-load.d/rdmactl.conf")))
		}, []int{0}, "etc/modules-load.d/rdmactl.conf"},
		{"a directory of the plan leads out", func(t *testing.T, im image, outside string) {
			must(t, os.RemoveAll(im.Path("etc/modules-load.d")))
			must(t, os.Symlink(outside, im.Path("etc/modules-load.d")))
		}, []int{1, 4, 6}, ""},
		{"the policy leads out", func(t *testing.T, im image, outside string) {
			must(t, os.Symlink(filepath.Join(outside, "policy"), im.Path("usr/sbin/policy-rc.d")))
		}, []int{1, 4}, ""},
		{"resolv.conf leads out", func(t *testing.T, im image, outside string) {
			must(t, os.RemoveAll(im.Path("etc/resolv.conf")))
			must(t, os.Symlink(filepath.Join(outside, "resolv.conf"), im.Path("etc/resolv.conf")))
		}, []int{0}, ""},
		{"resolv.conf of systemd-resolved", func(t *testing.T, im image, outside string) {
			must(t, os.RemoveAll(im.Path("etc/resolv.conf")))
			must(t, os.Symlink("../run/systemd/resolve/stub-resolv.conf", im.Path("etc/resolv.conf")))
		}, []int{0}, "etc/modules-load.d/rdmactl.conf"},
		{"apt-get is another program", func(t *testing.T, im image, outside string) {
			im.write(t, "usr/bin/apt-get", "#!/bin/sh\nid -u >/ran\ncat /proc/self/status >/status\necho x >"+outside+"/x\nls /proc/1/root"+outside+" >>/ran 2>&1\nexit 100\n", 0o755)
		}, []int{4}, "status"},
	} {
		t.Run(c.name, func(t *testing.T) {
			im := newImage(t)
			outside := t.TempDir()
			c.make(t, im, outside)
			before := rootlab.TreeOf(t, outside, rootlab.View{})
			host := thisMachine(t)
			cmd := lab.Command(t, "install", "--root", im.Dir, "--profile", "inbox", "--yes")
			said, err := cmd.CombinedOutput()
			exit := cmd.ProcessState.ExitCode()
			t.Logf("exit %d, %v: %s", exit, err, lastLines(string(said), 4))
			ok := false
			for _, e := range c.exits {
				ok = ok || exit == e
			}
			if !ok {
				t.Errorf("exit %d, want one of %v:\n%s", exit, c.exits, said)
			}
			if diff := before.Changed(rootlab.TreeOf(t, outside, rootlab.View{})); len(diff) > 0 {
				t.Errorf("outside of the image:\n%s", strings.Join(diff, "\n"))
			}
			if strings.Contains(string(said), "/proc/self/fd") {
				t.Errorf("a file is named as no one finds it:\n%s", said)
			}
			if c.inside != "" {
				if _, err := os.Stat(im.Path(c.inside)); err != nil {
					t.Errorf("the image has no %s: %v\n%s", c.inside, err, said)
				}
			}
			host.unchanged(t)
		})
	}
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
