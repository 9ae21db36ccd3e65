package install

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/internal/fault"
)

func (b *bench) ids() []string {
	b.t.Helper()
	ids, err := b.env.Paths.store().IDs()
	if err != nil {
		b.t.Fatal(err)
	}
	return ids
}

func TestPrune(t *testing.T) {
	b := newBench(t)
	for range 3 {
		if _, err := b.start(); err != nil {
			t.Fatal(err)
		}
		if _, err := b.rollback(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.start(); err != nil {
		t.Fatal(err)
	}
	all := b.ids()
	out, err := Prune(b.env, 2)
	if err != nil || out.Bytes == 0 || len(out.Kept) > 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	if diff := cmp.Diff(all[:2], out.Runs); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(all[2:], b.ids()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	for i, id := range all {
		if _, err := os.Stat(b.env.Paths.logFile(id)); (err == nil) != (i >= 2) {
			t.Errorf("log of run %d: %v", i, err)
		}
	}
	// What was left can still be taken back.
	before := newBench(t).h.tree()
	if _, err := b.rollback(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if again, err := Prune(b.env, 2); err != nil || len(again.Runs) > 0 {
		t.Errorf("a second time: %+v, %v", again, err)
	}
}

func TestPruneKeepsWhatIsStillNeeded(t *testing.T) {
	for name, c := range map[string]struct {
		make func(*bench)
		kept bool
	}{
		"a run that died": {func(b *bench) {
			b.crashAt(30)
			dies(t, func() { _, _ = b.start() })
			b.whole()
		}, true},
		"a run that awaits the reboot": {func(b *bench) {
			if _, err := b.startAtBoot(); err != nil {
				t.Fatal(err)
			}
		}, true},
		"a run that is done": {func(b *bench) {
			if _, err := b.start(); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBootBench(t)
			c.make(b)
			out, err := Prune(b.env, 0)
			if err != nil || (len(out.Kept) == 1) != c.kept || (len(out.Runs) == 1) == c.kept {
				t.Fatalf("%+v, %v", out, err)
			}
			if _, err := b.rollback(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPruneWhileAnotherIsAtWork(t *testing.T) {
	b := newBench(t)
	if _, err := b.start(); err != nil {
		t.Fatal(err)
	}
	lock, err := journal.Acquire(b.env.Paths.Lock, journal.Holder{Run: "other", PID: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Prune(b.env, 0)
	wantKind(t, err, fault.Locked, "other")
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	b.h.uid = 1000
	_, err = Prune(b.env, 0)
	wantKind(t, err, fault.Stopped, "not root")
}

func TestPruneThatWasCutShort(t *testing.T) {
	b := newBench(t)
	if _, err := b.start(); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(b.env.Paths.State, "runs", "pruned-"+b.ids()[0])
	if err := os.MkdirAll(filepath.Join(left, "backup"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Prune(b.env, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what the cut left is still there")
	}
	if _, err := Resume(context.Background(), b.env, b.opts); err == nil {
		t.Error("there was nothing to resume")
	}
}
