package rpmhosts

import (
	"errors"
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
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
	"github.com/rdmactl/rdmactl/test/vm"
)

// onPath is where the machines have the program under test.
const onPath = "/usr/local/bin/rdmactl"

// TestBoots boots the hosts in virtual machines: what dnf and zypper install from RPMs carries traffic over a
// Soft-RoCE device, and goes again. It runs with RDMACTL_VM=1 as well.
func TestBoots(t *testing.T) {
	t.Parallel()
	for _, s := range systems() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			boots(t, s)
		})
	}
}

// machine is a host that runs.
type machine struct {
	*vm.Machine
	t *testing.T
}

func boots(t *testing.T, s system) {
	m := machine{booted(t, s), t}
	packages, before := m.rpms(), m.trees()
	m.rdmactl(5, "verify").Says(t, "no-library")

	wish := []string{"--profile", "soft", "--yes", "-o", "json"}
	r := rootlab.Decode[rootlab.Report](t, m.rdmactl(0, append([]string{"install"}, wish...)...))
	if r.Verdict != "done" || !r.Changed {
		t.Errorf("the report is %+v", r)
	}
	m.Must("rpm", "-q", "rdma-core", s.library)
	m.carries("/usr/lib64")
	m.Reboot()
	m.carries("/usr/lib64")
	if r := rootlab.Decode[rootlab.Report](t, m.rdmactl(0, append([]string{"install"}, wish...)...)); r.Verdict != "nothing-to-do" || r.Changed {
		t.Errorf("the second run is %+v", r)
	}
	if r := rootlab.Decode[rootlab.Report](t, m.rdmactl(0, "rollback", "-o", "json")); r.Verdict != "rolled-back" {
		t.Errorf("the rollback is %+v", r)
	}
	if diff := packages.Changed(m.rpms()); len(diff) > 0 {
		t.Errorf("the packages are not as before: %v", diff)
	}
	changed := slices.DeleteFunc(vm.Diff(before, m.trees()), func(line string) bool { return strings.Contains(line, "__pycache__") })
	if len(changed) > 0 {
		t.Errorf("the files are not as before:\n%s", strings.Join(changed, "\n"))
	}
	m.rdmactl(5, "verify").Says(t, "no-library")
}

// booted boots the host, whose only package source is the signed repository on its disk.
func booted(t *testing.T, s system) *vm.Machine {
	t.Helper()
	m := prepared(t, s)
	out := vm.BootForeign(t, vm.Foreign{
		Name: s.name, Key: []any{1, filepath.Base(filepath.Dir(m.kept)), good},
		Build: func(stage string) error {
			im := image{material: m, Root: rootlab.Root{Dir: stage}}
			return errors.Join(
				rootlab.Run(exec.Command("cp", "--archive", "--no-target-directory", m.kept, stage)),
				os.MkdirAll(stage+"/srv", 0o755),
				rootlab.Run(exec.Command("cp", "--archive", "--no-target-directory", filepath.Join(m.repos, good), stage+"/srv/repo")),
				im.source("file:///srv/repo"),
			)
		},
	})
	out.Put(lab.Program(t), onPath, 0o755)
	return out
}

// rdmactl runs the program as root and checks its exit code.
func (m machine) rdmactl(exit int, args ...string) rootlab.Result {
	m.t.Helper()
	r := m.Run(append([]string{onPath}, args...)...)
	if r.Exit != exit {
		m.t.Fatalf("exit %d, want %d:\n%s", r.Exit, exit, r)
	}
	return rootlab.Result{Exit: r.Exit, Stdout: r.Stdout, Stderr: r.Stderr, Argv: append([]string{"rdmactl"}, args...)}
}

// rpms are the packages with their versions.
func (m machine) rpms() rootlab.Tree {
	m.t.Helper()
	out := rootlab.Tree{}
	for line := range strings.Lines(m.Must("rpm", "-qa", "--qf", `%{NAME} %{VERSION}-%{RELEASE}.%{ARCH}\n`)) {
		name, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "gpg-pubkey" {
			name += " " + version
		}
		out[name] = version
	}
	if len(out) == 0 {
		m.t.Fatal("rpm tells no packages")
	}
	return out
}

// trees describes what a rollback restores.
func (m machine) trees() vm.Manifest {
	except := []string{onPath, "/usr/lib/sysimage/rpm"} // the database, which rpms tells of
	for _, e := range install.Exceptions() {
		except = append(except, e.Path)
	}
	return m.Manifest([]string{"/etc", "/usr"}, except)
}

// carries checks that verify passes, and that the distribution's own program has traffic through the library and the
// provider below a directory, which packages own.
func (m machine) carries(dir string) {
	m.t.Helper()
	v := rootlab.Decode[struct {
		Verdict string
		Library struct{ Path string }
		Devices []struct {
			Device string
			GID    struct{ Index int }
		}
	}](m.t, m.rdmactl(0, "verify", "-o", "json"))
	if v.Verdict != "pass" || len(v.Devices) != 1 {
		m.t.Fatalf("verify says %+v", v)
	}
	argv := []string{"/usr/bin/ibv_rc_pingpong", "-d", v.Devices[0].Device, "-g", fmt.Sprint(v.Devices[0].GID.Index), "-n", "100"}
	server := m.Start(vm.Cmd{Argv: argv, Timeout: 3 * time.Minute})
	m.Shell("for i in $(seq 600); do grep -qi ':4853 ' /proc/net/tcp /proc/net/tcp6 && exit 0; sleep 0.1; done; exit 1")
	maps := m.Shell("cat /proc/$(pgrep -x ibv_rc_pingpong)/maps")
	client := m.Exec(vm.Cmd{Argv: append(argv, "127.0.0.1"), Timeout: 3 * time.Minute})
	ended, done := server.Wait(time.Minute)
	if !done {
		server.Signal(9)
	}
	if client.Exit != 0 || !done || ended.Exit != 0 || !strings.Contains(client.Stdout, "usec/iter") {
		m.t.Errorf("no traffic:\n%s\n%s", client, ended)
	}
	mapped := slices.Compact(regexp.MustCompile(`/\S*/lib(?:ibverbs|rxe)[^/\s]*\.so\S*`).FindAllString(maps, -1))
	if len(mapped) != 2 {
		m.t.Errorf("mapped are %q, want the library and the provider", mapped)
	}
	for _, file := range append(mapped, strings.TrimSpace(m.Must("realpath", v.Library.Path))) {
		if !strings.HasPrefix(file, dir+"/") {
			m.t.Errorf("%s is used, want all below %s", file, dir)
		}
		m.Must("rpm", "-qf", file)
	}
	m.t.Logf("verify loaded %s, ibv_rc_pingpong %q", v.Library.Path, mapped)
}
