package detect

import (
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

// sessionRow says over which interface this session comes in: the driver below it cannot be replaced while the
// host runs.
func sessionRow(a facts.Access) string {
	if a.SessionNetdev.IsAbsent() {
		return "not of ssh"
	}
	return over(a.SessionNetdev, a.SessionDriver)
}

// over is an interface with the driver of the hardware below it.
func over(netdev, driver facts.Field[string]) string {
	return shown(netdev, func(name string) string {
		if driver.IsAbsent() {
			return name + ", which has no hardware below it"
		}
		return name + ", driver " + strings.ReplaceAll(shown(driver, text), ",", " and ")
	})
}

// proxyRows are one row for each setting.
func proxyRows(proxies facts.Field[[]facts.Proxy]) []string {
	if !proxies.IsKnown() {
		return []string{shown(proxies, func([]facts.Proxy) string { return "" })}
	}
	var rows []string
	for _, p := range proxies.Value {
		row := p.For
		if p.Scheme != "all" {
			row += " " + p.Scheme
		}
		if limit := p.Host + p.Repository; limit != "" {
			row += " (" + limit + ")"
		}
		switch {
		case p.Direct:
			row += ": without a proxy"
		case p.Program != "":
			row += ": as " + p.Program + " says"
		case len(p.Except) > 0:
			row += ": none for " + strings.Join(p.Except, " ")
		default:
			row += ": " + p.URL
		}
		rows = append(rows, row+", from "+p.Source)
	}
	return rows
}

// builtRows are the copies of rdma-core in directories of their own.
func builtRows(built facts.Field[[]facts.BuiltLibrary]) []string {
	var rows []string
	for _, lib := range built.Or(nil) {
		row := lib.Path + ", rdma-core " + brief(lib.Version) + ", private ABI " + shown(lib.PrivateABI, strconv.Itoa)
		switch active, ok := lib.Active.Get(); {
		case !ok:
			row += ", unknown whether programs find it"
		case active:
			row += ", what programs get"
		default:
			row += ", not what programs get"
		}
		if providers := lib.Providers.Or(nil); len(providers) > 0 {
			row += "; providers " + providersText(facts.Libibverbs{PrivateABI: lib.PrivateABI}, providers)
		}
		rows = append(rows, row)
	}
	return rows
}
