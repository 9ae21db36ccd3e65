package install

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// testPlan has a step of every kind.
func testPlan() plan.Plan {
	return plan.Plan{
		Schema: plan.Schema, Verdict: plan.Install, Summary: "a test", Warnings: []plan.Reason{},
		Steps: []plan.Step{
			{ID: "packages", Kind: plan.KindPackages, Summary: "install alpha", Changes: plan.Changes{Packages: []plan.PackageChange{
				{Name: "alpha", Action: "install"}, {Name: "tool", Action: "upgrade"}, {Name: "nowhere", Action: "install", Optional: true},
			}}},
			{ID: "files", Kind: plan.KindFiles, Summary: "write files", Changes: plan.Changes{Files: []plan.FileChange{
				{Path: "/etc/new.d/deep/x.conf", Action: "write", Mode: "0640", Content: "x\n"},
				{Path: "/etc/old.conf", Action: "write", Content: "new text\n"},
				{Path: "/etc/gone.conf", Action: "remove"},
				{Path: "/etc/link.conf", Action: "write", Mode: "0644", Content: "no link\n"},
			}}},
			{ID: "udev", Kind: plan.KindUdev, Summary: "reload udev", Changes: plan.Changes{Subsystems: []string{"infiniband"}}},
			{ID: "modules", Kind: plan.KindModules, Summary: "load modules", Changes: plan.Changes{Modules: []plan.ModuleChange{
				{Name: "rdma_rxe"}, {Name: "not_there", Optional: true},
			}}},
			{ID: "services", Kind: plan.KindServices, Summary: "start services", Changes: plan.Changes{Services: []plan.ServiceChange{
				{Action: "daemon-reload"}, {Name: "soft.service", Action: "start"},
			}}},
			{ID: "verify", Kind: plan.KindVerify, Summary: "verify"},
		},
	}
}

type bench struct {
	t    *testing.T
	h    *fakeHost
	m    *fakeManager
	env  Env
	opts Options
	was  fakeDB // the package database before a run
}

func newBench(t *testing.T) *bench {
	t.Helper()
	h := newFakeHost(t)
	if err := os.Symlink("/usr/bin/tool", h.path("/etc/link.conf")); err != nil {
		t.Fatal(err)
	}
	m := newFakeManager(h)
	h.put("/var/cache/staged", "yes") // so that the cache does not differ between before and after
	return &bench{t: t, h: h, m: m, opts: Options{Foreground: true}, env: Env{
		Host: h, Manager: m, Tool: "test",
		Paths:  Paths{State: h.path("/var/lib/rdmactl"), Log: h.path("/var/log/rdmactl"), Lock: h.path("/run/rdmactl/lock")},
		Verify: func(context.Context) (Outcome, error) { return Outcome{Verdict: "pass", Summary: "ok"}, nil },
	}}
}

func (b *bench) start() (RunReport, error) {
	return Start(context.Background(), b.env, testPlan(), b.opts)
}

func (b *bench) rollback() (RunReport, error) {
	return Rollback(context.Background(), b.env, RollbackOptions{Foreground: true})
}

func (b *bench) state(id string) journal.State {
	b.t.Helper()
	infos, err := History(b.env.Paths)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, i := range infos {
		if i.ID == id {
			return i.State
		}
	}
	b.t.Fatalf("run %q is not in the history", id)
	return ""
}

func wantKind(t *testing.T, err error, kind fault.Kind, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want exit %d", kind)
	}
	if got := fault.KindOf(err); got != kind {
		t.Fatalf("exit %d, want %d: %v", got, kind, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not name %q", err, w)
		}
	}
}

