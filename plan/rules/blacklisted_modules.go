package rules

// ModuleBlacklisted is the administrator's own wish that a needed module stays out.
const ModuleBlacklisted Code = "module-blacklisted"

func blacklistedModules() Rule {
	return Rule{Name: "blacklisted-modules", Scope: Inbox, Source: "modprobe.d(5); systemd-modules-load honours blacklists, so the module would be missing after each boot", Judge: func(in Input) []Finding {
		var found []Finding
		for _, m := range in.Modules {
			switch {
			case m.Blacklist == "" || m.State == StateMissing:
			case m.Optional:
				found = append(found, warn(ModuleLeftOut, m.Blacklist, "%s (%s) is left out: it is blacklisted by %s", m.Name, m.Why, m.Blacklist)...)
			default:
				found = append(found, refuse(ModuleBlacklisted, m.Blacklist, "%s (%s) is needed and blacklisted by %s", m.Name, m.Why, m.Blacklist)...)
			}
		}
		return found
	}}
}
