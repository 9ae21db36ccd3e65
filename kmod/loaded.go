package kmod

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/host"
)

// Module is a module in memory.
type Module struct {
	Name      string
	Size      int64    // bytes
	Refs      int      // references; -1 where the kernel does not count (no CONFIG_MODULE_UNLOAD)
	UsedBy    []string // modules that hold it; references beyond them are held by devices and processes
	Permanent bool     // cannot be unloaded
	State     string   // "Live", "Loading", "Unloading"; empty from lsmod
	Taint     string   // letters of the module's own taint, "OE"; empty: none, or from lsmod
}

// ParseProcModules reads /proc/modules: name, size, references, holders, state, address, taint.
func ParseProcModules(text string) ([]Module, error) {
	var list []Module
	n := 0
	for line := range strings.Lines(text) {
		n++
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) < 5 {
			return nil, fmt.Errorf("cannot read /proc/modules: line %d has %d fields, want 6", n, len(words))
		}
		m, err := newModule(words[0], words[1], words[2], words[3])
		if err != nil {
			return nil, fmt.Errorf("cannot read /proc/modules: line %d: %w", n, err)
		}
		m.State = words[4]
		if len(words) > 6 {
			m.Taint = strings.Trim(words[6], "()")
		}
		list = append(list, m)
	}
	return list, nil
}

// ParseLsmod reads the table of lsmod(8). It may be an excerpt.
func ParseLsmod(text string) ([]Module, error) {
	var list []Module
	n := 0
	for line := range strings.Lines(text) {
		n++
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "Module" && len(words) > 1 && words[1] == "Size" {
			continue
		}
		if len(words) < 3 {
			return nil, fmt.Errorf("cannot read lsmod: line %d has %d fields, want 3 or more", n, len(words))
		}
		m, err := newModule(words[0], words[1], words[2], strings.Join(words[3:], ","))
		if err != nil {
			return nil, fmt.Errorf("cannot read lsmod: line %d: %w", n, err)
		}
		list = append(list, m)
	}
	return list, nil
}

func newModule(name, size, refs, holders string) (Module, error) {
	m := Module{Name: Normalize(name), Refs: -1}
	var err error
	if err = CheckName(name); err != nil {
		return Module{}, err
	}
	if m.Size, err = strconv.ParseInt(size, 10, 64); err != nil || m.Size < 0 {
		return Module{}, fmt.Errorf("size %q is not a number of bytes", size)
	}
	if refs != "-" && refs != "-2" { // lsmod prints -2 where /proc/modules has "-"
		if m.Refs, err = strconv.Atoi(refs); err != nil {
			return Module{}, fmt.Errorf("reference count %q is not a number", refs)
		}
	}
	for _, h := range splitList(holders) {
		switch h {
		case "-":
		case "[permanent]":
			m.Permanent = true
		default:
			m.UsedBy = append(m.UsedBy, Normalize(h))
		}
	}
	return m, nil
}

// Loaded lists the modules in memory, from /proc/modules or from `lsmod`.
func Loaded(ctx context.Context, r host.Reader) ([]Module, error) {
	text, err := r.ReadFile("/proc/modules")
	if err == nil {
		return ParseProcModules(string(text))
	}
	if !errors.Is(err, host.ErrUnknown) {
		// A kernel without CONFIG_MODULES has no /proc/modules: nothing can be loaded there.
		return nil, fmt.Errorf("cannot list loaded modules: %w", err)
	}
	res, err := r.Query(ctx, "lsmod")
	if err != nil {
		return nil, fmt.Errorf("cannot list loaded modules: %w", err)
	}
	if res.Exit != 0 || strings.TrimSpace(res.Stdout) == "" {
		return nil, fmt.Errorf("cannot list loaded modules: lsmod ended with %d: %w", res.Exit, host.ErrUnknown)
	}
	return ParseLsmod(res.Stdout)
}

// IsLoaded says whether a module is in the list. A module that another one is used by is loaded,
// although an excerpt may lack its own line.
func IsLoaded(list []Module, name string) bool {
	name = Normalize(name)
	return slices.ContainsFunc(list, func(m Module) bool {
		return m.Name == name || slices.Contains(m.UsedBy, name)
	})
}

// Present says whether the kernel has the module in memory or built in, from /sys/module. A built-in
// module has a directory there only if it has parameters or a version, so false is no proof for one.
func Present(r host.Reader, name string) (bool, error) {
	if err := CheckName(name); err != nil {
		return false, err
	}
	_, err := r.Stat("/sys/module/" + Normalize(name))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	}
	return false, fmt.Errorf("cannot look up module %s: %w", name, err)
}

// SrcVersion returns the source hash of a module in memory, to compare with Info.SrcVersion of the
// file: they differ when the stack was replaced and the old module still runs. fs.ErrNotExist: not
// loaded, or built without MODULE_SRCVERSION_ALL and without a version.
func SrcVersion(r host.Reader, name string) (string, error) { return sysAttr(r, name, "srcversion") }

// LoadedVersion returns the version of a module in memory, from /sys/module/NAME/version.
func LoadedVersion(r host.Reader, name string) (string, error) { return sysAttr(r, name, "version") }

func sysAttr(r host.Reader, name, attr string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	text, err := r.ReadFile("/sys/module/" + Normalize(name) + "/" + attr)
	if err != nil {
		return "", fmt.Errorf("cannot read %s of loaded module %s: %w", attr, name, err)
	}
	return strings.TrimSpace(string(text)), nil
}
