package detect

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

func memlockRow(m facts.Memlock) string {
	if m.Soft.IsUnknown() && m.Hard.IsUnknown() {
		return shown(m.Soft, text)
	}
	row := "memlock soft " + shown(m.Soft, bytesText) + ", hard " + shown(m.Hard, bytesText)
	if lines := m.PAM.Or(nil); len(lines) > 0 {
		row += fmt.Sprintf("; %s in limits.d", plural(len(lines), "line"))
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
