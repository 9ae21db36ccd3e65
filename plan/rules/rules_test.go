package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/profiles"
)

type change func(*facts.Facts, *Asked)

// judge applies one rule to a sound Debian 12 host after the changes.
func judge(t *testing.T, rule Rule, profile string, changes ...change) []Finding {
	t.Helper()
	p, err := profiles.Load(profile)
	if err != nil {
		t.Fatal(err)
	}
	f := facts.Facts{
		Origin: "live",
		Distro: facts.Distro{
			ID: facts.Is("debian", "os-release"), VersionID: facts.Is("12", "os-release"), Family: facts.Is("debian", "os-release"),
		},
		Kernel: facts.Kernel{
			Release: facts.Is("6.1.0-50-amd64", "uname -r"), Running: true, Flavour: facts.Is("amd64", "uname -r"),
			Installed: facts.Is([]string{"6.1.0-50-amd64"}, "/lib/modules"),
			Config:    facts.Is(map[string]string{"RDMA_RXE": "m", "INFINIBAND_IPOIB": "m", "INFINIBAND_ISER": "m", "SUNRPC_XPRT_RDMA": "m"}, "/boot/config"),
		},
		Platform: facts.Platform{Container: facts.Is(false, "virt"), Systemd: facts.Is(true, "/run/systemd/system")},
		PCI: facts.Is([]facts.PCIDevice{{
			Address: "0000:3b:00.0", Vendor: "15b3", Device: "1017", Generation: facts.Is("connectx-5", "ids"), RDMACapable: true,
			WantsRDMADriver: "mlx5_ib",
		}}, "/sys/bus/pci/devices"),
		RDMA:    facts.None[[]facts.RDMADevice]("/sys/class/infiniband"),
		Netdevs: facts.Is([]facts.Netdev{ethernet("ens3", "up")}, "/sys/class/net"),
		Packages: facts.Packages{
			Manager: facts.Is("apt", "apt"), Installed: facts.Is([]facts.Package{}, "dpkg"),
			Broken: facts.Is([]facts.Package{}, "dpkg"), Held: facts.Is([]string{}, "dpkg"),
		},
		Access: facts.Access{DefaultRouteNetdev: facts.Is("ens3", "/proc/net/route")},
	}
	asked := Asked{Named: len(p.Prefer) == 1}
	for _, c := range changes {
		c(&f, &asked)
	}
	return rule.Judge(NewInput(f, p, asked))
}

func ethernet(name, state string) facts.Netdev {
	return facts.Netdev{Name: name, Type: facts.Is(1, "sysfs"), OperState: facts.Is(state, "sysfs"), Virtual: facts.Is(false, "sysfs")}
}

// on changes facts only.
func on(c func(*facts.Facts)) change { return func(f *facts.Facts, _ *Asked) { c(f) } }

func pci(list ...facts.PCIDevice) change {
	return on(func(f *facts.Facts) { f.PCI = facts.Is(list, "/sys/bus/pci/devices") })
}

var (
	virtio = facts.PCIDevice{Address: "0000:00:03.0", Vendor: "1af4", Device: "1000"}
	e810   = facts.PCIDevice{Address: "0000:5e:00.0", Vendor: "8086", Device: "1592", RDMACapable: true, WantsRDMADriver: "irdma", WantsProvider: "irdma"}
	// A Mellanox function without RDMA, such as a BlueField's management function.
	manager = facts.PCIDevice{Address: "0000:3b:00.2", Vendor: "15b3", Device: "c2d2"}
	anyVF   = facts.PCIDevice{Address: "0000:3b:00.1", Vendor: "15b3", Device: "101e", RDMACapable: true, Candidates: []string{"connectx-6-dx", "connectx-7"}}
)

func rdma(list ...facts.RDMADevice) change {
	return on(func(f *facts.Facts) { f.RDMA = facts.Is(list, "/sys/class/infiniband") })
}

func soft(name, parent string) facts.RDMADevice {
	return facts.RDMADevice{Name: name, Driver: facts.Is("rdma_rxe", "sysfs"), Parent: facts.Is(parent, "sysfs")}
}

func ofedInfo(text string) change {
	return on(func(f *facts.Facts) { f.Packages.OFEDInfo = facts.Is(text, "ofed_info -s") })
}

// user adds an installed package.
func user(name, version, origin string) change {
	return on(func(f *facts.Facts) {
		f.Packages.Installed = facts.Is(append(slices.Clone(f.Packages.Installed.Value), facts.Package{Name: name, Version: version, Origin: origin}), "rpm -qa")
	})
}

// unmet adds a package that an installer could not install.
func unmet(name, version, needs, needsVersion string) change {
	return on(func(f *facts.Facts) {
		f.Packages.Unmet = append(slices.Clone(f.Packages.Unmet), facts.UnmetNeed{Package: name, Version: version, Needs: needs, NeedsVersion: needsVersion, Source: "efa_installer.sh"})
	})
}

func dkms(name, origin string) change {
	return on(func(f *facts.Facts) {
		f.Modules.DKMS = facts.Is([]facts.DKMSPackage{{Name: name, Version: "23.07.OFED.23.07.0.5.1.1", Origin: origin}}, "dkms status")
	})
}

func disk(origin, version string) change {
	return on(func(f *facts.Facts) {
		f.Modules.OnDisk = []facts.DiskModule{{
			Name: "mlx5_core", Path: facts.Is("/lib/modules/x/mlx5_core.ko", "modules.dep"), Origin: facts.Is(origin, "modules.dep"), Version: facts.Is(version, "modinfo mlx5_core"),
		}}
	})
}

func memory(version string) change {
	return on(func(f *facts.Facts) {
		f.Modules.Loaded = facts.Is([]facts.LoadedModule{{Name: "mlx5_core", Version: facts.Is(version, "/sys/module/mlx5_core/version")}}, "/proc/modules")
	})
}

func routeless(f *facts.Facts) { f.Access.DefaultRouteNetdev = facts.None[string]("/proc/net/route") }

