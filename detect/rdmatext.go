package detect

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

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

// builder collects devices and ports while lines go by.
type builder struct {
	source  string
	devices []facts.RDMADevice
	ports   [][]facts.Port
	inPort  bool
	vendor  string // of the device that is being read
}

func (b *builder) device(name string) *facts.RDMADevice {
	b.inPort = false
	for i := range b.devices {
		if b.devices[i].Name == name {
			return &b.devices[i]
		}
	}
	b.devices = append(b.devices, facts.RDMADevice{Name: name})
	b.ports = append(b.ports, nil)
	return &b.devices[len(b.devices)-1]
}

func (b *builder) last() *facts.RDMADevice {
	if len(b.devices) == 0 {
		return nil
	}
	return &b.devices[len(b.devices)-1]
}

// port returns a port of the device with index at, making it if need be.
func (b *builder) port(at, n int) *facts.Port {
	b.inPort = true
	for i := range b.ports[at] {
		if b.ports[at][i].Number == n {
			return &b.ports[at][i]
		}
	}
	b.ports[at] = append(b.ports[at], facts.Port{Number: n})
	return &b.ports[at][len(b.ports[at])-1]
}

func (b *builder) lastPort() *facts.Port {
	at := len(b.devices) - 1
	if at < 0 || !b.inPort || len(b.ports[at]) == 0 {
		return nil
	}
	return &b.ports[at][len(b.ports[at])-1]
}

func (b *builder) done() []facts.RDMADevice {
	for i := range b.devices {
		if len(b.ports[i]) > 0 {
			b.devices[i].Ports = facts.Is(b.ports[i], b.source)
		}
	}
	return b.devices
}

// portNumber reads the number of a port. No device has more than 255.
func portNumber(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n > 0 && n < 256
}

// parseIbvDevinfo reads ibv_devinfo with and without -v.
func parseIbvDevinfo(text, source string) []facts.RDMADevice {
	b := builder{source: source}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || value == "" {
			continue
		}
		if key == "hca_id" {
			b.device(value)
			b.vendor = ""
			continue
		}
		d := b.last()
		if d == nil {
			continue
		}
		if key == "port" {
			if n, ok := portNumber(value); ok {
				b.port(len(b.devices)-1, n)
			}
			continue
		}
		if port := b.lastPort(); port != nil {
			devinfoPort(port, key, value, source)
			continue
		}
		switch key {
		case "vendor_id":
			b.vendor = value
		case "vendor_part_id":
			// Mellanox devices tell the OUI as the vendor; sysfs and ibstat write MT before the number.
			if b.vendor == "0x02c9" || b.vendor == "0x15b3" {
				value = "MT" + value
			}
			d.HCAType = facts.Is(value, source)
		default:
			devinfoDevice(d, key, value, source)
		}
	}
	return b.done()
}

func devinfoDevice(d *facts.RDMADevice, key, value, source string) {
	switch key {
	case "transport":
		// "InfiniBand (0)" also on Ethernet ports; only iWARP differs.
		if strings.HasPrefix(value, "iWARP") {
			d.NodeType = facts.Is("RNIC", source)
		} else if strings.HasPrefix(value, "InfiniBand") {
			d.NodeType = facts.Is("CA", source)
		}
	case "fw_ver":
		d.Firmware = facts.Is(value, source)
	case "node_guid":
		d.NodeGUID = facts.Is(value, source)
	case "board_id":
		d.PSID = facts.Is(value, source)
	}
}

var (
	trailingCode = regexp.MustCompile(`\s*\([0-9]+\)$`)
	devinfoGID   = regexp.MustCompile(`^GID\[\s*([0-9]+)\]$`)
)

func devinfoPort(port *facts.Port, key, value, source string) {
	if m := devinfoGID.FindStringSubmatch(key); m != nil {
		gid, kind, _ := strings.Cut(value, ",")
		index, err := strconv.Atoi(m[1])
		full, ok := fullGID(strings.TrimSpace(gid))
		if err != nil || !ok || full == zeroGID {
			return
		}
		g := facts.GID{Index: index, GID: full, IPv4: mappedIPv4(full)}
		if kind = strings.TrimSpace(kind); kind != "" {
			g.Type = facts.Is(gidType(kind, port.LinkLayer.Or("")), source)
		}
		port.GIDs = facts.Is(append(port.GIDs.Or(nil), g), source)
		return
	}
	bare := trailingCode.ReplaceAllString(value, "")
	switch key {
	case "state":
		port.State = facts.Is(strings.TrimPrefix(bare, "PORT_"), source)
	case "active_mtu":
		port.MTU = parsed(facts.Is(bare, source), number)
	case "sm_lid":
		port.SMLID = parsed(facts.Is(bare, source), number)
	case "port_lid":
		port.LID = parsed(facts.Is(bare, source), number)
	case "link_layer":
		if bare == "InfiniBand" || bare == "Ethernet" {
			port.LinkLayer = facts.Is(bare, source)
		}
	case "phys_state":
		port.PhysState = facts.Is(physState(bare), source)
	}
}

