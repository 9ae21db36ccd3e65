package rootlab

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Root is the root of one test.
type Root struct {
	Dir   string // the root itself
	State string // directory that has it, and goes with the test
}

// Over makes a root that is a kept one until something is changed in it: an overlay, or a copy where there is none.
// Its directory stands beside that of the kept one, and its name begins with prefix.
func Over(t testing.TB, kept, prefix string) Root {
	t.Helper()
	r := beside(t, kept, prefix)
	upper, work := filepath.Join(r.State, "upper"), filepath.Join(r.State, "work")
	for _, dir := range []string{r.Dir, upper, work} {
		must(t, os.Mkdir(dir, 0o755))
	}
	if err := unix.Mount("overlay", r.Dir, "overlay", 0, "lowerdir="+kept+",upperdir="+upper+",workdir="+work); err != nil {
		r.copyOf(t, kept)
		return r
	}
	t.Cleanup(func() { must(t, unix.Unmount(r.Dir, unix.MNT_DETACH)) })
	t.Cleanup(func() { r.quiet(t) })
	return r
}

// Copied makes a root that is a copy of a kept one. Its directory stands beside that of the kept one, and its name
// begins with prefix.
func Copied(t testing.TB, kept, prefix string) Root {
	t.Helper()
	r := beside(t, kept, prefix)
	r.copyOf(t, kept)
	return r
}

// beside makes the directory of a root in that of the cache, for kept is a directory of one of its things. None but
// its owner enters it.
func beside(t testing.TB, kept, prefix string) Root {
	t.Helper()
	state, err := os.MkdirTemp(filepath.Dir(filepath.Dir(kept)), prefix)
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(state)) })
	return Root{Dir: filepath.Join(state, "root"), State: state}
}

func (r Root) copyOf(t testing.TB, kept string) {
	t.Helper()
	must(t, Run(exec.Command("cp", "--archive", "--reflink=auto", "--no-target-directory", kept, r.Dir)))
}

// quiet waits until nobody works on the root any more.
func (r Root) quiet(t testing.TB) {
	t.Helper()
	Eventually(t, "the end of all runs", func() bool {
		all, err := filepath.Glob("/proc/[0-9]*/cmdline")
		must(t, err)
		for _, file := range all {
			if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, []byte(r.Dir)) {
				return false
			}
		}
		return true
	})
}

// Path is a place in the root as this machine names it.
func (r Root) Path(rel string) string { return filepath.Join(r.Dir, rel) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
