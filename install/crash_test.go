package install

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/internal/fault"
)

// crashed is what a bench panics with at the point where the power goes.
type crashed struct{}

// crashAt makes the n-th point a crash. Points are before and after each journal entry, and before
// and after each single change of the host, so also in the middle of a step.
func (b *bench) crashAt(n int) {
	at := 0
	point := func() {
		if at++; at == n {
			panic(crashed{})
		}
	}
	b.h.tick = point
	b.env.hook = func(string, journal.Entry) { point() }
}

func (b *bench) whole() {
	b.h.tick = func() {}
	b.env.hook = nil
}

// dies runs f and says whether the power went during it.
func dies(t *testing.T, f func()) (died bool) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(crashed); !ok {
				panic(r)
			}
			died = true
		}
	}()
	f()
	return false
}

// tear adds the beginning of an entry to the journal of the latest run, as a power cut does.
func (b *bench) tear() {
	b.t.Helper()
	ids, err := b.env.Paths.store().IDs()
	if err != nil || len(ids) == 0 {
		return
	}
	f, err := os.OpenFile(filepath.Join(b.env.Paths.store().RunDir(ids[len(ids)-1]), "journal.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := f.WriteString(`{"seq":99,"time":"20`); err != nil {
		b.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.t.Fatal(err)
	}
}

// finished is the state that a whole run comes to.
func finished(t *testing.T) map[string]string {
	t.Helper()
	b := newBench(t)
	if _, err := b.start(); err != nil {
		t.Fatal(err)
	}
	return b.h.tree()
}

// crashEverywhere has the power go at each point of a run in turn, and wants the run to come to the end that a whole
// one comes to, and back from there, and back from where it was cut off. least is how many points there are, or more.
func crashEverywhere(t *testing.T, least int, fresh func() *bench, start func(*bench) (RunReport, error), states ...journal.State) {
	t.Helper()
	whole := fresh()
	if _, err := start(whole); err != nil {
		t.Fatal(err)
	}
	after := withoutUnit(whole.h.tree())
	points := 0
	for n := 1; ; n++ {
		for _, resumes := range []bool{true, false} {
			b := fresh()
			before := b.h.tree()
			b.crashAt(n)
			died := dies(t, func() { _, _ = start(b) })
			b.whole()
			if !died {
				t.Logf("%d points tried, all came back", points)
				if points < least {
					t.Errorf("only %d points were tried", points)
				}
				return
			}
			points++
			b.tear()
			if resumes {
				rep, err := b.resume()
				if fault.KindOf(err) == fault.Stopped && err != nil && strings.Contains(err.Error(), "unfinished") {
					rep, err = start(b) // it died before it was begun
				}
				if err != nil && !strings.Contains(err.Error(), "has not been rebooted") { // it died after it was done
					t.Fatalf("point %d: %+v, %v", n, rep, err)
				}
				if diff := cmp.Diff(after, withoutUnit(b.h.tree())); diff != "" {
					t.Fatalf("point %d: resumed run differs (-whole +resumed):\n%s", n, diff)
				}
				if rep.RunID != "" && len(states) > 0 && !slices.Contains(states, b.state(rep.RunID)) {
					t.Fatalf("point %d: state is %s", n, b.state(rep.RunID))
				}
			}
			if _, err := b.rollback(); err != nil {
				t.Fatalf("point %d: resumed %v: rollback: %v", n, resumes, err)
			}
			if diff := cmp.Diff(before, b.h.tree()); diff != "" {
				t.Fatalf("point %d: resumed %v: rolled back (-before +after):\n%s", n, resumes, diff)
			}
		}
	}
}

// withoutUnit leaves out the unit that names the run and the program of the test.
func withoutUnit(tree map[string]string) map[string]string {
	delete(tree, strings.TrimPrefix(finishUnitPath, "/"))
	return tree
}

func TestCrashAtEveryPoint(t *testing.T) {
	after := finished(t)
	points, resumed, undone := 0, 0, 0
	for n := 1; ; n++ {
		b := newBench(t)
		before := b.h.tree()
		b.crashAt(n)
		if !dies(t, func() { _, _ = b.start() }) {
			break
		}
		points++
		b.whole()
		if n%2 == 0 {
			b.tear()
		}
		if len(b.changing()) > 0 {
			_, err := b.start()
			wantKind(t, err, fault.Stopped, b.changing())
		}
		rep, err := Resume(context.Background(), b.env, b.opts)
		if err != nil {
			if fault.KindOf(err) != fault.Stopped || b.changing() != "" {
				t.Fatalf("point %d: resume: %v", n, err)
			}
			rep, err = b.start() // it died before it was begun
		}
		if err != nil || rep.Verdict != VerdictDone && rep.Verdict != VerdictNothingToDo {
			t.Fatalf("point %d: %+v, %v", n, rep, err)
		}
		if diff := cmp.Diff(after, b.h.tree()); diff != "" {
			t.Fatalf("point %d: resumed run differs (-whole +resumed):\n%s", n, diff)
		}
		resumed++
		// A run that was resumed can still be taken back.
		if _, err := b.rollback(); err != nil {
			t.Fatalf("point %d: rollback after resume: %v", n, err)
		}
		if diff := cmp.Diff(before, b.h.tree()); diff != "" {
			t.Fatalf("point %d: rollback after resume (-before +after):\n%s", n, diff)
		}

		b = newBench(t)
		before = b.h.tree()
		b.crashAt(n)
		dies(t, func() { _, _ = b.start() })
		b.whole()
		if n%2 == 1 {
			b.tear()
		}
		if _, err := b.rollback(); err != nil {
			t.Fatalf("point %d: rollback: %v", n, err)
		}
		if diff := cmp.Diff(before, b.h.tree()); diff != "" {
			t.Fatalf("point %d: rolled back run differs (-before +after):\n%s", n, diff)
		}
		undone++
	}
	t.Logf("%d points tried, %d resumed, %d rolled back", points, resumed, undone)
	if points < 60 {
		t.Errorf("only %d points were tried", points)
	}
}

// changing is the run that left the host half-way, if any.
func (b *bench) changing() string {
	b.t.Helper()
	id, err := blocking(b.env.Paths, "")
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

func TestCrashInRollback(t *testing.T) {
	points := 0
	for n := 1; ; n++ {
		b := newBench(t)
		before := b.h.tree()
		if _, err := b.start(); err != nil {
			t.Fatal(err)
		}
		b.h.put("/etc/alpha.conf", "edited\n")
		b.h.put("/etc/new.d/deep/x.conf", "edited too\n")
		b.crashAt(n)
		if !dies(t, func() { _, _ = b.rollback() }) {
			break
		}
		points++
		b.whole()
		var rep RunReport
		var err error
		if n%2 == 0 {
			b.tear()
			rep, err = b.rollback()
		} else {
			rep, err = Resume(context.Background(), b.env, b.opts)
			if fault.KindOf(err) == fault.Stopped && err != nil {
				rep, err = b.rollback() // it died before it was begun, or after it ended
			}
		}
		if err != nil {
			t.Fatalf("point %d: %v", n, err)
		}
		if rep.Verdict != VerdictRolledBack && rep.Verdict != VerdictNothingToDo {
			t.Fatalf("point %d: %+v", n, rep)
		}
		want := before
		want["etc/alpha.conf"] = "-rw-r--r-- edited\n"
		want["etc/new.d"], want["etc/new.d/deep"] = "drwxr-xr-x", "drwxr-xr-x"
		want["etc/new.d/deep/x.conf"] = "-rw-r----- edited too\n"
		if diff := cmp.Diff(want, b.h.tree()); diff != "" {
			t.Fatalf("point %d: (-want +got):\n%s", n, diff)
		}
		if rep.Verdict == VerdictRolledBack {
			if diff := cmp.Diff([]string{"/etc/new.d/deep/x.conf", "/etc/alpha.conf"}, rep.Kept); diff != "" {
				t.Fatalf("point %d: kept (-want +got):\n%s", n, diff)
			}
		}
	}
	t.Logf("%d points tried, all came back", points)
	if points < 30 {
		t.Errorf("only %d points were tried", points)
	}
}

func TestCrashInAutomaticUndo(t *testing.T) {
	points := 0
	for n := 1; ; n++ {
		b := newBench(t)
		b.h.fails["systemctl --no-ask-password start soft.service"] = "Job failed"
		before := b.h.tree()
		b.crashAt(n)
		if !dies(t, func() { _, _ = b.start() }) {
			break
		}
		b.whole()
		if !undoingLatest(t, b) {
			continue
		}
		points++
		if _, err := Resume(context.Background(), b.env, b.opts); err != nil && fault.KindOf(err) != fault.Stopped {
			t.Fatalf("point %d: %v", n, err)
		}
		if diff := cmp.Diff(before, b.h.tree()); diff != "" {
			t.Fatalf("point %d: (-before +after):\n%s", n, diff)
		}
	}
	t.Logf("%d points tried, all came back", points)
	if points < 20 {
		t.Errorf("only %d points were tried", points)
	}
}

func undoingLatest(t *testing.T, b *bench) bool {
	t.Helper()
	ids, err := b.env.Paths.store().IDs()
	if err != nil || len(ids) == 0 {
		return false
	}
	j, err := b.env.Paths.store().Open(ids[len(ids)-1])
	if err != nil {
		t.Fatal(err)
	}
	return undoing(j.Entries)
}
