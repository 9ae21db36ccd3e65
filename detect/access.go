package detect

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// access finds the interfaces of the default route and of the login session and the drivers below them. A
// stack whose driver carries one of them cannot be reloaded without cutting the administrator off.
func (p probe) access(netdevs facts.Field[[]facts.Netdev], container facts.Field[bool]) facts.Access {
	if p.told.IsImage() {
		const source = "an image has no routes"
		a := facts.Access{
			DefaultRouteNetdev: facts.Field[string]{Source: source}, DefaultRouteDriver: facts.Field[string]{Source: source},
			DefaultRouteHardware: facts.Field[[]string]{Source: source},
		}
		p.session(&a, netdevs, container)
		return a
	}
	route := p.defaultRoute()
	a := facts.Access{DefaultRouteNetdev: route, DefaultRouteDriver: facts.Field[string]{State: route.State, Source: route.Source, Error: route.Error}}
	a.DefaultRouteHardware = facts.Field[[]string]{State: route.State, Source: route.Source, Error: route.Error}
	if name, ok := route.Get(); ok {
		a.DefaultRouteHardware = p.hardwareBelow(name, netdevs)
		a.DefaultRouteDriver = p.driversBelow(name, netdevs, 0)
	}
	p.session(&a, netdevs, container)
	return a
}

// defaultRoute returns the interface of the IPv4 default route, or of IPv6's where there is none.
func (p probe) defaultRoute() facts.Field[string] {
	const v4, v6 = "/proc/net/route", "/proc/net/ipv6_route"
	four, err4 := p.text(v4)
	if name := parseRoutes(four); err4 == nil && name != "" {
		return facts.Is(name, v4)
	}
	six, err6 := p.text(v6)
	if name := parseRoutes6(six); err6 == nil && name != "" {
		return facts.Is(name, v6)
	}
	if text, from := p.firstTold("ip route", "ip route show", "ip r", "ip -4 route", "ip route show default", "ip route list", "ip -6 route", "ip -6 route show"); text != "" {
		if name := parseIPRoute(text); name != "" {
			return facts.Is(name, from)
		}
		if err4 != nil {
			return facts.None[string](from)
		}
	}
	if err4 != nil {
		return field("", v4, err4)
	}
	if err6 != nil && !errors.Is(err6, fs.ErrNotExist) && !errors.Is(err6, host.ErrUnknown) {
		return field("", v6, err6)
	}
	return facts.None[string](v4)
}

// parseRoutes finds the default route with the lowest metric in /proc/net/route: Iface Destination
// Gateway Flags RefCnt Use Metric Mask ...
func parseRoutes(text string) string {
	best, metric := "", 0
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 8 || words[1] != "00000000" || words[7] != "00000000" {
			continue
		}
		flags, err := strconv.ParseUint(words[3], 16, 32)
		m, metricErr := strconv.Atoi(words[6])
		if err != nil || metricErr != nil || flags&1 == 0 || flags&0x200 != 0 {
			continue // RTF_UP is missing, or RTF_REJECT is set
		}
		if best == "" || m < metric {
			best, metric = words[0], m
		}
	}
	return best
}

// parseRoutes6 does the same for /proc/net/ipv6_route, where "lo" carries the reject routes.
func parseRoutes6(text string) string {
	best := ""
	var metric uint64
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 10 || strings.Trim(words[0], "0") != "" || words[1] != "00" || words[9] == "lo" {
			continue
		}
		m, err := strconv.ParseUint(words[5], 16, 32)
		if err != nil {
			continue
		}
		if best == "" || m < metric {
			best, metric = words[9], m
		}
	}
	return best
}

// parseIPRoute finds the first default route of "ip route", which prints them by metric.
func parseIPRoute(text string) string {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "default" {
			continue
		}
		for i := 1; i+1 < len(words); i++ {
			if words[i] == "dev" {
				return words[i+1]
			}
		}
	}
	return ""
}

