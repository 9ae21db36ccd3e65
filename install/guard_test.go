package install

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

func TestLocked(t *testing.T) {
	b := newBench(t)
	l, err := journal.Acquire(b.env.Paths.Lock, journal.Holder{Run: "20261130T061541Z-4f2a", PID: 4711})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.start()
	wantKind(t, err, fault.Locked, "20261130T061541Z-4f2a", "4711")
	_, err = b.rollback()
	wantKind(t, err, fault.Locked)
	_, err = Resume(context.Background(), b.env, b.opts)
	wantKind(t, err, fault.Locked)
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	// Two front-ends at the same moment: the second one's worker finds the lock taken.
	j, err := b.env.Paths.store().Create(b.h.Now(), []byte(`{"steps":[]}`), []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	l, err = journal.Acquire(b.env.Paths.Lock, journal.Holder{Run: "20261130T061541Z-4f2a", PID: 4711})
	if err != nil {
		t.Fatal(err)
	}
	if code := Worker(context.Background(), b.env, j.ID, doApply); code != int(fault.Locked) {
		t.Errorf("worker ended with %d", code)
	}
	_, err = conclude(b.env.Paths, j.ID, 0, 0)
	wantKind(t, err, fault.Locked, "4711")
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.start(); err != nil {
		t.Errorf("after: %v", err)
	}
}

func TestJournalOfOthersIsRefused(t *testing.T) {
	b := newBench(t)
	rep, err := b.start()
	if err != nil {
		t.Fatal(err)
	}
	before := b.h.tree()
	file := filepath.Join(b.env.Paths.store().RunDir(rep.RunID), "journal.jsonl")
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = b.rollback()
	wantKind(t, err, fault.Stopped, "journal.jsonl")
	_, err = b.start()
	wantKind(t, err, fault.Stopped, "journal.jsonl")
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("something changed:\n%s", diff)
	}
	infos, err := History(b.env.Paths)
	if err != nil || len(infos) != 1 || !strings.Contains(infos[0].Note, "others may write") {
		t.Errorf("history %+v, %v", infos, err)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(filepath.Dir(file), "backup", "files-1")
	if err := os.Chmod(backup, 0o660); err != nil {
		t.Fatal(err)
	}
	_, err = b.rollback()
	wantKind(t, err, fault.Failed, "backup/files-1")
	if err := os.Chmod(backup, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(backup, []byte("not what it was"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = b.rollback()
	wantKind(t, err, fault.Failed, "damaged")
	_, err = b.start()
	wantKind(t, err, fault.Stopped, rep.RunID)
	if err := os.WriteFile(backup, []byte("old text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.rollback(); err != nil {
		t.Error(err)
	}
}

func TestRollbackOfAnEarlierRun(t *testing.T) {
	b := newBench(t)
	first, err := b.start()
	if err != nil {
		t.Fatal(err)
	}
	p := plan.Plan{Verdict: plan.Install, Steps: []plan.Step{{ID: "more", Kind: plan.KindFiles, Changes: plan.Changes{Files: []plan.FileChange{{Path: "/etc/more", Action: "write", Content: "x"}}}}}}
	second, err := Start(context.Background(), b.env, p, b.opts)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Rollback(context.Background(), b.env, RollbackOptions{Run: first.RunID, Foreground: true})
	wantKind(t, err, fault.Stopped, second.RunID)
	for _, want := range []string{second.RunID, first.RunID} {
		if rep, err := b.rollback(); err != nil || rep.RunID != want {
			t.Errorf("%+v, %v", rep, err)
		}
	}
	_, err = Rollback(context.Background(), b.env, RollbackOptions{Run: "../../x", Foreground: true})
	wantKind(t, err, fault.Usage)
}

// TestOldUnfinishedRunIsPast: a run that died before it changed anything is not resumed after another
// one changed the host.
func TestOldUnfinishedRunIsPast(t *testing.T) {
	b := newBench(t)
	b.env.hook = func(_ string, e journal.Entry) {
		if e.Event == journal.PreflightDone {
			panic(crashed{})
		}
	}
	if !dies(t, func() { _, _ = b.start() }) {
		t.Fatal("it did not die")
	}
	b.whole()
	if id, err := pending(b.env.Paths); id == "" || err != nil {
		t.Errorf("pending %q, %v", id, err)
	}
	if _, err := b.start(); err != nil {
		t.Fatal(err)
	}
	_, err := Resume(context.Background(), b.env, b.opts)
	wantKind(t, err, fault.Stopped, "no run is unfinished")
}

func TestNothingToDoBesideAnUnfinishedRun(t *testing.T) {
	b := newBench(t)
	b.env.hook = func(when string, e journal.Entry) {
		if when == "before" && e.Event == journal.RunEnded {
			panic(crashed{})
		}
	}
	if !dies(t, func() { _, _ = b.start() }) {
		t.Fatal("it did not die")
	}
	b.whole()
	p := testPlan()
	p.Verdict = plan.NothingToDo
	_, err := Start(context.Background(), b.env, p, b.opts)
	wantKind(t, err, fault.Stopped, "unfinished")
	if _, err := Resume(context.Background(), b.env, b.opts); err != nil {
		t.Fatal(err)
	}
	if rep, err := Start(context.Background(), b.env, p, b.opts); err != nil || rep.Verdict != VerdictNothingToDo {
		t.Errorf("%+v, %v", rep, err)
	}
}

func TestFaultyPlans(t *testing.T) {
	write := func(c plan.FileChange) plan.Plan {
		return plan.Plan{Verdict: plan.Install, Steps: []plan.Step{{ID: "files", Kind: plan.KindFiles, Changes: plan.Changes{Files: []plan.FileChange{c}}}}}
	}
	plans := map[string]plan.Plan{
		"same id twice":   {Verdict: plan.Install, Steps: []plan.Step{{ID: "a"}, {ID: "a"}}},
		"id with a slash": {Verdict: plan.Install, Steps: []plan.Step{{ID: "../a"}}},
		"unknown kind":    {Verdict: plan.Install, Steps: []plan.Step{{ID: "a", Kind: "firmware"}}},
		"relative path":   write(plan.FileChange{Path: "etc/x", Action: "write"}),
		"unclean path":    write(plan.FileChange{Path: "/etc/../x", Action: "write"}),
		"unknown action":  write(plan.FileChange{Path: "/etc/x", Action: "append", Content: "x"}),
		"setuid":          write(plan.FileChange{Path: "/etc/x", Action: "write", Mode: "4755"}),
		"directory":       write(plan.FileChange{Path: "/etc", Action: "write", Content: "x"}),
	}
	for name, p := range plans {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			before := b.h.tree()
			if rep, err := Start(context.Background(), b.env, p, b.opts); err == nil {
				t.Errorf("it ran: %+v", rep)
			}
			if diff := cmp.Diff(before, b.h.tree()); diff != "" {
				t.Errorf("something changed:\n%s", diff)
			}
		})
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	b := newBench(t)
	before := b.h.tree()
	var out strings.Builder
	rep, err := DryRun(context.Background(), b.env, testPlan(), nil, &out)
	if err != nil || rep.Changed {
		t.Fatalf("%+v, %v", rep, err)
	}
	for _, want := range []string{"install beta:amd64 1.0", "upgrade tool:amd64 2.0 (from 1.0)", "write /etc/new.d/deep/x.conf 0640", "modprobe rdma_rxe", "systemctl start soft.service", "package nowhere is left out", "nothing was changed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("something changed:\n%s", diff)
	}
	if len(b.h.ran) > 0 {
		t.Errorf("commands ran: %v", b.h.ran)
	}
	if infos, err := History(b.env.Paths); err != nil || len(infos) > 0 {
		t.Errorf("history %v, %v", infos, err)
	}
}

func TestReportsFitTheSchema(t *testing.T) {
	data, err := os.ReadFile("../docs/schema/run.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, v any, valid bool) {
		t.Helper()
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal(data, &value); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(value); (err == nil) != valid {
			t.Errorf("%s: %v, want valid %v\n%s", name, err, valid, data)
		}
	}
	b := newBench(t)
	done, err := b.start()
	if err != nil {
		t.Fatal(err)
	}
	check("done", done, true)
	again, _ := b.start()
	check("nothing to do", again, true)
	b.h.put("/etc/old.conf", "edited")
	back, _ := b.rollback()
	check("rolled back", back, true)
	b.m.failing = "beta"
	failed, _ := b.start()
	check("failed step", failed, true)
	refused, _ := Start(context.Background(), b.env, plan.Plan{Verdict: plan.Refuse}, b.opts)
	check("refused", refused, true)
	check("a field more", struct {
		RunReport
		More int `json:"more"`
	}{RunReport: done}, false)
	check("no fields", map[string]any{"schema": Schema}, false)
}

func TestLogKeepsNoSecrets(t *testing.T) {
	var out strings.Builder
	l := &logged{Writer: &fakeHost{t: t, root: t.TempDir(), fails: map[string]string{"apt-get update": "E: http://user:secret@mirror/x failed\n"}}, log: &out}
	if _, err := l.Run(context.Background(), host.Command{Argv: []string{"apt-get", "update"}}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "secret") || !strings.Contains(out.String(), "http://***@mirror/x failed") || !strings.Contains(out.String(), "exit 1") {
		t.Errorf("log:\n%s", out.String())
	}
}

func TestTerminalProgress(t *testing.T) {
	var out strings.Builder
	p := NewTerminal(&out)
	p.Entry(journal.Entry{Event: journal.StepStarted, N: 1, Of: 2, Kind: "files", Text: "write"})
	p.Entry(journal.Entry{Event: journal.StepDone, Status: "done", N: 1, Of: 2, Kind: "files", Text: "write", Seconds: 0.25})
	p.Entry(journal.Entry{Event: journal.StepDone, Status: "skipped", N: 2, Of: 2, Kind: "modules", Text: "already"})
	want := "step 1/2 files: write ..." + clearLine + "step 1/2 files: write [done 0.2s]\nstep 2/2 modules [skipped: already]\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestOptionalModuleThatIsBlacklisted(t *testing.T) {
	b := newBench(t)
	b.h.put("/etc/modprobe.d/no.conf", "blacklist mlx5_core\n")
	p := plan.Plan{Verdict: plan.Install, Steps: []plan.Step{{ID: "modules", Kind: plan.KindModules, Changes: plan.Changes{Modules: []plan.ModuleChange{{Name: "rdma_rxe"}, {Name: "mlx5_core", Optional: true}}}}}}
	rep, err := Start(context.Background(), b.env, p, b.opts)
	if err != nil || !rep.Changed {
		t.Fatalf("%+v, %v", rep, err)
	}
	if strings.Contains(strings.Join(b.h.ran, "\n"), "mlx5_core") {
		t.Errorf("a blacklisted module was loaded: %v", b.h.ran)
	}
	if again, err := Start(context.Background(), b.env, p, b.opts); err != nil || again.Verdict != VerdictNothingToDo {
		t.Errorf("second run %+v, %v", again, err)
	}
}

func TestModuleInUseStays(t *testing.T) {
	b := newBench(t)
	if _, err := b.start(); err != nil {
		t.Fatal(err)
	}
	b.h.put("/proc/modules", strings.Replace(b.h.text("/proc/modules"), "rdma_rxe 1 0 -", "rdma_rxe 1 2 -", 1))
	b.h.put("/sys/module/ib_core/drivers/pci:ib/module", "")
	if err := os.Symlink("../x", b.h.path("/sys/module/ib_core/drivers/pci:ib/0000:3b:00.0")); err != nil {
		t.Fatal(err)
	}
	rep, err := b.rollback()
	if err != nil || rep.Verdict != VerdictRolledBack {
		t.Fatalf("%+v, %v", rep, err)
	}
	notes := strings.Join(rep.Notes, "\n")
	if !strings.Contains(notes, "rdma_rxe stays loaded") || !strings.Contains(notes, "it drives 0000:3b:00.0") {
		t.Errorf("notes:\n%s", notes)
	}
	if strings.Contains(strings.Join(b.h.ran, "\n"), "rmmod") {
		t.Errorf("rmmod ran: %v", b.h.ran)
	}
}

func TestProxyEnvironment(t *testing.T) {
	got := string(proxyEnvironment([]string{"HOME=/root", "http_proxy=http://u:p$\"x@proxy:3128", "NO_PROXY=a,b", "https_proxy=two\nlines", "LD_PRELOAD=x"}))
	want := "http_proxy=\"http://u:p\\$\\\"x@proxy:3128\"\nNO_PROXY=\"a,b\"\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
