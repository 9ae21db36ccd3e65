package vm_test

import (
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
	packages, before := packagesOf(m), manifest(m)
	p := decode[plan.Plan](t, rdmactl(t, m, 0, "plan", "--profile", "inbox", "-o", "json"))
	report := decode[runReport](t, rdmactl(t, m, 0, "install", "--profile", "inbox", "--yes", "-o", "json"))
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
