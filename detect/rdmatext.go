package detect

import (
	"slices"

	"github.com/rdmactl/rdmactl/facts"
)

// rdmaFromText reads what programs printed about RDMA devices. It is asked of evidence only: on a
// live host they would make the kernel load ib_core.
func (p probe) rdmaFromText() (devices []facts.RDMADevice, source string) {
	for _, t := range []struct {
		parse func(text, source string) []facts.RDMADevice
		lines []string
	}{
		{parseIbvDevinfo, []string{"ibv_devinfo -v", "ibv_devinfo", "ibv_devinfo -vv"}},
		{parseIbstat, []string{"ibstat", "ibstat -v"}},
		{parseIbstatus, []string{"ibstatus"}},
		{parseRdmaLink, []string{"rdma link", "rdma link show", "rdma link show -d", "rdma -d link", "rdma -d link show"}},
		{parseRdmaDev, []string{"rdma dev", "rdma dev show", "rdma -d dev", "rdma -d dev show"}},
		{parseShowGIDs, []string{"show_gids"}},
		{parseIbvDevices, []string{"ibv_devices"}},
		{parseIbdev2netdev, []string{"ibdev2netdev", "ibdev2netdev -v"}},
	} {
		for _, line := range t.lines {
			text, from := p.firstTold(line)
			if text == "" {
				continue
			}
			devices = mergeRDMA(devices, t.parse(text, from))
			if source == "" {
				source = from
			}
		}
	}
	return devices, source
}

// mergeRDMA adds what a further source tells. The first source of a field keeps it.
func mergeRDMA(devices, more []facts.RDMADevice) []facts.RDMADevice {
	for _, d := range more {
		at := slices.IndexFunc(devices, func(old facts.RDMADevice) bool { return old.Name == d.Name })
		if at < 0 {
			devices = append(devices, d)
			continue
		}
		old := &devices[at]
		fill(&old.NodeType, d.NodeType)
		fill(&old.Firmware, d.Firmware)
		fill(&old.PSID, d.PSID)
		fill(&old.NodeGUID, d.NodeGUID)
		fill(&old.NodeDesc, d.NodeDesc)
		fill(&old.HCAType, d.HCAType)
		fill(&old.PCI, d.PCI)
		fill(&old.Driver, d.Driver)
		fill(&old.Parent, d.Parent)
		fill(&old.Uverbs, d.Uverbs)
		if !old.Ports.IsKnown() {
			fill(&old.Ports, d.Ports)
			continue
		}
		old.Ports.Value = mergePorts(old.Ports.Value, d.Ports.Or(nil))
	}
	return devices
}

func mergePorts(ports, more []facts.Port) []facts.Port {
	for _, port := range more {
		at := slices.IndexFunc(ports, func(old facts.Port) bool { return old.Number == port.Number })
		if at < 0 {
			ports = append(ports, port)
			continue
		}
		old := &ports[at]
		fill(&old.LinkLayer, port.LinkLayer)
		fill(&old.State, port.State)
		fill(&old.PhysState, port.PhysState)
		fill(&old.RateGbps, port.RateGbps)
		fill(&old.Rate, port.Rate)
		fill(&old.LID, port.LID)
		fill(&old.SMLID, port.SMLID)
		fill(&old.MTU, port.MTU)
		fill(&old.GIDs, port.GIDs)
		fill(&old.PKeys, port.PKeys)
		fill(&old.Netdevs, port.Netdevs)
	}
	slices.SortStableFunc(ports, func(a, b facts.Port) int { return a.Number - b.Number })
	return ports
}
