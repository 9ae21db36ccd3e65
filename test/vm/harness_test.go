package vm

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCacheBuildsOnceAndRemovesTheOutdated(t *testing.T) {
	t.Setenv("RDMACTL_CACHE", filepath.Join(t.TempDir(), "cache"))
	c, err := openCache(&bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	builds := 0
	build := func(dir string) error {
		builds++
		return os.WriteFile(filepath.Join(dir, "x"), nil, 0o600)
	}
	get := func(hash string) {
		t.Helper()
		dir, err := c.get("kind", hash, build)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "x")); err != nil {
			t.Error(err)
		}
	}
	get("old")
	get("used")
	get("old")
	if builds != 2 {
		t.Errorf("built %d times, want 2", builds)
	}
	for _, hash := range []string{"old", "used"} {
		past := time.Now().Add(-2 * keep)
		if err := os.Chtimes(filepath.Join(c.dir, "kind-"+hash), past, past); err != nil {
			t.Fatal(err)
		}
	}
	// What a killed run left, which must not stop the next.
	if err := os.Mkdir(filepath.Join(c.dir, "kind-tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	get("used")
	get("new")
	left, err := filepath.Glob(filepath.Join(c.dir, "kind-*"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(c.dir, "kind-new"), filepath.Join(c.dir, "kind-used")}
	if d := cmp.Diff(want, left); d != "" {
		t.Error(d)
	}
}

func TestCacheLeavesNothingOfAFailedBuild(t *testing.T) {
	t.Setenv("RDMACTL_CACHE", t.TempDir())
	c, err := openCache(&bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("no space")
	if _, err := c.get("kind", "a", func(string) error { return cause }); !errors.Is(err, cause) {
		t.Errorf("error %v, want %v", err, cause)
	}
	if left, err := filepath.Glob(filepath.Join(c.dir, "kind-*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func TestCacheThatOthersWriteIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RDMACTL_CACHE", dir)
	if _, err := openCache(&bytes.Buffer{}); err == nil {
		t.Error("a cache that anybody can write was used")
	}
}

func TestMatchPackages(t *testing.T) {
	status := "Package: iproute2\nStatus: install ok installed\nDepends: libibverbs1\n\n" +
		"Package: libibverbs1\nStatus: install ok installed\n\nPackage: librdmacm1t64\n"
	got := matchPackages(status, forbidden())
	if d := cmp.Diff([]string{"libibverbs1", "librdmacm1t64"}, got); d != "" {
		t.Error(d)
	}
	if got := matchPackages("Package: iproute2\n", forbidden()); len(got) != 0 {
		t.Errorf("a bare root has %q", got)
	}
}

func TestForbiddenCoversTheStack(t *testing.T) {
	for _, s := range Suites() {
		for _, p := range s.repoPackages() {
			if p == "ethtool" || p == "pciutils" {
				continue // tools that a host may have before
			}
			if len(matchPackages("Package: "+p+"\n", forbidden())) != 1 {
				t.Errorf("%s may be in a bare root", p)
			}
		}
	}
}

func TestTwinsAreHarmedOnlyInTheirOwnWay(t *testing.T) {
	good := filepath.Join(t.TempDir(), "good")
	for name, text := range map[string]string{
		"a.deb": "content of a package", "Packages": "Package: a\n",
		"Release": "Label: rdmactl-test\n", "InRelease": "Label: rdmactl-test\n", "Release.gpg": "sig",
	} {
		if err := replace(filepath.Join(good, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	read := func(dir string) map[string]string {
		out := map[string]string{}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			out[e.Name()] = string(text)
		}
		return out
	}
	before := read(good)
	for name, twin := range map[string]struct {
		harm    func(string) error
		changes []string
	}{
		"unsigned":  {removeSignature, []string{"InRelease", "Release.gpg"}},
		"edited":    {editRelease, []string{"InRelease", "Release"}},
		"tampered":  {flipPackages, []string{"a.deb"}},
		"untouched": {func(string) error { return nil }, nil},
	} {
		dir := filepath.Join(t.TempDir(), name)
		if err := linkTree(good, dir); err != nil {
			t.Fatal(err)
		}
		if err := twin.harm(dir); err != nil {
			t.Fatal(err)
		}
		after := read(dir)
		for file, text := range before {
			changed := after[file] != text
			want := false
			for _, c := range twin.changes {
				want = want || c == file
			}
			if changed != want {
				t.Errorf("%s: %s changed: %v, want %v", name, file, changed, want)
			}
		}
		if len(after["a.deb"]) != len(before["a.deb"]) {
			t.Errorf("%s: the package's size changed", name)
		}
	}
	if d := cmp.Diff(before, read(good)); d != "" {
		t.Errorf("harming a twin changed the good repository: %s", d)
	}
	if err := editRelease(t.TempDir()); err == nil {
		t.Error("a repository without a Release file was edited")
	}
	if err := flipPackages(t.TempDir()); err == nil {
		t.Error("a repository without packages was tampered with")
	}
}

func TestNoMirror(t *testing.T) {
	root := t.TempDir()
	list := filepath.Join(root, "etc/apt/sources.list.d/x.list")
	if err := replace(list, []byte(sourceLine(RepoGood))); err != nil {
		t.Fatal(err)
	}
	if err := noMirror(root); err != nil {
		t.Error(err)
	}
	if err := replace(list, []byte("deb http://mirror.invalid/debian x main\n")); err != nil {
		t.Fatal(err)
	}
	if err := noMirror(root); err == nil {
		t.Error("a network source was not seen")
	}
}

func TestReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report")
	for _, r := range []record{
		{Test: "TestA", Suite: "trixie", Status: "pass", Retries: 1, Total: 3},
		{Test: "TestB", Suite: "trixie", Status: "fail", Total: 4},
		{Test: "TestC", Suite: "bookworm", Status: "skip", Reason: "needs root", Total: 0},
	} {
		if err := appendRecord(file, r); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := printReport(&out, text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3 scenarios, 1 failed, 1 skipped, 1 boots retried, 7 s, 0 s of processors", "skipped 1: needs root", "TestA "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, &out)
		}
	}
	if err := printReport(&out, []byte("{broken")); err == nil {
		t.Error("a broken report was printed")
	}
}

func TestReadyNeedsTheSwitch(t *testing.T) {
	t.Setenv("RDMACTL_VM", "0")
	reason, err := ready(&bytes.Buffer{})
	if err != nil || reason == "" {
		t.Errorf("reason %q, error %v", reason, err)
	}
}

func TestLoginAndMemlockExclude(t *testing.T) {
	if _, err := (Cmd{Argv: []string{"id"}, Login: true, Memlock: Memlock(1)}).wire(); err == nil {
		t.Error("a login was given a limit that PAM would replace")
	}
	if _, err := (Cmd{}).wire(); err == nil {
		t.Error("a command without a program was accepted")
	}
}
