package verbs

import (
	"cmp"
	"slices"
)

// maxGIDIndex is what the one byte of struct ibv_ah_attr can name.
const maxGIDIndex = 255

const (
	typeRoCEv2 = "RoCE v2"
	typeRoCEv1 = "IB/RoCE v1"
)

// chooseGID picks the address of a RoCE port by what it is, never by its place in the table: the order
// depends on when addresses were configured. RoCE v2 comes before anything else, then an IPv4-mapped
// address before a global IPv6 one before a link-local one, then the lower index. A device whose
// table holds no RoCE v2 at all (ConnectX-3) is tested over RoCE v1.
func chooseGID(gids []hostGID) (hostGID, bool) {
	usable := slices.DeleteFunc(slices.Clone(gids), func(g hostGID) bool {
		return g.index < 0 || g.index > maxGIDIndex || g.addr.IsMulticast() || g.addr.IsLoopback()
	})
	if slices.ContainsFunc(gids, func(g hostGID) bool { return g.kind == typeRoCEv2 }) {
		usable = slices.DeleteFunc(usable, func(g hostGID) bool { return g.kind != typeRoCEv2 })
	}
	if len(usable) == 0 {
		return hostGID{}, false
	}
	return slices.MinFunc(usable, func(a, b hostGID) int {
		return cmp.Or(cmp.Compare(addressRank(a), addressRank(b)), cmp.Compare(a.index, b.index))
	}), true
}

func addressRank(g hostGID) int {
	switch {
	case g.addr.Is4In6():
		return 0
	case !g.addr.IsLinkLocalUnicast():
		return 1
	default:
		return 2
	}
}

// text is the address as people write it: an IPv4-mapped one as IPv4.
func (g hostGID) text() string { return g.addr.Unmap().String() }
