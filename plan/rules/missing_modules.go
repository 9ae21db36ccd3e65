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
		var found []Finding
		for _, m := range in.Modules {
			switch {
			case m.State == StateMissing && m.Optional:
				found = append(found, warn(ModuleLeftOut, m.Source, "%s (%s) is left out: %s", m.Name, m.Why, lacks(in, m.Name))...)
			case m.State == StateUnknown && m.Optional:
				found = append(found, warn(ModuleLeftOut, "", "%s (%s) is left out: nothing tells whether the kernel has it", m.Name, m.Why)...)
			case m.State == StateMissing:
				found = append(found, refuse(ModuleMissing, m.Source, "%s (%s) is needed: %s", m.Name, m.Why, lacks(in, m.Name))...)
			}
		}
		return found
	}}
}

// lacks says that the kernel has no such module and which package has.
func lacks(in Input, module string) string {
	k := in.Facts.Kernel
	release := k.Release.Or("of this host")
	text := "kernel " + release + " has no such module"
	if o := option(module); k.Config.Or(nil)[o] == "n" {
		text += " (CONFIG_" + o + " is not set)"
	}
	flavour := k.Flavour.Or("")
	switch {
	case in.Facts.Distro.ID.Or("") == "debian" && strings.HasPrefix(flavour, "cloud-"):
		text += "; the flavour " + flavour + " is built without it, linux-image-" + strings.TrimPrefix(flavour, "cloud-") + " has it (install it and boot it)"
	case in.Facts.Distro.ID.Or("") == "ubuntu" && flavour != "":
		text += "; it may be in the package linux-modules-extra-" + release
	}
	return text
}
