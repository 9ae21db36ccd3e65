package rules

import "slices"

// CardNewerThanProvider is a card whose PCI id came to rdma-core after the distribution's version of it.
const CardNewerThanProvider Code = "card-newer-than-provider"

// providerAge: the user-space driver has a table of PCI ids of its own. A card that it does not know has a device in
// /sys/class/infiniband and is not seen by ibv_devices.
func providerAge() Rule {
	return Rule{Name: "provider-age", Scope: Inbox, Source: "PCI ids in the mlx4 and mlx5 providers of rdma-core by release, and versions of distributions, of the matrix", Judge: func(in Input) []Finding {
		if in.Matrix == nil || in.inContainer() || in.Profile.SoftRoCE != nil {
			return nil
		}
		core, told := inboxCore(in)
		have := digitsOf(core)
		if len(have) == 0 {
			return nil
		}
		var found []Finding
		for _, card := range hostCards(in) {
			if len(card.generations) != 1 {
				continue
			}
			d, known := in.Matrix.CardDriver(card.generations[0])
			first := digitsOf(d.FirstCore)
			if !known || len(first) == 0 || slices.Compare(have[:1], first[:1]) >= 0 {
				continue
			}
			found = append(found, warn(CardNewerThanProvider, firstSource(d.Source, told),
				"%s: rdma-core has its id in the provider %s since %s, and the distribution has %s (%s); unless the distribution brought the id to it, programs see no device although the kernel has one. "+
					"rdma-core from source (--stack rdma-core) has it", card.name, d.Provider, d.FirstCore, printable(core), told)...)
		}
		return found
	}}
}

// inboxCore is the version of the distribution's rdma-core: of the installed library, else of what the matrix tells of
// the release, with what told it.
func inboxCore(in Input) (core, told string) {
	installed, _ := InstalledPackages(in.Facts)
	for _, p := range installed {
		if p.Origin == "inbox" && (sameName(p.Name, "libibverbs1") || sameName(p.Name, "libibverbs")) {
			return p.Version, in.Facts.Packages.Installed.Source
		}
	}
	s := systemOf(in)
	if r, ok := in.Matrix.Inbox(s.rowID(), s.rowVersion(), ""); ok {
		return r.RDMACore, firstSource(r.Source, "the compatibility matrix")
	}
	return "", ""
}
