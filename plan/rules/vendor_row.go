package rules

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// Codes of what is documented of a system.
const (
	Documented          Code = "documented"
	CommunitySupport    Code = "community-support"
	HeldAtHand          Code = "held-at-hand"
	HeldForOtherKernel  Code = "held-for-other-kernel"
	NotInTable          Code = "not-in-table"
	NoRow               Code = "no-row"
	BundleSeen          Code = "bundle-seen"
	DriverContainerSeen Code = "driver-container-seen"
	ThirdPartyMatrix    Code = "third-party-matrix"
	TestedElsewhere     Code = "tested-elsewhere"
	RebuildOfRHEL       Code = "rebuild-of-rhel"
	KernelOffTable      Code = "kernel-off-table"
	KernelNotTold       Code = "kernel-not-told"
	ArchNotTold         Code = "arch-not-told"
	OFEDNotDocumented   Code = "ofed-not-documented"
)

// rowMatch is how a row stands to the host's system.
type rowMatch struct {
	row      *matrix.Row
	official bool // the row names the system itself, not RHEL that it is a rebuild of
	minor    bool // the row names the minor release; else the major one only
	counts   bool // the row tells of this very system
	fit      kernelFit
	table    string // the kernel that fit compares with
	ga       bool   // table is the first kernel of the distribution, not one of the row
}

// systemRow gives a status by evidence.
//
// A row of the vendor's table makes supported or community, when it names this system, this architecture
// and the line of this kernel. A repository or bundle at hand makes present. All else leaves unknown, and
// the reasons say what was seen: a rebuild that the row of RHEL does not name, another kernel than the
// table's, the name of a bundle, others' tests. Where the whole table was seen, a missing row excludes.
func systemRow() VendorRule {
	return VendorRule{Name: "system-row", Source: "support tables of the releases, and what else was seen of them", Judge: func(h *vendorHost, c *Candidate) {
		if h.stack == "rdma-core" {
			return
		}
		c.Layout = h.listing.Layout(h.system.family)
		best, weak, otherArch := h.rows(c)
		held := h.held(c)
		c.Label = h.label(c, best != nil && best.row.Evidence == matrix.DocumentedTable)
		if best == nil && !held && h.excludedByTable(c, weak, otherArch) {
			return
		}
		switch {
		case best != nil:
			h.documented(c, best)
		default:
			h.undocumented(c, weak, otherArch)
			best = weak
		}
		h.fit, h.table, h.official = h.fitGA, "", false
		if best != nil {
			// Another product's word for a rebuild is not the vendor's.
			h.official = best.official && best.row.Evidence != matrix.ThirdParty && best.row.Evidence != matrix.Tested
			if best.counts {
				c.Evidence = best.row.Evidence
			}
			if best.fit != fitUntold && best.minor {
				h.fit, h.table = best.fit, best.table
			}
		}
		if h.system.like != "" && !h.official {
			c.because(h.unofficial())
			c.warn(h.unofficial())
		}
		for _, doubt := range h.doubts {
			if c.Status == Supported || c.Status == Community {
				c.Status = Unknown
			}
			c.because(doubt)
		}
		if held && c.Status != Supported && c.Status != Community {
			c.Status = Present
		}
	}}
}

