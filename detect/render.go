package detect

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rdmactl/rdmactl/facts"
)

const (
	renderWidth = 100 // columns
	labelWidth  = 20
)

// Render prints the layers from the application down to the card, each with what is there and where
// it comes from, and last the host. "none" is known to be absent; "unknown" says why it is.
func Render(w io.Writer, f facts.Facts, color bool) error {
	t := &table{color: color}
	t.rows("Application limits", memlockRow(f.Memlock))
	t.rows("Verbs library", libraryRows(f)...)
	t.rows("Providers", providerRows(f)...)
	t.rows("Device nodes", nodesRow(f.Nodes))
	t.rows("Kernel ULPs", modulesRow(f.Modules, "rdma_cm", "rdma_ucm", "ib_umad", "ib_ipoib", "nvme_rdma", "rpcrdma", "ib_iser", "ib_srp", "smc"))
	t.rows("Verbs modules", modulesRow(f.Modules, "ib_core", "ib_uverbs"))
	t.rows("Driver", driverRow(f))
	t.rows("RDMA devices", rdmaRows(f.RDMA)...)
	t.rows("Network interface", netdevRows(f)...)
	t.rows("Card", cardRows(f.PCI)...)
	t.rows("Host", hostRow(f))
	_, err := io.WriteString(w, t.out.String())
	return err
}

// table lays out labelled rows within the width.
type table struct {
	out   strings.Builder
	color bool
}

func (t *table) rows(label string, rows ...string) {
	if len(rows) == 0 {
		rows = []string{"none"}
	}
	for _, row := range rows {
		for _, line := range wrap(printable(row), renderWidth-labelWidth) {
			fmt.Fprintf(&t.out, "%s%s\n", t.label(label), t.paint(line))
			label = ""
		}
	}
}

func (t *table) label(label string) string {
	padded := fmt.Sprintf("%-*s", labelWidth, label)
	if !t.color || label == "" {
		return padded
	}
	return "\x1b[1m" + padded + "\x1b[0m"
}

// paint marks what a person looks for first.
func (t *table) paint(line string) string {
	if t.color && (line == "none" || strings.HasPrefix(line, "unknown") || strings.Contains(line, " DOWN ")) {
		return "\x1b[33m" + line + "\x1b[0m"
	}
	return line
}

// printable keeps what a host's files say from acting on the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// wrap breaks text between words; what has no blank is broken anywhere.
func wrap(text string, width int) []string {
	var lines []string
	line, used := "", 0
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		if line != "" && used+1+n > width {
			lines = append(lines, line)
			line, used = "  ", 2
		}
		for used+n > width {
			runes := []rune(word)
			lines = append(lines, line+string(runes[:width-used]))
			word = string(runes[width-used:])
			n, line, used = utf8.RuneCountInString(word), "  ", 2
		}
		if strings.TrimSpace(line) != "" {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+n
	}
	return append(lines, line)
}

// shown prints a field: its value, "none", or "unknown" with the reason.
func shown[T any](f facts.Field[T], print func(T) string) string {
	switch {
	case f.IsKnown():
		return print(f.Value)
	case f.IsAbsent():
		return "none"
	}
	return unknownText(f.Source, f.Error)
}

func unknownText(source, reason string) string {
	switch {
	case reason != "":
		return "unknown (" + reason + ")"
	case source != "":
		return "unknown (not told: " + source + ")"
	}
	return "unknown (not told)"
}

func text(s string) string { return s }

// brief prints a field within a line, where a reason would be in the way.
func brief(f facts.Field[string]) string {
	switch {
	case f.IsKnown():
		return f.Value
	case f.IsAbsent():
		return "none"
	}
	return "unknown"
}

func memlockRow(m facts.Memlock) string {
	if m.Soft.IsUnknown() && m.Hard.IsUnknown() {
		return shown(m.Soft, text)
	}
	row := "memlock soft " + shown(m.Soft, bytesText) + ", hard " + shown(m.Hard, bytesText)
	if lines := m.PAM.Or(nil); len(lines) > 0 {
		row += fmt.Sprintf("; %d lines in limits.d", len(lines))
	}
	return row
}

// bytesText prints bytes as people say them.
func bytesText(s string) string {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return s // "unlimited"
	}
	for _, unit := range []struct {
		size uint64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.size {
			return strconv.FormatUint(n/unit.size, 10) + " " + unit.name
		}
	}
	return s + " bytes"
}

func libraryRows(f facts.Facts) []string {
	libs := f.Userspace.Libibverbs
	if !libs.IsKnown() {
		row := shown(libs, func([]facts.Libibverbs) string { return "" })
		for _, pkg := range f.Packages.Installed.Or(nil) {
			if pkg.Name == "libibverbs1" || pkg.Name == "libibverbs" {
				row += "; package " + pkg.Name + " " + pkg.Version + ", " + pkg.Origin
			}
		}
		return []string{row}
	}
	var rows []string
	for _, lib := range libs.Value {
		abi := shown(lib.PrivateABI, strconv.Itoa)
		row := lib.Path + ", private ABI " + abi
		if version, ok := lib.Version.Get(); ok {
			row += ", " + lib.Package.Or("package") + " " + version
			for _, pkg := range f.Packages.Installed.Or(nil) {
				if pkg.Name == lib.Package.Or("") {
					row += ", " + pkg.Origin
					break
				}
			}
		} else if lib.Package.IsAbsent() {
			row += ", of no package"
		}
		rows = append(rows, row)
	}
	return rows
}