// hosts are, for each rule, hosts that it finds something on and their twins that it does not.
func hosts() []struct {
	rule    string
	profile string
	changes []change
	want    string // the code, with "!" for a refusal; empty: nothing
	says    string
} {
	type row = struct {
		rule    string
		profile string
		changes []change
		want    string
		says    string
	}
	with := func(c ...change) []change { return c }
	return []row{
		{"not-linux", "inbox", with(on(func(f *facts.Facts) { f.Distro.ID = facts.Is("freebsd", "os-release") })), "not-linux!", "freebsd"},
		{"not-linux", "inbox", with(on(func(f *facts.Facts) { f.Kernel.Release = facts.Is("11.4-RELEASE", "uname -r") })), "not-linux!", "11.4-RELEASE"},
		{"not-linux", "inbox", with(on(func(f *facts.Facts) { f.Kernel.Release = facts.Is("13.2-RELEASE-p4", "uname -r") })), "not-linux!", ""},
		{"not-linux", "inbox", with(on(func(f *facts.Facts) { f.Kernel.Release = facts.Is("6.1.0-custom-RELEASE", "uname -r") })), "", ""},
		{"not-linux", "inbox", nil, "", ""},

		{"mixed-user-space", "inbox", with(user("libibverbs1", "44.0-2", "inbox"), user("rdma-core", "44.0-2", "inbox"), user("ibverbs-utils:amd64", "2410mlnx54-1.2410068", "mlnx-ofed")), "user-space-mixed", "half from the distribution (libibverbs1 44.0-2, rdma-core 44.0-2) and half from mlnx-ofed (ibverbs-utils:amd64 2410mlnx54-1.2410068)"},
		{"mixed-user-space", "lts", with(user("libibverbs", "61.0-2.el9", "inbox"), user("librdmacm", "2510.0.11-1", "doca-ofed")), "user-space-mixed", "half from doca-ofed (librdmacm 2510.0.11-1)"},
		{
			"mixed-user-space", "inbox", with(user("libibverbs", "44.0-2.el8.1", "inbox"), user("librdmacm", "44.0-2.el8.1", "inbox"),
				unmet("libibverbs-utils", "43.0-1.el8", "libibverbs", "43.0-1.el8"), unmet("rdma-core-devel", "43.0-1.el8", "librdmacm", "43.0-1.el8")), "user-space-mixed",
			"half from the distribution (libibverbs 44.0-2.el8.1, librdmacm 44.0-2.el8.1) and half from a bundle or other repository, as efa_installer.sh tells (libibverbs-utils 43.0-1.el8, rdma-core-devel 43.0-1.el8, " +
				"which need libibverbs 43.0-1.el8, librdmacm 43.0-1.el8)",
		},
		{"mixed-user-space", "inbox", with(user("libibverbs1", "44.0-2", "inbox"), user("rdma-core", "44.0-2", "inbox"), user("ibverbs-providers", "44.0-2", "inbox")), "", ""}, // all of the distribution
		{"mixed-user-space", "inbox", with(user("libibverbs1", "2410mlnx54-1.2410068", "mlnx-ofed"), user("ibverbs-utils", "2410mlnx54-1.2410068", "mlnx-ofed")), "", ""},       // all of the vendor
		{"mixed-user-space", "inbox", with(user("libibverbs1", "44.0-2", "inbox"), user("ibverbs-utils", "44.0", "unknown")), "", ""},                                           // nothing tells the origin
		{"mixed-user-space", "inbox", with(user("libibverbs1", "44.0-2", "inbox"), user("mft", "4.30.0-139", "mlnx-ofed")), "", ""},                                             // beside any stack
		{"mixed-user-space", "inbox", with(user("libibverbs:i386", "44.0-2", "inbox"), user("libibverbs", "2410mlnx54-1.2410068.rhel8u10", "mlnx-ofed")), "", ""},               // for 32-bit programs
		{"mixed-user-space", "inbox", with(user("libibverbs", "43.0-1.el8", "inbox"), unmet("libibverbs-utils", "43.0-1.el8", "libibverbs", "43.0-1.el8")), "", ""},             // met by now
		{"mixed-user-space", "inbox", with(user("libibverbs", "43.0", "unknown"), unmet("libibverbs-utils", "43.0-1.el8", "libibverbs", "43.0-1.el8")), "", ""},                 // nothing tells whose it is
		{"mixed-user-space", "inbox", with(unmet("libibverbs-utils", "43.0-1.el8", "libibverbs", "43.0-1.el8")), "", ""},                                                        // nothing is installed
		{"mixed-user-space", "inbox", with(user("libibverbs", "44.0-2.el8.1", "inbox"), unmet("mpitests", "3.2-1", "libibverbs", "43.0-1.el8")), "", ""},                        // no part of rdma-core
		{"mixed-user-space", "inbox", with(on(func(f *facts.Facts) { f.Packages.Installed = facts.Field[[]facts.Package]{} }), unmet("libibverbs-utils", "43.0-1.el8", "libibverbs", "43.0-1.el8")), "", ""},

		{"kernel-name", "inbox", with(on(func(f *facts.Facts) { f.Kernel.Release = facts.Is("garbage", "uname -r") })), "kernel-unreadable!", "garbage"},
		{"kernel-name", "inbox", with(on(func(f *facts.Facts) { f.Kernel.Release = facts.Field[string]{} })), "", ""},
		{"kernel-name", "inbox", with(on(func(f *facts.Facts) { f.Kernel.Release = facts.Is("13.2-RELEASE-p4", "uname -r") })), "", ""}, // not-linux says it
		{"kernel-name", "inbox", with(on(func(f *facts.Facts) { f.Kernel.Release = facts.Is("6.9.1", "uname -r") })), "", ""},

		{"machine", "inbox", with(on(func(f *facts.Facts) { f.Kernel.Arch = facts.Is("x86-46", "uname -m") })), "arch-unknown!", "x86-46"},
		{"machine", "inbox", with(on(func(f *facts.Facts) { f.Kernel.Arch = facts.Is("amd64", "typed") })), "", ""},
		{"machine", "inbox", with(on(func(f *facts.Facts) { f.Kernel.Arch = facts.Is("s390x", "uname -m") })), "", ""},
		{"machine", "inbox", with(on(func(f *facts.Facts) { f.Kernel.Arch = facts.Is("armv7l", "uname -m") })), "", ""},

		{"card-age", "inbox", with(pci(virtio), builtIn, func(_ *facts.Facts, a *Asked) { a.Cards = []string{"connectx-10"} }), "card-newer-than-kernel", "since 6.16"},
		{"card-age", "inbox", with(pci(virtio), builtIn, func(_ *facts.Facts, a *Asked) { a.Cards = []string{"connectx-10"}; a.Kernel = "6.16.12+deb14-amd64" }), "", ""},
		{"card-age", "inbox", with(pci(virtio), builtIn, func(_ *facts.Facts, a *Asked) { a.Cards = []string{"connectx-5"} }), "", ""},
		{"card-age", "inbox", with(system("rhel", "9.4", "rhel", "5.14.0-427.13.1.el9_4.x86_64"), pci(mellanoxCard("0000:01:00.0", "1027", "connectx-10")), builtIn), "card-newer-than-kernel", "pci:v000015B3d00001027* or pci:v000015B3d00002101*"},
		{"card-age", "inbox", with(system("rhel", "9.4", "rhel", "5.14.0-427.13.1.el9_4.x86_64"), pci(mellanoxCard("0000:01:00.0", "101d", "connectx-6-dx")), builtIn), "", ""},
		{"card-age", "inbox", with(system("rhel", "9.4", "rhel", "5.14.0-427.13.1.el9_4.x86_64"), pci(boundTo(mellanoxCard("0000:01:00.0", "1027", "connectx-10"), "mlx5_core")), builtIn), "", ""},

		{"unmaintained-devices", "inbox", with(system("rhel", "10.1", "rhel", "6.12.0-124.8.1.el10_1.x86_64"), pci(mellanoxCard("0000:01:00.0", "a2dc", "bluefield-3"))), "device-unmaintained", "BlueField-3 [15b3:a2dc] at 0000:01:00.0"},
		{"unmaintained-devices", "inbox", with(system("rhel", "9.7", "rhel", "5.14.0-611.5.1.el9_7.x86_64"), pci(mellanoxCard("0000:01:00.0", "a2dc", "bluefield-3"))), "", ""},
		{"unmaintained-devices", "inbox", with(system("rhel", "10.1", "rhel", "6.12.0-124.8.1.el10_1.x86_64"), pci(cx6)), "", ""},
		{"unmaintained-devices", "inbox", with(system("rhel", "10.1", "rhel", "6.18.1-1.el10.elrepo.x86_64"), pci(mellanoxCard("0000:01:00.0", "a2dc", "bluefield-3"))), "", ""},

		{"dropped-devices", "inbox", with(system("centos", "8", "rhel", "4.18.0-305.el8.x86_64"), pci(cx2), small), "device-dropped!", "stay on EL 7"},
		{"dropped-devices", "inbox", with(system("rhel", "8.4", "rhel", "4.18.0-305.el8.x86_64"), pci(cx2), small), "device-dropped!", "15b3:6750"},
		{"dropped-devices", "inbox", with(system("rhel", "7.9", "rhel", "3.10.0-1160.el7.x86_64"), pci(cx2), small), "", ""},
		{"dropped-devices", "inbox", with(system("rhel", "8.4", "rhel", "4.18.0-305.el8.x86_64"), pci(cx3), small), "", ""},
		{"dropped-devices", "inbox", with(system("rhel", "8.4", "rhel", "4.18.0-305.el8.x86_64"), pci(boundCX2()), small), "", ""}, // a third party's module serves it
		{"dropped-devices", "inbox", with(system("rhel", "8.4", "rhel", "4.18.0-305.el8.x86_64"), pci(virtio), builtIn, stating("connectx-2")), "device-dropped", "15b3:6750"},
		{"dropped-devices", "inbox", with(system("rhel", "7.9", "rhel", "3.10.0-1160.el7.x86_64"), pci(virtio), builtIn, stating("connectx-2")), "", ""},
		{"dropped-devices", "inbox", with(system("rhel", "8.4", "rhel", "4.18.0-305.el8.x86_64"), pci(virtio), builtIn, stating("connectx-3")), "", ""},
		{"dropped-devices", "inbox", with(system("rhel", "10.1", "rhel", "6.12.0-124.el10.x86_64"), pci(virtio), builtIn, stating("bluefield-4")), "device-dropped!", "pci_hw_disabled"},
		{"dropped-devices", "inbox", with(system("rhel", "9.4", "rhel", "5.14.0-427.13.1.el9_4.x86_64"), pci(virtio), builtIn, stating("bluefield-4")), "", ""},
		{"dropped-devices", "inbox", with(system("rhel", "8.4", "rhel", "4.18.0-305.el8.x86_64"), pci(cx2)), "", ""}, // no matrix

		{"container", "inbox", with(on(func(f *facts.Facts) {
			f.Platform.Container = facts.Is(true, "virt")
			f.Platform.ContainerRuntime = facts.Is("podman", "virt")
		})), "container!", "podman"},
		{"container", "inbox", with(on(func(f *facts.Facts) { f.Platform.Container = facts.Field[bool]{} })), "", ""},
		{"container", "inbox", nil, "", ""},

		{"distribution", "inbox", with(on(func(f *facts.Facts) { f.Distro = facts.Distro{} })), "distro-unknown!", ""},
		{"distribution", "inbox", with(on(func(f *facts.Facts) { f.Distro.Family = facts.Is("rhel", "os-release") })), "unsupported-distro!", "rhel"},
		{"distribution", "inbox", with(on(func(f *facts.Facts) { f.Packages.Manager = facts.None[string]("/usr/bin") })), "unsupported-distro!", "missing"},
		{"distribution", "inbox", with(on(func(f *facts.Facts) { f.Packages.Manager = facts.Is("dnf", "/usr/bin") })), "unsupported-distro!", "dnf"},
		{"distribution", "inbox", with(on(func(f *facts.Facts) { f.Packages.Manager = facts.Field[string]{} })), "", ""},
		{"distribution", "inbox", nil, "", ""},

		{"release", "inbox", with(on(func(f *facts.Facts) { f.Distro.VersionID = facts.Is("10", "os-release") })), "unknown-combination", "debian 10"},
		{"release", "lts", with(on(func(f *facts.Facts) { f.Distro.VersionID = facts.Is("10", "os-release") })), "unknown-combination!", "debian 10"},
		{"release", "lts", with(on(func(f *facts.Facts) {
			f.Distro.VersionID = facts.None[string]("os-release")
			f.Distro.Codename = facts.Is("forky", "os-release")
		})), "", ""},
		{"release", "lts", nil, "", ""},

		{"cards", "inbox", with(func(_ *facts.Facts, a *Asked) { a.Cards = []string{"connectx-3"} }), "card-contradicted!", "connectx-5 at 0000:3b:00.0"},
		{"cards", "inbox", with(func(_ *facts.Facts, a *Asked) { a.Cards = []string{"connectx-5"} }), "", ""},
		{"cards", "inbox", with(pci(virtio), func(_ *facts.Facts, a *Asked) { a.Cards = []string{"connectx-5"} }), "card-stated", "connectx-5"},
		{"cards", "inbox", with(pci(manager), func(_ *facts.Facts, a *Asked) { a.Cards = []string{"connectx-5"} }), "card-stated", ""},
		{"cards", "inbox", with(pci(anyVF), func(_ *facts.Facts, a *Asked) { a.Cards = []string{"connectx-7"} }), "", ""},
		{"cards", "inbox", with(pci(anyVF), func(_ *facts.Facts, a *Asked) { a.Cards = []string{"connectx-5"} }), "card-contradicted!", "connectx-6-dx or connectx-7"},
		{"cards", "inbox", nil, "", ""},

		{"hardware", "lts", with(pci(virtio, virtio)), "no-rdma-hardware!", "2 network functions"},
		{"hardware", "lts", with(pci(manager)), "no-rdma-hardware!", "1 network function"},
		{"hardware", "lts", with(on(func(f *facts.Facts) { f.PCI = facts.None[[]facts.PCIDevice]("/sys/bus/pci") })), "no-rdma-hardware!", ""},
		{"hardware", "lts", with(on(func(f *facts.Facts) { f.PCI = facts.Field[[]facts.PCIDevice]{} })), "hardware-unknown!", ""},
		{"hardware", "lts", with(on(func(f *facts.Facts) { f.PCI = facts.Field[[]facts.PCIDevice]{} }), rdma(facts.RDMADevice{Name: "mlx5_0"})), "", ""},
		{"hardware", "lts", with(pci(virtio), rdma(soft("rxe0", "ens3"))), "no-rdma-hardware!", ""},
		{"hardware", "lts", with(on(func(f *facts.Facts) { // a container sees no card, and needs none
			f.PCI = facts.Field[[]facts.PCIDevice]{}
			f.Platform.Container = facts.Is(true, "virt")
		})), "", ""},
		{"hardware", "lts", with(pci(e810)), "foreign-hardware!", "irdma"},
		{"hardware", "lts", with(pci(e810)), "foreign-hardware!", "provider irdma of ibverbs-providers"},
		{"hardware", "lts", with(pci(efa), system("rhel", "9.4", "rhel", "5.14.0-427.13.1.el9_4.x86_64")), "foreign-hardware!", "provider efa of libibverbs "},
		{"hardware", "lts", with(pci(efa), system("sles", "15.6", "suse", "6.4.0-150600.21-default")), "foreign-hardware!", "provider efa of libefa1 "},
		{"hardware", "lts", with(pci(e810, anyVF)), "", ""},
		{"hardware", "lts", with(pci(virtio), func(_ *facts.Facts, a *Asked) { a.Cards = []string{"connectx-5"} }), "", ""},
		{"hardware", "inbox", with(pci(virtio)), "", ""},
		{"hardware", "lts", nil, "", ""},

		{"foreign-stack", "inbox", with(on(func(f *facts.Facts) {
			f.Packages.Installed.Value = []facts.Package{{Name: "ofed-scripts", Status: "install ok installed", Origin: "mlnx-ofed"}}
		})), "", ""}, // a plan that names inbox takes it away
		{"foreign-stack", "soft", with(on(func(f *facts.Facts) {
			f.Packages.Installed.Value = []facts.Package{{Name: "ofed-scripts", Status: "install ok installed", Origin: "mlnx-ofed"}}
		})), "foreign-stack!", "ofed-scripts"},
		{"foreign-stack", "inbox", with(on(func(f *facts.Facts) {
			f.Packages.Installed.Value = []facts.Package{{Name: "ofed-scripts", Status: "install ok installed", Origin: "mlnx-ofed"}}
			f.Packages.Excerpt = true
		})), "foreign-stack!", "ofed-scripts"},
		{"foreign-stack", "inbox", with(on(func(f *facts.Facts) {
			f.Packages.Installed.Value = []facts.Package{{Name: "ofed-scripts", Status: "deinstall ok config-files", Origin: "mlnx-ofed"}}
		})), "", ""},
		{"foreign-stack", "inbox", with(on(func(f *facts.Facts) {
			f.Packages.Installed.Value = []facts.Package{{Name: "rdma-core", Status: "install ok installed", Origin: "inbox"}}
		})), "", ""},
		{"foreign-stack", "inbox", with(ofedInfo("MLNX_OFED_LINUX-24.04-0.6.6.0")), "foreign-stack!", "mlnx-ofed is on this host and inbox would be installed over it: ofed_info says MLNX_OFED_LINUX-24.04-0.6.6.0"},
		{"foreign-stack", "inbox", with(ofedInfo("OFED-internal-24.10-1.1.4")), "foreign-stack!", "doca-ofed is on"},
		{"foreign-stack", "inbox", with(ofedInfo("OFED-4.17-1")), "foreign-stack!", "ofed is on this host"},
		{"foreign-stack", "inbox", with(ofedInfo("a text of something else")), "", ""},
		{"foreign-stack", "inbox", with(ofedInfo("MLNX_OFED_LINUX-24.04-0.6.6.0"), dkms("mlnx-ofed-kernel", "mlnx-ofed")), "foreign-stack!", "; DKMS builds its modules: mlnx-ofed-kernel 23.07"},
		{"foreign-stack", "inbox", with(dkms("mlnx-ofed-kernel", "mlnx-ofed")), "", ""}, // what DKMS keeps can be taken away
		{"foreign-stack", "soft", with(dkms("mlnx-ofed-kernel", "mlnx-ofed")), "foreign-stack!", "DKMS builds its modules: mlnx-ofed-kernel 23.07"},
		{"foreign-stack", "inbox", with(dkms("kernel-mft-dkms", "mlnx-ofed")), "", ""},
		{"foreign-stack", "inbox", with(dkms("srp", "unknown")), "", ""},
		{"foreign-stack", "inbox", with(disk("dkms", "23.07-0.5.1")), "foreign-stack!", "mlnx-ofed is on this host and inbox would be installed over it: its kernel modules are there: mlx5_core 23.07-0.5.1 in dkms"},
		{"foreign-stack", "inbox", with(disk("updates", "4.9-7.1.0")), "foreign-stack!", "in updates"},
		{"foreign-stack", "inbox", with(disk("extra", "5.8-1.1.2")), "foreign-stack!", "in extra"},
		{"foreign-stack", "inbox", with(disk("inbox", "23.07-0.5.1")), "", ""},
		{"foreign-stack", "inbox", with(disk("updates", "5.0-0")), "", ""},
		{"foreign-stack", "inbox", with(disk("updates", "")), "", ""},
		{"foreign-stack", "inbox", with(disk("updates", "4.9-7.1.0"), func(_ *facts.Facts, a *Asked) { a.Kernel = "6.12.1-amd64" }), "", ""},
		{"foreign-stack", "inbox", with(memory("24.04-0.6.6")), "foreign-stack!", "mlx5_core 24.04-0.6.6 in memory"},
		{"foreign-stack", "inbox", with(memory("24.04-0.6.6"), disk("inbox", "")), "awaiting-boot", "mlx5_core 24.04-0.6.6 in memory"},
		{"foreign-stack", "inbox", with(memory("24.04-0.6.6"), disk("updates", "24.04-0.6.6")), "foreign-stack!", "in updates"},
		{"foreign-stack", "inbox", with(memory("5.0-0")), "", ""},

		{"broken-packages", "inbox", with(on(func(f *facts.Facts) {
			f.Packages.Broken.Value = []facts.Package{{Name: "vim", Status: "install ok half-configured"}}
		})), "broken-packages!", "vim (install ok half-configured)"},
		{"broken-packages", "inbox", nil, "", ""},
		{"broken-packages", "inbox", with(vendorBroken("install ok half-configured")), "", ""}, // it goes
		{"broken-packages", "soft", with(vendorBroken("install ok half-configured")), "broken-packages!", "ofed-scripts"},
		{"broken-packages", "inbox", with(vendorBroken("install reinstreq half-installed")), "broken-packages!", "ofed-scripts"},

		{"held-packages", "inbox", with(on(func(f *facts.Facts) { f.Packages.Held.Value = []string{"perftest"} })), "package-held!", "perftest"},
		{"held-packages", "inbox", with(on(func(f *facts.Facts) { f.Packages.Held.Value = []string{"vim"} })), "", ""},
		{"held-packages", "inbox", with(on(func(f *facts.Facts) {
			f.Packages.Held.Value = []string{"ofed-scripts"}
			f.Packages.Installed.Value = []facts.Package{{Name: "ofed-scripts", Status: "hold ok installed", Origin: "mlnx-ofed"}}
		})), "package-held!", "replaced or removed are on hold: ofed-scripts"},
		{"held-packages", "inbox", with(on(func(f *facts.Facts) {
			f.Packages.Held.Value = []string{"ofed-scripts"}
			f.Packages.Installed.Value = []facts.Package{{Name: "ofed-scripts", Status: "hold ok installed", Origin: "unknown"}}
		})), "", ""},
		{"held-packages", "inbox", with(holds(facts.Hold{Package: "perf*", Kind: "exclude", Source: "dnf.conf"})), "package-held!", "perftest"},
		{"held-packages", "inbox", with(holds(facts.Hold{Package: "perftest", Kind: "versionlock", Source: "versionlock.list"})), "", ""}, // of another version
		{"held-packages", "inbox", with(on(func(f *facts.Facts) {
			f.Packages.Held.Value = []string{"perftest"}
			f.Packages.Installed.Value = []facts.Package{{Name: "perftest", Status: "hold ok installed"}}
		})), "", ""},

		{"kernel-files", "inbox", with(on(func(f *facts.Facts) { f.Kernel.Installed.Value = []string{"6.1.0-51-amd64"} })), "kernel-files-gone!", "6.1.0-51-amd64"},
		{"kernel-files", "inbox", with(on(func(f *facts.Facts) { f.Kernel.Installed = facts.Field[[]string]{} })), "", ""},
		{"kernel-files", "soft", with(on(func(f *facts.Facts) {
			f.Kernel.Installed.Value = []string{"6.1.0-51-amd64"}
			f.Modules.Loaded = facts.Is([]facts.LoadedModule{{Name: "ib_uverbs"}, {Name: "rdma_ucm"}, {Name: "rdma_rxe"}}, "/proc/modules")
		})), "", ""},
		{"kernel-files", "inbox", nil, "", ""},

		{"kernel-age", "soft", with(on(func(f *facts.Facts) { f.Kernel.Release = facts.Is("4.15.0-213-generic", "uname -r") })), "kernel-too-old!", "4.15.0-213-generic"},
		{"kernel-age", "soft", with(on(func(f *facts.Facts) { f.Kernel.Release = facts.Is("5.1.0-1-amd64", "uname -r") })), "unknown-combination", ""},
		{"kernel-age", "soft", with(on(func(f *facts.Facts) { f.Kernel.Release = facts.Is("5.10.0-32-amd64", "uname -r") })), "unknown-combination", ""},
		{"kernel-age", "inbox", with(on(func(f *facts.Facts) { f.Kernel.Release = facts.Is("4.15.0-213-generic", "uname -r") })), "unknown-combination", "older than 6.1, with which debian 12 was made"},
		{"kernel-age", "inbox", with(on(func(f *facts.Facts) { f.Kernel.Release = facts.Is("2.6.32", "--kernel") })), "kernel-too-old!", "mlx5_ib (Linux 3.11)"},
		{"kernel-age", "inbox", with(func(_ *facts.Facts, a *Asked) { a.Kernel = "2.6.32" }), "kernel-too-old!", "kernel 2.6.32"},
		{"kernel-age", "inbox", with(on(func(f *facts.Facts) { // a driver brought to an old kernel
			f.Kernel.Release = facts.Is("2.6.32-754.el6.x86_64", "uname -r")
			f.Modules.OnDisk = []facts.DiskModule{{Name: "mlx5_ib", Path: facts.Is("/lib/modules/x/kernel/mlx5_ib.ko", "modules.dep")}}
		})), "unknown-combination", ""},
		{"kernel-age", "inbox", with(on(func(f *facts.Facts) {
			f.Kernel.Release = facts.Is("2.6.32", "uname -r")
			f.Platform.Container = facts.Is(true, "virt")
		})), "", ""},
		{"kernel-age", "inbox", with(on(func(f *facts.Facts) { f.Kernel.Release = facts.Is("6.12.1-amd64", "uname -r") })), "", ""},
		{"kernel-age", "inbox", with(on(func(f *facts.Facts) { f.Kernel.Release = facts.Field[string]{} })), "", ""},
		{"kernel-age", "inbox", nil, "", ""},

		{"provider-age", "inbox", with(system("ubuntu", "22.04", "debian", "5.15.0-101-generic"), pci(mellanoxCard("0000:01:00.0", "1023", "connectx-8")), builtIn), "card-newer-than-provider", "since 40.0"},
		{"provider-age", "inbox", with(system("ubuntu", "24.04", "debian", "6.8.0-31-generic"), pci(mellanoxCard("0000:01:00.0", "1023", "connectx-8")), builtIn), "", ""},
		{"provider-age", "inbox", with(system("ubuntu", "24.04", "debian", "6.8.0-31-generic"), pci(mellanoxCard("0000:01:00.0", "1025", "connectx-9")), builtIn), "card-newer-than-provider", "50.0"},
		{"provider-age", "inbox", with(system("ubuntu", "24.04", "debian", "6.8.0-31-generic"), pci(mellanoxCard("0000:01:00.0", "1025", "connectx-9")), user("libibverbs1:amd64", "56.1-1", "inbox"), builtIn), "", ""},
		{"provider-age", "inbox", with(system("ubuntu", "24.04", "debian", "6.8.0-31-generic"), pci(virtio), stating("connectx-9"), builtIn), "card-newer-than-provider", "ConnectX-9"},
		{"provider-age", "inbox", with(system("fedora", "99", "rhel", "6.8.0-31.fc99"), pci(mellanoxCard("0000:01:00.0", "1025", "connectx-9")), builtIn), "", ""},

		{"modules-disabled", "inbox", with(locked("1")), "modules-disabled", "until the next boot"},
		{"modules-disabled", "inbox", with(locked("1"), everyModuleLoaded), "", ""},
		{"modules-disabled", "inbox", with(locked("0")), "", ""},
		{"modules-disabled", "inbox", nil, "", ""},
		{"modules-disabled", "inbox", with(locked("1"), func(_ *facts.Facts, a *Asked) { a.Kernel = "6.1.0-60-amd64" }), "", ""}, // it is not booted yet
		{"modules-disabled", "inbox", with(locked("1"), on(func(f *facts.Facts) { f.Platform.Container = facts.Is(true, "virt") })), "", ""},

		{"missing-modules", "soft", with(on(func(f *facts.Facts) {
			f.Kernel.Config.Value["RDMA_RXE"] = "n"
			f.Kernel.Release = facts.Is("6.1.0-50-cloud-amd64", "uname -r")
		})), "module-missing!", "linux-image-amd64"},
		{"missing-modules", "soft", with(on(func(f *facts.Facts) {
			f.Modules.OnDisk = []facts.DiskModule{{Name: "rdma_rxe", Path: facts.None[string]("modules.dep")}}
			f.Distro.ID = facts.Is("ubuntu", "os-release")
		})), "module-missing!", "linux-modules-extra-6.1.0-50-amd64"},
		{"missing-modules", "inbox", with(on(func(f *facts.Facts) { f.Kernel.Config.Value["INFINIBAND_IPOIB"] = "n" })), "module-left-out", "ib_ipoib"},
		{"missing-modules", "inbox", with(on(func(f *facts.Facts) { delete(f.Kernel.Config.Value, "INFINIBAND_IPOIB") })), "module-left-out", "nothing tells whether the kernel has ib_ipoib"},
		{"missing-modules", "soft", with(on(func(f *facts.Facts) {
			f.Kernel.Config.Value["RDMA_RXE"] = "n"
			f.Modules.OnDisk = []facts.DiskModule{{Name: "rdma-rxe", Path: facts.Is("/lib/modules/x/updates/rdma_rxe.ko", "modules.dep")}}
		})), "", ""},
		{"missing-modules", "soft", with(on(func(f *facts.Facts) { f.Kernel.Config = facts.Field[map[string]string]{} })), "", ""},
		{"missing-modules", "inbox", with(on(func(f *facts.Facts) {
			f.Modules.OnDisk = []facts.DiskModule{
				{Name: "ib_umad", Path: facts.None[string]("modules.dep")}, {Name: "rdma_ucm", Path: facts.None[string]("modules.dep")},
			}
		})), "module-missing!", "no rdma_ucm, ib_umad; needed for: the connection manager"},
		{"missing-modules", "soft", with(on(func(f *facts.Facts) {
			f.Kernel.Config.Value["RDMA_RXE"] = "n"
			f.Platform.Container = facts.Is(true, "virt")
		})), "", ""}, // the kernel of a container's machine is judged there
		{"missing-modules", "inbox", nil, "", ""},

		{"blacklisted-modules", "inbox", with(on(func(f *facts.Facts) {
			f.Modules.Blacklisted = facts.Is(map[string]string{"ib-uverbs": "/etc/modprobe.d/local.conf:3"}, "/etc/modprobe.d")
		})), "module-blacklisted!", "/etc/modprobe.d/local.conf:3"},
		{"blacklisted-modules", "inbox", with(on(func(f *facts.Facts) {
			f.Modules.Blacklisted = facts.Is(map[string]string{"ib_ipoib": "/etc/modprobe.d/local.conf:3"}, "/etc/modprobe.d")
		})), "module-left-out", "ib_ipoib"},
		{"blacklisted-modules", "inbox", with(on(func(f *facts.Facts) {
			f.Modules.Blacklisted = facts.Is(map[string]string{"nouveau": "/etc/modprobe.d/local.conf:3"}, "/etc/modprobe.d")
		})), "", ""},

		{"systemd", "soft", with(on(func(f *facts.Facts) { f.Platform.Systemd = facts.Is(false, "/run") })), "no-systemd!", ""},
		{"systemd", "soft", with(on(func(f *facts.Facts) { f.Platform.Systemd = facts.None[bool]("/run") })), "no-systemd!", ""},
		{"systemd", "soft", with(on(func(f *facts.Facts) { f.Platform.Systemd = facts.Field[bool]{} })), "", ""},
		{"systemd", "inbox", with(on(func(f *facts.Facts) { f.Platform.Systemd = facts.Is(false, "/run") })), "", ""},
		{"systemd", "soft", with(on(func(f *facts.Facts) {
			f.Platform.Systemd = facts.Is(false, "/run")
			f.Origin = "root"
		})), "", ""},

		{"soft-netdev", "soft", with(on(routeless), on(func(f *facts.Facts) {
			f.Netdevs.Value = []facts.Netdev{ethernet("ens4", "up"), ethernet("ens3", "up")}
		})), "no-netdev!", "ens3, ens4"},
		{"soft-netdev", "soft", with(on(routeless), on(func(f *facts.Facts) {
			f.Netdevs.Value = []facts.Netdev{ethernet("ens4", "down")}
		})), "no-netdev!", "ens4 (down)"},
		{"soft-netdev", "soft", with(on(func(f *facts.Facts) {
			f.Access.DefaultRouteNetdev = facts.Is("tun0", "route")
			f.Netdevs.Value = []facts.Netdev{{Name: "tun0", Type: facts.Is(65534, "sysfs")}}
		})), "no-netdev!", "tun0"},
		{"soft-netdev", "soft", with(func(_ *facts.Facts, a *Asked) { a.Netdev = "ens9" }), "no-netdev!", "does not exist; Ethernet interfaces are ens3 (up)"},
		{"soft-netdev", "soft", with(on(func(f *facts.Facts) {
			f.Access.DefaultRouteNetdev = facts.Is("a\"b", "route")
			f.Netdevs.Value = nil
		})), "no-netdev!", "cannot be written"},
		{"soft-netdev", "soft", with(on(routeless)), "", ""},
		{"soft-netdev", "inbox", with(on(routeless), on(func(f *facts.Facts) { f.Netdevs.Value = nil })), "", ""},
		{"soft-netdev", "soft", nil, "", ""},

		{"soft-conflict", "soft", with(rdma(soft("rxe0", "ens4")), func(_ *facts.Facts, a *Asked) { a.Netdev = "ens3" }), "soft-roce-conflict!", "ens4"},
		{"soft-conflict", "soft", with(rdma(soft("rxe_mine", "ens3"))), "soft-roce-conflict!", "rxe_mine"},
		{"soft-conflict", "soft", with(rdma(facts.RDMADevice{Name: "rxe0", Driver: facts.Is("mlx5_ib", "sysfs")})), "soft-roce-conflict!", "not Soft-RoCE"},
		{"soft-conflict", "soft", with(rdma(soft("rxe_mine", "ens4"))), "", ""},
		{"soft-conflict", "soft", with(rdma(soft("rxe0", "ens3"))), "", ""},
		{"soft-conflict", "soft", with(rdma(facts.RDMADevice{Name: "rxe0"})), "", ""}, // parent and driver not told
		{"soft-conflict", "inbox", with(rdma(soft("rxe0", "ens4"))), "", ""},
	}
}

