package rules

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/internal/version"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// vendorHost is what the rules ask of a host, read once for all releases of a stack.
type vendorHost struct {
	in     Input
	matrix *matrix.Index
	stack  string
	system vendorSystem
	kernel vendorKernel
	arch   string
	// archSource is where arch was read.
	archSource string
	cards      []hostCard
	foreign    []facts.PCIDevice
	installed  Standing
	// builds are the entries of the matrix that are about this system and kernel, whatever the release.
	builds  []matrix.Build
	failing []*matrix.Build // of builds, those of the release that is judged that report a failure
	// version is that of the release that is judged.
	version version.StackVersion
	// fixed are findings that are the same for all releases, by rule; nil until they are made.
	fixed map[string][]Finding
	// holdings are repositories and bundles at hand for this system and architecture.
	holdings []matrix.Holding
	packages []facts.Package // of RDMA stacks and kernels, fully installed
	fitGA    kernelFit       // against the first kernel of the distribution's release
	// enforced says why the kernel loads signed modules only, and where that was read.
	enforced, enforcedSource string
	// fit and official are how the best row of the release that is judged stands to the host.
	fit      kernelFit
	official bool
	// table is the kernel that fit compares with. made says that a row, other than of the driver container,
	// names the minor release, so that somebody has made or seen packages for it.
	table string
	made  bool
	// labels are the vendor's names of the system that were seen, by the usual one.
	labels map[string]seenLabels
	// doubts are what keeps a documented system from being supported, of the release that is judged.
	doubts []Finding
	listed map[string]bool // generations that any release's table has
	// said are findings that the same cause gives for many releases.
	said map[cause]Finding
	// rowsAbout are the rows that are about this system, those of the i-th release from rowsOf[i] to rowsOf[i+1].
	rowsAbout []systemMatch
	rowsOf    []int
	at        int // the position of the release that is judged
	listing   *matrix.Listed
	// otherKernel and arch32 are asked for every release.
	otherKernel, arch32 bool
	toolKeys            map[toolKey]string
}

// cause tells findings of one rule apart: of is the rule's own word for it.
type cause struct {
	rule, of, and string
	n, m          int
}

// systemMatch is a row about the host's system, see vendorSystem.matches.
type systemMatch struct {
	row             *matrix.Row
	official, minor bool
}

// hostCard is one card of the host, seen or stated. Functions of one generation are one card.
type hostCard struct {
	// generations is one where it is known, and all that the id allows where it is not.
	generations []string
	name        string // for people: "ConnectX-3 at 0000:04:00.0"
	source      string
	vf          bool // all of its functions are virtual
	driver      string
	rules       map[string][]matrix.CardRule
}

func newVendorHost(in Input, stack string) *vendorHost {
	h := &vendorHost{in: in, matrix: in.Matrix, stack: stack, system: systemOf(in), fixed: map[string][]Finding{}, said: map[cause]Finding{}, listed: map[string]bool{}, labels: map[string]seenLabels{}, toolKeys: map[toolKey]string{}}
	h.kernel = kernelOf(in, h.system.id)
	h.arch, h.archSource = printable(in.Facts.Kernel.Arch.Or("")), in.Facts.Kernel.Arch.Source
	h.otherKernel, h.arch32 = in.OtherKernel(), slices.Contains(machines32(), h.arch)
	h.findRows()
	h.cards = hostCards(in)
	for i := range h.cards {
		h.cards[i].rules = map[string][]matrix.CardRule{}
		for _, g := range h.cards[i].generations {
			h.cards[i].rules[g] = h.matrix.Card(stack, g)
		}
	}
	h.foreign = foreignCards(in)
	h.holdings = h.holdingsFor()
	if vendorLine(stack) {
		h.installed, _ = VendorOnHost(in)
	}
	h.packages, _ = InstalledPackages(in.Facts)
	h.fitGA = h.fitWithout()
	h.enforced, h.enforcedSource = h.signaturesEnforced()
	builds := h.matrix.Builds(stack)
	for i := range builds {
		b := builds[i]
		any := b
		any.Versions = nil
		if h.kernel.kind != kernelUntold && h.matrix.Applies(any, version.StackVersion{}, h.system.rowID(), h.system.rowVersion(), h.kernel.parsed) {
			h.builds = append(h.builds, b)
		}
	}
	return h
}

