package detect

import (
	"regexp"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

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
