package vm_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/test/vm"
)

// TestSmoke proves what the scenarios rest on: on each release a machine without RDMA packages and a
// repository whose faults apt sees. TestBesidePeers has traffic over Soft-RoCE without rdmactl.
func TestSmoke(t *testing.T) {
	t.Parallel()
	for _, s := range vm.Suites() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			m := vm.Boot(t, s)
			t.Run("machine", func(t *testing.T) { smokeMachine(t, m) })
			t.Run("repository", func(t *testing.T) { smokeRepository(t, m) })
		})
	}
}

func smokeMachine(t *testing.T, m *vm.Machine) {
	t.Log(m.Shell(`. /etc/os-release; echo "$PRETTY_NAME"; uname -r; systemctl --version | head -1; command -v rdma; id user; date -u; df -h / | tail -1; ulimit -l`))
	if v := m.Shell(". /etc/os-release; echo $VERSION_ID"); strings.TrimSpace(v) != m.Suite().Version {
		t.Errorf("VERSION_ID is %q", v)
	}
	if state := m.Run("systemctl", "is-system-running"); strings.TrimSpace(state.Stdout) != "running" {
		t.Errorf("%s\n%s", state, m.Run("systemctl", "--failed", "--no-legend"))
	}
	for name := range m.Packages() {
		for _, word := range []string{"rdma", "ibverbs", "ibumad", "infiniband"} {
			if strings.Contains(name, word) {
				t.Errorf("the bare machine has the package %s", name)
			}
		}
	}
	if r := m.RunAs("user", "id", "-un"); r.Stdout != "user\n" {
		t.Error(r)
	}
	r := m.Exec(vm.Cmd{Argv: []string{"sh", "-c", "ulimit -l"}, User: "user", Memlock: vm.Memlock(64 << 10)})
	if r.Stdout != "64\n" {
		t.Error(r)
	}
	if r := m.Exec(vm.Cmd{Argv: []string{"id", "-un"}, User: "user", Login: true}); r.Stdout != "user\n" {
		t.Error(r)
	}
	if r := m.Run("no-such-program"); r.Exit != 127 {
		t.Error(r)
	}
	if r := m.Exec(vm.Cmd{Argv: []string{"sleep", "60"}, Timeout: time.Second}); !r.TimedOut || r.Signal != 9 {
		t.Error(r)
	}
	if r := m.Exec(vm.Cmd{Argv: []string{"cat"}, Stdin: "said\n"}); r.Stdout != "said\n" {
		t.Error(r)
	}
	if r := m.Run("systemd-run", "--wait", "--pipe", "--quiet", "echo", "unit"); r.Stdout != "unit\n" {
		t.Error(r)
	}
}

func smokeRepository(t *testing.T, m *vm.Machine) {
	update := []string{"apt-get", "-o", "APT::Update::Error-Mode=any", "update"}
	for _, twin := range []vm.Repo{vm.RepoUnsigned, vm.RepoBadSignature, vm.RepoOtherKey} {
		m.UseRepo(twin)
		if r := m.Run(update...); r.Exit != 100 {
			t.Errorf("%s was accepted: %s", twin, r)
		}
	}
	m.UseRepo(vm.RepoTamperedPackage)
	m.Must(update...)
	if r := m.Run("apt-get", "install", "--yes", "ethtool"); r.Exit != 100 {
		t.Errorf("a tampered package was installed: %s", r)
	}
	for _, good := range []vm.Repo{vm.RepoHTTP, vm.RepoGood} {
		m.UseRepo(good)
		m.Must(update...)
	}
	if r := m.Run("apt-get", "--simulate", "install", "rdma-core"); r.Exit != 0 || !strings.Contains(r.Stdout, "Inst rdma-core") {
		t.Error(r)
	}
}
