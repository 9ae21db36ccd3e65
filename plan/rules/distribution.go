package rules

import "slices"

// Codes of the distribution.
const (
	DistroUnknown     Code = "distro-unknown"
	UnsupportedDistro Code = "unsupported-distro"
)

func distribution() Rule {
	return Rule{Name: "distribution", Scope: Inbox, Source: "the package families of the embedded profiles", Judge: func(in Input) []Finding {
		d := in.Facts.Distro
		family, ok := d.Family.Get()
		if !ok {
			return refuse(DistroUnknown, d.Family.Source, "nothing tells the distribution; /etc/os-release was not read")
		}
		name := d.PrettyName.Or(d.ID.Or(family))
		if len(in.Profile.Packages) > 0 && len(in.Profile.Packages[family]) == 0 { // one that wants none is for all
			return refuse(UnsupportedDistro, d.Family.Source,
				"profile %s has no packages for the family %s of %s", in.Profile.Name, family, name)
		}
		manager := in.Facts.Packages.Manager
		if text, ok := manager.Get(); (ok && !slices.Contains(managers(family), text)) || manager.IsAbsent() {
			return refuse(UnsupportedDistro, manager.Source, "%s is of the family %s but its package manager is %s", name, family, orNone(text))
		}
		return nil
	}}
}

func managers(family string) []string {
	switch family {
	case "debian":
		return []string{"apt"}
	case "rhel":
		return []string{"dnf", "yum"}
	case "suse":
		return []string{"zypper"}
	}
	return nil
}

func orNone(text string) string {
	if text == "" {
		return "missing"
	}
	return text
}
