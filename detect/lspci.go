package detect

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/detect/internal/pciid"
	"github.com/rdmactl/rdmactl/facts"
)

// lspciLines are the forms in which people paste lspci, the richest first.
func lspciLines() []string {
	return []string{
		"lspci -nn -vv", "lspci -nnvv", "lspci -vvnn", "lspci -vv -nn", "lspci -nn -vvv", "lspci -nnvvv", "lspci -vvvnn", "lspci -Dnnvv",
		"lspci -nnk", "lspci -nn -k", "lspci -Dnnk", "lspci -nnv", "lspci -nn -v", "lspci -nn", "lspci -Dnn", "lspci -D -nn",
		"lspci -nn -d 15b3:", "lspci -d 15b3: -nn", "lspci -nnk -d 15b3:", "lspci -d 15b3: -nnk", "lspci -vvnn -d 15b3:",
		"lspci -nn | grep -i mellanox", "lspci -nn | grep Mellanox", "lspci -nn | grep -i mell",
		"lspci -n", "lspci -n -d 15b3:", "lspci -vvv", "lspci -vv", "lspci -v", "lspci -k", "lspci",
		"lspci | grep -i mellanox", "lspci | grep Mellanox", "lspci | grep -i mell",
	}
}

// pciFromLspci reads every listing that the source tells and merges them by address: one may have
// the ids, another the driver.
func (p probe) pciFromLspci(table *pciid.Table) facts.Field[[]facts.PCIDevice] {
	lines := lspciLines()
	if !p.evidence() {
		// A live host without sysfs for PCI is rare; one form is enough there.
		text, err := p.run("lspci", "-nn", "-vv")
		if err != nil {
			return field[[]facts.PCIDevice](nil, "lspci -nn -vv", err)
		}
		return functions(parseLspci(text, "lspci -nn -vv", table), "lspci -nn -vv")
	}
	var devices []facts.PCIDevice
	source := ""
	for _, line := range lines {
		text, _ := p.firstTold(line)
		if text == "" {
			// An empty answer of lspci is a host without PCI devices, one of grep without such ones.
			res, err := p.r.Query(p.ctx, strings.Fields(line)...)
			empty := err == nil && (res.Exit == 0 || res.Exit == 1 && strings.Contains(line, "| grep") && res.Stderr == "")
			if !empty {
				continue
			}
		}
		if source == "" {
			source = line
		}
		devices = mergePCI(devices, parseLspci(text, line, table))
	}
	switch {
	case source == "":
		return facts.Field[[]facts.PCIDevice]{Source: "lspci -nn"}
	}
	return functions(devices, source)
}

// mergePCI adds functions to a list, by address. What a listing prints twice stays what it was first.
func mergePCI(devices, more []facts.PCIDevice) []facts.PCIDevice {
	at := make(map[string]int, len(devices)+len(more))
	for i := range devices {
		if _, seen := at[devices[i].Address]; !seen {
			at[devices[i].Address] = i
		}
	}
	for _, d := range more {
		if i, seen := at[d.Address]; seen {
			old := &devices[i]
			if old.Device == "" {
				old.Vendor, old.Device = d.Vendor, d.Device
			}
			if old.Class == "" {
				old.Class = d.Class
			}
			fill(&old.Description, d.Description)
			fill(&old.Driver, d.Driver)
			fill(&old.Subvendor, d.Subvendor)
			fill(&old.Subdevice, d.Subdevice)
			fill(&old.LinkNow, d.LinkNow)
			fill(&old.LinkMax, d.LinkMax)
			fill(&old.NUMANode, d.NUMANode)
			fill(&old.NumVFs, d.NumVFs)
			continue
		}
		at[d.Address] = len(devices)
		devices = append(devices, d)
	}
	return devices
}

var (
	// "[domain:]bus:device.function" and the rest.
	lspciHead = regexp.MustCompile(`^(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])\s+(.+)$`)
	// "Ethernet controller [0200]: Vendor Device [15b3:1017] (rev 01)"
	lspciNamed = regexp.MustCompile(`^([^\[\]:]*)\[([0-9a-f]{4})\]: (.*)\[([0-9a-f]{4}):([0-9a-f]{4})\]`)
	// "0200: 15b3:1017 (rev 01)"
	lspciNumbers = regexp.MustCompile(`^([0-9a-f]{4}): ([0-9a-f]{4}):([0-9a-f]{4})\b`)
	lspciSub     = regexp.MustCompile(`\[([0-9a-f]{4}):([0-9a-f]{4})\]\s*$`)
	lspciLink    = regexp.MustCompile(`Speed ([0-9.]+GT/s)[^,]*, Width x([0-9]+)`)
	lspciVFs     = regexp.MustCompile(`Number of VFs: ([0-9]+)`)
)