// vendorBroken has a vendor's package in a state.
func vendorBroken(status string) func(*facts.Facts, *Asked) {
	return on(func(f *facts.Facts) {
		one := []facts.Package{{Name: "ofed-scripts", Status: status, Origin: "mlnx-ofed"}}
		f.Packages.Broken.Value, f.Packages.Installed.Value = one, one
	})
}

func TestRules(t *testing.T) {
	byName := map[string]Rule{}
	for _, rule := range All() {
		if rule.Source == "" || rule.Judge == nil {
			t.Errorf("rule %q has no source or no judge", rule.Name)
		}
		if _, twice := byName[rule.Name]; twice {
			t.Errorf("two rules are named %q", rule.Name)
		}
		byName[rule.Name] = rule
	}
	found, silent := map[string]bool{}, map[string]bool{}
	for _, h := range hosts() {
		rule, ok := byName[h.rule]
		if !ok {
			t.Errorf("there is no rule %q", h.rule)
			continue
		}
		var got []string
		texts := ""
		for _, f := range judge(t, rule, h.profile, h.changes...) {
			code := string(f.Code)
			if f.Effect == Refuse {
				code += "!"
			}
			got = append(got, code)
			texts += f.Text + "\n"
			if f.Text == "" {
				t.Errorf("%s: %s without a text", h.rule, f.Code)
			}
		}
		var want []string
		if h.want != "" {
			want = []string{h.want}
			found[h.rule] = true
		} else {
			silent[h.rule] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s%s", h.rule, diff, texts)
		}
		if !strings.Contains(texts, h.says) {
			t.Errorf("%s: no %q in %q", h.rule, h.says, texts)
		}
	}
	for name := range byName {
		if !found[name] || !silent[name] {
			t.Errorf("rule %q lacks a host on one side", name)
		}
	}
}

