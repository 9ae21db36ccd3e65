package detect

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

const netDir = "/sys/class/net"

// netdevs lists the interfaces from sysfs. Evidence may tell single files of one, or ip's text,
// which is merged in later.
func (p probe) netdevs() facts.Field[[]facts.Netdev] {
	names, _, err := p.listed(netDir)
	beside := p.netdevsOfDevices()
	if err != nil && len(beside) == 0 {
		return field[[]facts.Netdev](nil, netDir, err)
	}
	var devices []facts.Netdev
	for _, name := range names {
		if name == "bonding_masters" {
			continue // a file of the bonding driver
		}
		devices = append(devices, p.netdev(netDir+"/"+name, name))
	}
	for _, b := range beside {
		if !slices.Contains(names, b.name) {
			devices = append(devices, p.netdev(b.dir, b.name))
		}
	}
	return list(devices, netDir)
}

// netdevDir is an interface's directory.
type netdevDir struct{ name, dir string }

// netdevsOfDevices finds interfaces that evidence knows only as /sys/class/infiniband/DEV/device/net/NAME.
func (p probe) netdevsOfDevices() []netdevDir {
	if !p.evidence() {
		return nil
	}
	names, _, err := p.listed(rdmaDir)
	if err != nil {
		return nil
	}
	var found []netdevDir
	for _, device := range names {
		dir := rdmaDir + "/" + device + "/device/net"
		netdevs, _, err := p.listed(dir)
		if err != nil {
			continue
		}
		for _, name := range netdevs {
			found = append(found, netdevDir{name, dir + "/" + name})
		}
	}
	return found
}

// bondSlaves reads /proc/net/bonding/NAME.
func bondSlaves(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "Slave Interface: "); ok {
			names = append(names, name)
		}
	}
	return names
}

func (p probe) netdev(dir, name string) facts.Netdev {
	d := facts.Netdev{
		Name: name, OperState: p.attr(dir + "/operstate"), MTU: parsed(p.attr(dir+"/mtu"), number),
		MAC: p.attr(dir + "/address"), Type: parsed(p.attr(dir+"/type"), number),
		Driver: p.linkBase(dir + "/device/driver"),
	}
	device := p.linkBase(dir + "/device")
	switch {
	case device.IsKnown() && pciAddress.MatchString(device.Value):
		d.PCI, d.Virtual = device, facts.Is(false, device.Source)
	case device.IsKnown():
		// virtio and Hyper-V's bus: the function, if there is one, is further up.
		d.PCI, d.Virtual = p.functionAbove(dir), facts.Is(false, device.Source)
	case device.IsAbsent():
		d.PCI, d.Virtual = facts.None[string](device.Source), facts.Is(true, device.Source)
		d.Driver = facts.None[string](device.Source)
	default:
		d.PCI = device
		d.Virtual = facts.Field[bool]{Source: device.Source}
	}
	return d
}

// functionAbove finds the PCI function that a class device hangs from: the last address in the
// target of its link, ../../devices/pci0000:00/0000:00:03.0/virtio0/net/eth0.
func (p probe) functionAbove(link string) facts.Field[string] {
	target, err := p.r.Readlink(link)
	if err != nil {
		return field("", link, err)
	}
	parts := strings.Split(target, "/")
	for i := len(parts) - 1; i >= 0; i-- {
		if pciAddress.MatchString(parts[i]) {
			return facts.Is(parts[i], link)
		}
	}
	return facts.None[string](link)
}

// addressTable is what ip(8) told of interfaces.
type addressTable struct {
	netdevs []facts.Netdev
	source  string
	err     error
}

// addresses asks ip for the addresses, which sysfs does not have.
func (p probe) addresses() addressTable {
	const source = "ip -br addr"
	if p.told.IsImage() {
		return addressTable{source: source, err: host.ErrUnknown}
	}
	text, err := p.run("ip", "-br", "addr")
	if err == nil {
		return addressTable{netdevs: parseIPBrief(text, source), source: source}
	}
	if text, from := p.firstTold("ip -br a", "ip -br address", "ip -br addr show"); text != "" {
		return addressTable{netdevs: parseIPBrief(text, from), source: from}
	}
	if text, from := p.firstTold("ip addr", "ip a", "ip address", "ip addr show", "ip -d addr", "ip link", "ip link show", "ip l"); text != "" {
		return addressTable{netdevs: parseIPAddr(text, from), source: from}
	}
	if netdevs, from := p.oneLine(); from != "" {
		return addressTable{netdevs: netdevs, source: from}
	}
	return addressTable{source: source, err: err}
}

// oneLine reads what "ip -o addr" printed, whose -4 and -6 tell a half each.
func (p probe) oneLine() (netdevs []facts.Netdev, source string) {
	for _, lines := range [][]string{
		{"ip -o addr", "ip -o a", "ip -o address", "ip -o addr show", "ip -o address show"},
		{"ip -o -4 addr", "ip -4 -o addr", "ip -o -4 a", "ip -4 -o a", "ip -o -4 addr show", "ip -4 -o addr show", "ip -o -4 address show"},
		{"ip -o -6 addr", "ip -6 -o addr", "ip -o -6 a", "ip -6 -o a", "ip -o -6 addr show", "ip -6 -o addr show", "ip -o -6 address show"},
	} {
		text, from := p.firstTold(lines...)
		if text == "" {
			continue
		}
		netdevs = addOneLine(netdevs, text, from)
		if source == "" {
			source = from
		}
	}
	return netdevs, source
}