// rows finds the best row of the vendor's own tables, the strongest other evidence, and whether there
// are rows for other architectures only.
func (h *vendorHost) rows(c *Candidate) (best, weak *rowMatch, otherArch bool) {
	h.made = false
	consider := func(row *matrix.Row, official, minor bool) {
		if row.Arch != "" && h.arch != "" && row.Arch != h.arch {
			otherArch = true
			return
		}
		m := rowMatch{row: row, official: official, minor: minor}
		// A row without a minor release counts where the vendor's repositories have none either.
		m.counts = minor || row.Evidence == matrix.BundleName && c.Release.Modules == "dkms"
		h.made = h.made || minor && row.Evidence != matrix.DriverContainer
		m.fit, m.table, m.ga = h.fitOf(row)
		documents := row.Evidence == matrix.DocumentedTable && minor ||
			row.Evidence == matrix.DriverContainer && h.in.Method == InContainer && m.fit == fitExact
		switch {
		case documents && (best == nil || h.better(&m, best)):
			best = &m
		case !documents && (weak == nil || h.better(&m, weak)):
			weak = &m
		}
	}
	for _, m := range h.rowsFor(h.at) {
		consider(m.row, m.official, m.minor)
	}
	if c.Branch != nil {
		for i := range c.Branch.Rows {
			row := &c.Branch.Rows[i]
			if official, minor, ok := h.system.matches(row); ok {
				consider(row, official, minor)
			}
		}
	}
	return best, weak, otherArch
}

// better orders rows of one kind: those of this very system, then stronger evidence, the system's own name, the
// closer kernel. A matrix that pairs a branch with RHEL 8 does not hide that a bundle for RHEL 8.5 was seen. The
// driver container says something of the container first.
func (h *vendorHost) better(a, b *rowMatch) bool {
	rank := func(m *rowMatch) int {
		n := 100 * (5 - slices.Index([]matrix.Evidence{matrix.DocumentedTable, matrix.DriverContainer, matrix.ThirdParty, matrix.BundleName, matrix.Tested}, m.row.Evidence))
		if m.row.Evidence == matrix.DriverContainer && h.in.Method != InContainer {
			n = 150
		}
		if m.counts && n != 150 {
			n += 1000
		}
		if m.official {
			n += 20
		}
		n += []int{2, 8, 6, 0}[m.fit]
		if m.row.Arch != "" {
			n++
		}
		return n
	}
	return rank(a) > rank(b)
}

// matches says whether a row is about the system, whether it names the system itself, and whether it
// names the minor release. Another minor release of RHEL is never a match.
func (s *vendorSystem) matches(row *matrix.Row) (official, minor, ok bool) {
	own := row.ID == s.id || slices.Contains(row.Covers, s.id)
	if !own && (s.like == "" || row.ID != "rhel") || s.version == "" {
		return false, false, false
	}
	v := s.version
	if !own {
		v = s.like
	}
	switch {
	case row.VersionID == v || s.point != "" && row.VersionID == s.point:
		return own, true, true
	case !strings.Contains(row.VersionID, ".") && row.VersionID == majorOf(v):
		return own, false, true
	case s.id == "debian" && majorOf(row.VersionID) == v:
		return own, false, true // another point release of the same Debian
	}
	return false, false, false
}

// fitOf compares the host's kernel with those of a row: the exact ones that it lists, its default
// kernel, else the first kernel of the distribution's release.
func (h *vendorHost) fitOf(row *matrix.Row) (fit kernelFit, table string, ga bool) {
	if h.kernel.kind == kernelUntold {
		return fitUntold, row.Kernel, false
	}
	for _, k := range row.Kernels {
		if k == h.kernel.release || strings.HasPrefix(h.kernel.release, k) && boundary(h.kernel.release[len(k):]) {
			return fitExact, k, false
		}
	}
	if row.Kernel != "" {
		return h.kernel.fit(row.Kernel, row.ID), row.Kernel, false
	}
	if len(row.Kernels) > 0 {
		return fitOff, row.Kernels[0], false
	}
	fit, table = h.fitOwn(row.ID, row.VersionID)
	return fit, table, true
}

