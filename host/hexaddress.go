package host

import (
	"encoding/hex"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

var (
	netFile = regexp.MustCompile(`^/proc/(?:[^/]+/)?net/([a-z0-9_]+)$`)
	hex4    = regexp.MustCompile(`\b[0-9A-F]{8}\b`)
	hex6    = regexp.MustCompile(`\b[0-9A-Fa-f]{32}\b`)
	// eth0 DESTINATION GATEWAY; the mask further right stays, and so does 00000000 of a default route
	routeRow = regexp.MustCompile(`(?m)^([^\s]+[ \t]+)([0-9A-F]{8}[ \t]+[0-9A-F]{8})([ \t])`)
	// LOCAL:PORT REMOTE:PORT
	socketEnd = regexp.MustCompile(`\b([0-9A-F]{8}|[0-9A-F]{32}):[0-9A-F]{4}\b`)
)

// hexAddresses replaces the addresses that files below /proc/net write as bare hexadecimal digits:
// IPv4, and IPv6 of sockets, in 32-bit words of the machine's byte order, which is taken to be
// little-endian as it is on amd64 and arm64; IPv6 elsewhere in the order of the network.
func (r *redactor) hexAddresses(source, text string) string {
	program, p := sourcePath(source)
	m := netFile.FindStringSubmatch(p)
	if m == nil || program != "" && program != "cat" {
		return text
	}
	switch m[1] {
	case "route", "rt_cache":
		return routeRow.ReplaceAllStringFunc(text, func(row string) string { return hex4.ReplaceAllStringFunc(row, r.hex4) })
	case "ipv6_route", "if_inet6", "igmp6", "anycast6", "mcast6", "mcfilter6":
		return hex6.ReplaceAllStringFunc(text, r.hex6)
	case "tcp", "tcp6", "udp", "udp6", "udplite", "udplite6", "raw", "raw6", "icmp", "icmp6":
		return socketEnd.ReplaceAllStringFunc(text, func(end string) string {
			digits, port, _ := strings.Cut(end, ":")
			if len(digits) == 8 {
				return r.hex4(digits) + ":" + port
			}
			raw, err := hex.DecodeString(digits)
			if err != nil {
				return end
			}
			swapWords(raw)
			r.names.ip6(raw)
			swapWords(raw)
			return sameCase(digits, hex.EncodeToString(raw)) + ":" + port
		})
	}
	return text
}

func (r *redactor) hex4(digits string) string {
	raw, err := hex.DecodeString(digits)
	if err != nil {
		return digits
	}
	swapWords(raw)
	new := r.names.ip4(netip.AddrFrom4([4]byte(raw))).AsSlice()
	swapWords(new)
	return sameCase(digits, hex.EncodeToString(new))
}

func (r *redactor) hex6(digits string) string {
	raw, err := hex.DecodeString(digits)
	if err != nil {
		return digits
	}
	r.names.ip6(raw)
	return sameCase(digits, hex.EncodeToString(raw))
}

// swapWords turns each 32-bit word around.
func swapWords(b []byte) {
	for i := 0; i+4 <= len(b); i += 4 {
		slices.Reverse(b[i : i+4])
	}
}
