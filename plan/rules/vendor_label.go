package rules

import (
	"strings"

	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// PathNotKnown is a system whose name in the vendor's files and paths nobody has seen.
const PathNotKnown Code = "vendor-path-not-known"

// label is the vendor's name of the system for a release, as a path has it; empty where no source names
// it. That a table has a system tells no name: no ol8.6 was ever seen. And that a name was seen of other
// branches tells nothing of this one, unless its table has the system: DOCA 3.2 has no sles15sp6, which 2.9 has.
func (h *vendorHost) label(c *Candidate, documented bool) string {
	majorOnly := c.Release.Modules == "dkms" && h.system.family != "debian"
	if c.Layout != nil && c.Layout.Label != "" {
		majorOnly = c.Layout.Label == "id+major"
	}
	usual := h.system.label(majorOnly)
	if c.Holding != nil || usual == "" || h.in.Method == InContainer || h.stack != "mlnx-ofed" && h.stack != "doca-ofed" {
		return usual // no path of the vendor is made of it
	}
	exact, near := h.seenLabel(h.at, usual)
	if exact != "" {
		return exact
	}
	all, done := h.labels[usual]
	if !done {
		all = h.seenLabels(usual)
		h.labels[usual] = all
	}
	branch := all.branches[c.Release.Branch]
	for _, found := range []string{branch.exact, near, branch.near} {
		if found != "" {
			return found
		}
	}
	if documented {
		return all.anywhere
	}
	return ""
}

// seenLabels are the names of a system that the releases of each branch have, and the usual one if any
// release has it: the name of a system is the same in all.
type seenLabels struct {
	branches map[string]branchLabels
	anywhere string
}

type branchLabels struct{ exact, near string }

func (h *vendorHost) seenLabels(usual string) seenLabels {
	all := seenLabels{branches: map[string]branchLabels{}}
	for at, r := range h.matrix.Releases(h.stack) {
		exact, near := h.seenLabel(at, usual)
		if exact == "" && near == "" {
			continue
		}
		branch := all.branches[r.Branch]
		if branch.exact == "" {
			branch.exact = exact
		}
		if branch.near == "" {
			branch.near = near
		}
		all.branches[r.Branch] = branch
		if all.anywhere == "" {
			all.anywhere = exact
		}
	}
	return all
}

// seenLabel looks for the usual name among the labels of the rows of the release at a position; near is that of another point
// release of the same Debian, or a name that is made otherwise. Names of files have no dot (rhel94), those
// of paths have.
func (h *vendorHost) seenLabel(at int, usual string) (exact, near string) {
	for _, m := range h.rowsFor(at) {
		row := m.row
		if row.Label == "" || !m.minor && h.system.id != "debian" && dotless(row.Label) != dotless(usual) {
			continue
		}
		if dotless(row.Label) == dotless(usual) {
			return usual, ""
		}
		if near == "" {
			near = pathLabel(row)
		}
	}
	return "", near
}

// pathLabel is the label of a row as a path has it.
func pathLabel(row *matrix.Row) string {
	label, _, _ := strings.Cut(row.Label, " ")
	made := vendorSystem{id: row.ID, version: row.VersionID}.label(false)
	if dotless(made) == dotless(label) {
		return made
	}
	return word(label)
}

func dotless(label string) string { return strings.ReplaceAll(label, ".", "") }

// vendorPath: without a name that somebody has seen there is no address to take packages from.
func vendorPath() VendorRule {
	return VendorRule{Name: "vendor-path", Source: "names of bundles, repositories and their paths in public text", Judge: func(h *vendorHost, c *Candidate) {
		if h.stack != "mlnx-ofed" && h.stack != "doca-ofed" || c.Label != "" || c.Holding != nil || c.Method == InContainer {
			return
		}
		c.warn(h.say(cause{rule: "path"}, func() Finding {
			return Finding{
				Code: PathNotKnown, Effect: Warn, Source: "the compatibility matrix",
				Text: "no source names the vendor's file or path of " + h.stack + " for " + h.system.name + orArch(h.arch) +
					", so no address is made up: have the bundle or a mirror at hand and name it with --source, or import it (rdmactl matrix import)",
			}
		}))
	}}
}
