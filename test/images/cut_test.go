package images

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// eventually polls until cond holds.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if cond() {
			return
		}
	}
	t.Fatalf("%s: not within two minutes", what)
}

// worker is the process that works on the image's run, 0 while there is none.
func (im image) worker() int {
	data, err := os.ReadFile(im.path("var/lib/rdmactl/lock"))
	var holder struct {
		PID int `json:"pid"`
	}
	if err != nil || json.Unmarshal(data, &holder) != nil {
		return 0
	}
	return holder.PID
}

// journal is the text of the image's only journal.
func (im image) journal() string {
	files, err := filepath.Glob(im.path("var/lib/rdmactl/runs/*/journal.jsonl"))
	if err != nil || len(files) != 1 {
		return ""
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		return ""
	}
	return string(data)
}

// has says that a file of the image holds a text.
func (im image) has(rel, text string) bool {
	data, err := os.ReadFile(im.path(rel))
	return err == nil && strings.Contains(string(data), text)
}

// inside are the processes of this machine whose root is the image or a namespace of it.
func (im image) inside(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	must(t, err)
	own, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	mark := filepath.Join(im.state, "upper") // an overlay shows its directories
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

// TestKilled ends a run with SIGKILL at several points; both ways on lead to a whole image.
func TestKilled(t *testing.T) {
	points := []struct {
		name string
		at   func(image) bool
	}{
		{"at once", func(im image) bool { return im.worker() != 0 }},
		{"staging", func(im image) bool { return strings.Contains(im.journal(), `"stage-started"`) }},
		{"before packages", func(im image) bool { return strings.Contains(im.journal(), `"step-started"`) }},
		{"unpacking", func(im image) bool { return im.has("var/log/dpkg.log", " status unpacked ibverbs-providers:amd64") }},
		{"configuring", func(im image) bool { return im.has("var/log/dpkg.log", " status half-configured rdma-core:amd64") }},
		{"after packages", func(im image) bool { return strings.Contains(im.journal(), `"step-done"`) }},
	}
	tried, back := 0, 0
	for _, way := range []string{"resume", "rollback"} {
		for _, point := range points {
			t.Run(way+" "+point.name, func(t *testing.T) {
				im, before, packages := killedAt(t, point.name, point.at)
				if left := im.inside(t); len(left) != 0 {
					t.Errorf("processes are left in the image: %v", left)
				}
				tried++
				switch changed := strings.Contains(im.journal(), `"step-started"`); {
				case way == "rollback":
					r := rdmactl(t, 0, "rollback", "--root", im.root)
					t.Log(r.stdout)
				case changed:
					rdmactl(t, 4, "install", "--root", im.root, "--profile", "inbox", "--yes").says(t, "unfinished", "--root "+im.root)
					fallthrough
				default:
					rdmactl(t, 0, "install", "--root", im.root, "--resume", "--yes").says(t, "done")
					if r := im.installs(t, "--profile", "inbox"); r.Verdict != "nothing-to-do" {
						t.Errorf("after the resumed run the verdict is %s", r.Verdict)
					}
					if audit := dpkgAudit(t, im); audit != "" {
						t.Errorf("dpkg --audit: %s", audit)
					}
					im.rollsBack(t)
				}
				if diff := before.changed(im.guarded(t)); len(diff) > 0 {
					t.Errorf("the image is not as before:\n%s", strings.Join(diff, "\n"))
				}
				if diff := tree(packages).changed(tree(im.packages(t))); len(diff) > 0 {
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

// killedAt is an image whose run was killed at a point, and what the image was before. A run that had ended when
// the signal came is tried again.
func killedAt(t *testing.T, name string, at func(image) bool) (im image, before tree, packages map[string]string) {
	t.Helper()
	const tries = 4
	for n := range tries {
		im = newImage(t)
		// The log of the packages that made the image is not of this run.
		must(t, os.WriteFile(im.path("var/log/dpkg.log"), nil, 0o644))
		before, packages = im.guarded(t), im.packages(t)
		cmd := command(t, "install", "--root", im.root, "--profile", "inbox", "--yes")
		must(t, cmd.Start())
		pid := 0
		eventually(t, name, func() bool {
			if p := im.worker(); p != 0 {
				pid = p
			}
			return pid != 0 && at(im)
		})
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
		err := cmd.Wait()
		if err == nil {
			t.Logf("the run had ended before it was killed (%d of %d tries)", n+1, tries)
			continue
		}
		var ended *exec.ExitError
		if name != "at once" && (!errors.As(err, &ended) || ended.ExitCode() != 1) {
			t.Errorf("the front-end ended with %v, want exit 1", err)
		}
		return im, before, packages
	}
	t.Fatalf("no run of %d could be killed at this point", tries)
	return im, before, packages
}

// dpkgAudit asks the image's own dpkg.
func dpkgAudit(t *testing.T, im image) string {
	t.Helper()
	out, err := exec.Command("chroot", im.root, "dpkg", "--audit").CombinedOutput()
	if err != nil {
		return string(out) + err.Error()
	}
	return strings.TrimSpace(string(out))
}

// TestTerminalLost ends the front-end; the run goes on, another is refused meanwhile, and history shows its end.
func TestTerminalLost(t *testing.T) {
	im := newImage(t)
	cmd := command(t, "install", "--root", im.root, "--profile", "inbox", "--yes")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	must(t, cmd.Start())
	eventually(t, "the run", func() bool { return strings.Contains(im.journal(), `"step-started"`) })
	must(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGHUP)) // the whole session of the terminal
	must(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
	_ = cmd.Wait() // killed
	rdmactl(t, 7, "install", "--root", im.root, "--profile", "soft", "--netdev", "eth0", "--yes").says(t, "is at work", "history --root "+im.root)
	rdmactl(t, 7, "rollback", "--root", im.root).says(t, "is at work")
	rdmactl(t, 0, "history", "--root", im.root, "--follow").says(t, "run ended: done")
	rdmactl(t, 0, "history", "--root", im.root).says(t, "done")
	im.rollsBack(t)
}

// TestInterrupted asks a run to stop, as Ctrl-C does; what it did is undone.
func TestInterrupted(t *testing.T) {
	im := newImage(t)
	before := im.guarded(t)
	cmd := command(t, "install", "--root", im.root, "--profile", "inbox", "--yes")
	must(t, cmd.Start())
	eventually(t, "the run", func() bool { return strings.Contains(im.journal(), `"step-started"`) })
	must(t, cmd.Process.Signal(os.Interrupt))
	err := cmd.Wait()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != 130 {
		t.Errorf("it ended with %v, want exit 130", err)
	}
	if diff := before.changed(im.guarded(t)); len(diff) > 0 {
		t.Errorf("the image is not as before:\n%s", strings.Join(diff, "\n"))
	}
}

// TestForgedLock has a lock file that names a process which is no worker: it is not signalled.
func TestForgedLock(t *testing.T) {
	im := newImage(t)
	victim := exec.Command("sleep", "300")
	must(t, victim.Start())
	t.Cleanup(func() { _ = victim.Process.Kill(); _ = victim.Wait() })
	cmd := command(t, "install", "--root", im.root, "--profile", "inbox", "--yes")
	must(t, cmd.Start())
	var pid int
	eventually(t, "the run", func() bool {
		if p := im.worker(); p != 0 {
			pid = p
		}
		return strings.Contains(im.journal(), `"step-started"`)
	})
	ids, err := filepath.Glob(im.path("var/lib/rdmactl/runs/*"))
	must(t, err)
	forged := `{"run":"` + filepath.Base(ids[0]) + `","pid":` + strconv.Itoa(victim.Process.Pid) + `}` + strings.Repeat(" ", 20) + "\n"
	must(t, os.WriteFile(im.path("var/lib/rdmactl/lock"), []byte(forged), 0o600))
	must(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait() // it says that it cannot stop the run
	if err := syscall.Kill(victim.Process.Pid, 0); err != nil {
		t.Errorf("the process that the lock named: %v", err)
	}
	if stat, err := os.ReadFile("/proc/" + strconv.Itoa(victim.Process.Pid) + "/stat"); err != nil || strings.Contains(string(stat), ") Z ") {
		t.Errorf("the process that the lock named has ended: %s, %v", stat, err)
	}
	eventually(t, "the end of the run", func() bool { return syscall.Kill(pid, 0) != nil })
}
