package vm_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/test/vm"
)

// TestInbox installs the full inbox stack on a host without a card: the modules that the profile names
// are loaded, and verify says that the chain ends at the device.
func TestInbox(t *testing.T) {
	t.Parallel()
	for _, s := range vm.Suites() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			inbox(t, bootWith(t, s))
		})
	}
}

func inbox(t *testing.T, m *vm.Machine) {
	wish := []string{"--profile", "inbox"}
	if m.Suite() == vm.Bookworm() { // one release gets it all in a file, and has no repository
		wish = bundled(t, m, wish)
		m.UseRepo(vm.RepoNone)
	}
	packages, before := packagesOf(m), manifest(m)
	p := decode[plan.Plan](t, rdmactl(t, m, 0, "plan", "--profile", "inbox", "-o", "json"))
	report := decode[runReport](t, rdmactl(t, m, 0, append([]string{"install", "--yes", "-o", "json"}, wish...)...))
	if report.Verdict != "done" {
		t.Fatalf("report %+v\n%s", report, m.Run("cat", report.Log))
	}
	t.Log(m.ReadFile(report.Log))
	installed := packagesOf(m)
	loaded := m.ReadFile("/proc/modules")
	var modules int
	for _, step := range p.Steps {
		for _, c := range step.Changes.Packages {
			if _, ok := installed[c.Name]; !ok {
				t.Errorf("the package %s is not installed", c.Name)
			}
		}
		for _, c := range step.Changes.Modules {
			modules++
			if name := strings.ReplaceAll(c.Name, "-", "_"); !strings.Contains("\n"+loaded, "\n"+name+" ") && !c.Optional {
				t.Errorf("the module %s is not loaded", name)
			}
		}
	}
	for _, name := range []string{"mlx5_core", "mlx5_ib", "ib_uverbs", "rdma_ucm"} {
		if !strings.Contains("\n"+loaded, "\n"+name+" ") {
			t.Errorf("the module %s is not loaded", name)
		}
	}
	if modules == 0 {
		t.Error("the plan names no module")
	}
	v := rdmactl(t, m, 5, "verify", "-o", "json")
	wantVerify(t, v, "not-testable", "no-device")
	t.Log(m.Run(onPath, "verify"))
	rdmactl(t, m, 0, "rollback")
	sameHost(t, m, packages, before)
}

// bundled makes, on this machine and for the host that the machine tells of, a bundle of what is wished for, brings it to
// the machine, and returns what it is installed with.
func bundled(t *testing.T, m *vm.Machine, wish []string) []string {
	t.Helper()
	rdmactl(t, m, 0, "detect", "--save", "/root/host.yaml", "--no-redact")
	dir := t.TempDir()
	host := filepath.Join(dir, "host.yaml")
	must(t, os.WriteFile(host, []byte(m.ReadFile("/root/host.yaml")), 0o600))
	mirror, key := m.Mirror()
	server := httptest.NewServer(http.FileServer(http.Dir(mirror)))
	defer server.Close()
	program, err := buildOnce()
	must(t, err)
	file := filepath.Join(dir, "rdma.bundle")
	args := append([]string{"bundle", "create", "--for", host, "--mirror", server.URL + " ./", "--key", key, "--cache", filepath.Join(dir, "cache"), "--out", file}, wish...)
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		t.Fatalf("rdmactl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	const there = "/root/rdma.bundle"
	m.Put(file, there, 0o600)
	return []string{"--bundle", there, "--sha256", sumOf(t, file)}
}
