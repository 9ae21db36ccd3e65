package matrix

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/version"
)

// Index answers the planner's questions without a search through the matrix. Versions, constraints and
// regular expressions are read once, when it is made; after that it never changes, so that many hosts can
// be planned at the same time. What it returns is the matrix's own and must not be written to.
type Index struct {
	m           *Matrix
	releases    map[string][]*Release // by stack, newest first
	byVersion   map[string]*Release   // by stack and spelling
	versions    map[string]version.StackVersion
	branches    map[string][]Branch // by stack, newest first
	cards       map[string][]CardRule
	builds      map[string][]Build
	layouts     map[string][]Layout
	kernels     map[string][]DistroKernel // by id and version id
	inbox       map[string][]InboxRelease
	holdings    map[string][]Holding // by stack
	kmp         map[string]KMP       // by label
	constraints map[string]version.Constraint
	patterns    map[string]*regexp.Regexp
	listed      map[string][]Listed               // by stack, as releases
	systemRows  map[string]map[string][]SystemRow // by stack and id
}

// NewIndex reads the versions, constraints and regular expressions of a matrix.
func NewIndex(m *Matrix) (*Index, error) {
	x := &Index{
		m:           m,
		releases:    map[string][]*Release{},
		byVersion:   make(map[string]*Release, len(m.Releases)),
		versions:    make(map[string]version.StackVersion, len(m.Releases)),
		branches:    map[string][]Branch{},
		cards:       make(map[string][]CardRule, len(m.Cards)),
		builds:      map[string][]Build{},
		layouts:     map[string][]Layout{},
		kernels:     make(map[string][]DistroKernel, len(m.Kernels)),
		inbox:       make(map[string][]InboxRelease, len(m.Inbox)),
		holdings:    map[string][]Holding{},
		kmp:         make(map[string]KMP, len(m.KMP)),
		constraints: map[string]version.Constraint{},
		patterns:    map[string]*regexp.Regexp{},
		listed:      map[string][]Listed{},
		systemRows:  map[string]map[string][]SystemRow{},
	}
	for _, fill := range []func() error{x.addReleases, x.addBranches, x.addRules, x.addSystems, x.addSystemRows, x.addListed} {
		if err := fill(); err != nil {
			return nil, fmt.Errorf("cannot index the matrix: %w", err)
		}
	}
	return x, nil
}

// Matrix is what the index is of.
func (x *Index) Matrix() *Matrix { return x.m }

func (x *Index) addReleases() error {
	for i := range x.m.Releases {
		r := &x.m.Releases[i]
		key := pair(r.Stack, spelling(r.Version))
		v, err := version.ParseStack(r.Version)
		if err != nil {
			return err
		}
		x.versions[key] = v
		x.byVersion[key] = r
		x.releases[r.Stack] = append(x.releases[r.Stack], r)
	}
	for _, list := range x.releases {
		slices.SortStableFunc(list, func(a, b *Release) int {
			va, vb := x.versions[pair(a.Stack, spelling(a.Version))], x.versions[pair(b.Stack, spelling(b.Version))]
			// A special build (2.9.0_CX8) has the number of the release that it is made from.
			return cmp.Or(vb.Compare(va), cmp.Compare(va.Suffix(), vb.Suffix()))
		})
	}
	return nil
}

func (x *Index) addBranches() error {
	starts := map[string]version.StackVersion{}
	for _, b := range x.m.Branches {
		// A branch without a number ("main" of rdma-core) is the only one of its stack.
		if v, err := version.ParseStack(b.Name); err == nil {
			starts[pair(b.Stack, b.Name)] = v
		}
		x.branches[b.Stack] = append(x.branches[b.Stack], b)
		if err := x.read(b.Versions, nil); err != nil {
			return err
		}
	}
	for _, list := range x.branches {
		slices.SortStableFunc(list, func(a, b Branch) int {
			return starts[pair(b.Stack, b.Name)].Compare(starts[pair(a.Stack, a.Name)])
		})
	}
	return nil
}

