package holdings

import (
	"regexp"
	"strings"
)

// system is a distribution's release as os-release names it; SLES service packs are "15.4".
type system struct{ id, version string }

func (s system) String() string { return strings.TrimSpace(s.id + " " + s.version) }

var labelPattern = regexp.MustCompile(`^([a-z]+)(\d+(?:\.\d+)?)(?:u(\d{1,2}))?(?:sp(\d))?(alternate|alt)?$`)

// parseLabel reads how the vendor names systems in files, paths and versions: rhel9.4, rhel94, rhel9u4,
// ubuntu2204, sles15sp5, openeuler20.03sp3.
func parseLabel(label string) (system, bool) {
	m := labelPattern.FindStringSubmatch(strings.ToLower(label))
	if m == nil {
		return system{}, false
	}
	id, number, minor, sp, alt := m[1], m[2], m[3], m[4], m[5]
	dotted := strings.Contains(number, ".")
	switch id {
	case "rhel", "ol", "centos", "rocky", "almalinux":
		if !dotted && minor == "" {
			number = splitMajor(number)
		}
	case "debian":
		if !dotted && (len(number) > 2 || len(number) == 2 && number[0] >= '6') {
			number = splitMajor(number)
		}
	case "ubuntu", "openeuler":
		if !dotted && len(number) == 4 {
			number = number[:2] + "." + number[2:]
		}
	case "bclinux", "ctyunos":
		if !dotted && len(number) == 4 {
			number = number[:2] + "." + number[2:]
		} else if !dotted && len(number) == 2 {
			number = number[:1] + "." + number[1:]
		}
	case "alinux", "anolis", "mariner", "alios", "xenserver":
		if !dotted && len(number) == 2 {
			number = number[:1] + "." + number[1:]
		}
	case "azurelinux", "azl":
		id = "azurelinux"
	case "fedora", "fc":
		id = "fedora"
	case "sles":
		if sp != "" {
			number, sp = number+"."+sp, ""
		}
	case "euleros", "kylin", "uos", "rhcos", "photon", "opensuse", "tencentos":
	default:
		return system{}, false
	}
	if minor != "" {
		number += "." + minor
	}
	if sp != "" {
		number += "sp" + sp
	}
	if alt != "" {
		number += "alt"
	}
	return system{id, number}, true
}

// splitMajor puts the dot back: 94 is 9.4, 810 is 8.10, 100 is 10.0, and 9 and 10 are majors.
func splitMajor(n string) string {
	switch {
	case len(n) == 1 || n == "10" || n == "11" || n == "12" || n == "13":
		return n
	case n[0] == '1' && len(n) > 2:
		return n[:2] + "." + n[2:]
	}
	return n[:1] + "." + n[1:]
}

// labelIn finds a label among the words of a version or path; the last one counts, which in a path is
// the nearest.
func labelIn(text, separators string) (system, bool) {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(separators, r) })
	for i := len(words) - 1; i >= 0; i-- {
		if s, ok := parseLabel(words[i]); ok {
			return s, true
		}
	}
	return system{}, false
}

// versionLabel finds a label at the end of a version such as 24.10-1.1.4.0.rhel9.4 or
// 2.9.0-129000_24.10_rhel95, where dots both part words and stand within them.
var versionLabel = regexp.MustCompile(`[._-]([a-z]+\d+(?:\.\d+)?(?:u\d{1,2})?(?:sp\d)?(?:alternate)?)$`)

func labelOfVersion(version string) (system, bool) {
	if m := versionLabel.FindStringSubmatch(version); m != nil {
		return parseLabel(m[1])
	}
	return system{}, false
}

// archOf gives uname -m for an architecture of either package format or of the vendor's paths.
func archOf(arch string) (string, bool) {
	switch arch {
	case "amd64", "x86_64":
		return "x86_64", true
	case "arm64", "aarch64", "arm64-sbsa":
		return "aarch64", true
	case "ppc64el", "ppc64le":
		return "ppc64le", true
	case "ppc64":
		return "ppc64", true
	}
	return "", false
}
