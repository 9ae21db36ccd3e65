package rpm

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/version"
)

// CheckName refuses what cannot be an rpm package name, "name:arch" included: names go on command
// lines, where a "-" or "!" before them, a glob or a path mean other things.
func CheckName(name string) error {
	if !regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+~^-]*[A-Za-z0-9_+](:[a-z0-9_]+)?$`).MatchString(name) || strings.HasSuffix(name, ".rpm") {
		return fmt.Errorf("cannot use package name %q: not an rpm package name", name)
	}
	return nil
}

// CheckVersion refuses what is no exact [EPOCH:]VERSION-RELEASE.
func CheckVersion(v string) error {
	parsed, err := version.ParseRPM(v)
	if err != nil || strings.TrimSpace(v) != v || !regexp.MustCompile(`^([0-9]+:)?[A-Za-z0-9][A-Za-z0-9._+~^]*-[A-Za-z0-9][A-Za-z0-9._+~^]*$`).MatchString(v) {
		return fmt.Errorf("cannot use package version %q: not an rpm version with its release", v)
	}
	_ = parsed
	return nil
}

// EVR joins the parts of a version as dnf prints them: no epoch 0.
func EVR(epoch, ver, release string) string {
	if epoch != "" && epoch != "0" && epoch != "(none)" {
		return epoch + ":" + ver + "-" + release
	}
	return ver + "-" + release
}

// WithoutEpoch is VERSION-RELEASE, as file names have it.
func WithoutEpoch(evr string) string {
	if _, rest, ok := strings.Cut(evr, ":"); ok {
		return rest
	}
	return evr
}

// Normal writes a version as EVR does: "0:1.0-1" is "1.0-1".
func Normal(evr string) string { return strings.TrimPrefix(evr, "0:") }

// Compare orders versions by rpm's rules.
func Compare(a, b string) (int, error) {
	va, err := version.ParseRPM(a)
	if err != nil {
		return 0, err
	}
	vb, err := version.ParseRPM(b)
	if err != nil {
		return 0, err
	}
	return va.Compare(vb), nil
}

// FileName is the usual file name of a package.
func FileName(p pkgmgr.Package) string { return NEVRA(p) + ".rpm" }

// NEVRA names one package as rpm's command line takes it, without the epoch.
func NEVRA(p pkgmgr.Package) string {
	name := p.Name
	if p.Base != "" {
		name = p.Base
	}
	return name + "-" + WithoutEpoch(p.Version) + "." + p.Arch
}

// sideBySide says that several versions of a package may be installed at once: kernels and what
// belongs to one kernel, by dnf's installonlypkgs, zypp's multiversion and the names that
// distributions give to them. Of others it is seen when two versions are installed.
func sideBySide(name string) bool {
	return regexp.MustCompile(`^kernel(-(core|modules|modules-core|modules-extra|modules-internal|modules-partner|devel|devel-matched|debug|rt|64k|16k|uek|` +
		`default|azure|preempt|vanilla|kvmsmall|obs-build|source|syms|PAE|lt|ml|zfcpdump|automotive)(-[a-z0-9-]+)?)?$`).MatchString(name)
}

// Named returns the name under which a package stands in the database, and its base if several
// versions of it may be installed side by side.
func Named(name, evr string, several bool) (full, base string) {
	if several || sideBySide(name) {
		return name + "-" + WithoutEpoch(evr), name
	}
	return name, ""
}

// Means says that word, from a request, names the package: by name, by name and architecture, or in
// full with its version.
func Means(word, name, base, arch string) bool {
	word, wanted, has := strings.Cut(word, ":")
	if has && wanted != arch {
		return false
	}
	return word == name || word == name+"."+arch || base != "" && word == base
}
