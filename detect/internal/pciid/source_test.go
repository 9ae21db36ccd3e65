package pciid

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/strictyaml"
)

// source is the table as ids.yaml has it, of which the code is made.
type source struct {
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

func sourceOf(name string, f file) (*source, error) {
	t := &source{byID: make(map[string]Function, 128), byName: make(map[string]Function, 128), byFirmware: f.Firmware}
	for _, g := range f.Groups {
		for _, fn := range g.Functions {
			if err := t.add(g, fn); err != nil {
				return nil, fmt.Errorf("cannot read %s: %w", name, err)
			}
		}
	}
	return t, nil
}

func (t *source) add(g group, fn function) error {
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

func isID(s string) bool {
	return len(s) == 4 && strings.Trim(s, "0123456789abcdef") == ""
}
