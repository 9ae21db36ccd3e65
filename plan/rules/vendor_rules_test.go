package rules

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
)

// host changes of the table below.
func system(id, version, family, kernel string) change {
	return on(func(f *facts.Facts) {
		f.Distro.ID, f.Distro.VersionID, f.Distro.Family = facts.Is(id, "/etc/os-release"), facts.Is(version, "/etc/os-release"), facts.Is(family, "/etc/os-release")
		f.Kernel.Release = facts.Is(kernel, "uname -r")
	})
}

func arch(name string) change {
	return on(func(f *facts.Facts) { f.Kernel.Arch = facts.Is(name, "uname -m") })
}

func option3(name, value string) change {
	return on(func(f *facts.Facts) { f.Kernel.Config = facts.Is(map[string]string{name: value}, "/boot/config") })
}

func installedPackages(list ...facts.Package) change {
	return on(func(f *facts.Facts) { f.Packages.Installed = facts.Is(list, "rpm -qa") })
}

func method(name string) change       { return func(_ *facts.Facts, a *Asked) { a.Method = name } }
func versionAsked(text string) change { return func(_ *facts.Facts, a *Asked) { a.Version = text } }

var (
	efa      = facts.PCIDevice{Address: "0000:4f:00.0", Vendor: "1d0f", Device: "efa2", RDMACapable: true, WantsRDMADriver: "efa", WantsProvider: "efa"}
	cx3      = facts.PCIDevice{Address: "0000:04:00.0", Vendor: "15b3", Device: "1003", RDMACapable: true, Generation: facts.Is("connectx-3", ""), WantsDriver: "mlx4_core", WantsRDMADriver: "mlx4_ib"}
	cx3VF    = facts.PCIDevice{Address: "225e:00:02.0", Vendor: "15b3", Device: "1004", RDMACapable: true, Candidates: []string{"connectx-3", "connectx-3-pro"}, VF: facts.Is(true, ""), WantsDriver: "mlx4_core", WantsRDMADriver: "mlx4_ib"}
	cx2      = facts.PCIDevice{Address: "0000:01:00.0", Vendor: "15b3", Device: "6750", RDMACapable: true, Generation: facts.Is("connectx-2", ""), WantsDriver: "mlx4_core", WantsRDMADriver: "mlx4_ib"}
	cx6      = mellanoxCard("0000:3b:00.0", "101d", "connectx-6-dx")
	ubuntu18 = system("ubuntu", "18.04", "debian", "4.15.0-20-generic")
	ubuntu22 = system("ubuntu", "22.04", "debian", "5.15.0-101-generic")
	ubuntu24 = system("ubuntu", "24.04", "debian", "6.8.0-90-generic")
	rhel98   = system("rhel", "9.8", "rhel", "5.14.0-687.24.1.el9_8.x86_64")
	rhel76   = system("rhel", "7.6", "rhel", "3.10.0-957.el7.x86_64")
)

func secureBootOn(f *facts.Facts, _ *Asked) {
	f.SecureBoot.Enabled = facts.Is(true, "mokutil --sb-state")
}

