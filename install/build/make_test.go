package build_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install/build"
	"github.com/rdmactl/rdmactl/internal/fault"
)

func TestMake(t *testing.T) {
	b := newBench(t)
	t.Setenv("CFLAGS", "-DEVIL")
	t.Setenv("https_proxy", "http://user:secret@proxy.invalid:3128")
	var out bytes.Buffer
	b.req.Output = &out
	// What configure saw is carried out of the work directory, which is cleared in the end.
	seen := openTemp(t)
	must(t, os.Chmod(seen, 0o777))
	b.extra("cp env uid mask options " + seen)
	built := b.made()

	m := built.Manifest
	if m.Stack != "rdma-core" || m.Version != "56.1" || m.PrivateABI != 34 || m.LibDir != "lib" || m.DriverDir != "etc/libibverbs.d" {
		t.Errorf("the manifest says %+v", m)
	}
	if m.Tools.CMake != "3.31.6" || m.Tools.Generator != "Ninja" || m.Tools.Compiler != "cc (Debian) 14.2.0" {
		t.Errorf("built with %+v", m.Tools)
	}
	if diff := cmp.Diff([]string{"mlx5", "rxe"}, m.Providers()); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(seen, name))
		must(t, err)
		return string(text)
	}
	if env := read("env"); strings.Contains(env, "EVIL") || strings.Contains(env, "secret") || !strings.Contains(env, "LC_ALL=C\n") {
		t.Errorf("the build sees\n%s", env)
	}
	if got := strings.TrimSpace(read("uid")); got != buildUID() {
		t.Errorf("it is built as user %s, not %s", got, buildUID())
	}
	if got := strings.TrimSpace(read("mask")); got != "0022" {
		t.Errorf("it is built with umask %s", got)
	}
	options := strings.Split(strings.TrimSpace(read("options")), "\n")
	for _, want := range []string{"-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_INSTALL_PREFIX=" + b.req.Prefix, "Ninja"} {
		if !slices.Contains(options, want) {
			t.Errorf("configured without %s: %q", want, options)
		}
	}
	if slices.Contains(options, "-DCMAKE_POLICY_VERSION_MINIMUM=3.5") {
		t.Errorf("a policy is set without need: %q", options)
	}
	log, err := os.ReadFile(built.Log)
	must(t, err)
	if !strings.Contains(string(log), `"--build" "." "--" "-j3"`) || !strings.Contains(out.String(), "Building C object") {
		t.Errorf("log:\n%s\noutput:\n%s", log, out.String())
	}
	// The stage belongs to this process, whatever user built it.
	must(t, filepath.WalkDir(built.Stage, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type() != fs.ModeSymlink {
			info, statErr := d.Info()
			must(t, statErr)
			if info.Mode().Perm()&0o022 != 0 || owner(info) != os.Geteuid() {
				t.Errorf("%s: %v, user %d", p, info.Mode(), owner(info))
			}
		}
		return err
	}))
}

func TestMakeAgain(t *testing.T) {
	b := newBench(t)
	first := b.made()
	second := b.made()
	if first.Reused || !second.Reused || second.InPlace || second.Manifest.Digest != first.Manifest.Digest {
		t.Errorf("first reused %v, second %v", first.Reused, second.Reused)
	}
	// A stage that was changed is built anew.
	must(t, os.WriteFile(filepath.Join(first.Stage, "bin/ibv_devices"), []byte("#!/bin/rm"), 0o755))
	if third := b.made(); third.Reused {
		t.Error("a changed stage is used")
	}
	if text, err := os.ReadFile(filepath.Join(first.Stage, "bin/ibv_devices")); err != nil || string(text) != "#!/bin/sh\n" {
		t.Errorf("the stage has %q, %v", text, err)
	}
	// Other options are another build.
	b.req.Options = append(b.req.Options, "-DENABLE_VALGRIND=0")
	if other := b.made(); other.Reused || other.Work == first.Work {
		t.Error("other options are the same build")
	}
}

