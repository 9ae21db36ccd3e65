package rules

import (
	"slices"
	"strings"
)

// PackagesCollide is a release whose packages and the distribution's exclude one another.
const PackagesCollide Code = "packages-collide"

// collisions are what was reported of DOCA's packages beside a distribution's. On EL 9.8 the base repository has
// libibverbs 61, and dnf takes neither it nor DOCA's for the better one; on Debian and Ubuntu DOCA has openmpi and pmix
// of its own.
func collisions() VendorRule {
	return VendorRule{Name: "collisions", Source: azureImages + "; community reports on DOCA's openmpi", Judge: func(h *vendorHost, c *Candidate) {
		if h.stack != "doca-ofed" || c.Method == InContainer || ReleaseOnHost(h.in, h.stack) == c.Release {
			return
		}
		if h.system.family == "rhel" && (h.system.version == "9.8" || h.system.like == "9.8") {
			c.warn(h.say(cause{rule: "base libibverbs"}, func() Finding {
				return Finding{
					Code: PackagesCollide, Effect: Warn, Source: azureImages,
					Text: "the base repository of EL 9.8 has rdma-core 61, and dnf was seen to say that it cannot install both libibverbs-61.0-2.el9 and DOCA's libibverbs-2510.0.11: " +
						"keep the distribution's away for the transaction (exclude=rdma-core* libibverbs* librdmacm* for the base repository)",
				}
			}))
		}
		if h.system.family != "debian" {
			return
		}
		var there []string
		for _, p := range h.packages {
			name, _, _ := strings.Cut(p.Name, ":")
			if p.Origin != "doca-ofed" && slices.ContainsFunc([]string{"openmpi-", "libopenmpi", "libpmix", "pmix"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
				there = append(there, printable(name))
			}
		}
		if len(there) > 0 {
			c.warn(h.say(cause{rule: "openmpi", of: list(there)}, func() Finding {
				return Finding{
					Code: PackagesCollide, Effect: Warn, Source: "community reports on DOCA's deb packages",
					Text: "DOCA's packages ask for exactly their own openmpi, and its /etc/pmix-mca-params.conf is also a file of the distribution's pmix: " + list(there) +
						" of the distribution go or stop the transaction; decide first which MPI the programs of this host are built with",
				}
			}))
		}
	}}
}

const azureImages = "https://github.com/Azure/azhpc-images (components/install_doca.sh)"
