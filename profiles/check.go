package profiles

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/strictyaml"
)

// checker collects what is wrong with one document beyond single values.
type checker struct {
	all strictyaml.Problems
}

func (c *checker) say(at strictyaml.Pos, format string, args ...any) {
	c.all = append(c.all, strictyaml.Problem{Pos: at, Text: fmt.Sprintf(format, args...)})
}

func (c *checker) required(at strictyaml.Pos, key, value string) {
	if value == "" {
		c.say(at, "key %q is missing", key)
	}
}

// problems are those that one value alone does not show and that the file alone does.
func (d document) problems(place strictyaml.Place) strictyaml.Problems {
	c := &checker{}
	c.required(d.At, "apiVersion", string(d.APIVersion))
	c.required(d.At, "kind", string(d.Kind))
	c.required(d.At, "name", string(d.Name))
	c.required(d.At, "summary", string(d.Summary))
	if d.Prefer != nil && len(d.Prefer) == 0 {
		c.say(place.Key("prefer"), "key \"prefer\" must name at least one stack")
	}
	noneTwice(c, place, d.Prefer, "prefer")
	checkPackages(c, d.Packages)
	if d.Build != nil {
		checkPackages(c, d.Build.Packages)
	}
	noneTwice(c, place, d.Vendor.Sets.DOCA, "vendor", "sets", "doca-ofed")
	noneTwice(c, place, d.Vendor.Sets.MLNX, "vendor", "sets", "mlnx-ofed")
	checkModules(c, place, d.Modules)
	noneTwice(c, place, d.Memlock.Groups, "memlock", "groups")
	noneTwice(c, place, d.Memlock.Units, "memlock", "units")
	if s := d.SoftRoCE; s != nil {
		c.required(s.At, "device", string(s.Device))
		c.required(s.At, "netdev", string(s.Netdev))
	}
	asked := map[askNameText]bool{}
	for _, a := range d.Asks {
		c.required(a.At, "id", string(a.ID))
		c.required(a.At, "kind", string(a.Kind))
		c.required(a.At, "text", string(a.Text))
		if asked[a.ID] {
			c.say(a.At, "ask %q is named twice", a.ID)
		}
		asked[a.ID] = true
	}
	return c.all
}

func checkPackages(c *checker, d packagesDoc) {
	families := d.families()
	for _, family := range slices.Sorted(maps.Keys(families)) {
		list := families[family]
		for i, p := range list {
			c.required(p.at, "name", p.Name)
			c.required(p.at, "why", p.Why)
			if slices.ContainsFunc(list[:i], func(other placedPackage) bool { return clash(other.Package, p.Package) }) {
				c.say(p.at, "package %q is named twice", p.Name)
			}
		}
	}
}

// clash says that two entries name one package for the same release. The same package may stand for
// several releases, each with its reason.
func clash(a, b Package) bool {
	if a.Name != b.Name {
		return false
	}
	if len(a.Releases) > 0 && len(b.Releases) > 0 {
		return slices.ContainsFunc(a.Releases, func(r string) bool { return slices.Contains(b.Releases, r) })
	}
	unlimited := func(p Package) bool { return len(p.Releases) == 0 && len(p.Except) == 0 }
	return unlimited(a) || unlimited(b) || len(a.Releases) == 0 && len(b.Releases) == 0
}

func checkModules(c *checker, place strictyaml.Place, d modulesDoc) {
	loaded := map[string]bool{}
	for _, m := range d.Load {
		c.required(m.At, "name", string(m.Name))
		c.required(m.At, "why", string(m.Why))
		if loaded[ModuleKey(string(m.Name))] {
			c.say(m.At, "module %q is named twice", m.Name)
		}
		loaded[ModuleKey(string(m.Name))] = true
	}
	before := map[string]bool{}
	for _, s := range d.Softdeps {
		c.required(s.At, "module", string(s.Module))
		c.required(s.At, "why", string(s.Why))
		if len(s.Pre) == 0 {
			c.say(s.At, "key \"pre\" must name at least one module")
		}
		if before[ModuleKey(string(s.Module))] {
			c.say(s.At, "softdep of module %q is named twice", s.Module)
		}
		before[ModuleKey(string(s.Module))] = true
	}
	options := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(d.Options)) {
		if options[ModuleKey(string(name))] {
			c.say(place.Key("modules", "options", string(name)), "options of module %q are named twice", name)
		}
		options[ModuleKey(string(name))] = true
	}
}

// noneTwice reports a text that a list has twice, at the list's key.
func noneTwice[T ~string](c *checker, place strictyaml.Place, list []T, steps ...any) {
	for i, one := range list {
		if slices.Contains(list[:i], one) {
			c.say(place.Key(steps...), "%s names %q twice", steps[len(steps)-1], one)
			return
		}
	}
}

// ModuleKey is the form of a module's name in /proc/modules: modprobe takes "-" and "_" for the same.
func ModuleKey(name string) string { return strings.ReplaceAll(name, "-", "_") }