// vendor says that the stack brings kernel modules of its own that replace the kernel's.
func (h *vendorHost) vendor() bool { return h.stack != "rdma-core" }

// once keeps what a rule finds for every release alike.
func (h *vendorHost) once(rule string, find func() []Finding) []Finding {
	found, done := h.fixed[rule]
	if !done {
		found = find()
		h.fixed[rule] = found
	}
	return found
}

// findRows takes the rows about this system out of those of all releases.
func (h *vendorHost) findRows() {
	like := ""
	if h.system.like != "" {
		like = "rhel"
	}
	releases := len(h.matrix.Releases(h.stack))
	h.rowsOf = make([]int, releases+1)
	rows := h.matrix.SystemRows(h.stack, h.system.id, like)
	for at := range releases {
		h.rowsOf[at] = len(h.rowsAbout)
		for ; len(rows) > 0 && rows[0].Release == at; rows = rows[1:] {
			if official, minor, ok := h.system.matches(rows[0].Row); ok {
				h.rowsAbout = append(h.rowsAbout, systemMatch{rows[0].Row, official, minor})
			}
		}
	}
	h.rowsOf[releases] = len(h.rowsAbout)
}

// rowsFor are the rows about this system of the release at a position.
func (h *vendorHost) rowsFor(at int) []systemMatch { return h.rowsAbout[h.rowsOf[at]:h.rowsOf[at+1]] }

// say keeps one finding for a cause that many releases share.
func (h *vendorHost) say(key cause, make func() Finding) Finding {
	f, done := h.said[key]
	if !done {
		f = make()
		h.said[key] = f
	}
	return f
}

// hostCards are the host's own cards by generation, else the stated ones.
func hostCards(in Input) []hostCard {
	var out []hostCard
	at := map[string]int{}
	for _, d := range ownCards(in) {
		generations := d.Candidates
		if g, ok := d.Generation.Get(); ok {
			generations = []string{g}
		}
		key := strings.Join(generations, " or ")
		if key == "" {
			key = d.Vendor + ":" + d.Device
		}
		i, seen := at[key]
		if !seen {
			i = len(out)
			at[key] = i
			name := cardName(generations)
			if name == "" {
				name = "the card " + d.Vendor + ":" + d.Device
			}
			if d.VF.Or(false) {
				name += " (a virtual function)"
			}
			if d.Address != "" {
				name += " at " + printable(d.Address)
			}
			out = append(out, hostCard{generations: generations, name: name, source: in.Facts.PCI.Source, vf: true, driver: d.WantsDriver})
		}
		out[i].vf = out[i].vf && d.VF.Or(false)
	}
	if len(out) > 0 {
		return out
	}
	for _, g := range in.Cards {
		driver := "mlx5_core"
		if rdmaDriver(g) == "mlx4_ib" {
			driver = "mlx4_core"
		}
		out = append(out, hostCard{generations: []string{g}, name: cardName([]string{g}), source: "--card", driver: driver})
	}
	return out
}

// cardName spells generations as the vendor does: ConnectX-6 Dx, BlueField-3, Connect-IB.
func cardName(generations []string) string {
	var out []string
	for _, g := range generations {
		g = printable(g)
		for _, family := range []struct{ slug, name string }{{"connectx-", "ConnectX-"}, {"bluefield-", "BlueField-"}, {"connect-ib", "Connect-IB"}, {"innova-ipsec-en", "Innova IPsec EN"}} {
			rest, ok := strings.CutPrefix(g, family.slug)
			if !ok {
				continue
			}
			number, kind, more := strings.Cut(rest, "-")
			g = family.name + number
			if more && kind != "" {
				g += " " + strings.ToUpper(kind[:1]) + kind[1:]
			}
			break
		}
		out = append(out, g)
	}
	return strings.Join(out, " or ")
}

func firstSource(all []string, fallback string) string {
	if len(all) > 0 {
		return all[0]
	}
	return fallback
}