// fitOwn compares with the kernels that a distribution's release is known to have of its own: its first,
// a hardware enablement kernel, what vendors' tables print for it, else the one of its archive.
func (h *vendorHost) fitOwn(id, version string) (fit kernelFit, table string) {
	try := func(k string) bool {
		got := h.kernel.fit(k, id)
		if table == "" || got == fitExact || got == fitErrata {
			fit, table = got, k
		}
		return got == fitExact || got == fitErrata
	}
	for _, kind := range []string{"ga", "hwe", "default"} {
		for _, k := range h.matrix.Kernels(id, version) {
			if k.Kind == kind && try(k.Kernel) {
				return fit, table
			}
		}
	}
	if id == "debian" {
		version = majorOf(version) // its kernel is that of all its point releases
	}
	if r, ok := h.matrix.Inbox(id, version, ""); ok && table == "" {
		try(r.Kernel)
	}
	return fit, table
}

// fitWithout compares with the first kernel of the distribution's release where no row prints one.
func (h *vendorHost) fitWithout() kernelFit {
	fit, _ := h.fitOwn(h.system.rowID(), h.system.rowVersion())
	return fit
}

func (h *vendorHost) documented(c *Candidate, m *rowMatch) {
	source := rowSource(m.row, c.Release)
	c.Status = Supported
	code, how := Documented, "as supported"
	if m.row.Model == "community" {
		c.Status, code, how = Community, CommunitySupport, "as community support"
	}
	if m.row.Evidence == matrix.DriverContainer {
		how = "with prebuilt modules in the vendor's driver container"
	}
	text := "documented " + how + " for " + m.row.ID + " " + m.row.VersionID
	if m.row.Arch != "" {
		text += " on " + m.row.Arch
	} else {
		text += " (the page read tells no architecture)"
	}
	if m.table != "" && !m.ga {
		text += " with kernel " + m.table
	}
	c.because(Finding{Code: code, Effect: Warn, Text: text, Source: source})
	if m.row.Arch == "" && h.arch != "x86_64" {
		c.lower(Unknown, Finding{
			Code: ArchNotTold, Effect: Warn, Source: source,
			Text: "the row tells no architecture, and " + orUntold(h.arch) + " is not the usual one",
		})
	} else if h.arch == "" {
		c.lower(Unknown, Finding{Code: ArchNotTold, Effect: Warn, Source: named(h.archSource, "uname -m"), Text: "nothing tells the architecture of this host"})
	}
	switch m.fit {
	case fitOff:
		of := "the table's kernel " + m.table
		if m.ga {
			of = m.table + ", a kernel of " + m.row.ID + " " + m.row.VersionID + " itself"
		}
		c.lower(Unknown, Finding{
			Code: KernelOffTable, Effect: Warn, Source: source,
			Text: "kernel " + h.kernel.release + h.kernel.whose() + " is not of the line of " + of + ", so the row does not cover it",
		})
	case fitUntold:
		if h.kernel.kind == kernelUntold {
			c.lower(Unknown, Finding{Code: KernelNotTold, Effect: Warn, Source: named(h.kernel.source, "uname -r"), Text: "nothing tells the kernel that the plan is for"})
			break
		}
		c.lower(Unknown, Finding{
			Code: KernelOffTable, Effect: Warn, Source: source,
			Text: "the row tells no kernel and no source tells those of " + m.row.ID + " " + m.row.VersionID + ", so nothing says that it covers kernel " + h.kernel.release + h.kernel.whose(),
		})
	case fitExact, fitErrata:
	}
	if !m.official {
		c.Status = Unknown
	}
}

// unofficial is the reason, and the warning, for a rebuild that no row names.
func (h *vendorHost) unofficial() Finding {
	return h.say(cause{rule: "unofficial"}, func() Finding {
		return Finding{
			Code: RebuildOfRHEL, Effect: Warn, Source: h.system.source,
			Text: h.system.name + " is judged as RHEL " + h.system.like + ", of which it is a rebuild (--distro RHEL" + h.system.like +
				"); the vendor does not name it, so this is unofficial: it works by reports, and no other minor release will do",
		}
	})
}

// whose tells what is special about a kernel.
func (k vendorKernel) whose() string {
	switch k.kind {
	case kernelFlavour:
		return " (flavour " + k.flavour + ")"
	case kernelOther:
		return " (not a kernel of the distribution)"
	case kernelCandidate:
		return " (a release candidate)"
	case kernelUntold, kernelDistro:
	}
	return ""
}

