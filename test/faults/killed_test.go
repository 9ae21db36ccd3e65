package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/plan"
)

// point is a moment of a scenario.
type point struct {
	kind string // of the step
	name string
	moment
	// more says that it is tried with RDMACTL_ROOTS_ALL=1 only.
	more bool
}

// scenario is a run that is killed at its points.
type scenario struct {
	name   string
	start  image
	look   *looker
	argv   func(im image, args ...string) *exec.Cmd // rdmactl for an image
	args   []string                                 // of install, beside --yes
	points []point
	// before and finished are the states without a fault.
	before, finished state
}

// rooted runs rdmactl on an image.
func rooted(t testing.TB) func(image, ...string) *exec.Cmd {
	return func(im image, args ...string) *exec.Cmd {
		return lab.Command(t, append([]string{args[0], "--root", im.Dir}, args[1:]...)...)
	}
}

// run runs a command of the scenario and checks its exit code.
func (s *scenario) run(t testing.TB, im image, exit int, args ...string) string {
	t.Helper()
	out, err := s.argv(im, args...).CombinedOutput()
	got := 0
	if err != nil {
		ended, ok := err.(*exec.ExitError)
		if !ok {
			t.Fatal(err)
		}
		got = ended.ExitCode()
	}
	if got != exit {
		t.Fatalf("rdmactl %s: exit %d, want %d:\n%s", strings.Join(args, " "), got, exit, out)
	}
	return string(out)
}

func (s *scenario) install(more ...string) []string {
	return append(append([]string{"install", "--yes"}, more...), s.args...)
}

// twin is the run that nothing happens to: what it starts from, what it ends with, and that it can be taken back.
func (s *scenario) twin(t testing.TB) {
	t.Helper()
	im := s.start.fork(t)
	s.before = s.look.look(t, im)
	s.run(t, im, 0, s.install()...)
	s.finished = s.look.look(t, im)
	if len(s.before.files.Changed(s.finished.files)) == 0 {
		t.Fatal("the run changes nothing")
	}
	if said := s.run(t, im, 0, s.install()...); !strings.Contains(said, "nothing to do") {
		t.Errorf("a second run says:\n%s", said)
	}
	s.run(t, im, 0, "rollback")
	s.before.same(t, "rolled back without a fault", s.look.look(t, im))
}

// killed is an image whose run was killed at the point.
func (s *scenario) killed(t testing.TB, p point) image {
	t.Helper()
	const tries = 5
	for n := range tries {
		im := s.start.fork(t)
		cmd := s.argv(im, s.install()...)
		ended := make(chan struct{})
		started := false
		hit := p.reached(t, im, func() {
			started = true
			must(t, cmd.Start())
			go func() {
				defer close(ended)
				_ = cmd.Wait() // how it ends is looked at below
			}()
		}, ended)
		if started {
			await(t, "the end of the front-end", ended)
		}
		if !hit {
			t.Logf("the run had gone on to %q before it was killed (%d of %d tries)", im.last(), n+1, tries)
			if p.opens != nil {
				t.Fatalf("the run never came to this point; it ended with %v", cmd.ProcessState)
			}
			continue
		}
		if code := cmd.ProcessState.ExitCode(); code != 1 {
			t.Errorf("the front-end of a killed run ended with %d, want 1", code)
		}
		im.deserted(t)
		return im
	}
	t.Fatalf("no run of %d could be killed at this point", tries)
	return image{}
}

// deserted checks that no process works in the image any more.
func (im image) deserted(t testing.TB) {
	t.Helper()
	var left []string
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if left = im.inside(t); len(left) == 0 {
			return
		}
	}
	t.Errorf("processes outlive the run: %v", left)
}

// inside are the processes whose root is the image.
func (im image) inside(t testing.TB) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	must(t, err)
	var out []string
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 4 && f[4] == "/" && strings.Contains(line, im.Upper()+",") {
				out = append(out, file)
			}
		}
	}
	return out
}

// score counts points.
type score struct{ tried, back, left atomic.Int32 }

// seats are how many runs are at work at a time.
const seats = 2