func TestNetdevChoice(t *testing.T) {
	p, err := profiles.Load("soft")
	if err != nil {
		t.Fatal(err)
	}
	two := facts.Is([]facts.Netdev{ethernet("ens3", "up"), ethernet("ens4", "up")}, "/sys/class/net")
	for _, tc := range []struct {
		name string
		f    facts.Facts
		soft string // netdev of the profile
		ask  string
		want string
	}{
		{"asked for", facts.Facts{Netdevs: two, Access: facts.Access{DefaultRouteNetdev: facts.Is("ens3", "")}}, "auto", "ens4", "ens4"},
		{"asked for, over the profile's", facts.Facts{Netdevs: two}, "ens3", "ens4", "ens4"},
		{"the profile's", facts.Facts{Netdevs: two, Access: facts.Access{DefaultRouteNetdev: facts.Is("ens3", "")}}, "ens4", "", "ens4"},
		{"default route", facts.Facts{Netdevs: two, Access: facts.Access{DefaultRouteNetdev: facts.Is("ens4", "")}}, "auto", "", "ens4"},
		{"default route, interfaces not told", facts.Facts{Access: facts.Access{DefaultRouteNetdev: facts.Is("br-lan", "")}}, "auto", "", "br-lan"},
		{"where it is already", facts.Facts{
			Netdevs: two, RDMA: facts.Is([]facts.RDMADevice{soft("rxe0", "ens3")}, ""),
			Access: facts.Access{DefaultRouteNetdev: facts.Is("ens4", "")},
		}, "auto", "", "ens3"},
		{"not where something else of the name is", facts.Facts{
			Netdevs: two, RDMA: facts.Is([]facts.RDMADevice{{Name: "rxe0", Driver: facts.Is("siw", ""), Parent: facts.Is("ens3", "")}}, ""),
			Access: facts.Access{DefaultRouteNetdev: facts.Is("ens4", "")},
		}, "auto", "", "ens4"},
		{"the only one up", facts.Facts{Netdevs: facts.Is([]facts.Netdev{ethernet("ens4", "down"), ethernet("ens3", "unknown")}, "")}, "auto", "", "ens3"},
		{"nothing told", facts.Facts{}, "auto", "", ""},
		{"a bad name in the facts", facts.Facts{Netdevs: facts.Is([]facts.Netdev{ethernet("a\nb", "up")}, "")}, "auto", "", ""},
	} {
		own := p
		own.SoftRoCE = &profiles.SoftRoCE{Device: "rxe0", Netdev: tc.soft}
		got := NewInput(tc.f, own, Asked{Netdev: tc.ask}).Netdev
		if got.Name != tc.want || got.Why == "" {
			t.Errorf("%s: got %+v, want %q", tc.name, got, tc.want)
		}
	}
}

