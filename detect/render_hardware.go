package detect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

func rdmaRows(devices facts.Field[[]facts.RDMADevice]) []string {
	list, ok := devices.Get()
	if !ok {
		return []string{shown(devices, func([]facts.RDMADevice) string { return "" })}
	}
	var rows []string
	for _, d := range list {
		head := d.Name
		if driver, ok := d.Driver.Get(); ok {
			head += " " + driver
		}
		if fw, ok := d.Firmware.Get(); ok {
			head += " fw " + fw
		}
		ports, ok := d.Ports.Get()
		if !ok {
			rows = append(rows, head+", ports "+shown(d.Ports, func([]facts.Port) string { return "" }))
			continue
		}
		for _, p := range ports {
			rows = append(rows, head+", port "+portText(p))
		}
	}
	return rows
}

func portText(p facts.Port) string {
	parts := []string{strconv.Itoa(p.Number) + " " + stateText(p)}
	if layer, ok := p.LinkLayer.Get(); ok {
		parts = append(parts, layer)
	}
	if rate, ok := p.Rate.Get(); ok {
		if !strings.Contains(rate, "Gb") {
			rate += " Gb/sec"
		}
		parts = append(parts, rate)
	}
	if mtu, ok := p.MTU.Get(); ok {
		parts = append(parts, "MTU "+strconv.Itoa(mtu))
	}
	if lid, ok := p.LID.Get(); ok && p.LinkLayer.Or("") == "InfiniBand" {
		parts = append(parts, "LID "+lidText(lid))
	}
	parts = append(parts, "GIDs "+gidsText(p.GIDs))
	return strings.Join(parts, ", ")
}

// stateText prints the logical and the physical state as sysfs does, and says which is not known.
func stateText(p facts.Port) string {
	state, logical := p.State.Get()
	phys, physical := p.PhysState.Get()
	switch {
	case logical && physical:
		return state + " " + phys
	case logical:
		return state + " (physical state unknown)"
	case physical:
		return "state unknown (physical state " + phys + ")"
	}
	return "state unknown"
}

// lidText prints a LID. A port without one shows the permissive LID.
func lidText(lid int) string {
	if lid == 0xffff {
		return "none"
	}
	return strconv.Itoa(lid)
}

