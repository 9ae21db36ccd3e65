package detect

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

const rdmaDir = "/sys/class/infiniband"

// rdma lists the RDMA devices from sysfs. Evidence may tell the same, or more, in the words of
// rdma-core's and iproute2's programs.
func (p probe) rdma() facts.Field[[]facts.RDMADevice] {
	names, complete, err := p.listed(rdmaDir)
	uverbs := p.uverbsNames()
	var devices []facts.RDMADevice
	for _, name := range names {
		d := p.rdmaDevice(name)
		if node, ok := uverbs[name]; ok {
			d.Uverbs = facts.Is(node, "/sys/class/infiniband_verbs/"+node+"/ibdev")
		}
		devices = append(devices, d)
	}
	source := rdmaDir
	if p.evidence() {
		more, from := p.rdmaFromText()
		if len(devices) == 0 && from != "" {
			source = from
		}
		devices = mergeRDMA(devices, more)
		p.completePorts(devices)
		slices.SortStableFunc(devices, func(a, b facts.RDMADevice) int { return strings.Compare(a.Name, b.Name) })
	}
	switch {
	case len(devices) > 0:
		return facts.Is(devices, source)
	case complete, errors.Is(err, fs.ErrNotExist):
		return facts.None[[]facts.RDMADevice](rdmaDir)
	}
	return field(devices, rdmaDir, err)
}

// completePorts adds what evidence tells of all devices at once: that the table of show_gids is empty,
// and the interfaces beside ports that only a text named.
func (p probe) completePorts(devices []facts.RDMADevice) {
	table, source := p.firstTold("show_gids")
	empty := strings.Contains(table, "n_gids_found=0")
	for i := range devices {
		d := &devices[i]
		if empty && d.Ports.IsUnknown() {
			d.Ports = facts.Is([]facts.Port{{Number: 1}}, source) // every device has a port 1
		}
		for j := range d.Ports.Value {
			port := &d.Ports.Value[j]
			if empty {
				fill(&port.GIDs, facts.None[[]facts.GID](source))
			}
			if port.Netdevs.IsUnknown() {
				fill(&port.Netdevs, p.portNetdevs(rdmaDir+"/"+d.Name, port.Number, *d, nil))
			}
		}
	}
}

// uverbsNames maps devices to their verbs nodes.
func (p probe) uverbsNames() map[string]string {
	const dir = "/sys/class/infiniband_verbs"
	names, _, err := p.listed(dir)
	if err != nil {
		return nil
	}
	nodes := map[string]string{}
	for _, name := range names {
		if !strings.HasPrefix(name, "uverbs") {
			continue // abi_version
		}
		if dev, ok := p.attr(dir + "/" + name + "/ibdev").Get(); ok {
			nodes[dev] = name
		}
	}
	return nodes
}

func (p probe) rdmaDevice(name string) facts.RDMADevice {
	dir := rdmaDir + "/" + name
	d := facts.RDMADevice{
		Name:     name,
		NodeType: parsed(p.attr(dir+"/node_type"), afterColon),
		Firmware: p.attr(dir + "/fw_ver"), // Linux 4.10 and later
		PSID:     p.attr(dir + "/board_id"),
		NodeGUID: p.attr(dir + "/node_guid"),
		NodeDesc: p.attr(dir + "/node_desc"),
		HCAType:  p.attr(dir + "/hca_type"),
		Parent:   p.attr(dir + "/parent"), // rxe only
	}
	p.rdmaParent(dir, &d)
	numbers, _, err := p.listed(dir + "/ports")
	if err != nil {
		d.Ports = field[[]facts.Port](nil, dir+"/ports", err)
		return d
	}
	var ports []facts.Port
	for _, n := range numericNames(numbers) {
		ports = append(ports, p.rdmaPort(dir, n, d))
	}
	d.Ports = list(ports, dir+"/ports")
	return d
}

// rdmaParent says on which function or interface a device sits.
func (p probe) rdmaParent(dir string, d *facts.RDMADevice) {
	if d.Parent.IsKnown() {
		// Until Linux 5.x rxe's device link led to the parent interface's PCI function.
		d.PCI = facts.None[string](d.Parent.Source)
		d.Driver = facts.Is("rdma_rxe", d.Parent.Source)
		return
	}
	device := p.linkBase(dir + "/device")
	switch {
	case device.IsKnown() && pciAddress.MatchString(device.Value):
		d.PCI = device
		driver := p.linkBase(dir + "/device/driver")
		if driver.IsUnknown() {
			fill(&driver, p.linkBase(pciDir+"/"+device.Value+"/driver"))
		}
		d.Driver = parsed(driver, rdmaDriverOf)
	case device.IsKnown(), device.IsAbsent():
		d.PCI = facts.None[string](dir + "/device")
		d.Driver = facts.Field[string]{Source: dir + "/device"}
	default:
		d.PCI = device
		fill(&d.PCI, p.functionAbove(dir))
		d.Driver = facts.Field[string]{Source: device.Source}
		// Evidence may hold the ids behind the link and not the link.
		vendor, device := p.attr(dir+"/device/vendor").Or(""), p.attr(dir+"/device/device")
		if vendor == "0x15b3" && d.HCAType.IsUnknown() {
			d.HCAType = parsed(device, func(id string) (string, error) {
				n, err := number(id)
				return "MT" + strconv.Itoa(n), err
			})
		}
	}
}

