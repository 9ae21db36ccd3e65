package build_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install/build"
	"github.com/rdmactl/rdmactl/internal/fault"
)

func (b *bench) place(built build.Built) error {
	b.t.Helper()
	return build.Place(context.Background(), b.h, built)
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != code {
		t.Errorf("%v, not %s", err, code)
	}
}

func TestPlaceAndRemove(t *testing.T) {
	b := newBench(t)
	before := contents(t, b.dir+"/opt")
	built := b.made()
	staged := contents(t, built.Stage)
	must(t, b.place(built))
	if diff := cmp.Diff(staged, contents(t, b.req.Prefix)); diff != "" {
		t.Errorf("placed (-staged +placed):\n%s", diff)
	}
	s, err := build.Inspect(b.h, b.req.Prefix)
	must(t, err)
	if !s.Intact() || len(s.Added) > 0 {
		t.Errorf("a placed build is %+v", s)
	}
	must(t, b.place(built)) // again
	if again := b.made(); !again.InPlace {
		t.Error("it is not seen that it is in place")
	}
	must(t, build.Clean(b.h, built))
	must(t, build.Clean(b.h, built))
	if again := b.made(); !again.InPlace { // the source's checksum is known, nothing is fetched or built
		t.Error("it is not seen that it is in place")
	}
	if _, err := os.Lstat(built.Work); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is work again: %v", err)
	}
	dirs := []string{filepath.Dir(b.req.Prefix)}
	for range 2 {
		removed, err := build.Remove(b.h, b.req.Prefix, dirs)
		must(t, err)
		if len(removed.Kept) > 0 {
			t.Errorf("kept %v", removed.Kept)
		}
	}
	if diff := cmp.Diff(before, contents(t, b.dir+"/opt")); diff != "" {
		t.Errorf("after the removal (-before +after):\n%s", diff)
	}
}

func TestPlaceLabels(t *testing.T) {
	b := newBench(t)
	seen := filepath.Join(b.dir, "labelled")
	b.program("restorecon", "#!/bin/sh\necho \"$@\" >>"+seen+"\n")
	built := b.placed()
	must(t, b.place(built)) // it may have been killed between the two
	text, err := os.ReadFile(seen)
	must(t, err)
	if want := "-R " + b.req.Prefix + "\n"; string(text) != want+want {
		t.Errorf("restorecon %q", text)
	}
	b.program("restorecon", "#!/bin/sh\necho no policy >&2; exit 255\n")
	if err := b.place(built); err == nil || !strings.Contains(err.Error(), "no policy") {
		t.Errorf("a failed label: %v", err)
	}
}

func TestPlaceRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *bench, built *build.Built)
		code   string
	}{
		"foreign":       {func(b *bench, _ *build.Built) { must(b.t, os.MkdirAll(b.at("bin"), 0o755)) }, "prefix-taken"},
		"foreign empty": {func(b *bench, _ *build.Built) { must(b.t, os.MkdirAll(b.req.Prefix, 0o755)) }, "prefix-taken"},
		"a file": {func(b *bench, _ *build.Built) {
			must(b.t, os.MkdirAll(filepath.Dir(b.req.Prefix), 0o755))
			must(b.t, os.WriteFile(b.req.Prefix, nil, 0o644))
		}, "prefix-taken"},
		"other build": {func(b *bench, built *build.Built) {
			b.extra(`touch "$d/bin/other"`)
			*built = b.made()
			must(b.t, b.place(*built))
			b.source(goodBuild)
			*built = b.made()
		}, "prefix-taken"},
		"ours, changed": {func(b *bench, built *build.Built) {
			must(b.t, b.place(*built))
			b.write("etc/libibverbs.d/rxe.driver", "x")
		}, "prefix-taken"},
		"ours, cut": {func(b *bench, built *build.Built) {
			must(b.t, b.place(*built))
			must(b.t, os.Remove(b.at("bin/ibv_devices")))
		}, "prefix-taken"},
		"stage changed": {func(b *bench, built *build.Built) {
			must(b.t, os.WriteFile(built.Stage+"/bin/ibv_devices", []byte("x"), 0o755))
		}, "stage-changed"},
		"stage added": {func(b *bench, built *build.Built) {
			must(b.t, os.WriteFile(built.Stage+"/bin/new", []byte("x"), 0o755))
		}, "stage-changed"},
		"stage gone": {func(b *bench, built *build.Built) { must(b.t, os.RemoveAll(built.Stage)) }, "stage-changed"},
	} {
		t.Run(strings.NewReplacer(" ", "-", ",", "").Replace(name), func(t *testing.T) {
			b := newBench(t)
			built := b.made()
			c.change(b, &built)
			before := contents(t, b.dir+"/opt")
			wantCode(t, b.place(built), c.code)
			if diff := cmp.Diff(before, contents(t, b.dir+"/opt")); diff != "" {
				t.Errorf("a refused place changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestPlaceOnAnotherFileSystem(t *testing.T) {
	other, err := os.MkdirTemp("/dev/shm", "rdmactl-build")
	if err != nil {
		t.Skip("needs /dev/shm")
	}
	t.Cleanup(func() { must(t, os.RemoveAll(other)) })
	must(t, os.Chmod(other, 0o755))
	var here, there syscall.Stat_t
	b := newBench(t)
	must(t, errors.Join(syscall.Stat(b.dir, &here), syscall.Stat(other, &there)))
	if here.Dev == there.Dev {
		t.Skip("/dev/shm and the temporary directory are one file system")
	}
	b.req.Cache = filepath.Join(other, "cache")
	before := contents(t, b.dir+"/opt")
	// What an interrupted copy left is in nobody's way.
	must(t, os.MkdirAll(filepath.Join(b.dir, "opt/rdma-core/.56.1.rdmactl-new/bin"), 0o755))
	built := b.made()
	staged := contents(t, built.Stage)
	must(t, b.place(built))
	if diff := cmp.Diff(staged, contents(t, b.req.Prefix)); diff != "" {
		t.Errorf("placed (-staged +placed):\n%s", diff)
	}
	if names, _ := filepath.Glob(filepath.Join(b.dir, "opt/rdma-core/.5*")); len(names) > 0 {
		t.Errorf("the copy left %v", names)
	}
	must(t, b.place(built))
	_, err = build.Remove(b.h, b.req.Prefix, []string{filepath.Dir(b.req.Prefix)})
	must(t, err)
	if diff := cmp.Diff(before, contents(t, b.dir+"/opt")); diff != "" {
		t.Errorf("after the removal (-before +after):\n%s", diff)
	}
}

func TestRemoveKeepsWhatOthersChanged(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *bench)
		kept   []string
	}{
		"edited": {func(b *bench) { b.write("etc/rdma/modules/rdma.conf", "mine\n") }, []string{"etc/rdma/modules/rdma.conf"}},
		"mode":   {func(b *bench) { must(b.t, os.Chmod(b.at("bin/ibv_devices"), 0o700)) }, []string{"bin/ibv_devices"}},
		"link": {func(b *bench) {
			must(b.t, os.Remove(b.at("lib/libibverbs.so.1")))
			must(b.t, os.Symlink("x", b.at("lib/libibverbs.so.1")))
		}, []string{"lib/libibverbs.so.1"}},
		"link's file": {func(b *bench) { must(b.t, os.Remove(b.at("lib/libibverbs.so.1"))); b.write("lib/libibverbs.so.1", "x") }, []string{"lib/libibverbs.so.1"}},
		"dir to file": {func(b *bench) { must(b.t, os.RemoveAll(b.at("bin"))); b.write("bin", "x") }, []string{"bin"}},
		"added":       {func(b *bench) { must(b.t, os.Mkdir(b.at("etc/mine"), 0o755)); b.write("etc/mine/x", "x") }, []string{"etc/mine", "etc/mine/x"}},
		"missing":     {func(b *bench) { must(b.t, os.Remove(b.at("bin/ibv_devices"))) }, nil},
	} {
		t.Run(strings.NewReplacer(" ", "-", "'", "").Replace(name), func(t *testing.T) {
			b := newBench(t)
			b.placed()
			c.change(b)
			var want []string
			for range 2 { // the second time nothing more goes
				removed, err := build.Remove(b.h, b.req.Prefix, []string{filepath.Dir(b.req.Prefix)})
				must(t, err)
				if diff := cmp.Diff(c.kept, removed.Kept); diff != "" {
					t.Errorf("kept (-want +got):\n%s", diff)
				}
			}
			for name, text := range contents(t, b.dir+"/opt") {
				if text[0] != 'd' && !strings.HasSuffix(name, build.ManifestName) {
					want = append(want, strings.TrimPrefix(name, "rdma-core/56.1/"))
				}
			}
			if c.kept == nil && len(contents(t, b.dir+"/opt")) > 0 || c.kept != nil && !cmp.Equal(want, c.kept[len(c.kept)-1:]) {
				t.Errorf("left are %v", want)
			}
		})
	}
	t.Run("foreign", func(t *testing.T) {
		b := newBench(t)
		must(t, os.MkdirAll(b.at("bin"), 0o755))
		_, err := build.Remove(b.h, b.req.Prefix, nil)
		wantCode(t, err, "not-ours")
		if _, err := os.Stat(b.at("bin")); err != nil {
			t.Error(err)
		}
	})
}

// A manifest decides what is removed: one that was forged or damaged decides nothing.
func TestManifestIsNotTrusted(t *testing.T) {
	for name, edit := range map[string]func(string) string{
		"path out":   func(s string) string { return strings.Replace(s, `"path": "bin"`, `"path": "../../x"`, 1) },
		"other file": func(s string) string { return strings.Replace(s, `"path": "bin"`, `"path": "etc"`, 1) },
		"format":     func(s string) string { return strings.Replace(s, `"format": 1`, `"format": 2`, 1) },
		"cut":        func(s string) string { return s[:len(s)/2] },
		"empty":      func(string) string { return "" },
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			b := newBench(t)
			b.placed()
			text, err := os.ReadFile(b.at(build.ManifestName))
			must(t, err)
			edited := edit(string(text))
			if edited == string(text) {
				t.Fatal("nothing was edited")
			}
			b.write(build.ManifestName, edited)
			before := contents(t, b.req.Prefix)
			if _, err := build.Remove(b.h, b.req.Prefix, nil); err == nil {
				t.Error("it is used")
			}
			if diff := cmp.Diff(before, contents(t, b.req.Prefix)); diff != "" {
				t.Errorf("a refused removal changed (-before +after):\n%s", diff)
			}
		})
	}
}

