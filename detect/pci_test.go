package detect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/detect/internal/pciid"
	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

func ids(t testing.TB) *pciid.Table {
	t.Helper()
	table, err := pciid.Load()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestParseLspci(t *testing.T) {
	tests := []struct {
		name, text string
		want       []facts.PCIDevice
	}{
		{"numbers only", "5e:00.0 0207: 15b3:101b (rev 01)\n", []facts.PCIDevice{{Address: "0000:5e:00.0", Class: "0207", Vendor: "15b3", Device: "101b"}}},
		{
			"names only", "0001:5e:00.1 Ethernet controller: Mellanox Technologies MT27800 Family [ConnectX-5] (rev 01)\n",
			[]facts.PCIDevice{{Address: "0001:5e:00.1", Class: "0200", Vendor: "15b3", Device: "1017", Description: facts.Is("Mellanox Technologies MT27800 Family [ConnectX-5]", "lspci")}},
		},
		{
			"an unknown name has no id", "5e:00.1 Ethernet controller: Mellanox Technologies Something New\n",
			[]facts.PCIDevice{{Address: "0000:5e:00.1", Class: "0200", Vendor: "15b3", Description: facts.Is("Mellanox Technologies Something New", "lspci")}},
		},
		{
			"driver", "01:00.0 Ethernet controller [0200]: X [8086:1521]\n\tKernel driver in use: igb\n\tKernel modules: igb\n02:00.0 Ethernet controller [0200]: Y [8086:1521]\n",
			[]facts.PCIDevice{
				{Address: "0000:01:00.0", Class: "0200", Vendor: "8086", Device: "1521", Description: facts.Is("X", "lspci"), Driver: facts.Is("igb", "lspci")},
				{Address: "0000:02:00.0", Class: "0200", Vendor: "8086", Device: "1521", Description: facts.Is("Y", "lspci"), Driver: facts.None[string]("lspci")},
			},
		},
		{"a GPU is not listed", "82:00.0 3D controller [0302]: NVIDIA Corporation GK110BGL [Tesla K40c] [10de:1024] (rev a1)\n", nil},
		{"details of an unlisted function are not the last one's", "82:00.0 3D controller [0302]: N [10de:1024]\n\tKernel driver in use: nvidia\n", nil},
		{"garbage", "lspci: command not found\n\t:\n::\n00:00.9 x\n", nil},
		{"empty", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, parseLspci(tt.text, "lspci", ids(t))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Two listings of one host complete each other.
func TestSeveralListings(t *testing.T) {
	e := &host.Evidence{Commands: map[string]host.Answer{
		"lspci -n": {Stdout: "5e:00.0 0200: 15b3:101d\n"},
		"lspci -k": {Stdout: "5e:00.0 Ethernet controller: Mellanox Technologies MT2892 Family [ConnectX-6 Dx]\n\tKernel driver in use: mlx5_core\n"},
	}}
	devices := detected(t, e).PCI.Or(nil)
	if len(devices) != 1 || devices[0].Device != "101d" || devices[0].Driver.Or("") != "mlx5_core" || devices[0].Generation.Or("") != "connectx-6-dx" {
		t.Errorf("got %+v", devices)
	}
	e.Commands = map[string]host.Answer{"lspci -nn": {}}
	if f := detected(t, e); !f.PCI.IsKnown() || len(f.PCI.Value) != 0 {
		t.Errorf("an empty listing gave %+v", f.PCI)
	}
	e.Commands = map[string]host.Answer{"lspci -nn | grep -i mellanox": {Exit: 1}}
	if f := detected(t, e); !f.PCI.IsKnown() || len(f.PCI.Value) != 0 {
		t.Errorf("an empty grep gave %+v", f.PCI)
	}
	e = &host.Evidence{Dirs: map[string][]string{"/sys/bus": {"virtio"}}}
	if f := detected(t, e); !f.PCI.IsAbsent() {
		t.Errorf("a kernel without PCI gave %+v", f.PCI)
	}
	e = &host.Evidence{Commands: map[string]host.Answer{"lspci -nn": {Exit: 1, Stderr: "pcilib: Cannot open /proc/bus/pci\n"}}}
	if f := detected(t, e); !f.PCI.IsUnknown() {
		t.Errorf("a failed lspci gave %+v", f.PCI)
	}
	e.Commands = map[string]host.Answer{"lspci -nn": {Exit: 127, Stderr: "bash: lspci: command not found\n"}}
	if f := detected(t, e); !f.PCI.IsUnknown() {
		t.Errorf("a missing lspci gave %+v", f.PCI)
	}
}

// A passed-through VF without its PF keeps its candidates; one of another vendor's bus too.
func TestGenerationOfVF(t *testing.T) {
	vf := func(address string) facts.PCIDevice {
		return facts.PCIDevice{Address: address, Class: "0200", Vendor: "15b3", Device: "101e"}
	}
	pf := func(address, device string) facts.PCIDevice {
		return facts.PCIDevice{Address: address, Class: "0200", Vendor: "15b3", Device: device}
	}
	withPF := vf("0000:05:01.0")
	withPF.PF = facts.Is("0000:04:00.0", "physfn")
	withPF.VF = facts.Is(true, "physfn")
	tests := []struct {
		name    string
		devices []facts.PCIDevice
		want    string
	}{
		{"alone", []facts.PCIDevice{vf("0000:05:00.2")}, ""},
		{"same bus", []facts.PCIDevice{vf("0000:05:00.2"), pf("0000:05:00.0", "1021")}, "connectx-7"},
		{"two PFs of one card", []facts.PCIDevice{vf("0000:05:00.2"), pf("0000:05:00.0", "1021"), pf("0000:05:00.1", "1021")}, "connectx-7"},
		{"bus 0 of a guest", []facts.PCIDevice{vf("0000:00:05.0"), pf("0000:00:06.0", "1021")}, ""},
		{"another domain", []facts.PCIDevice{vf("0001:05:00.2"), pf("0000:05:00.0", "1021")}, ""},
		{"another bus", []facts.PCIDevice{vf("0000:06:00.2"), pf("0000:05:00.0", "1021")}, ""},
		{"PFs that differ", []facts.PCIDevice{vf("0000:05:00.2"), pf("0000:05:00.0", "1021"), pf("0000:05:00.1", "101d")}, ""},
		{"a PF that has another VF id", []facts.PCIDevice{vf("0000:05:00.2"), pf("0000:05:00.0", "1017")}, ""},
		{"physfn names it", []facts.PCIDevice{withPF, pf("0000:04:00.0", "a2dc"), pf("0000:05:00.0", "1021")}, "bluefield-3"},
		{"physfn is not listed", []facts.PCIDevice{withPF, pf("0000:05:00.0", "1021")}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			identify(tt.devices, ids(t))
			got := tt.devices[0]
			if got.Generation.Value != tt.want || got.Generation.IsKnown() != (tt.want != "") || (len(got.Candidates) == 0) != (tt.want != "") {
				t.Errorf("got %+v, candidates %v", got.Generation, got.Candidates)
			}
		})
	}
}

func FuzzLspci(f *testing.F) {
	f.Add("5e:00.0 0207: 15b3:101b (rev 01)\n")
	f.Add("0000:5e:00.0 Infiniband controller [0207]: Mellanox Technologies MT28908 Family [ConnectX-6] [15b3:101b]\n\tLnkSta:\tSpeed 8GT/s (ok), Width x16\n")
	f.Add("af:00.0 Network controller: Mellanox Technologies MT27500 Family [ConnectX-3]\n\tSubsystem: a [15b3:0006]\n\tNUMA node: 1\n")
	table := ids(f)
	f.Fuzz(func(t *testing.T, text string) {
		devices := parseLspci(text, "lspci", table)
		identify(devices, table)
		for _, d := range mergePCI(nil, devices) {
			if !pciAddress.MatchString(d.Address) {
				t.Errorf("address %q", d.Address)
			}
			if l, ok := d.LinkNow.Get(); ok && (l.Width < 1 || l.SpeedGTs < 0) {
				t.Errorf("link %+v", l)
			}
		}
	})
}