func TestMakeFails(t *testing.T) {
	configure := func(text string) string {
		return "[ $1 = configure ] || exit 0\ncat <<'END'\n" + text + "\nEND\nexit 1\n"
	}
	compile := func(text string) string {
		return "[ $1 = compile ] || exit 0\ncat <<'END'\n" + text + "\nEND\nexit 1\n"
	}
	for name, c := range map[string]struct {
		change func(b *bench)
		code   string
		say    string // in the error
		hint   string
	}{
		"cmake error": {
			func(b *bench) {
				b.source(configure("-- Checking for module 'libnl-3.0'\n--   No package 'libnl-3.0' found\nCMake Error at /usr/share/cmake/FindPkgConfig.cmake:607 (message):\n  A required package was not\n  found\nCall Stack (most recent call first):\n  x"))
			},
			"build-failed", "configure rdma-core (exit 1): CMake Error at /usr/share/cmake/FindPkgConfig.cmake:607 (message): A required package was not found (No package 'libnl-3.0' found)", "install what it names",
		},
		"compiler error": {
			func(b *bench) {
				b.source(compile("[1/9] Building C object a.o\nFAILED: a.o\n/usr/bin/cc -Werror -o a.o -c a.c\na.c: In function 'f':\na.c:7:2: error: unknown type name 'x'\na.c:8:2: error: second\nninja: build stopped: subcommand failed."))
			},
			"build-failed", "compile rdma-core (exit 1): a.c:7:2: error: unknown type name 'x'", "build.log",
		},
		"memory": {
			func(b *bench) {
				b.source(compile("FAILED: a.o\ncc: fatal error: Killed signal terminated program cc1\ncompilation terminated."))
			},
			"build-failed", "Killed signal terminated program cc1", "fewer jobs",
		},
		"runner": {
			func(b *bench) {
				b.source(compile("[1/9] Generating x\nFAILED: x\n./gen: permission denied\nninja: build stopped"))
			},
			"build-failed", "FAILED: x", "build.log",
		},
		"silent": {func(b *bench) { b.source("exit 7\n") }, "build-failed", "(exit 7): it printed nothing", "build.log"},
		"install fails": {func(b *bench) {
			b.extra("echo 'CMake Error at cmake_install.cmake:5 (file):'; echo '  file INSTALL cannot find x.'; exit 1")
		}, "build-failed", "install rdma-core into the stage (exit 1): CMake Error at cmake_install.cmake:5 (file): file INSTALL cannot find x.", "build.log"},
		"outside": {func(b *bench) {
			b.extra(`mkdir -p "$DESTDIR/usr/lib/sysusers.d"; touch "$DESTDIR/usr/lib/sysusers.d/rdma.conf"`)
		}, "outside-prefix", "/usr/lib/sysusers.d/rdma.conf", "SYSUSERS_DIR"},
		"link outside":   {func(b *bench) { b.extra(`ln -s /etc/passwd "$d/bin/x"`) }, "outside-prefix", "bin/x leads out", "options"},
		"link up":        {func(b *bench) { b.extra(`ln -s ../../../x "$d/bin/x"`) }, "outside-prefix", "bin/x leads out", "options"},
		"set-user-id":    {func(b *bench) { b.extra(`chmod 4755 "$d/bin/ibv_devices"`) }, "hostile-source", "as another user", "do not use"},
		"pipe":           {func(b *bench) { b.extra(`mkfifo "$d/bin/pipe"`) }, "hostile-source", "neither a file", "do not use"},
		"own manifest":   {func(b *bench) { b.extra(`touch "$d/.rdmactl-manifest.json"`) }, "", "cannot be kept", ""},
		"nothing":        {func(b *bench) { b.source("exit 0\n") }, "build-failed", "installed nothing", "build.log"},
		"no library":     {func(b *bench) { b.extra(`rm "$d/lib/libibverbs.so.1"`) }, "build-incomplete", "no libibverbs.so.1", "options"},
		"no drivers":     {func(b *bench) { b.extra(`rm -r "$d/etc/libibverbs.d"`) }, "build-incomplete", "no driver configuration", "options"},
		"other ABI":      {func(b *bench) { b.extra(`cp LIBS/old/libibverbs.so.1 "$d/lib/libibverbs.so.1.14.56.1"`) }, "build-incomplete", "does not have IBVERBS_PRIVATE_34", "options"},
		"mixed provider": {func(b *bench) { b.extra(`cp LIBS/old/provider.so "$d/lib/libibverbs/librxe-rdmav34.so"`) }, "build-incomplete", "librxe-rdmav34.so does not need IBVERBS_PRIVATE_34", "options"},
		"no ELF":         {func(b *bench) { b.extra(`echo x >"$d/lib/libibverbs.so.1.14.56.1"`) }, "build-incomplete", "libibverbs.so.1", "options"},
		"no provider":    {func(b *bench) { b.req.Providers = []string{"mlx5", "mlx4"} }, "provider-missing", "no provider for mlx4", "options"},
		"no driver file": {func(b *bench) { b.extra(`rm "$d/etc/libibverbs.d/rxe.driver"`) }, "provider-missing", "no provider for rxe", "options"},
		"wrong version":  {func(b *bench) { b.req.Version = "57.0" }, "wrong-version", "the source is of version 56.1", "ask for version 56.1"},
		"no rdma-core":   {func(b *bench) { b.archive(file("x/CMakeLists.txt", "project(other)\nset(PACKAGE_VERSION \"56.1\")\n")) }, "unknown-source", "not that of rdma-core", "rdma-core"},
		"no CMakeLists":  {func(b *bench) { b.archive(file("x/configure", "")) }, "unknown-source", "CMakeLists.txt", "rdma-core"},
		"too old":        {func(b *bench) { b.archive(file("x/CMakeLists.txt", "project(RDMA)\nset(PACKAGE_VERSION \"56.1\")\n")) }, "unknown-source", "no private ABI", "15 or newer"},
		"cmake broken":   {func(b *bench) { b.program("cmake", "#!/bin/sh\necho broken >&2; exit 127\n") }, "bad-tools", "broken", ""},
		"cmake mute":     {func(b *bench) { b.program("cmake", "#!/bin/sh\necho none\n") }, "bad-tools", "no version", ""},
		"bad option":     {func(b *bench) { b.req.Options = []string{"-P/tmp/evil.cmake"} }, "bad-option", "evil.cmake", "-DNAME=VALUE"},
		"other prefix":   {func(b *bench) { b.req.Options = []string{"-DCMAKE_INSTALL_PREFIX=/usr"} }, "bad-option", "", "apart"},
		"prefix of all":  {func(b *bench) { b.req.Prefix = "/usr" }, "bad-prefix", "/usr", "its own"},
		"prefix local":   {func(b *bench) { b.req.Prefix = "/usr/local" }, "bad-prefix", "/usr/local", "its own"},
		"prefix of etc":  {func(b *bench) { b.req.Prefix = "/etc/rdma-core/1" }, "bad-prefix", "below /etc", "its own"},
		"prefix unclean": {func(b *bench) { b.req.Prefix = "/opt/../usr/x" }, "bad-prefix", "", "its own"},
		"prefix shell":   {func(b *bench) { b.req.Prefix = "/opt/$(rm)/1" }, "bad-prefix", "", "its own"},
		"no version":     {func(b *bench) { b.req.Version = "../1" }, "bad-version", "", "65.0"},
		"cache of all":   {func(b *bench) { must(b.t, os.Mkdir(b.req.Cache, 0o755)); must(b.t, os.Chmod(b.req.Cache, 0o777)) }, "cache-not-safe", "others can write", "root's"},
		"no source":      {func(b *bench) { b.req.Source.Location = filepath.Join(b.dir, "none.tar.gz") }, "no-source", "none.tar.gz", "path"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			b := newBench(t)
			c.change(b)
			built, err := b.make()
			var f *fault.Error
			if err == nil {
				t.Fatalf("no error; built %d files", len(built.Manifest.Files))
			}
			if errors.As(err, &f) && (f.Code != c.code || !strings.Contains(f.Hint, c.hint)) || f == nil && c.code != "" {
				t.Errorf("%#v", err)
			}
			if !strings.Contains(err.Error(), c.say) {
				t.Errorf("the error says %q, not %q", err, c.say)
			}
			if _, err := os.Lstat(b.req.Prefix); strings.HasPrefix(b.req.Prefix, b.dir) && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("there is a prefix: %v", err)
			}
			if _, err := os.Lstat(filepath.Join(built.Stage, build.ManifestName)); built.Stage != "" && name != "no provider" && name != "no driver file" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a failed build is staged: %v", err)
			}
		})
	}
}

