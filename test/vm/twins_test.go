package vm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/vm"
)

// TestFaults breaks a working host in one way at a time: each has its own code and exit, and when it
// is mended the host passes again.
func TestFaults(t *testing.T) {
	t.Parallel()
	m := bootWith(t, vm.Bookworm())
	if r := rdmactl(t, m, 0, "install", "--profile", "soft", "--yes"); r.Exit != 0 {
		t.Fatal(r)
	}
	netdev := m.Netdev()
	address := strings.Fields(m.Must("ip", "-o", "-4", "addr", "show", "dev", netdev))[3]
	unlimited := vm.Memlock(vm.Unlimited)
	quick := []string{"verify", "--quick", "-o", "json"}

	for _, twin := range []struct {
		name, code    string
		broken, mend  string
		user          bool
		memlock       *vm.Limit
		verdictIsFail bool
	}{
		{
			name: "provider removed", code: "provider-missing",
			broken: "mkdir /root/away; mv /usr/lib/x86_64-linux-gnu/libibverbs/librxe-* /root/away/",
			mend:   "mv /root/away/* /usr/lib/x86_64-linux-gnu/libibverbs/; rmdir /root/away",
		},
		{
			name: "node closed to the user", code: "no-permission", user: true, memlock: unlimited,
			broken: "chmod 0600 /dev/infiniband/uverbs0", mend: "chmod 0666 /dev/infiniband/uverbs0",
		},
		{name: "memlock of 64 KiB", code: "memlock-too-low", user: true, memlock: vm.Memlock(64 << 10)},
		{
			// Without any address on the interface there is no GID at all, or only a link-local one
			// that came from the MAC; both go with disable_ipv6.
			name: "address removed", code: "no-gid",
			broken: fmt.Sprintf("sysctl -qw net.ipv6.conf.%[1]s.disable_ipv6=1; ip addr del %[2]s dev %[1]s", netdev, address),
			mend:   fmt.Sprintf("sysctl -qw net.ipv6.conf.%[1]s.disable_ipv6=0; ip addr add %[2]s dev %[1]s; ip route add default via 10.0.2.2 || true", netdev, address),
		},
		{
			name: "link down", code: "port-down",
			broken: fmt.Sprintf("ip link set %s down", netdev),
			mend:   fmt.Sprintf("ip link set %s up; ip addr replace %s dev %s; ip route replace default via 10.0.2.2; sleep 3", netdev, address, netdev),
		},
		{
			name: "no device", code: "no-device",
			broken: "rdma link delete rxe0", mend: "systemctl restart rdmactl-rxe@rxe0.service",
		},
		{
			name: "ib_uverbs blacklisted", code: "no-kernel-module",
			broken: "echo 'blacklist ib_uverbs\ninstall ib_uverbs /bin/false' > /etc/modprobe.d/site.conf; " +
				"systemctl stop 'rdmactl-rxe@*'; modprobe -r rdma_rxe rdma_ucm ib_uverbs ib_umad ib_iser rpcrdma || true; rmmod rdma_rxe rdma_ucm ib_uverbs || true; ! grep '^ib_uverbs ' /proc/modules",
			mend: "rm /etc/modprobe.d/site.conf; modprobe ib_uverbs; modprobe rdma_ucm; modprobe rdma_rxe; systemctl restart rdmactl-rxe@rxe0.service",
		},
	} {
		t.Run(strings.ReplaceAll(twin.name, " ", "-"), func(t *testing.T) {
			if twin.broken != "" {
				m.Shell(twin.broken)
			}
			var r vm.Result
			if twin.user {
				r = rdmactlAs(t, m, twin.memlock, 5, quick...)
			} else {
				r = rdmactl(t, m, 5, quick...)
			}
			wantVerify(t, r, "not-testable", twin.code)
			if twin.mend != "" {
				m.Shell(twin.mend)
			}
			wantVerify(t, rdmactl(t, m, 0, quick...), "pass", "")
		})
	}
}

// TestBlacklist keeps a host's own word: an install that needs a blacklisted module stops, says which
// file says so, and leaves the host as it was.
func TestBlacklist(t *testing.T) {
	t.Parallel()
	m := bootWith(t, vm.Bookworm())
	m.WriteFile("/etc/modprobe.d/site.conf", "blacklist ib_uverbs\n", 0o644)
	packages, before := packagesOf(m), manifest(m)
	r := m.Run(onPath, "install", "--profile", "soft", "--yes")
	if r.Exit != 3 && r.Exit != 4 && r.Exit != 6 {
		t.Errorf("a blacklisted module was no reason to stop: %s", r)
	}
	says(t, r, "/etc/modprobe.d/site.conf", "ib_uverbs")
	sameHost(t, m, packages, before)
}

// TestFaultyRepositories stops before anything changes when the packages cannot be trusted.
func TestFaultyRepositories(t *testing.T) {
	t.Parallel()
	m := bootWith(t, vm.Bookworm())
	packages, before := packagesOf(m), manifest(m)
	for _, repo := range []vm.Repo{vm.RepoUnsigned, vm.RepoBadSignature, vm.RepoOtherKey, vm.RepoTamperedPackage, vm.RepoNone} {
		t.Run(string(repo), func(t *testing.T) {
			m.UseRepo(repo)
			r := rdmactl(t, m, 4, "install", "--profile", "soft", "--yes")
			says(t, r, "hint: ")
			if diff := packageDiff(packages, packagesOf(m)); len(diff) > 0 {
				t.Errorf("the package set is not as before: %q", diff)
			}
		})
	}
	m.UseRepo(vm.RepoGood)
	sameHost(t, m, packages, before)
	// Nothing that the stopped runs left stands in the way of a good one.
	m.Must("apt-get", "update")
	says(t, rdmactl(t, m, 0, "install", "--profile", "soft", "--dry-run"), "rdma-core")
}
