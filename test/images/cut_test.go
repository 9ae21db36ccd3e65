package images

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// has says that a file of the image holds a text.
func (im image) has(rel, text string) bool {
	data, err := os.ReadFile(im.Path(rel))
	return err == nil && strings.Contains(string(data), text)
}

// inside are the processes of this machine whose root is the image or a namespace of it.
func (im image) inside(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	must(t, err)
	own, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	mark := filepath.Join(im.State, "upper") // an overlay shows its directories
	if !strings.Contains(string(own), mark) {
		t.Skip("the image is not an overlay here: processes in it cannot be told")
	}
	var out []string
	for _, file := range all {
		// A process of the image has it as its root.
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 4 && f[4] == "/" && strings.Contains(line, mark) {
				out = append(out, file)
			}
		}
	}
	return out
}

// TestKilled ends a run with SIGKILL at several points and goes one way on from each, in turn, to a whole image; with
// RDMACTL_ROOTS_ALL=1 both ways from each. test/faults has the same of every kind of step, without the processes.
func TestKilled(t *testing.T) {
	points := []struct {
		name string
		at   func(image) bool
	}{
		{rootlab.AtOnce, func(im image) bool { return im.Worker() != 0 }},
		{"staging", func(im image) bool { return strings.Contains(im.Journal(), `"stage-started"`) }},
		{"before packages", func(im image) bool { return strings.Contains(im.Journal(), `"step-started"`) }},
		{"unpacking", func(im image) bool { return im.has("var/log/dpkg.log", " status unpacked ibverbs-providers:amd64") }},
		{"configuring", func(im image) bool { return im.has("var/log/dpkg.log", " status half-configured rdma-core:amd64") }},
		{"after packages", func(im image) bool { return strings.Contains(im.Journal(), `"step-done"`) }},
	}
	tried, back := 0, 0
	for i, way := range []string{"resume", "rollback"} {
		for j, point := range points {
			if (i+j)%2 != 0 && os.Getenv("RDMACTL_ROOTS_ALL") != "1" {
				continue
			}
			t.Run(way+" "+point.name, func(t *testing.T) {
				im, before, packages := killedAt(t, point.name, point.at)
				if left := im.inside(t); len(left) != 0 {
					t.Errorf("processes are left in the image: %v", left)
				}
				tried++
				switch changed := strings.Contains(im.Journal(), `"step-started"`); {
				case way == "rollback":
					r := lab.Rdmactl(t, 0, "rollback", "--root", im.Dir)
					t.Log(r.Stdout)
				case changed:
					lab.Rdmactl(t, 4, "install", "--root", im.Dir, "--profile", "inbox", "--yes").Says(t, "unfinished", "--root "+im.Dir)
					fallthrough
				default:
					again := []string{"install", "--root", im.Dir, "--resume", "--yes"}
					if im.Journal() == "" { // it was killed before it had begun: there is nothing to resume
						lab.Rdmactl(t, 4, again...).Says(t, "no run is unfinished")
						again = []string{"install", "--root", im.Dir, "--profile", "inbox", "--yes"}
					}
					lab.Rdmactl(t, 0, again...).Says(t, "done")
					if r := im.installs(t, "--profile", "inbox"); r.Verdict != "nothing-to-do" {
						t.Errorf("after the resumed run the verdict is %s", r.Verdict)
					}
					if audit := dpkgAudit(t, im); audit != "" {
						t.Errorf("dpkg --audit: %s", audit)
					}
					lab.RollsBack(t, im.Root)
				}
				if diff := before.Changed(im.guarded(t)); len(diff) > 0 {
					t.Errorf("the image is not as before:\n%s", strings.Join(diff, "\n"))
				}
				if diff := packages.Changed(im.packages(t)); len(diff) > 0 {
					t.Errorf("the packages are not as before: %v", diff)
				}
				if !t.Failed() {
					back++
				}
			})
		}
	}
	t.Logf("%d points tried, %d came back", tried, back)
}