// excludedByTable refuses what a whole table does not have.
func (h *vendorHost) excludedByTable(c *Candidate, weak *rowMatch, otherArch bool) bool {
	if h.stack == "ofed" && weak == nil {
		c.refuse(h.say(cause{rule: "ofed"}, func() Finding {
			return Finding{
				Code: OFEDNotDocumented, Effect: Refuse, Source: firstSource(c.Release.Source, "the compatibility matrix"),
				Text: "OFED of the OpenFabrics Alliance is named for few systems, and no source names this release for " + h.system.name + orArch(h.arch) + "; OFED ended in 2019",
			}
		}))
		return true
	}
	if weak != nil && weak.row.Evidence == matrix.DocumentedTable {
		return false // another point release of the same Debian
	}
	if h.system.version == "" || h.arch == "" || !c.Release.WholeFor(h.system.rowID()) {
		return false
	}
	text := "the table of systems of " + h.stack + " " + c.Release.Version + " is known whole and has "
	if otherArch {
		text += h.system.rowID() + " " + h.system.rowVersion() + " for other architectures than " + h.arch
	} else {
		text += "no " + h.system.rowID() + " " + h.system.rowVersion()
	}
	c.refuse(Finding{Code: NotInTable, Effect: Refuse, Text: text, Source: firstSource(c.Release.Source, "the compatibility matrix")})
	return true
}

// undocumented says what else was seen.
func (h *vendorHost) undocumented(c *Candidate, weak *rowMatch, otherArch bool) {
	c.Status = Unknown
	if weak == nil {
		c.because(h.say(cause{rule: noRowKey(otherArch)}, func() Finding {
			text := "no source seen says whether this release supports " + h.system.name + orArch(h.arch)
			if otherArch {
				text += "; it is named for other architectures"
			}
			return Finding{Code: NoRow, Effect: Warn, Text: text, Source: "the compatibility matrix"}
		}))
	} else {
		found := h.say(cause{rule: string(weak.row.Evidence), of: weak.row.ID, and: weak.row.VersionID, n: min(len(weak.row.Arch), 1)}, func() Finding { return seenOnly(weak.row) })
		found.Source = rowSource(weak.row, c.Release)
		c.because(found)
	}
}

// seenOnly says what a row tells that is no row of the vendor's table for this system.
func seenOnly(row *matrix.Row) Finding {
	name := row.ID + " " + row.VersionID
	code, text := BundleSeen, "a bundle or repository for "+name+" was seen; that the vendor made one says nothing of support"
	switch row.Evidence {
	case matrix.DocumentedTable:
		code, text = NoRow, "the vendor's table has "+name+", which is not quite this system"
	case matrix.DriverContainer:
		code, text = DriverContainerSeen, "the vendor builds its driver container for "+name+"; a container compiles on the node and says nothing of packages"
	case matrix.ThirdParty:
		code, text = ThirdPartyMatrix, "another product's support matrix pairs the branch with "+name+"; the vendor's own was not seen"
	case matrix.Tested:
		code, text = TestedElsewhere, "others report tests on "+name+"; the vendor's own table was not seen"
	case matrix.BundleName:
	}
	if row.Arch == "" {
		text += " (no architecture told)"
	}
	return Finding{Code: code, Effect: Warn, Text: text}
}

func noRowKey(otherArch bool) string {
	if otherArch {
		return "no row, other arch"
	}
	return "no row"
}