// On hosts with nothing but cmake3, ninja-build or make these are used.
func TestMakeFindsTools(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(b *bench)
		generator string
	}{
		"cmake3":      {func(b *bench) { rename(b, "cmake", "cmake3") }, "Ninja"},
		"ninja-build": {func(b *bench) { rename(b, "ninja", "ninja-build") }, "Ninja"},
		"make":        {func(b *bench) { rename(b, "ninja", "make") }, "Unix Makefiles"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.onlyFakes()
			c.change(b)
			if m := b.made().Manifest; m.Tools.Generator != c.generator {
				t.Errorf("built with %+v", m.Tools)
			}
		})
	}
	for _, gone := range []string{"cmake", "ninja", "cc"} {
		t.Run("no-"+gone, func(t *testing.T) {
			b := newBench(t)
			b.onlyFakes()
			must(t, os.Remove(filepath.Join(b.dir, "bin", gone)))
			_, err := b.make()
			var f *fault.Error
			if !errors.As(err, &f) || f.Code != "no-build-tools" || !strings.Contains(err.Error(), gone) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestMakeSetsThePolicyForOldTrees(t *testing.T) {
	for _, c := range []struct {
		cmake, version string
		want           bool
	}{{"4.3.4", "34.0", true}, {"4.3.4", "35.0", false}, {"3.31.6", "34.0", false}} {
		b := newBench(t)
		seen := openTemp(t)
		must(t, os.Chmod(seen, 0o777))
		b.program("cmake", strings.Replace(fakeCMake, "${FAKE_CMAKE:-3.31.6}", c.cmake, 1))
		script := strings.ReplaceAll(strings.Replace(goodBuild, "# EXTRA", "cp options "+seen, 1), "LIBS", filepath.Join(b.dir, "libs"))
		b.archive(file("x/CMakeLists.txt", "project(rdma-core)\nset(PACKAGE_VERSION \""+c.version+"\")\nset(IBVERBS_PABI_VERSION \"34\")\n"), file("x/build.sh", script))
		b.req.Version = c.version
		b.made()
		options, err := os.ReadFile(filepath.Join(seen, "options"))
		must(t, err)
		if got := strings.Contains(string(options), "-DCMAKE_POLICY_VERSION_MINIMUM=3.5\n"); got != c.want {
			t.Errorf("cmake %s and rdma-core %s: %q", c.cmake, c.version, options)
		}
	}
}

func TestJobs(t *testing.T) {
	for _, c := range []struct {
		m    build.Machine
		want int
	}{
		{build.Machine{CPUs: 8, Memory: 64 << 30}, 10},
		{build.Machine{CPUs: 2, Memory: 64 << 30}, 3},
		{build.Machine{CPUs: 64, Memory: 4 << 30}, 8},
		{build.Machine{CPUs: 8, Memory: 100 << 20}, 1},
		{build.Machine{CPUs: 8}, 10},
		{build.Machine{}, 2},
	} {
		if got := c.m.Jobs(); got != c.want {
			t.Errorf("%+v: %d jobs, not %d", c.m, got, c.want)
		}
	}
	if m := build.ThisMachine(); m.CPUs < 1 || m.Memory < 1<<20 {
		t.Errorf("this machine has %+v", m)
	}
}

// TestProve: what is wrong with a source is told before anything is compiled, and nothing is left then; a source that is
// right waits for the build.
func TestProve(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *bench)
		code   string
	}{
		"right":          {func(*bench) {}, ""},
		"wrong checksum": {func(b *bench) { b.req.Source.SHA256 = strings.Repeat("0", 64) }, "wrong-checksum"},
		"wrong version":  {func(b *bench) { b.req.Version = "57.0" }, "wrong-version"},
		"no rdma-core":   {func(b *bench) { b.archive(file("x/CMakeLists.txt", "project(other)\nset(PACKAGE_VERSION \"56.1\")\n")) }, "unknown-source"},
		"no source":      {func(b *bench) { b.req.Source.Location = filepath.Join(b.dir, "none.tar.gz") }, "no-source"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			b := newBench(t)
			c.change(b)
			b.program("cmake", "#!/bin/sh\necho called >"+filepath.Join(b.dir, "called")+"\n")
			err := build.Prove(t.Context(), b.h, b.req)
			var f *fault.Error
			switch {
			case c.code == "" && err != nil, c.code != "" && !errors.As(err, &f):
				t.Fatal(err)
			case f != nil && f.Code != c.code:
				t.Errorf("code %s, want %s: %v", f.Code, c.code, err)
			}
			if _, err := os.Stat(filepath.Join(b.dir, "called")); err == nil {
				t.Error("it was configured")
			}
			left, err := filepath.Glob(b.req.Cache + "/*")
			if err != nil || len(left) > 0 != (c.code == "") {
				t.Errorf("in the cache are %v, %v", left, err)
			}
			if err := build.Forget(b.h, b.req); err != nil {
				t.Error(err)
			}
			if left, err := filepath.Glob(b.req.Cache + "/*"); err != nil || len(left) > 0 {
				t.Errorf("after it is forgotten: %v, %v", left, err)
			}
		})
	}
}
