package sidebyside

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// The variables that tell a program, and a later call, which stack an environment is of.
const (
	StackVariable  = "RDMACTL_STACK" // as --stack names it
	recordVariable = "RDMACTL_ENV"   // what was changed, so that it can be taken back
)

// Options are choices about an environment.
type Options struct {
	// KeepDrivers leaves IBV_DRIVERS and RDMAV_DRIVERS as they are. They name further drivers, which are those
	// of another stack as a rule.
	KeepDrivers bool
	// Search says that LD_LIBRARY_PATH names a directory with a libibverbs of nobody's that is known.
	Search bool
}

// record is what an environment was changed by. Lists are kept beside the variables, not whole old values: what a
// person has added to PATH since stays when it is taken back.
type record struct {
	Add   map[string][]string `json:"add,omitempty"`
	Drop  map[string][]string `json:"drop,omitempty"`
	Unset map[string]string   `json:"unset,omitempty"`
}

// environ is an environment as a process has it.
type environ []string

func (e environ) get(name string) (string, bool) {
	for i := len(e) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(e[i], name+"="); ok {
			return value, true
		}
	}
	return "", false
}

func (e environ) without(name string) environ {
	return slices.DeleteFunc(slices.Clone(e), func(v string) bool { return strings.HasPrefix(v, name+"=") })
}

func (e environ) with(name, value string) environ { return append(e.without(name), name+"="+value) }

// list is the elements of a variable such as PATH; an empty element is the working directory and stays one.
func (e environ) list(name, separators string) []string {
	value, _ := e.get(name)
	if value == "" {
		return nil
	}
	return strings.Split(strings.Map(func(r rune) rune {
		if strings.ContainsRune(separators, r) {
			return ':'
		}
		return r
	}, value), ":")
}

func (e environ) setList(name string, elements []string) environ {
	if len(elements) == 0 {
		return e.without(name)
	}
	return e.with(name, strings.Join(elements, ":"))
}

// Enter is an environment in which programs use a copy, of all those that are here. One that an earlier call
// made is taken back first.
func Enter(env []string, c Copy, all Copies, opts Options) []string {
	e := environ(Back(env))
	rec := record{Add: map[string][]string{}, Drop: map[string][]string{}, Unset: map[string]string{}}
	change := func(name, separators string, add []string, foreign func(string) bool) {
		var kept []string
		for _, element := range e.list(name, separators) {
			switch {
			case slices.Contains(add, element):
			case element != "" && foreign(element):
				rec.Drop[name] = append(rec.Drop[name], element)
			default:
				kept = append(kept, element)
			}
		}
		if len(add) > 0 {
			rec.Add[name] = add
		}
		if len(add) > 0 || len(rec.Drop[name]) > 0 {
			e = e.setList(name, append(slices.Clone(add), kept...))
		}
	}
	otherBuild := func(file string) bool {
		file = path.Clean(file)
		return slices.ContainsFunc(all.Builds, func(b Copy) bool {
			return b.Prefix != c.Prefix && (file == b.Prefix || strings.HasPrefix(file, b.Prefix+"/"))
		})
	}
	change("LD_LIBRARY_PATH", ";", libraryPath(c, all, opts), otherBuild)
	change("PATH", "", c.Programs, otherBuild)
	change("LD_PRELOAD", " ", nil, func(file string) bool { return otherBuild(file) || preloadMixes(file, c) })
	if !opts.KeepDrivers {
		for _, name := range []string{"IBV_DRIVERS", "RDMAV_DRIVERS"} {
			if value, ok := e.get(name); ok {
				rec.Unset[name] = value
				e = e.without(name)
			}
		}
	}
	text, err := json.Marshal(rec)
	if err != nil {
		text = []byte("{}") // maps of strings: it cannot fail
	}
	return e.with(StackVariable, c.Name()).with(recordVariable, string(text))
}

// libraryPath is what the loader must be told so that programs get a copy. The distribution's own needs nothing
// unless a build is the default or LD_LIBRARY_PATH leads elsewhere: its directory holds all of its libraries, and
// would win over those that programs bring along (RUNPATH).
func libraryPath(c Copy, all Copies, opts Options) []string {
	if c.Prefix == "" && (all.IsDefault(c) || !all.Told) && !opts.Search {
		return nil
	}
	return []string{c.Dir()}
}

// preloadMixes says that a preloaded file is a library of the stack, of another directory.
func preloadMixes(file string, c Copy) bool {
	base := path.Base(file)
	if path.Dir(path.Clean(file)) == c.Dir() {
		return false
	}
	for _, name := range []string{"libibverbs.so", "librdmacm.so"} {
		if strings.HasPrefix(base, name) && strings.Contains(file, "/") {
			return true
		}
	}
	return strings.Contains(base, "-rdmav")
}

// Back is an environment without what Enter changed. What was changed since by others stays.
func Back(env []string) []string {
	e := environ(slices.Clone(env))
	text, ok := e.get(recordVariable)
	if !ok {
		return e
	}
	var rec record
	if json.Unmarshal([]byte(text), &rec) == nil {
		for _, name := range []string{"LD_LIBRARY_PATH", "PATH", "LD_PRELOAD"} {
			add, drop := rec.Add[name], rec.Drop[name]
			if len(add) == 0 && len(drop) == 0 {
				continue
			}
			elements := e.list(name, "")
			for _, gone := range add {
				if i := slices.Index(elements, gone); i >= 0 {
					elements = slices.Delete(slices.Clone(elements), i, i+1)
				}
			}
			e = e.setList(name, append(slices.Clone(drop), elements...))
		}
		for _, name := range []string{"IBV_DRIVERS", "RDMAV_DRIVERS"} {
			if value, was := rec.Unset[name]; was {
				if _, set := e.get(name); !set {
					e = e.with(name, value)
				}
			}
		}
	}
	return e.without(recordVariable).without(StackVariable)
}

// Change is one variable that differs.
type Change struct {
	Name, Value string
	Unset       bool
}

// Changes are the variables in which two environments differ, by name.
func Changes(before, after []string) []Change {
	names := map[string]bool{}
	for _, list := range [][]string{before, after} {
		for _, v := range list {
			if name, _, ok := strings.Cut(v, "="); ok && name != "" {
				names[name] = true
			}
		}
	}
	var out []Change
	for name := range names {
		old, was := environ(before).get(name)
		now, is := environ(after).get(name)
		switch {
		case was == is && old == now:
		case is:
			out = append(out, Change{Name: name, Value: now})
		default:
			out = append(out, Change{Name: name, Unset: true})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return out
}
