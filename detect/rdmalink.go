package detect

import (
	"regexp"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

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
