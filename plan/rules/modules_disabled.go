package rules

import "slices"

// ModulesDisabled is a kernel that loads no module until it is booted anew.
const ModulesDisabled Code = "modules-disabled"

// modulesDisabled: the sysctl goes one way only. What is installed comes into use with the next boot, when it is set
// again only after the modules were loaded.
func modulesDisabled() Rule {
	return Rule{Name: "modules-disabled", Scope: Request, Source: "Documentation/admin-guide/sysctl/kernel.rst: modules_disabled, once true, cannot be set to false", Judge: func(in Input) []Finding {
		if !ModulesLocked(in) {
			return nil
		}
		return warn(ModulesDisabled, in.Facts.Kernel.ModulesDisabled.Source,
			"kernel.modules_disabled is 1: this kernel loads and unloads no module until the next boot; what is installed comes into use then, if the setting is made only after the modules are loaded "+
				"(look for it in /etc/sysctl.d)")
	}}
}

// ModulesLocked says that the running kernel loads no modules, and that some that are wanted are not in it.
func ModulesLocked(in Input) bool {
	if !in.Running() || in.inContainer() || !in.Facts.Kernel.ModulesDisabled.Or(false) {
		return false
	}
	return slices.ContainsFunc(in.Modules, func(m Module) bool { return m.State != StateLoaded && !m.Optional })
}