// parseLspci reads lspci's text with or without ids, domains and details. Functions other than
// network ones and cards in flash recovery are left out.
func parseLspci(text, source string, table *pciid.Table) []facts.PCIDevice {
	var devices []facts.PCIDevice
	var current *facts.PCIDevice
	// Only -k and -v print the driver, so that its line's absence means something.
	drivers := strings.Contains(text, "Kernel driver in use:")
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := lspciHead.FindStringSubmatch(line); m != nil {
			current = nil
			d, ok := lspciFunction(m, source, table)
			if !ok {
				continue
			}
			if drivers {
				d.Driver = facts.None[string](source)
			}
			devices = append(devices, d)
			current = &devices[len(devices)-1]
			continue
		}
		if current == nil {
			continue
		}
		lspciDetail(current, strings.TrimSpace(line), source)
	}
	return devices
}

func lspciFunction(m []string, source string, table *pciid.Table) (facts.PCIDevice, bool) {
	domain := m[1]
	if domain == "" {
		domain = "0000"
	}
	d := facts.PCIDevice{Address: strings.ToLower(fmt.Sprintf("%s:%s:%s.%s", domain, m[2], m[3], m[4]))}
	rest := m[5]
	if n := lspciNamed.FindStringSubmatch(rest); n != nil {
		d.Class, d.Vendor, d.Device = n[2], n[4], n[5]
		d.Description = facts.Is(strings.TrimSpace(n[3]), source)
	} else if n := lspciNumbers.FindStringSubmatch(rest); n != nil {
		d.Class, d.Vendor, d.Device = n[1], n[2], n[3]
	} else if !lspciNames(&d, rest, source, table) {
		return d, false
	}
	fn, _ := table.Lookup(d.Vendor, d.Device)
	return d, fn.Role != pciid.Auxiliary && (isNetwork(d.Class) || fn.Role == pciid.FlashRecovery)
}

// lspciNames reads a line without numbers. The class has a fixed name; the id of a Mellanox function
// follows from the name that pci.ids gives it.
func lspciNames(d *facts.PCIDevice, rest, source string, table *pciid.Table) bool {
	class, name, ok := strings.Cut(rest, ": ")
	if !ok {
		return false
	}
	switch class {
	case "Ethernet controller":
		d.Class = "0200"
	case "Infiniband controller", "InfiniBand controller":
		d.Class = "0207"
	case "Fabric controller":
		d.Class = "0208"
	case "Network controller":
		d.Class = "0280"
	default:
		return false
	}
	if at := strings.LastIndex(name, " (rev "); at > 0 {
		name = name[:at]
	}
	d.Description = facts.Is(name, source)
	if chip, ok := strings.CutPrefix(name, "Mellanox Technologies "); ok {
		d.Vendor = pciid.Mellanox
		if fn, ok := table.ByName(d.Vendor, strings.TrimSpace(chip)); ok {
			d.Device = fn.Device
		}
	}
	return true
}

func lspciDetail(d *facts.PCIDevice, line, source string) {
	key, value, ok := strings.Cut(line, ":")
	if !ok {
		return
	}
	value = strings.TrimSpace(value)
	switch strings.TrimSpace(key) {
	case "Subsystem":
		if m := lspciSub.FindStringSubmatch(value); m != nil {
			d.Subvendor, d.Subdevice = facts.Is(m[1], source), facts.Is(m[2], source)
		}
	case "Kernel driver in use":
		d.Driver = facts.Is(value, source)
	case "LnkCap":
		fill(&d.LinkMax, lspciLinkOf(value, source))
	case "LnkSta":
		fill(&d.LinkNow, lspciLinkOf(value, source))
	case "NUMA node":
		if n, err := strconv.Atoi(value); err == nil {
			d.NUMANode = facts.Is(n, source)
		}
	case "Initial VFs":
		if m := lspciVFs.FindStringSubmatch(line); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil {
				d.NumVFs = facts.Is(n, source)
			}
		}
	}
}

func lspciLinkOf(value, source string) facts.Field[facts.Link] {
	m := lspciLink.FindStringSubmatch(value)
	if m == nil {
		return facts.Field[facts.Link]{Source: source}
	}
	gts, err := pciSpeed(m[1])
	width, widthErr := strconv.Atoi(m[2])
	if err != nil || widthErr != nil || width <= 0 || width > 64 {
		return facts.Field[facts.Link]{Source: source}
	}
	return facts.Is(facts.Link{SpeedGTs: gts, Width: width}, source)
}