// vendorHosts are, for each rule, hosts on which it finds a code for a release, and twins on which it
// must not: want is the code, with "!" for a refusal, "+" for a reason and "~" for a warning; with "-"
// before it the code must be in none of them.
func vendorHosts() []struct {
	rule, stack, version string
	changes              []change
	want, says           string
} {
	type row = struct {
		rule, stack, version string
		changes              []change
		want, says           string
	}
	with := func(c ...change) []change { return c }
	const new24, old49, doca32, doca210 = "24.10-1.1.4.0", "4.9-7.1.0.0", "3.2.1", "2.10.0"
	headersUntold := on(func(f *facts.Facts) { f.Kernel.Headers = facts.Field[string]{} })
	headersAbsent := on(func(f *facts.Facts) { f.Kernel.Headers = facts.None[string]("/lib/modules") })
	return []row{
		{"ofed-never-released", "ofed", "4.17-1", with(versionAsked("5.8")), "!ofed-never-released", "MLNX_OFED"},
		{"ofed-never-released", "ofed", "4.17-1", with(system("rhel", "7.6", "rhel", "3.10.0-957.el7.x86_64"), versionAsked("4.17-1")), "-ofed-never-released", ""},
		{"ofed-never-released", "mlnx-ofed", new24, with(versionAsked("24.10")), "-ofed-never-released", ""},

		{"not-yet-released", "mlnx-ofed", new24, with(day("2024-10-31")), "!not-yet-released", "was released 2024-11-05, after 2024-10-31"},
		{"not-yet-released", "mlnx-ofed", new24, with(day("2024-11-05")), "-not-yet-released", ""},
		{"not-yet-released", "mlnx-ofed", new24, with(day("")), "-not-yet-released", ""},
		{"not-yet-released", "doca-ofed", doca210, with(day("2020-01-01")), "-not-yet-released", ""}, // no page tells its date

		{"vendor-path", "mlnx-ofed", new24, with(system("ol", "8.6", "rhel", "5.4.17-2136.307.3.1.el8uek.x86_64")), "~vendor-path-not-known", "--source"},
		{"vendor-path", "mlnx-ofed", new24, with(system("centos", "9", "rhel", "5.14.0-503.el9.x86_64")), "~vendor-path-not-known", "centos 9"},
		{"held-from-vendor", "mlnx-ofed", new24, with(user("rdma-core", "48.0-1.el9", "inbox"), holds(facts.Hold{Package: "rdma-core", Kind: "versionlock", Source: "versionlock.list"})), "!package-held", "rdma-core (versionlock)"},
		{"held-from-vendor", "mlnx-ofed", new24, with(user("librdmacm1t64", "50.0-2build2", "inbox"), holds(facts.Hold{Package: "librdmacm1*", Kind: "exclude", Source: "dnf.conf"})), "!package-held", "librdmacm1t64"},
		{"held-from-vendor", "mlnx-ofed", new24, with(user("rdma-core", "48.0-1.el9", "inbox"), holds(facts.Hold{Package: "rdma-core", Kind: "exclude", Repository: "epel", Source: "epel.repo"})), "-package-held", ""},
		{"held-from-vendor", "mlnx-ofed", new24, with(user("rdma-core", "48.0-1.el9", "inbox"), holds(facts.Hold{Package: "rdma-core", Kind: "pin", Source: "preferences"})), "-package-held", ""},
		{"held-from-vendor", "mlnx-ofed", new24, with(user("rdma-core", "48.0-1.el9", "inbox"), holds(facts.Hold{Package: "vim", Kind: "versionlock", Source: "versionlock.list"})), "-package-held", ""},
		{"held-from-vendor", "mlnx-ofed", new24, with(holds(facts.Hold{Package: "rdma-core", Kind: "versionlock", Source: "versionlock.list"})), "-package-held", ""}, // not there, so it does not go
		{"held-from-vendor", "mlnx-ofed", new24, with(user("mlnx-tools", "5.8", "mlnx-ofed"), vendorStack("mlnx-ofed", "4.9-7.1.0.0"), hold("mlnx-tools")), "!package-held", "mlnx-tools (hold)"},
		{"held-from-vendor", "mlnx-ofed", new24, with(user("mlnx-tools", "24.10", "mlnx-ofed"), vendorStack("mlnx-ofed", new24), hold("mlnx-tools")), "-package-held", ""}, // in place
		{"held-from-vendor", "rdma-core", "64.0", with(user("rdma-core", "48.0-1.el9", "inbox"), hold("rdma-core")), "-package-held", ""},                                  // beside it

		{"vendor-path", "mlnx-ofed", new24, nil, "-vendor-path-not-known", ""},
		{"vendor-path", "doca-ofed", doca32, nil, "-vendor-path-not-known", ""}, // at hand
		{"vendor-path", "mlnx-ofed", new24, with(system("debian", "12", "debian", "6.1.0-50-amd64")), "-vendor-path-not-known", ""},

		{"archive-packages", "doca-ofed", doca32, with(system("ubuntu", "26.04", "debian", "7.0.0-38-generic")), "~archive-has-own", "must not be mixed"},
		{"archive-packages", "doca-ofed", doca32, with(ubuntu24), "-archive-has-own", ""},
		{"archive-packages", "rdma-core", "64.0", with(system("ubuntu", "26.04", "debian", "7.0.0-38-generic")), "-archive-has-own", ""},

		{"vendor-modules-below", "rdma-core", "64.0", with(ofedInfo("MLNX_OFED_LINUX-24.10-1.1.4.0")), "~foreign-modules", "mlnx-ofed"},
		{"vendor-modules-below", "rdma-core", "64.0", with(disk("updates", "24.10-1.1.4")), "~foreign-modules", "mlx5_core 24.10-1.1.4"},
		{"vendor-modules-below", "rdma-core", "64.0", with(disk("inbox", "")), "-foreign-modules", ""},
		{"vendor-modules-below", "mlnx-ofed", new24, with(ofedInfo("MLNX_OFED_LINUX-24.10-1.1.4.0")), "-foreign-modules", ""},

		{"architecture", "mlnx-ofed", new24, with(arch("i686")), "!arch-32-bit", "i686"},
		{"architecture", "mlnx-ofed", new24, with(arch("aarch64")), "-arch-32-bit", ""},
		{"architecture", "rdma-core", "64.0", with(arch("armv7l")), "-arch-32-bit", ""},

		{"built-in-drivers", "mlnx-ofed", new24, with(option3("MLX5_CORE", "y")), "!drivers-built-into-kernel", "CONFIG_MLX5_CORE is built into kernel"},
		{"built-in-drivers", "mlnx-ofed", old49, with(pci(cx3), option3("MLX4_CORE", "y")), "!drivers-built-into-kernel", "CONFIG_MLX4_CORE"},
		{"built-in-drivers", "mlnx-ofed", new24, with(option3("INFINIBAND", "y")), "!drivers-built-into-kernel", "CONFIG_INFINIBAND"},
		{"built-in-drivers", "mlnx-ofed", new24, with(on(func(f *facts.Facts) {
			f.Modules.OnDisk = []facts.DiskModule{{Name: "mlx5_core", Builtin: true, Path: facts.Is("", "modules.builtin")}}
		})), "!drivers-built-into-kernel", "CONFIG_MLX5_CORE"},
		{"built-in-drivers", "mlnx-ofed", new24, with(option3("MLX5_CORE", "m")), "-drivers-built-into-kernel", ""},
		{"built-in-drivers", "mlnx-ofed", new24, with(option3("MLX4_CORE", "y")), "-drivers-built-into-kernel", ""}, // of a card that is not there
		{"built-in-drivers", "mlnx-ofed", new24, with(option3("RDMA_RXE", "y")), "-drivers-built-into-kernel", ""},
		{"built-in-drivers", "rdma-core", "64.0", with(option3("MLX5_CORE", "y")), "-drivers-built-into-kernel", ""},
		{"built-in-drivers", "mlnx-ofed", new24, with(option3("MLX5_CORE", "y"), kernelAsked("5.14.0-427.31.1.el9_4.x86_64")), "-drivers-built-into-kernel", ""},

		{"loadable-modules", "mlnx-ofed", new24, with(option3("MODULES", "n")), "!kernel-without-modules", "CONFIG_MODULES"},
		{"loadable-modules", "mlnx-ofed", new24, nil, "-kernel-without-modules", ""},

		{"other-cards-only", "mlnx-ofed", new24, with(pci(efa)), "!foreign-hardware", "Amazon EFA [1d0f:efa2]"},
		{"other-cards-only", "mlnx-ofed", new24, with(pci(efa, cx6)), "-foreign-hardware", ""},
		{"other-cards-only", "rdma-core", "64.0", with(pci(efa)), "-foreign-hardware", ""},

		{"dropped-by-kernel", "rdma-core", "44.0", with(system("centos", "8", "rhel", "4.18.0-305.el8.x86_64"), pci(cx2)), "!device-dropped", "15b3:6750"},
		{"dropped-by-kernel", "rdma-core", "44.0", with(system("centos", "8", "rhel", "4.18.0-305.el8.x86_64"), pci(virtio), stating("connectx-2")), "~device-dropped", "15b3:6750"},
		{"dropped-by-kernel", "rdma-core", "44.0", with(system("centos", "7", "rhel", "3.10.0-1160.el7.x86_64"), pci(virtio), stating("connectx-2")), "-device-dropped", ""},
		{"dropped-by-kernel", "rdma-core", "44.0", with(system("centos", "7", "rhel", "3.10.0-1160.el7.x86_64"), pci(cx2)), "-device-dropped", ""},
		{"dropped-by-kernel", "rdma-core", "44.0", with(system("centos", "8", "rhel", "6.9.1-1.el8.elrepo.x86_64"), pci(cx2)), "-device-dropped", ""},

		{"card-served", "mlnx-ofed", new24, with(pci(cx3)), "!card-not-served", "ends with 4.9 LTS"},
		{"card-served", "mlnx-ofed", new24, with(pci(cx3VF)), "!card-not-served", "ConnectX-3 or ConnectX-3 Pro (a virtual function) at 225e:00:02.0: ends with 4.9 LTS"},
		{"card-served", "mlnx-ofed", new24, with(pci(cx6, cx3)), "!card-not-served", "also ConnectX-6 Dx at 0000:3b:00.0"},
		{"card-served", "mlnx-ofed", new24, with(pci(mellanoxCard("0000:01:00.0", "a2dc", "bluefield-3"))), "!card-not-served", "DOCA-Host"},
		{"card-served", "mlnx-ofed", "24.10-1.1.4.0", with(pci(cx2)), "!card-not-served", "table of supported hardware"},
		{"card-served", "doca-ofed", doca32, with(pci(cx2)), "!card-not-served", "no hardware table"},
		{"card-served", "doca-ofed", doca210, with(pci(mellanoxCard("0000:3b:00.0", "1013", "connectx-4"))), "!card-not-served", "2.9 LTS"},
		{"card-served", "doca-ofed", doca32, with(pci(mellanoxCard("0000:3b:00.0", "1023", "connectx-8")), arch("aarch64")), "!card-not-served", "x86_64 only"},
		{"card-served", "doca-ofed", doca32, with(pci(mellanoxCard("0000:3b:00.0", "1023", "connectx-8"))), "-card-not-served", ""},
		{"card-served", "doca-ofed", doca32, nil, "+card-list-unseen", "ConnectX-6 Dx"},
		{"card-served", "doca-ofed", doca32, with(pci(mellanoxCard("0000:3b:00.0", "1021", "connectx-7"))), "-card-list-unseen", ""}, // its firmware is bundled
		{"card-served", "mlnx-ofed", new24, with(pci(anyVF)), "-card-list-unseen", ""},                                               // all that it may be are served
		{"card-served", "doca-ofed", "3.0.0", with(pci(anyVF)), "+card-list-unseen", "only some"},
		{"card-served", "mlnx-ofed", new24, with(pci(mellanoxCard("0000:3b:00.0", "9999", ""))), "+card-list-unseen", "nothing tells the generation"},
		{"card-served", "mlnx-ofed", "5.0-1.0.0.0", with(ubuntu18, pci(cx3)), "!card-served-elsewhere", "branch 4.9"},
		{"card-served", "mlnx-ofed", "5.0-1.0.0.0", with(ubuntu18, pci(cx3), versionAsked("5.0")), "-card-served-elsewhere", ""},
		{"card-served", "mlnx-ofed", old49, with(ubuntu18, pci(cx3)), "-card-served-elsewhere", ""},
		{"card-served", "rdma-core", "64.0", with(pci(cx3)), "!card-not-served", "provider mlx4"},
		{"card-served", "rdma-core", "44.0", with(pci(cx3)), "-card-not-served", ""},
		{"card-served", "mlnx-ofed", new24, nil, "-card-not-served", ""},

		{"system-row", "mlnx-ofed", new24, nil, "+documented", "rhel 9.4 on x86_64 with kernel 5.14.0-427.13.1.el9_4"},
		{"system-row", "mlnx-ofed", new24, with(ubuntu22), "+community-support", "community"},
		{"system-row", "mlnx-ofed", new24, with(ubuntu24), "+bundle-seen", ""},
		{"system-row", "mlnx-ofed", new24, with(system("rhel", "9.3", "rhel", "5.14.0-362.8.1.el9_3.x86_64")), "+tested-elsewhere", ""},
		{"system-row", "mlnx-ofed", new24, with(system("rocky", "9.6", "rhel", "5.14.0-570.12.1.el9_6.x86_64")), "+third-party-matrix", ""},
		{"system-row", "mlnx-ofed", new24, with(system("rhel", "9.7", "rhel", "5.14.0-611.5.1.el9_7.x86_64")), "+no-row", ""},
		{"system-row", "mlnx-ofed", new24, with(arch("aarch64")), "+no-row", "other architectures"},
		{"system-row", "mlnx-ofed", new24, with(system("sles", "15.6", "suse", "6.4.0-150600.21-default")), "!not-in-table", "no sles 15.6"},
		{"system-row", "mlnx-ofed", new24, with(system("sles", "15.5", "suse", "5.14.21-150500.55.7-default"), arch("aarch64")), "!not-in-table", "other architectures"},
		{"system-row", "mlnx-ofed", new24, with(system("sles", "15.5", "suse", "5.14.21-150500.55.7-default")), "-not-in-table", ""},
		{"system-row", "mlnx-ofed", "23.10-2.1.3.1.201", nil, "!not-in-table", "mlnx-ofed 23.10-2.1.3.1.201 is known whole and has no rhel 9.4"},
		{"system-row", "mlnx-ofed", "23.10-2.1.3.1.201", with(system("rocky", "8.10", "rhel", "4.18.0-553.el8_10.x86_64")), "-not-in-table", ""},
		{"system-row", "mlnx-ofed", new24, with(system("ubuntu", "22.04", "debian", "6.8.0-40-generic")), "+kernel-off-table", "5.15.0-25-generic"},
		{"system-row", "mlnx-ofed", new24, with(system("ubuntu", "22.04", "debian", "5.15.0-1041-azure")), "+kernel-off-table", "flavour azure"},
		{"system-row", "mlnx-ofed", new24, with(ubuntu22), "-kernel-off-table", ""},
		{"system-row", "mlnx-ofed", new24, with(on(func(f *facts.Facts) { f.Kernel.Release = facts.Field[string]{} })), "+kernel-not-told", ""},
		{"system-row", "mlnx-ofed", new24, with(system("ubuntu", "20.04", "debian", "5.4.0-150-generic"), arch("aarch64")), "+arch-not-told", ""},
		{"system-row", "mlnx-ofed", new24, with(system("ubuntu", "20.04", "debian", "5.4.0-150-generic")), "-arch-not-told", ""},
		{"system-row", "mlnx-ofed", new24, with(system("rocky", "9.4", "rhel", "5.14.0-427.13.1.el9_4.x86_64")), "~rebuild-of-rhel", "RHEL 9.4"},
		{"system-row", "mlnx-ofed", new24, with(system("rocky", "9.2", "rhel", "5.14.0-284.30.1.el9_2.x86_64")), "-rebuild-of-rhel", ""}, // the row covers it
		{"system-row", "mlnx-ofed", new24, nil, "-rebuild-of-rhel", ""},
		{"system-row", "mlnx-ofed", new24, with(system("rhel", "9.5", "rhel", "5.14.0-503.11.1.el9_5.x86_64")), "+held-at-hand", "5.14.0-503.11.1.el9_5.x86_64"},
		{"system-row", "mlnx-ofed", new24, with(system("rhel", "9.5", "rhel", "5.14.0-570.40.1.el9_6.x86_64")), "+held-for-other-kernel", ""}, // of another minor release
		{"system-row", "mlnx-ofed", new24, with(system("rhel", "9.5", "rhel", "5.14.0-503.40.1.el9_5.x86_64")), "~weak-updates-decide", "at hand are for 5.14.0-503.11.1.el9_5.x86_64"},
		{"system-row", "mlnx-ofed", new24, with(system("rhel", "9.5", "rhel", "5.14.0-503.40.1.el9_5.x86_64")), "+held-at-hand", "with modules for kernel 5.14.0-503.11.1"},
		{"system-row", "mlnx-ofed", new24, with(system("rhel", "9.5", "rhel", "5.14.0-503.11.1.el9_5.x86_64")), "-weak-updates-decide", ""},
		{"system-row", "mlnx-ofed", new24, with(system("rocky", "9.5", "rhel", "5.14.0-503.40.1.el9_5.x86_64")), "+held-for-other-kernel", ""}, // its own build
		{"system-row", "mlnx-ofed", new24, with(system("rhel", "9.5", "rhel", "5.14.0-503.40.1.el9_5.x86_64+rt")), "+held-for-other-kernel", ""},
		{"system-row", "mlnx-ofed", new24, nil, "-held-at-hand", ""},
		{"system-row", "doca-ofed", doca32, nil, "+held-at-hand", "DKMS"},
		{"system-row", "doca-ofed", doca32, with(arch("aarch64")), "-held-at-hand", ""},
		{"system-row", "mlnx-ofed", new24, with(system("ubuntu", "24.04", "debian", "6.8.0-1019-aws"), method("container")), "+documented", "driver container"},
		{"system-row", "mlnx-ofed", new24, with(system("ubuntu", "24.04", "debian", "6.8.0-1019-aws")), "-documented", ""},
		{"system-row", "ofed", "4.17-1", nil, "!ofed-not-documented", ""},
		{"system-row", "ofed", "4.17-1", with(system("rhel", "7.6", "rhel", "3.10.0-957.el7.x86_64")), "-ofed-not-documented", ""},

		{"rdma-core-host", "rdma-core", "64.0", nil, "+build-documented", ""},
		{"rdma-core-host", "rdma-core", "64.0", with(system("rhel", "10.1", "rhel", "6.12.0-124.8.1.el10_1.x86_64")), "-build-documented", ""},
		{"rdma-core-host", "rdma-core", "64.0", with(option3("MLX5_INFINIBAND", "n")), "!module-missing", "mlx5_ib"},
		{"rdma-core-host", "rdma-core", "64.0", with(system("debian", "8", "debian", "3.2.0-4-amd64")), "!kernel-too-old", "3.11"},
		{"rdma-core-host", "rdma-core", "44.0", with(system("centos", "7", "rhel", "3.10.0-1062.12.1.el7.x86_64"), pci(cx3VF)), "-kernel-too-old", ""},
		{"rdma-core-host", "mlnx-ofed", new24, nil, "-build-documented", ""},

		{"kernel-outside", "mlnx-ofed", "5.4-3.7.5.0", with(system("ubuntu", "20.04", "debian", "5.14.0-rc5")), "~kernel-outside-matrix", "-rc kernels are outside every support matrix"},
		{"kernel-outside", "mlnx-ofed", new24, with(system("ubuntu", "22.04", "debian", "6.9.0-060900-generic")), "~kernel-outside-matrix", "not a kernel of"},
		{"kernel-outside", "mlnx-ofed", new24, with(ubuntu22), "-kernel-outside-matrix", ""},
		{"kernel-outside", "rdma-core", "64.0", with(system("ubuntu", "20.04", "debian", "5.14.0-rc5")), "-kernel-outside-matrix", ""},

		{"known-builds", "mlnx-ofed", old49, with(system("ubuntu", "18.04", "debian", "5.14.0-rc5"), pci(cx3)), "!kernel-breaks-build", "from 5.6 on; what helps: an older kernel"},
		{"known-builds", "mlnx-ofed", old49, with(ubuntu18, pci(cx3)), "-kernel-breaks-build", ""},
		{"known-builds", "mlnx-ofed", old49, with(ubuntu22, pci(cx3)), "!kernel-breaks-build", ""}, // a weak report of success lifts no sure failure
		{"known-builds", "mlnx-ofed", "5.4-3.1.0.0", with(system("ubuntu", "20.04", "debian", "5.14.0-rc5")), "!kernel-breaks-build", "5.14"},
		{"known-builds", "mlnx-ofed", "5.4-3.7.5.0", with(system("ubuntu", "20.04", "debian", "5.14.0-rc5")), "+kernel-known-to-work", "builds on 5.14"},
		{"known-builds", "mlnx-ofed", "5.4-3.7.5.0", with(system("ubuntu", "20.04", "debian", "5.14.0-rc5")), "-kernel-breaks-build", ""},
		{"known-builds", "doca-ofed", doca32, with(rhel98), "!kernel-breaks-build", "dpll"},
		{"known-builds", "doca-ofed", doca32, with(system("rocky", "9.8", "rhel", "5.14.0-687.24.1.el9_8.x86_64")), "!kernel-breaks-build", "dpll"},
		{"known-builds", "doca-ofed", doca32, with(system("rhel", "9.8", "rhel", "5.14.0-687.12.1.el9_8.x86_64")), "-kernel-breaks-build", ""},
		{"known-builds", "doca-ofed", doca210, with(system("ubuntu", "24.04", "debian", "6.11.0-1003-nvidia-64k")), "~optional-modules-fail", "build without it"},
		{"known-builds", "doca-ofed", doca210, with(system("ubuntu", "24.04", "debian", "6.11.0-1003-nvidia-64k"), method("container")), "!optional-modules-fail", "flavour nvidia-64k"},

		{"container-kernel", "doca-ofed", doca210, with(system("ubuntu", "24.04", "debian", "6.11.0-1003-nvidia-64k"), method("container")), "!kernel-not-covered", "3.0.0 is a newer release"},
		{"container-kernel", "doca-ofed", "3.0.0", with(pci(mellanoxCard("0000:3b:00.0", "1021", "connectx-7")), system("ubuntu", "24.04", "debian", "6.11.0-1003-nvidia-64k"), method("container")), "-kernel-not-covered", ""},
		{"container-kernel", "doca-ofed", doca210, with(system("ubuntu", "24.04", "debian", "6.11.0-1003-nvidia-64k")), "-kernel-not-covered", ""},
		{"container-kernel", "doca-ofed", doca210, with(ubuntu24, method("container")), "-kernel-not-covered", ""}, // no release lists it

		{"install-method", "mlnx-ofed", new24, with(method("flash-drive")), "!method-not-offered", "flash-drive"},
		{"install-method", "rdma-core", "64.0", with(method("bundle")), "!method-not-offered", ""},
		{"install-method", "mlnx-ofed", new24, with(method("bundle")), "-method-not-offered", ""},
		{"install-method", "rdma-core", "64.0", with(method(BySourcePackage)), "-older-than-installed", ""},
		{"install-method", "rdma-core", "64.0", with(method(BySourcePackage), installedPackages(facts.Package{Name: "libibverbs", Version: "65.0-1.el9", Origin: "inbox"})), "!older-than-installed", "65.0-1.el9 is installed"},
		{"install-method", "rdma-core", "64.0", with(method(BySourcePackage), installedPackages(facts.Package{Name: "libibverbs1", Version: "1:64.0-2", Origin: "inbox"})), "-older-than-installed", ""},
		{"install-method", "rdma-core", "64.0", with(installedPackages(facts.Package{Name: "libibverbs", Version: "65.0-1.el9", Origin: "inbox"})), "-older-than-installed", ""},
		{"install-method", "mlnx-ofed", new24, with(system("rhel", "9.4", "rhel", "5.14.0-503.11.1.el9_5.x86_64")), "~weak-updates-decide", ""},
		{"install-method", "mlnx-ofed", new24, nil, "-weak-updates-decide", ""},
		{"install-method", "mlnx-ofed", new24, with(system("rhel", "9.4", "rhel", "5.14.0-427.31.1.el9_4.x86_64")), "~weak-updates-decide", "another build of the same line"},
		{"install-method", "mlnx-ofed", new24, with(system("almalinux", "9.4", "rhel", "5.14.0-427.13.1.el9_4.x86_64")), "~weak-updates-decide", "RHEL's kernel 5.14.0-427.13.1.el9_4"},
		{"install-method", "mlnx-ofed", new24, with(system("almalinux", "9.4", "rhel", "5.14.0-427.31.1.el9_4.x86_64")), "-weak-updates-decide", ""}, // built
		{"install-method", "mlnx-ofed", new24, with(ubuntu22), "-weak-updates-decide", ""},
		{"install-method", "doca-ofed", doca32, with(ubuntu24, installedPackages(facts.Package{Name: "linux-modules-doca-ofed-3.4-generic", Status: "install ok installed"})), "!mixed-origins", "linux-modules-doca-ofed-3.4-generic"},
		{"install-method", "doca-ofed", doca32, with(ubuntu24, installedPackages(facts.Package{Name: "linux-modules-6.8.0-90-generic", Status: "install ok installed"})), "-mixed-origins", ""},

		{"kernel-headers", "mlnx-ofed", new24, with(system("ubuntu", "20.04", "debian", "5.10.35"), headersAbsent), "!headers-missing", "5.10.35"},
		{"kernel-headers", "mlnx-ofed", new24, with(ubuntu22, headersAbsent), "~headers-to-install", "linux-headers-5.15.0-101-generic"},
		{"kernel-headers", "mlnx-ofed", new24, with(ubuntu22, headersUntold), "~headers-not-told", "linux-headers-5.15.0-101-generic"},
		{"kernel-headers", "mlnx-ofed", new24, with(ubuntu22, headersUntold, installedPackages(facts.Package{Name: "linux-headers-5.15.0-101-generic", Status: "install ok installed"})), "-headers-not-told", ""},
		{"kernel-headers", "mlnx-ofed", new24, with(system("rocky", "9.4", "rhel", "5.14.0-427.31.1.el9_4.x86_64"), headersUntold, installedPackages(facts.Package{Name: "kernel-devel", Version: "5.14.0-427.31.1.el9_4"})), "-headers-not-told", ""},
		{"kernel-headers", "mlnx-ofed", new24, with(headersAbsent), "-headers-missing", ""}, // prebuilt
		{"kernel-headers", "rdma-core", "64.0", with(system("ubuntu", "20.04", "debian", "5.10.35"), headersAbsent), "-headers-missing", ""},

		{"build-tools", "mlnx-ofed", new24, with(ubuntu22), "~build-needs", "by DKMS"},
		{"build-tools", "mlnx-ofed", new24, with(system("rocky", "9.4", "rhel", "5.14.0-427.31.1.el9_4.x86_64")), "~build-needs", "--add-kernel-support --distro RHEL9.4"},
		{"build-tools", "doca-ofed", doca32, nil, "~build-needs", "EPEL"},
		{"build-tools", "doca-ofed", doca32, with(system("rocky", "9.4", "rhel", "5.14.0-427.13.1.el9_4.x86_64")), "~build-needs", "EPEL"},
		{"build-tools", "doca-ofed", doca32, with(system("fedora", "43", "rhel", "6.17.1-300.fc43.x86_64")), "~build-needs", "and the kernel's headers$"},
		{"build-tools", "mlnx-ofed", new24, with(ubuntu22, on(func(f *facts.Facts) { f.Tools = []facts.Tool{{Name: "gcc", Path: facts.None[string]("which")}} })), "~build-needs", "not on this host: gcc"},
		{"build-tools", "mlnx-ofed", new24, nil, "-build-needs", ""}, // prebuilt
		{"build-tools", "ofed", "4.17-1", with(rhel76), "~build-needs", "install.pl"},

		{"secure-boot", "mlnx-ofed", new24, with(secureBootOn), "~vendor-key-enrolment", "console"},
		{"secure-boot", "mlnx-ofed", new24, with(secureBootOn, on(func(f *facts.Facts) {
			f.SecureBoot.EnrolledKeys = facts.Is([]facts.Certificate{{Subject: "CN=Mellanox Technologies signing key"}}, "mokutil")
		})), "-vendor-key-enrolment", ""},
		{"secure-boot", "doca-ofed", doca32, with(secureBootOn), "~mok-enrolment", "MOK manager"},
		{"secure-boot", "doca-ofed", doca32, with(secureBootOn, on(func(f *facts.Facts) { f.SecureBoot.DKMSKeyEnrolled = facts.Is(true, "mokutil") })), "-mok-enrolment", ""},
		{"secure-boot", "doca-ofed", doca32, nil, "-mok-enrolment", ""},
		{"secure-boot", "mlnx-ofed", new24, with(ubuntu22, option3("MODULE_SIG_FORCE", "y")), "~mok-enrolment", "CONFIG_MODULE_SIG_FORCE"},
		{"secure-boot", "mlnx-ofed", new24, with(ubuntu22, on(func(f *facts.Facts) { f.Kernel.Lockdown = facts.Is("integrity", "lockdown") })), "~mok-enrolment", "locked down"},
		{"secure-boot", "mlnx-ofed", new24, with(ubuntu22, on(func(f *facts.Facts) { f.Kernel.Lockdown = facts.Is("none", "lockdown") })), "-mok-enrolment", ""},
		{"secure-boot", "mlnx-ofed", new24, with(secureBootOn, system("rocky", "9.4", "rhel", "5.14.0-427.31.1.el9_4.x86_64")), "~unsigned-modules", "built on this host"},
		{"secure-boot", "mlnx-ofed", "23.10-2.1.3.1.201", with(secureBootOn, system("openEuler", "22.03", "rhel", "5.10.0-60.18.0.50.oe2203.x86_64")), "~unsigned-modules", "no source says that the prebuilt modules for openeuler 22.03 are signed"},
		{"secure-boot", "mlnx-ofed", "23.10-2.1.3.1.201", with(secureBootOn, system("openEuler", "22.03", "rhel", "5.10.0-60.18.0.50.oe2203.x86_64")), "-vendor-key-enrolment", ""},
		{"secure-boot", "mlnx-ofed", new24, with(secureBootOn, system("sles", "15.5", "suse", "5.14.21-150500.53-default")), "~vendor-key-enrolment", ""},
		{"secure-boot", "rdma-core", "64.0", with(secureBootOn), "-mok-enrolment", ""},

		{"other-cards", "doca-ofed", doca32, with(pci(cx6, efa)), "~other-card-broken", "whose provider efa"},
		{"other-cards", "doca-ofed", doca32, with(pci(cx6, efa), func(_ *facts.Facts, a *Asked) { a.Named = false }), "!other-card-broken", ""},
		{"other-cards", "doca-ofed", doca32, with(pci(cx6, virtio)), "-other-card-broken", ""},
		{"other-cards", "rdma-core", "64.0", with(pci(cx6, efa)), "-other-card-broken", ""},

		{"virtual-functions", "mlnx-ofed", old49, with(ubuntu18, pci(cx3VF)), "~firmware-not-here", "--without-fw-update"},
		{"virtual-functions", "mlnx-ofed", old49, with(ubuntu18, pci(cx3)), "-firmware-not-here", ""},

		{"upgrade-path", "mlnx-ofed", "5.4-3.7.5.0", with(ofedInfo("MLNX_OFED_LINUX-24.10-1.1.4.0")), "~downgrade", "24.10-1.1.4.0"},
		{"upgrade-path", "mlnx-ofed", new24, with(ofedInfo("MLNX_OFED_LINUX-24.10-1.1.4.0")), "-downgrade", ""},
		{"upgrade-path", "mlnx-ofed", new24, with(ofedInfo("MLNX_OFED_LINUX-23.10-1.1.9.0")), "-downgrade", ""},
		{"upgrade-path", "doca-ofed", doca210, with(ofedInfo("OFED-internal-25.10-1.7.1")), "~downgrade", ""},
		{"upgrade-path", "doca-ofed", doca32, with(ofedInfo("OFED-internal-25.01-0.6.0")), "-downgrade", ""},
		{"upgrade-path", "doca-ofed", doca32, with(ofedInfo("OFED-internal-23.10-1.1.9")), "~upgrade-not-in-place", "2.6.0"},
		{"upgrade-path", "doca-ofed", doca32, with(ofedInfo("OFED-internal-24.01-0.3.3")), "-upgrade-not-in-place", ""},
		{"upgrade-path", "doca-ofed", doca32, with(vendorStack("doca-ofed", "2.5.2")), "~upgrade-not-in-place", ""},
		{"upgrade-path", "doca-ofed", doca32, with(vendorStack("doca-ofed", "2.6.0")), "-upgrade-not-in-place", ""},
		{"upgrade-path", "doca-ofed", doca32, with(ofedInfo("MLNX_OFED_LINUX-24.10-1.1.4.0")), "~upgrade-not-in-place", "ofed_uninstall.sh"},
		{"upgrade-path", "doca-ofed", doca210, with(ofedInfo("MLNX_OFED_LINUX-4.9-7.1.0.0")), "~upgrade-not-in-place", "mlnx-ofed 4.9"},
		{"upgrade-path", "doca-ofed", doca210, with(ofedInfo("MLNX_OFED_LINUX-4.9-7.1.0.0")), "~verbs-api-changed", ""},
		{"upgrade-path", "mlnx-ofed", new24, with(ofedInfo("MLNX_OFED_LINUX-23.10-1.1.9.0")), "-upgrade-not-in-place", ""},
		{"upgrade-path", "mlnx-ofed", new24, with(ofedInfo("MLNX_OFED_LINUX-4.9-7.1.0.0")), "~verbs-api-changed", "built anew"},
		{"upgrade-path", "mlnx-ofed", old49, with(ubuntu18, ofedInfo("MLNX_OFED_LINUX-4.9-4.1.7.0")), "-verbs-api-changed", ""},
		{"upgrade-path", "mlnx-ofed", old49, with(ubuntu18, ofedInfo("MLNX_OFED_LINUX-24.10-1.1.4.0")), "~verbs-api-changed", "with the verbs of rdma-core"},
		{"upgrade-path", "mlnx-ofed", old49, with(ubuntu18, vendorStack("doca-ofed", "3.2.1")), "~verbs-api-changed", "doca-ofed 3.2.1"},
		{"upgrade-path", "mlnx-ofed", new24, with(vendorStack("doca-ofed", "3.2.1")), "~downgrade", "older than doca-ofed 3.2.1"},
		{"upgrade-path", "mlnx-ofed", new24, with(vendorStack("doca-ofed", "4.0.0")), "-downgrade", ""}, // nothing tells its drivers
		{"upgrade-path", "doca-ofed", doca32, with(vendorStack("doca-ofed", "4.0.0")), "~downgrade", "older than doca-ofed 4.0.0"},
		{"upgrade-path", "doca-ofed", doca210, with(ofedInfo("MLNX_OFED_LINUX-24.10-1.1.4.0")), "-downgrade", ""},
		{"upgrade-path", "mlnx-ofed", new24, with(ofedInfo("MLNX_OFED_LINUX-5.4-3.1.0.0")), "~interface-names-change", ""},
		{"upgrade-path", "mlnx-ofed", "5.4-3.7.5.0", with(ofedInfo("MLNX_OFED_LINUX-5.4-3.1.0.0")), "-interface-names-change", ""},
		{"upgrade-path", "mlnx-ofed", new24, with(ofedInfo("MLNX_OFED_LINUX-5.8-1.0.1.1")), "-interface-names-change", ""},

		{"private-abi", "rdma-core", "64.0", with(hostABI(34)), "~provider-abi-mix", "34"},
		{"private-abi", "rdma-core", "44.0", with(hostABI(34)), "-provider-abi-mix", ""},
		{"private-abi", "rdma-core", "64.0", nil, "-provider-abi-mix", ""},

		{"collisions", "doca-ofed", doca32, with(system("rhel", "9.8", "rhel", "5.14.0-687.12.1.el9_8.x86_64")), "~packages-collide", "libibverbs-61.0-2.el9"},
		{"collisions", "doca-ofed", doca32, nil, "-packages-collide", ""},
		{"collisions", "mlnx-ofed", new24, with(system("rhel", "9.8", "rhel", "5.14.0-687.12.1.el9_8.x86_64")), "-packages-collide", ""},
		{"collisions", "doca-ofed", doca210, with(system("ubuntu", "24.04", "debian", "6.8.0-31-generic"), user("libpmix2t64:amd64", "5.0.1", "unknown"), user("openmpi-bin", "4.1.6", "unknown")), "~packages-collide", "libpmix2t64, openmpi-bin"},
		{"collisions", "doca-ofed", doca210, with(system("ubuntu", "24.04", "debian", "6.8.0-31-generic"), user("openmpi", "4.1.7", "doca-ofed")), "-packages-collide", ""},
		{"collisions", "doca-ofed", doca210, with(system("ubuntu", "24.04", "debian", "6.8.0-31-generic"), user("libucx0", "1.16", "unknown")), "-packages-collide", ""},

		{"card-age-from-source", "rdma-core", "64.0", with(pci(mellanoxCard("0000:3b:00.0", "1023", "connectx-8"))), "~card-newer-than-kernel", "pci:v000015B3d00001023*"},
		{"card-age-from-source", "rdma-core", "64.0", with(pci(boundTo(mellanoxCard("0000:3b:00.0", "1023", "connectx-8"), "mlx5_core"))), "-card-newer-than-kernel", ""},
		{"card-age-from-source", "rdma-core", "64.0", nil, "-card-newer-than-kernel", ""},
		{"card-age-from-source", "doca-ofed", doca32, with(pci(mellanoxCard("0000:3b:00.0", "1023", "connectx-8"))), "-card-newer-than-kernel", ""}, // its own driver

		{"end-of-support", "mlnx-ofed", old49, with(ubuntu18), "~end-of-support", "computed"},
		{"end-of-support", "mlnx-ofed", old49, with(ubuntu18, day("2023-05-31")), "-end-of-support", ""},
		{"end-of-support", "mlnx-ofed", new24, with(day("2027-11-01")), "~end-of-support", "as the vendor states it"},
		{"end-of-support", "mlnx-ofed", new24, nil, "-end-of-support", ""},
		{"end-of-support", "mlnx-ofed", old49, with(ubuntu18, day("")), "-end-of-support", ""},
		{"end-of-support", "mlnx-ofed", old49, with(ubuntu18, day("2023-05-31")), "~support-ends-this-month", "ends this month, 2023-05 as computed"},
		{"end-of-support", "mlnx-ofed", old49, with(ubuntu18, day("2023-04-30")), "-support-ends-this-month", ""},
		{"end-of-support", "mlnx-ofed", old49, with(ubuntu18, day("2023-06-01")), "-support-ends-this-month", ""},
		{"end-of-support", "ofed", "4.17-1", with(rhel76), "~end-of-support", "no release since 4.17-1 of 2019-07-01"},
		{"end-of-support", "ofed", "4.17-1", with(rhel76, day("2019-12-31")), "-end-of-support", ""},
		{"end-of-support", "doca-ofed", doca210, nil, "~end-of-support", "no long-term branch and a newer one has followed it (3.0.0 of 2025-05)"},
		{"end-of-support", "doca-ofed", doca210, with(day("2025-04-30")), "-end-of-support", ""},
		{"end-of-support", "doca-ofed", "3.0.0", nil, "-end-of-support", ""}, // of its own no newer one is dated
	}
}