// held looks for the release among the repositories and bundles at hand. True: one holds packages for
// exactly this distribution, architecture and kernel.
func (h *vendorHost) held(c *Candidate) bool {
	var other *matrix.Holding
	for i := range h.holdings {
		held := &h.holdings[i]
		if r, ok := h.matrix.Find(h.stack, held.Version); !ok || r != c.Release {
			continue
		}
		if other == nil {
			other = held
		}
		modules := ""
		switch {
		case slices.ContainsFunc(held.Kernels, func(k string) bool { return k == h.kernel.release }):
			modules = ModulesPrebuilt
		case held.DKMS:
			modules = ModulesDKMS
		case h.linked(c, held) != "":
			c.warn(h.heldForLine(h.linked(c, held)))
			modules = ModulesPrebuilt
		default:
			continue
		}
		kernel := h.kernel.release
		if k := h.linked(c, held); modules == ModulesPrebuilt && k != "" {
			kernel = k
		}
		c.Holding, c.Modules = held, modules
		c.because(Finding{
			Code: HeldAtHand, Effect: Warn, Source: printable(held.Origin),
			Text: "a repository or bundle at hand holds it for " + printable(held.ID+" "+held.VersionID+" "+held.Arch) + h.heldModules(modules, kernel),
		})
		return true
	}
	if other != nil {
		c.Holding = other
		c.because(Finding{
			Code: HeldForOtherKernel, Effect: Warn, Source: printable(other.Origin),
			Text: "a repository or bundle at hand holds it for this system, with modules for other kernels than " + orUntold(h.kernel.release) + ": " + printable(list(other.Kernels)),
		})
	}
	return false
}

func (h *vendorHost) heldModules(modules, kernel string) string {
	if modules == ModulesDKMS {
		return ", with module sources that DKMS builds for kernel " + orUntold(h.kernel.release)
	}
	return ", with modules for kernel " + printable(kernel)
}

// linked is the kernel of a holding whose prebuilt modules weak-updates may link for the host's: another build of the
// same line, as with a documented kernel. Rebuilds make such builds themselves, and DKMS has no prebuilt modules.
func (h *vendorHost) linked(c *Candidate, held *matrix.Holding) string {
	if h.system.family != "rhel" && h.system.family != "suse" || held.ID != h.system.id || c.Release.Modules == "dkms" ||
		h.kernel.kind != kernelDistro || slices.Contains(held.Kernels, h.kernel.release) {
		return ""
	}
	if kmp, known := h.kmp(h.system.label(false)); known && (kmp.Disabled || kmp.Kernel != "" && !h.matrix.Named([]string{kmp.Kernel}, h.kernel.release)) {
		return ""
	}
	for _, k := range held.Kernels {
		if h.kernel.fit(k, h.system.id) == fitErrata {
			return k
		}
	}
	return ""
}

func (h *vendorHost) heldForLine(kernel string) Finding {
	return h.say(cause{rule: "held for line", of: kernel}, func() Finding {
		return Finding{
			Code: WeakUpdatesDecide, Effect: Warn, Source: "MLNX_OFED, Application Binary Interface (ABI) incompatibility with kernel modules (weak-updates)",
			Text: "the prebuilt modules at hand are for " + printable(kernel) + "; kernel " + h.kernel.release +
				" is another build of the same line: they serve it when weak-updates links them, and must be built for it when no links appear",
		}
	})
}

// holdingsFor are those for the host's system and architecture. What is held for RHEL is held for its
// rebuilds.
func (h *vendorHost) holdingsFor() []matrix.Holding {
	var out []matrix.Holding
	for _, held := range h.matrix.Holdings(h.stack) {
		row := matrix.Row{ID: held.ID, VersionID: held.VersionID}
		if _, _, ok := h.system.matches(&row); ok && h.arch != "" && held.Arch == h.arch {
			out = append(out, held)
		}
	}
	return out
}

func rowSource(row *matrix.Row, r *matrix.Release) string {
	if row.Source != "" {
		return row.Source
	}
	return firstSource(r.Source, "the compatibility matrix")
}

func orUntold(text string) string {
	if text == "" {
		return "(not told)"
	}
	return text
}

func orArch(arch string) string {
	if arch == "" {
		return ""
	}
	return " on " + arch
}
