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
	kept  string // what it is over, empty for a copy
}

// Over makes a root that is a kept one until something is changed in it: an overlay, or a copy where there is none.
// Its directory stands beside that of the kept one, and its name begins with prefix.
func Over(t testing.TB, kept, prefix string) Root {
	t.Helper()
	r := beside(t, kept, prefix)
	for _, dir := range []string{r.Dir, r.Upper()} {
		must(t, os.Mkdir(dir, 0o755))
	}
	if err := r.mount(t, kept); err != nil {
		r.copyOf(t, kept)
		return r
	}
	r.kept = kept
	return r
}

// Upper is the directory that has what was changed in a root over a kept one. It may be read while the root is in
// use.
func (r Root) Upper() string { return filepath.Join(r.State, "upper") }

// Fork makes another root that is as this one is now. Nobody may work on this one meanwhile.
func (r Root) Fork(t testing.TB, prefix string) Root {
	t.Helper()
	if r.kept == "" {
		return Copied(t, r.Dir, prefix)
	}
	f := beside(t, r.kept, prefix)
	must(t, os.Mkdir(f.Dir, 0o755))
	must(t, Run(exec.Command("cp", "--archive", "--reflink=auto", "--no-target-directory", r.Upper(), f.Upper())))
	must(t, f.mount(t, r.kept))
	f.kept = r.kept
	return f
}

// mount mounts the root over a kept one, until the test ends.
func (r Root) mount(t testing.TB, kept string) error {
	t.Helper()
	work := filepath.Join(r.State, "work")
	must(t, os.Mkdir(work, 0o755))
	if err := unix.Mount("overlay", r.Dir, "overlay", 0, "lowerdir="+kept+",upperdir="+r.Upper()+",workdir="+work); err != nil {
		return err
	}
	t.Cleanup(func() { must(t, unix.Unmount(r.Dir, unix.MNT_DETACH)) })
	t.Cleanup(func() { r.quiet(t) })
	return nil
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
