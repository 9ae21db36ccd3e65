package holdings

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	stackversion "github.com/rdmactl/rdmactl/internal/version"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// releaseID is a release with what its packages carry of it.
type releaseID struct {
	stack, version string
	drivers        []int  // the numbers of its drivers, see driverOf
	counted        int    // how many of them tell it from others
	build          string // the drivers' version without dots, as packages of user space end in it: 2404066 of 24.04-0.6.6.0
}

func (r releaseID) String() string { return r.stack + " " + r.version }

func newReleaseID(stack, version string, known *matrix.Index) releaseID {
	r := releaseID{stack: stack, version: version}
	r.drivers, r.counted = driverOf(stack, version, known)
	text := version
	if stack == "doca-ofed" && r.counted == 5 {
		if of, ok := known.Find(stack, version); ok {
			text = of.Driver
		}
	}
	if words := strings.FieldsFunc(text, isSeparator); r.counted == 5 && len(words) >= 5 {
		r.build = strings.Join(words[:5], "")
	}
	return r
}

func isSeparator(r rune) bool { return r == '.' || r == '-' || r == '_' }

// is says that a user who names a release, or a branch, means this one.
func (r releaseID) is(wanted string) bool {
	want, have := numbers(wanted), numbers(r.version)
	return len(want) > 0 && len(want) <= len(have) && slices.Equal(want, have[:len(want)])
}

// several are the releases that an index is of, in the order of their versions; foreign says that it has
// drivers of another one, whose metapackage it lacks. A package whose file is missing tells its release too.
func (f *found) several(known *matrix.Index) (ids []releaseID, foreign bool) {
	doca, itself, mlnx := map[string]bool{}, map[string]bool{}, map[string]bool{}
	all := slices.Concat(f.packages, f.gone)
	for _, p := range all {
		if m := docaVersion.FindStringSubmatch(p.Version); docaMeta.MatchString(p.Name) && m != nil {
			doca[m[1]] = true
			if p.Name == "doca-ofed" {
				itself[m[1]] = true
			}
		}
		if m := mlnxVersion.FindStringSubmatch(p.Version); mlnxMeta.MatchString(p.Name) && m != nil {
			mlnx[m[1]] = true
		}
	}
	if len(itself) > 0 {
		doca = itself
	}
	untold := false
	for v := range doca {
		r := newReleaseID("doca-ofed", v, known)
		untold = untold || r.counted == 0
		ids = append(ids, r)
	}
	of := func(drivers []int, most int) bool {
		return untold || slices.ContainsFunc(ids, func(r releaseID) bool { return alike(drivers, r.drivers, min(most, r.counted)) })
	}
	// A DOCA repository has the metapackages of MLNX_OFED too. Only those of another branch are of a release
	// of their own: the matrix may know the drivers of a DOCA release less exactly than its packages.
	most := 5
	if len(doca) > 0 {
		most = 2
	}
	var own []releaseID
	for v := range mlnx {
		if len(doca) == 0 || !of(numbers(v), most) {
			own = append(own, newReleaseID("mlnx-ofed", v, known))
		}
	}
	ids = append(ids, own...)
	slices.SortFunc(ids, func(a, b releaseID) int {
		if a.stack != b.stack {
			return strings.Compare(a.stack, b.stack)
		}
		return slices.Compare(numbers(a.version), numbers(b.version))
	})
	for _, p := range all {
		if m := driverVersion.FindStringSubmatch(p.Version); m != nil && len(ids) > 0 && (isCoreDriver(p.Name) || isDKMS(p.Name)) && !of(numbers(m[1]), most) {
			foreign = true
		}
	}
	return ids, foreign
}

// splitter parts the packages of an index by release. A package is of a release when its own version says so,
// or when the release needs it and the index has it in one version only. All else is told, and left out.
type splitter struct {
	all   []pkg // those of f.packages, then those that are gone
	there int   // how many of all are there
	ids   []releaseID
	marks [][]int // for each package, the releases that its version tells; nil: it tells none
	other []bool  // its version tells another release than these
	named map[string][]named
	steps int // of looking for what is needed, so far
}

const (
	maxReleases = 64         // of one index
	maxSteps    = 10_000_000 // of looking for what packages need
)

// named is a package under one of its names.
type named struct {
	at      int
	version string
}

// share is what one release has for one architecture.
type share struct {
	release  int
	arch     string
	packages []int
	lacks    string // why it cannot be installed from here; empty when nothing is missing
}

func (f *found) splitter(ids []releaseID) (*splitter, error) {
	s := &splitter{all: slices.Concat(f.packages, f.gone), there: len(f.packages), ids: ids, named: map[string][]named{}}
	s.marks, s.other = make([][]int, len(s.all)), make([]bool, len(s.all))
	for at, p := range s.all {
		if p.relations.broken != "" {
			return nil, refuse(hintDamaged, "package %s %s has the relation %q, which cannot be read", p.Name, p.Version, clip(p.relations.broken))
		}
		s.marks[at], s.other[at] = s.marksOf(p)
		s.named[p.Name] = append(s.named[p.Name], named{at, p.Version})
		for _, g := range p.relations.gives {
			if g.name != p.Name {
				s.named[g.name] = append(s.named[g.name], named{at, g.version})
			}
		}
	}
	return s, nil
}

