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
				`packages.broken is absent (dpkg-query -W)`,
				`packages.held is absent (dpkg-query -W)`,
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
