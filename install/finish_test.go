package install

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// atBootPlan installs now and comes into use at the next boot.
func atBootPlan() plan.Plan {
	p := testPlan()
	p.Reboot = true
	p.Steps = append(p.Steps[:2:2], plan.Step{ID: "activate", Kind: plan.KindActivate, Summary: "at the next boot", Reboot: true})
	return p
}

func newBootBench(t *testing.T) *bench {
	b := newBench(t)
	b.env.settle = 20 * time.Millisecond
	b.h.put("/etc/systemd/system/.keep", "")
	return b
}

func (b *bench) startAtBoot() (RunReport, error) {
	return Start(context.Background(), b.env, atBootPlan(), b.opts)
}

func (b *bench) resume() (RunReport, error) { return Resume(context.Background(), b.env, b.opts) }

func (b *bench) reboot() { b.h.put("/proc/sys/kernel/random/boot_id", "another\n") }

func (b *bench) verdict(word string) {
	b.env.Verify = func(context.Context) (Outcome, error) { return Outcome{Verdict: word, Summary: "as told"}, nil }
}

func (b *bench) device() { b.h.put("/sys/class/infiniband/mlx5_0/x", "") }

func TestRunAwaitsTheRebootAndIsClosedAfterIt(t *testing.T) {
	b := newBootBench(t)
	before := b.h.tree()
	rep, err := b.startAtBoot()
	if err != nil || rep.Verdict != VerdictDone || !rep.RebootRequired {
		t.Fatalf("%+v, %v", rep, err)
	}
	if got := b.state(rep.RunID); got != journal.AwaitingReboot {
		t.Fatalf("state is %s", got)
	}
	unit := b.h.text(finishUnitPath)
	if !strings.Contains(unit, "install-worker --run "+rep.RunID+" --do finish") || strings.Contains(unit, "oneshot") {
		t.Errorf("unit is\n%s", unit)
	}
	if !strings.Contains(b.h.text(finishWantPath), "Wants="+finishUnit) {
		t.Error("nothing starts the unit")
	}

	// The same again, before the boot: nothing to do, and the reboot is still needed.
	again, err := Start(context.Background(), b.env, plan.Plan{Verdict: plan.NothingToDo}, b.opts)
	if err != nil || again.Verdict != VerdictNothingToDo || !again.RebootRequired {
		t.Fatalf("%+v, %v", again, err)
	}
	_, err = b.resume()
	wantKind(t, err, fault.Stopped, "has not been rebooted")
	if got := b.state(rep.RunID); got != journal.AwaitingReboot {
		t.Fatalf("state is %s", got)
	}

	b.reboot()
	again, err = Start(context.Background(), b.env, plan.Plan{Verdict: plan.NothingToDo}, b.opts)
	if err != nil || again.RebootRequired || len(again.Notes) != 1 || !strings.Contains(again.Notes[0], "not been verified") {
		t.Fatalf("%+v, %v", again, err)
	}
	closed, err := b.resume()
	if err != nil || closed.Verdict != VerdictDone || closed.RebootRequired || closed.Verify != "pass" {
		t.Fatalf("%+v, %v", closed, err)
	}
	if got := b.state(rep.RunID); got != journal.Done {
		t.Fatalf("state is %s", got)
	}
	if _, ok := b.h.tree()[strings.TrimPrefix(finishUnitPath, "/")]; ok {
		t.Error("the unit of a closed run is still there")
	}
	_, err = b.resume()
	wantKind(t, err, fault.Stopped, "no run is unfinished")
	if _, err := b.rollback(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, withBoot(b.h.tree(), before)); diff != "" {
		t.Errorf("rolled back (-before +after):\n%s", diff)
	}
}

// withBoot gives a tree the boot of another, since tests change that on purpose.
func withBoot(tree, from map[string]string) map[string]string {
	const id = "proc/sys/kernel/random/boot_id"
	tree[id] = from[id]
	return tree
}

