package plan_test

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// The hosts of the tests are built from a bare Debian host by small changes, so that each has a twin
// that differs in one thing.

type change func(*facts.Facts)

// host is a bare Debian host with one virtio interface and without any RDMA package.
func host(version, kernel, codename string, changes ...change) facts.Facts {
	f := facts.Facts{
		Schema: facts.Schema, Origin: "live", Host: facts.Is("node1", "/etc/hostname"),
		RecordedAt: facts.Is("2026-11-30T06:00:00Z", "clock"),
		Distro: facts.Distro{
			ID: facts.Is("debian", "/etc/os-release"), VersionID: facts.Is(version, "/etc/os-release"),
			Codename: facts.Is(codename, "/etc/os-release"), Family: facts.Is("debian", "/etc/os-release"),
			PrettyName: facts.Is("Debian GNU/Linux "+version+" ("+codename+")", "/etc/os-release"),
		},
		Kernel: facts.Kernel{
			Release: facts.Is(kernel, "/proc/sys/kernel/osrelease"), Running: true,
			Flavour: facts.Is("amd64", "uname -r"), Arch: facts.Is("x86_64", "uname -m"),
			Installed: facts.Is([]string{kernel}, "/lib/modules"),
			Config: facts.Is(map[string]string{
				"INFINIBAND": "m", "INFINIBAND_USER_ACCESS": "m", "INFINIBAND_USER_MAD": "m", "MLX4_INFINIBAND": "m",
				"MLX5_INFINIBAND": "m", "RDMA_RXE": "m", "RDMA_SIW": "n", "INFINIBAND_IPOIB": "m", "INFINIBAND_ISER": "m",
				"SUNRPC_XPRT_RDMA": "m", "INFINIBAND_IRDMA": "m",
			}, "/boot/config-"+kernel),
		},
		Platform: facts.Platform{
			Virtualization: facts.Is("kvm", "systemd-detect-virt --vm"), Container: facts.Is(false, "systemd-detect-virt --container"),
			Systemd: facts.Is(true, "/run/systemd/system"), UID: facts.Is(0, "process"),
		},
		PCI:  facts.Is([]facts.PCIDevice{{Address: "0000:00:03.0", Vendor: "1af4", Device: "1000", Class: "0200"}}, "/sys/bus/pci/devices"),
		RDMA: facts.None[[]facts.RDMADevice]("/sys/class/infiniband"),
		Netdevs: facts.Is([]facts.Netdev{
			{Name: "lo", Type: facts.Is(772, "sysfs"), OperState: facts.Is("unknown", "sysfs"), Virtual: facts.Is(true, "sysfs")},
			netdev("ens3", "up"),
		}, "/sys/class/net"),
		Modules: facts.Modules{
			Loaded: facts.Is([]facts.LoadedModule{{Name: "virtio_net"}}, "/proc/modules"),
		},
		Packages: facts.Packages{
			Manager: facts.Is("apt", "/usr/bin/apt-get"), Installed: facts.Is([]facts.Package{{
				Name: "iproute2", Version: "6.1.0-3", Status: "install ok installed", Origin: "inbox",
			}}, "/var/lib/dpkg/status"),
			Broken: facts.Is[[]facts.Package](nil, "/var/lib/dpkg/status"), Held: facts.Is[[]string](nil, "/var/lib/dpkg/status"),
		},
		Access:  facts.Access{DefaultRouteNetdev: facts.Is("ens3", "/proc/net/route")},
		Managed: facts.Is(map[string]string{}, "/etc"),
	}
	for _, c := range changes {
		c(&f)
	}
	return f
}

func bookworm(changes ...change) facts.Facts {
	return host("12", "6.1.0-50-amd64", "bookworm", changes...)
}

func netdev(name, state string) facts.Netdev {
	return facts.Netdev{
		Name: name, Type: facts.Is(1, "/sys/class/net/"+name+"/type"), OperState: facts.Is(state, "/sys/class/net/"+name+"/operstate"),
		Virtual: facts.Is(false, "/sys/class/net/"+name),
	}
}