func TestRunAndRollback(t *testing.T) {
	b := newBench(t)
	before := b.h.tree()
	rep, err := b.start()
	if err != nil {
		t.Fatal(err)
	}
	if rep.Verdict != VerdictDone || !rep.Changed || rep.Verify != "pass" || b.state(rep.RunID) != journal.Done {
		t.Errorf("report %+v, state %s", rep, b.state(rep.RunID))
	}
	for path, want := range map[string]string{"/etc/new.d/deep/x.conf": "x\n", "/etc/old.conf": "new text\n", "/etc/link.conf": "no link\n", "/usr/share/beta/data": "1.0", "/usr/share/tool/data": "2.0"} {
		if got := b.h.text(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if b.h.text("/usr/bin/tool") != "tool\n" {
		t.Error("the file behind a replaced link was changed")
	}
	if _, err := os.Stat(b.h.path("/etc/gone.conf")); err == nil {
		t.Error("/etc/gone.conf was not removed")
	}
	if !strings.Contains(b.h.text("/proc/modules"), "rdma_rxe") || b.h.units()["is-active soft.service"] != "active" {
		t.Error("module or service is not up")
	}
	again, err := b.start()
	if err != nil || again.Verdict != VerdictNothingToDo || again.Changed {
		t.Errorf("second run: %+v, %v", again, err)
	}
	for _, s := range again.Steps {
		if s.Status != "skipped" {
			t.Errorf("second run: step %s is %s", s.ID, s.Status)
		}
	}
	back, err := b.rollback()
	if err != nil || back.Verdict != VerdictRolledBack || back.RunID != rep.RunID || back.Changed {
		t.Fatalf("rollback: %+v, %v", back, err)
	}
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("rollback left a difference (-before +after):\n%s", diff)
	}
	if b.state(rep.RunID) != journal.RolledBack {
		t.Errorf("state is %s", b.state(rep.RunID))
	}
	second, err := b.rollback()
	if err != nil || second.Verdict != VerdictNothingToDo {
		t.Errorf("second rollback: %+v, %v", second, err)
	}
}

func TestStepFailureRollsBack(t *testing.T) {
	tests := map[string]struct {
		set   func(b *bench)
		words []string
	}{
		"package script":      {func(b *bench) { b.m.failing = "beta" }, []string{"script of beta", "rolled back"}},
		"unannounced package": {func(b *bench) { b.m.extra = "stranger" }, []string{"stranger"}},
		"module":              {func(b *bench) { b.h.fails["modprobe -b -- rdma_rxe"] = "modprobe: ERROR: no" }, []string{"rdma_rxe", "step modules"}},
		"service":             {func(b *bench) { b.h.fails["systemctl --no-ask-password start soft.service"] = "Job failed" }, []string{"soft.service", "Job failed"}},
		"verify that passed before": {func(b *bench) {
			b.h.put("/sys/class/infiniband/mlx5_0/x", "")
			calls := 0
			b.env.Verify = func(context.Context) (Outcome, error) {
				if calls++; calls == 1 {
					return Outcome{Verdict: "pass"}, nil
				}
				return Outcome{Verdict: "fail", Summary: "wrong data"}, nil
			}
		}, []string{"wrong data"}},
		"verify with rollback asked for": {func(b *bench) {
			b.opts.OnVerifyFailure = VerifyRollback
			b.env.Verify = func(context.Context) (Outcome, error) {
				return Outcome{Verdict: "fail", Summary: "wrong data"}, nil
			}
		}, []string{"wrong data"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			tt.set(b)
			before := b.h.tree()
			rep, err := b.start()
			if name == "unannounced package" {
				// What came unannounced is not ours to remove.
				wantKind(t, err, fault.RolledBack, tt.words...)
				db := b.m.load()
				if _, ok := db.Packages["stranger:amd64"]; !ok {
					t.Error("the stranger was removed")
				}
				return
			}
			wantKind(t, err, fault.RolledBack, tt.words...)
			if rep.Verdict != VerdictRolledBack || rep.Changed || b.state(rep.RunID) != journal.RolledBack {
				t.Errorf("report %+v, state %s", rep, b.state(rep.RunID))
			}
			if diff := cmp.Diff(before, b.h.tree()); diff != "" {
				t.Errorf("a difference is left:\n%s", diff)
			}
		})
	}
}

func TestVerifyFailureIsKept(t *testing.T) {
	b := newBench(t)
	b.env.Verify = func(context.Context) (Outcome, error) {
		return Outcome{Verdict: "fail", Summary: "wrong data", Report: []byte(`{"verdict":"fail"}`)}, nil
	}
	rep, err := b.start()
	wantKind(t, err, fault.Unhealthy)
	if rep.Verdict != VerdictDone || rep.Verify != "fail" || b.state(rep.RunID) != journal.Done {
		t.Errorf("report %+v", rep)
	}
	for _, verdict := range []string{"warn", "not-testable"} {
		b := newBench(t)
		b.env.Verify = func(context.Context) (Outcome, error) { return Outcome{Verdict: verdict}, nil }
		if rep, err := b.start(); err != nil || rep.Verify != verdict {
			t.Errorf("%s: %+v, %v", verdict, rep, err)
		}
	}
}

func TestStopsBeforeAnyChange(t *testing.T) {
	tests := map[string]struct {
		set   func(b *bench)
		words []string
	}{
		"not root":      {func(b *bench) { b.h.uid = 1000 }, []string{"not root"}},
		"bad signature": {func(b *bench) { b.m.badSign = true }, []string{"BADSIG"}},
		"removal": {func(b *bench) {
			b.m.repo["alpha"] = fakeRepo{version: "2.0", conflicts: []string{"tool"}}
			db := b.m.load()
			b.m.store(db)
		}, []string{"remove tool"}},
		"missing package": {func(b *bench) { delete(b.m.repo, "alpha") }, []string{"alpha", "fake repository"}},
		"no space":        {func(b *bench) { b.h.free = 1024 }, []string{"MiB"}},
		"broken database": {func(b *bench) {
			db := b.m.load()
			p := db.Packages["tool:amd64"]
			p.Status = "broken"
			db.Packages["tool:amd64"] = p
			b.m.store(db)
		}, []string{"tool:amd64"}},
		"blacklisted module": {func(b *bench) { b.h.put("/etc/modprobe.d/no.conf", "blacklist rdma_rxe\n") }, []string{"rdma_rxe", "/etc/modprobe.d/no.conf"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			tt.set(b)
			before := b.h.tree()
			rep, err := b.start()
			wantKind(t, err, fault.Stopped, tt.words...)
			if rep.Verdict != VerdictStopped || rep.Changed {
				t.Errorf("report %+v", rep)
			}
			if diff := cmp.Diff(before, b.h.tree()); diff != "" {
				t.Errorf("something changed:\n%s", diff)
			}
		})
	}
	t.Run("removal that is allowed", func(t *testing.T) {
		b := newBench(t)
		b.m.repo["alpha"] = fakeRepo{version: "2.0", conflicts: []string{"tool"}}
		b.opts.AllowRemove = []string{"tool"}
		p := testPlan()
		p.Steps[0].Changes.Packages = p.Steps[0].Changes.Packages[:1]
		if _, err := Start(context.Background(), b.env, p, b.opts); err != nil {
			t.Fatal(err)
		}
		if b.m.load().Packages["tool:amd64"].Status != "" {
			t.Error("tool is still there")
		}
	})
}

func TestVerdictsWithoutRun(t *testing.T) {
	b := newBench(t)
	p := testPlan()
	p.Verdict = plan.NothingToDo
	if rep, err := Start(context.Background(), b.env, p, b.opts); err != nil || rep.Verdict != VerdictNothingToDo || rep.RunID != "" {
		t.Errorf("%+v, %v", rep, err)
	}
	p.Verdict, p.Reasons = plan.Refuse, []plan.Reason{{Code: "no-rdma-hardware"}}
	_, err := Start(context.Background(), b.env, p, b.opts)
	wantKind(t, err, fault.Refused)
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != "no-rdma-hardware" {
		t.Errorf("code of %v", err)
	}
	if infos, err := History(b.env.Paths); err != nil || len(infos) != 0 {
		t.Errorf("history %v, %v", infos, err)
	}
}

func TestInterrupt(t *testing.T) {
	for _, at := range []string{"packages", "services"} {
		b := newBench(t)
		before := b.h.tree()
		ctx, cancel := context.WithCancel(context.Background())
		b.env.hook = func(when string, e journal.Entry) {
			if when == "after" && e.Event == journal.StepStarted && e.Step == at {
				cancel()
			}
		}
		rep, err := Start(ctx, b.env, testPlan(), b.opts)
		wantKind(t, err, fault.Interrupted)
		if b.state(rep.RunID) != journal.Interrupted {
			t.Errorf("state %s", b.state(rep.RunID))
		}
		if rep.Verdict != VerdictInterrupted {
			t.Errorf("the history says interrupted, and the report %s", rep.Verdict)
		}
		for _, s := range rep.Steps {
			if s.ID == at && s.Status != "undone" {
				t.Errorf("step %s was not finished and undone but %s", s.ID, s.Status)
			}
		}
		if diff := cmp.Diff(before, b.h.tree()); diff != "" {
			t.Errorf("interrupted in %s: a difference is left:\n%s", at, diff)
		}
	}
}