func TestCardsBringTheirDriver(t *testing.T) {
	p, err := profiles.Load("inbox")
	if err != nil {
		t.Fatal(err)
	}
	names := func(in Input) []string {
		var out []string
		for _, m := range in.Modules {
			out = append(out, m.Name)
		}
		return out
	}
	plain := names(NewInput(facts.Facts{}, p, Asked{}))
	if slices.Contains(plain, "mlx4_ib") || !slices.Contains(plain, "mlx5_ib") {
		t.Errorf("without a card: %v", plain)
	}
	stated := names(NewInput(facts.Facts{}, p, Asked{Cards: []string{"connectx-3-pro"}}))
	if !slices.Contains(stated, "mlx4_ib") {
		t.Errorf("with a stated ConnectX-3 Pro: %v", stated)
	}
	evil := virtio
	evil.RDMACapable, evil.WantsRDMADriver = true, "x\ninstall y /bin/sh"
	if got := names(NewInput(facts.Facts{PCI: facts.Is([]facts.PCIDevice{evil}, "")}, p, Asked{})); !slices.Equal(got, plain) {
		t.Errorf("a module name that is none was taken: %q", got)
	}
}

func TestStackVersions(t *testing.T) {
	in := Input{Facts: facts.Facts{Packages: facts.Packages{Installed: facts.Is([]facts.Package{
		{Name: "ofed-scripts", Version: "24.10", Status: "install ok installed", Origin: "mlnx-ofed"},
		{Name: "libibverbs1:amd64", Version: "44.0-2", Status: "install ok installed", Origin: "inbox"},
		{Name: "rdma-core", Version: "44.0-3", Status: "install ok installed", Origin: "inbox"},
		{Name: "doca-ofed", Version: "3.0", Status: "deinstall ok config-files", Origin: "doca-ofed"},
		{Name: "ofed-scripts", Version: "4.17", Status: "unknown ok not-installed", Origin: "ofed"},
	}, "")}}}
	want := map[string]string{"mlnx-ofed": "24.10", "inbox": "44.0-3"}
	if diff := cmp.Diff(want, StackVersions(in)); diff != "" {
		t.Error(diff)
	}
}