func netdevs(list ...facts.Netdev) change {
	return func(f *facts.Facts) { f.Netdevs = facts.Is(list, "/sys/class/net") }
}

func noRoute(f *facts.Facts) { f.Access.DefaultRouteNetdev = facts.None[string]("/proc/net/route") }

func function(d facts.PCIDevice) change {
	return func(f *facts.Facts) { f.PCI = facts.Is(append(f.PCI.Value, d), f.PCI.Source) }
}

func connectX5(f *facts.Facts) {
	function(facts.PCIDevice{
		Address: "0000:3b:00.0", Vendor: "15b3", Device: "1017", Class: "0200", Generation: facts.Is("connectx-5", "15b3:1017"),
		RDMACapable: true, WantsDriver: "mlx5_core", WantsRDMADriver: "mlx5_ib", WantsProvider: "mlx5",
	})(f)
}

func connectX3(f *facts.Facts) {
	function(facts.PCIDevice{
		Address: "0000:3b:00.0", Vendor: "15b3", Device: "1003", Class: "0280", Generation: facts.Is("connectx-3", "15b3:1003"),
		RDMACapable: true, WantsDriver: "mlx4_core", WantsRDMADriver: "mlx4_ib", WantsProvider: "mlx4",
	})(f)
}

func intelE810(f *facts.Facts) {
	function(facts.PCIDevice{
		Address: "0000:5e:00.0", Vendor: "8086", Device: "1592", Class: "0200", Description: facts.Is("Ethernet Controller E810-C", "lspci"),
		RDMACapable: true, WantsDriver: "ice", WantsRDMADriver: "irdma", WantsProvider: "irdma",
	})(f)
}

func cloudKernel(f *facts.Facts) {
	f.Kernel.Release = facts.Is("6.1.0-50-cloud-amd64", "/proc/sys/kernel/osrelease")
	f.Kernel.Flavour = facts.Is("cloud-amd64", "uname -r")
	f.Kernel.Installed = facts.Is([]string{"6.1.0-50-cloud-amd64"}, "/lib/modules")
	for _, option := range []string{"RDMA_RXE", "INFINIBAND_IPOIB", "INFINIBAND_ISER"} {
		f.Kernel.Config.Value[option] = "n"
	}
}

func inContainer(f *facts.Facts) {
	f.Platform.Container = facts.Is(true, "/.dockerenv")
	f.Platform.ContainerRuntime = facts.Is("docker", "/.dockerenv")
}

func installed(packages ...facts.Package) change {
	return func(f *facts.Facts) {
		f.Packages.Installed = facts.Is(append(f.Packages.Installed.Value, packages...), f.Packages.Installed.Source)
	}
}

func halfConfigured(f *facts.Facts) {
	f.Packages.Broken = facts.Is([]facts.Package{{Name: "linux-image-amd64", Version: "6.1.176-1", Status: "install ok half-configured"}}, "/var/lib/dpkg/status")
}

func vendorPackages(f *facts.Facts) {
	installed(
		facts.Package{Name: "libibverbs1", Version: "2410mlnx54-1.2410068", Status: "install ok installed", Origin: "mlnx-ofed"},
		facts.Package{Name: "ofed-scripts", Version: "24.10.OFED.24.10.1.1.4-1", Status: "install ok installed", Origin: "mlnx-ofed"},
	)(f)
}

func services(list ...facts.Service) change {
	return func(f *facts.Facts) { f.Services = list }
}

func unit(name, load, memlock string) facts.Service {
	return facts.Service{Name: name, Load: facts.Is(load, "systemctl show"), Memlock: facts.Is(memlock, "systemctl show")}
}

