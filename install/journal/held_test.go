package journal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/install/journal"
)

// heldStore is a store whose directory is held open, as that of an image is, and a directory beside it.
func heldStore(t *testing.T) (store journal.Store, dir, outside string) {
	t.Helper()
	base := t.TempDir()
	dir, outside = filepath.Join(base, "state"), filepath.Join(base, "outside")
	for _, d := range []string{dir, outside} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return journal.Store{Dir: fmt.Sprintf("/proc/self/fd/%d", f.Fd())}, dir, outside
}

func newRun(t *testing.T, s journal.Store) *journal.Run {
	t.Helper()
	r, err := s.Create(time.Now(), []byte("{}"), []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestHeldDirectory(t *testing.T) {
	s, dir, _ := heldStore(t)
	r := newRun(t, s)
	if err := r.Append(journal.Entry{Event: journal.RunStarted}); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteFile("backup/x", []byte("text")); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "runs", r.ID, "backup/x")); err != nil || string(data) != "text" {
		t.Errorf("the file in the directory: %q, %v", data, err)
	}
	// The path is gone, the directory is not.
	if err := os.Rename(dir, dir+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", dir); err != nil {
		t.Fatal(err)
	}
	again, err := s.Open(r.ID)
	if err != nil || len(again.Entries) != 1 {
		t.Errorf("opened again: %+v, %v", again, err)
	}
	ids, err := s.IDs()
	if err != nil || len(ids) != 1 {
		t.Errorf("ids %v, %v", ids, err)
	}
	lock := filepath.Join(s.Dir, "lock")
	held, err := journal.Acquire(lock, journal.Holder{Run: r.ID, PID: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	if h, is, err := journal.LockHolder(lock); err != nil || !is || h.Run != r.ID {
		t.Errorf("the lock is held by %+v, %v, %v", h, is, err)
	}
	if err := held.Release(); err != nil {
		t.Error(err)
	}
}

// TestLinksDoNotLeadOut puts links to a directory outside in the place of what a run keeps.
func TestLinksDoNotLeadOut(t *testing.T) {
	for name, put := range map[string]func(run, outside string) error{
		"backup": func(run, outside string) error { return os.Symlink(outside, filepath.Join(run, "backup")) },
		"run": func(run, outside string) error {
			return errors.Join(os.Rename(run, run+"-away"), os.Symlink(outside, run))
		},
		"runs": func(run, outside string) error {
			runs := filepath.Dir(run)
			return errors.Join(os.Rename(runs, runs+"-away"), os.Symlink(outside, runs))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir, outside := heldStore(t)
			r := newRun(t, s)
			id := filepath.Join(outside, r.ID)
			for _, d := range []string{id, filepath.Join(id, "backup"), filepath.Join(outside, "backup")} {
				if err := os.MkdirAll(d, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			victims := []string{filepath.Join(outside, "environment"), filepath.Join(id, "environment"), filepath.Join(outside, "secret"), filepath.Join(id, "backup/secret"), filepath.Join(outside, "backup/secret")}
			for _, file := range victims {
				if err := os.WriteFile(file, []byte("kept"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := put(filepath.Join(dir, "runs", r.ID), outside); err != nil {
				t.Fatal(err)
			}
			if err := r.WriteFile("backup/x", []byte("text")); err == nil {
				t.Error("a file was written through a link")
			}
			if data, err := r.ReadFile("backup/secret"); err == nil {
				t.Errorf("read %q through a link", data)
			}
			if name != "backup" {
				if err := r.Append(journal.Entry{Event: journal.RunStarted}); err == nil {
					t.Error("an entry was written through a link")
				}
				if err := r.Remove("environment"); err == nil {
					t.Error("a file was removed through a link")
				}
				if f, err := r.Output("worker.out"); err == nil {
					t.Errorf("%s was opened through a link", f.Name())
				}
				if _, err := s.Open(r.ID); err == nil {
					t.Error("the run was opened through a link")
				}
			}
			for _, file := range victims {
				if data, err := os.ReadFile(file); err != nil || string(data) != "kept" {
					t.Errorf("%s is now %q, %v", file, data, err)
				}
			}
			for _, d := range []string{outside, filepath.Join(outside, "backup"), id} {
				names, err := os.ReadDir(d)
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range names {
					if n.Name() == "x" || n.Name() == "worker.out" || n.Name() == "x.new" {
						t.Errorf("%s was made in %s", n.Name(), d)
					}
				}
			}
		})
	}
}

// TestPipesDoNotBlock puts named pipes where files are read.
func TestPipesDoNotBlock(t *testing.T) {
	s, dir, outside := heldStore(t)
	r := newRun(t, s)
	file := filepath.Join(dir, "runs", r.ID, "journal.jsonl")
	if err := errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600), syscall.Mkfifo(filepath.Join(dir, "lock"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(r.ID); !errors.Is(err, journal.ErrNotOurs) {
		t.Errorf("a pipe for a journal: %v", err)
	}
	if _, _, err := journal.LockHolder(filepath.Join(s.Dir, "lock")); !errors.Is(err, journal.ErrNotOurs) {
		t.Errorf("a pipe for a lock: %v", err)
	}
	if _, err := journal.Acquire(filepath.Join(s.Dir, "lock"), journal.Holder{Run: r.ID}); !errors.Is(err, journal.ErrNotOurs) {
		t.Errorf("a pipe for a lock: %v", err)
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "lock")), os.Symlink(filepath.Join(outside, "lock"), filepath.Join(dir, "lock"))); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Acquire(filepath.Join(s.Dir, "lock"), journal.Holder{Run: r.ID}); !errors.Is(err, journal.ErrNotOurs) {
		t.Errorf("a link for a lock: %v", err)
	}
}