func kernelAsked(release string) change { return func(_ *facts.Facts, a *Asked) { a.Kernel = release } }
func day(text string) change            { return func(_ *facts.Facts, a *Asked) { a.Day = text } }

func vendorStack(stack, version string) change {
	return on(func(f *facts.Facts) {
		f.Packages.Vendor = facts.Is(facts.VendorStack{Stack: stack, Version: version}, "rpm -qa")
	})
}

func hostABI(abi int) change {
	return on(func(f *facts.Facts) {
		f.Userspace.Libibverbs = facts.Is([]facts.Libibverbs{{Path: "/usr/lib64/libibverbs.so.1", PrivateABI: facts.Is(abi, "readelf")}}, "ldconfig")
	})
}

func TestVendorRules(t *testing.T) {
	index := smallIndex(t)
	found, silent := map[string]bool{}, map[string]bool{}
	for _, h := range vendorHosts() {
		c := candidate(t, vendorInput(t, index, h.changes...), h.stack, h.version)
		code, absent := strings.CutPrefix(h.want, "-")
		in := map[string][]Finding{"!": c.Refusals, "+": c.Reasons, "~": c.Warnings}
		if absent {
			silent[h.rule] = true
			for mark, list := range in {
				if slices.ContainsFunc(list, func(f Finding) bool { return string(f.Code) == code }) {
					t.Errorf("%s: %s %s has %s%s", h.rule, h.stack, h.version, mark, code)
				}
			}
			continue
		}
		found[h.rule] = true
		mark, code := h.want[:1], h.want[1:]
		i := slices.IndexFunc(in[mark], func(f Finding) bool { return string(f.Code) == code })
		if i < 0 {
			t.Errorf("%s: %s %s lacks %s\nrefusals %v\nreasons %v\nwarnings %v", h.rule, h.stack, h.version, h.want, c.Refusals, c.Reasons, c.Warnings)
			continue
		}
		f := in[mark][i]
		// A "$" at the end: nothing follows.
		if says, whole := strings.CutSuffix(h.says, "$"); !strings.Contains(f.Text, says) || whole && !strings.HasSuffix(f.Text, says) {
			t.Errorf("%s: no %q in %q", h.rule, h.says, f.Text)
		}
		if f.Source == "" {
			t.Errorf("%s: %s has no source: %s", h.rule, code, f.Text)
		}
		if (f.Effect == Refuse) != (mark == "!") {
			t.Errorf("%s: the effect of %s is %v", h.rule, code, f.Effect)
		}
	}
	for _, rule := range VendorRules() {
		if rule.Source == "" || !found[rule.Name] || !silent[rule.Name] {
			t.Errorf("rule %q lacks a source, or a host on one side", rule.Name)
		}
		delete(found, rule.Name)
	}
	for name := range found {
		t.Errorf("there is no rule %q", name)
	}
}

// The same input gives the same candidates, and judging changes nothing in the matrix.
func TestCandidatesAreDeterministic(t *testing.T) {
	index := smallIndex(t)
	before := smallMatrix()
	for _, stack := range []string{"doca-ofed", "mlnx-ofed", "rdma-core", "ofed"} {
		in := vendorInput(t, index, pci(cx6, efa), ubuntu24, method("container"))
		first := Candidates(in, stack)
		if !reflect.DeepEqual(first, Candidates(in, stack)) {
			t.Errorf("%s is judged in two ways", stack)
		}
		if len(first) == 0 {
			t.Errorf("%s has no candidate", stack)
		}
	}
	if !reflect.DeepEqual(before, index.Matrix()) {
		t.Error("the matrix was written to")
	}
	if Candidates(vendorInput(t, nil), "mlnx-ofed") != nil {
		t.Error("there are candidates without a matrix")
	}
}

func holds(list ...facts.Hold) change {
	return on(func(f *facts.Facts) { f.Packages.Holds = facts.Is(list, "the package manager's configuration") })
}

func hold(name string) change {
	return on(func(f *facts.Facts) { f.Packages.Held = facts.Is([]string{name}, "dpkg-query") })
}