// killedAt is an image whose run was killed at a point, and what the image was before.
func killedAt(t *testing.T, name string, at func(image) bool) (im image, before, packages rootlab.Tree) {
	t.Helper()
	rootlab.KilledAt(t, name, func() (rootlab.Root, *exec.Cmd) {
		im = newImage(t)
		// The log of the packages that made the image is not of this run.
		must(t, os.WriteFile(im.Path("var/log/dpkg.log"), nil, 0o644))
		before, packages = im.guarded(t), im.packages(t)
		return im.Root, lab.Command(t, "install", "--root", im.Dir, "--profile", "inbox", "--yes")
	}, func() bool { return at(im) })
	return im, before, packages
}

// dpkgAudit asks the image's own dpkg.
func dpkgAudit(t *testing.T, im image) string {
	t.Helper()
	out, err := exec.Command("chroot", im.Dir, "dpkg", "--audit").CombinedOutput()
	if err != nil {
		return string(out) + err.Error()
	}
	return strings.TrimSpace(string(out))
}

// TestTerminalLost ends the front-end; the run goes on, another is refused meanwhile, and history shows its end.
func TestTerminalLost(t *testing.T) {
	im := newImage(t)
	cmd := lab.Command(t, "install", "--root", im.Dir, "--profile", "inbox", "--yes")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	must(t, cmd.Start())
	rootlab.Eventually(t, "the run", func() bool { return strings.Contains(im.Journal(), `"step-started"`) })
	must(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGHUP)) // the whole session of the terminal
	must(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
	_ = cmd.Wait() // killed
	lab.Rdmactl(t, 7, "install", "--root", im.Dir, "--profile", "soft", "--netdev", "eth0", "--yes").Says(t, "is at work", "history --root "+im.Dir)
	lab.Rdmactl(t, 7, "rollback", "--root", im.Dir).Says(t, "is at work")
	lab.Rdmactl(t, 0, "history", "--root", im.Dir, "--follow").Says(t, "run ended: done")
	lab.Rdmactl(t, 0, "history", "--root", im.Dir).Says(t, "done")
	lab.RollsBack(t, im.Root)
}

// TestInterrupted asks a run to stop, as Ctrl-C does; what it did is undone.
func TestInterrupted(t *testing.T) {
	im := newImage(t)
	before := im.guarded(t)
	cmd := lab.Command(t, "install", "--root", im.Dir, "--profile", "inbox", "--yes")
	must(t, cmd.Start())
	rootlab.Eventually(t, "the run", func() bool { return strings.Contains(im.Journal(), `"step-started"`) })
	must(t, cmd.Process.Signal(os.Interrupt))
	err := cmd.Wait()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != 130 {
		t.Errorf("it ended with %v, want exit 130", err)
	}
	if diff := before.Changed(im.guarded(t)); len(diff) > 0 {
		t.Errorf("the image is not as before:\n%s", strings.Join(diff, "\n"))
	}
}

// TestForgedLock has a lock file that names a process which is no worker: it is not signalled.
func TestForgedLock(t *testing.T) {
	im := newImage(t)
	victim := exec.Command("sleep", "300")
	must(t, victim.Start())
	t.Cleanup(func() { _ = victim.Process.Kill(); _ = victim.Wait() })
	cmd := lab.Command(t, "install", "--root", im.Dir, "--profile", "inbox", "--yes")
	must(t, cmd.Start())
	var pid int
	rootlab.Eventually(t, "the run", func() bool {
		if p := im.Worker(); p != 0 {
			pid = p
		}
		return strings.Contains(im.Journal(), `"step-started"`)
	})
	ids, err := filepath.Glob(im.Path("var/lib/rdmactl/runs/*"))
	must(t, err)
	forged := `{"run":"` + filepath.Base(ids[0]) + `","pid":` + strconv.Itoa(victim.Process.Pid) + `}` + strings.Repeat(" ", 20) + "\n"
	must(t, os.WriteFile(im.Path("var/lib/rdmactl/lock"), []byte(forged), 0o600))
	must(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait() // it says that it cannot stop the run
	if err := syscall.Kill(victim.Process.Pid, 0); err != nil {
		t.Errorf("the process that the lock named: %v", err)
	}
	if stat, err := os.ReadFile("/proc/" + strconv.Itoa(victim.Process.Pid) + "/stat"); err != nil || strings.Contains(string(stat), ") Z ") {
		t.Errorf("the process that the lock named has ended: %s, %v", stat, err)
	}
	rootlab.Eventually(t, "the end of the run", func() bool { return syscall.Kill(pid, 0) != nil })
}
