package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// Standing is the release of the vendor's line that is on a host. MLNX_OFED and DOCA-OFED are one line: the
// versions of the drivers inside tell which of two releases is the older one.
type Standing struct {
	Stack string
	// Version is what the host tells, and Source where that was read; Version is empty when packages or modules
	// are there and nothing tells of which release.
	Version, Source string
	// Release is nil when the matrix lacks it, or when several may be meant.
	Release *matrix.Release
	// driver are the numbers of the drivers' version; numbers those of Version.
	driver, numbers []int
}

// VendorOnHost is the vendor's stack that is on the host, false for none.
func VendorOnHost(in Input) (Standing, bool) {
	v, known := in.Facts.Packages.Vendor.Get()
	versions := StackVersions(in)
	s := Standing{Stack: v.Stack, Source: in.Facts.Packages.Vendor.Source}
	if !known || !vendorLine(v.Stack) {
		s = Standing{Source: in.Facts.Packages.Installed.Source}
		for _, stack := range []string{"doca-ofed", "mlnx-ofed"} {
			if versions[stack] != "" {
				s.Stack = stack
				break
			}
		}
		if s.Stack == "" {
			return Standing{}, false
		}
	}
	s.Version = printable(versions[s.Stack])
	s.Release = releaseOf(in, s.Stack, versions[s.Stack])
	if s.numbers = digitsOf(plainVersion(s.Version)); len(s.numbers) < 2 {
		s.numbers = nil // it says nothing of a release
	}
	switch {
	case s.Release != nil:
		s.driver = lineOf(s.Release)
	case known && v.Stack == s.Stack && v.Driver != "":
		s.driver = digitsOf(v.Driver)
	case s.Stack == "mlnx-ofed" || len(s.numbers) > 0 && s.numbers[0] >= 5: // DOCA's own numbers are below every driver's
		s.driver = s.numbers
	}
	if len(s.driver) == 0 && len(s.numbers) == 0 {
		s.Version = ""
	}
	return s, true
}

// Name is the stack with what is told of its version.
func (s Standing) Name() string {
	if s.Version == "" {
		return s.Stack + " (nothing tells its release)"
	}
	return s.Stack + " " + s.Version
}

// Told says that the drivers' version is known, so that releases can be compared with it.
func (s Standing) Told() bool { return len(s.driver) > 0 || len(s.numbers) > 0 }

// NewerThan says that the host's release came after another one of the vendor's line. Two that nothing puts in
// an order are neither newer.
func (s Standing) NewerThan(r *matrix.Release) bool {
	if !vendorLine(r.Stack) || s.Release == r {
		return false
	}
	// Within DOCA its own numbers decide: the driver of some point releases is known by its branch alone.
	if s.Stack == r.Stack {
		have, other := s.numbers, digitsOf(r.Version)
		if s.Release != nil {
			have = digitsOf(s.Release.Version)
		}
		if len(have) > 0 && (s.Stack == "mlnx-ofed" || have[0] < 5) {
			return compareStart(have, other) > 0
		}
	}
	return compareStart(s.driver, lineOf(r)) > 0
}

func vendorLine(stack string) bool { return stack == "mlnx-ofed" || stack == "doca-ofed" }

// lineOf is the version of a release's drivers, which is MLNX_OFED's own.
func lineOf(r *matrix.Release) []int {
	if r.Stack == "doca-ofed" {
		return digitsOf(r.Driver)
	}
	return digitsOf(r.Version)
}

// compareStart compares as far as both go: 24.10-1.1.4 of a package is 24.10-1.1.4.0.
func compareStart(a, b []int) int {
	n := min(len(a), len(b))
	return slices.Compare(a[:n], b[:n])
}

var (
	// driverInside is the drivers' version in that of a package: 24.10.OFED.24.10.1.1.4-1 and
	// 5.4-OFED.5.4.1.0.3.1.ol8u4 are 24.10-1.1.4 and 5.4-1.0.3.
	driverInside = regexp.MustCompile(`OFED\.([0-9]+\.[0-9]+)\.([0-9]+(?:\.[0-9]+){2})`)
	// libraryBranch is the branch in the version of a library: 2410mlnx54-1.2410068 is of 24.10, 58mlnx43-1.58706
	// of 5.8.
	libraryBranch = regexp.MustCompile(`^(2[0-9]|[45])(0[1-9]|1[0-2]|[0-9])mlnx[0-9]`)
)

// plainVersion is a version without what packages write around it.
func plainVersion(text string) string {
	if m := driverInside.FindStringSubmatch(text); m != nil {
		return m[1] + "-" + m[2]
	}
	if m := libraryBranch.FindStringSubmatch(text); m != nil {
		return m[1] + "." + m[2]
	}
	return text
}

// ReleaseOnHost is the release of a stack that the host has; nil for none, or one that the matrix lacks. A
// special drop (24.10-1.1.4.0.105) is another release than the drop that it starts like.
func ReleaseOnHost(in Input, stack string) *matrix.Release {
	return releaseOf(in, stack, StackVersions(in)[stack])
}

func releaseOf(in Input, stack, version string) *matrix.Release {
	if version == "" || in.Matrix == nil {
		return nil
	}
	text := plainVersion(version)
	all := in.Matrix.Releases(stack) // newest first, so the longest match comes first
	for _, r := range all {
		if whole(text, r.Version) || strings.Count(undashed(r.Driver), ".") > 1 && whole(text, r.Driver) { // a branch alone (23.10) names no release
			return r
		}
	}
	// ofed_info and packages of modules leave the last number out.
	var found *matrix.Release
	for _, r := range all {
		if (cut(text, r.Version) || cut(text, r.Driver) || slices.ContainsFunc(r.OFEDInfo, func(seen string) bool { return whole(text, seen) })) &&
			(found == nil || len(r.Version) < len(found.Version)) {
			found = r
		}
	}
	return found
}

// whole says that a version on the host is that of a release, with or without more behind it: the package
// doca-ofed 2.9.1-018000 is of 2.9.1.
func whole(text, version string) bool {
	return version != "" && strings.HasPrefix(undashed(text)+".", undashed(version)+".")
}

// cut says that a version on the host is that of a release without its last number.
func cut(text, version string) bool {
	have := undashed(text) + "."
	return strings.Count(have, ".") > 2 && strings.HasPrefix(undashed(version)+".", have)
}

func undashed(version string) string { return strings.ReplaceAll(strings.ToLower(version), "-", ".") }
