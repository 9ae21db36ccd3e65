package apt

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/host"
)

// countingHost answers each question with a number that grows.
type countingHost struct {
	host.Reader
	asked int
	out   string
}

func (c *countingHost) Query(_ context.Context, argv ...string) (host.Result, error) {
	c.asked++
	return host.Result{Argv: argv, Stdout: c.out}, nil
}

// TestMemory: the database is asked about again when it changed, when a transaction is under way beside it, and while
// it is too young to tell; and not otherwise.
func TestMemory(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string, age time.Duration) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(-age)
		if err := os.Chtimes(file, when, when); err != nil {
			t.Fatal(err)
		}
	}
	root, err := host.NewRooted(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	h := &countingHost{Reader: root, out: "ii \tlibibverbs1\tamd64\t44.0-2\n"}
	s := NewSolver(h)
	ask := func(want int, why string) {
		t.Helper()
		db, err := s.Installed(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := db.Find("libibverbs1"); !ok || h.asked != want {
			t.Errorf("%s: asked %d times, want %d; %v", why, h.asked, want, db)
		}
	}
	put("var/lib/dpkg/status", "a", time.Hour)
	ask(1, "first")
	ask(1, "unchanged")
	put("var/lib/dpkg/status", "b", time.Minute)
	ask(2, "same size, another time")
	put("var/lib/dpkg/updates/0000", "c", time.Minute)
	ask(3, "a transaction under way")
	put("var/lib/dpkg/updates/0000", "c", time.Second)
	ask(4, "it went on")
	put("var/lib/dpkg/status", "b", 0)
	ask(5, "just written")
	ask(6, "still too young to tell")
	whole := time.Now().Truncate(time.Second)
	if err := os.Chtimes(filepath.Join(dir, "var/lib/dpkg/status"), whole, whole); err != nil {
		t.Fatal(err)
	}
	ask(7, "a file system of whole seconds")
	if time.Since(whole) < 1500*time.Millisecond {
		ask(8, "which cannot tell a change in the same second")
	}
	if err := os.Remove(filepath.Join(dir, "var/lib/dpkg/updates/0000")); err != nil {
		t.Fatal(err)
	}
	put("var/lib/dpkg/status", "b", time.Minute)
	before := h.asked
	ask(before+1, "another state")
	ask(before+1, "kept again")
}
