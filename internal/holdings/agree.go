package holdings

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// driverVersion is the release of the drivers that their packages carry: 24.10.OFED.24.10.1.1.4.1-1,
// 24.10-OFED.24.10.1.1.4.1.rhel9u4. Its last number counts builds of the package and is not the release's.
var driverVersion = regexp.MustCompile(`OFED[.-](\d{1,2}\.\d{1,2}(?:\.\d+)*)`)

// hasDriver says that the version of a package is that of the release's drivers. Others, such as knem, keep
// the one that they were first built for.
func hasDriver(name string) bool {
	return isCoreDriver(name) || isDKMS(name) || name == "ofed-scripts"
}

// agrees refuses a stated release that the packages contradict. No metapackage tells the release; the drivers
// tell theirs, and a metapackage whose version is of no known form its stack.
func (f *found) agrees(stack, version string, known *matrix.Index) error {
	contradicts := func(p pkg, is string) error {
		return refuse("state the release that it is of, or import the whole repository, which tells it itself", "it is not %s %s: package %s %s is of %s", stack, version, p.Name, p.Version, is)
	}
	drivers, counted := driverOf(stack, version, known)
	for _, p := range f.packages {
		upstream, _, _ := strings.Cut(p.Version, "-")
		if _, after, epoch := strings.Cut(upstream, ":"); epoch {
			upstream = after
		}
		switch {
		case docaMeta.MatchString(p.Name) && stack != "doca-ofed":
			return contradicts(p, "doca-ofed")
		case p.Name == "doca-ofed" && !alike(numbers(upstream), numbers(version), 3):
			return contradicts(p, "doca-ofed "+upstream)
		}
		m := driverVersion.FindStringSubmatch(p.Version)
		if m == nil || !hasDriver(p.Name) || drivers == nil {
			continue
		}
		if !alike(numbers(m[1]), drivers, counted) {
			return contradicts(p, "the drivers "+m[1])
		}
	}
	return nil
}

// driverOf are the numbers of the drivers in a release, and how many of them count: five of MLNX_OFED, whose
// version is that of its drivers. Of DOCA the matrix tells it.
func driverOf(stack, version string, known *matrix.Index) (drivers []int, counted int) {
	if stack == "mlnx-ofed" {
		return numbers(version), 5
	}
	if known == nil {
		return nil, 0
	}
	r, ok := known.Find(stack, version)
	if !ok || r.Driver == "" {
		return nil, 0
	}
	if r.DriverSure == "stated" {
		return numbers(r.Driver), 5
	}
	return numbers(r.Driver), 2
}

// numbers are the leading numbers of a version, parted by dots and dashes.
func numbers(text string) []int {
	var out []int
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == '.' || r == '-' }) {
		n, err := strconv.Atoi(word)
		if err != nil {
			break
		}
		out = append(out, n)
	}
	return out
}

// alike compares the first numbers of two versions, as many as both have.
func alike(a, b []int, most int) bool {
	n := min(len(a), len(b), most)
	return slices.Equal(a[:n], b[:n])
}
