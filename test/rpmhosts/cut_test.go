package rpmhosts

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// worker is the process that works on the host's run, 0 while there is none.
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

// journal is the text of the host's only journal.
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

func (im image) has(rel string) bool {
	_, err := os.Lstat(im.path(rel))
	return err == nil
}

// killPoint is a moment at which a run is ended.
type killPoint struct {
	name string
	at   func(image) bool
}

// killPoints are those inside of the package manager's transaction, where most can go wrong, and with
// RDMACTL_ROOTS_ALL=1 those before and after it as well, a further quarter of an hour.
func killPoints(t *testing.T) []killPoint {
	inside := []killPoint{
		{"first files", func(im image) bool { return im.has("usr/lib64/libibverbs.so.1") }},
		{"programs", func(im image) bool { return im.has("usr/bin/ibv_devinfo") }},
		{"last files", func(im image) bool { return im.has("usr/bin/mstflint") }},
	}
	if os.Getenv("RDMACTL_ROOTS_ALL") != "1" {
		t.Log("5 points before and after the transaction are left out; RDMACTL_ROOTS_ALL=1 tries them")
		return inside
	}
	return append(inside, []killPoint{
		{"at once", func(im image) bool { return im.worker() != 0 }},
		{"staging", func(im image) bool { return strings.Contains(im.journal(), `"stage-started"`) }},
		{"before packages", func(im image) bool { return strings.Contains(im.journal(), `"step-started"`) }},
		{"transaction begins", func(im image) bool { return im.has("var/lib/rdmactl/rpm-transaction.json") }},
		{"after packages", func(im image) bool { return strings.Contains(im.journal(), `"step-done"`) }},
	}...)
}

// TestKilled ends a run with SIGKILL at several points; both ways on lead to a whole host.
func TestKilled(t *testing.T) {
	points := killPoints(t)
	tried, back := 0, 0
	each(t, func(t *testing.T, s system) {
		for _, way := range []string{"resume", "rollback"} {
			for _, point := range points {
				t.Run(way+" "+point.name, func(t *testing.T) {
					tried++
					im, files, packages := killedAt(t, s, point)
					changed := strings.Contains(im.journal(), `"step-started"`)
					t.Logf("killed with %d of the files and %d of the packages that differ", len(files.changed(im.files(t))), len(packages.changed(im.packages(t))))
					switch {
					case way == "rollback":
						rdmactl(t, 0, "rollback", "--root", im.root)
					case changed:
						rdmactl(t, 4, im.args("install", "--yes")...).says(t, "unfinished", "--root "+im.root)
						fallthrough
					default:
						rdmactl(t, 0, "install", "--root", im.root, "--resume", "--yes").says(t, "done")
						im.complete(t, packages)
						im.rollsBack(t)
					}
					im.asBefore(t, files, packages)
					if !t.Failed() {
						back++
					}
				})
			}
		}
	})
	t.Logf("%d points tried, %d came back", tried, back)
}

// killedAt is a host whose run was killed at a point, and what it was before. A run that had ended when the signal
// came is tried again.
func killedAt(t *testing.T, s system, point killPoint) (im image, files, packages tree) {
	t.Helper()
	const tries = 4
	for n := range tries {
		im = newImage(t, s, good)
		files, packages = im.files(t), im.packages(t)
		cmd := command(t, im.args("install", "--yes")...)
		must(t, cmd.Start())
		pid := 0
		eventually(t, point.name, func() bool {
			if p := im.worker(); p != 0 {
				pid = p
			}
			return pid != 0 && point.at(im)
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
		if point.name != "at once" && (!errors.As(err, &ended) || ended.ExitCode() != 1) {
			t.Errorf("the front-end ended with %v, want exit 1", err)
		}
		return im, files, packages
	}
	t.Fatalf("no run of %d could be killed at this point", tries)
	return im, files, packages
}