var buildNumber = regexp.MustCompile(`^\d{5,}$`)

// marksOf are the releases that the version of a package tells; other, that it tells one which is not here.
func (s *splitter) marksOf(p pkg) (marks []int, other bool) {
	upstream := p.Version
	if _, after, epoch := strings.Cut(upstream, ":"); epoch {
		upstream = after
	}
	take := func(match func(releaseID) bool) {
		for i, r := range s.ids {
			if match(r) {
				marks = append(marks, i)
			}
		}
	}
	if m := docaVersion.FindStringSubmatch(upstream); m != nil && (strings.HasPrefix(p.Name, "doca-") || strings.HasPrefix(p.Name, "libdoca-")) {
		take(func(r releaseID) bool { return r.stack == "doca-ofed" && r.version == m[1] })
		return marks, len(marks) == 0 && docaMeta.MatchString(p.Name)
	}
	if m := mlnxVersion.FindStringSubmatch(upstream); m != nil {
		// A whole version tells a release even where two have the same drivers.
		take(func(r releaseID) bool { return r.stack == "mlnx-ofed" && r.version == m[1] })
		if len(marks) == 0 {
			take(func(r releaseID) bool { return len(r.drivers) > 0 && alike(numbers(m[1]), r.drivers, r.counted) })
		}
		return marks, len(marks) == 0 && mlnxMeta.MatchString(p.Name)
	}
	if m := driverVersion.FindStringSubmatch(upstream); m != nil && hasDriver(p.Name) {
		take(func(r releaseID) bool { return len(r.drivers) > 0 && alike(numbers(m[1]), r.drivers, r.counted) })
		return marks, len(marks) == 0
	}
	for word := range strings.FieldsFuncSeq(upstream, isSeparator) {
		if buildNumber.MatchString(word) && strings.Contains(upstream, "mlnx") {
			take(func(r releaseID) bool { return r.build == word })
		}
	}
	return slices.Compact(marks), false
}

// isOf says whether a package may be of a release: sure when its version tells that one and no other.
func (s *splitter) isOf(at, release int) (may, sure bool) {
	marks := s.marks[at]
	return !s.other[at] && (len(marks) == 0 || slices.Contains(marks, release)), len(marks) == 1 && marks[0] == release
}

func (s *splitter) forArch(at int, arch string) bool {
	of, ok := archOf(s.all[at].Arch)
	return s.all[at].Arch != "src" && (!ok || of == arch)
}

// share gathers what a release has for an architecture, from the packages that tell it to those that they
// need, and theirs.
func (s *splitter) share(release int, arch string) share {
	out := share{release: release, arch: arch}
	in := map[int]bool{}
	take := func(at int) {
		if !in[at] {
			in[at] = true
			out.packages = append(out.packages, at)
		}
	}
	for at := range s.there {
		if _, sure := s.isOf(at, release); sure && s.forArch(at, arch) {
			take(at)
		}
	}
	var lacks []string
	for n := 0; n < len(out.packages); n++ {
		p := s.all[out.packages[n]]
		for _, need := range p.relations.needs {
			at, why := s.find(need, release, arch, in, p.rpm)
			if at >= 0 {
				take(at)
			}
			if why != "" {
				lacks = append(lacks, p.Name+" "+p.Version+" needs "+why)
			}
		}
	}
	var meta, driver bool
	for _, at := range out.packages {
		p := s.all[at]
		meta = meta || s.metaOf(p.Name, release)
		driver = driver || isCoreDriver(p.Name) || isDKMS(p.Name)
	}
	switch {
	case !meta:
		out.lacks = "its metapackage is not there"
	case !driver && s.ids[release].counted == 0:
		out.lacks = "the matrix does not tell which drivers are its own"
	case !driver:
		out.lacks = "neither modules nor module sources of its drivers are there"
	case len(lacks) > 0:
		if out.lacks = lacks[0]; len(lacks) > 1 {
			out.lacks += fmt.Sprintf(", and %d more", len(lacks)-1)
		}
	}
	return out
}

func (s *splitter) metaOf(name string, release int) bool {
	if s.ids[release].stack == "doca-ofed" {
		return docaMeta.MatchString(name)
	}
	return mlnxMeta.MatchString(name)
}

