package version

import (
	"cmp"
	"fmt"
	"strings"
)

// RPM is the version of an rpm package, [EPOCH:]VERSION[-RELEASE], compared by rpm's rules.
//
// cavaliergopher/rpm reads package files well, but its comparison does not know "^" (rpm 4.15): newer than
// what stands before it, older than any further part. So the rules of rpm's own rpmvercmp are here.
type RPM struct {
	raw                     string
	epoch, version, release string
	parsed, released        bool
}

// ParseRPM reads a package version. Blanks around it are dropped. The release may be missing, as in a
// dependency: then the version is below the same one with any release.
func ParseRPM(text string) (RPM, error) {
	raw := strings.TrimSpace(text)
	v := RPM{raw: raw, epoch: "0", version: raw, parsed: true}
	digits := raw[:len(raw)-len(strings.TrimLeft(raw, "0123456789"))]
	if rest, ok := strings.CutPrefix(raw[len(digits):], ":"); ok {
		v.version = rest
		if digits != "" {
			v.epoch = digits
		}
	} else if rest, ok := strings.CutPrefix(raw, "(none):"); ok {
		v.version = rest // rpm's %{EPOCH} of a package without one
	}
	if at := strings.LastIndexByte(v.version, '-'); at >= 0 {
		v.version, v.release, v.released = v.version[:at], v.version[at+1:], true
	}
	switch {
	case v.version == "":
		return RPM{}, fmt.Errorf("cannot read rpm version %q: it has no version", text)
	case v.released && v.release == "":
		return RPM{}, fmt.Errorf("cannot read rpm version %q: it has no release behind the hyphen", text)
	}
	for _, part := range []string{v.version, v.release} {
		if i := strings.IndexFunc(part, notOfRPM); i >= 0 {
			return RPM{}, fmt.Errorf("cannot read rpm version %q: %q may not stand in it", text, part[i:i+1])
		}
	}
	return v, nil
}

// notOfRPM says that rpmbuild refuses a character in Version and Release: it takes letters, digits and
// the signs below.
func notOfRPM(r rune) bool { return r > 127 || !alnum(byte(r)) && !strings.ContainsRune("._+~^", r) }

// Compare is negative, 0 or positive when v is older than, as old as, or newer than o: by epoch, then
// version, then release. A version that was never read is before all others.
func (v RPM) Compare(o RPM) int {
	if !v.parsed || !o.parsed {
		return btoi(v.parsed) - btoi(o.parsed)
	}
	return cmp.Or(rpmvercmp(v.epoch, o.epoch), rpmvercmp(v.version, o.version),
		cmp.Compare(btoi(v.released), btoi(o.released)), rpmvercmp(v.release, o.release))
}

// Epoch is the epoch, "0" where none is written.
func (v RPM) Epoch() string { return v.epoch }

// Upstream is the version without epoch and release.
func (v RPM) Upstream() string { return v.version }

// Release is what follows the last hyphen, empty where there is none.
func (v RPM) Release() string { return v.release }

// String is the version as it was written.
func (v RPM) String() string { return v.raw }

// MarshalText is the version as it was written.
func (v RPM) MarshalText() ([]byte, error) { return []byte(v.raw), nil }

// UnmarshalText is ParseRPM.
func (v *RPM) UnmarshalText(text []byte) error {
	parsed, err := ParseRPM(string(text))
	if err != nil {
		return err
	}
	*v = parsed
	return nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func alnum(c byte) bool { return digit(c) || letter(c) }

// rpmvercmp compares segment by segment as rpm does since 4.15: runs of digits as numbers, runs of
// letters as text, a number above letters; "~" is below the end of the text, "^" above the end and
// below all else; every other sign only separates.
func rpmvercmp(a, b string) int {
	if a == b {
		return 0
	}
	for a != "" || b != "" {
		a, b = segments(a), segments(b)
		if first(a) == '~' || first(b) == '~' {
			if first(a) != '~' {
				return 1
			}
			if first(b) != '~' {
				return -1
			}
			a, b = a[1:], b[1:]
			continue
		}
		if first(a) == '^' || first(b) == '^' {
			switch {
			case a == "":
				return -1
			case b == "":
				return 1
			case a[0] != '^':
				return 1
			case b[0] != '^':
				return -1
			}
			a, b = a[1:], b[1:]
			continue
		}
		if a == "" || b == "" {
			break
		}
		class := letter
		if digit(a[0]) {
			class = digit
		}
		var one, two string
		one, a = span(a, class)
		two, b = span(b, class)
		if two == "" { // of different kinds
			if digit(one[0]) {
				return 1
			}
			return -1
		}
		if digit(one[0]) {
			one, two = strings.TrimLeft(one, "0"), strings.TrimLeft(two, "0")
			if len(one) != len(two) {
				return cmp.Compare(len(one), len(two))
			}
		}
		if c := strings.Compare(one, two); c != 0 {
			return c
		}
	}
	return cmp.Compare(btoi(a != ""), btoi(b != "")) // the one with something left is newer
}

// first is the first byte, 0 of an empty text.
func first(s string) byte {
	if s == "" {
		return 0
	}
	return s[0]
}

// segments drops what only separates.
func segments(s string) string {
	for s != "" && !alnum(s[0]) && s[0] != '~' && s[0] != '^' {
		s = s[1:]
	}
	return s
}

func span(s string, class func(byte) bool) (run, rest string) {
	n := 0
	for n < len(s) && class(s[n]) {
		n++
	}
	return s[:n], s[n:]
}
