package vm_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/test/vm"
	trees "github.com/rdmactl/rdmactl/test/vm/internal/manifest"
)

// TestBuiltFromSource boots images into which rdmactl has built rdma-core 56.1 natively, from upstream's archive of
// Debian 13, beside the distribution's own, and proves by the mapped files whose library carries the traffic.
func TestBuiltFromSource(t *testing.T) {
	t.Parallel()
	for _, s := range []vm.Suite{vm.Bookworm(), vm.Trixie()} {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			m := bootBuilt(t, s)
			builtServes(t, m)
			builtGoesAway(t, m)
		})
	}
	// The twin: built beside, and nobody's default.
	t.Run("aside", func(t *testing.T) {
		t.Parallel()
		m := bootBuilt(t, vm.Trixie(), "--activate", "none")
		if !m.Exists(builtLibrary) {
			t.Errorf("%s is not there", builtLibrary)
		}
		softDevice(t, m)
		carriedBy(t, m, distribution)
	})
}

// What is built, and what tells the two libraries apart.
const (
	builtVersion = "56.1"
	builtPrefix  = "/opt/rdma-core/" + builtVersion
	builtLibrary = builtPrefix + "/lib/libibverbs.so.1"
	distribution = "/usr/lib/x86_64-linux-gnu"
)

// builtWish is what the images are asked for; the card is stated, since none is seen.
func builtWish() []string {
	return []string{"--profile", "edge", "--stack", "rdma-core", "--version", builtVersion, "--card", "connectx-5"}
}

// bootBuilt boots an image with the distribution's stack, and then the build.
func bootBuilt(t *testing.T, s vm.Suite, flags ...string) *vm.Machine {
	t.Helper()
	inbox := []string{"--profile", "inbox", "--card", "connectx-5"}
	wish := append(builtWish(), flags...)
	m := vm.BootChanged(t, s.WithBuildTools(), vm.Change{
		Name: "built", Key: []any{2, inbox, wish, codeOf(t, builtCode()...)}, From: vm.Trixie(),
		Build: func(root string, source vm.Source) error {
			if source.Version != builtVersion {
				return fmt.Errorf("the source is of %s, want %s", source.Version, builtVersion)
			}
			if err := installInto(t, root, inbox); err != nil {
				return err
			}
			if err := describeBefore(root); err != nil {
				return err
			}
			return installInto(t, root, append(wish, "--source", source.File, "--sha256", source.SHA256))
		},
	})
	file, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	m.Put(file, onPath, 0o755)
	return m
}

// beforeBuild is where an image keeps what it was before the build, outside of the trees that it tells of.
const beforeBuild = "/opt/rdmactl-test/before-build"

// builtTrees are what the build and its way back may touch, and what is left out of them.
func builtTrees() (roots, except []string) {
	roots = append(guardedTrees(), "/opt")
	except = []string{onPath, filepath.Dir(beforeBuild)}
	for _, e := range install.Exceptions() {
		except = append(except, e.Path)
	}
	return roots, except
}

// describeBefore writes down the trees of an image.
func describeBefore(root string) error {
	within := func(names []string) (out []string) {
		for _, name := range names {
			out = append(out, filepath.Join(root, name))
		}
		return out
	}
	roots, except := builtTrees()
	found, err := trees.Walk(within(roots), within(except), trees.Known{})
	if err != nil {
		return err
	}
	before := trees.Manifest{}
	for name, text := range found {
		before[strings.TrimPrefix(name, root)] = text
	}
	return os.WriteFile(filepath.Join(root, beforeBuild), before.Bytes(), 0o600)
}

// installInto runs the program's install on an image; it enters the image itself.
func installInto(t *testing.T, root string, wish []string) error {
	program, err := buildOnce()
	if err != nil {
		return err
	}
	kernels, err := filepath.Glob(filepath.Join(root, "lib/modules/*"))
	if err != nil || len(kernels) != 1 {
		return fmt.Errorf("kernels %q, want one: %w", kernels, err)
	}
	begin := time.Now()
	argv := append([]string{"install", "--root", root, "--kernel", filepath.Base(kernels[0]), "--yes"}, wish...)
	out, err := exec.Command(program, argv...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("rdmactl %s: %w\n%s", strings.Join(argv, " "), err, out)
	}
	t.Logf("%5.1f s  rdmactl install --root: %s", time.Since(begin).Seconds(), strings.Join(wish, " "))
	return nil
}

// builtCode is the code that decides what is in an image with a build.
func builtCode() []string {
	return []string{"install/build/*.go", "install/buildstep.go", "install/usestep.go", "plan/*.go", "profiles/edge.yaml", "profiles/inbox.yaml"}
}

