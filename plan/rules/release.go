package rules

import "slices"

// UnknownCombination is a combination for which there is no evidence either way.
const UnknownCombination Code = "unknown-combination"

// inboxReleases are the releases whose own RDMA packages and modules were looked at.
func inboxReleases() []string {
	return []string{
		"debian 11", "debian 12", "debian 13", "debian forky",
		"ubuntu 18.04", "ubuntu 20.04", "ubuntu 22.04", "ubuntu 24.04", "ubuntu 25.10", "ubuntu 26.04",
	}
}

// ReleaseName is "ID VERSION_ID", or "ID CODENAME" where there is no VERSION_ID (Debian testing).
func ReleaseName(in Input) string {
	d := in.Facts.Distro
	version := d.VersionID.Or("")
	if version == "" {
		version = d.Codename.Or("")
	}
	return d.ID.Or("") + " " + version
}

// ReleaseKnown says whether the inbox stack of this release was looked at.
func ReleaseKnown(in Input) bool { return slices.Contains(inboxReleases(), ReleaseName(in)) }

func release() Rule {
	return Rule{Name: "release", Scope: Inbox, Source: "package lists of Debian and Ubuntu releases, read 2026-11-30", Judge: func(in Input) []Finding {
		if ReleaseKnown(in) || !in.Facts.Distro.Family.IsKnown() {
			return nil
		}
		d := in.Facts.Distro
		const text = "nothing is known of the RDMA packages of %s; names or modules may differ from what the profile asks for"
		name := d.PrettyName.Or(ReleaseName(in))
		if in.Named {
			return warn(UnknownCombination, d.ID.Source, text, name)
		}
		return refuse(UnknownCombination, d.ID.Source, text, name)
	}}
}
