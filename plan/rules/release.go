package rules

import (
	"slices"
	"strings"
)

// UnknownCombination is a combination for which there is no evidence either way.
const UnknownCombination Code = "unknown-combination"

// inboxRelease is a release whose own RDMA packages and modules were looked at.
type inboxRelease struct {
	name string
	// kernel is the line of kernels that the release was made with.
	kernel string
}

func inboxReleases() []inboxRelease {
	return []inboxRelease{
		{"debian 11", "5.10"},
		{"debian 12", "6.1"},
		{"debian 13", "6.12"},
		{"debian forky", ""},
		{"ubuntu 18.04", "4.15"},
		{"ubuntu 20.04", "5.4"},
		{"ubuntu 22.04", "5.15"},
		{"ubuntu 24.04", "6.8"},
		{"ubuntu 25.10", "6.17"},
		{"ubuntu 26.04", "7.0"},
	}
}

// versionOfCodename is the number of a release by its name, for an os-release without VERSION_ID: that
// of Debian testing before the release, or an excerpt.
func versionOfCodename(id, codename string) string {
	return map[string]string{
		"debian bullseye": "11", "debian bookworm": "12", "debian trixie": "13",
		"ubuntu bionic": "18.04", "ubuntu focal": "20.04", "ubuntu jammy": "22.04", "ubuntu noble": "24.04",
		"ubuntu questing": "25.10", "ubuntu resolute": "26.04",
	}[id+" "+strings.ToLower(codename)]
}

// ReleaseName is "ID VERSION_ID". Where there is no VERSION_ID the codename stands for it, or follows
// the ID where it has no number yet ("debian forky").
func ReleaseName(in Input) string {
	d := in.Facts.Distro
	id, version := d.ID.Or(""), d.VersionID.Or("")
	if version == "" {
		codename := d.Codename.Or("")
		if version = versionOfCodename(id, codename); version == "" {
			version = codename
		}
	}
	return strings.TrimSpace(id + " " + version)
}

// ReleaseKnown says whether the inbox stack of this release was looked at.
func ReleaseKnown(in Input) bool {
	_, ok := inboxOf(in)
	return ok
}

func inboxOf(in Input) (inboxRelease, bool) {
	name := ReleaseName(in)
	if i := slices.IndexFunc(inboxReleases(), func(r inboxRelease) bool { return r.name == name }); i >= 0 {
		return inboxReleases()[i], true
	}
	if in.Matrix == nil {
		return inboxRelease{}, false
	}
	s := systemOf(in)
	if r, ok := in.Matrix.Inbox(s.rowID(), s.rowVersion(), ""); ok {
		return inboxRelease{name, r.Kernel}, true
	}
	// The package names of the RHEL family are those of the major release; a minor one that nobody looked
	// at has other versions of them.
	if s.family == "rhel" {
		for _, r := range in.Matrix.Matrix().Inbox {
			if r.ID == "rhel" && majorOf(r.VersionID) == majorOf(s.rowVersion()) {
				return inboxRelease{name: name}, true
			}
		}
	}
	return inboxRelease{}, false
}

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
