package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rdmactl/rdmactl/install/build"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// inNamespace is set in a process that has a mount namespace of its own, to the directory of the program. It is
// built as it is shipped: it starts itself again by its own name, which the test's binary does not have.
const inNamespace = "RDMACTL_TEST_NAMESPACE"

// TestSideBySideStories runs the whole binary among libraries that were made for it, in a mount namespace where
// /etc, /usr/lib, /opt, /var and /run may be changed: those of the machine stay as they are.
func TestSideBySideStories(t *testing.T) {
	if os.Getenv(inNamespace) == "" {
		again(t)
		return
	}
	prepareNamespace(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/sidebyside",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			schemas, err := filepath.Abs(filepath.Dir(schemaFile("rdmactl.plan/v1")))
			env.Setenv("SCHEMAS", schemas)
			env.Setenv("PATH", os.Getenv(inNamespace)+":"+env.Getenv("PATH"))
			return errors.Join(err, makeFakes(env.WorkDir))
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits,
			"fake":  fakeCommand,
			"show":  showCommand,
		},
	})
}

// again runs this test in the namespace.
func again(t *testing.T) {
	for _, program := range []string{"unshare", "gcc", "ldconfig"} {
		if _, err := exec.LookPath(program); err != nil {
			if _, err := os.Stat("/sbin/" + program); err != nil {
				t.Skipf("needs %s", program)
			}
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: in a user's namespace the files of root cannot be covered by others")
	}
	if out, err := exec.Command("unshare", "--mount", "true").CombinedOutput(); err != nil {
		t.Skipf("needs a mount namespace: %s", out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "--mount", self, "-test.run=^TestSideBySideStories$", "-test.parallel=1", "-test.v")
	bin := t.TempDir()
	product := exec.Command("go", "build", "-o", filepath.Join(bin, "rdmactl"), ".")
	product.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := product.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd.Env = append(os.Environ(), inNamespace+"="+bin)
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "--- SKIP: TestSideBySideStories") {
		t.Skipf("%s", out)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: TestSideBySideStories/") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func prepareNamespace(t *testing.T) {
	t.Helper()
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	// The mounts end with the namespace; the directory below them is left empty for the parent to remove.
	dir := "/run"
	if err := unix.Mount("none", dir, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	for _, over := range []string{"/etc", "/usr/lib", "/opt", "/var"} {
		name := strings.ReplaceAll(over, "/", "-")
		upper, work := dir+"/upper"+name, dir+"/work"+name
		if err := errors.Join(os.Mkdir(upper, 0o755), os.Mkdir(work, 0o755)); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("overlay", over, "overlay", 0, "lowerdir="+over+",upperdir="+upper+",workdir="+work); err != nil {
			t.Skipf("needs overlays in the namespace: %v", err)
		}
	}
	// Whatever the machine has below /opt: the builds are those of the stories alone.
	if err := unix.Mount("none", "/opt", "tmpfs", 0, "mode=755"); err != nil {
		t.Fatal(err)
	}
}

// fakeSource is a library that tells who it is, with the directories that libibverbs has compiled in.
const fakeSource = `
const char *const fake_directories[] = {"%[1]s/libibverbs.d", "%[2]s/libibverbs/lib%%s-rdmav%[3]d.so"};
const char *ibv_which(void) { return "%[4]s"; }
const char *ibv_private(int i) { return fake_directories[i]; }
static void *no_device[1];
void **ibv_get_device_list(int *n) { if (n) *n = 0; return no_device; }
void ibv_free_device_list(void **list) { (void)list; }
#define STUB(name) int name(void) { return 38; }
STUB(ibv_get_device_name) STUB(ibv_open_device) STUB(ibv_close_device) STUB(ibv_alloc_pd) STUB(ibv_dealloc_pd)
STUB(ibv_create_cq) STUB(ibv_destroy_cq) STUB(ibv_create_qp) STUB(ibv_destroy_qp) STUB(ibv_modify_qp)
STUB(ibv_reg_mr) STUB(ibv_dereg_mr) STUB(ibv_query_device) STUB(ibv_query_port)
`

// program is one that is linked with the library.
const programSource = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
const char *ibv_which(void);
int main(int n, char **v) {
	printf("library of %s\n", ibv_which());
	const char *drivers = getenv("IBV_DRIVERS");
	printf("IBV_DRIVERS %s\n", drivers ? drivers : "unset");
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	while (maps && fgets(line, sizeof line, maps))
		if (strstr(line, "libibverbs.so") && strstr(line, "r-x")) printf("mapped %s", strchr(line, '/'));
	return n > 1 ? atoi(v[1]) : 0;
}
`

func gcc(args ...string) error {
	out, err := exec.Command("gcc", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("gcc %v: %w\n%s", args, err, out)
	}
	return nil
}

// library makes a libibverbs of a version and private ABI in dir, with the providers of that ABI.
func library(work, dir, drivers, version string, abi int, providers ...string) error {
	source, script := filepath.Join(work, "fake.c"), filepath.Join(work, "fake.map")
	text := fmt.Sprintf(fakeSource, drivers, dir, abi, version)
	private := fmt.Sprintf("IBVERBS_1.0 { global: ibv_[a-oq-z]*; ibv_poll*; local: *; };\nIBVERBS_PRIVATE_%d { global: ibv_private; } IBVERBS_1.0;\n", abi)
	file := filepath.Join(dir, "libibverbs.so.1.14."+version)
	link := filepath.Join(dir, "libibverbs.so.1")
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := errors.Join(
		os.MkdirAll(filepath.Join(dir, "libibverbs"), 0o755),
		os.WriteFile(source, []byte(text), 0o644), os.WriteFile(script, []byte(private), 0o644),
		gcc("-shared", "-fPIC", "-o", file, source, "-Wl,-soname,libibverbs.so.1", "-Wl,--version-script="+script),
		os.Symlink(filepath.Base(file), link),
	)
	for _, p := range providers {
		err = errors.Join(err, provider(work, dir, p, abi))
	}
	return err
}

func provider(work, dir, name string, abi int) error {
	source := filepath.Join(work, "provider.c")
	return errors.Join(
		os.WriteFile(source, []byte("int provider;\n"), 0o644),
		gcc("-shared", "-fPIC", "-o", fmt.Sprintf("%s/libibverbs/lib%s-rdmav%d.so", dir, name, abi), source),
	)
}

// makeFakes makes what a host starts with: the distribution's library of private ABI 40 and a program.
func makeFakes(work string) error {
	if err := os.RemoveAll("/opt/rdma-core"); err != nil {
		return err
	}
	for _, pattern := range []string{"/etc/ld.so.conf.d/*rdmactl*", "/etc/profile.d/*rdmactl*", "/etc/systemd/system/*.d/*rdmactl*", "/var/lib/rdmactl", "/usr/lib/*/libibverbs*", "/usr/lib/libibverbs*", "/etc/libibverbs.d"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := os.RemoveAll(file); err != nil {
				return err
			}
		}
	}
	source := filepath.Join(work, "which.c")
	err := errors.Join(
		os.MkdirAll("/etc/libibverbs.d", 0o755), os.WriteFile("/etc/libibverbs.d/mlx5.driver", []byte("driver mlx5\n"), 0o644),
		library(work, inboxDir(), "/etc", "40.0", 40, "mlx5"),
		os.WriteFile(source, []byte(programSource), 0o644),
		gcc("-o", filepath.Join(work, "which"), source, "-L"+inboxDir(), "-l:libibverbs.so.1"),
		gcc("-o", filepath.Join(work, "which-rpath"), source, "-L"+inboxDir(), "-l:libibverbs.so.1", "-Wl,--disable-new-dtags,-rpath,"+inboxDir()),
	)
	if err != nil {
		return err
	}
	if out, err := exec.Command("/sbin/ldconfig").CombinedOutput(); err != nil {
		return fmt.Errorf("ldconfig: %w\n%s", err, out)
	}
	return nil
}

// inboxDir is the directory of the distribution's libraries.
func inboxDir() string {
	if dirs, _ := filepath.Glob("/usr/lib/*-linux-gnu"); len(dirs) > 0 { // the pattern is sound
		return dirs[0]
	}
	return "/usr/lib64"
}

// fakeCommand makes builds and spoils them:
//
//	fake build DIR VERSION ABI   a whole build below /opt/rdma-core
//	fake unmade DIR VERSION ABI  one that rdmactl did not make
//	fake moved DIR VERSION ABI   one that was made for another directory
//	fake provider DIR NAME ABI   one more provider in it
//	fake foreign DIR             its library is of another architecture
func fakeCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: fake WHAT DIR ...")
	}
	prefix := "/opt/rdma-core/" + args[1]
	work := ts.Getenv("WORK")
	number := func() int {
		n, err := strconv.Atoi(args[3])
		ts.Check(err)
		return n
	}
	lib := filepath.Join(prefix, "lib")
	switch args[0] {
	case "build", "unmade", "moved":
		drivers := prefix + "/etc"
		if args[0] == "moved" {
			drivers = "/opt/rdma-core/elsewhere/etc"
		}
		ts.Check(errors.Join(os.MkdirAll(prefix+"/bin", 0o755), os.MkdirAll(prefix+"/etc/libibverbs.d", 0o755)))
		ts.Check(library(work, lib, drivers, args[2], number(), "mlx5", "rxe"))
		for _, name := range []string{"mlx5", "rxe"} {
			ts.Check(os.WriteFile(prefix+"/etc/libibverbs.d/"+name+".driver", []byte("driver "+name+"\n"), 0o644))
		}
		ts.Check(gcc("-o", prefix+"/bin/ibv_which", filepath.Join(work, "which.c"), "-L"+lib, "-l:libibverbs.so.1"))
		if args[0] != "unmade" {
			ts.Check(writeManifest(prefix, args[2], number()))
		}
	case "provider":
		ts.Check(provider(work, lib, args[2], number()))
	case "foreign":
		file, err := filepath.EvalSymlinks(lib + "/libibverbs.so.1")
		ts.Check(err)
		data, err := os.ReadFile(file)
		ts.Check(err)
		data[18], data[19] = 43, 0 // e_machine: SPARC V9, which is none of ours
		ts.Check(os.WriteFile(file, data, 0o755))
	default:
		ts.Fatalf("unknown fake %q", args[0])
	}
}

// writeManifest leaves in a prefix what an installation does.
func writeManifest(prefix, version string, abi int) error {
	m := build.Manifest{Format: 1, Stack: "rdma-core", Version: version, PrivateABI: abi, Prefix: prefix, LibDir: "lib", DriverDir: "etc/libibverbs.d"}
	err := filepath.WalkDir(prefix, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == prefix {
			return err
		}
		name, err := filepath.Rel(prefix, file)
		if err != nil {
			return err
		}
		e := build.Entry{Path: name, Kind: "dir"}
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			e.Kind = "link"
			if e.Link, err = os.Readlink(file); err != nil {
				return err
			}
		case !d.IsDir():
			data, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			sum := sha256.Sum256(data)
			e.Kind, e.Mode, e.Size, e.SHA256 = "file", info.Mode().Perm(), info.Size(), hex.EncodeToString(sum[:])
		}
		m.Files = append(m.Files, e)
		return nil
	})
	if err != nil {
		return err
	}
	files, err := json.Marshal(m.Files)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(files)
	m.Digest = hex.EncodeToString(sum[:])
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(prefix, build.ManifestName), data, 0o644)
}

// showCommand checks a JSON file against the schema that it names: show FILE.
func showCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: show FILE")
	}
	text := ts.ReadFile(args[0])
	var doc struct {
		Schema string `json:"schema"`
	}
	ts.Check(json.Unmarshal([]byte(text), &doc))
	data, err := os.ReadFile(filepath.Join(ts.Getenv("SCHEMAS"), strings.ReplaceAll(strings.TrimPrefix(doc.Schema, "rdmactl."), "/", ".")+".json"))
	ts.Check(err)
	ts.Check(follows(data, []byte(text)))
}

// follows validates a document against a schema.
func follows(text, data []byte) error {
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return err
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return err
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}
	return resolved.Validate(doc)
}