// rdmaDriverOf names the RDMA half of a network driver.
func rdmaDriverOf(driver string) (string, error) {
	for _, pair := range [][2]string{
		{"mlx5_core", "mlx5_ib"},
		{"mlx4_core", "mlx4_ib"},
		{"bnxt_en", "bnxt_re"},
		{"ice", "irdma"},
		{"i40e", "irdma"},
		{"idpf", "irdma"},
		{"qede", "qedr"},
		{"cxgb4", "iw_cxgb4"},
		{"hns3", "hns_roce_hw_v2"},
		{"mana", "mana_ib"},
		{"be2net", "ocrdma"},
		{"enic", "usnic_verbs"},
	} {
		if pair[0] == driver {
			return pair[1], nil
		}
	}
	return driver, nil // efa, erdma, hfi1, vmw_pvrdma, ionic_rdma: one driver
}

func pciDriverOf(rdma facts.Field[string]) facts.Field[string] {
	return parsed(rdma, func(s string) (string, error) {
		switch s {
		case "mlx5_ib":
			return "mlx5_core", nil
		case "mlx4_ib":
			return "mlx4_core", nil
		}
		return "", fmt.Errorf("the driver of the card of %s is not known", s)
	})
}

// withSoftwareDrivers names the driver of devices that are on no PCI function and have no parent
// file: Soft-iWARP, told by its module and its node type.
func withSoftwareDrivers(devices facts.Field[[]facts.RDMADevice], loaded facts.Field[[]facts.LoadedModule]) facts.Field[[]facts.RDMADevice] {
	for i := range devices.Value {
		d := &devices.Value[i]
		if d.NodeType.Or("") != "RNIC" || strings.HasPrefix(d.Driver.Or("siw"), "i") {
			continue // iw_cxgb4 and irdma are iWARP in hardware
		}
		for _, m := range loaded.Or(nil) {
			if m.Name == "siw" {
				d.Driver = facts.Is("siw", loaded.Source)
				d.PCI = facts.None[string](loaded.Source)
			}
		}
	}
	return devices
}

var kernelName = regexp.MustCompile(`^(mlx[45])_[0-9]+$`)

// withNamedDrivers takes the driver from the name that the kernel gives a device, where evidence
// tells nothing better. Names of udev's rules (rocep94s0, ibs1f0) start otherwise.
func withNamedDrivers(devices facts.Field[[]facts.RDMADevice]) facts.Field[[]facts.RDMADevice] {
	for i := range devices.Value {
		d := &devices.Value[i]
		if m := kernelName.FindStringSubmatch(d.Name); m != nil && d.Driver.IsUnknown() {
			d.Driver = facts.Is(m[1]+"_ib", "the name "+d.Name)
		}
	}
	return devices
}

func (p probe) rdmaPort(device string, n int, d facts.RDMADevice) facts.Port {
	dir := device + "/ports/" + strconv.Itoa(n)
	port := facts.Port{
		Number:    n,
		LinkLayer: p.attr(dir + "/link_layer"),
		State:     parsed(p.attr(dir+"/state"), afterColon),
		PhysState: parsed(p.attr(dir+"/phys_state"), afterColon),
		Rate:      p.attr(dir + "/rate"),
		LID:       parsed(p.attr(dir+"/lid"), number),
		SMLID:     parsed(p.attr(dir+"/sm_lid"), number),
		MTU:       facts.Field[int]{Source: "ibv_devinfo"},
		PKeys:     p.pkeys(dir + "/pkeys"),
	}
	port.RateGbps = parsed(port.Rate, portRate)
	var netdevs []string
	port.GIDs, netdevs = p.gids(dir, port.LinkLayer)
	port.Netdevs = p.portNetdevs(device, n, d, netdevs)
	return port
}

