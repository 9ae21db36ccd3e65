package rules

import (
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// smallMatrix has one of each kind of entry that the rules read.
func smallMatrix() *matrix.Matrix {
	documented := func(id, version, arch, kernel, model string, covers ...string) matrix.Row {
		return matrix.Row{
			Evidence: matrix.DocumentedTable, ID: id, VersionID: version, Arch: arch, Kernel: kernel, Model: model, Covers: covers,
			Source: "https://docs.example/table",
			// Of Oracle Linux no label was ever seen.
			Label: map[string]string{"rhel": id + version, "ubuntu": id + version, "debian": id + version, "sles": "sles15sp5"}[id],
		}
	}
	cards := []string{"connectx-4", "connectx-5", "connectx-6-dx", "connectx-7"}
	return &matrix.Matrix{
		Branches: []matrix.Branch{
			{Stack: "mlnx-ofed", Name: "4.9", LTS: true, Versions: []string{">= 4.9, < 5.0"}, Start: "2020-05", EndComputed: "2023-05", Source: []string{"https://docs.example/lts"}},
			{
				Stack: "mlnx-ofed", Name: "24.10", LTS: true, Versions: []string{">= 24.10, < 25"}, Start: "2024-10", EndStated: "2027-10", Source: []string{"https://docs.example/lts"},
				Rows: []matrix.Row{{Evidence: matrix.ThirdParty, ID: "rocky", VersionID: "9", Source: "https://other.example/matrix"}},
			},
			{Stack: "doca-ofed", Name: "2.10", Versions: []string{">= 2.10, < 2.11"}, Source: []string{"https://docs.example/doca"}},
			{Stack: "doca-ofed", Name: "3.0", Versions: []string{">= 3.0, < 3.1"}, Source: []string{"https://docs.example/doca"}},
			{Stack: "doca-ofed", Name: "3.2", LTS: true, Versions: []string{">= 3.2, < 3.3"}, Start: "2025-10", EndComputed: "2028-10", Source: []string{"https://docs.example/doca"}},
		},
		Releases: []matrix.Release{
			{
				Stack: "mlnx-ofed", Version: "24.10-1.1.4.0", Branch: "24.10", Date: "2024-11-05", Cards: cards, Source: []string{"https://docs.example/24.10"}, CompleteFor: []string{"sles"},
				Rows: []matrix.Row{
					documented("rhel", "9.4", "x86_64", "5.14.0-427.13.1.el9_4", "primary"),
					documented("rhel", "9.2", "x86_64", "5.14.0-284.11.1.el9_2", "primary", "rocky"),
					documented("ubuntu", "22.04", "x86_64", "5.15.0-25-generic", "community"),
					documented("ubuntu", "20.04", "", "", ""),
					documented("debian", "12.5", "x86_64", "6.1.0-18-amd64", "primary"),
					documented("ol", "8.6", "x86_64", "5.4.17-2136.307.3.1.el8uek", "primary"),
					documented("sles", "15.5", "x86_64", "5.14.21-150500.53", "primary"),
					{Evidence: matrix.BundleName, ID: "ubuntu", VersionID: "24.04", Arch: "x86_64", Label: "ubuntu2404", Source: "a file name"},
					{Evidence: matrix.Tested, ID: "rhel", VersionID: "9.3", Arch: "x86_64", Source: "a test report"},
					{
						Evidence: matrix.DriverContainer, ID: "ubuntu", VersionID: "24.04", Arch: "x86_64", Source: "a manifest",
						Kernels: []string{"6.8.0-31-generic", "6.8.0-1019-aws"},
					},
				},
			},
			{Stack: "mlnx-ofed", Version: "23.10-2.1.3.1.201", Branch: "23.10", Cards: cards, Complete: true, Source: []string{"https://docs.example/23.10"}, Rows: []matrix.Row{
				documented("rhel", "8.10", "x86_64", "4.18.0-553.el8_10", "primary"), documented("debian", "12.1", "x86_64", "", ""), documented("ubuntu", "22.04", "x86_64", "", ""),
				documented("kylin", "10sp3", "x86_64", "", ""), documented("ol", "7.9", "x86_64", "5.4.17-2011.6.2.el7uek", ""), documented("openeuler", "22.03", "x86_64", "5.10.0-60.18.0.50.oe2203", ""),
			}},
			{Stack: "mlnx-ofed", Version: "5.4-3.7.5.0", Branch: "5.4", Cards: cards, Source: []string{"https://docs.example/5.4"}},
			{Stack: "mlnx-ofed", Version: "5.4-3.1.0.0", Branch: "5.4", Cards: cards, Source: []string{"https://docs.example/5.4"}},
			{Stack: "mlnx-ofed", Version: "5.0-1.0.0.0", Branch: "5.0", Cards: append([]string{"connectx-3", "connectx-3-pro"}, cards...), Source: []string{"https://docs.example/5.0"}},
			{
				Stack: "mlnx-ofed", Version: "4.9-7.1.0.0", Branch: "4.9", Cards: append([]string{"connectx-3", "connectx-3-pro"}, cards...), Source: []string{"https://docs.example/4.9"},
				Rows: []matrix.Row{documented("rhel", "7.7", "x86_64", "3.10.0-1062.el7", "", "centos"), documented("ubuntu", "18.04", "x86_64", "4.15.0-20-generic", "")},
			},
			{Stack: "doca-ofed", Version: "3.2.1", Branch: "3.2", Driver: "25.10-1.6.6.0", Modules: "dkms", Source: []string{"https://docs.example/3.2"}, Firmware: map[string]string{"connectx-7": "28.47"}, FirmwareSure: "bundled"},
			{Stack: "doca-ofed", Version: "2.10.0", Branch: "2.10", Driver: "25.01-0.6.0.0", Modules: "prebuilt-or-dkms", Cards: []string{"connectx-6-dx", "connectx-7"}, Source: []string{"https://docs.example/2.10"}, Rows: []matrix.Row{
				documented("rhel", "9.4", "x86_64", "5.14.0-427.13.1.el9_4", "primary"),
				{Evidence: matrix.DriverContainer, ID: "ubuntu", VersionID: "24.04", Source: "a manifest"},
			}},
			{Stack: "doca-ofed", Version: "3.0.0", Branch: "3.0", Date: "2025-05", Driver: "25.04-0.6.1.0", Modules: "prebuilt-or-dkms", Cards: []string{"connectx-7"}, Source: []string{"https://docs.example/3.0"}, Rows: []matrix.Row{
				{Evidence: matrix.DriverContainer, ID: "ubuntu", VersionID: "24.04", Source: "a manifest", Kernels: []string{"6.11.0-1003-nvidia"}},
			}},
			{Stack: "rdma-core", Version: "64.0", Branch: "64", PrivateABI: 64, Providers: []string{"mlx5"}, Source: []string{"https://core.example"}},
			{Stack: "rdma-core", Version: "44.0", Branch: "44", PrivateABI: 34, Providers: []string{"mlx4", "mlx5"}, Source: []string{"https://core.example"}},
			{Stack: "ofed", Version: "4.17-1", Branch: "4.17", Source: []string{"https://ofa.example"}, Rows: []matrix.Row{documented("rhel", "7.6", "", "", "")}},
		},
		Cards: []matrix.CardRule{
			{Stack: "mlnx-ofed", Card: "connectx-3", Allowed: []string{"< 5.1"}, Recommended: "4.9", Text: "ends with 4.9 LTS", Source: []string{"https://docs.example/cx3"}},
			{Stack: "mlnx-ofed", Card: "connectx-3-pro", Allowed: []string{"< 5.1"}, Recommended: "4.9", Text: "ends with 4.9 LTS", Source: []string{"https://docs.example/cx3"}},
			{Stack: "mlnx-ofed", Card: "bluefield-3", Text: "needs DOCA-Host", Source: []string{"https://docs.example/bf3"}},
			{Stack: "doca-ofed", Card: "connectx-4", Allowed: []string{">= 2.8, < 2.10"}, Text: "ends with 2.9 LTS", Source: []string{"https://docs.example/cx4"}},
			{Stack: "doca-ofed", Card: "connectx-8", Allowed: []string{">= 3.0"}, Arch: []string{"x86_64"}, Text: "x86_64 only", Source: []string{"https://docs.example/cx8"}},
		},
		CardDrivers: []matrix.CardDriver{
			{Card: "connectx-8", Driver: "mlx5_core", Provider: "mlx5", Devices: []string{"1023"}, FirstKernel: "5.17", Source: []string{"https://ids.example"}},
			{Card: "connectx-2", Driver: "mlx4_core", Provider: "mlx4", Devices: []string{"6750", "6746"}, Source: []string{"https://ids.example"}},
		},
		Builds: []matrix.Build{
			{ID: "49", Stack: "mlnx-ofed", Versions: []string{">= 4.9, < 5.0"}, Kernels: []string{">= 5.6"}, Text: "4.9 does not build from 5.6 on", Workaround: "an older kernel", Confidence: "high", Source: []string{"https://build.example/49"}},
			{ID: "49-rebuild", Stack: "mlnx-ofed", Versions: []string{"= 4.9-7.1.0.0"}, Kernels: []string{">= 5.15, < 5.16"}, Works: true, Text: "a community rebuild exists", Confidence: "low", Source: []string{"https://build.example/rebuild"}},
			{ID: "54-all", Stack: "mlnx-ofed", Versions: []string{">= 5.4, < 5.5"}, Kernels: []string{">= 5.14, < 5.15"}, Text: "does not build on 5.14", Source: []string{"https://build.example/54"}},
			{ID: "54-new", Stack: "mlnx-ofed", Versions: []string{"= 5.4-3.7.5.0"}, Kernels: []string{">= 5.14, < 5.15"}, Works: true, Text: "builds on 5.14", Confidence: "high", Source: []string{"https://build.example/54"}},
			{ID: "nvme", Stack: "doca-ofed", Versions: []string{">= 2.10, < 3.0"}, Kernels: []string{">= 6.11"}, Optional: true, Text: "mlnx-nvme, an optional package, fails", Workaround: "build without it", Source: []string{"https://build.example/nvme"}},
			{ID: "98", Stack: "doca-ofed", Versions: []string{">= 3.2, <= 3.2.2"}, Distros: []string{"rhel 9.8"}, Kernels: []string{">= 5.14.0-687, < 5.14.0-688"}, Except: []string{"5.14.0-687.12.1.el9_8.x86_64"}, Text: "dpll", Source: []string{"https://build.example/98"}},
		},
		Kernels: []matrix.DistroKernel{
			{ID: "rhel", VersionID: "9.3", Kind: "ga", Kernel: "5.14.0-362.8.1.el9_3", Source: "ga list"},
			{ID: "rhel", VersionID: "8.5", Kind: "ga", Kernel: "4.18.0-348.el8", Source: "ga list"},
			{ID: "ubuntu", VersionID: "20.04", Kind: "ga", Kernel: "5.4.0-26-generic", Source: "ga list"},
			{ID: "ubuntu", VersionID: "22.04", Kind: "ga", Kernel: "5.15.0-25-generic", Source: "ga list"},
			{ID: "ubuntu", VersionID: "22.04", Kind: "hwe", Kernel: "6.8", Source: "hwe list"},
			{ID: "rhel", VersionID: "9.8", Kind: "ga", Kernel: "5.14.0-687.el9", Source: "ga list"},
			{ID: "rhel", VersionID: "7.9", Kind: "ga", Kernel: "3.10.0-1160.el7", Source: "ga list"},
		},
		KMP: []matrix.KMP{
			{Label: "rhel9.x", NotChecked: true, Source: []string{"common.pl"}},
			{Label: "ol7.9", Disabled: true, Source: []string{"common.pl"}},
			{Label: "rhel8.x", Kernel: `^4\.18\.0-.*el8`, Source: []string{"common.pl"}},
		},
		Inbox: []matrix.InboxRelease{{ID: "debian", VersionID: "12", Kernel: "6.1.176-1", Sure: "measured", Source: []string{"https://archive.example"}}},
		Layouts: []matrix.Layout{
			{Stack: "mlnx-ofed", Repository: "https://vendor.example/{version}/{label}", Label: "id+minor", Bundle: "MLNX_OFED_LINUX-{version}.tgz", Needs: []string{"gcc", "make", "createrepo"}, Replaces: []string{"rdma-core", "librdmacm1"}},
			{Stack: "doca-ofed", Family: "rhel", Versions: []string{">= 3.2"}, Repository: "https://vendor.example/{version}/{label}", Label: "id+major", Drops: []string{"efa", "mlx4"}},
			{Stack: "ofed", Bundle: "OFED-{version}.tgz", Needs: []string{"openssl-devel"}, Source: []string{"announcement of OFED"}},
			{Stack: "doca-ofed", Repository: "https://vendor.example/{version}/{label}", Label: "id+minor", Conflicts: []string{"linux-modules-doca-ofed-*"}},
		},
		Options: []matrix.KernelOption{
			{Option: "MLX4_CORE", Module: "mlx4_core", Need: "vendor", Text: "m"},
			{Option: "MLX5_CORE", Module: "mlx5_core", Need: "vendor", Text: "m"},
			{Option: "INFINIBAND", Module: "ib_core", Need: "vendor", Text: "m"},
			{Option: "RDMA_RXE", Module: "rdma_rxe", Need: "soft", Text: "soft"},
		},
		Dropped: []matrix.DroppedDevice{{
			Driver: "mlx4_core", Devices: []string{"6750"}, Distros: []string{"rhel 8"}, Text: "the EL 8 kernel dropped ConnectX-2", Remedy: "stay on EL 7",
			Source: []string{"https://dropped.example"},
		}},
		Foreign: []matrix.ForeignVendor{{Vendor: "1d0f", Name: "Amazon EFA", Driver: "efa", Provider: "efa", Needs: "rdma-core"}},
		Holdings: []matrix.Holding{
			{Stack: "mlnx-ofed", Version: "24.10-1.1.4.0", ID: "rhel", VersionID: "9.5", Arch: "x86_64", Kernels: []string{"5.14.0-503.11.1.el9_5.x86_64"}, Origin: "/srv/mirror/rhel9.5"},
			{Stack: "doca-ofed", Version: "3.2.1", ID: "rhel", VersionID: "9", Arch: "x86_64", DKMS: true, Origin: "https://mirror.example/doca"},
		},
	}
}

func smallIndex(t testing.TB) *matrix.Index {
	t.Helper()
	x, err := matrix.NewIndex(smallMatrix())
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// vendorInput is a sound RHEL 9.4 host with a ConnectX-6 Dx after the changes.
func vendorInput(t testing.TB, x *matrix.Index, changes ...change) Input {
	t.Helper()
	p, err := profiles.Load("lts")
	if err != nil {
		t.Fatal(err)
	}
	f := facts.Facts{
		Origin: "live",
		Distro: facts.Distro{ID: facts.Is("rhel", "/etc/os-release"), VersionID: facts.Is("9.4", "/etc/os-release"), Family: facts.Is("rhel", "/etc/os-release")},
		Kernel: facts.Kernel{
			Release: facts.Is("5.14.0-427.13.1.el9_4.x86_64", "uname -r"), Arch: facts.Is("x86_64", "uname -m"), Running: true,
			Headers: facts.Is("/usr/src/kernels/x", "/lib/modules/x/build"), Config: facts.Is(map[string]string{"MLX5_CORE": "m", "MODULES": "y"}, "/boot/config"),
		},
		SecureBoot: facts.SecureBoot{Enabled: facts.Is(false, "mokutil --sb-state")},
		PCI:        facts.Is([]facts.PCIDevice{mellanoxCard("0000:3b:00.0", "101d", "connectx-6-dx")}, "lspci -nn"),
		Packages:   facts.Packages{Installed: facts.Is([]facts.Package{}, "rpm -qa")},
	}
	asked := Asked{Matrix: x, Day: "2026-11-30", Named: true}
	for _, c := range changes {
		c(&f, &asked)
	}
	return NewInput(f, p, asked)
}

func mellanoxCard(address, device, generation string) facts.PCIDevice {
	d := facts.PCIDevice{Address: address, Vendor: "15b3", Device: device, RDMACapable: true, WantsDriver: "mlx5_core", WantsRDMADriver: "mlx5_ib"}
	if generation != "" {
		d.Generation = facts.Is(generation, "pci.ids")
	}
	return d
}

func candidate(t testing.TB, in Input, stack, version string) Candidate {
	t.Helper()
	for _, c := range Candidates(in, stack) {
		if c.Release.Version == version {
			return c
		}
	}
	t.Fatalf("there is no candidate %s %s", stack, version)
	return Candidate{}
}

// small gives the small matrix to a host of the rules for inbox.
func small(_ *facts.Facts, a *Asked) {
	x, err := matrix.NewIndex(smallMatrix())
	if err != nil {
		panic(err)
	}
	a.Matrix = x
}

func boundCX2() facts.PCIDevice {
	d := cx2
	d.Driver = facts.Is("mlx4_core", "sysfs")
	return d
}

// builtIn gives the built-in matrix to a host of the rules for inbox.
func builtIn(_ *facts.Facts, a *Asked) {
	m, err := matrix.Embedded()
	if err != nil {
		panic(err)
	}
	if a.Matrix, err = matrix.NewIndex(m); err != nil {
		panic(err)
	}
}