// driversBelow names the drivers of the hardware under an interface: through a bond, a bridge or a
// VLAN to the interfaces that carry it. Several are joined by commas.
func (p probe) driversBelow(name string, netdevs facts.Field[[]facts.Netdev], depth int) facts.Field[string] {
	driver := p.linkBase(netDir + "/" + name + "/device/driver")
	for _, d := range netdevs.Or(nil) {
		if d.Name == name {
			fill(&driver, d.Driver)
		}
	}
	if driver.IsKnown() || depth > 4 {
		return driver
	}
	var drivers []string
	source := ""
	for _, lower := range p.lowerNetdevs(name, netdevs) {
		below := p.driversBelow(lower, netdevs, depth+1)
		for d := range strings.SplitSeq(below.Or(""), ",") {
			if d != "" && !slices.Contains(drivers, d) {
				drivers, source = append(drivers, d), below.Source
			}
		}
	}
	if len(drivers) == 0 {
		return driver
	}
	slices.Sort(drivers)
	return facts.Is(strings.Join(drivers, ","), source)
}

// hardwareBelow names the hardware interfaces under an interface, sorted; itself, if it is one.
func (p probe) hardwareBelow(name string, netdevs facts.Field[[]facts.Netdev]) facts.Field[[]string] {
	source := netDir + "/" + name
	var names []string
	virtual := true // nothing below it, and known to be no hardware
	seen := map[string]bool{}
	var walk func(name string)
	walk = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		lower := p.lowerNetdevs(name, netdevs)
		for _, l := range lower {
			walk(l)
		}
		if len(lower) > 0 {
			return
		}
		is := facts.Field[bool]{}
		for _, d := range netdevs.Or(nil) {
			if d.Name == name {
				is = d.Virtual
			}
		}
		if is.IsUnknown() && p.linkBase(netDir+"/"+name+"/device/driver").IsKnown() {
			is = facts.Is(false, source)
		}
		switch v, ok := is.Get(); {
		case ok && !v:
			names = append(names, name)
		case !ok:
			virtual = false
		}
	}
	walk(name)
	slices.Sort(names)
	switch {
	case len(names) > 0:
		return facts.Is(names, source)
	case !virtual:
		return facts.Field[[]string]{Source: source}
	}
	return facts.None[[]string](source)
}

// withUppers adds to hardware interfaces what stands directly on them. Evidence may have only the text of
// the bonding driver.
func (p probe) withUppers(netdevs facts.Field[[]facts.Netdev]) facts.Field[[]facts.Netdev] {
	bonds := map[string][]string{}
	if p.evidence() {
		const dir = "/proc/net/bonding"
		names, _, err := p.listed(dir)
		if err == nil {
			for _, bond := range names {
				for _, slave := range bondSlaves(p.attr(dir + "/" + bond).Or("")) {
					bonds[slave] = append(bonds[slave], bond)
				}
			}
		}
	}
	for i := range netdevs.Value {
		d := &netdevs.Value[i]
		source := netDir + "/" + d.Name
		if d.Virtual.Or(false) {
			d.Uppers = facts.Field[[]string]{Source: source} // nobody looks above it
			continue
		}
		names, complete, err := p.listed(source)
		uppers := slices.Clone(d.Uppers.Or(nil)) // as ip printed it
		for _, entry := range names {
			if upper, ok := strings.CutPrefix(entry, "upper_"); ok && !slices.Contains(uppers, upper) {
				uppers = append(uppers, upper)
			}
		}
		for _, bond := range bonds[d.Name] {
			if !slices.Contains(uppers, bond) {
				uppers = append(uppers, bond)
			}
		}
		switch {
		case len(uppers) > 0:
			d.Uppers = facts.Is(uppers, source)
		case complete:
			d.Uppers = facts.None[[]string](source)
		case err == nil:
			d.Uppers = facts.Field[[]string]{Source: source}
		default:
			d.Uppers = field[[]string](nil, source, err)
		}
	}
	return netdevs
}

// lowerNetdevs are the interfaces that carry another one.
func (p probe) lowerNetdevs(name string, netdevs facts.Field[[]facts.Netdev]) []string {
	var lower []string
	names, _, err := p.listed(netDir + "/" + name)
	if err == nil {
		for _, entry := range names {
			if l, ok := strings.CutPrefix(entry, "lower_"); ok {
				lower = append(lower, l)
			}
		}
	}
	if len(lower) == 0 {
		lower = bondSlaves(p.attr("/proc/net/bonding/" + name).Or(""))
	}
	for _, d := range netdevs.Or(nil) {
		if slices.Contains(d.Uppers.Or(nil), name) && !slices.Contains(lower, d.Name) {
			lower = append(lower, d.Name)
		}
	}
	if base, _, ok := strings.Cut(name, "."); ok && len(lower) == 0 && p.evidence() {
		lower = []string{base} // a VLAN by the usual name
	}
	return lower
}