func TestWhatVerificationAfterTheBootMeans(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string // verdicts
		device        bool   // there was one before the run
		policy        string
		kind          fault.Kind // 0: no error
		state         journal.State
	}{
		"it passes":                               {before: "pass", after: "pass", device: true, state: journal.Done},
		"it warns":                                {before: "pass", after: "warn", device: true, state: journal.Done},
		"it cannot be tested":                     {before: "pass", after: "not-testable", device: true, state: journal.Done},
		"it fails where it passed before":         {before: "pass", after: "fail", device: true, kind: fault.RolledBack, state: journal.RolledBack},
		"it fails where it failed before":         {before: "fail", after: "fail", device: true, kind: fault.Unhealthy, state: journal.Done},
		"it fails where there was no device":      {before: "pass", after: "fail", kind: fault.Unhealthy, state: journal.Done},
		"it fails, and is to be kept":             {before: "pass", after: "fail", device: true, policy: VerifyKeep, kind: fault.Unhealthy, state: journal.Done},
		"it fails, and is to be rolled back":      {before: "fail", after: "fail", device: true, policy: VerifyRollback, kind: fault.RolledBack, state: journal.RolledBack},
		"it passes, and a failure is rolled back": {before: "fail", after: "pass", device: true, policy: VerifyRollback, state: journal.Done},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBootBench(t)
			if c.device {
				b.device()
			}
			before := b.h.tree()
			b.opts.OnVerifyFailure = c.policy
			b.verdict(c.before)
			rep, err := b.startAtBoot()
			if err != nil {
				t.Fatal(err)
			}
			installed := b.h.tree()
			b.reboot()
			b.verdict(c.after)
			closed, err := b.resume()
			if c.kind == 0 {
				if err != nil {
					t.Fatal(err)
				}
			} else if fault.KindOf(err) != c.kind || err == nil {
				t.Fatalf("%+v, %v", closed, err)
			}
			if got := b.state(rep.RunID); got != c.state {
				t.Errorf("state is %s", got)
			}
			want := before
			if c.state == journal.Done {
				want = installed
				for _, gone := range []string{finishUnitPath, finishWantPath, "/etc/systemd/system/multi-user.target.d"} {
					delete(want, strings.TrimPrefix(gone, "/"))
				}
			}
			if diff := cmp.Diff(want, withBoot(b.h.tree(), want)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestVerificationWaitsForLinks(t *testing.T) {
	b := newBootBench(t)
	if _, err := b.startAtBoot(); err != nil {
		t.Fatal(err)
	}
	b.reboot()
	tries := 0
	b.env.settle = time.Minute
	b.env.settle /= 60
	b.env.Verify = func(context.Context) (Outcome, error) {
		if tries++; tries < 3 {
			return Outcome{Verdict: "not-testable", Summary: "no port is active"}, nil
		}
		return Outcome{Verdict: "pass", Summary: "ok"}, nil
	}
	rep, err := b.resume()
	if err != nil || rep.Verify != "pass" || tries != 3 {
		t.Errorf("after %d tries: %+v, %v", tries, rep, err)
	}
}

func TestCrashWhileFinishing(t *testing.T) {
	points := 0
	for n := 1; ; n++ {
		b := newBootBench(t)
		b.device()
		rep, err := b.startAtBoot()
		if err != nil {
			t.Fatal(err)
		}
		b.reboot()
		failing := n%2 == 0
		if failing {
			b.verdict("fail")
		}
		b.crashAt(n)
		if !dies(t, func() { _, _ = b.resume() }) {
			if points > 0 && n > 4 {
				break
			}
			continue
		}
		points++
		b.whole()
		b.tear()
		_, err = b.resume()
		want := journal.Done
		if failing {
			want = journal.RolledBack
		}
		if got := b.state(rep.RunID); got != want {
			t.Fatalf("point %d: state is %s, %v", n, got, err)
		}
	}
	t.Logf("%d points tried", points)
	if points < 8 {
		t.Errorf("only %d points were tried", points)
	}
}

func TestLiveReplacementIsNotPretended(t *testing.T) {
	b := newBootBench(t)
	before := b.h.tree()
	p := atBootPlan()
	p.Steps[2].Reboot, p.Reboot = false, false
	_, err := Start(context.Background(), b.env, p, b.opts)
	wantKind(t, err, fault.RolledBack, "modules are not replaced in memory")
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}
