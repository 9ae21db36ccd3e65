// Package version compares the versions that decide about an RDMA stack: of vendor stacks, kernels,
// firmware and Debian packages. Each kind has its own type, so that a kernel cannot be compared with
// a firmware, and each keeps the text it was read from: a version is always printed as it was
// written (22.03.5 never becomes 22.3.5).
package version

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	goversion "github.com/hashicorp/go-version"
)

// number is what the kinds share: the leading digits are compared, the rest is kept apart.
//
// hashicorp/go-version alone takes 24.10-1.1.4.0 for a prerelease of 24.10, puts
// 5.15.0-101-generic below 5.15.0-25-generic and cannot parse 4.18.0-553.el8_10.x86_64. So it gets
// only the leading digits, with "-" turned into ".".
type number struct {
	raw    string
	suffix string
	rc     int
	parsed *goversion.Version
	// segments are the numbers of parsed: go-version compares by way of strings, which costs a planner
	// over many hosts most of its time.
	segments []int64
}

var (
	leading = regexp.MustCompile(`^[0-9]+([.-][0-9]+)*`)
	// candidate is the rc of 6.9.0-rc3 and of Debian's 6.9~rc3.
	candidate = regexp.MustCompile(`^[-~.]?rc([0-9]{1,6})`)
)

func parseNumber(kind, text string) (number, error) {
	raw := strings.TrimSpace(text)
	digits := leading.FindString(raw)
	if digits == "" {
		return number{}, fmt.Errorf("cannot read %s %q: it does not start with a digit", kind, text)
	}
	parsed, err := goversion.NewVersion(strings.ReplaceAll(digits, "-", "."))
	if err != nil {
		return number{}, fmt.Errorf("cannot read %s %q: %w", kind, text, err)
	}
	n := number{raw: raw, suffix: raw[len(digits):], parsed: parsed, segments: parsed.Segments64()}
	if m := candidate.FindStringSubmatch(n.suffix); m != nil {
		rc, err := strconv.Atoi(m[1])
		if err != nil {
			return number{}, fmt.Errorf("cannot read %s %q: %w", kind, text, err)
		}
		n.rc, n.suffix = rc, n.suffix[len(m[0]):]
	}
	return n, nil
}

// compare puts a version that was never parsed before all others.
func (n number) compare(o number) int {
	switch {
	case n.parsed == nil && o.parsed == nil:
		return 0
	case n.parsed == nil:
		return -1
	case o.parsed == nil:
		return 1
	}
	return compareSegments(n.segments, o.segments)
}

// compareSegments takes missing numbers for 0, as go-version does: 24.10 is 24.10.0.
func compareSegments(a, b []int64) int {
	for i := range max(len(a), len(b)) {
		var x, y int64
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if order := cmp.Compare(x, y); order != 0 {
			return order
		}
	}
	return 0
}
