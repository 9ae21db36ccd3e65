package vm_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/test/vm"
)

// TestSmoke proves what the scenarios rest on: on each release a machine without RDMA packages and a
// repository whose faults apt sees, and on one of them Soft-RoCE with traffic over it, without rdmactl.
func TestSmoke(t *testing.T) {
	t.Parallel()
	for _, s := range vm.Suites() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			m := vm.Boot(t, s)
			t.Run("machine", func(t *testing.T) { smokeMachine(t, m) })
			t.Run("repository", func(t *testing.T) { smokeRepository(t, m) })
			if s == vm.Bookworm() { // the main job does this on each release, through rdmactl
				t.Run("rdma", func(t *testing.T) { smokeRDMA(t, m) })
			}
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

func smokeRDMA(t *testing.T, m *vm.Machine) {
	m.UseRepo(vm.RepoGood)
	m.Must("apt-get", "update")
	before := m.Manifest([]string{"/etc", "/usr", "/lib/modules"}, nil)
	r := m.Exec(vm.Cmd{
		Argv: []string{"apt-get", "install", "--yes", "rdma-core", "ibverbs-providers", "ibverbs-utils", "perftest"},
		Env:  []string{"DEBIAN_FRONTEND=noninteractive"},
	})
	t.Log(r)
	if r.Exit != 0 {
		t.FailNow()
	}
	if diff := vm.Diff(before, m.Manifest([]string{"/etc", "/usr", "/lib/modules"}, nil)); len(diff) < 20 {
		t.Errorf("the manifest did not see the installation: %q", diff)
	}
	netdev := m.Netdev()
	t.Log(m.Shell(fmt.Sprintf(`modprobe rdma_rxe
rdma link add rxe0 type rxe netdev %s
rdma link
ls -l /dev/infiniband
cd /sys/class/infiniband/rxe0/ports/1
grep -H . gid_attrs/types/* 2>/dev/null || true
grep -v 0000:0000:0000:0000:0000:0000:0000:0000 gids/* || true`, netdev)))
	// Unused table entries cannot be read; the address 10.0.2.15 is 0a00:020f.
	gid := strings.TrimSpace(m.Shell(`cd /sys/class/infiniband/rxe0/ports/1
for i in $(grep -l ffff:0a00:020f gids/*); do
  i=${i#gids/}
  grep -qx "RoCE v2" gid_attrs/types/$i 2>/dev/null && echo $i && exit
done`))
	if gid == "" {
		t.Fatal("no RoCE v2 GID with the address 10.0.2.15")
	}
	server := m.Start(vm.Cmd{Argv: []string{"ib_write_bw", "-d", "rxe0", "-x", gid, "-n", "200", "-s", "4096"}, Timeout: 2 * time.Minute})
	m.Shell("for i in $(seq 100); do grep -q :4853 /proc/net/tcp /proc/net/tcp6 && exit 0; sleep 0.1; done; exit 1")
	client := m.Exec(vm.Cmd{
		Argv:    []string{"ib_write_bw", "-d", "rxe0", "-x", gid, "-n", "200", "-s", "4096", "127.0.0.1"},
		Timeout: 2 * time.Minute,
	})
	t.Log(client)
	if client.Exit != 0 {
		t.Error("no traffic over Soft-RoCE")
	}
	if r, done := server.Wait(time.Minute); !done || r.Exit != 0 {
		t.Error(r)
	}
}
