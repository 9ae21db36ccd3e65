package detect

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

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
	addr, err := netip.ParseAddr(s)
	if err != nil || !addr.Is6() || addr.Zone() != "" {
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
