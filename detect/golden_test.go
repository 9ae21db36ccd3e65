package detect

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden hosts: the facts of testdata/NAME.yaml are testdata/NAME.golden, and the twin, the same
// host with one thing changed, differs by exactly the lines given.
func TestGoldenHosts(t *testing.T) {
	const prefix = "/sys/class/infiniband/mlx5_0"
	tests := []struct {
		name string
		twin func(e *host.Evidence)
		gone []string
		come []string
	}{
		{
			"cx5-roce-el8",
			func(e *host.Evidence) { // the port is down and lost its address
				e.Files[prefix+"/ports/1/state"] = "1: DOWN\n"
				e.Files[prefix+"/ports/1/gids/10"] = "0000:0000:0000:0000:0000:0000:0000:0000\n"
				delete(e.Links, "/sys/bus/pci/devices/0000:5e:00.0/driver")
				e.Dirs["/sys/bus/pci/devices/0000:5e:00.0"] = []string{"class", "vendor"}
			},
			[]string{
				`pci[0000:5e:00.0].driver = "mlx5_core" (/sys/bus/pci/devices/0000:5e:00.0/driver)`,
				`rdma[mlx5_0].ports[0].gids[2].gid: "0000:0000:0000:0000:0000:ffff:c000:0205"`,
				`rdma[mlx5_0].ports[0].gids[2].index: 10`,
				`rdma[mlx5_0].ports[0].gids[2].ipv4: "192.0.2.5"`,
				`rdma[mlx5_0].ports[0].gids[2].netdev = "ens1f0" (/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/10)`,
				`rdma[mlx5_0].ports[0].gids[2].type = "RoCE v2" (/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/10)`,
				`rdma[mlx5_0].ports[0].state = "ACTIVE" (/sys/class/infiniband/mlx5_0/ports/1/state)`,
			},
			[]string{
				`pci[0000:5e:00.0].driver is absent (/sys/bus/pci/devices/0000:5e:00.0/driver)`,
				`rdma[mlx5_0].ports[0].state = "DOWN" (/sys/class/infiniband/mlx5_0/ports/1/state)`,
			},
		},
		{
			"cx6-ib-ubuntu2204",
			func(e *host.Evidence) { // no subnet manager, Secure Boot on, inbox instead of the vendor's library
				e.Commands["ibstat"] = replaced(e.Commands["ibstat"], "State: Active", "State: Initializing")
				e.Commands["mokutil --sb-state"] = host.Answer{Stdout: "SecureBoot enabled\n"}
				delete(e.Commands, "ofed_info -s")
				const dpkg = `dpkg-query -W -f ${Package}\t${Version}\t${Status}\n`
				e.Commands[dpkg] = host.Answer{Stdout: "libibverbs1\t39.0-1\tinstall ok installed\n"}
			},
			[]string{
				`packages.broken[mlnx-ofed-kernel-dkms].name: "mlnx-ofed-kernel-dkms"`,
				`packages.broken[mlnx-ofed-kernel-dkms].origin: "mlnx-ofed"`,
				`packages.broken[mlnx-ofed-kernel-dkms].status: "install ok half-configured"`,
				`packages.broken[mlnx-ofed-kernel-dkms].version: "23.10.OFED.23.10.1.1.9.1-1"`,
				`packages.held = ["libibverbs1"] (dpkg-query -W)`,
				`packages.holds[0].kind: "hold"`,
				`packages.holds[0].package: "libibverbs1"`,
				`packages.holds[0].source: "dpkg-query -W"`,
				`packages.installed[libibverbs1].origin: "mlnx-ofed"`,
				`packages.installed[libibverbs1].status: "hold ok installed"`,
				`packages.installed[libibverbs1].version: "2307mlnx47-1.2310119"`,
				`packages.installed[mlnx-ofed-kernel-dkms].name: "mlnx-ofed-kernel-dkms"`,
				`packages.installed[mlnx-ofed-kernel-dkms].origin: "mlnx-ofed"`,
				`packages.installed[mlnx-ofed-kernel-dkms].status: "install ok half-configured"`,
				`packages.installed[mlnx-ofed-kernel-dkms].version: "23.10.OFED.23.10.1.1.9.1-1"`,
				`packages.installed[ucx].name: "ucx"`,
				`packages.installed[ucx].origin: "mlnx-ofed"`,
				`packages.installed[ucx].status: "install ok installed"`,
				`packages.installed[ucx].version: "1.16.0-1.2310119"`,
				`packages.ofed_info = "MLNX_OFED_LINUX-23.10-1.1.9.0" (ofed_info -s)`,
				`packages.vendor_stack = {"build":"dkms","driver":"23.10-1.1.9","library":"2307mlnx47-1.2310119","stack":"mlnx-ofed","supplier":"nvidia","version":"23.10-1.1.9.0"} (ofed_info -s)`,
				`secure_boot.enabled = false (mokutil --sb-state)`,
			},
			[]string{
				`packages.installed[libibverbs1].origin: "inbox"`,
				`packages.installed[libibverbs1].status: "install ok installed"`,
				`packages.installed[libibverbs1].version: "39.0-1"`,
				`packages.installed_excerpt: true`,
				`secure_boot.enabled = true (mokutil --sb-state)`,
			},
		},
		{
			"mixed-provider-abi",
			func(e *host.Evidence) { // the local copy is removed and the provider is the right one
				e.Dirs["/usr/local/lib"] = []string{}
				e.Dirs["/usr/lib/x86_64-linux-gnu/libibverbs"] = []string{"libmlx5-rdmav34.so", "librxe-rdmav34.so"}
			},
			[]string{
				`userspace.libibverbs[/usr/local/lib/libibverbs.so.1].package is absent (/usr/local/lib/libibverbs.so.1)`,
				`userspace.libibverbs[/usr/local/lib/libibverbs.so.1].path: "/usr/local/lib/libibverbs.so.1"`,
				`userspace.libibverbs[/usr/local/lib/libibverbs.so.1].private_abi = 64 (objdump -p /usr/local/lib/libibverbs.so.1)`,
				`userspace.libibverbs[/usr/local/lib/libibverbs.so.1].providers[mlx5].name: "mlx5"`,
				`userspace.libibverbs[/usr/local/lib/libibverbs.so.1].providers[mlx5].path: "/usr/local/lib/libibverbs/libmlx5-rdmav64.so"`,
				`userspace.libibverbs[/usr/local/lib/libibverbs.so.1].providers[mlx5].private_abi: 64`,
				`userspace.libibverbs[/usr/lib/x86_64-linux-gnu/libibverbs.so.1].providers[mlx5].path: "/usr/lib/x86_64-linux-gnu/libibverbs/libmlx5-rdmav25.so"`,
				`userspace.libibverbs[/usr/lib/x86_64-linux-gnu/libibverbs.so.1].providers[mlx5].private_abi: 25`,
			},
			[]string{
				`userspace.libibverbs[/usr/lib/x86_64-linux-gnu/libibverbs.so.1].providers[mlx5].path: "/usr/lib/x86_64-linux-gnu/libibverbs/libmlx5-rdmav34.so"`,
				`userspace.libibverbs[/usr/lib/x86_64-linux-gnu/libibverbs.so.1].providers[mlx5].private_abi: 34`,
			},
		},
		{
			"no-card",
			func(e *host.Evidence) { // nothing tells about PCI, and ib_core is loaded
				for path := range e.Files {
					if strings.HasPrefix(path, pciDir) {
						delete(e.Files, path)
					}
				}
				for dir := range e.Dirs {
					if strings.HasPrefix(dir, pciDir) {
						delete(e.Dirs, dir)
					}
				}
				delete(e.Links, pciDir+"/0000:00:03.0/driver")
				e.Dirs["/sys/class"] = []string{"infiniband", "net"}
				e.Dirs["/sys/class/infiniband"] = []string{}
				e.Dirs["/usr/src"] = []string{"linux-headers-6.12.117+deb13-cloud-amd64"}
			},
			[]string{
				`kernel.headers is absent (/lib/modules/6.12.117+deb13-cloud-amd64/build -> /usr/src/linux-headers-6.12.117+deb13-cloud-amd64)`,
				`kernel.kernels[0].headers is absent (/lib/modules/6.12.117+deb13-cloud-amd64/build -> /usr/src/linux-headers-6.12.117+deb13-cloud-amd64)`,
				`pci[0000:00:03.0].address: "0000:00:03.0"`,
				`pci[0000:00:03.0].class: "0200"`,
				`pci[0000:00:03.0].device: "1000"`,
				`pci[0000:00:03.0].driver = "virtio-pci" (/sys/bus/pci/devices/0000:00:03.0/driver)`,
				`pci[0000:00:03.0].generation is absent (PCI id table)`,
				`pci[0000:00:03.0].link is absent (/sys/bus/pci/devices/0000:00:03.0/current_link_speed)`,
				`pci[0000:00:03.0].link_capability is absent (/sys/bus/pci/devices/0000:00:03.0/max_link_speed)`,
				`pci[0000:00:03.0].netdevs = ["eth0"] (/sys/class/net/eth0)`,
				`pci[0000:00:03.0].numa_node is absent (/sys/bus/pci/devices/0000:00:03.0/numa_node)`,
				`pci[0000:00:03.0].rdma_capable: false`,
				`pci[0000:00:03.0].rdma_devices is absent (/sys/bus/pci/devices/0000:00:03.0/infiniband)`,
				`pci[0000:00:03.0].subsystem_device is absent (/sys/bus/pci/devices/0000:00:03.0/subsystem_device)`,
				`pci[0000:00:03.0].subsystem_vendor is absent (/sys/bus/pci/devices/0000:00:03.0/subsystem_vendor)`,
				`pci[0000:00:03.0].vendor: "1af4"`,
				`pci[0000:00:03.0].vfs is absent (/sys/bus/pci/devices/0000:00:03.0/sriov_numvfs)`,
			},
			[]string{
				`kernel.headers = "/usr/src/linux-headers-6.12.117+deb13-cloud-amd64" (/lib/modules/6.12.117+deb13-cloud-amd64/build)`,
				`kernel.kernels[0].headers = "/usr/src/linux-headers-6.12.117+deb13-cloud-amd64" (/lib/modules/6.12.117+deb13-cloud-amd64/build)`,
			},
		},
		{
			"vf-in-container",
			func(e *host.Evidence) { // firmware that names no generation
				delete(e.Files, "/sys/class/infiniband/mlx5_2/fw_ver")
				e.Nodes["/dev/infiniband/uverbs2"] = host.Node{Mode: "0666", Owner: "root", Group: "root"}
			},
			[]string{
				`device_nodes[/dev/infiniband/uverbs2].mode = "0600" (/dev/infiniband/uverbs2)`,
				`pci[0000:06:00.2].generation = "connectx-6-dx" (/sys/class/infiniband/mlx5_2/fw_ver)`,
				`rdma[mlx5_2].fw_ver = "22.38.1900" (/sys/class/infiniband/mlx5_2/fw_ver)`,
			},
			[]string{
				`device_nodes[/dev/infiniband/uverbs2].mode = "0666" (/dev/infiniband/uverbs2)`,
				`pci[0000:06:00.2].candidates[0]: "connectx-6-dx"`,
				`pci[0000:06:00.2].candidates[1]: "connectx-6-lx"`,
				`pci[0000:06:00.2].candidates[2]: "connectx-7"`,
				`pci[0000:06:00.2].candidates[3]: "connectx-8"`,
				`pci[0000:06:00.2].candidates[4]: "connectx-9"`,
				`pci[0000:06:00.2].candidates[5]: "connectx-10"`,
				`pci[0000:06:00.2].candidates[6]: "bluefield-2"`,
				`pci[0000:06:00.2].candidates[7]: "bluefield-3"`,
				`pci[0000:06:00.2].candidates[8]: "bluefield-4"`,
				`pci[0000:06:00.2].generation is unknown: the id 15b3:101e is shared by connectx-6-dx, connectx-6-lx, connectx-7, connectx-8, connectx-9, connectx-10, bluefield-2, bluefield-3, bluefield-4 (PCI id table)`,
			},
		},
		{
			"rxe",
			func(e *host.Evidence) { // no parent: not rxe
				delete(e.Files, "/sys/class/infiniband/rxe0/parent")
				e.Dirs["/sys/class/infiniband/rxe0"] = []string{"fw_ver", "node_type", "ports"}
				delete(e.Commands, "rdma link")
			},
			[]string{
				`rdma[rxe0].driver = "rdma_rxe" (/sys/class/infiniband/rxe0/parent)`,
				`rdma[rxe0].parent_netdev = "eth0" (/sys/class/infiniband/rxe0/parent)`,
				`rdma[rxe0].pci is absent (/sys/class/infiniband/rxe0/parent)`,
				`rdma[rxe0].ports[0].netdevs = ["eth0"] (/sys/class/infiniband/rxe0/parent)`,
			},
			[]string{`rdma[rxe0].pci is absent (/sys/class/infiniband/rxe0)`},
		},
		{
			"half-broken-sysfs",
			func(e *host.Evidence) { // the rate can be read
				delete(e.Commands, "cat "+prefix+"/ports/1/rate")
				e.Files[prefix+"/ports/1/rate"] = "56 Gb/sec (4X FDR)\n"
				e.Files[prefix+"/ports/1/state"] = "4: ACTIVE\n"
			},
			[]string{
				`rdma[mlx5_0].ports[0].rate is unknown: read /sys/class/infiniband/mlx5_0/ports/1/rate: invalid argument (/sys/class/infiniband/mlx5_0/ports/1/rate)`,
				`rdma[mlx5_0].ports[0].rate_gbps is unknown: read /sys/class/infiniband/mlx5_0/ports/1/rate: invalid argument (/sys/class/infiniband/mlx5_0/ports/1/rate)`,
				`rdma[mlx5_0].ports[0].state is unknown: "ACTIVE" is not of the form "NUMBER: NAME" (/sys/class/infiniband/mlx5_0/ports/1/state)`,
			},
			[]string{
				`rdma[mlx5_0].ports[0].rate = "56 Gb/sec (4X FDR)" (/sys/class/infiniband/mlx5_0/ports/1/rate)`,
				`rdma[mlx5_0].ports[0].rate_gbps = 56 (/sys/class/infiniband/mlx5_0/ports/1/rate)`,
				`rdma[mlx5_0].ports[0].state = "ACTIVE" (/sys/class/infiniband/mlx5_0/ports/1/state)`,
			},
		},
		{
			"el9-kernel-devel",
			func(e *host.Evidence) { // the headers are of another kernel, another key is enrolled, the mount is over TCP
				e.Dirs["/usr/src/kernels"] = []string{"5.14.0-503.11.1.el9_5.x86_64"}
				e.Commands["mokutil --list-enrolled"] = replaced(e.Commands["mokutil --list-enrolled"], "0a:1b", "ff:1b")
				e.Files["/proc/mounts"] = strings.ReplaceAll(e.Files["/proc/mounts"], "proto=rdma", "proto=tcp")
				e.Dirs["/etc/pki/consumer"] = []string{}
			},
			[]string{
				`kernel.headers = "/usr/src/kernels/5.14.0-427.13.1.el9_4.x86_64" (/lib/modules/5.14.0-427.13.1.el9_4.x86_64/build)`,
				`kernel.kernels[0].headers = "/usr/src/kernels/5.14.0-427.13.1.el9_4.x86_64" (/lib/modules/5.14.0-427.13.1.el9_4.x86_64/build)`,
				`kernel.kernels[1].headers is absent (/lib/modules/5.14.0-503.11.1.el9_5.x86_64/build -> /usr/src/kernels/5.14.0-503.11.1.el9_5.x86_64)`,
				`packages.registered = true (/etc/pki/consumer/cert.pem)`,
				`secure_boot.dkms_key_enrolled = true (mokutil --list-enrolled)`,
				`secure_boot.enrolled_keys[0].sha1: "0a1b2c3d4e5f60718293a4b5c6d7e8f900112233"`,
				`uses[/data].detail: "nfs4"`,
				`uses[/data].kind: "nfs-rdma"`,
				`uses[/data].modules[0]: "rpcrdma"`,
				`uses[/data].name: "/data"`,
				`uses[/data].source: "/proc/mounts"`,
			},
			[]string{
				`kernel.headers is absent (/lib/modules/5.14.0-427.13.1.el9_4.x86_64/build -> /usr/src/kernels/5.14.0-427.13.1.el9_4.x86_64)`,
				`kernel.kernels[0].headers is absent (/lib/modules/5.14.0-427.13.1.el9_4.x86_64/build -> /usr/src/kernels/5.14.0-427.13.1.el9_4.x86_64)`,
				`kernel.kernels[1].headers = "/usr/src/kernels/5.14.0-503.11.1.el9_5.x86_64" (/lib/modules/5.14.0-503.11.1.el9_5.x86_64/build)`,
				`packages.registered = false (/etc/pki/consumer/cert.pem)`,
				`secure_boot.dkms_key_enrolled = false (mokutil --list-enrolled)`,
				`secure_boot.enrolled_keys[0].sha1: "ff1b2c3d4e5f60718293a4b5c6d7e8f900112233"`,
			},
		},
		{
			"sles15-unsupported",
			func(e *host.Evidence) { // the default of SLES; the id of a process that ended is another's
				e.Files["/etc/modprobe.d/10-unsupported-modules.conf"] = "allow_unsupported_modules 0\n"
				e.Files["/proc/4711/comm"] = "bash\n"
				e.Files["/etc/zypp/locks"] = ""
				e.Dirs["/usr/src/linux-6.4.0-150600.23.25-obj/x86_64"] = []string{}
			},
			[]string{
				`kernel.headers = "/usr/src/linux-6.4.0-150600.23.25-obj/x86_64/default" (/lib/modules/6.4.0-150600.23.25-default/build)`,
				`kernel.kernels[0].headers = "/usr/src/linux-6.4.0-150600.23.25-obj/x86_64/default" (/lib/modules/6.4.0-150600.23.25-default/build)`,
				`modules.allow_unsupported = true (/etc/modprobe.d/10-unsupported-modules.conf)`,
				`packages.busy = "process 4711 (zypper)" (/run/zypp.pid)`,
				`packages.held = ["libibverbs1","kernel-default"] (the package manager's configuration)`,
				`packages.holds[0].kind: "lock"`,
				`packages.holds[0].package: "libibverbs1"`,
				`packages.holds[0].source: "/etc/zypp/locks"`,
				`packages.holds[1].kind: "lock"`,
				`packages.holds[1].package: "kernel-default"`,
				`packages.holds[1].source: "/etc/zypp/locks"`,
				`packages.holds[1].version: "= 6.4.0-150600.23.25.1"`,
			},
			[]string{
				`kernel.headers is absent (/lib/modules/6.4.0-150600.23.25-default/build -> /usr/src/linux-6.4.0-150600.23.25-obj/x86_64/default)`,
				`kernel.kernels[0].headers is absent (/lib/modules/6.4.0-150600.23.25-default/build -> /usr/src/linux-6.4.0-150600.23.25-obj/x86_64/default)`,
				`modules.allow_unsupported = false (/etc/modprobe.d/10-unsupported-modules.conf)`,
			},
		},
		{
			"doca32-ubuntu2204",
			func(e *host.Evidence) { // the stack was removed, and what brings its repository is still there
				const dpkg = `dpkg-query -W -f ${Package}\t${Version}\t${Status}\n`
				e.Commands[dpkg] = host.Answer{Stdout: "base-files\t12ubuntu4.7\tinstall ok installed\ndoca-host\t3.2.1-044000-25.10-ubuntu2204\tinstall ok installed\n" +
					"doca-ofed\t3.2.1-044000\tdeinstall ok config-files\nlibibverbs1\t39.0-1\tinstall ok installed\n"}
				e.Dirs["/var/lib/dkms"] = []string{}
				e.Dirs["/var/lib/dpkg/updates"] = []string{"0000"}
				delete(e.Files, "/proc/net/bonding/bond0")
			},
			[]string{
				`access.default_route_driver = "mlx5_core" (/sys/class/net/enp65s0f0np0/device/driver)`,
				`access.default_route_hardware = ["enp65s0f0np0","enp65s0f1np1"] (/sys/class/net/bond0)`,
				`modules.dkms[mlnx-ofed-kernel].installed = ["5.15.0-130-generic"] (/var/lib/dkms/mlnx-ofed-kernel)`,
				`modules.dkms[mlnx-ofed-kernel].kernels[0]: "5.15.0-130-generic"`,
				`modules.dkms[mlnx-ofed-kernel].name: "mlnx-ofed-kernel"`,
				`modules.dkms[mlnx-ofed-kernel].origin: "doca-ofed"`,
				`modules.dkms[mlnx-ofed-kernel].version: "25.10.OFED.25.10.1.7.1.1"`,
				`netdevs[enp65s0f0np0].upper_netdevs = ["bond0"] (/sys/class/net/enp65s0f0np0)`,
				`netdevs[enp65s0f1np1].upper_netdevs = ["bond0"] (/sys/class/net/enp65s0f1np1)`,
				`packages.database = "ok" (/var/lib/dpkg/updates)`,
				`packages.held = ["linux-image-5.15.0-130-generic"] (dpkg-query -W)`,
				`packages.holds[0].kind: "hold"`,
				`packages.holds[0].package: "linux-image-5.15.0-130-generic"`,
				`packages.holds[0].source: "dpkg-query -W"`,
				`packages.holds[1].package: "*"`,
				`packages.holds[1].priority: 600`,
				`packages.holds[1].version: "origin linux.mellanox.com"`,
				`packages.holds[2].package: "rdma-core"`,
				`packages.holds[3].kind: "pin"`,
				`packages.holds[3].package: "libibverbs1"`,
				`packages.holds[3].priority: -1`,
				`packages.holds[3].source: "/etc/apt/preferences.d/doca"`,
				`packages.holds[3].version: "release o=Ubuntu"`,
				`packages.installed[dkms].name: "dkms"`,
				`packages.installed[dkms].origin: "inbox"`,
				`packages.installed[dkms].status: "install ok installed"`,
				`packages.installed[dkms].version: "2.8.7-2ubuntu2.2"`,
				`packages.installed[doca-ofed].name: "doca-ofed"`,
				`packages.installed[doca-ofed].origin: "doca-ofed"`,
				`packages.installed[doca-ofed].status: "install ok installed"`,
				`packages.installed[doca-ofed].version: "3.2.1-044000"`,
				`packages.installed[libibverbs1].origin: "doca-ofed"`,
				`packages.installed[libibverbs1].version: "2510.0.11-1.2510171"`,
				`packages.installed[linux-image-5.15.0-130-generic].name: "linux-image-5.15.0-130-generic"`,
				`packages.installed[linux-image-5.15.0-130-generic].origin: "inbox"`,
				`packages.installed[linux-image-5.15.0-130-generic].status: "hold ok installed"`,
				`packages.installed[linux-image-5.15.0-130-generic].version: "5.15.0-130.140"`,
				`packages.installed[mlnx-ofed-kernel-dkms].name: "mlnx-ofed-kernel-dkms"`,
				`packages.installed[mlnx-ofed-kernel-dkms].origin: "doca-ofed"`,
				`packages.installed[mlnx-ofed-kernel-dkms].status: "install ok installed"`,
				`packages.installed[mlnx-ofed-kernel-dkms].version: "25.10.OFED.25.10.1.7.1.1-1"`,
				`packages.vendor_stack = {"build":"dkms","driver":"25.10-1.7.1","library":"2510.0.11-1.2510171","stack":"doca-ofed","supplier":"nvidia","version":"3.2.1"} (dpkg-query -W)`,
				`uses[bond0].detail: "on enp65s0f0np0"`,
				`uses[bond0].kind: "upper-netdev"`,
				`uses[bond0].modules[0]: "mlx5_core"`,
				`uses[bond0].name: "bond0"`,
				`uses[bond0].source: "/sys/class/net/enp65s0f0np0"`,
				`uses[bond0].detail: "on enp65s0f1np1"`,
				`uses[bond0].kind: "upper-netdev"`,
				`uses[bond0].modules[0]: "mlx5_core"`,
				`uses[bond0].name: "bond0"`,
				`uses[bond0].source: "/sys/class/net/enp65s0f1np1"`,
			},
			[]string{
				`modules.dkms is absent (/var/lib/dkms)`,
				`packages.database = "interrupted" (/var/lib/dpkg/updates)`,
				`packages.held is absent (dpkg-query -W)`,
				`packages.holds[0].kind: "pin"`,
				`packages.holds[0].package: "*"`,
				`packages.holds[0].priority: 600`,
				`packages.holds[0].source: "/etc/apt/preferences.d/doca"`,
				`packages.holds[0].version: "origin linux.mellanox.com"`,
				`packages.holds[1].package: "rdma-core"`,
				`packages.holds[1].priority: -1`,
				`packages.holds[1].version: "release o=Ubuntu"`,
				`packages.holds[2].package: "libibverbs1"`,
				`packages.installed[libibverbs1].origin: "inbox"`,
				`packages.installed[libibverbs1].version: "39.0-1"`,
				`packages.vendor_stack is absent (dpkg-query -W)`,
			},
		},
		{
			"ol8-uek",
			func(e *host.Evidence) { // the release of the bundle for Red Hat's kernel, whose modules fit a series
				e.Commands["rpm -qa"] = replaced(e.Commands["rpm -qa"], "mlnx-ofa_kernel-modules-23.10-OFED.23.10.3.2.2.1.kver.5.15.0_300.163.18.el8uek.x86_64.x86_64", "kmod-mlnx-ofa_kernel-23.10-OFED.23.10.3.2.2.1.rhel8u10.x86_64")
				e.Commands["uname -r"] = host.Answer{Stdout: "4.18.0-553.el8_10.x86_64\n"}
			},
			[]string{
				`kernel.flavour = "uek" (uname -r)`,
				`kernel.headers is absent (/lib/modules/5.15.0-300.163.18.el8uek.x86_64/build)`,
				`kernel.headers_package = "kernel-uek-devel-5.15.0-300.163.18.el8uek.x86_64" (/etc/os-release)`,
				`kernel.release = "5.15.0-300.163.18.el8uek.x86_64" (uname -r)`,
				`packages.installed[mlnx-ofa_kernel-modules].arch: "x86_64"`,
				`packages.installed[mlnx-ofa_kernel-modules].name: "mlnx-ofa_kernel-modules"`,
				`packages.installed[mlnx-ofa_kernel-modules].origin: "mlnx-ofed"`,
				`packages.installed[mlnx-ofa_kernel-modules].version: "23.10-OFED.23.10.3.2.2.1.kver.5.15.0_300.163.18.el8uek.x86_64"`,
				`packages.vendor_stack = {"build":"kernel","driver":"23.10-3.2.2","kernels":["5.15.0_300.163.18.el8uek.x86_64"],"library":"2307mlnx47-1.2310322","stack":"mlnx-ofed","supplier":"nvidia","version":"23.10-3.2.2.0"} (rpm -qa)`,
			},
			[]string{
				`kernel.flavour is absent (uname -r)`,
				`kernel.headers_package = "kernel-devel-4.18.0-553.el8_10.x86_64" (/etc/os-release)`,
				`kernel.release = "4.18.0-553.el8_10.x86_64" (uname -r)`,
				`packages.installed[kmod-mlnx-ofa_kernel].arch: "x86_64"`,
				`packages.installed[kmod-mlnx-ofa_kernel].name: "kmod-mlnx-ofa_kernel"`,
				`packages.installed[kmod-mlnx-ofa_kernel].origin: "mlnx-ofed"`,
				`packages.installed[kmod-mlnx-ofa_kernel].version: "23.10-OFED.23.10.3.2.2.1.rhel8u10"`,
				`packages.vendor_stack = {"build":"kmp","driver":"23.10-3.2.2","library":"2307mlnx47-1.2310322","stack":"mlnx-ofed","supplier":"nvidia","version":"23.10-3.2.2.0"} (rpm -qa)`,
			},
		},
		{
			"lspci-only",
			func(e *host.Evidence) { // the second PF is of another generation: the VF's is not certain
				e.Commands["lspci -nn"] = host.Answer{Stdout: e.Commands["lspci -nn"].Stdout +
					"65:00.1 Ethernet controller [0200]: Mellanox Technologies MT2892 Family [ConnectX-6 Dx] [15b3:101d]\n"}
			},
			[]string{
				`pci[0000:65:00.2].generation = "connectx-7" (physical function 0000:65:00.0)`,
				`pci[0000:65:00.2].physical_function = "0000:65:00.0" (same bus)`,
			},
			nil, // filled below
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := lines(t, detected(t, evidence(t, tt.name)))
			file := filepath.Join("testdata", tt.name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(strings.TrimSpace(string(want)), "\n"), got); diff != "" {
				t.Errorf("facts differ from %s (-want +got):\n%s", file, diff)
			}
			changed := evidence(t, tt.name)
			tt.twin(changed)
			other := lines(t, detected(t, changed))
			if diff := cmp.Diff(tt.gone, missingFrom(got, other)); diff != "" {
				t.Errorf("the twin lost other lines (-want +got):\n%s", diff)
			}
			come := missingFrom(other, got)
			if tt.name == "lspci-only" {
				if len(come) == 0 || !slices.ContainsFunc(come, func(l string) bool { return strings.HasPrefix(l, "pci[0000:65:00.2].generation is unknown") }) {
					t.Errorf("the VF's generation is not unknown in the twin: %q", come)
				}
				return
			}
			if diff := cmp.Diff(tt.come, come); diff != "" {
				t.Errorf("the twin has other lines (-want +got):\n%s", diff)
			}
		})
	}
}

func replaced(a host.Answer, from, to string) host.Answer {
	a.Stdout = strings.ReplaceAll(a.Stdout, from, to)
	return a
}

func missingFrom(list, other []string) []string {
	var out []string
	for _, line := range list {
		if !slices.Contains(other, line) {
			out = append(out, line)
		}
	}
	return out
}
