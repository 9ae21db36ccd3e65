package holdings

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/cavaliergopher/rpm"
	stackversion "github.com/rdmactl/rdmactl/internal/version"
)

// relations are what a package needs and what names it stands for beside its own. They matter only where an
// index has several releases, so one that cannot be read is a refusal only there.
type relations struct {
	needs  [][]capability // each met by any of its alternatives
	gives  []capability
	broken string // what could not be read
	rpm    bool   // versions compare as those of rpm packages do
}

// capability is a name with a range of versions: op is empty for any, else <, <=, =, >= or >.
type capability struct{ name, op, version string }

// String is fit for a terminal whatever the source has as name.
func (c capability) String() string {
	text := c.name
	if c.op != "" {
		text += " (" + c.op + " " + c.version + ")"
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
		return strconv.QuoteToASCII(text)
	}
	return text
}

// debRelation is one alternative of a Depends field; restrictions to architectures and build profiles do not
// stand in binary packages.
var debRelation = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9+._-]*)(?::[a-z0-9-]+)?\s*(?:\(\s*(<<|<=|=|>=|>>|<|>)\s*([^\s()]+)\s*\))?$`)

// relationsOfDeb reads the fields of a control paragraph.
func relationsOfDeb(field func(string) string) relations {
	var r relations
	for _, name := range []string{"Pre-Depends", "Depends"} {
		for _, need := range listed(field(name)) {
			var any []capability
			for one := range strings.SplitSeq(need, "|") {
				if c, ok := r.one(one); ok {
					any = append(any, c)
				}
			}
			r.needs = append(r.needs, any)
		}
	}
	for _, give := range listed(field("Provides")) {
		if c, ok := r.one(give); ok {
			r.gives = append(r.gives, c)
		}
	}
	return r
}

func listed(text string) []string {
	var out []string
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one != "" {
			out = append(out, one)
		}
	}
	return out
}

func (r *relations) one(text string) (capability, bool) {
	m := debRelation.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		r.broken = text
		return capability{}, false
	}
	op := m[2]
	switch op { // < and > of old are <= and >=
	case "<<":
		op = "<"
	case ">>":
		op = ">"
	case "<", ">":
		op += "="
	}
	return capability{m[1], op, m[3]}, true
}

// xmlEntry is a relation in primary.xml.
type xmlEntry struct {
	Name    string `xml:"name,attr"`
	Flags   string `xml:"flags,attr"`
	Epoch   string `xml:"epoch,attr"`
	Version string `xml:"ver,attr"`
	Release string `xml:"rel,attr"`
}

func (x xmlEntry) capability() capability {
	c := capability{name: x.Name}
	switch x.Flags {
	case "LT":
		c.op = "<"
	case "LE":
		c.op = "<="
	case "EQ":
		c.op = "="
	case "GE":
		c.op = ">="
	case "GT":
		c.op = ">"
	default:
		return c
	}
	if c.version = x.Version; x.Epoch != "" && x.Epoch != "0" {
		c.version = x.Epoch + ":" + c.version
	}
	if x.Release != "" {
		c.version += "-" + x.Release
	}
	return c
}

// relationsOfXML leaves out what rpm itself gives, and conditions, which need more than an index to judge.
func relationsOfXML(needs, gives []xmlEntry) relations {
	r := relations{rpm: true}
	for _, x := range needs {
		if c := x.capability(); ofPackages(c.name) {
			r.needs = append(r.needs, []capability{c})
		}
	}
	for _, x := range gives {
		r.gives = append(r.gives, x.capability())
	}
	return r
}

func ofPackages(name string) bool {
	return !strings.HasPrefix(name, "rpmlib(") && !strings.HasPrefix(name, "(") && !strings.HasPrefix(name, "/")
}

// Tags of an rpm's header for its relations, and the bits of their flags.
const (
	tagRequireName, tagRequireFlags, tagRequireVersion = 1049, 1048, 1050
	tagProvideName, tagProvideFlags, tagProvideVersion = 1047, 1112, 1113
	senseLess, senseGreater, senseEqual                = 2, 4, 8
)

// relationsOfHeader reads them from an rpm itself, for indexes that nobody signed.
func relationsOfHeader(h *rpm.Package) relations {
	read := func(name, flags, version int) []capability {
		names, bits, versions := h.Header.GetTag(name).StringSlice(), h.Header.GetTag(flags).Int64Slice(), h.Header.GetTag(version).StringSlice()
		var out []capability
		for i, n := range names {
			c := capability{name: n}
			if i < len(bits) && i < len(versions) && versions[i] != "" {
				if bits[i]&senseLess != 0 {
					c.op = "<"
				} else if bits[i]&senseGreater != 0 {
					c.op = ">"
				}
				if bits[i]&senseEqual != 0 {
					c.op += "="
				}
				if c.version = versions[i]; c.op == "" {
					c.version = ""
				}
			}
			out = append(out, c)
		}
		return out
	}
	r := relations{rpm: true}
	for _, c := range read(tagRequireName, tagRequireFlags, tagRequireVersion) {
		if ofPackages(c.name) {
			r.needs = append(r.needs, []capability{c})
		}
	}
	r.gives = read(tagProvideName, tagProvideFlags, tagProvideVersion)
	return r
}

// meets says that a version of a package or of a name that it gives is in the range that is needed. A version
// that cannot be compared is in none.
func (c capability) meets(have string, rpm bool) bool {
	if c.op == "" {
		return true
	}
	order, ok := compareVersions(have, c.version, rpm)
	switch {
	case !ok:
		return false
	case order < 0:
		return c.op[0] == '<'
	case order > 0:
		return c.op[0] == '>'
	}
	return strings.HasSuffix(c.op, "=")
}

func compareVersions(have, want string, rpm bool) (int, bool) {
	if !rpm {
		a, err := stackversion.ParseDebian(have)
		b, err2 := stackversion.ParseDebian(want)
		return a.Compare(b), err == nil && err2 == nil
	}
	// A need without a release is met by any.
	if upstream, _, ok := strings.Cut(have, "-"); ok && !strings.Contains(want, "-") {
		have = upstream
	}
	a, err := stackversion.ParseRPM(have)
	b, err2 := stackversion.ParseRPM(want)
	return a.Compare(b), err == nil && err2 == nil
}
