package version

import (
	"fmt"
	"strings"

	debversion "pault.ag/go/debian/version"
)

// Debian is the version of a Debian package, compared by dpkg's rules (epoch, ~, letters).
type Debian struct {
	raw    string
	parsed debversion.Version
}

// ParseDebian reads a package version. Blanks around it are dropped: the parser below would keep a
// trailing one as part of the version.
func ParseDebian(text string) (Debian, error) {
	raw := strings.TrimSpace(text)
	parsed, err := debversion.Parse(raw)
	if err != nil {
		return Debian{}, fmt.Errorf("cannot read Debian version %q: %w", text, err)
	}
	return Debian{raw: raw, parsed: parsed}, nil
}

// Compare is negative, 0 or positive when v is older than, as old as, or newer than o.
func (v Debian) Compare(o Debian) int { return debversion.Compare(v.parsed, o.parsed) }

// Upstream is the version without epoch and Debian revision.
func (v Debian) Upstream() string { return v.parsed.Version }

// String is the version as it was written.
func (v Debian) String() string { return v.raw }
