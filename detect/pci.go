package detect

import (
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/detect/internal/pciid"
	"github.com/rdmactl/rdmactl/facts"
)

const pciDir = "/sys/bus/pci/devices"

var pciAddress = regexp.MustCompile(`^([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])$`)

// isNetwork says that a class is one of networking: 0200 Ethernet, 0207 InfiniBand, 0208 fabric,
// 0280 other (some ConnectX-3 boards).
func isNetwork(class string) bool { return strings.HasPrefix(class, "02") }

// pciFromSysfs lists the network functions and the cards in flash recovery.
func (p probe) pciFromSysfs(table *pciid.Table) ([]facts.PCIDevice, error) {
	names, err := p.r.ReadDir(pciDir)
	if err != nil {
		return nil, err
	}
	var devices []facts.PCIDevice
	var failed error
	told := len(names) == 0
	for _, address := range names {
		dir := pciDir + "/" + address
		class, classErr := p.text(dir + "/class")
		if classErr != nil {
			// A function may vanish while it is read; one that cannot be read hides no others.
			if !errors.Is(classErr, fs.ErrNotExist) {
				failed = classErr
			}
			continue
		}
		told = true
		d := facts.PCIDevice{Address: address, Class: classCode(class)}
		vendor, _ := p.attr(dir + "/vendor").Get()
		d.Vendor = strings.TrimPrefix(vendor, "0x")
		if !isNetwork(d.Class) && d.Vendor != pciid.Mellanox {
			continue
		}
		device, _ := p.attr(dir + "/device").Get()
		d.Device = strings.TrimPrefix(device, "0x")
		fn, _ := table.Lookup(d.Vendor, d.Device)
		if !isNetwork(d.Class) && fn.Role != pciid.FlashRecovery {
			continue
		}
		if fn.Role == pciid.Auxiliary {
			continue
		}
		p.describePCI(dir, &d)
		devices = append(devices, d)
	}
	if !told && failed != nil {
		return nil, failed
	}
	return devices, nil
}

// classCode returns the class of "0x020000" without the programming interface.
func classCode(s string) string {
	s = strings.TrimPrefix(strings.TrimSpace(s), "0x")
	if len(s) < 4 {
		return s
	}
	return s[:4]
}

func hexID(s string) (string, error) { return strings.TrimPrefix(s, "0x"), nil }

// describePCI reads what sysfs tells of one function.
func (p probe) describePCI(dir string, d *facts.PCIDevice) {
	d.Subvendor = parsed(p.attr(dir+"/subsystem_vendor"), hexID)
	d.Subdevice = parsed(p.attr(dir+"/subsystem_device"), hexID)
	d.PF = p.linkBase(dir + "/physfn")
	switch {
	case d.PF.IsKnown():
		d.VF = facts.Is(true, d.PF.Source)
	case d.PF.IsAbsent():
		// A VF that is passed to a guest has no physfn there: only the id tells, see identify.
		d.VF = facts.Field[bool]{Source: d.PF.Source}
		d.PF = facts.Field[string]{Source: d.PF.Source}
	default:
		d.VF = facts.Field[bool]{State: d.PF.State, Source: d.PF.Source, Error: d.PF.Error}
	}
	d.NumVFs = parsed(p.attr(dir+"/sriov_numvfs"), number)
	d.Driver = p.linkBase(dir + "/driver")
	d.LinkNow = p.pciLink(dir + "/current_link_")
	d.LinkMax = p.pciLink(dir + "/max_link_")
	d.NUMANode = parsed(p.attr(dir+"/numa_node"), number)
	d.Netdevs = p.names(dir + "/net")
	d.RDMA = p.names(dir + "/infiniband")
}

// names lists a directory as a field.
func (p probe) names(dir string) facts.Field[[]string] {
	names, err := p.r.ReadDir(dir)
	if err != nil {
		return field(names, dir, err)
	}
	return list(names, dir)
}

// pciLink reads a pair of speed and width. A VF and a link that is down print 0 or "Unknown".
func (p probe) pciLink(prefix string) facts.Field[facts.Link] {
	speed, width := p.attr(prefix+"speed"), p.attr(prefix+"width")
	if !speed.IsKnown() {
		return facts.Field[facts.Link]{State: speed.State, Source: speed.Source, Error: speed.Error}
	}
	gts, err := pciSpeed(speed.Value)
	if err != nil {
		return facts.Failed[facts.Link](speed.Source, err)
	}
	lanes, err := number(width.Or(""))
	if err != nil || lanes <= 0 || lanes > 64 {
		return unknown[facts.Link](width.Source, "the link has no width (%q)", width.Or(""))
	}
	return facts.Is(facts.Link{SpeedGTs: gts, Width: lanes}, speed.Source)
}