// fullGID writes a GID as sysfs does: eight groups of four hex digits.
func fullGID(s string) (string, bool) {
	text := s
	if rest, ok := strings.CutPrefix(s, "::ffff:"); ok && strings.Contains(rest, ".") {
		text = s // netip reads the dotted form itself
	}
	addr, err := parseAddr(text)
	if err != nil {
		return "", false
	}
	b := addr.As16()
	var out strings.Builder
	for i := 0; i < 16; i += 2 {
		if i > 0 {
			out.WriteByte(':')
		}
		fmt.Fprintf(&out, "%02x%02x", b[i], b[i+1])
	}
	return out.String(), true
}

// physState writes LINK_UP and POLLING as sysfs does.
func physState(s string) string {
	switch strings.ToUpper(strings.NewReplacer("_", "", " ", "").Replace(s)) {
	case "LINKUP":
		return "LinkUp"
	case "DISABLED":
		return "Disabled"
	case "POLLING":
		return "Polling"
	case "SLEEP":
		return "Sleep"
	case "PORTCONFIGURATIONTRAINING":
		return "PortConfigurationTraining"
	case "LINKERRORRECOVERY":
		return "LinkErrorRecovery"
	case "PHYTEST", "PHYSICALTEST":
		return "Phy Test"
	}
	return s
}

// portState writes ibstat's "Initializing" and "Active" as sysfs does.
func portState(s string) string {
	switch strings.ToLower(s) {
	case "down":
		return "DOWN"
	case "initializing", "initialize", "init":
		return "INIT"
	case "armed":
		return "ARMED"
	case "active":
		return "ACTIVE"
	}
	return s
}

var ibstatCA = regexp.MustCompile(`^CA '([^']+)'$`)

// parseIbstat reads ibstat.
func parseIbstat(text, source string) []facts.RDMADevice {
	b := builder{source: source}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := ibstatCA.FindStringSubmatch(line); m != nil {
			b.device(m[1]).NodeType = facts.Is("CA", source)
			continue
		}
		d := b.last()
		key, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if d == nil || !ok {
			continue
		}
		if n, isPort := strings.CutPrefix(key, "Port "); isPort && value == "" {
			if n, ok := portNumber(n); ok {
				b.port(len(b.devices)-1, n)
			}
			continue
		}
		if value == "" {
			continue
		}
		if port := b.lastPort(); port != nil {
			ibstatPort(port, key, value, source)
			continue
		}
		switch key {
		case "CA type":
			d.HCAType = facts.Is(value, source)
		case "Firmware version":
			d.Firmware = facts.Is(value, source)
		case "Node GUID":
			if guid, ok := sysfsGUID(value); ok {
				d.NodeGUID = facts.Is(guid, source)
			}
		}
	}
	return b.done()
}

func ibstatPort(port *facts.Port, key, value, source string) {
	switch key {
	case "State":
		port.State = facts.Is(portState(value), source)
	case "Physical state":
		port.PhysState = facts.Is(physState(value), source)
	case "Rate":
		port.Rate = facts.Is(value, source)
		port.RateGbps = parsed(port.Rate, portRate)
	case "Base lid":
		port.LID = parsed(facts.Is(value, source), number)
	case "SM lid":
		port.SMLID = parsed(facts.Is(value, source), number)
	case "Link layer":
		port.LinkLayer = facts.Is(value, source)
	}
}

var hexGUID = regexp.MustCompile(`^(?:0x)?([0-9a-f]{16})$`)

// sysfsGUID turns 0x0002c90300000001 into 0002:c903:0000:0001.
func sysfsGUID(s string) (string, bool) {
	m := hexGUID.FindStringSubmatch(strings.ToLower(s))
	if m == nil {
		return "", false
	}
	return m[1][:4] + ":" + m[1][4:8] + ":" + m[1][8:12] + ":" + m[1][12:], true
}

var ibstatusHead = regexp.MustCompile(`^Infiniband device '([^']+)' port ([0-9]+) status:`)

// parseIbstatus reads ibstatus, which prints sysfs files.
func parseIbstatus(text, source string) []facts.RDMADevice {
	b := builder{source: source}
	var port *facts.Port
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := ibstatusHead.FindStringSubmatch(line); m != nil {
			port = nil
			if n, ok := portNumber(m[2]); ok {
				b.device(m[1])
				port = b.port(b.index(m[1]), n)
			}
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); !ok || port == nil || value == "" {
			continue
		}
		told := facts.Is(value, source)
		switch key {
		case "base lid":
			port.LID = parsed(told, number)
		case "sm lid":
			port.SMLID = parsed(told, number)
		case "state":
			port.State = parsed(told, afterColon)
		case "phys state":
			port.PhysState = parsed(told, afterColon)
		case "rate":
			port.Rate, port.RateGbps = told, parsed(told, portRate)
		case "link_layer":
			port.LinkLayer = told
		}
	}
	return b.done()
}