// find looks for what a package of a release needs: a package to add to it (-1 for none), and why there is
// none. What the index never names is the distribution's to give.
func (s *splitter) find(need []capability, release int, arch string, in map[int]bool, rpm bool) (at int, why string) {
	var may []int
	known, elsewhere := 0, false
	for _, c := range need {
		list := s.named[c.name]
		if len(list) > 0 {
			known++
		}
		for _, one := range list {
			if s.steps++; s.steps > maxSteps {
				return -1, ""
			}
			if !s.forArch(one.at, arch) || !c.meets(one.version, rpm) {
				continue
			}
			could, sure := s.isOf(one.at, release)
			switch {
			case in[one.at], sure && one.at < s.there:
				return one.at, ""
			case !could:
				elsewhere = true
			case one.at < s.there:
				may = append(may, one.at)
			}
		}
	}
	versions := map[string]bool{}
	for _, at := range may {
		versions[s.all[at].Name+" "+s.all[at].Version] = true
	}
	switch {
	case len(versions) == 1:
		return may[0], ""
	case len(versions) > 1:
		return -1, "" // one of them, and nothing tells which, as is noted of what is left out
	case known < len(need):
		return -1, ""
	case elsewhere:
		return -1, alternatives(need) + ", of which only those of other releases are there"
	}
	return -1, alternatives(need) + ", which is not there"
}

func alternatives(need []capability) string {
	var words []string
	for _, c := range need {
		words = append(words, c.String())
	}
	return clip(strings.Join(words, " or "))
}

// split gives each release of an index that can be installed from it, for each architecture; what is left
// out is in the notes.
func (f *found) split(ids []releaseID, wanted []string, place string) ([]share, error) {
	if len(ids) > maxReleases {
		return nil, refuse(hintHostile, "it has more than %d releases", maxReleases)
	}
	if f.version != "" {
		return nil, refuse(hintDamaged, "its version file says %s, and it has packages of other releases: %s", f.version, listOf(ids))
	}
	s, err := f.splitter(ids)
	if err != nil {
		return nil, err
	}
	arches := f.arches(place)
	var whole, broken []share
	placed := make([]bool, len(s.all))
	for release := range ids {
		for _, arch := range arches {
			one := s.share(release, arch)
			if s.steps > maxSteps {
				return nil, refuse(hintHostile, "its packages need each other in more ways than can be followed")
			}
			for _, at := range one.packages {
				placed[at] = true
			}
			if one.lacks != "" {
				broken = append(broken, one)
				continue
			}
			whole = append(whole, one)
		}
	}
	asked := func(one share) bool {
		return len(wanted) == 0 || slices.ContainsFunc(wanted, ids[one.release].is)
	}
	for _, w := range wanted {
		if !slices.ContainsFunc(ids, func(r releaseID) bool { return r.is(w) }) {
			return nil, refuse("name one of those with --release, or leave it away", "it has no release %s, but %s", clip(w), listOf(ids))
		}
		why := ""
		for _, one := range broken {
			if ids[one.release].is(w) {
				why = fmt.Sprintf("%s for %s cannot be installed from it: %s", ids[one.release], one.arch, one.lacks)
			}
		}
		if why != "" && !slices.ContainsFunc(whole, func(one share) bool { return ids[one.release].is(w) }) {
			return nil, refuse("mirror the whole release", "%s", why)
		}
	}
	for _, one := range broken {
		if asked(one) {
			f.note("%s for %s is left out: %s", ids[one.release], one.arch, one.lacks)
		}
	}
	if len(whole) == 0 {
		var why []string
		for _, one := range broken {
			why = append(why, fmt.Sprintf("%s for %s: %s", ids[one.release], one.arch, one.lacks))
		}
		return nil, refuse("mirror whole releases, or import a repository of one release", "it has several releases, and none can be installed from it: %s", strings.Join(why[:min(len(why), 5)], "; "))
	}
	f.unplaced(s, placed)
	return slices.DeleteFunc(whole, func(one share) bool { return !asked(one) }), nil
}

// unplaced notes the packages that are of no release, or of nobody knows which.
func (f *found) unplaced(s *splitter, placed []bool) {
	var none, doubt, other []string
	for at, p := range f.packages {
		name := p.Name + " " + p.Version
		switch {
		case placed[at] || p.Arch == "src":
		case s.other[at]:
			other = append(other, name)
		case len(s.marks[at]) > 1:
			doubt = append(doubt, name)
		default:
			none = append(none, name)
		}
	}
	say := func(list []string, why string) {
		slices.Sort(list)
		if list = slices.Compact(list); len(list) == 0 {
			return
		}
		more := ""
		if n := len(list) - 5; n > 0 {
			list, more = list[:5], fmt.Sprintf(" and %d more", n)
		}
		f.note("%s: %s%s", why, strings.Join(list, ", "), more)
	}
	say(other, "left out, of a release whose metapackage is not there")
	say(doubt, "left out, because nothing tells of which of its releases it is")
	say(none, "left out, because nothing tells of which release it is")
}

func listOf(ids []releaseID) string {
	var words []string
	for _, r := range ids {
		words = append(words, r.String())
	}
	return strings.Join(words[:min(len(words), 8)], ", ")
}

// checkWanted reads what was given with --release.
func checkWanted(wanted []string) error {
	for _, w := range wanted {
		if _, err := stackversion.ParseStack(w); err != nil || len(numbers(w)) == 0 {
			return refuse("write it as the vendor does: 24.10-1.1.4.0 of mlnx-ofed, 2.9.1 of doca-ofed, or a branch such as 24.10", "--release %q is no version of a release", clip(w))
		}
	}
	return nil
}
