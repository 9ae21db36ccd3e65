package install

import (
	"io/fs"
	"os"
	"slices"
	"testing"
)

// TestThreeWayUndo: as it was, as the run left it, as it is now.
func TestThreeWayUndo(t *testing.T) {
	const file = "/etc/old.conf" // was "old text\n" 0644, is left as "new text\n" 0644
	tests := map[string]struct {
		edit func(h *fakeHost) error
		want string // text afterwards, "" for absent
		mode fs.FileMode
		kept bool
	}{
		"untouched": {func(*fakeHost) error { return nil }, "old text\n", 0o644, false},
		"edited": {func(h *fakeHost) error {
			return os.WriteFile(h.path(file), []byte("mine\n"), 0o644)
		}, "mine\n", 0o644, true},
		"mode changed": {func(h *fakeHost) error { return os.Chmod(h.path(file), 0o600) }, "new text\n", 0o600, true},
		"removed":      {func(h *fakeHost) error { return os.Remove(h.path(file)) }, "", 0, true},
		"put back by hand": {func(h *fakeHost) error {
			return os.WriteFile(h.path(file), []byte("old text\n"), 0o644)
		}, "old text\n", 0o644, false},
		"replaced by a link": {func(h *fakeHost) error {
			if err := os.Remove(h.path(file)); err != nil {
				return err
			}
			return os.Symlink(h.path("/usr/bin/tool"), h.path(file))
		}, "tool\n", 0o644, true},
		"replaced by a directory": {func(h *fakeHost) error {
			if err := os.Remove(h.path(file)); err != nil {
				return err
			}
			return os.Mkdir(h.path(file), 0o755)
		}, "", 0, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if _, err := b.start(); err != nil {
				t.Fatal(err)
			}
			if err := tt.edit(b.h); err != nil {
				t.Fatal(err)
			}
			rep, err := b.rollback()
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Contains(rep.Kept, file); got != tt.kept {
				t.Errorf("kept %v, want %v: %v", got, tt.kept, rep.Kept)
			}
			data, err := os.ReadFile(b.h.path(file))
			if tt.want != "" && (err != nil || string(data) != tt.want) {
				t.Errorf("text %q, %v, want %q", data, err, tt.want)
			}
			if tt.want == "" && err == nil {
				t.Errorf("text %q, want none", data)
			}
			if tt.mode != 0 {
				if info, err := os.Stat(b.h.path(file)); err != nil || info.Mode().Perm() != tt.mode {
					t.Errorf("mode %v, want %v", info.Mode(), tt.mode)
				}
			}
			old, err := os.ReadFile(b.h.path(file + ".rdmactl-old"))
			if (err == nil) != tt.kept || tt.kept && string(old) != "old text\n" {
				t.Errorf("old text beside it: %q, %v", old, err)
			}
		})
	}
}

func TestUndoKeepsWhatOthersPutIntoOurDirectory(t *testing.T) {
	b := newBench(t)
	if _, err := b.start(); err != nil {
		t.Fatal(err)
	}
	b.h.put("/etc/new.d/theirs", "x")
	if _, err := b.rollback(); err != nil {
		t.Fatal(err)
	}
	if b.h.text("/etc/new.d/theirs") != "x" {
		t.Error("a file of others was changed")
	}
	if _, err := os.Stat(b.h.path("/etc/new.d/deep")); err == nil {
		t.Error("an empty directory of ours is left")
	}
}

func TestUndoStopsForForeignPackages(t *testing.T) {
	b := newBench(t)
	if _, err := b.start(); err != nil {
		t.Fatal(err)
	}
	b.m.repo["theirs"] = fakeRepo{version: "1", needs: []string{"beta"}}
	db := b.m.load()
	p := db.Packages["beta:amd64"]
	p.Name = "theirs"
	db.Packages["theirs:amd64"] = p
	b.m.store(db)
	before := b.h.tree()
	rep, err := b.rollback()
	wantKind(t, err, 4, "theirs")
	if rep.Verdict != VerdictStopped || b.state(rep.RunID) != "done" {
		t.Errorf("%+v, state %s", rep, b.state(rep.RunID))
	}
	after := b.h.tree()
	for path, text := range before {
		if after[path] != text {
			t.Errorf("%s changed", path)
		}
	}
	// It can be tried again when they are gone.
	db = b.m.load()
	delete(db.Packages, "theirs:amd64")
	b.m.store(db)
	if _, err := b.rollback(); err != nil {
		t.Error(err)
	}
}
