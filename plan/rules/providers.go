package rules

import (
	"slices"

	"github.com/rdmactl/rdmactl/facts"
)

// boundProviders are SUSE's packages that have one provider of libibverbs each. A provider is bound by the private
// ABI (IBVERBS_PRIVATE_44) to the libibverbs that it was built with: when that goes, it goes. The vendor's own
// list has libmlx5-1 only. RHEL has all of them in the package libibverbs.
func boundProviders() []string {
	return []string{"libefa1", "libhns1", "libmana1", "libmlx4-1", "libmlx5-1"}
}

// boundToLibrary says that a package of the distribution cannot stay when its libibverbs is replaced.
func boundToLibrary(in Input, p facts.Package) bool {
	return in.Facts.Distro.Family.Or("") == "suse" && p.Origin == "inbox" && slices.Contains(boundProviders(), p.Name)
}