// providerRows says for each library which of its providers it can load.
func providerRows(f facts.Facts) []string {
	libs, ok := f.Userspace.Libibverbs.Get()
	if !ok {
		if conf, ok := f.Userspace.DriverConf.Get(); ok {
			return []string{"configured: " + strings.Join(conf, " ")}
		}
		return []string{shown(f.Userspace.Libibverbs, func([]facts.Libibverbs) string { return "" })}
	}
	var rows []string
	for _, lib := range libs {
		rows = append(rows, shown(lib.Providers, func(all []facts.Provider) string { return providersText(lib, all) }))
	}
	return rows
}

func providersText(lib facts.Libibverbs, all []facts.Provider) string {
	abi, known := lib.PrivateABI.Get()
	var fit, unfit []string
	for _, provider := range all {
		if known && provider.PrivateABI != abi {
			unfit = append(unfit, fmt.Sprintf("%s (ABI %d)", provider.Name, provider.PrivateABI))
			continue
		}
		fit = append(fit, provider.Name)
	}
	row := strings.Join(fit, " ")
	if len(unfit) > 0 {
		if row == "" {
			row = "none that the library can load"
		}
		row += "; not loadable: " + strings.Join(unfit, ", ")
	}
	return row
}

func nodesRow(nodes facts.Field[[]facts.DeviceNode]) string {
	return shown(nodes, func(list []facts.DeviceNode) string {
		var parts []string
		for _, n := range list {
			part := n.Path[strings.LastIndexByte(n.Path, '/')+1:]
			if mode, ok := n.Mode.Get(); ok {
				part += " " + mode
			}
			if dev, ok := n.Ibdev.Get(); ok {
				part += " (" + dev + ")"
			}
			parts = append(parts, part)
		}
		return strings.Join(parts, ", ")
	})
}

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
			unknown = append(unknown, name+" (not loaded)")
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

func rdmaRows(devices facts.Field[[]facts.RDMADevice]) []string {
	list, ok := devices.Get()
	if !ok {
		return []string{shown(devices, func([]facts.RDMADevice) string { return "" })}
	}
	var rows []string
	for _, d := range list {
		head := d.Name
		if driver, ok := d.Driver.Get(); ok {
			head += " " + driver
		}
		if fw, ok := d.Firmware.Get(); ok {
			head += " fw " + fw
		}
		ports, ok := d.Ports.Get()
		if !ok {
			rows = append(rows, head+", ports "+shown(d.Ports, func([]facts.Port) string { return "" }))
			continue
		}
		for _, p := range ports {
			rows = append(rows, head+", port "+portText(p))
		}
	}
	return rows
}

func portText(p facts.Port) string {
	parts := []string{fmt.Sprintf("%d state unknown", p.Number)}
	if p.State.IsKnown() || p.PhysState.IsKnown() {
		parts[0] = fmt.Sprintf("%d %s %s", p.Number, brief(p.State), brief(p.PhysState))
	}
	if layer, ok := p.LinkLayer.Get(); ok {
		parts = append(parts, layer)
	}
	if rate, ok := p.Rate.Get(); ok {
		if !strings.Contains(rate, "Gb") {
			rate += " Gb/sec"
		}
		parts = append(parts, rate)
	}
	if mtu, ok := p.MTU.Get(); ok {
		parts = append(parts, "MTU "+strconv.Itoa(mtu))
	}
	if lid, ok := p.LID.Get(); ok && p.LinkLayer.Or("") == "InfiniBand" {
		parts = append(parts, "LID "+strconv.Itoa(lid))
	}
	parts = append(parts, "GIDs "+gidsText(p.GIDs))
	return strings.Join(parts, ", ")
}

