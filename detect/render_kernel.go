package detect

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

func driverRow(f facts.Facts) string {
	names := driversOf(f)
	if len(names) == 0 && !f.PCI.IsKnown() {
		return shown(f.PCI, func([]facts.PCIDevice) string { return "" })
	}
	return modulesRow(f.Modules, names...)
}

func driversOf(f facts.Facts) []string {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, d := range f.PCI.Or(nil) {
		add(d.WantsDriver)
		add(d.WantsRDMADriver)
	}
	for _, d := range f.RDMA.Or(nil) {
		add(d.Driver.Or(""))
	}
	return names
}

// modulesRow says of some modules whether they are in memory, on disk or missing, with version and
// origin.
func modulesRow(m facts.Modules, names ...string) string {
	if len(names) == 0 {
		return "none"
	}
	if m.Loaded.IsUnknown() && !slices.ContainsFunc(m.OnDisk, func(d facts.DiskModule) bool {
		return slices.Contains(names, d.Name) && (d.Builtin || !d.Path.IsUnknown() || m.Blacklisted.Or(nil)[d.Name] != "")
	}) {
		return strings.Join(names, " ") + ": " + unknownText(m.Loaded.Source, m.Loaded.Error)
	}
	var loaded, disk, missing, unknown, kept []string
	for _, name := range names {
		at := slices.IndexFunc(m.OnDisk, func(d facts.DiskModule) bool { return d.Name == name })
		var d facts.DiskModule
		if at >= 0 {
			d = m.OnDisk[at]
		}
		described := name
		if origin, ok := d.Origin.Get(); ok {
			described += " " + strings.TrimSpace(d.Version.Or("")+" "+origin)
		}
		switch {
		case isLoaded(m.Loaded, name):
			loaded = append(loaded, described)
		case d.Builtin:
			loaded = append(loaded, name+" builtin")
		case d.Path.IsKnown():
			disk = append(disk, described)
		case d.Path.IsAbsent() && at >= 0:
			missing = append(missing, name)
		case m.Loaded.IsKnown():
			disk = append(disk, name) // whether it is on disk is not told
		default:
			unknown = append(unknown, name)
		}
		if where, ok := m.Blacklisted.Or(nil)[name]; ok {
			kept = append(kept, name+" ("+where+")")
		}
	}
	var parts []string
	for _, p := range []struct {
		what string
		list []string
	}{{"loaded", loaded}, {"not loaded", disk}, {"missing", missing}, {"unknown", unknown}, {"blacklisted", kept}} {
		if len(p.list) > 0 {
			parts = append(parts, p.what+": "+strings.Join(shortened(p.list), ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// shortened writes the origin once where all of a list share it.
func shortened(list []string) []string {
	origin := ""
	for i, item := range list {
		name, rest, ok := strings.Cut(item, " ")
		if !ok || name == "" || i > 0 && rest != origin {
			return list
		}
		origin = rest
	}
	if len(list) < 2 {
		return list
	}
	out := make([]string, len(list))
	for i, item := range list {
		out[i], _, _ = strings.Cut(item, " ")
	}
	out[len(out)-1] += " (all " + origin + ")"
	return out
}