// all tries the points of scenarios, each with both ways on.
func (sc *score) all(t *testing.T, free chan struct{}, s *scenario) {
	for _, p := range s.points {
		if p.more && os.Getenv("RDMACTL_ROOTS_ALL") != "1" {
			sc.left.Add(2)
			continue
		}
		t.Run(s.name+"/"+p.kind+" "+p.name, func(t *testing.T) {
			t.Parallel()
			free <- struct{}{}
			defer func() { <-free }()
			sc.tried.Add(2)
			resumed := s.killed(t, p)
			taken := resumed.fork(t)
			way := func(name string, go_ func(t *testing.T)) {
				if t.Run(name, go_) {
					sc.back.Add(1)
				}
			}
			way("resume", func(t *testing.T) {
				if _, all := resumed.entries(); begun(all) {
					s.run(t, resumed, 4, s.install()...)
				}
				t.Log(s.run(t, resumed, 0, "install", "--resume", "--yes"))
				s.finished.same(t, "resumed", s.look.look(t, resumed))
			})
			way("rollback", func(t *testing.T) {
				t.Log(s.run(t, taken, 0, "rollback"))
				s.before.same(t, "rolled back", s.look.look(t, taken))
			})
		})
	}
}

// begun says that a step of the run began.
func begun(all []entry) bool {
	for _, e := range all {
		if e.Event == "step-started" {
			return true
		}
	}
	return false
}

// kinds are the kinds of steps; those that no run in an image carries out have the reason, and where they are killed.
func kinds() map[plan.Kind]string {
	return map[plan.Kind]string{
		plan.KindPackages: "", plan.KindFiles: "", plan.KindRepository: "", plan.KindInitramfs: "", plan.KindBuild: "", plan.KindUse: "", plan.KindHold: "",
		plan.KindModules: "an image has no kernel in memory: install/crash_test.go at each entry of the journal, test/vm with a power cut",
		plan.KindUdev:    "no udevd runs in an image: as modules",
		plan.KindServices: "nothing is started in an image, and no plan enables a unit there: packages' own scripts do, inside of the step packages; " +
			"install/crash_test.go at each entry of the journal",
		plan.KindActivate: "an image comes into use when it is booted: install/vendor_test.go at each entry of the journal",
		plan.KindVerify:   "an image has no device; the step changes nothing",
	}
}

// everyKind checks that each kind of step is killed before, inside and after it, or that it is told why not.
func everyKind(t *testing.T, scenarios []*scenario) {
	t.Helper()
	all := kinds()
	killed := map[string]map[string]bool{}
	for _, s := range scenarios {
		for _, p := range s.points {
			where, _, _ := strings.Cut(p.name, ",")
			if all[plan.Kind(p.kind)] != "" {
				t.Errorf("%s: a step %s is killed that no image has", s.name, p.kind)
			}
			if killed[p.kind] == nil {
				killed[p.kind] = map[string]bool{}
			}
			killed[p.kind][where] = true
		}
	}
	for kind, why := range all {
		for _, where := range []string{"before", "inside", "after"} {
			if why == "" && !killed[string(kind)][where] {
				t.Errorf("no step %s is killed %s it", kind, where)
			}
		}
		if why != "" {
			t.Logf("not killed here: %s: %s", kind, why)
		}
	}
}

// TestKilled kills a run at every kind of step.
func TestKilled(t *testing.T) {
	scenarios := []*scenario{soft(t), vendor(t), source(t)}
	everyKind(t, scenarios)
	var sc score
	free := make(chan struct{}, seats)
	t.Run("points", func(t *testing.T) {
		for _, s := range scenarios {
			sc.all(t, free, s)
		}
	})
	t.Logf("%d points tried, %d came back; %d more are tried with RDMACTL_ROOTS_ALL=1", sc.tried.Load(), sc.back.Load(), sc.left.Load())
	if sc.tried.Load() == 0 {
		t.Error("no point was tried")
	}
	if sc.tried.Load() != sc.back.Load() {
		t.Errorf("%d points are lost", sc.tried.Load()-sc.back.Load())
	}
}
