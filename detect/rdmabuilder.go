package detect

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

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

var hexGUID = regexp.MustCompile(`^(?:0x)?([0-9a-f]{16})$`)

// sysfsGUID turns 0x0002c90300000001 into 0002:c903:0000:0001.
func sysfsGUID(s string) (string, bool) {
	m := hexGUID.FindStringSubmatch(strings.ToLower(s))
	if m == nil {
		return "", false
	}
	return m[1][:4] + ":" + m[1][4:8] + ":" + m[1][8:12] + ":" + m[1][12:], true
}

func (b *builder) index(name string) int {
	return slices.IndexFunc(b.devices, func(d facts.RDMADevice) bool { return d.Name == name })
}
