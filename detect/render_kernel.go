package detect

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

func driverRow(f facts.Facts) string {
	names := driversOf(f)
	if len(names) == 0 {
		if !f.PCI.IsKnown() {
			return shown(f.PCI, func([]facts.PCIDevice) string { return "" })
		}
		return "none"
	}
	row := modulesRow(f.Modules, names...)
	// A device is there only while its driver is in memory.
	var used []string
	for _, d := range f.RDMA.Or(nil) {
		driver, ok := d.Driver.Get()
		if ok && !isLoaded(f.Modules.Loaded, driver) && !builtIn(f.Modules.OnDisk, driver) {
			used = append(used, driver+" by "+d.Name)
		}
	}
	if len(used) > 0 {
		row += "; in use: " + strings.Join(used, ", ")
		if _, silent := notTold(strings.Split(row, "; in use")[0]); silent {
			row = "in use: " + strings.Join(used, ", ")
		}
	}
	return row
}

// driversOf are the drivers that the cards want and the devices have. Where the cards are not told,
// they are those that something tells of.
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
	if f.PCI.IsUnknown() {
		for _, s := range stackModules() {
			if isDriver(s.name) && (isLoaded(f.Modules.Loaded, s.name) || f.Origin == "evidence" && toldOnDisk(f.Modules.OnDisk, s.name)) {
				add(s.name)
			}
		}
	}
	return names
}

func toldOnDisk(disk []facts.DiskModule, name string) bool {
	return slices.ContainsFunc(disk, func(d facts.DiskModule) bool { return d.Name == name && (d.Builtin || d.Path.IsKnown()) })
}

// modulesRow says of some modules whether they are in memory, on disk or missing, with version and
// origin. What no list of loaded modules rules out is not called "not loaded".
func modulesRow(m facts.Modules, names ...string) string {
	if len(names) == 0 {
		return "none"
	}
	if m.Loaded.IsUnknown() && !slices.ContainsFunc(m.OnDisk, func(d facts.DiskModule) bool {
		return slices.Contains(names, d.Name) && (d.Builtin || !d.Path.IsUnknown() || m.Blacklisted.Or(nil)[d.Name] != "")
	}) {
		return strings.Join(names, " ") + ": " + unknownText(m.Loaded.Source, m.Loaded.Error)
	}
	listed := !m.Loaded.IsUnknown() && !m.LoadedExcerpt
	var loaded, unloaded, disk, missing, unknown, kept []string
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
		case d.Path.IsAbsent() && at >= 0:
			missing = append(missing, name)
		case listed:
			unloaded = append(unloaded, described) // whether it is on disk may not be told
		case d.Path.IsKnown():
			disk = append(disk, described)
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
	}{{"loaded", loaded}, {"not loaded", unloaded}, {"on disk", disk}, {"missing", missing}, {"unknown", unknown}, {"blacklisted", kept}} {
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