// addOneLine reads "NUMBER: NAME FAMILY ADDRESS ...", one address a line.
func addOneLine(devices []facts.Netdev, text, source string) []facts.Netdev {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 4 || !strings.HasSuffix(words[0], ":") || words[2] != "inet" && words[2] != "inet6" {
			continue
		}
		if _, err := strconv.Atoi(strings.TrimSuffix(words[0], ":")); err != nil {
			continue
		}
		name := cutParent(words[1])
		at := slices.IndexFunc(devices, func(d facts.Netdev) bool { return d.Name == name })
		if at < 0 {
			at = len(devices)
			devices = append(devices, facts.Netdev{Name: name})
		}
		devices[at].Addresses = facts.Is(append(devices[at].Addresses.Value, words[3]), source)
	}
	return devices
}

// withAddresses adds what ip told to the interfaces of sysfs.
func withAddresses(netdevs facts.Field[[]facts.Netdev], told addressTable) facts.Field[[]facts.Netdev] {
	if told.err != nil {
		for i := range netdevs.Value {
			netdevs.Value[i].Addresses = field[[]string](nil, told.source, told.err)
		}
		return netdevs
	}
	for _, d := range told.netdevs {
		at := slices.IndexFunc(netdevs.Value, func(old facts.Netdev) bool { return old.Name == d.Name })
		if at >= 0 {
			old := &netdevs.Value[at]
			fill(&old.OperState, d.OperState)
			fill(&old.MTU, d.MTU)
			fill(&old.MAC, d.MAC)
			fill(&old.Type, d.Type)
			fill(&old.Addresses, d.Addresses)
			fill(&old.Uppers, d.Uppers)
			continue
		}
		if !netdevs.IsKnown() || netdevs.Source == told.source {
			netdevs = facts.Is(append(netdevs.Value, d), told.source)
		}
	}
	for i := range netdevs.Value {
		if d := &netdevs.Value[i]; d.Addresses.Source == "" {
			d.Addresses = facts.Field[[]string]{Source: told.source}
		}
	}
	return netdevs
}

// cutParent removes the "@parent" that ip writes behind a VLAN's and a veth's name.
func cutParent(name string) string {
	name, _, _ = strings.Cut(name, "@")
	return name
}

// parseIPBrief reads "NAME STATE ADDRESS...".
func parseIPBrief(text, source string) []facts.Netdev {
	var devices []facts.Netdev
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		d := facts.Netdev{Name: cutParent(words[0]), OperState: facts.Is(strings.ToLower(words[1]), source)}
		var addresses []string
		for _, word := range words[2:] {
			if _, err := netip.ParsePrefix(word); err == nil {
				addresses = append(addresses, word)
			}
		}
		d.Addresses = list(addresses, source)
		devices = append(devices, d)
	}
	return devices
}

var ipHead = regexp.MustCompile(`^[0-9]+: ([^:\s]+): <`)

// parseIPAddr reads "ip addr" and "ip link".
func parseIPAddr(text, source string) []facts.Netdev {
	var devices []facts.Netdev
	withAddr := strings.Contains(text, "inet")
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if m := ipHead.FindStringSubmatch(line); m != nil {
			d := facts.Netdev{Name: cutParent(m[1])}
			if _, parent, ok := strings.Cut(m[1], "@"); ok {
				addUpper(devices, parent, d.Name, source) // a VLAN; the peer of a veth may not be listed
			}
			for i := 0; i+1 < len(words); i++ {
				switch told := facts.Is(words[i+1], source); words[i] {
				case "mtu":
					d.MTU = parsed(told, number)
				case "master":
					d.Uppers = facts.Is([]string{told.Value}, source)
				case "state":
					d.OperState = facts.Is(strings.ToLower(told.Value), source)
				}
			}
			if withAddr {
				d.Addresses = facts.None[[]string](source)
			}
			devices = append(devices, d)
			continue
		}
		if len(devices) == 0 || len(words) < 2 {
			continue
		}
		d := &devices[len(devices)-1]
		switch words[0] {
		case "inet", "inet6":
			if _, err := netip.ParsePrefix(words[1]); err == nil {
				d.Addresses = facts.Is(append(d.Addresses.Value, words[1]), source)
			}
		case "link/ether":
			d.MAC, d.Type = facts.Is(words[1], source), facts.Is(1, source)
		case "link/infiniband":
			d.MAC, d.Type = facts.Is(words[1], source), facts.Is(32, source)
		case "link/loopback":
			d.Type = facts.Is(772, source)
		}
	}
	return devices
}

// addUpper notes that an interface stands on one that was listed before it.
func addUpper(devices []facts.Netdev, lower, upper, source string) {
	for i := range devices {
		if d := &devices[i]; d.Name == lower {
			d.Uppers = facts.Is(append(d.Uppers.Value, upper), source)
		}
	}
}
