package rpmhosts

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

func (im image) has(rel string) bool {
	_, err := os.Lstat(im.Path(rel))
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
		{rootlab.AtOnce, func(im image) bool { return im.Worker() != 0 }},
		{"staging", func(im image) bool { return strings.Contains(im.Journal(), `"stage-started"`) }},
		{"before packages", func(im image) bool { return strings.Contains(im.Journal(), `"step-started"`) }},
		{"transaction begins", func(im image) bool { return im.has("var/lib/rdmactl/rpm-transaction.json") }},
		{"after packages", func(im image) bool { return strings.Contains(im.Journal(), `"step-done"`) }},
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
					changed := strings.Contains(im.Journal(), `"step-started"`)
					t.Logf("killed with %d of the files and %d of the packages that differ", len(files.Changed(im.files(t))), len(packages.Changed(im.packages(t))))
					switch {
					case way == "rollback":
						lab.Rdmactl(t, 0, "rollback", "--root", im.Dir)
					case changed:
						lab.Rdmactl(t, 4, im.args("install", "--yes")...).Says(t, "unfinished", "--root "+im.Dir)
						fallthrough
					default:
						again := []string{"install", "--root", im.Dir, "--resume", "--yes"}
						if im.Journal() == "" { // it was killed before it had begun: there is nothing to resume
							lab.Rdmactl(t, 4, again...).Says(t, "no run is unfinished")
							again = im.args("install", "--yes")
						}
						lab.Rdmactl(t, 0, again...).Says(t, "done")
						im.complete(t, packages)
						lab.RollsBack(t, im.Root)
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

// killedAt is a host whose run was killed at a point, and what it was before.
func killedAt(t *testing.T, s system, point killPoint) (im image, files, packages rootlab.Tree) {
	t.Helper()
	rootlab.KilledAt(t, point.name, func() (rootlab.Root, *exec.Cmd) {
		im = newImage(t, s, good)
		files, packages = im.files(t), im.packages(t)
		return im.Root, lab.Command(t, im.args("install", "--yes")...)
	}, func() bool { return point.at(im) })
	return im, files, packages
}
