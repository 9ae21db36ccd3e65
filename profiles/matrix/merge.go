package matrix

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/strictyaml"
	"github.com/rdmactl/rdmactl/internal/version"
)

// Merge adds what other files say to a matrix and returns the whole; its arguments are left as they are.
// A file may add entries of its own, and fields and rows to a branch or release that is there. Where two
// sources contradict each other (another date, another rule) the error names both.
func Merge(base *Matrix, more ...*Matrix) (*Matrix, error) {
	if len(more) == 0 {
		return base, nil
	}
	m := &merger{out: *base}
	for _, one := range more {
		m.add(one)
	}
	if len(m.problems) == 0 {
		m.problems = m.out.references()
	}
	if err := strictyaml.Fail(m.problems); err != nil {
		return nil, err
	}
	return &m.out, nil
}

type merger struct {
	out      Matrix
	problems strictyaml.Problems
}

func (m *merger) add(one *Matrix) {
	m.out.Branches = combine(m, m.out.Branches, one.Branches,
		func(b Branch) string { return "branch " + b.Stack + " " + b.Name })
	m.out.Releases = combine(m, m.out.Releases, one.Releases,
		func(r Release) string { return "release " + r.Stack + " " + spelling(r.Version) })
	m.out.Inbox = combine(m, m.out.Inbox, one.Inbox,
		func(r InboxRelease) string {
			return strings.TrimSpace("inbox of " + r.ID + " " + r.VersionID + " " + r.Flavour)
		})
	m.out.Roles = combine(m, m.out.Roles, one.Roles, func(r Role) string { return "role " + r.Role })
	m.out.Cards = whole(m, m.out.Cards, one.Cards, func(r CardRule) string {
		return strings.TrimSpace("rule for " + r.Card + " with " + r.Stack + " " + strings.Join(r.Arch, " "))
	})
	m.out.CardDrivers = whole(m, m.out.CardDrivers, one.CardDrivers, func(d CardDriver) string { return "driver of " + d.Card })
	m.out.Builds = whole(m, m.out.Builds, one.Builds, func(b Build) string { return "build " + b.ID })
	m.out.Kernels = whole(m, m.out.Kernels, one.Kernels, func(k DistroKernel) string {
		key := k.Kind + " kernel of " + k.ID + " " + k.VersionID
		if k.Kind != "ga" { // of the others a release has several
			key += " " + k.Kernel
		}
		return key
	})
	m.out.KMP = whole(m, m.out.KMP, one.KMP, func(k KMP) string { return "KMP rule of " + k.Label })
	m.out.Layouts = whole(m, m.out.Layouts, one.Layouts, func(l Layout) string {
		return strings.TrimSpace("layout of " + l.Stack + " " + l.Family + " " + strings.Join(l.Versions, "; "))
	})
	m.out.Options = whole(m, m.out.Options, one.Options, func(o KernelOption) string { return "option " + o.Option + " for " + o.Need })
	m.out.Dropped = whole(m, m.out.Dropped, one.Dropped, func(d DroppedDevice) string {
		return "devices dropped by " + d.Driver + ": " + strings.Join(d.Devices, " ") + " on " + strings.Join(d.Distros, ", ")
	})
	m.out.Foreign = whole(m, m.out.Foreign, one.Foreign, func(f ForeignVendor) string { return "vendor " + f.Vendor + " with " + f.Driver })
	m.out.LeftOut = whole(m, m.out.LeftOut, one.LeftOut, func(l LeftOut) string { return "group " + l.Group + " of " + l.Facts })
	m.out.Costs = whole(m, m.out.Costs, one.Costs, func(c Cost) string { return "cost " + c.ID })
	m.out.Holdings = newest(m.out.Holdings, one.Holdings)
}

// whole adds entries that are of one piece: the same entry again is no news, another one under the same
// key is a contradiction.
func whole[T any](m *merger, have, more []T, key func(T) string) []T {
	return merge(have, more, key, func(old *T, one T) {
		if !reflect.DeepEqual(unplaced(*old), unplaced(one)) {
			m.say(place(one), "%s contradicts the one of %s", key(one), placeName(place(*old)))
		}
	})
}

// merge adds the entries of more to a copy of have, and calls both with those that have a key already.
func merge[T any](have, more []T, key func(T) string, both func(old *T, one T)) []T {
	if len(more) == 0 {
		return have
	}
	at := map[string]int{}
	for i, one := range have {
		at[key(one)] = i
	}
	out := slices.Clone(have)
	for _, one := range more {
		if i, there := at[key(one)]; there {
			both(&out[i], one)
			continue
		}
		at[key(one)] = len(out)
		out = append(out, one)
	}
	return out
}

// combine adds to entries field by field: what one of the two leaves empty comes from the other, lists
// are joined, and what both say must be the same.
func combine[T any](m *merger, have, more []T, key func(T) string) []T {
	return merge(have, more, key, func(old *T, one T) {
		into, from := reflect.ValueOf(old).Elem(), reflect.ValueOf(one)
		for f := range from.NumField() {
			field := from.Type().Field(f)
			if field.Type == reflect.TypeFor[strictyaml.Pos]() {
				continue
			}
			name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			value, ok := join(name, into.Field(f), from.Field(f))
			if !ok {
				m.say(place(one), "%s: %s %v contradicts %v of %s", title(one, key(one)), name, from.Field(f), into.Field(f), placeName(place(*old)))
				continue
			}
			into.Field(f).Set(value)
		}
	})
}

