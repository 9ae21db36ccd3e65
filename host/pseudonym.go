package host

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
)

// pseudonyms gives each identifying value another of the same shape, the same one each time. Values
// that belong together stay together: a MAC address, the GUID and the GID made from it share their
// last three octets, and so do their pseudonyms.
type pseudonyms struct {
	tails    map[[6]byte][3]byte // vendor part and last octets of a MAC or GUID
	networks map[[3]byte]int     // of IPv4, by /24
	prefixes map[[8]byte]int     // of IPv6, by /64
	ids      map[[8]byte]int     // of IPv6 interface identifiers that are no MAC
	words    map[string]string   // serial numbers, host and user names
	counts   map[string]int      // words given so far, by kind
}

func newPseudonyms() *pseudonyms {
	return &pseudonyms{
		tails: map[[6]byte][3]byte{}, networks: map[[3]byte]int{}, prefixes: map[[8]byte]int{}, ids: map[[8]byte]int{},
		words: map[string]string{}, counts: map[string]int{},
	}
}

// tail replaces the last three octets of a device's number; the first three name its vendor.
func (p *pseudonyms) tail(vendor, last []byte) {
	// The universal/local bit differs between a MAC and the interface identifier made from it.
	key := [6]byte{vendor[0] &^ 2, vendor[1], vendor[2], last[0], last[1], last[2]}
	new, ok := p.tails[key]
	if !ok {
		n := len(p.tails) + 1
		new = [3]byte{byte(n >> 16), byte(n >> 8), byte(n)}
		p.tails[key] = new
	}
	copy(last, new[:])
}

// mac replaces a MAC address of 6 octets in place. Zero, broadcast and multicast stay.
func (p *pseudonyms) mac(b []byte) {
	if b[0]&1 == 0 && !allZero(b) {
		p.tail(b[:3], b[3:6])
	}
}

// guid replaces a GUID or EUI-64 of 8 octets in place.
func (p *pseudonyms) guid(b []byte) {
	// Not a GUID: an address of the kernel, and a subnet prefix.
	kernel, prefix := b[0] == 0xff && b[1] == 0xff, b[0] == 0xfe && b[1]&0x80 != 0
	if !allZero(b[:3]) && !kernel && !prefix {
		p.tail(b[:3], b[5:8])
	}
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// ip4 keeps the last octet, so that network and broadcast addresses stay what they are, and maps
// networks of 256 into 198.18.0.0/15, which no host has.
func (p *pseudonyms) ip4(a netip.Addr) netip.Addr {
	b := a.As4()
	mask := binary.BigEndian.Uint32(b[:])
	netmask := b[0] == 255 && mask|(mask-1) == 0xffffffff
	if a.IsLoopback() || a.IsUnspecified() || a.IsMulticast() || a.IsLinkLocalUnicast() || b[0] == 0 || netmask || b[0] == 255 {
		return a
	}
	key := [3]byte(b[:3])
	n, ok := p.networks[key]
	if !ok {
		n = len(p.networks)
		p.networks[key] = n
	}
	return netip.AddrFrom4([4]byte{198, 18 + byte(n>>8)%2, byte(n), b[3]})
}

// ip6 replaces an IPv6 address or a GID, 16 octets in place.
func (p *pseudonyms) ip6(b []byte) {
	a := netip.AddrFrom16([16]byte(b))
	switch {
	case a.Is4In6():
		four := p.ip4(a.Unmap()).As4()
		copy(b[12:], four[:])
		return
	case a.IsLoopback() || a.IsUnspecified():
		return
	case b[0] == 0xff:
		if b[11] == 1 && b[12] == 0xff {
			p.solicited(b[13:16])
		}
		return
	}
	// fe80::/10 is link-local, and InfiniBand's default subnet; fec0::/10 is its site-local one.
	if b[0] != 0xfe || b[1]&0x80 == 0 {
		key := [8]byte(b[:8])
		n, ok := p.prefixes[key]
		if !ok {
			n = len(p.prefixes) + 1
			p.prefixes[key] = n
		}
		copy(b, []byte{0x20, 0x01, 0x0d, 0xb8, 0, 0, byte(n >> 8), byte(n)})
	}
	switch id := b[8:16]; {
	case allZero(id[:6]): // ::1 and the like tell nothing
	case id[3] == 0xff && id[4] == 0xfe || id[3] == 3 && id[4] == 0 || b[0] == 0xfe: // made from a MAC or GUID
		p.guid(id)
	default:
		key := [8]byte(id)
		n, ok := p.ids[key]
		if !ok {
			n = len(p.ids) + 1
			p.ids[key] = n
		}
		copy(id, []byte{0, 0xd, 0xb8, 0, 0, byte(n >> 16), byte(n >> 8), byte(n)})
	}
}

// solicited replaces the address bits in a solicited-node group, by the pseudonym of the device
// they belong to.
func (p *pseudonyms) solicited(last []byte) {
	for key, new := range p.tails {
		if [3]byte(key[3:]) == [3]byte(last) {
			copy(last, new[:])
			return
		}
	}
	p.tail([]byte{0, 0, 0}, last)
}

// word replaces a name or serial number. Serial numbers keep their length.
func (p *pseudonyms) word(kind, value string) string {
	if old, ok := p.words[kind+"\x00"+value]; ok {
		return old
	}
	p.counts[kind]++
	new := fmt.Sprintf("%s%d", kind, p.counts[kind])
	if kind == "serial" {
		new = fmt.Sprintf("%04d", p.counts[kind])
		new = strings.Repeat("X", max(len(value)-len(new), 0)) + new
	}
	p.words[kind+"\x00"+value] = new
	return new
}

// colonHex replaces one run of hex digits and colons, empty second result if it is nothing known.
func (p *pseudonyms) colonHex(run string, addresses bool) (string, bool) {
	groups := strings.Split(run, ":")
	size := len(groups[0])
	same := true
	for _, g := range groups {
		same = same && len(g) == size
	}
	if same && (size == 2 || size == 4) {
		raw, err := hex.DecodeString(strings.ReplaceAll(run, ":", ""))
		if err != nil {
			return run, false
		}
		switch {
		case size == 2 && len(raw) == 6:
			p.mac(raw)
		case size == 2 && len(raw) == 20: // of IPoIB: flags and queue pair, GID
			p.ip6(raw[4:])
		case len(raw) == 8:
			p.guid(raw)
		case size == 4 && len(raw) == 16:
			p.ip6(raw)
		default:
			return run, false
		}
		return sameCase(run, group(hex.EncodeToString(raw), size)), true
	}
	if !addresses || strings.Count(run, ":") < 2 {
		return run, false
	}
	a, err := netip.ParseAddr(run)
	if err != nil || !a.Is6() {
		return run, false
	}
	raw := a.As16()
	p.ip6(raw[:])
	return sameCase(run, netip.AddrFrom16(raw).String()), true
}

func group(digits string, size int) string {
	var b strings.Builder
	for i := 0; i < len(digits); i += size {
		if i > 0 {
			b.WriteByte(':')
		}
		b.WriteString(digits[i : i+size])
	}
	return b.String()
}

// sameCase writes hex digits the way the original was written.
func sameCase(original, s string) string {
	if original == strings.ToUpper(original) && original != strings.ToLower(original) {
		return strings.ToUpper(s)
	}
	return s
}
