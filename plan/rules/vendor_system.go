package rules

import (
	"slices"
	"strings"
)

// vendorSystem is a distribution as vendors' tables name it.
type vendorSystem struct {
	// id and version are the system's own: rocky 8.5, ubuntu 22.04, debian 12.
	id, version string
	// point is the full version where version is only the major one: "12.5" of Debian.
	point string
	// like is RHEL's minor release that a rebuild is made from; empty for all others. An Oracle Linux
	// with its own kernel (UEK), CentOS Stream and a rebuild whose minor nobody told are not like RHEL.
	like   string
	family string
	name   string // for people
	source string
}

// rebuilds are distributions that are built from RHEL's sources, minor release by minor release.
func rebuilds() []string { return []string{"rocky", "almalinux", "centos", "ol", "scientific"} }

// systemOf reads the distribution's identity from the facts.
func systemOf(in Input) vendorSystem {
	d := in.Facts.Distro
	s := vendorSystem{
		id: strings.ToLower(d.ID.Or("")), family: d.Family.Or(""), source: d.ID.Source,
		version: strings.TrimPrefix(strings.ToLower(d.VersionID.Or("")), "v"),
	}
	if s.version == "" {
		s.version = versionOfCodename(s.id, d.Codename.Or(""))
	}
	point := word(minorOf(d.PointRelease.Or("")))
	s.id, s.version = word(s.id), word(s.version)
	pretty := strings.ToLower(d.PrettyName.Or(""))
	kernel, _ := in.targetKernel()
	if s.id == "sle_hpc" || s.id == "sles_sap" {
		s.id = "sles"
	}
	switch {
	case s.id == "sles" && s.version != "" && !strings.Contains(s.version, "."):
		s.version += ".0" // before its first service pack
	case s.id == "rhel" && strings.Contains(kernel, ".el7a"):
		s.version += "alt" // RHEL ALT: os-release shows plain 7.N
	case slices.Contains([]string{"openeuler", "kylin", "bclinux"}, s.id):
		// VERSION_ID is the same for all service packs: openEuler 22.03 (LTS-SP3), Kylin V10 (SP2).
		if _, pack, ok := strings.Cut(pretty, "sp"); ok && pack != "" && pack[0] >= '1' && pack[0] <= '9' && !strings.Contains(s.version, "sp") {
			s.version += "sp" + pack[:1]
		}
	case s.id == "debian":
		s.point = point
	case s.id == "rhel" && s.version != "" && majorOf(point) == s.version:
		s.version = point
	case slices.Contains(rebuilds(), s.id):
		if !strings.Contains(s.version, ".") && point != "" && majorOf(point) == s.version && !strings.Contains(pretty, "stream") {
			s.version = point
		}
		if strings.Contains(s.version, ".") && !isUEK(kernel) {
			s.like = s.version
		}
	}
	s.name = printable(d.PrettyName.Or(""))
	if s.name == "" {
		s.name = strings.TrimSpace(printable(s.id + " " + s.version))
	}
	if s.name == "" {
		s.name = "this distribution"
	}
	return s
}

// word is the text when it may become a part of a label, and so of addresses and file names; else it is
// not a name that any table has.
func word(text string) string {
	odd := func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789.-_", r) }
	if strings.ContainsFunc(text, odd) || strings.Contains(text, "..") {
		return ""
	}
	return text
}

// minorOf keeps the first two numbers: "7.7" of "7.7.1908".
func minorOf(text string) string {
	major, rest, ok := strings.Cut(text, ".")
	if !ok {
		return ""
	}
	minor, _, _ := strings.Cut(rest, ".")
	return major + "." + minor
}

func majorOf(text string) string {
	major, _, _ := strings.Cut(text, ".")
	return major
}

// rowID and rowVersion are the names under which a table has the system, for rebuilds those of RHEL.
func (s vendorSystem) rowID() string {
	if s.like != "" {
		return "rhel"
	}
	return s.id
}

func (s vendorSystem) rowVersion() string {
	if s.like != "" {
		return s.like
	}
	return s.version
}

// label is how the vendor names the system in files and paths: rhel9.4, ubuntu22.04, sles15sp4. With
// majorOnly (DOCA from 3.2 on) the minor release goes for those systems that have one.
func (s vendorSystem) label(majorOnly bool) string {
	id, v := s.rowID(), s.rowVersion()
	switch {
	case id == "" || v == "":
		return ""
	case id == "ubuntu":
		return id + v
	case id == "sles":
		major, pack, _ := strings.Cut(v, ".")
		if majorOnly || pack == "" {
			return id + major
		}
		return id + major + "sp" + pack
	case strings.HasSuffix(v, "alt"):
		return id + v + "ernate"
	case id == "debian" && s.point != "" && !majorOnly:
		return id + s.point
	case id == "ol" && majorOnly, id == "rhel" && majorOnly, id == "debian" && majorOnly:
		return id + majorOf(v)
	}
	return id + v
}
