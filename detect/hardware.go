package detect

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/detect/internal/pciid"
	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// hardware is what is read of cards, RDMA devices and network interfaces, which point at each other.
type hardware struct {
	pci     facts.Field[[]facts.PCIDevice]
	rdma    facts.Field[[]facts.RDMADevice]
	netdevs facts.Field[[]facts.Netdev]
}

func (p probe) hardware() hardware {
	if p.told.IsImage() {
		// The build host's cards are not the image's.
		const source, why = "--root", "an image has no hardware of its own"
		return hardware{
			unknown[[]facts.PCIDevice](source, why), unknown[[]facts.RDMADevice](source, why), unknown[[]facts.Netdev](source, why),
		}
	}
	hw := hardware{rdma: p.rdma(), netdevs: p.netdevs()}
	table, err := pciid.Load()
	if err != nil {
		hw.pci = facts.Failed[[]facts.PCIDevice]("PCI id table", err)
		return hw
	}
	devices, err := p.pciFromSysfs(table)
	switch {
	case errors.Is(err, host.ErrUnknown), errors.Is(err, fs.ErrNotExist):
		hw.pci = p.pciFromLspci(table)
		if hw.pci.IsUnknown() && errors.Is(err, fs.ErrNotExist) {
			hw.pci = facts.None[[]facts.PCIDevice](pciDir) // a kernel without PCI
		}
		if hw.pci.IsUnknown() {
			hw.pci = p.pciFromRDMA(hw.rdma, hw.pci)
		}
	case err != nil:
		hw.pci = facts.Failed[[]facts.PCIDevice](pciDir, err)
	default:
		hw.pci = functions(devices, pciDir)
	}
	if !hw.pci.IsKnown() {
		return hw
	}
	if p.evidence() {
		p.attrsOfListed(hw.pci.Value)
	}
	if p.evidence() {
		pair(hw)
	}
	relate(hw)
	identify(hw.pci.Value, table)
	byFirmware(hw.pci.Value, hw.rdma.Or(nil), table)
	return hw
}

// functions makes a field of a listing. One without network functions is known to be empty; absent
// is the bus itself.
func functions(devices []facts.PCIDevice, source string) facts.Field[[]facts.PCIDevice] {
	if devices == nil {
		devices = []facts.PCIDevice{}
	}
	return facts.Is(devices, source)
}

// attrsOfListed looks at sysfs files of functions that only lspci listed: evidence may hold single
// ones.
func (p probe) attrsOfListed(devices []facts.PCIDevice) {
	for i := range devices {
		d := &devices[i]
		if d.Address == "" {
			continue
		}
		var fromFiles facts.PCIDevice
		p.describePCI(pciDir+"/"+d.Address, &fromFiles)
		fill(&d.Subvendor, fromFiles.Subvendor)
		fill(&d.Subdevice, fromFiles.Subdevice)
		fill(&d.VF, fromFiles.VF)
		fill(&d.PF, fromFiles.PF)
		fill(&d.NumVFs, fromFiles.NumVFs)
		fill(&d.Driver, fromFiles.Driver)
		fill(&d.LinkNow, fromFiles.LinkNow)
		fill(&d.LinkMax, fromFiles.LinkMax)
		fill(&d.NUMANode, fromFiles.NUMANode)
		fill(&d.Netdevs, fromFiles.Netdevs)
		fill(&d.RDMA, fromFiles.RDMA)
	}
}

// pair joins a device of evidence to its function where no link tells, but only one function can be
// it: the only one with the part number that the device names, or the only card of the only device.
func pair(hw hardware) {
	for i := range hw.rdma.Value {
		dev := &hw.rdma.Value[i]
		if !dev.PCI.IsUnknown() || dev.PCI.Error != "" || strings.HasPrefix(dev.Name, "rxe") || strings.HasPrefix(dev.Name, "siw") {
			continue
		}
		part, told := partNumber(dev.HCAType.Or(""))
		var fits []string
		for _, d := range hw.pci.Or(nil) {
			if d.Vendor == pciid.Mellanox && (!told || d.Device == part) {
				fits = append(fits, d.Address)
			}
		}
		same := 0
		for _, other := range hw.rdma.Value {
			if otherPart, ok := partNumber(other.HCAType.Or("")); !told || !ok || otherPart == part {
				same++
			}
		}
		if len(fits) == 1 && same == 1 && fits[0] != "" {
			dev.PCI = facts.Is(fits[0], "the only function that it can be")
		}
	}
}

// relate completes pointers between functions, RDMA devices and interfaces from either side. A
// virtio interface is one level below its function and stands in no list of it.
func relate(hw hardware) {
	for i := range hw.pci.Value {
		d := &hw.pci.Value[i]
		var names []string
		source := ""
		for _, dev := range hw.rdma.Or(nil) {
			if address, ok := dev.PCI.Get(); ok && address == d.Address {
				names, source = append(names, dev.Name), dev.PCI.Source
			}
		}
		for j := range hw.rdma.Value {
			if dev := &hw.rdma.Value[j]; slices.Contains(names, dev.Name) && dev.Driver.IsUnknown() && d.Driver.IsKnown() {
				dev.Driver = parsed(d.Driver, rdmaDriverOf)
			}
		}
		if len(names) > 0 && !d.RDMA.IsKnown() {
			d.RDMA = facts.Is(names, source)
		}
		names = nil
		for _, n := range hw.netdevs.Or(nil) {
			if address, ok := n.PCI.Get(); ok && address == d.Address {
				names, source = append(names, n.Name), n.PCI.Source
			}
		}
		if len(names) > 0 && !d.Netdevs.IsKnown() {
			d.Netdevs = facts.Is(names, source)
		}
	}
}

// pciFromRDMA makes functions of what RDMA devices tell about their card, where no listing of PCI
// devices is there: the sysfs ids, or the part number that ibstat and ibv_devinfo print. The
// address stays empty where it is not told.
func (p probe) pciFromRDMA(rdma facts.Field[[]facts.RDMADevice], otherwise facts.Field[[]facts.PCIDevice]) facts.Field[[]facts.PCIDevice] {
	var devices []facts.PCIDevice
	source := ""
	for _, dev := range rdma.Or(nil) {
		if !strings.HasPrefix(dev.Name, "mlx") && !strings.HasPrefix(dev.HCAType.Or(""), "MT") && !strings.HasPrefix(dev.PSID.Or(""), "MT_") {
			continue
		}
		part, ok := partNumber(dev.HCAType.Or(""))
		if !ok {
			continue
		}
		d := facts.PCIDevice{
			Vendor: pciid.Mellanox, Device: part, Address: dev.PCI.Or(""), RDMA: facts.Is([]string{dev.Name}, dev.HCAType.Source),
			Driver: pciDriverOf(dev.Driver),
		}
		if ports := dev.Ports.Or(nil); slices.ContainsFunc(ports, func(port facts.Port) bool { return port.LinkLayer.Or("") == "InfiniBand" }) {
			d.Class = "0207"
		} else if len(ports) > 0 && ports[0].LinkLayer.IsKnown() {
			d.Class = "0200"
		}
		devices = append(devices, d)
		source = dev.HCAType.Source
	}
	if len(devices) == 0 {
		return otherwise
	}
	return facts.Is(devices, source)
}
