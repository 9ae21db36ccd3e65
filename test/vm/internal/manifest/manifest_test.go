package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func walk(t *testing.T, root string, except ...string) Manifest {
	t.Helper()
	m, err := Walk([]string{root}, except, Known{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestDiffSeesEachKindOfChange(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "etc", "a.conf")
	link := filepath.Join(dir, "etc", "link")
	changes := map[string]func() error{
		"content": func() error { return os.WriteFile(file, []byte("two"), 0o644) },
		"mode":    func() error { return os.Chmod(file, 0o600) },
		"removed": func() error { return os.Remove(file) },
		"added":   func() error { return os.WriteFile(filepath.Join(dir, "etc", "b"), nil, 0o644) },
		"link": func() error {
			if err := os.Remove(link); err != nil {
				return err
			}
			return os.Symlink("elsewhere", link)
		},
		"type": func() error {
			if err := os.Remove(link); err != nil {
				return err
			}
			return os.Mkdir(link, 0o755)
		},
		"directory mode": func() error { return os.Chmod(filepath.Join(dir, "etc"), 0o700) },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			if err := os.RemoveAll(filepath.Join(dir, "etc")); err != nil {
				t.Fatal(err)
			}
			write(t, file, "one")
			if err := os.Symlink("a.conf", link); err != nil {
				t.Fatal(err)
			}
			before := walk(t, dir)
			if d := Diff(before, walk(t, dir)); len(d) != 0 {
				t.Fatalf("an untouched tree differs: %q", d)
			}
			if err := change(); err != nil {
				t.Fatal(err)
			}
			if d := Diff(before, walk(t, dir)); len(d) != 1 {
				t.Errorf("got %q, want one line", d)
			}
		})
	}
}

func TestRewriteWithSameContentIsNoChange(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a")
	write(t, file, "one")
	before := walk(t, filepath.Dir(file))
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	write(t, file, "one")
	if d := Diff(before, walk(t, filepath.Dir(file))); len(d) != 0 {
		t.Errorf("got %q", d)
	}
}

func TestExcept(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "cache", "deep", "x"), "")
	write(t, filepath.Join(dir, "cache2"), "")
	write(t, filepath.Join(dir, "keep-old"), "")
	m := walk(t, dir, filepath.Join(dir, "cache"), filepath.Join(dir, "*-old"))
	var got []string
	for p := range m {
		got = append(got, p)
	}
	if _, ok := m[filepath.Join(dir, "cache2")]; !ok || len(m) != 2 {
		t.Errorf("got %q, want the directory itself and cache2", got)
	}
}

func TestBytesRoundTrip(t *testing.T) {
	in := Manifest{"/a b\nc": "dir 0755 0:0", "/é": "link 0:0 x"}
	out, err := Parse(in.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(in, out); d != "" {
		t.Error(d)
	}
	if _, err := Parse([]byte("/a\x00dir\x00/b\x00")); err == nil {
		t.Error("a cut manifest was read")
	}
}

func TestMissingRootIsEmpty(t *testing.T) {
	if m := walk(t, filepath.Join(t.TempDir(), "absent")); len(m) != 0 {
		t.Errorf("got %v", m)
	}
}

func TestKnownHashes(t *testing.T) {
	dir := t.TempDir()
	old, edited := filepath.Join(dir, "usr", "old"), filepath.Join(dir, "usr", "edited")
	write(t, old, "one")
	write(t, edited, "one")
	plain := walk(t, dir)

	// A catalogue with a wrong hash for each file shows which hashes are believed.
	now := time.Now().Unix()
	k, err := Catalogue(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "catalogue")
	if err := k.Save(file); err != nil {
		t.Fatal(err)
	}
	if k, err = Load(file); err != nil {
		t.Fatal(err)
	}
	for name := range k.sums {
		k.sums[name] = "believed"
	}
	named := Known{before: k.before, sums: map[string]string{}}
	for name, sum := range k.sums {
		named.sums[dir+name] = sum
	}
	m, err := Walk([]string{dir}, nil, named)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{old, edited} {
		if !strings.HasSuffix(m[p], " believed") {
			t.Errorf("%s was hashed: %s", p, m[p])
		}
	}

	// The same size and time, but a change time that the catalogue does not vouch for.
	named.before = now - 1000
	m, err = Walk([]string{dir}, nil, named)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(plain, m); d != "" {
		t.Errorf("a changed file was not hashed anew: %s", d)
	}
}
