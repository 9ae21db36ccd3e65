package rules

import "strings"

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
		var needed, optional, unknown []Module
		for _, m := range in.Modules {
			switch {
			case m.State == StateMissing && !m.Optional:
				needed = append(needed, m)
			case m.State == StateMissing:
				optional = append(optional, m)
			case m.State == StateUnknown && m.Optional:
				unknown = append(unknown, m)
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
		return found
	}}
}

// lacks says that the kernel has no such modules and which package has.
func lacks(in Input, modules []Module) string {
	k := in.Facts.Kernel
	release := k.Release.Or("of this host")
	text := "kernel " + release + " has no " + names(modules)
	var unset []string
	for _, m := range modules {
		if o := option(m.Name); k.Config.Or(nil)[o] == "n" {
			unset = append(unset, "CONFIG_"+o)
		}
	}
	if len(unset) > 0 {
		text += " (not set: " + list(unset) + ")"
	}
	flavour := k.Flavour.Or("")
	switch {
	case in.Facts.Distro.ID.Or("") == "debian" && strings.HasPrefix(flavour, "cloud-"):
		text += "; the flavour " + flavour + " is built without, linux-image-" + strings.TrimPrefix(flavour, "cloud-") + " is not (install it and boot it)"
	case in.Facts.Distro.ID.Or("") == "ubuntu" && flavour != "":
		text += "; the package linux-modules-extra-" + release + " may have it"
	}
	return text
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
