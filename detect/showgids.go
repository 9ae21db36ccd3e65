package detect

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

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

var ibdev2netdev = regexp.MustCompile(`^(?:([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) )?(\S+)(?: .*)? port ([0-9]+) .*==> (\S+) \((\w+)\)`)

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