// gidsText counts the GIDs by type.
func gidsText(gids facts.Field[[]facts.GID]) string {
	list, ok := gids.Get()
	if !ok {
		if gids.IsAbsent() {
			return "none"
		}
		return "unknown"
	}
	var kinds []string
	count := map[string]int{}
	for _, g := range list {
		kind := g.Type.Or("of unknown type")
		if count[kind]++; count[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", count[kind], kind)
	}
	return strings.Join(kinds, " + ")
}

// netdevRows shows the interfaces of RDMA ports and cards; without any, that of the default route.
func netdevRows(f facts.Facts) []string {
	var names []string
	add := func(list []string) {
		for _, name := range list {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, d := range f.PCI.Or(nil) {
		if d.RDMACapable {
			add(d.Netdevs.Or(nil))
		}
	}
	for _, d := range f.RDMA.Or(nil) {
		for _, p := range d.Ports.Or(nil) {
			add(p.Netdevs.Or(nil))
		}
	}
	if route, ok := f.Access.DefaultRouteNetdev.Get(); ok {
		add([]string{route})
	}
	var rows []string
	for _, name := range names {
		row := name
		for _, d := range f.Netdevs.Or(nil) {
			if d.Name != name {
				continue
			}
			if driver, ok := d.Driver.Get(); ok {
				row += " " + driver
			}
			if state, ok := d.OperState.Get(); ok {
				row += ", " + state
			}
			if mtu, ok := d.MTU.Get(); ok {
				row += ", MTU " + strconv.Itoa(mtu)
			}
			if addresses, ok := d.Addresses.Get(); ok {
				row += ", " + strings.Join(addresses, " ")
			}
		}
		if name == f.Access.DefaultRouteNetdev.Or("") {
			row += ", default route"
			if driver, ok := f.Access.DefaultRouteDriver.Get(); ok {
				row += " over " + driver
			}
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return []string{shown(f.Netdevs, func(list []facts.Netdev) string {
			return fmt.Sprintf("none of an RDMA card, %s", plural(len(list), "other"))
		})}
	}
	return rows
}

func cardRows(pci facts.Field[[]facts.PCIDevice]) []string {
	list, ok := pci.Get()
	if !ok {
		return []string{shown(pci, func([]facts.PCIDevice) string { return "" })}
	}
	var rows []string
	others := 0
	for _, d := range list {
		if !d.RDMACapable && !d.FlashRecovery && d.Vendor != "15b3" {
			others++
			continue
		}
		rows = append(rows, cardText(d))
	}
	if others > 0 {
		rows = append(rows, plural(others, "network function")+" without RDMA")
	}
	return rows // without any, the label's row says "none"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func cardText(d facts.PCIDevice) string {
	address := d.Address
	if address == "" {
		address = "address unknown"
	}
	parts := []string{address + " " + d.Vendor + ":" + d.Device}
	switch {
	case d.Generation.IsKnown():
		parts[0] += " " + d.Generation.Value
	case len(d.Candidates) > 0:
		parts[0] += " one of " + strings.Join(d.Candidates, " ")
	case d.Description.IsKnown():
		parts[0] += " " + d.Description.Value
	}
	if d.VF.Or(false) {
		parts[0] += " VF"
		if pf, ok := d.PF.Get(); ok {
			parts[0] += " of " + pf
		}
	}
	if d.FlashRecovery {
		parts = append(parts, "in flash recovery: its firmware does not start")
	}
	parts = append(parts, "driver "+brief(d.Driver))
	now, can := linkText(d.LinkNow), linkText(d.LinkMax)
	switch {
	case d.VF.Or(false) && !d.LinkNow.IsKnown(): // a VF has no link of its own
	case !d.LinkNow.IsKnown() && !d.LinkMax.IsKnown():
		parts = append(parts, "PCI link unknown")
	case now == can && d.LinkNow.IsKnown():
		parts = append(parts, "PCI link "+now+", as fast as it can")
	default:
		parts = append(parts, "PCI link now "+now+", can "+can)
	}
	return strings.Join(parts, ", ")
}

func linkText(f facts.Field[facts.Link]) string {
	if l, ok := f.Get(); ok {
		return fmt.Sprintf("%s GT/s x%d", strconv.FormatFloat(l.SpeedGTs, 'f', -1, 64), l.Width)
	}
	return "unknown"
}

func hostRow(f facts.Facts) string {
	distro := f.Distro.PrettyName.Or("")
	if distro == "" {
		distro = strings.TrimSpace(f.Distro.ID.Or("unknown distribution") + " " + f.Distro.VersionID.Or(f.Distro.Codename.Or("")))
	}
	parts := []string{distro, "kernel unknown"}
	if release, ok := f.Kernel.Release.Get(); ok {
		parts[1] = strings.TrimSpace("kernel " + release + " " + f.Kernel.Arch.Or(""))
	}
	switch {
	case f.Platform.Container.Or(false):
		parts = append(parts, strings.Join(strings.Fields("in a "+f.Platform.ContainerRuntime.Or("")+" container"), " "))
	case f.Platform.Virtualization.Or("") == "none":
		parts = append(parts, "bare metal")
	}
	if virt, ok := f.Platform.Virtualization.Get(); ok && virt != "none" {
		parts = append(parts, "on "+virt)
	} else if !ok {
		parts = append(parts, "virtualization unknown")
	}
	if enabled, ok := f.SecureBoot.Enabled.Get(); ok {
		parts = append(parts, map[bool]string{true: "Secure Boot on", false: "Secure Boot off"}[enabled])
	} else {
		parts = append(parts, "Secure Boot unknown")
	}
	if vendor, ok := f.Packages.OFEDInfo.Get(); ok {
		parts = append(parts, vendor)
	} else if v, ok := f.Packages.Vendor.Get(); ok {
		parts = append(parts, vendorText(v))
	}
	return strings.Join(parts, ", ")
}

// vendorText names an installed stack where no ofed_info does.
func vendorText(v facts.VendorStack) string {
	text := map[string]string{mlnxOFED: "MLNX_OFED", docaOFED: "DOCA-OFED", ofaOFED: "OFED"}[v.Stack]
	if v.Version != "" {
		text += " " + v.Version
	}
	if v.Driver != "" {
		text += " (driver " + v.Driver + ")"
	}
	return text
}

// useRows lists what needs the stack, one kind in a row.
func useRows(uses facts.Field[[]facts.Use]) []string {
	var rows []string
	last := ""
	for _, u := range uses.Or(nil) {
		item := strings.TrimSpace(u.Name + " " + u.Detail)
		if u.Kind == last {
			rows[len(rows)-1] += ", " + item
			continue
		}
		rows, last = append(rows, u.Kind+": "+item), u.Kind
	}
	return rows
}
