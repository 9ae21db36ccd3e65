package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func newRun(t *testing.T) (Store, *Run) {
	t.Helper()
	s := Store{Dir: filepath.Join(t.TempDir(), "state")}
	r, err := s.Create(time.Date(2026, 11, 30, 6, 15, 41, 0, time.UTC), []byte(`{"plan":1}`), []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return s, r
}

func add(t *testing.T, r *Run, events ...Event) {
	t.Helper()
	for _, e := range events {
		if err := r.Append(Entry{Event: e, Step: "s"}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCreateAndRead(t *testing.T) {
	s, r := newRun(t)
	if !strings.HasPrefix(r.ID, "20261130T061541Z-") || !ValidID(r.ID) {
		t.Errorf("id %q", r.ID)
	}
	for path, mode := range map[string]os.FileMode{s.Dir: 0o700, r.Dir: 0o700, filepath.Join(r.Dir, "journal.jsonl"): 0o600, filepath.Join(r.Dir, "plan.json"): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, %v", path, info.Mode(), err)
		}
	}
	add(t, r, RunStarted, StepStarted, StepDone)
	again, err := s.Open(r.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Entries, again.Entries); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if ids, err := s.IDs(); err != nil || len(ids) != 1 || ids[0] != r.ID {
		t.Errorf("ids %v, %v", ids, err)
	}
	if ids, err := (Store{Dir: filepath.Join(s.Dir, "none")}).IDs(); err != nil || len(ids) != 0 {
		t.Errorf("ids of no store: %v, %v", ids, err)
	}
}

func TestIDsSortByCreation(t *testing.T) {
	s, r := newRun(t)
	at := time.Date(2026, 11, 30, 6, 15, 41, 0, time.UTC)
	last := r.ID
	for i := range 40 {
		now := at
		if i%3 == 0 {
			now = at.Add(-time.Hour) // the clock was set back
		}
		next, err := s.Create(now, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if next.ID <= last || !ValidID(next.ID) {
			t.Errorf("%s after %s", next.ID, last)
		}
		last = next.ID
	}
	if next, err := s.Create(at.Add(time.Hour), nil, nil); err != nil || !strings.HasPrefix(next.ID, "20261130T071541Z-") {
		t.Errorf("an hour later: %v, %v", next, err)
	}
}

func TestIDsDoNotLeaveTheStore(t *testing.T) {
	s, _ := newRun(t)
	for _, id := range []string{"", "..", "../x", "20261130T061541Z-4f2a/..", "20261130T061541Z-4F2A", "20261130T061541Z-4f2a\n"} {
		if _, err := s.Open(id); err == nil {
			t.Errorf("id %q was opened", id)
		}
	}
	_, r := newRun(t)
	if _, err := r.ReadFile("../../secret"); err == nil || !strings.Contains(err.Error(), "outside") {
		t.Errorf("a file outside of the run was read: %v", err)
	}
}

func TestTornLine(t *testing.T) {
	whole := `{"seq":1,"time":"2026-11-30T06:15:41Z","event":"run-started"}` + "\n"
	tests := map[string]struct {
		text    string
		entries int
		torn    bool
		line    string // named in the error
	}{
		"empty":             {"", 0, false, ""},
		"whole":             {whole, 1, false, ""},
		"torn":              {whole + `{"seq":2,"ti`, 1, true, ""},
		"torn before break": {whole + `{"seq":2,"time":"2026-11-30T06:15:41Z","event":"note"}`, 1, true, ""},
		"zeros":             {whole + "\x00\x00\x00", 1, true, ""},
		"zeros and break":   {whole + "\x00\x00\n", 0, false, "line 2"},
		"only torn":         {`{"seq"`, 0, true, ""},
		"corrupt first":     {"{\n" + whole, 0, false, "line 1"},
		"corrupt last":      {whole + "garbage\n", 0, false, "line 2"},
		"gap":               {whole + strings.Replace(whole, `"seq":1`, `"seq":3`, 1), 0, false, "line 2"},
		"twice":             {whole + whole, 0, false, "line 2"},
		"empty line":        {whole + "\n", 0, false, "line 2"},
		"two in a line":     {strings.TrimSuffix(whole, "\n") + whole, 0, false, "line 1"},
		"no event":          {`{"seq":1,"time":"2026-11-30T06:15:41Z"}` + "\n", 0, false, "line 1"},
		"unknown field":     {`{"seq":1,"event":"note","more":1}` + "\n", 0, false, "line 1"},
	}
	for name, tt := range tests {
		entries, torn, err := Parse([]byte(tt.text))
		if tt.line != "" {
			if err == nil || !strings.Contains(err.Error(), tt.line) {
				t.Errorf("%s: error %v does not name %s", name, err, tt.line)
			}
			continue
		}
		if err != nil || len(entries) != tt.entries || (torn > 0) != tt.torn {
			t.Errorf("%s: %d entries, torn %d, %v", name, len(entries), torn, err)
		}
	}
}

func TestAppendCutsTornLineOff(t *testing.T) {
	s, r := newRun(t)
	add(t, r, RunStarted)
	file := filepath.Join(r.Dir, "journal.jsonl")
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"seq":2,"time":"2026-11-30T06:15:41Z","event":"step-started","text":"` + strings.Repeat("x", 500)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := s.Open(r.ID)
	if err != nil || again.Torn == 0 || len(again.Entries) != 1 {
		t.Fatalf("torn %d, %v", again.Torn, err)
	}
	add(t, again, RunResumed)
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	last, err := s.Open(r.ID)
	if err != nil || last.Torn != 0 || len(last.Entries) != 2 || last.Entries[1].Event != RunResumed {
		t.Errorf("entries %v, torn %d, %v", last.Entries, last.Torn, err)
	}
}

func TestNotOurs(t *testing.T) {
	tests := map[string]func(t *testing.T, s Store, r *Run){
		"journal that others write": func(t *testing.T, _ Store, r *Run) { chmod(t, filepath.Join(r.Dir, "journal.jsonl"), 0o666) },
		"journal a group writes":    func(t *testing.T, _ Store, r *Run) { chmod(t, filepath.Join(r.Dir, "journal.jsonl"), 0o620) },
		"run directory":             func(t *testing.T, _ Store, r *Run) { chmod(t, r.Dir, 0o777) },
		"runs directory":            func(t *testing.T, s Store, _ *Run) { chmod(t, filepath.Join(s.Dir, "runs"), 0o770) },
		"state directory":           func(t *testing.T, s Store, _ *Run) { chmod(t, s.Dir, 0o707) },
		"journal is a link": func(t *testing.T, s Store, r *Run) {
			file := filepath.Join(r.Dir, "journal.jsonl")
			if err := os.Rename(file, filepath.Join(s.Dir, "elsewhere")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(s.Dir, "elsewhere"), file); err != nil {
				t.Fatal(err)
			}
		},
		"journal with a second name": func(t *testing.T, s Store, r *Run) {
			if err := os.Link(filepath.Join(r.Dir, "journal.jsonl"), filepath.Join(s.Dir, "second")); err != nil {
				t.Fatal(err)
			}
		},
		"journal is a directory": func(t *testing.T, _ Store, r *Run) {
			file := filepath.Join(r.Dir, "journal.jsonl")
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(file, 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"journal of another user": func(t *testing.T, _ Store, r *Run) { chown(t, filepath.Join(r.Dir, "journal.jsonl")) },
		"state of another user":   func(t *testing.T, s Store, _ *Run) { chown(t, s.Dir) },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			s, r := newRun(t)
			add(t, r, RunStarted)
			if _, err := s.Open(r.ID); err != nil {
				t.Fatalf("before: %v", err)
			}
			change(t, s, r)
			_, err := s.Open(r.ID)
			if err == nil {
				t.Fatal("it was opened")
			}
			if name != "journal is a link" && !errors.Is(err, ErrNotOurs) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func chown(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
}

func TestStateOf(t *testing.T) {
	started := []Entry{{Event: RunStarted}}
	ended := append(started, Entry{Event: RunEnded, State: Done})
	for _, tt := range []struct {
		entries []Entry
		live    bool
		want    State
	}{
		{nil, false, Unfinished},
		{started, true, Running},
		{started, false, Unfinished},
		{ended, false, Done},
		{append(ended, Entry{Event: RollbackStarted}), false, Unfinished},
		{append(ended, Entry{Event: RollbackStarted}, Entry{Event: RunEnded, State: RolledBack}), false, RolledBack},
	} {
		if got := StateOf(tt.entries, tt.live); got != tt.want {
			t.Errorf("%v live %v: %s, want %s", tt.entries, tt.live, got, tt.want)
		}
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lockdir", "lock")
	if _, held, err := LockHolder(path); held || err != nil {
		t.Errorf("before: %v, %v", held, err)
	}
	l, err := Acquire(path, Holder{Run: "first", PID: 7})
	if err != nil {
		t.Fatal(err)
	}
	holder, held, err := LockHolder(path)
	if err != nil || !held || holder != (Holder{"first", 7}) {
		t.Errorf("held %v by %v, %v", held, holder, err)
	}
	var other *HeldError
	if _, err := Acquire(path, Holder{Run: "second", PID: 8}); !errors.As(err, &other) || other.Holder.Run != "first" {
		t.Errorf("second: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if _, held, err := LockHolder(path); held || err != nil {
		t.Errorf("after: %v, %v", held, err)
	}
	again, err := Acquire(path, Holder{Run: "third"})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestFollow(t *testing.T) {
	s, r := newRun(t)
	add(t, r, RunStarted)
	seen := make(chan Event, 10)
	done := make(chan error, 1)
	go func() {
		done <- s.Follow(context.Background(), r.ID, 0, func() bool { return true }, func(e Entry) { seen <- e.Event })
	}()
	if e := <-seen; e != RunStarted {
		t.Errorf("first is %s", e)
	}
	add(t, r, StepStarted, RunEnded)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if a, b := <-seen, <-seen; a != StepStarted || b != RunEnded {
		t.Errorf("then %s, %s", a, b)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"seq":1,"event":"note"}` + "\n"))
	f.Add([]byte("\x00\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, torn, err := Parse(data)
		if err == nil && (torn < 0 || torn > len(data)) {
			t.Errorf("torn %d of %d", torn, len(data))
		}
		for i, e := range entries {
			if e.Seq != i+1 {
				t.Errorf("entry %d has number %d", i, e.Seq)
			}
		}
	})
}