// The version of a stack is what ofed_info says, else that of its packages, DKMS or drivers.
func TestVersionsOfForeignStacks(t *testing.T) {
	for name, tc := range map[string]struct {
		change change
		want   map[string]string
	}{
		"ofed_info":    {ofedInfo("MLNX_OFED_LINUX-24.04-0.6.6.0"), map[string]string{"mlnx-ofed": "24.04-0.6.6.0"}},
		"doca":         {ofedInfo("OFED-internal-24.10-1.1.4"), map[string]string{"doca-ofed": "24.10-1.1.4"}},
		"dkms":         {dkms("mlnx-ofed-kernel", "mlnx-ofed"), map[string]string{"mlnx-ofed": "23.07.OFED.23.07.0.5.1.1"}},
		"beside dkms":  {dkms("kernel-mft-dkms", "mlnx-ofed"), map[string]string{}},
		"modules":      {disk("updates", "4.9-7.1.0"), map[string]string{"mlnx-ofed": "4.9-7.1.0"}},
		"inbox module": {disk("inbox", "5.0-0"), map[string]string{}},
	} {
		f := facts.Facts{Kernel: facts.Kernel{Release: facts.Is("6.1.0", ""), Running: true}}
		tc.change(&f, &Asked{})
		if diff := cmp.Diff(tc.want, StackVersions(Input{Facts: f})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestReleaseByCodename(t *testing.T) {
	for want, d := range map[string]facts.Distro{
		"debian 13":     {ID: facts.Is("debian", ""), Codename: facts.Is("trixie", "")},
		"debian 12":     {ID: facts.Is("debian", ""), Codename: facts.Is("bookworm", "")},
		"debian 11":     {ID: facts.Is("debian", ""), Codename: facts.Is("Bullseye", "")},
		"ubuntu 20.04":  {ID: facts.Is("ubuntu", ""), Codename: facts.Is("focal", "")},
		"ubuntu 22.04":  {ID: facts.Is("ubuntu", ""), Codename: facts.Is("jammy", "")},
		"ubuntu 24.04":  {ID: facts.Is("ubuntu", ""), Codename: facts.Is("noble", "")},
		"debian forky":  {ID: facts.Is("debian", ""), Codename: facts.Is("forky", "")},
		"debian 10":     {ID: facts.Is("debian", ""), Codename: facts.Is("trixie", ""), VersionID: facts.Is("10", "")},
		"devuan trixie": {ID: facts.Is("devuan", ""), Codename: facts.Is("trixie", "")},
		"ubuntu trixie": {ID: facts.Is("ubuntu", ""), Codename: facts.Is("trixie", "")},
	} {
		in := Input{Facts: facts.Facts{Distro: d}}
		if got := ReleaseName(in); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if known := !slices.Contains([]string{"debian 10", "devuan trixie", "ubuntu trixie"}, want); ReleaseKnown(in) != known {
			t.Errorf("%q known: %v", want, !known)
		}
	}
}

func boundTo(d facts.PCIDevice, driver string) facts.PCIDevice {
	d.Driver = facts.Is(driver, "/sys/bus/pci/devices")
	return d
}

// stating states a generation.
func stating(generation string) change {
	return func(_ *facts.Facts, a *Asked) { a.Cards = []string{generation} }
}

// locked is the sysctl kernel.modules_disabled.
func locked(value string) change {
	return on(func(f *facts.Facts) {
		f.Kernel.ModulesDisabled = facts.Is(value == "1", "/proc/sys/kernel/modules_disabled")
	})
}

func everyModuleLoaded(f *facts.Facts, _ *Asked) {
	var all []facts.LoadedModule
	for _, name := range []string{"ib_uverbs", "rdma_ucm", "ib_umad", "mlx5_ib", "mlx5_core", "ib_core", "ib_ipoib"} {
		all = append(all, facts.LoadedModule{Name: name})
	}
	f.Modules.Loaded = facts.Is(all, "/proc/modules")
}
