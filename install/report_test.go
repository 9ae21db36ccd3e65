package install

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// wantLists checks that what JSON promises as arrays are some, also where a list was never filled.
func wantLists(t *testing.T, name string, rep RunReport) {
	t.Helper()
	data, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"steps", "kept", "notes", "warnings"} {
		if _, ok := fields[field].([]any); !ok {
			t.Errorf("%s: %s is %v", name, field, fields[field])
		}
	}
}

func TestListsAreNeverNull(t *testing.T) {
	ctx := context.Background()
	b := newBench(t)
	for _, p := range []plan.Plan{{Verdict: plan.Refuse}, {Verdict: plan.NothingToDo}, testPlan()} {
		var out bytes.Buffer
		dry, _ := DryRun(ctx, b.env, p, nil, &out)
		wantLists(t, "dry run", dry)
		rep, _ := Start(ctx, b.env, p, b.opts)
		wantLists(t, rep.Verdict, rep)
	}
	back, _ := b.rollback()
	wantLists(t, "rollback", back)
	again, _ := b.rollback()
	wantLists(t, "second rollback", again)
	b.h.uid = 1000
	stopped, _ := b.start()
	wantLists(t, "not root", stopped)
	wantLists(t, "new", NewReport(VerdictRefused))
}

func TestDryRunReport(t *testing.T) {
	ctx := context.Background()
	packagesOnly := testPlan()
	packagesOnly.Steps = []plan.Step{packagesOnly.Steps[0], packagesOnly.Steps[5]}
	packagesOnly.Steps[0].Changes.Packages = []plan.PackageChange{{Name: "tool", Action: "install"}}
	missing := testPlan()
	missing.Steps[0].Changes.Packages = []plan.PackageChange{{Name: "nowhere", Action: "install"}}
	for _, tt := range []struct {
		name    string
		plan    plan.Plan
		verdict string
		kind    fault.Kind
		actions int // of the package manager; -1 when it was not asked
	}{
		{"changes", testPlan(), VerdictDone, 0, 3},
		{"packages that are there", packagesOnly, VerdictNothingToDo, 0, 0},
		{"nothing to do", plan.Plan{Verdict: plan.NothingToDo}, VerdictNothingToDo, 0, -1},
		{"missing package", missing, VerdictStopped, fault.Stopped, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			var out bytes.Buffer
			rep, err := DryRun(ctx, b.env, tt.plan, nil, &out)
			if err != nil && fault.KindOf(err) != tt.kind || err == nil && tt.kind != 0 {
				t.Fatal(err)
			}
			if !rep.DryRun || rep.Changed || rep.RunID != "" || rep.Verdict != tt.verdict || len(rep.Steps) != len(tt.plan.Steps) {
				t.Errorf("%+v", rep)
			}
			for _, s := range rep.Steps {
				if s.Status != "pending" {
					t.Errorf("step %s is %s", s.ID, s.Status)
				}
			}
			switch {
			case (rep.Resolved != nil) != (tt.actions >= 0):
				t.Errorf("resolved is %+v", rep.Resolved)
			case rep.Resolved != nil && (rep.Resolved.Manager != "fake" || rep.Resolved.Actions == nil || len(rep.Resolved.Actions) != tt.actions):
				t.Errorf("resolved is %+v", rep.Resolved)
			}
			if text := out.String(); tt.verdict == VerdictDone && !strings.Contains(text, "  download 1.0 MiB, 1.0 MiB installed\n") {
				t.Errorf("no sizes in\n%s", text)
			}
		})
	}
	b := newBench(t)
	if _, err := DryRun(ctx, b.env, testPlan(), nil, fullDisk{}); err == nil {
		t.Error("a write that failed was not reported")
	}
	if rep, err := b.start(); err != nil || rep.DryRun || rep.Resolved != nil {
		t.Errorf("a run says that it was a dry one: %+v, %v", rep, err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestSizes(t *testing.T) {
	for _, tt := range []struct {
		download, installed int64
		want                string
	}{
		{0, 0, "download 0 bytes, 0 bytes installed"},
		{1023, 1024, "download 1023 bytes, 1.0 KiB installed"},
		{2_800_000, 19_900_000, "download 2.7 MiB, 19 MiB installed"},
		{1<<20 - 1, 5 << 30, "download 1.0 MiB, 5.0 GiB installed"},
		{-1, 1 << 20, "1.0 MiB installed"},
		{1 << 20, -1, "download 1.0 MiB"},
		{0, -(3 << 20), "download 0 bytes, 3.0 MiB freed"},
		{-1, -1, ""},
	} {
		if got := sizes(plan.Solution{DownloadBytes: tt.download, InstalledBytes: tt.installed}); got != tt.want {
			t.Errorf("%d, %d: %q, want %q", tt.download, tt.installed, got, tt.want)
		}
	}
}

func TestResumable(t *testing.T) {
	b := newBench(t)
	if id, err := Resumable(b.env); id != "" || err != nil {
		t.Errorf("without a run: %q, %v", id, err)
	}
	b.h.uid = 1000
	_, err := Resumable(b.env)
	wantKind(t, err, fault.Stopped, "not root")
	b.h.uid = 0
	b.env.hook = func(when string, e journal.Entry) {
		if when == "after" && e.Event == journal.StepStarted && e.Step == "files" {
			panic(crashed{})
		}
	}
	func() {
		defer func() {
			if _, ok := recover().(crashed); !ok {
				t.Error("the run did not die")
			}
		}()
		_, _ = b.start()
	}()
	b.env.hook = nil
	id, err := Resumable(b.env)
	if id == "" || err != nil {
		t.Fatalf("after a run died: %q, %v", id, err)
	}
	rep, err := Resume(context.Background(), b.env, b.opts)
	if err != nil || rep.RunID != id {
		t.Errorf("resumed %q, %v, want %q", rep.RunID, err, id)
	}
	if id, err := Resumable(b.env); id != "" || err != nil {
		t.Errorf("after a run was resumed: %q, %v", id, err)
	}
	_, err = Resume(context.Background(), b.env, b.opts)
	wantKind(t, err, fault.Stopped, "no run is unfinished")
}

func TestRollbackThatCannotBegin(t *testing.T) {
	ctx := context.Background()
	b := newBench(t)
	rep, err := b.rollback()
	if err != nil || rep.Verdict != VerdictNothingToDo || len(rep.Notes) != 1 || rep.Notes[0] != "there is no run to roll back" {
		t.Errorf("without a run: %+v, %v", rep, err)
	}
	for _, id := range []string{"nonsense", "20200101T000000Z-0000"} {
		rep, err := Rollback(ctx, b.env, RollbackOptions{Run: id, Foreground: true})
		wantKind(t, err, fault.Usage, id)
		if rep.Schema != "" {
			t.Errorf("%s: there is a report beside the error: %+v", id, rep)
		}
	}
	b.h.uid = 1000
	rep, err = b.rollback()
	wantKind(t, err, fault.Stopped, "not root")
	if rep.Schema != "" {
		t.Errorf("there is a report beside the error: %+v", rep)
	}
}

func TestFollowWithoutRun(t *testing.T) {
	b := newBench(t)
	for _, id := range []string{"", "nonsense", "20200101T000000Z-0000"} {
		rep, err := Follow(context.Background(), b.env.Paths, id, nil)
		wantKind(t, err, fault.Usage, "cannot follow", id)
		var f *fault.Error
		if !errors.As(err, &f) || f.Hint == "" {
			t.Errorf("%q: no hint in %v", id, err)
		}
		if rep.Schema != "" {
			t.Errorf("%q: there is a report beside the error: %+v", id, rep)
		}
	}
	done, err := b.start()
	if err != nil {
		t.Fatal(err)
	}
	if rep, err := Follow(context.Background(), b.env.Paths, "", nil); err != nil || rep.Schema == "" || rep.RunID != done.RunID {
		t.Errorf("%+v, %v", rep, err)
	}
}

func TestPlainProgressFits(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 60))
	path := "/" + strings.Repeat("x", 150)
	problem := &journal.Problem{Message: long + "\nsecond line \x1b[2J"}
	for _, e := range []journal.Entry{
		{Event: journal.RunStarted, Text: long},
		{Event: journal.PreflightDone, Text: long},
		{Event: journal.StepStarted, N: 2, Of: 6, Kind: "files", Text: long},
		{Event: journal.StepDone, Status: "done", N: 2, Of: 6, Kind: "files", Text: long, Seconds: 1},
		{Event: journal.StepDone, Status: "skipped", N: 2, Of: 6, Kind: "files", Text: long},
		{Event: journal.StepFailed, N: 2, Of: 6, Kind: "files", Problem: problem},
		{Event: journal.UndoStarted, N: 2, Of: 6, Kind: "files", Text: long},
		{Event: journal.UndoDone, N: 2, Of: 6, Kind: "files", Kept: []string{path, path}},
		{Event: journal.UndoFailed, N: 2, Of: 6, Kind: "files", Problem: problem},
		{Event: journal.Note, Text: long},
	} {
		var out bytes.Buffer
		NewPlain(&out).Entry(e)
		text := out.String()
		if text == "" || strings.Contains(text, "\x1b") {
			t.Errorf("%s: %q", e.Event, text)
		}
		if e.N > 0 && !strings.HasPrefix(text, "step 2/6 files") && !strings.HasPrefix(text, "undo 2/6 files") {
			t.Errorf("%s does not name its step: %q", e.Event, text)
		}
		for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if i > 0 && !strings.HasPrefix(line, "    ") {
				t.Errorf("%s: line %q looks like an entry of its own", e.Event, line)
			}
			if utf8.RuneCountInString(line) > 100 && !strings.Contains(line, path) {
				t.Errorf("%s: %d characters: %q", e.Event, utf8.RuneCountInString(line), line)
			}
		}
		if e.Text == long && strings.Count(text, "word") != 60 && e.Event != journal.UndoStarted {
			t.Errorf("%s: words are lost: %q", e.Event, text)
		}
		var term bytes.Buffer
		p := NewTerminal(&term)
		p.Entry(e)
		if open := p.(*terminalProgress).open; open && utf8.RuneCount(term.Bytes()) > 79 {
			t.Errorf("%s: a line of %d characters is to be replaced", e.Event, term.Len())
		}
	}
}
