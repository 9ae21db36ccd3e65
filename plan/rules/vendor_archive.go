package rules

import "strings"

// ArchiveHasOwn is a distribution that has the vendor's stack in its own archive.
const ArchiveHasOwn Code = "archive-has-own"

// archivePackages: Ubuntu has packages of DOCA-OFED of its own from 26.04 on, with signed modules. The two
// must not be mixed; which of them are installed, installMethod looks at.
func archivePackages() VendorRule {
	return VendorRule{Name: "archive-packages", Source: ubuntuDOCA, Judge: func(h *vendorHost, c *Candidate) {
		if h.stack != "doca-ofed" && h.stack != "mlnx-ofed" || h.system.id != "ubuntu" || !atLeast(h.system.version, 26, 4) || c.Method == InContainer {
			return
		}
		c.warn(h.say(cause{rule: "archive"}, func() Finding {
			return Finding{
				Code: ArchiveHasOwn, Effect: Warn, Source: ubuntuDOCA,
				Text: h.system.name + " has DOCA-OFED packages of its own, with signed modules, one metapackage for each kernel flavour (doca-ofed-generic); " +
					"they must not be mixed with the vendor's repository: take the one or the other, and uninstall the one before the other",
			}
		}))
	}}
}

const ubuntuDOCA = "https://ubuntu.com/server/docs/how-to/networking/install-doca-ofed/"

// atLeast compares a version of a distribution with a release of it.
func atLeast(version string, major, minor int) bool {
	d := digitsOf(strings.TrimSpace(version))
	return len(d) > 0 && (d[0] > major || d[0] == major && len(d) > 1 && d[1] >= minor)
}
