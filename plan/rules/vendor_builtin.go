package rules

import (
	"slices"
	"strings"
)

// Codes of kernels that no module can be replaced in.
const (
	DriversBuiltIn Code = "drivers-built-into-kernel"
	NoModules      Code = "kernel-without-modules"
)

// builtInDrivers: a module cannot replace what is part of the kernel image, whatever the release.
func builtInDrivers() VendorRule {
	return VendorRule{Name: "built-in-drivers", Source: "https://github.com/microsoft/azure-linux-kernel/issues/28; the options that the matrix marks for vendor stacks", Judge: func(h *vendorHost, c *Candidate) {
		if h.vendor() {
			c.refuse(h.once("built-in-drivers", h.findBuiltIn)...)
		}
	}}
}

func (h *vendorHost) findBuiltIn() []Finding {
	if h.otherKernel {
		return nil // the configuration is another kernel's
	}
	mlx4 := slices.ContainsFunc(h.cards, func(c hostCard) bool { return c.driver == "mlx4_core" })
	mlx5 := slices.ContainsFunc(h.cards, func(c hostCard) bool { return c.driver != "mlx4_core" })
	if len(h.cards) == 0 {
		mlx4, mlx5 = true, true
	}
	config := h.in.Facts.Kernel.Config
	source := config.Source
	var built []string
	hit := false
	for _, o := range h.matrix.Matrix().Options {
		if o.Need != "vendor" {
			continue
		}
		// The driver of a card that the host does not have may stay built in.
		decides := !strings.HasPrefix(o.Option, "MLX") || mlx4 && strings.HasPrefix(o.Option, "MLX4") || mlx5 && strings.HasPrefix(o.Option, "MLX5")
		state := config.Or(nil)[o.Option] == "y"
		for _, d := range h.in.Facts.Modules.OnDisk {
			if !state && d.Builtin && d.Name == o.Module {
				state, source = true, d.Path.Source
			}
		}
		if state {
			built = append(built, "CONFIG_"+o.Option)
			hit = hit || decides
		}
	}
	if !hit {
		return nil
	}
	slices.Sort(built)
	built = slices.Compact(built)
	verb := "are"
	if len(built) == 1 {
		verb = "is"
	}
	return refuse(DriversBuiltIn, source, "%s %s built into kernel %s (=y), and no module of any release, of any version, can replace what is built in; "+
		"inbox (rdma-core on these drivers) serves, or a kernel that has them as modules (=m), such as the distribution's generic one",
		strings.Join(built, " and "), verb, orUntold(h.kernel.release))
}

// loadableModules: a kernel that loads none cannot take a stack's.
func loadableModules() VendorRule {
	return VendorRule{Name: "loadable-modules", Source: "CONFIG_MODULES of the kernel", Judge: func(h *vendorHost, c *Candidate) {
		config := &h.in.Facts.Kernel.Config
		if !h.vendor() || h.otherKernel || config.Or(nil)["MODULES"] != "n" {
			return
		}
		c.refuse(h.once("loadable-modules", func() []Finding {
			return refuse(NoModules, config.Source, "kernel %s is built without loadable modules (CONFIG_MODULES is not set)", orUntold(h.kernel.release))
		})...)
	}}
}