// carriedOut is the host after p was carried out on it.
func carriedOut(f facts.Facts, p plan.Plan) facts.Facts {
	managed := map[string]string{}
	for path, sum := range f.Managed.Value {
		managed[path] = sum
	}
	packages := append([]facts.Package{}, f.Packages.Installed.Value...)
	loaded := append([]facts.LoadedModule{}, f.Modules.Loaded.Value...)
	for _, s := range p.Steps {
		for _, one := range s.Changes.Packages {
			if one.Action == "restore" {
				packages = slices.DeleteFunc(packages, func(p facts.Package) bool { return p.Name == one.Name })
				f.Packages.OFEDInfo, f.Packages.Vendor = facts.None[string]("ofed_info -s"), facts.None[facts.VendorStack]("/var/lib/dpkg/status")
				f.Packages.Broken, f.Modules.DKMS = facts.Is[[]facts.Package](nil, "/var/lib/dpkg/status"), facts.None[[]facts.DKMSPackage]("dkms status")
				f.Modules.VendorSymbols = facts.None[[]string]("/usr/src/ofa_kernel")
				if strings.Contains(one.Name, "ofed") || strings.Contains(one.Name, "mlnx") || strings.HasPrefix(one.Name, "doca") {
					continue // the distribution has none of the name
				}
			}
			packages = append(packages, facts.Package{Name: one.Name, Version: "44.0-2", Status: "install ok installed", Origin: "inbox"})
		}
		for _, one := range s.Changes.Modules {
			loaded = append(loaded, facts.LoadedModule{Name: one.Name})
		}
		for _, one := range s.Changes.Files {
			sum := sha256.Sum256([]byte(one.Content))
			managed[one.Path] = hex.EncodeToString(sum[:])
		}
		for _, one := range s.Changes.Services {
			switch {
			case one.Name == "" || strings.HasPrefix(one.Name, "rdmactl-"):
			case one.Action == "enable":
				f.Services = append(slices.Clone(f.Services), facts.Service{Name: one.Name, Load: facts.Is("loaded", "systemctl show"), Enabled: facts.Is("enabled", "systemctl is-enabled")})
			case one.Action == "start":
				for i := range f.Services {
					if f.Services[i].Name == one.Name {
						f.Services[i].Active = facts.Is("active", "systemctl is-active")
					}
				}
			}
			if device, ok := strings.CutPrefix(one.Name, "rdmactl-rxe@"); ok && one.Action == "start" {
				f.RDMA = facts.Is([]facts.RDMADevice{rxe(strings.TrimSuffix(device, ".service"), "ens3")}, "/sys/class/infiniband")
			}
		}
	}
	f.Managed = facts.Is(managed, "/etc")
	f.Packages.Installed = facts.Is(packages, "/var/lib/dpkg/status")
	f.Modules.Loaded = facts.Is(loaded, "/proc/modules")
	return f
}

func rxe(name, parent string) facts.RDMADevice {
	return facts.RDMADevice{Name: name, Driver: facts.Is("rdma_rxe", "sysfs"), Parent: facts.Is(parent, "/sys/class/infiniband/"+name+"/parent")}
}

func profile(t *testing.T, name string) profiles.Profile {
	t.Helper()
	p, err := profiles.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func makePlan(t *testing.T, f facts.Facts, name string, req plan.Request) plan.Plan {
	t.Helper()
	p, err := plan.Make(f, profile(t, name), known(t), req)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func codes(reasons []plan.Reason) []string {
	var out []string
	for _, r := range reasons {
		out = append(out, r.Code)
	}
	return out
}

func stepIDs(p plan.Plan) []string {
	var out []string
	for _, s := range p.Steps {
		out = append(out, s.ID)
	}
	return out
}

func step(t *testing.T, p plan.Plan, id string) plan.Step {
	t.Helper()
	for _, s := range p.Steps {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("no step %s in %v", id, stepIDs(p))
	return plan.Step{}
}

// known is the built-in matrix.
func known(t testing.TB) *matrix.Index {
	t.Helper()
	m, err := matrix.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	x, err := matrix.NewIndex(m)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