// join is false when the two contradict each other.
func join(name string, a, b reflect.Value) (reflect.Value, bool) {
	if name == "version" { // the key of a release: the same but for its spelling
		return a, true
	}
	if name == "lts" && a.Kind() == reflect.Bool { // false is an answer here, not a gap
		return a, a.Bool() == b.Bool()
	}
	empty := func(v reflect.Value) bool { return v.IsZero() || name == "lts" && v.String() == "unknown" }
	switch {
	case empty(b):
		return a, true
	case empty(a):
		return b, true
	case a.Kind() == reflect.Slice:
		return joinLists(a, b), true
	case a.Kind() == reflect.Map:
		return joinMaps(a, b)
	}
	return a, a.Equal(b)
}

func joinMaps(a, b reflect.Value) (reflect.Value, bool) {
	joined := reflect.MakeMap(a.Type())
	for _, of := range []reflect.Value{a, b} {
		for _, k := range of.MapKeys() {
			value := of.MapIndex(k)
			if there := joined.MapIndex(k); there.IsValid() {
				both, ok := join("", there, value)
				if !ok {
					return a, false
				}
				value = both
			}
			joined.SetMapIndex(k, value)
		}
	}
	return joined, true
}

func joinLists(a, b reflect.Value) reflect.Value {
	// %#v tells ["a b"] from ["a", "b"].
	text := func(v reflect.Value) string { return fmt.Sprintf("%#v", v.Interface()) }
	there := make(map[string]bool, a.Len())
	for i := range a.Len() {
		there[text(a.Index(i))] = true
	}
	joined := reflect.AppendSlice(reflect.MakeSlice(a.Type(), 0, a.Len()+b.Len()), a)
	for i := range b.Len() {
		if key := text(b.Index(i)); !there[key] {
			there[key] = true
			joined = reflect.Append(joined, b.Index(i))
		}
	}
	return joined
}

// newest keeps the last reading of each repository.
func newest(have, more []Holding) []Holding {
	if len(more) == 0 {
		return have
	}
	key := func(h Holding) string {
		return strings.Join([]string{h.Stack, spelling(h.Version), h.ID, h.VersionID, h.Arch, h.Origin}, "\x00")
	}
	out, at := slices.Clone(have), map[string]int{}
	for i, h := range out {
		at[key(h)] = i
	}
	for _, one := range more {
		i, there := at[key(one)]
		switch {
		case !there:
			at[key(one)] = len(out)
			out = append(out, one)
		case one.Date >= out[i].Date:
			out[i] = one
		}
	}
	return out
}

func (m *merger) say(at strictyaml.Pos, format string, args ...any) {
	m.problems = append(m.problems, strictyaml.Problem{Pos: at, Text: fmt.Sprintf(format, args...)})
}

// title names an entry as its file does; the key of a release has another spelling.
func title(entry any, key string) string {
	if r, ok := entry.(Release); ok {
		return "release " + r.Stack + " " + r.Version
	}
	return key
}

// placeName names where an entry is from.
func placeName(p strictyaml.Pos) string {
	if p == (strictyaml.Pos{}) {
		return "the built-in matrix"
	}
	return p.String()
}

func place(entry any) strictyaml.Pos {
	pos, _ := reflect.ValueOf(entry).FieldByName("At").Interface().(strictyaml.Pos)
	return pos
}

// unplaced is an entry without where it stands.
func unplaced[T any](entry T) T {
	reflect.ValueOf(&entry).Elem().FieldByName("At").SetZero()
	return entry
}

// references finds what only the whole matrix shows: names of branches that no file has, a row that is
// of two models.
func (m *Matrix) references() strictyaml.Problems {
	var all strictyaml.Problems
	say := func(at strictyaml.Pos, format string, args ...any) {
		all = append(all, strictyaml.Problem{Pos: at, Text: fmt.Sprintf(format, args...)})
	}
	branches, names := map[string][]version.Constraint{}, map[string][]string{}
	for _, b := range m.Branches {
		key := b.Stack + " " + b.Name
		names[b.Stack] = append(names[b.Stack], b.Name)
		branches[key] = nil
		for _, text := range b.Versions {
			if c, err := version.ParseConstraint(text); err == nil { // Load has reported the others
				branches[key] = append(branches[key], c)
			}
		}
	}
	known := func(stack string) string { return strings.Join(slices.Sorted(slices.Values(names[stack])), ", ") }
	for _, r := range m.Releases {
		constraints, ok := branches[r.Stack+" "+r.Branch]
		if !ok {
			say(r.At, "release %s %s is of branch %s, which no file has; %s has %s", r.Stack, r.Version, r.Branch, r.Stack, known(r.Stack))
			continue
		}
		v, err := version.ParseStack(r.Version)
		if err != nil {
			say(r.At, "%v", err)
			continue
		}
		if !slices.ContainsFunc(constraints, v.Satisfies) {
			say(r.At, "release %s %s does not meet the versions of its branch %s", r.Stack, r.Version, r.Branch)
		}
	}
	for _, r := range m.Releases {
		models := map[[5]string]string{}
		for _, row := range r.Rows {
			key := [5]string{string(row.Evidence), row.ID, row.VersionID, row.Arch, row.Kernel}
			if have := models[key]; have != "" && row.Model != "" && have != row.Model {
				say(r.At, "release %s %s has %s with the models %s and %s", r.Stack, r.Version,
					strings.TrimSpace(row.ID+" "+row.VersionID+" "+row.Arch), have, row.Model)
			}
			models[key] = cmp.Or(models[key], row.Model)
		}
	}
	for _, c := range m.Cards {
		if _, ok := branches[c.Stack+" "+c.Recommended]; c.Recommended != "" && !ok {
			say(c.At, "rule for %s recommends branch %s, which no file has; %s has %s", c.Card, c.Recommended, c.Stack, known(c.Stack))
		}
	}
	return all
}

// spelling makes the ways to write a version the same: the build of a special drop has a dash or a dot.
func spelling(v string) string { return strings.ToLower(strings.ReplaceAll(v, "-", ".")) }