func (x *Index) addRules() error {
	for _, r := range x.m.Cards {
		x.cards[pair(r.Stack, r.Card)] = append(x.cards[pair(r.Stack, r.Card)], r)
		if err := x.read(r.Allowed, nil); err != nil {
			return err
		}
	}
	for _, b := range x.m.Builds {
		x.builds[b.Stack] = append(x.builds[b.Stack], b)
		if err := x.read(append(slices.Clip(b.Versions), b.Kernels...), b.KernelNames); err != nil {
			return err
		}
	}
	for _, l := range x.m.Layouts {
		x.layouts[l.Stack] = append(x.layouts[l.Stack], l)
		if err := x.read(l.Versions, nil); err != nil {
			return err
		}
	}
	for _, c := range x.m.Costs {
		if err := x.read(c.Versions, nil); err != nil {
			return err
		}
	}
	for _, k := range x.m.KMP {
		x.kmp[k.Label] = k
		if k.Kernel == "" {
			continue
		}
		if err := x.read(nil, []string{k.Kernel}); err != nil {
			return err
		}
	}
	return nil
}

func (x *Index) addSystems() error {
	for _, k := range x.m.Kernels {
		x.kernels[pair(k.ID, k.VersionID)] = append(x.kernels[pair(k.ID, k.VersionID)], k)
	}
	for _, r := range x.m.Inbox {
		x.inbox[pair(r.ID, r.VersionID)] = append(x.inbox[pair(r.ID, r.VersionID)], r)
	}
	for _, h := range x.m.Holdings {
		x.holdings[h.Stack] = append(x.holdings[h.Stack], h)
	}
	return nil
}

// read keeps constraints and regular expressions ready.
func (x *Index) read(constraints, patterns []string) error {
	for _, text := range constraints {
		if _, done := x.constraints[text]; done {
			continue
		}
		c, err := version.ParseConstraint(text)
		if err != nil {
			return err
		}
		x.constraints[text] = c
	}
	for _, text := range patterns {
		if _, done := x.patterns[text]; done {
			continue
		}
		p, err := regexp.Compile(text)
		if err != nil {
			return fmt.Errorf("cannot read regular expression %q: %w", text, err)
		}
		x.patterns[text] = p
	}
	return nil
}

func pair(a, b string) string { return a + " " + b }

// Releases are those of a stack, the newest first.
func (x *Index) Releases(stack string) []*Release { return x.releases[stack] }

// Find returns the release of a version in either spelling (23.10-2.1.3.1-201, 23.10-2.1.3.1.201).
func (x *Index) Find(stack, text string) (*Release, bool) {
	r, ok := x.byVersion[pair(stack, spelling(text))]
	return r, ok
}

// VersionOf is the parsed version of a release of this matrix.
func (x *Index) VersionOf(r *Release) version.StackVersion {
	return x.versions[pair(r.Stack, spelling(r.Version))]
}

// Branch returns a branch by its name, such as 24.10.
func (x *Index) Branch(stack, name string) (*Branch, bool) {
	list := x.branches[stack]
	for i := range list {
		if list[i].Name == name {
			return &list[i], true
		}
	}
	return nil, false
}

// Branches are those of a stack, the newest first.
func (x *Index) Branches(stack string) []Branch { return x.branches[stack] }

// BranchOf returns the branch whose constraints a version meets, for versions that no release is of.
func (x *Index) BranchOf(stack string, v version.StackVersion) (*Branch, bool) {
	list := x.branches[stack]
	for i := range list {
		if x.Meets(list[i].Versions, v) {
			return &list[i], true
		}
	}
	return nil, false
}

// Card returns the rules for a generation with a stack. No rule: nothing is known.
func (x *Index) Card(stack, card string) []CardRule { return x.cards[pair(stack, card)] }

// Builds returns what is known of building a stack on kernels, in the order of the matrix.
func (x *Index) Builds(stack string) []Build { return x.builds[stack] }

// Layouts returns how a stack is packaged, in the order of the matrix.
func (x *Index) Layouts(stack string) []Layout { return x.layouts[stack] }

// Layout returns how a version is packaged for a family of distributions: an entry for the family before
// one for all.
func (x *Index) Layout(stack string, v version.StackVersion, family string) (*Layout, bool) {
	list := x.layouts[stack]
	best := -1
	for i := range list {
		l := &list[i]
		if l.Family != family && l.Family != "" || len(l.Versions) > 0 && !x.Meets(l.Versions, v) {
			continue
		}
		if best < 0 || list[best].Family == "" && l.Family != "" {
			best = i
		}
	}
	if best < 0 {
		return nil, false
	}
	return &list[best], true
}

// Kernels are those that a release of a distribution is known with.
func (x *Index) Kernels(id, versionID string) []DistroKernel { return x.kernels[pair(id, versionID)] }

// GAKernel is the first kernel of a distribution's release. That a table of a vendor means it is an
// assumption.
func (x *Index) GAKernel(id, versionID string) (DistroKernel, bool) {
	for _, k := range x.kernels[pair(id, versionID)] {
		if k.Kind == "ga" {
			return k, true
		}
	}
	return DistroKernel{}, false
}

