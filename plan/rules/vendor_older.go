package rules

import (
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/internal/version"
)

// OlderThanInstalled is a release whose packages would be older than those that are installed.
const OlderThanInstalled Code = "older-than-installed"

// PackageMark ends the version of a package that rdmactl built, before a number: 65.0-1+rdmactl1. It sorts above the
// distribution's package of the same source, and tells the two apart.
const PackageMark = "+rdmactl"

// BuiltHere says that rdmactl has built a package.
func BuiltHere(p facts.Package) bool { return strings.Contains(p.Version, PackageMark) }

// olderThanInstalled refuses packages of a release that the host's own packages are newer than: package managers take
// the newer one back with the next update, and what was built against it may not start with the older one.
func (h *vendorHost) olderThanInstalled(c *Candidate) {
	installed, told := InstalledPackages(h.in.Facts)
	if !told {
		return
	}
	// A point release that was asked for is judged as the release that it mends.
	wanted := c.Release.Version
	if base, _, _ := strings.Cut(wanted, "."); strings.HasPrefix(h.in.Version, base+".") {
		wanted = h.in.Version
	}
	for _, p := range installed {
		name, _, _ := strings.Cut(p.Name, ":")
		if name != "libibverbs1" && name != "libibverbs" {
			continue
		}
		have, err := version.ParseDebian(UpstreamVersion(p))
		if err != nil {
			continue // what cannot be read is compared by the package manager, before anything changes
		}
		if want, err := version.ParseDebian(wanted); err == nil && want.Compare(have) < 0 {
			c.refuse(refuse(OlderThanInstalled, h.in.Facts.Packages.Installed.Source, "%s %s is installed, and packages of %s would be older",
				printable(p.Name), printable(p.Version), printable(wanted))...)
			return
		}
	}
}

// UpstreamVersion is the version of a package without epoch and without what a distribution adds to it.
func UpstreamVersion(p facts.Package) string {
	v := p.Version
	if _, after, epoch := strings.Cut(v, ":"); epoch {
		v = after
	}
	if i := strings.LastIndexByte(v, '-'); i >= 0 {
		v = v[:i]
	}
	return v
}
