package rules

import (
	"slices"

	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// Status is how well a combination is founded: five values, the strongest first.
type Status string

// The values of Status.
const (
	// Supported is a row of the vendor's own table for this system, or named so by release notes.
	Supported Status = "supported"
	// Community is a row that the vendor's table marks as community support.
	Community Status = "community"
	// Present is a repository or bundle at hand that holds packages for exactly this distribution,
	// architecture and kernel, or prebuilt modules (KMP) for another build of the kernel's line, which weak-updates
	// may link. Nothing but a Holding of the matrix gives it.
	Present Status = "present"
	// Unknown is no evidence either way. The name of a bundle, another product's matrix, others' tests
	// and images of the driver container are evidence that something was made, not of support: they
	// leave a combination unknown and say so in its reasons.
	Unknown Status = "unknown"
	// Unsupported is a table without the system that is known to be whole, or a rule that excludes it.
	Unsupported Status = "unsupported"
)

// Ways of installing a release.
const (
	ByRepository = "repository"
	ByLocalRepo  = "local-repo"
	ByBundle     = "bundle"
	BySource     = "source"
	// BySourcePackage builds the distribution's kind of packages from the source tree's own packaging.
	BySourcePackage = "source-package"
	ByVendorScript  = "vendor-script"
	InContainer     = "container"
)

// Where the kernel modules come from.
const (
	ModulesPrebuilt = "prebuilt"
	ModulesDKMS     = "dkms"
	ModulesBuilt    = "built" // by mlnx_add_kernel_support.sh, doca-kernel-support, install.pl or the container
	ModulesInbox    = "inbox" // rdma-core from source runs on the distribution's modules
)

// Candidate is one release of a stack, judged for a host.
type Candidate struct {
	Release *matrix.Release
	Branch  *matrix.Branch // nil when the matrix has none of its name
	Layout  *matrix.Layout // nil when the matrix tells no packaging for the family
	// Holding is the repository or bundle at hand that holds the release for this system, nil for none.
	Holding *matrix.Holding
	Status  Status
	// Evidence is the strongest kind of row that names the system with its minor release, RHEL's for a
	// rebuild; empty for none.
	// Among unknown releases one that was seen for the system at all is the better guess.
	Evidence matrix.Evidence
	Method   string // repository, local-repo, bundle, source, source-package, vendor-script, container
	Modules  string // prebuilt, dkms, built, inbox
	// Label is the vendor's name of the system: rhel9.4, rhel9, ubuntu22.04; empty where no source names
	// one. A rebuild has the label of RHEL of the same minor release, never of another.
	Label string
	// Stage is the number of rules that the release passed before it was refused: the higher, the nearer it
	// came to fitting.
	Stage int
	// Refusals exclude the release; with any of them Status is Unsupported. Reasons say why Status is
	// what it is. Warnings are what must be known when the release is taken.
	Refusals, Reasons, Warnings []Finding
}

// VendorRule judges a release of a stack that is not the distribution's own. It adds to a candidate's
// refusals, reasons and warnings; one that refuses ends the judgement of the release.
type VendorRule struct {
	Name   string
	Source string // of the knowledge, not of the fact
	// Beside says that the rule is heard although the one before it refused: both reasons are wanted.
	Beside bool
	Judge  func(*vendorHost, *Candidate)
}

// VendorRules are the rules in the order in which they judge: first what excludes whole lines of
// releases and costs least, last what is said of those that are left.
func VendorRules() []VendorRule {
	return []VendorRule{
		ofedNeverReleased(), notYetReleased(), architecture(), builtInDrivers(), loadableModules(), otherCardsOnly(), droppedByKernel(),
		cardServed(), systemRow(), rdmaCoreHost(), kernelOutside(), knownBuilds(), containerKernel(), installMethod(), heldFromVendor(),
		vendorPath(), kernelHeaders(), buildTools(), secureBoot(), otherCards(), virtualFunctions(),
		archivePackages(), collisions(), upgradePath(), privateABI(), vendorModulesBelow(), cardAgeFromSource(), endOfSupport(),
	}
}

// Candidates judges every release of a stack (doca-ofed, mlnx-ofed, rdma-core, ofed), newest first.
// Without a matrix there are none.
func Candidates(in Input, stack string) []Candidate {
	if in.Matrix == nil {
		return nil
	}
	releases := in.Matrix.Listed(stack)
	if len(releases) == 0 {
		return nil
	}
	host := newVendorHost(in, stack)
	list := VendorRules()
	out := make([]Candidate, len(releases))
	var kept findingStore
	var reasons, warnings []Finding
	for i := range releases {
		c := &out[i]
		host.at, host.listing, host.version, host.doubts = i, &releases[i], releases[i].Version, host.doubts[:0]
		c.Release, c.Branch, c.Status = host.listing.Release, host.listing.Branch, Unknown
		c.Reasons, c.Warnings = reasons[:0], warnings[:0] // the same room for each
		for k, rule := range list {
			if len(c.Refusals) > 0 && !rule.Beside {
				break
			}
			before := len(c.Refusals)
			if rule.Judge(host, c); before == 0 && len(c.Refusals) > 0 {
				c.Stage = k
			}
		}
		reasons, warnings = c.Reasons, c.Warnings
		if len(c.Refusals) > 0 {
			c.Status, c.Reasons, c.Warnings, c.Method, c.Modules = Unsupported, nil, nil, "", ""
			continue
		}
		c.Reasons, c.Warnings = kept.keep(reasons), kept.keep(warnings)
	}
	return out
}

// findingStore holds the findings of many candidates side by side: hundreds of small lists that grow one by
// one take more memory than what is in them.
type findingStore struct{ room []Finding }

// keep copies a list; what is appended to the copy never reaches another.
func (s *findingStore) keep(list []Finding) []Finding {
	if len(list) == 0 {
		return nil
	}
	if len(list) > cap(s.room)-len(s.room) {
		s.room = make([]Finding, 0, max(64, len(list)))
	}
	from := len(s.room)
	s.room = append(s.room, list...)
	return s.room[from:len(s.room):len(s.room)]
}

// lower takes a status down to at most what the finding allows, with the reason.
func (c *Candidate) lower(to Status, why Finding) {
	order := []Status{Supported, Community, Present, Unknown, Unsupported}
	if slices.Index(order, c.Status) < slices.Index(order, to) {
		c.Status = to
	}
	c.Reasons = append(c.Reasons, why)
}

func (c *Candidate) refuse(all ...Finding) { c.Refusals = append(c.Refusals, all...) }
func (c *Candidate) warn(all ...Finding)   { c.Warnings = append(c.Warnings, all...) }
func (c *Candidate) because(all ...Finding) {
	c.Reasons = append(c.Reasons, all...)
}