var speedText = regexp.MustCompile(`^([0-9]{1,3}(?:\.[0-9])?) ?GT/s`)

// pciSpeed reads "8.0 GT/s PCIe", "8 GT/s" (before Linux 5.9) and lspci's "8GT/s".
func pciSpeed(s string) (float64, error) {
	m := speedText.FindStringSubmatch(s)
	if m == nil {
		return 0, errors.New(strconv.Quote(s) + " is not a link speed")
	}
	return strconv.ParseFloat(m[1], 64)
}

// identify adds what the id table knows. Where an id is shared by generations, that of a VF is its
// PF's.
func identify(devices []facts.PCIDevice, table *pciid.Table) {
	const source = "PCI id table"
	for i := range devices {
		d := &devices[i]
		fn, ok := table.Lookup(d.Vendor, d.Device)
		if !ok {
			if d.Vendor == pciid.Mellanox {
				d.Generation = unknown[string](source, "the id %s:%s is not in the table", d.Vendor, d.Device)
			} else {
				d.Generation = facts.None[string](source)
			}
			continue
		}
		if d.Description.IsUnknown() {
			d.Description = facts.Is(fn.Name, source)
		}
		d.FlashRecovery = fn.Role == pciid.FlashRecovery
		d.RDMACapable = fn.RDMADriver != "" && !d.FlashRecovery
		d.WantsDriver, d.WantsRDMADriver, d.WantsProvider = fn.Driver, fn.RDMADriver, fn.Provider
		if !d.VF.IsKnown() {
			d.VF = facts.Is(fn.VF, source)
		}
		if !d.VF.Value {
			d.PF = facts.None[string](d.VF.Source)
		}
		switch len(fn.Generations) {
		case 0:
			d.Generation = facts.None[string](source)
		case 1:
			d.Generation = facts.Is(fn.Generations[0], source)
		default:
			d.Candidates = fn.Generations
			d.Generation = unknown[string](source, "the id %s:%s is shared by %s", d.Vendor, d.Device, strings.Join(fn.Generations, ", "))
		}
	}
	for i := range devices {
		if d := &devices[i]; len(d.Candidates) > 0 {
			fromPF(d, devices)
		}
	}
}

// fromPF takes a VF's generation from its PF: the one that physfn names, or the one on the same bus.
// SR-IOV gives VFs routing ids next to their PF's, and a PCI Express link has one card; only bus 0
// of a virtual machine may hold functions of several.
func fromPF(d *facts.PCIDevice, devices []facts.PCIDevice) {
	if !d.VF.Or(false) {
		return
	}
	var parents []facts.PCIDevice
	for _, other := range devices {
		if other.Vendor != d.Vendor || !other.Generation.IsKnown() || other.VF.Or(true) || other.FlashRecovery {
			continue
		}
		if pf, ok := d.PF.Get(); ok {
			if other.Address == pf {
				parents = append(parents, other)
			}
			continue
		}
		m, n := pciAddress.FindStringSubmatch(d.Address), pciAddress.FindStringSubmatch(other.Address)
		if m != nil && n != nil && m[1] == n[1] && m[2] == n[2] && m[2] != "00" {
			parents = append(parents, other)
		}
	}
	if len(parents) == 0 {
		return
	}
	generation := parents[0].Generation.Value
	for _, other := range parents {
		if other.Generation.Value != generation {
			return
		}
	}
	if !slices.Contains(d.Candidates, generation) {
		return
	}
	d.Generation = facts.Is(generation, "physical function "+parents[0].Address)
	d.Candidates = nil
	if len(parents) == 1 && !d.PF.IsKnown() {
		d.PF = facts.Is(parents[0].Address, "same bus")
	}
}

// byFirmware takes the generation of a function that stays ambiguous from the firmware version of
// its RDMA device, which a VF reports as its PF does.
func byFirmware(devices []facts.PCIDevice, rdma []facts.RDMADevice, table *pciid.Table) {
	for i := range devices {
		d := &devices[i]
		if len(d.Candidates) == 0 {
			continue
		}
		for _, dev := range rdma {
			if address, ok := dev.PCI.Get(); !ok || address != d.Address || d.Address == "" {
				continue
			}
			generation, ok := table.ByFirmware(dev.Firmware.Or(""))
			if ok && slices.Contains(d.Candidates, generation) {
				d.Generation, d.Candidates = facts.Is(generation, dev.Firmware.Source), nil
			}
		}
	}
}