// gidsText counts the GIDs by type.
func gidsText(gids facts.Field[[]facts.GID]) string {
	list, ok := gids.Get()
	if !ok {
		if gids.IsAbsent() {
			return "none"
		}
		return "unknown"
	}
	var kinds []string
	count := map[string]int{}
	for _, g := range list {
		kind := g.Type.Or("of unknown type")
		if count[kind]++; count[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", count[kind], kind)
	}
	return strings.Join(kinds, " + ")
}

// netdevRows shows the interfaces of RDMA ports and cards; without any, that of the default route.
func netdevRows(f facts.Facts) []string {
	var names []string
	add := func(list []string) {
		for _, name := range list {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, d := range f.PCI.Or(nil) {
		if d.RDMACapable {
			add(d.Netdevs.Or(nil))
		}
	}
	for _, d := range f.RDMA.Or(nil) {
		for _, p := range d.Ports.Or(nil) {
			add(p.Netdevs.Or(nil))
		}
	}
	if route, ok := f.Access.DefaultRouteNetdev.Get(); ok {
		add([]string{route})
	}
	var rows []string
	for _, name := range names {
		row := name
		for _, d := range f.Netdevs.Or(nil) {
			if d.Name != name {
				continue
			}
			if driver, ok := d.Driver.Get(); ok {
				row += " " + driver
			}
			if state, ok := d.OperState.Get(); ok {
				row += ", " + state
			}
			if mtu, ok := d.MTU.Get(); ok {
				row += ", MTU " + strconv.Itoa(mtu)
			}
			if addresses, ok := d.Addresses.Get(); ok {
				row += ", " + strings.Join(addresses, " ")
			}
		}
		if name == f.Access.DefaultRouteNetdev.Or("") {
			row += ", default route"
			if driver, ok := f.Access.DefaultRouteDriver.Get(); ok {
				row += " over " + driver
			}
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return []string{shown(f.Netdevs, func(list []facts.Netdev) string { return fmt.Sprintf("none of an RDMA card, %d others", len(list)) })}
	}
	return rows
}

func cardRows(pci facts.Field[[]facts.PCIDevice]) []string {
	list, ok := pci.Get()
	if !ok {
		return []string{shown(pci, func([]facts.PCIDevice) string { return "" })}
	}
	var rows []string
	others := 0
	for _, d := range list {
		if !d.RDMACapable && !d.FlashRecovery && d.Vendor != "15b3" {
			others++
			continue
		}
		rows = append(rows, cardText(d))
	}
	if others > 0 {
		rows = append(rows, fmt.Sprintf("%d network function(s) without RDMA", others))
	}
	return rows
}

func cardText(d facts.PCIDevice) string {
	address := d.Address
	if address == "" {
		address = "address unknown"
	}
	parts := []string{address + " " + d.Vendor + ":" + d.Device}
	switch {
	case d.Generation.IsKnown():
		parts[0] += " " + d.Generation.Value
	case len(d.Candidates) > 0:
		parts[0] += " one of " + strings.Join(d.Candidates, " ")
	case d.Description.IsKnown():
		parts[0] += " " + d.Description.Value
	}
	if d.VF.Or(false) {
		parts[0] += " VF"
		if pf, ok := d.PF.Get(); ok {
			parts[0] += " of " + pf
		}
	}
	if d.FlashRecovery {
		parts = append(parts, "in flash recovery: its firmware does not start")
	}
	parts = append(parts, "driver "+brief(d.Driver))
	now, can := linkText(d.LinkNow), linkText(d.LinkMax)
	switch {
	case d.VF.Or(false) && !d.LinkNow.IsKnown(): // a VF has no link of its own
	case !d.LinkNow.IsKnown() && !d.LinkMax.IsKnown():
		parts = append(parts, "PCI link unknown")
	case now == can && d.LinkNow.IsKnown():
		parts = append(parts, "PCI link "+now+", as fast as it can")
	default:
		parts = append(parts, "PCI link now "+now+", can "+can)
	}
	return strings.Join(parts, ", ")
}

func linkText(f facts.Field[facts.Link]) string {
	if l, ok := f.Get(); ok {
		return fmt.Sprintf("%s GT/s x%d", strconv.FormatFloat(l.SpeedGTs, 'f', -1, 64), l.Width)
	}
	return "unknown"
}

func hostRow(f facts.Facts) string {
	distro := f.Distro.PrettyName.Or("")
	if distro == "" {
		distro = strings.TrimSpace(f.Distro.ID.Or("unknown distribution") + " " + f.Distro.VersionID.Or(f.Distro.Codename.Or("")))
	}
	parts := []string{distro, "kernel unknown"}
	if release, ok := f.Kernel.Release.Get(); ok {
		parts[1] = strings.TrimSpace("kernel " + release + " " + f.Kernel.Arch.Or(""))
	}
	switch {
	case f.Platform.Container.Or(false):
		parts = append(parts, strings.TrimSpace("in a container "+f.Platform.ContainerRuntime.Or("")))
	case f.Platform.Virtualization.Or("") == "none":
		parts = append(parts, "bare metal")
	}
	if virt, ok := f.Platform.Virtualization.Get(); ok && virt != "none" {
		parts = append(parts, "on "+virt)
	} else if !ok {
		parts = append(parts, "virtualization unknown")
	}
	if enabled, ok := f.SecureBoot.Enabled.Get(); ok {
		parts = append(parts, map[bool]string{true: "Secure Boot on", false: "Secure Boot off"}[enabled])
	} else {
		parts = append(parts, "Secure Boot unknown")
	}
	if vendor, ok := f.Packages.OFEDInfo.Get(); ok {
		parts = append(parts, vendor)
	}
	return strings.Join(parts, ", ")
}