// KMP returns the rule for prebuilt modules by the installer's label, such as rhel8.4, or that of all minor
// releases (rhel8.x).
func (x *Index) KMP(label string) (KMP, bool) {
	k, ok := x.kmp[label]
	if i := strings.LastIndexByte(label, '.'); !ok && i > 0 {
		k, ok = x.kmp[label[:i]+".x"]
	}
	return k, ok
}

// CardDriver says since when the kernel's own driver and rdma-core know a generation.
func (x *Index) CardDriver(card string) (CardDriver, bool) {
	i := slices.IndexFunc(x.m.CardDrivers, func(d CardDriver) bool { return d.Card == card })
	if i < 0 {
		return CardDriver{}, false
	}
	return x.m.CardDrivers[i], true
}

// Inbox returns what a distribution's release ships; an empty flavour is the generic kernel.
func (x *Index) Inbox(id, versionID, flavour string) (*InboxRelease, bool) {
	list := x.inbox[pair(id, versionID)]
	for i := range list {
		if list[i].Flavour == flavour {
			return &list[i], true
		}
	}
	return nil, false
}

// Holdings are what repositories and bundles at hand hold of a stack.
func (x *Index) Holdings(stack string) []Holding { return x.holdings[stack] }

// Rows returns the rows of a release for a distribution's id, those of its branch after them (a VersionID
// of theirs may be without a minor). A row that covers the id counts as well.
func (x *Index) Rows(r *Release, id string) []Row {
	var rows []Row
	add := func(list []Row) {
		for _, row := range list {
			if row.ID == id || slices.Contains(row.Covers, id) {
				rows = append(rows, row)
			}
		}
	}
	add(r.Rows)
	if b, ok := x.Branch(r.Stack, r.Branch); ok {
		add(b.Rows)
	}
	return rows
}

// WholeFor says whether the table of a release was seen whole for a distribution, so that a missing row
// is a no.
func (r *Release) WholeFor(id string) bool { return r.Complete || slices.Contains(r.CompleteFor, id) }

// Meets says whether a version meets any of the constraints; an empty list is met by none. Entries whose
// empty list means all have their own question, such as Applies.
func (x *Index) Meets(constraints []string, v version.StackVersion) bool {
	return slices.ContainsFunc(constraints, func(text string) bool { return v.Satisfies(x.constraint(text)) })
}

// MeetsKernel is Meets for the leading digits of a kernel release.
func (x *Index) MeetsKernel(constraints []string, k version.KernelRelease) bool {
	return slices.ContainsFunc(constraints, func(text string) bool { return k.Satisfies(x.constraint(text)) })
}

// constraint takes one from the matrix; another's is read, and met by nothing if it cannot be.
func (x *Index) constraint(text string) version.Constraint {
	c, known := x.constraints[text]
	if !known {
		c, _ = version.ParseConstraint(text)
	}
	return c
}

// Named says whether any of the matrix's regular expressions matches a whole kernel release.
func (x *Index) Named(patterns []string, release string) bool {
	return slices.ContainsFunc(patterns, func(text string) bool {
		p, known := x.patterns[text]
		return known && p.MatchString(release)
	})
}

// Applies says whether an entry is about a version on a kernel of a distribution; versionID may be empty
// when it is not known.
func (x *Index) Applies(b Build, v version.StackVersion, id, versionID string, k version.KernelRelease) bool {
	if len(b.Versions) > 0 && !x.Meets(b.Versions, v) {
		return false
	}
	if len(b.Distros) > 0 && !OnSystem(b.Distros, id, versionID) {
		return false
	}
	if slices.Contains(b.Except, k.String()) {
		return false
	}
	if len(b.Kernels)+len(b.KernelNames) == 0 {
		return true
	}
	// Both kinds together narrow: the digits and the name.
	return (len(b.Kernels) == 0 || x.MeetsKernel(b.Kernels, k)) &&
		(len(b.KernelNames) == 0 || x.Named(b.KernelNames, k.String()))
}

// OnSystem says whether a list of "ID" and "ID VERSION_ID" has a system. A VERSION_ID of the list without
// a minor ("rhel 8") has all of its minors.
func OnSystem(list []string, id, versionID string) bool {
	return slices.ContainsFunc(list, func(one string) bool {
		listed, release, both := strings.Cut(one, " ")
		return listed == id && (!both || release == versionID || strings.HasPrefix(versionID, release+"."))
	})
}