// portNetdevs are the interfaces of the GIDs, and those of the function whose dev_port is this port.
func (p probe) portNetdevs(device string, n int, d facts.RDMADevice, fromGIDs []string) facts.Field[[]string] {
	if parent, ok := d.Parent.Get(); ok {
		return facts.Is([]string{parent}, d.Parent.Source)
	}
	dir := device + "/device/net"
	names, _, err := p.listed(dir)
	if err != nil {
		if len(fromGIDs) > 0 {
			return facts.Is(fromGIDs, device+"/ports/"+strconv.Itoa(n)+"/gid_attrs/ndevs")
		}
		return field(fromGIDs, dir, err)
	}
	all := slices.Clone(fromGIDs)
	for _, name := range names {
		// dev_port counts from 0; a card of one function for each port has 0 everywhere.
		devPort, err := number(p.attr(dir + "/" + name + "/dev_port").Or("0"))
		if err == nil && devPort+1 == n && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return list(all, dir)
}

const zeroGID = "0000:0000:0000:0000:0000:0000:0000:0000"

// gids lists the entries of a GID table that are set. The kernel answers EINVAL for the type and the
// interface of an empty entry, so those are not asked for.
func (p probe) gids(dir string, layer facts.Field[string]) (facts.Field[[]facts.GID], []string) {
	names, _, err := p.listed(dir + "/gids")
	if err != nil {
		return field[[]facts.GID](nil, dir+"/gids", err), nil
	}
	var gids []facts.GID
	var netdevs []string
	var failed error
	for _, i := range numericNames(names) {
		n := strconv.Itoa(i)
		text, err := p.text(dir + "/gids/" + n)
		if err != nil {
			failed = err
			continue
		}
		gid := strings.TrimSpace(text)
		if gid == zeroGID || gid == "" {
			continue
		}
		g := facts.GID{
			Index: i, GID: gid, IPv4: mappedIPv4(gid),
			Type:   parsed(p.attr(dir+"/gid_attrs/types/"+n), func(s string) (string, error) { return gidType(s, layer.Or("")), nil }),
			Netdev: p.attr(dir + "/gid_attrs/ndevs/" + n),
		}
		if name, ok := g.Netdev.Get(); ok && !slices.Contains(netdevs, name) {
			netdevs = append(netdevs, name)
		}
		gids = append(gids, g)
	}
	if len(gids) == 0 && failed != nil {
		return field[[]facts.GID](nil, dir+"/gids", failed), nil
	}
	return list(gids, dir+"/gids"), netdevs
}

// gidType tells the two meanings of "IB/RoCE v1" apart by the link layer.
func gidType(s, layer string) string {
	if s == "IB/RoCE v1" {
		switch layer {
		case "InfiniBand":
			return "IB"
		case "Ethernet":
			return "RoCE v1"
		}
	}
	return s
}

// mappedIPv4 returns the address of an IPv4-mapped GID, empty for any other.
func mappedIPv4(gid string) string {
	addr, err := netip.ParseAddr(gid)
	if err != nil || !addr.Is4In6() {
		return ""
	}
	return addr.Unmap().String()
}

// pkeys lists the valid partition keys.
func (p probe) pkeys(dir string) facts.Field[[]string] {
	names, _, err := p.listed(dir)
	if err != nil {
		return field[[]string](nil, dir, err)
	}
	var keys []string
	for _, i := range numericNames(names) {
		if key, ok := p.attr(dir + "/" + strconv.Itoa(i)).Get(); ok && key != "0x0000" {
			keys = append(keys, key)
		}
	}
	return list(keys, dir)
}

// numericNames returns the names that are numbers, in their order.
func numericNames(names []string) []int {
	var numbers []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil && n >= 0 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// afterColon reads "4: ACTIVE", the form of state, phys_state and node_type.
func afterColon(s string) (string, error) {
	_, word, ok := strings.Cut(s, ":")
	if word = strings.TrimSpace(word); !ok || word == "" {
		return "", fmt.Errorf("%q is not of the form \"NUMBER: NAME\"", s)
	}
	return word, nil
}

var rateText = regexp.MustCompile(`^([0-9]{1,5}(?:\.[0-9]+)?)(?: *Gb/sec.*)?$`)

// portRate reads "100 Gb/sec (4X EDR)" and ibstat's "100", in 10^9 bits per second.
func portRate(s string) (float64, error) {
	m := rateText.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("%q is not a rate in Gb/sec", s)
	}
	return strconv.ParseFloat(m[1], 64)
}

var partHCA = regexp.MustCompile(`^MT([0-9]{3,5})(?:$|[ _(])`)

// partNumber turns the type "MT4125" into the device id 101d.
func partNumber(s string) (string, bool) {
	m := partHCA.FindStringSubmatch(s)
	if m == nil {
		return "", false
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n > 0xffff {
		return "", false
	}
	return fmt.Sprintf("%04x", n), true
}
