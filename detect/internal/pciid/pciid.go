// Package pciid says what a PCI function with RDMA is: the generation of a Mellanox or NVIDIA
// function, the modules and the provider that serve a function of any vendor. The table is
// ids.yaml, one source for each group.
package pciid

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/strictyaml"
)

// Mellanox is the vendor id of Mellanox Technologies, today NVIDIA Networking. RDMA devices tell the
// vendor as 0x02c9 (the OUI), which is no PCI id.
const Mellanox = "15b3"

// Role is what a function is.
type Role string

// The roles.
const (
	NIC Role = "nic"
	// FlashRecovery is a card whose firmware does not start: it shows an id of its own and no driver
	// binds to it.
	FlashRecovery Role = "flash-recovery"
	// Auxiliary functions sit beside a NIC (DMA, switch, management) and are none.
	Auxiliary Role = "auxiliary"
)

// Function is what is known of one vendor and device id.
type Function struct {
	Vendor, Device string // four lower-case hex digits
	Name           string // as pci.ids has it
	Role           Role
	// Generations has one entry when the id tells the generation, more when it is shared, none for
	// other vendors.
	Generations []string
	VF          bool
	// LinkLayers are "infiniband" and "ethernet", empty when not documented.
	LinkLayers []string
	// PCIeGeneration is the highest that the chip speaks, 0 when not documented.
	PCIeGeneration int
	// Driver and RDMADriver are kernel modules, Provider is the user-space one. Empty where no
	// kernel has a driver for the id.
	Driver, RDMADriver, Provider string
}

// Table is the decoded table.
type Table struct {
	byID        map[string]Function // "vendor:device"
	byName      map[string]Function
	byFirmware  map[string]string
	generations []string
}

type file struct {
	APIVersion string            `yaml:"apiVersion"`
	Kind       string            `yaml:"kind"`
	Firmware   map[string]string `yaml:"firmware_major"`
	Groups     []group           `yaml:"groups"`
}

type group struct {
	Vendor     string     `yaml:"vendor"`
	Source     []string   `yaml:"source"`
	Role       Role       `yaml:"role"`
	Driver     string     `yaml:"driver"`
	RDMADriver string     `yaml:"rdma_driver"`
	Provider   string     `yaml:"provider"`
	Functions  []function `yaml:"functions"`
}

type function struct {
	IDs            []string `yaml:"ids"`
	Name           string   `yaml:"name"`
	Generations    []string `yaml:"generations"`
	VF             bool     `yaml:"vf"`
	LinkLayers     []string `yaml:"link_layers"`
	PCIeGeneration int      `yaml:"pcie_generation"`
	NoDriver       bool     `yaml:"no_driver"`
}

// Load returns the table: compiled from ids.yaml (see ids_gen.go), because reading YAML for each host of a
// fleet takes longer than all the rest.
func Load() (*Table, error) { return tableOf("ids.yaml", document()) }

// parse reads the YAML form.
func parse(name string, data []byte) (file, error) {
	var f file
	if err := strictyaml.Decode(name, data, &f); err != nil {
		return f, err
	}
	if f.APIVersion != "rdmactl/v1" || f.Kind != "PCIFunctions" {
		return f, fmt.Errorf("cannot read %s: it is %s %s, not rdmactl/v1 PCIFunctions", name, f.APIVersion, f.Kind)
	}
	return f, nil
}

func tableOf(name string, f file) (*Table, error) {
	t := &Table{byID: make(map[string]Function, 128), byName: make(map[string]Function, 128), byFirmware: f.Firmware}
	for _, g := range f.Groups {
		for _, fn := range g.Functions {
			if err := t.add(g, fn); err != nil {
				return nil, fmt.Errorf("cannot read %s: %w", name, err)
			}
		}
	}
	return t, nil
}

func (t *Table) add(g group, fn function) error {
	if len(g.Source) == 0 {
		return fmt.Errorf("the group of %v has no source", fn.IDs)
	}
	for _, id := range fn.IDs {
		if !isID(id) || !isID(g.Vendor) {
			return fmt.Errorf("%q:%q is not a pair of four lower-case hex digits", g.Vendor, id)
		}
		role := g.Role
		if role == "" {
			role = NIC
		}
		out := Function{
			Vendor: g.Vendor, Device: id, Name: fn.Name, Role: role, Generations: fn.Generations, VF: fn.VF,
			LinkLayers: fn.LinkLayers, PCIeGeneration: fn.PCIeGeneration,
		}
		if !fn.NoDriver {
			out.Driver, out.RDMADriver, out.Provider = g.Driver, g.RDMADriver, g.Provider
		}
		key := g.Vendor + ":" + id
		if _, ok := t.byID[key]; ok {
			return fmt.Errorf("%s is there twice", key)
		}
		t.byID[key] = out
		if len(fn.IDs) == 1 {
			t.byName[nameKey(g.Vendor, fn.Name)] = out
		}
		for _, generation := range fn.Generations {
			if !slices.Contains(t.generations, generation) {
				t.generations = append(t.generations, generation)
			}
		}
	}
	return nil
}

// Lookup returns the function with a vendor and device id.
func (t *Table) Lookup(vendor, device string) (Function, bool) {
	fn, ok := t.byID[vendor+":"+device]
	return fn, ok
}

// ByName returns the function that lspci without -n prints as "Mellanox Technologies NAME".
func (t *Table) ByName(vendor, name string) (Function, bool) {
	fn, ok := t.byName[nameKey(vendor, name)]
	return fn, ok
}

// ByFirmware returns the generation of a Mellanox firmware version such as 22.38.1900: from
// ConnectX-4 on, its first number is the generation's own, on virtual functions too.
func (t *Table) ByFirmware(version string) (string, bool) {
	major, _, ok := strings.Cut(version, ".")
	if !ok {
		return "", false
	}
	generation, ok := t.byFirmware[major]
	return generation, ok
}

// Generations are the names of all generations.
func (t *Table) Generations() []string { return slices.Clone(t.generations) }

func nameKey(vendor, name string) string { return vendor + " " + strings.ToLower(name) }

func isID(s string) bool {
	return len(s) == 4 && strings.Trim(s, "0123456789abcdef") == ""
}