// codeOf is a hash of the code that decides what is in an image. The whole program would do as well, but it changes
// with every line.
func codeOf(t *testing.T, patterns ...string) string {
	t.Helper()
	hash := sha256.New()
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files, %v", pattern, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(hash, "%s %d\n%s", file, len(text), text)
		}
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// softDevice makes a Soft-RoCE device over the machine's interface.
func softDevice(t *testing.T, m *vm.Machine) {
	t.Helper()
	m.Must("modprobe", "rdma_rxe")
	m.Must("rdma", "link", "add", "rxe0", "type", "rxe", "netdev", m.Netdev())
}

// carriedBy checks that verify passes and that the distribution's own program has traffic, both through the library
// and the provider below a directory and through no others.
func carriedBy(t *testing.T, m *vm.Machine, dir string) {
	t.Helper()
	for _, file := range carriers(t, m) {
		if !strings.HasPrefix(file, dir+"/") {
			t.Errorf("traffic goes through %s, want all below %s", file, dir)
		}
	}
}

// carriers are the files that traffic goes through: the library that verify has loaded, which passes, and the library
// and the provider that ibv_rc_pingpong has in its memory.
func carriers(t *testing.T, m *vm.Machine) []string {
	t.Helper()
	r := rdmactl(t, m, 0, "verify", "-o", "json")
	wantVerify(t, r, "pass", "")
	v := decode[struct {
		Library struct {
			Path string `json:"path"`
		} `json:"library"`
		Devices []struct {
			GID struct {
				Index int `json:"index"`
			} `json:"gid"`
		} `json:"devices"`
	}](t, r)
	if len(v.Devices) != 1 {
		t.Fatalf("devices: %s", r)
	}

	argv := []string{"/usr/bin/ibv_rc_pingpong", "-d", "rxe0", "-g", fmt.Sprint(v.Devices[0].GID.Index), "-n", "100"}
	server := m.Start(vm.Cmd{Argv: argv, Timeout: 3 * time.Minute})
	m.Shell("for i in $(seq 600); do grep -qi ':4853 ' /proc/net/tcp /proc/net/tcp6 && exit 0; sleep 0.1; done; exit 1")
	maps := m.Shell("cat /proc/$(pgrep -x ibv_rc_pingpong)/maps")
	client := m.Exec(vm.Cmd{Argv: append(argv, "127.0.0.1"), Timeout: 3 * time.Minute})
	ended, done := server.Wait(time.Minute)
	if !done {
		server.Signal(9)
	}
	if client.Exit != 0 || !done || ended.Exit != 0 || !strings.Contains(client.Stdout, "usec/iter") {
		t.Errorf("no traffic:\n%s\n%s", client, ended)
	}
	mapped := slices.Compact(regexp.MustCompile(`/\S*/lib(?:ibverbs|rxe)[^/\s]*\.so\S*`).FindAllString(maps, -1))
	if len(mapped) != 2 {
		t.Errorf("mapped are %q, want the library and the provider", mapped)
	}
	t.Logf("verify loaded %s, ibv_rc_pingpong %q", v.Library.Path, mapped)
	return append(mapped, strings.TrimSpace(m.Must("realpath", v.Library.Path)))
}

// builtServes: the build carries the traffic, and nothing is left to do.
func builtServes(t *testing.T, m *vm.Machine) {
	softDevice(t, m)
	carriedBy(t, m, builtPrefix+"/lib")
	p := decode[plan.Plan](t, rdmactl(t, m, 0, append([]string{"plan", "-o", "json"}, builtWish()...)...))
	if p.Verdict != plan.NothingToDo {
		t.Errorf("a second plan: %s, %+v", p.Summary, p.Steps)
	}
}

// builtGoesAway: the image knows the run that built, and takes it back where it boots.
func builtGoesAway(t *testing.T, m *vm.Machine) {
	if r := rdmactl(t, m, 0, "rollback", "-o", "json"); len(decode[runReport](t, r).Kept) > 0 {
		t.Errorf("something was kept: %s", r)
	}
	if state := runState(t, m); state != "rolled-back" {
		t.Errorf("state %q", state)
	}
	for _, file := range []string{"/opt/rdma-core", "/usr/bin/cmake", "/usr/bin/gcc"} {
		if m.Exists(file) {
			t.Errorf("%s is left", file)
		}
	}
	before, err := trees.Parse([]byte(m.ReadFile(beforeBuild)))
	if err != nil || len(before) == 0 {
		t.Fatalf("what the image was before: %d files, %v", len(before), err)
	}
	if diff := vm.Diff(before, m.Manifest(builtTrees())); len(diff) > 0 {
		t.Errorf("the trees are not as before the build:\n%s", strings.Join(diff, "\n"))
	}
	carriedBy(t, m, distribution)
}
