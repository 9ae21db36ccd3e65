package profiles

import (
	"cmp"
	"regexp"
	"strings"
)

// A condition on a release is ID, "ID VERSION" (that release or a point release of it), "ID >=VERSION" or
// "ID <VERSION", in the words of os-release. Versions after >= and < are numbers with dots.
var releaseCondition = regexp.MustCompile(`^[a-z][a-z0-9._-]*( ([A-Za-z0-9._-]+|(>=|<)[0-9]+(\.[0-9]+)*))?$`)

// CheckRelease says why text cannot be a condition on a release.
func CheckRelease(text string) error {
	return matches(releaseCondition, text, "a release", `ID and VERSION_ID of os-release, such as "debian 13" or "ubuntu >=24.04"`)
}

// meetsRelease says whether a release, "ID VERSION_ID", meets a condition.
func meetsRelease(condition, release string) bool {
	id, wanted, limited := strings.Cut(condition, " ")
	have, version, _ := strings.Cut(release, " ")
	switch {
	case id != have:
		return false
	case !limited:
		return true
	case version == "": // not told
		return false
	}
	if limit, ok := strings.CutPrefix(wanted, ">="); ok {
		return compareReleases(version, limit) >= 0
	}
	if limit, ok := strings.CutPrefix(wanted, "<"); ok {
		return compareReleases(version, limit) < 0
	}
	return version == wanted || strings.HasPrefix(version, wanted+".")
}

// compareReleases compares versions of one distribution number by number. A name ("forky") stands for a
// release that has no number yet, and is newer than each that has one.
func compareReleases(a, b string) int {
	one, rest, _ := strings.Cut(a, ".")
	other, more, _ := strings.Cut(b, ".")
	if c := compareParts(one, other); c != 0 || rest == "" && more == "" {
		return c
	}
	return compareReleases(rest, more)
}

func compareParts(a, b string) int {
	if numeric(a) != numeric(b) {
		if numeric(a) {
			return -1
		}
		return 1
	}
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// numeric is true for the missing part as well: 9 is 9.0.
func numeric(text string) bool { return strings.Trim(text, "0123456789") == "" }
