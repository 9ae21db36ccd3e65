package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan/rules"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// Scope is what an Amount counts.
type Scope string

// The scopes of an Amount.
const (
	// ScopeNothing: the plan brings nothing, and the amount is 0.
	ScopeNothing Scope = "nothing"
	// ScopeNamed is the sum over the packages that the plan names. What they depend on, and the host lacks,
	// comes on top; the solver tells it (plan --resolve).
	ScopeNamed Scope = "named-packages"
	// ScopeHeld is the sum over all packages of an imported repository or bundle: a set takes fewer of them,
	// and packages of the distribution may come on top.
	ScopeHeld Scope = "whole-repository"
	// ScopeBuild is the installation of a build, and the packages that the plan names to build with; not the
	// files of the build itself.
	ScopeBuild Scope = "build"
	// ScopeRequired is the free space that the vendor asks for.
	ScopeRequired Scope = "required-space"
)

// Amount is a number of bytes with what told it, or the reason why it is not known. What goes is not
// subtracted.
type Amount struct {
	// Value is null where it is not known, also where only a part of it is: Reason then names the part.
	Value  *int64 `json:"value"`
	Scope  Scope  `json:"scope,omitempty"`
	Text   string `json:"text,omitempty"` // what is counted, for a person
	Source string `json:"source,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Minutes is how long building takes. Both ends are null where no source tells; From alone is null where a
// source tells the longest only.
type Minutes struct {
	From *int `json:"from"`
	To   *int `json:"to"`
	// MeasuredOn is the release and the machine that it is of. It was not computed for this one.
	MeasuredOn string `json:"measured_on,omitempty"`
	Source     string `json:"source,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

// bill is what the cost of one stack is made from.
type bill struct {
	f       facts.Facts
	m       *matrix.Index
	c       Compared
	release *matrix.Release // nil for inbox
	steps   []Step
	planned bool // the steps are this stack's; else nothing was planned for it
}

// notPlanned says of a stack that was judged, and is not refused, why it has no cost.
const notPlanned = "nothing is planned for this stack here"

func unknownAmount(format string, args ...any) Amount {
	return Amount{Reason: fmt.Sprintf(format, args...)}
}

// packages are those that the plan asks for, each once, in its order.
func (b bill) packages() []PackageChange {
	var out []PackageChange
	for _, s := range b.steps {
		for _, p := range s.Changes.Packages {
			if p.Action == "install" || p.Action == "upgrade" {
				if !slices.ContainsFunc(out, func(have PackageChange) bool { return have.Name == p.Name }) {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// builds says that a step compiles a stack from its source.
func (b bill) builds() bool {
	return slices.ContainsFunc(b.steps, func(s Step) bool { return s.Kind == KindBuild })
}

// download is what is fetched.
func (b bill) download() Amount {
	return b.amount("download", func(p facts.PackageSize) facts.Field[int64] { return p.Download },
		func(p matrix.HoldingPackage) int64 { return p.Bytes })
}

// disk is what stays on disk.
func (b bill) disk() Amount {
	return b.amount("disk", func(p facts.PackageSize) facts.Field[int64] { return p.Installed },
		func(p matrix.HoldingPackage) int64 { return p.Installed })
}

func (b bill) amount(kind string, of func(facts.PackageSize) facts.Field[int64], held func(matrix.HoldingPackage) int64) Amount {
	wanted := b.packages()
	switch {
	case b.c.Verdict == StackRefused:
		return unknownAmount("the stack is refused")
	case !b.planned:
		return unknownAmount(notPlanned)
	case len(wanted) == 0 && !b.builds():
		zero := int64(0)
		return Amount{Value: &zero, Scope: ScopeNothing, Text: "the plan brings no package and builds nothing", Source: "the plan"}
	case b.c.Method == rules.BySource:
		return b.ofSource(kind, b.sum(wanted, of))
	case b.release != nil:
		return b.ofVendor(kind, wanted, of, held)
	}
	return b.sum(wanted, of).amount(ScopeNamed)
}

// sum adds up the sizes of packages from the host's own lists.
func (b bill) sum(wanted []PackageChange, of func(facts.PackageSize) facts.Field[int64]) (s sum) {
	sizes := b.f.Packages.Sizes
	s.n, s.source, s.why = len(wanted), sizes.Source, sizes.Error
	for _, p := range wanted {
		i := slices.IndexFunc(sizes.Or(nil), func(one facts.PackageSize) bool { return one.Name == p.Name })
		if i < 0 {
			s.untold = append(s.untold, p.Name)
			continue
		}
		one := sizes.Value[i]
		size := of(one)
		switch {
		case one.Have != "" && one.Have == one.Version:
			s.have++
		case size.IsKnown():
			s.bytes += size.Value
		case size.IsAbsent() && p.Optional:
			s.left = append(s.left, p.Name)
		default:
			s.untold = append(s.untold, p.Name)
			if s.why == "" {
				s.why = size.Error
			}
			if size.IsAbsent() {
				s.why = "no configured repository has it"
			}
		}
	}
	return s
}

// sum is what is known of the sizes of some packages.
type sum struct {
	n      int // packages asked for
	have   int // of them on the host already, which bring nothing
	bytes  int64
	untold []string // those without a size
	left   []string // optional ones that no repository has
	source string
	why    string // the first reason for untold
}

// told is how many packages the sum is over.
func (s sum) told() int { return s.n - len(s.untold) - len(s.left) }

func (s sum) amount(scope Scope) Amount {
	if len(s.untold) > 0 {
		return Amount{Reason: s.lacking(), Source: s.source}
	}
	return Amount{Value: &s.bytes, Scope: scope, Text: s.text(), Source: s.source}
}

func (s sum) text() string {
	over := "the one package"
	if n := s.told(); n != 1 {
		over = fmt.Sprintf("the sum over the %d packages", n)
	}
	text := over + " that the plan names" + s.there() + "; the solver may add dependencies (--resolve tells)"
	if len(s.left) > 0 {
		text += "; no repository has " + strings.Join(s.left, ", ") + ", which may be left out"
	}
	return text
}

func (s sum) there() string {
	if s.have == 0 {
		return ""
	}
	return fmt.Sprintf(", of which the host has %d", s.have)
}

// lacking says what has no size, and how much the others are.
func (s sum) lacking() string {
	names := s.untold
	more := ""
	if len(names) > 3 {
		names, more = names[:3], fmt.Sprintf(" and %d more", len(s.untold)-3)
	}
	text := "nothing tells the size of " + strings.Join(names, ", ") + more
	if s.why != "" {
		text += ": " + printable(s.why)
	}
	if n := s.told(); n > 0 {
		text += fmt.Sprintf("; the other %s of the plan%s: %s", plural(n, "package"), s.there(), mebibytes(s.bytes))
	}
	return text
}

// ofSource is the cost of a build from source: nothing tells the size of the archive, and what is installed
// was measured for some releases.
func (b bill) ofSource(kind string, tools sum) Amount {
	name := b.c.Stack.Stack + " " + b.c.Version
	with := ""
	switch {
	case len(tools.untold) > 0:
		with = "; " + tools.lacking()
	case tools.n > 0:
		with = fmt.Sprintf("; the %s to build with%s: %s", plural(tools.told(), "package"), tools.there(), mebibytes(tools.bytes))
	}
	if kind == "download" {
		return unknownAmount("no source tells the size of the archive of %s%s", name, with)
	}
	exact, others := b.costs(func(k matrix.Cost) bool { return k.DiskMB > 0 && k.Disk == "installed" })
	if len(exact) == 0 {
		measured := ""
		for _, k := range others {
			measured += fmt.Sprintf(", %s: %d MB", k.Of(), k.DiskMB)
		}
		if measured != "" {
			measured = " (measured are" + measured[1:] + ")"
		}
		return unknownAmount("nobody measured what %s takes when it is installed%s%s", name, measured, with)
	}
	files := int64(exact[0].DiskMB) * 1_000_000
	text := fmt.Sprintf("what was installed of %s (%s)", exact[0].Of(), mebibytes(files))
	if len(tools.untold) > 0 {
		return Amount{Reason: text + with, Source: sources(exact)}
	}
	total := files + tools.bytes
	source := sources(exact)
	if tools.n > 0 {
		text += with + ", their dependencies not counted"
		source += "; " + tools.source
	}
	return Amount{Value: &total, Scope: ScopeBuild, Text: text + "; not the files of the build itself", Source: source}
}

// ofVendor is the cost of a vendor's packages. The sets that a plan names are empty packages that depend on
// the whole stack: their own size says nothing, so that it takes an imported repository to tell.
func (b bill) ofVendor(kind string, wanted []PackageChange, of func(facts.PackageSize) facts.Field[int64], held func(matrix.HoldingPackage) int64) Amount {
	h := b.holding()
	if h == nil || len(h.Packages) == 0 {
		if exact, others := b.costs(func(k matrix.Cost) bool { return k.Disk == "required" }); kind == "disk" && len(exact)+len(others) > 0 {
			return required(append(exact, others...))
		}
		name := b.c.Stack.Stack
		if b.c.Method == rules.ByVendorScript {
			return unknownAmount("no source tells a size of %s %s", name, b.c.Version)
		}
		return unknownAmount("no source tells a size of %s %s; `rdmactl matrix import` of its repository or bundle does, and `rdmactl plan --stack %s --resolve` asks the solver where the repository is set up",
			name, b.c.Version, name)
	}
	var total int64
	missing := 0
	inside := map[string]bool{}
	for _, p := range h.Packages {
		inside[p.Name] = true
		if held(p) == 0 {
			missing++
		}
		total += held(p)
	}
	if missing > 0 {
		if exact, others := b.costs(func(k matrix.Cost) bool { return k.Disk == "required" }); kind == "disk" && len(exact)+len(others) > 0 {
			return required(append(exact, others...))
		}
		return Amount{
			Reason: fmt.Sprintf("the import has no such size for %d of its %s", missing, plural(len(h.Packages), "package")), Source: printable(h.Origin),
		}
	}
	rest := b.sum(slices.DeleteFunc(wanted, func(p PackageChange) bool { return inside[p.Name] }), of)
	text := "all " + plural(len(h.Packages), "package") + " of the imported repository or bundle, of which a set takes fewer"
	source := printable(h.Origin)
	switch {
	case len(rest.untold) > 0:
		return Amount{Reason: fmt.Sprintf("%s: %s; %s", text, mebibytes(total), rest.lacking()), Source: source}
	case rest.n > 0:
		total += rest.bytes
		text += fmt.Sprintf(", and %s of the host's own repositories", plural(rest.told(), "package"))
		source += "; " + rest.source
	}
	return Amount{Value: &total, Scope: ScopeHeld, Text: text + "; dependencies outside of it come on top", Source: source}
}

// required is the space that the vendor asks for.
func required(costs []matrix.Cost) Amount {
	n := int64(costs[0].DiskMB) * 1_000_000
	return Amount{
		Value: &n, Scope: ScopeRequired, Source: sources(costs[:1]),
		Text: "the free space that the vendor asks for, not what is installed: " + costs[0].On,
	}
}

// holding is the imported repository or bundle that the plan takes the packages from; nil for none.
func (b bill) holding() *matrix.Holding {
	i := slices.IndexFunc(b.steps, func(s Step) bool { return s.Changes.Repository != nil })
	if i < 0 {
		return nil
	}
	arch := b.f.Kernel.Arch.Or("")
	list := b.m.Holdings(b.c.Stack.Stack)
	for j := range list {
		r, ok := b.m.Find(b.c.Stack.Stack, list[j].Version)
		if ok && r == b.release && list[j].Origin == b.steps[i].Changes.Repository.Origin() && (arch == "" || list[j].Arch == arch) {
			return &list[j]
		}
	}
	return nil
}

// costs are the measurements and statements of one kind: of exactly this release, and of others or of none in
// particular.
func (b bill) costs(is func(matrix.Cost) bool) (exact, others []matrix.Cost) {
	if b.release == nil {
		return nil, nil
	}
	not := func(k matrix.Cost) bool { return !is(k) }
	exact, others = b.m.Costs(b.c.Stack.Stack, b.m.VersionOf(b.release))
	return slices.DeleteFunc(exact, not), slices.DeleteFunc(others, not)
}

// minutes is how long compiling took where someone looked at the clock. Of a release that nobody measured it
// is the span of those that were.
func (b bill) minutes() Minutes {
	switch {
	case b.c.Verdict == StackRefused:
		return Minutes{Reason: "the stack is refused"}
	case !b.planned:
		return Minutes{Reason: notPlanned}
	case !b.c.Compiles || len(b.packages()) == 0 && !b.builds():
		zero := 0
		return Minutes{From: &zero, To: &zero, Source: "the plan, which compiles nothing"}
	}
	exact, others := b.costs(func(k matrix.Cost) bool { return k.Minutes > 0 })
	use, remark := exact, ""
	if len(use) == 0 {
		use, remark = others, " (of "+b.c.Version+" itself no source tells)"
	}
	if len(use) == 0 {
		return Minutes{Reason: fmt.Sprintf("no source tells how long %s %s takes to build", b.c.Stack.Stack, b.c.Version)}
	}
	var out Minutes
	var on []string
	for _, k := range use {
		minutes := k.Minutes
		if !k.UpTo && (out.From == nil || minutes < *out.From) {
			out.From = &minutes
		}
		if out.To == nil || minutes > *out.To {
			out.To = &minutes
		}
		on = append(on, k.Of())
	}
	out.MeasuredOn, out.Source = strings.Join(on, "; ")+remark, sources(use)
	return out
}

// sources are those of some entries, each once.
func sources(costs []matrix.Cost) string {
	var out []string
	for _, k := range costs {
		for _, s := range k.Source {
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return strings.Join(out, "; ")
}

// mebibytes shows a size in MiB, what is less than 0.1 in KiB.
func mebibytes(n int64) string {
	switch {
	case n == 0:
		return "0 MiB"
	case n < 1<<20/10:
		return fmt.Sprintf("%d KiB", (n+1<<10-1)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
