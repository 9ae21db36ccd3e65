package detect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

func TestSysfsValues(t *testing.T) {
	for in, want := range map[string]string{"4: ACTIVE": "ACTIVE", "1: CA": "CA", "5: LinkUp": "LinkUp"} {
		if got, err := afterColon(in); err != nil || got != want {
			t.Errorf("afterColon(%q) = %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "ACTIVE", "4:", ":"} {
		if got, err := afterColon(in); err == nil {
			t.Errorf("afterColon(%q) = %q, want an error", in, got)
		}
	}
	for in, want := range map[string]float64{"100 Gb/sec (4X EDR)": 100, "2.5 Gb/sec (1X SDR)": 2.5, "40": 40, "800 Gb/sec (8X NDR)": 800} {
		if got, err := portRate(in); err != nil || got != want {
			t.Errorf("portRate(%q) = %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "fast", "-1 Gb/sec", "100 Mb/sec", "1e9"} {
		if got, err := portRate(in); err == nil {
			t.Errorf("portRate(%q) = %v, want an error", in, got)
		}
	}
	for in, want := range map[string]float64{"8.0 GT/s PCIe": 8, "8 GT/s": 8, "2.5GT/s": 2.5, "64.0 GT/s PCIe": 64} {
		if got, err := pciSpeed(in); err != nil || got != want {
			t.Errorf("pciSpeed(%q) = %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "Unknown", "Unknown speed", "0xff"} {
		if got, err := pciSpeed(in); err == nil {
			t.Errorf("pciSpeed(%q) = %v, want an error", in, got)
		}
	}
	for in, want := range map[string]string{
		"0000:0000:0000:0000:0000:ffff:c000:0202": "192.0.2.2", "fe80:0000:0000:0000:0202:c9ff:fe00:0001": "",
		"0000:0000:0000:0000:0000:0000:c000:0202": "", "": "", "x": "",
	} {
		if got := mappedIPv4(in); got != want {
			t.Errorf("mappedIPv4(%q) = %q, want %q", in, got, want)
		}
	}
	if gidType("IB/RoCE v1", "InfiniBand") != "IB" || gidType("IB/RoCE v1", "Ethernet") != "RoCE v1" || gidType("IB/RoCE v1", "") != "IB/RoCE v1" || gidType("RoCE v2", "Ethernet") != "RoCE v2" {
		t.Error("GID types")
	}
	for in, want := range map[string]string{"MT4125": "101d", "MT4099": "1003", "MT4119 ": "1017", "MT_0000000011": "", "4125": "", "": "", "MT99999": ""} {
		if got, ok := partNumber(in); got != want || ok != (want != "") {
			t.Errorf("partNumber(%q) = %q, %v", in, got, ok)
		}
	}
}

func TestTextsOfPrograms(t *testing.T) {
	port := func(n int, change func(*facts.Port)) facts.Field[[]facts.Port] {
		p := facts.Port{Number: n}
		change(&p)
		return facts.Is([]facts.Port{p}, "s")
	}
	tests := []struct {
		name  string
		parse func(text, source string) []facts.RDMADevice
		text  string
		want  []facts.RDMADevice
	}{
		{
			"iWARP in ibv_devinfo", parseIbvDevinfo, "hca_id:\tsiw0\n\ttransport:\tiWARP (1)\n\t\tport:\t1\n\t\t\tstate:\tPORT_ACTIVE (4)\n\t\t\tGID[  0]:\tfe80::1, RoCE v2\n\t\t\tGID[  1]:\t::\n",
			[]facts.RDMADevice{{Name: "siw0", NodeType: facts.Is("RNIC", "s"), Ports: port(1, func(p *facts.Port) {
				p.State = facts.Is("ACTIVE", "s")
				p.GIDs = facts.Is([]facts.GID{{Index: 0, GID: "fe80:0000:0000:0000:0000:0000:0000:0001", Type: facts.Is("RoCE v2", "s")}}, "s")
			})}},
		},
		{"ibv_devinfo without devices", parseIbvDevinfo, "No IB devices found\n", nil},
		{
			"another vendor's part number is no Mellanox type", parseIbvDevinfo, "hca_id: bnxt_re0\n vendor_id: 0x14e4\n vendor_part_id: 5847\n",
			[]facts.RDMADevice{{Name: "bnxt_re0", HCAType: facts.Is("5847", "s")}},
		},
		{
			"rdma link before iproute2 5", parseRdmaLink, "1/1: mlx5_0/1: subnet_prefix fe80:0000:0000:0000 lid 13399 sm_lid 49151 lmc 0 state ACTIVE physical_state LINK_UP\n",
			[]facts.RDMADevice{{Name: "mlx5_0", Ports: port(1, func(p *facts.Port) {
				p.LID, p.SMLID = facts.Is(13399, "s"), facts.Is(49151, "s")
				p.LinkLayer, p.State, p.PhysState = facts.Is("InfiniBand", "s"), facts.Is("ACTIVE", "s"), facts.Is("LinkUp", "s")
			})}},
		},
		{
			"rdma dev", parseRdmaDev, "0: mlx5_0: node_type ca fw 20.31.1014 node_guid b8ce:f603:0000:0001 sys_image_guid b8ce:f603:0000:0001\n",
			[]facts.RDMADevice{{Name: "mlx5_0", NodeType: facts.Is("CA", "s"), Firmware: facts.Is("20.31.1014", "s"), NodeGUID: facts.Is("b8ce:f603:0000:0001", "s")}},
		},
		{
			"ibdev2netdev -v", parseIbdev2netdev, "0000:08:00.0 mlx5_0 (MT4125 - MCX623106AS) CX6 Dx fw 22.31.1014 port 1 (ACTIVE) ==> eth0 (Up)\nmlx5_1 port 1 ==> ib1 (Down)\n",
			[]facts.RDMADevice{
				{Name: "mlx5_0", PCI: facts.Is("0000:08:00.0", "s"), Ports: port(1, func(p *facts.Port) { p.Netdevs = facts.Is([]string{"eth0"}, "s") })},
				{Name: "mlx5_1", Ports: port(1, func(p *facts.Port) { p.Netdevs = facts.Is([]string{"ib1"}, "s") })},
			},
		},
		{"ibstat of no device", parseIbstat, "ibpanic: [42] main: stat of IB device 'mlx5_0' failed: No such file or directory\n", nil},
		{"show_gids of nothing", parseShowGIDs, "DEV\tPORT\tINDEX\tGID\tIPv4\tVER\tDEV\n---\t----\t-----\t---\t-----\t---\t---\nn_gids_found=0\n", nil},
		{"ibv_devices heading only", parseIbvDevices, "    device          \t   node GUID\n    ------          \t----------------\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.parse(tt.text, "s")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// show_gids with an empty table says that no port has a GID; no show_gids says nothing.
func TestEmptyGIDTable(t *testing.T) {
	e := &host.Evidence{Commands: map[string]host.Answer{
		"ibv_devices": {Stdout: "    mlx5_0          \t98039b0300000001\n"},
		"show_gids":   {Stdout: "DEV\tPORT\tINDEX\tGID\nn_gids_found=0\n"},
	}}
	ports := detected(t, e).RDMA.Or(nil)[0].Ports.Or(nil)
	if len(ports) != 1 || !ports[0].GIDs.IsAbsent() {
		t.Errorf("got %+v", ports)
	}
	delete(e.Commands, "show_gids")
	if ports := detected(t, e).RDMA.Or(nil)[0].Ports; ports.IsKnown() {
		t.Errorf("got %+v", ports)
	}
}

// Soft-iWARP has no parent file; its module tells it from iWARP in hardware.
func TestSoftIWARP(t *testing.T) {
	e := &host.Evidence{
		Files: map[string]string{"/sys/class/infiniband/siw0/node_type": "4: RNIC\n", "/proc/modules": "siw 200704 0 - Live 0x0\n"},
		Dirs:  map[string][]string{"/sys/class/infiniband": {"siw0"}},
	}
	if d := detected(t, e).RDMA.Or(nil)[0]; d.Driver.Or("") != "siw" || !d.PCI.IsAbsent() {
		t.Errorf("got %+v", d)
	}
	e.Files["/proc/modules"] = "irdma 200704 0 - Live 0x0\n"
	if d := detected(t, e).RDMA.Or(nil)[0]; d.Driver.IsKnown() {
		t.Errorf("got %+v", d.Driver)
	}
}

func FuzzSysfsValue(f *testing.F) {
	for _, s := range []string{"4: ACTIVE", "100 Gb/sec (4X EDR)", "8.0 GT/s PCIe", "0x101d", "MT4125", "fe80::1", "0000:0000:0000:0000:0000:ffff:c000:0202", "0x020000", "none [integrity]", "Y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if word, err := afterColon(s); err == nil && word == "" {
			t.Error("an empty state")
		}
		if rate, err := portRate(s); err == nil && (rate < 0 || rate > 100000) {
			t.Errorf("rate %v", rate)
		}
		if speed, err := pciSpeed(s); err == nil && (speed < 0 || speed > 1000) {
			t.Errorf("speed %v", speed)
		}
		if gid, ok := fullGID(s); ok && len(gid) != len(zeroGID) {
			t.Errorf("GID %q", gid)
		}
		if part, ok := partNumber(s); ok && len(part) != 4 {
			t.Errorf("part %q", part)
		}
		if guid, ok := sysfsGUID(s); ok && len(guid) != 19 {
			t.Errorf("GUID %q", guid)
		}
		if word, err := bracketed(s); err == nil && word == "" {
			t.Error("an empty word")
		}
		_ = mappedIPv4(s)
		_ = classCode(s)
		_ = kernelFlavour(s)
		if n, err := number(s); err == nil && n != int(int32(n)) {
			t.Errorf("number %d", n)
		}
	})
}

func FuzzIbvDevinfo(f *testing.F) {
	f.Add("hca_id:\tmlx5_0\n\ttransport:\t\t\tInfiniBand (0)\n\tvendor_part_id:\t4123\n\t\tport:\t1\n\t\t\tstate:\tPORT_ACTIVE (4)\n\t\t\tactive_mtu:\t4096 (5)\n\t\t\tGID[  0]:\tfe80::1, RoCE v2\n")
	f.Add("CA 'mlx5_0'\n\tCA type: MT4099\n\tPort 1:\n\t\tState: Active\n\t\tRate: 40\n")
	f.Add("link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth0\n0: mlx5_0: node_type ca fw 1.2\n")
	f.Add("mlx4_0\t1\t0\tfe80::1\t\tv1\teth2\nInfiniband device 'a' port 1 status:\n\tstate: 4: ACTIVE\n")
	f.Fuzz(func(t *testing.T, text string) {
		var devices []facts.RDMADevice
		for _, parse := range []func(text, source string) []facts.RDMADevice{
			parseIbvDevinfo, parseIbstat, parseIbstatus, parseRdmaLink, parseRdmaDev, parseShowGIDs, parseIbvDevices, parseIbdev2netdev,
		} {
			devices = mergeRDMA(devices, parse(text, "s"))
		}
		seen := map[string]bool{}
		for _, d := range devices {
			if seen[d.Name] {
				t.Errorf("%q is there twice", d.Name)
			}
			seen[d.Name] = true
			for _, p := range d.Ports.Or(nil) {
				if p.Number < 1 || p.Number > 255 {
					t.Errorf("port %d", p.Number)
				}
			}
		}
	})
}
