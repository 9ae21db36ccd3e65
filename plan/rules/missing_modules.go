package rules

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// Codes of modules.
const (
	ModuleMissing Code = "module-missing"
	ModuleLeftOut Code = "module-left-out"
)

func missingModules() Rule {
	return Rule{Name: "missing-modules", Scope: Inbox, Source: "Debian's kernel packages 5.10, 6.1 and 6.12: the cloud flavour lacks rdma_rxe, ib_ipoib, ib_iser, ib_srp; " +
		"Ubuntu's flavours keep modules in linux-modules-extra", Judge: func(in Input) []Finding {
		if in.inContainer() {
			return nil
		}
		var needed, optional, unknown, untold []Module
		for _, m := range in.Modules {
			switch {
			case m.State == StateMissing && !m.Optional:
				needed = append(needed, m)
			case m.State == StateMissing:
				optional = append(optional, m)
			case m.State == StateUnknown && m.Optional:
				unknown = append(unknown, m)
			case m.State == StateUnknown && reducedKernel(in) && sometimesLacking(in, m.Name):
				untold = append(untold, m)
			}
		}
		var found []Finding
		if len(needed) > 0 {
			found = append(found, refuse(ModuleMissing, needed[0].Source, "%s; needed for: %s", lacks(in, needed), reasons(needed))...)
		}
		if len(optional) > 0 {
			found = append(found, warn(ModuleLeftOut, optional[0].Source, "%s; left out: %s", lacks(in, optional), reasons(optional))...)
		}
		if len(unknown) > 0 {
			found = append(found, warn(ModuleLeftOut, "", "nothing tells whether the kernel has %s; left out: %s", names(unknown), reasons(unknown))...)
		}
		if len(untold) > 0 {
			found = append(found, warn(ModuleMissing, "", "nothing tells whether kernel %s has %s, which flavours for clouds leave out or keep in a package of their own; needed for: %s%s",
				targetName(in), names(untold), reasons(untold), elsewhere(in))...)
		}
		return found
	}}
}

// reducedKernel says that the kernel is of a flavour whose packages lack modules of the generic one.
func reducedKernel(in Input) bool {
	id := in.Facts.Distro.ID.Or("")
	kernel := kernelOf(in, id)
	return kernel.kind == kernelFlavour && (id == "ubuntu" && kernel.flavour != "lowlatency" && kernel.flavour != "generic-64k" || id == "debian" && strings.HasPrefix(kernel.flavour, "cloud-"))
}

// sometimesLacking says that a flavour of some release's kernel is known to lack a module, or to have it in a
// package of its own.
func sometimesLacking(in Input, module string) bool {
	if in.Matrix == nil {
		return false
	}
	same := func(name string) bool { return profiles.ModuleKey(name) == module }
	return slices.ContainsFunc(in.Matrix.Matrix().Inbox, func(r matrix.InboxRelease) bool {
		return r.Flavour != "" && (slices.ContainsFunc(r.Absent, same) || slices.ContainsFunc(r.Extra, same))
	})
}

// targetName is the release of the target kernel in a text.
func targetName(in Input) string {
	if release, _ := in.targetKernel(); release != "" {
		return release
	}
	return "of this host"
}

// elsewhere is where the distribution has a module that a flavour of its kernel lacks.
func elsewhere(in Input) string {
	id := in.Facts.Distro.ID.Or("")
	kernel := kernelOf(in, id)
	switch {
	case id == "debian" && strings.HasPrefix(kernel.flavour, "cloud-"):
		return "; the flavour " + kernel.flavour + " is built without, linux-image-" + strings.TrimPrefix(kernel.flavour, "cloud-") + " is not (install it and boot it)"
	case id == "ubuntu":
		return "; the package linux-modules-extra-" + targetName(in) + " may have it"
	}
	return ""
}

// lacks says that the kernel has no such modules and which package has.
func lacks(in Input, modules []Module) string {
	k := in.Facts.Kernel
	text := "kernel " + targetName(in) + " has no " + names(modules)
	var unset []string
	for _, m := range modules {
		if o := option(m.Name); !in.OtherKernel() && k.Config.Or(nil)[o] == "n" {
			unset = append(unset, "CONFIG_"+o)
		}
	}
	if len(unset) > 0 {
		text += " (not set: " + list(unset) + ")"
	}
	if note := modules[0].Note; note != "" {
		text += " (" + note + ")"
	}
	if in.Facts.Distro.ID.Or("") == "ubuntu" && modules[0].Note != "" {
		return text + "; linux-image-generic, the generic kernel, is another flavour (install it and boot it)"
	}
	return text + elsewhere(in)
}

func names(modules []Module) string {
	var out []string
	for _, m := range modules {
		out = append(out, m.Name)
	}
	return list(out)
}

func reasons(modules []Module) string {
	var out []string
	for _, m := range modules {
		out = append(out, m.Why)
	}
	return strings.Join(out, "; ")
}