func (b *builder) index(name string) int {
	return slices.IndexFunc(b.devices, func(d facts.RDMADevice) bool { return d.Name == name })
}

// parseRdmaLink reads "rdma link": "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth0".
func parseRdmaLink(text, source string) []facts.RDMADevice {
	b := builder{source: source}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		// iproute2 before 5.0 began each line with "N/".
		if len(words) > 1 && regexpIndex.MatchString(words[0]) {
			words = append([]string{"link"}, words[1:]...)
		}
		if len(words) < 2 || words[0] != "link" {
			continue
		}
		name, n, ok := strings.Cut(strings.TrimSuffix(words[1], ":"), "/")
		portN, isPort := portNumber(n)
		if !ok || !isPort || name == "" {
			continue
		}
		b.device(name)
		port := b.port(b.index(name), portN)
		for i := 2; i+1 < len(words); i++ {
			told := facts.Is(words[i+1], source)
			switch words[i] {
			case "state":
				port.State = told
			case "physical_state":
				port.PhysState = facts.Is(physState(told.Value), source)
			case "lid":
				port.LID = parsed(told, number)
			case "sm_lid":
				port.SMLID = parsed(told, number)
				// Only InfiniBand ports are printed with LIDs.
				port.LinkLayer = facts.Is("InfiniBand", source)
			case "netdev":
				port.Netdevs = facts.Is([]string{told.Value}, source)
				if !port.LinkLayer.IsKnown() {
					port.LinkLayer = facts.Is("Ethernet", source)
				}
			default:
				continue
			}
			i++
		}
	}
	return b.done()
}

var regexpIndex = regexp.MustCompile(`^[0-9]+(/[0-9]+)?:$`)

// parseRdmaDev reads "rdma dev": "0: mlx5_0: node_type ca fw 20.31.1014 node_guid ... sys_image_guid ...".
func parseRdmaDev(text, source string) []facts.RDMADevice {
	b := builder{source: source}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 || !regexpIndex.MatchString(words[0]) || !strings.HasSuffix(words[1], ":") {
			continue
		}
		d := b.device(strings.TrimSuffix(words[1], ":"))
		for i := 2; i+1 < len(words); i += 2 {
			told := facts.Is(words[i+1], source)
			switch words[i] {
			case "node_type":
				d.NodeType = facts.Is(strings.ToUpper(told.Value), source)
			case "fw":
				d.Firmware = told
			case "node_guid":
				d.NodeGUID = told
			}
		}
	}
	return b.done()
}

// parseShowGIDs reads the table of show_gids: device, port, index, GID, IPv4 or nothing, version,
// interface. An empty table says that no device has a GID.
func parseShowGIDs(text, source string) []facts.RDMADevice {
	b := builder{source: source}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 5 || words[0] == "DEV" || strings.HasPrefix(words[0], "-") {
			continue
		}
		n, isPort := portNumber(words[1])
		index, err := strconv.Atoi(words[2])
		gid, ok := fullGID(words[3])
		if !isPort || err != nil || index < 0 || !ok {
			continue
		}
		g := facts.GID{Index: index, GID: gid, IPv4: mappedIPv4(gid)}
		for i, word := range words[4:] {
			if word == "v1" || word == "v2" {
				g.Type = facts.Is("RoCE "+word, source)
				if rest := words[4+i+1:]; len(rest) > 0 {
					g.Netdev = facts.Is(rest[0], source)
				}
			}
		}
		b.device(words[0])
		port := b.port(b.index(words[0]), n)
		port.GIDs = facts.Is(append(port.GIDs.Or(nil), g), source)
		if name, ok := g.Netdev.Get(); ok && !slices.Contains(port.Netdevs.Or(nil), name) {
			port.Netdevs = facts.Is(append(port.Netdevs.Or(nil), name), source)
		}
	}
	return b.done()
}

// parseIbvDevices reads the two columns of ibv_devices.
func parseIbvDevices(text, source string) []facts.RDMADevice {
	b := builder{source: source}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) != 2 {
			continue
		}
		if guid, ok := sysfsGUID(words[1]); ok {
			b.device(words[0]).NodeGUID = facts.Is(guid, source)
		}
	}
	return b.done()
}

var ibdev2netdev = regexp.MustCompile(`^(?:([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) )?(\S+) (?:\(.*\) )?(?:fw \S+ )?port ([0-9]+) .*==> (\S+) \((\w+)\)`)

// parseIbdev2netdev reads "mlx5_0 port 1 ==> eth0 (Up)", with -v the address in front.
func parseIbdev2netdev(text, source string) []facts.RDMADevice {
	b := builder{source: source}
	for line := range strings.Lines(text) {
		m := ibdev2netdev.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		n, ok := portNumber(m[3])
		if !ok {
			continue
		}
		d := b.device(m[2])
		if m[1] != "" {
			d.PCI = facts.Is(m[1], source)
		}
		b.port(b.index(m[2]), n).Netdevs = facts.Is([]string{m[4]}, source)
	}
	return b.done()
}