// helperRun is in the environment of this test's own program when it is started to be killed.
const helperRun = "RDMACTL_BUILD_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperRun); dir != "" {
		if err := helper(dir, os.Getenv("RDMACTL_BUILD_TEST_SHA"), os.Getenv("RDMACTL_BUILD_TEST_DO"), os.Getenv(killEnv)); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestKilledAnywhere(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	b := newBench(t)
	run := func(do, kill string) (killed bool) {
		t.Helper()
		if kill == "" {
			must(t, helper(b.dir, b.req.Source.SHA256, do, ""))
			return false
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), helperRun+"="+b.dir, "RDMACTL_BUILD_TEST_SHA="+b.req.Source.SHA256, "RDMACTL_BUILD_TEST_DO="+do, killEnv+"="+kill)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				return true
			}
		}
		if err != nil {
			t.Fatalf("%s, killed at %s: %v\n%s", do, kill, err, stderr.String())
		}
		return false
	}
	run("place", "")
	want := contents(t, b.req.Prefix)
	run("remove", "")
	points := 0
	try := func(do, kill string) (killed bool) {
		t.Helper()
		if do == "remove" {
			run("place", "")
		}
		killed = run(do, kill)
		if killed {
			points++
		}
		// Forth: as if it had not been killed.
		run(do, "")
		if do == "place" {
			if diff := cmp.Diff(want, contents(t, b.req.Prefix)); diff != "" {
				t.Fatalf("killed at %s, then finished (-want +got):\n%s", kill, diff)
			}
			// Back: nothing is left.
			run("remove", "")
			run("place", kill)
			run("remove", "")
		}
		if left := contents(t, b.dir+"/opt"); len(left) > 0 {
			t.Fatalf("%s killed at %s, then removed: left are %v", do, kill, left)
		}
		return killed
	}
	for _, do := range []string{"place", "remove"} {
		for n := 0; try(do, strconv.Itoa(n)); n++ {
		}
		// In the midst of the changes that do not go through Writer: wherever the time comes.
		for ms := 2; ms < 40; ms += 5 {
			try(do, strconv.Itoa(ms)+"ms")
		}
	}
	t.Logf("killed at %d points, came back from all", points)
	if points < 30 {
		t.Errorf("only %d points were tried", points)
	}
}
