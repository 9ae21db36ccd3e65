package profiles

import (
	"maps"
	"slices"

	"github.com/rdmactl/rdmactl/internal/strictyaml"
)

// Resolved is a profile with what it takes over from the one that it extends, and where each entry comes
// from.
type Resolved struct {
	Profile
	// File is where the profile was read: a path, or "built-in".
	File string `json:"-"`
	// Chain are the names of the profiles that it was made of, the base first and its own last.
	Chain []string `json:"chain"`
	// Origins are the names of the profiles that entries come from, by the entry's key: "prefer",
	// "packages/debian/rdma-core", "modules/mlx5_ib".
	Origins map[string]string `json:"origins"`
}

// overlay lays the document over what was taken over. The rules, the same for each kind of entry: a
// single value replaces, prefer replaces as a whole, a list appends, and an entry of a name that is there
// already takes that one's place.
func (r Resolved) overlay(d document, place strictyaml.Place) (Resolved, strictyaml.Problems) {
	c := &checker{}
	r.omit(c, d.Omit, place, d.Extends != "")
	r.APIVersion, r.Kind, r.Name, r.Summary = string(d.APIVersion), string(d.Kind), string(d.Name), string(d.Summary)
	r.Chain = append(slices.Clone(r.Chain), r.Name)
	if len(d.Prefer) > 0 {
		r.Prefer = plain(d.Prefer)
		r.own("prefer")
	}
	r.replace(&r.Branches, "branches", string(d.Branches))
	r.replace(&r.Hardware, "hardware", string(d.Hardware))
	r.Packages = r.overlayPackages(r.Packages, d.Packages, "packages")
	r.overlayVendor(d.Vendor)
	r.overlayBuild(c, d.Build, place)
	r.overlayModules(d.Modules)
	r.Memlock.Groups = r.union(r.Memlock.Groups, plain(d.Memlock.Groups), "memlock/groups")
	r.Memlock.Units = r.union(r.Memlock.Units, plain(d.Memlock.Units), "memlock/units")
	if d.Memlock.Everyone != nil {
		r.Memlock.Everyone = *d.Memlock.Everyone
		r.own("memlock/everyone")
	}
	r.replace(&r.Udev.UmadGroup, "udev/umad_group", string(d.Udev.UmadGroup))
	if d.SoftRoCE != nil {
		r.SoftRoCE = &SoftRoCE{Device: string(d.SoftRoCE.Device), Netdev: string(d.SoftRoCE.Netdev)}
		r.own("soft_roce")
	}
	var asks []Ask
	for _, a := range d.Asks {
		asks = append(asks, Ask{ID: string(a.ID), Kind: string(a.Kind), Text: string(a.Text)})
		r.own("asks/" + string(a.ID))
	}
	r.Asks = entries(r.Asks, asks, func(a Ask) string { return a.ID })
	r.check(c, d, place)
	return r, c.all
}

// check reports what the whole lacks, its own document given for the place.
func (r *Resolved) check(c *checker, d document, place strictyaml.Place) {
	if len(r.Prefer) == 0 && d.Prefer == nil {
		c.say(d.At, "key \"prefer\" must name at least one stack")
	}
	c.required(d.At, "hardware", r.Hardware)
	if r.Branches == "" {
		r.Branches = "all"
		r.own("branches")
	}
	rxe := func(m Module) bool { return ModuleKey(m.Name) == "rdma_rxe" }
	if r.SoftRoCE != nil && !slices.ContainsFunc(r.Modules.Load, rxe) {
		at := place.Key("omit", "modules")
		if d.SoftRoCE != nil {
			at = d.SoftRoCE.At
		}
		c.say(at, "soft_roce needs the module rdma_rxe in modules.load")
	}
}

func (r *Resolved) own(key string) { r.Origins[key] = r.Name }

func (r *Resolved) replace(to *string, key, value string) {
	if value != "" {
		*to = value
		r.own(key)
	}
}

func (r *Resolved) overlayPackages(base map[string][]Package, d packagesDoc, key string) map[string][]Package {
	out := maps.Clone(base)
	if out == nil {
		out = map[string][]Package{}
	}
	for family, list := range d.families() {
		var own []Package
		for _, one := range list {
			own = append(own, one.Package)
			r.own(key + "/" + family + "/" + one.Name)
		}
		out[family] = entries(out[family], own, func(p Package) string { return p.Name })
	}
	return out
}

func (r *Resolved) overlayVendor(d vendorDoc) {
	for stack, sets := range map[string][]string{"doca-ofed": plain(d.Sets.DOCA), "mlnx-ofed": plain(d.Sets.MLNX)} {
		if len(sets) == 0 {
			continue
		}
		all := maps.Clone(r.Vendor.Sets)
		if all == nil {
			all = map[string][]string{}
		}
		all[stack] = sets
		r.Vendor.Sets = all
		r.own("vendor/sets/" + stack)
	}
	if d.UserSpaceOnly != nil {
		r.Vendor.UserSpaceOnly = *d.UserSpaceOnly
		r.own("vendor/user_space_only")
	}
}

func (r *Resolved) overlayBuild(c *checker, d *buildDoc, place strictyaml.Place) {
	if d == nil {
		return
	}
	b := Build{}
	if r.Build != nil {
		b = *r.Build
	}
	r.replace(&b.Version, "build/version", string(d.Version))
	r.replace(&b.Prefix, "build/prefix", string(d.Prefix))
	b.CMake = maps.Clone(b.CMake)
	for name, value := range d.CMake {
		if b.CMake == nil {
			b.CMake = map[string]string{}
		}
		b.CMake[string(name)] = string(value)
		r.own("build/cmake/" + string(name))
	}
	b.Packages = r.overlayPackages(b.Packages, d.Packages, "build/packages")
	c.required(place.Value("build"), "version", b.Version)
	c.required(place.Value("build"), "prefix", b.Prefix)
	r.Build = &b
}

func (r *Resolved) overlayModules(d modulesDoc) {
	var load []Module
	for _, m := range d.Load {
		load = append(load, Module{Name: string(m.Name), Why: string(m.Why), Optional: m.Optional})
		r.own("modules/" + ModuleKey(string(m.Name)))
	}
	r.Modules.Load = entries(r.Modules.Load, load, func(m Module) string { return ModuleKey(m.Name) })
	var softdeps []Softdep
	for _, s := range d.Softdeps {
		softdeps = append(softdeps, Softdep{Module: string(s.Module), Pre: plain(s.Pre), Why: string(s.Why)})
		r.own("softdeps/" + ModuleKey(string(s.Module)))
	}
	r.Modules.Softdeps = entries(r.Modules.Softdeps, softdeps, func(s Softdep) string { return ModuleKey(s.Module) })
	if len(d.Options) == 0 {
		return
	}
	options := map[string]string{}
	for name, text := range r.Modules.Options {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(d.Options)), func(own moduleText) bool { return ModuleKey(string(own)) == ModuleKey(name) }) {
			options[name] = text
		}
	}
	for name, text := range d.Options {
		options[string(name)] = string(text)
		r.own("options/" + ModuleKey(string(name)))
	}
	r.Modules.Options = options
}

func (r *Resolved) union(base, own []string, key string) []string {
	out := slices.Clone(base)
	for _, one := range own {
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
		r.own(key + "/" + one)
	}
	return out
}

// omit leaves out what the document does not take over. What is not there to be left out is a mistake:
// most often a name that the base has spelt otherwise.
func (r *Resolved) omit(c *checker, d omitDoc, place strictyaml.Place, extends bool) {
	missing := func(list, name string, i int) {
		if extends {
			c.say(place.Value("omit", list, i), "%q is not in what is taken over", name)
		}
	}
	if !extends && place.Value("omit") != place.Value() {
		c.say(place.Key("omit"), "omit is for a profile that extends another")
	}
	for i, name := range d.Packages {
		found := false
		out := map[string][]Package{}
		for family, list := range r.Packages {
			kept := without(list, func(p Package) bool { return p.Name == string(name) })
			found = found || len(kept) < len(list)
			if len(kept) > 0 {
				out[family] = kept
			}
		}
		if r.Packages = out; !found {
			missing("packages", string(name), i)
		}
	}
	for i, name := range d.Modules {
		kept := without(r.Modules.Load, func(m Module) bool { return ModuleKey(m.Name) == ModuleKey(string(name)) })
		if len(kept) == len(r.Modules.Load) {
			missing("modules", string(name), i)
		}
		r.Modules.Load = kept
	}
	for i, name := range d.Groups {
		kept := without(r.Memlock.Groups, func(s string) bool { return s == string(name) })
		if len(kept) == len(r.Memlock.Groups) {
			missing("groups", string(name), i)
		}
		r.Memlock.Groups = kept
	}
	for i, name := range d.Units {
		kept := without(r.Memlock.Units, func(s string) bool { return s == string(name) })
		if len(kept) == len(r.Memlock.Units) {
			missing("units", string(name), i)
		}
		r.Memlock.Units = kept
	}
	for i, name := range d.Asks {
		kept := without(r.Asks, func(a Ask) bool { return a.ID == string(name) })
		if len(kept) == len(r.Asks) {
			missing("asks", string(name), i)
		}
		r.Asks = kept
	}
}

func without[T any](list []T, gone func(T) bool) []T {
	var out []T
	for _, one := range list {
		if !gone(one) {
			out = append(out, one)
		}
	}
	return out
}

// entries lays own entries over base ones: those of a name that the base has take its place, the others
// follow.
func entries[T any](base, own []T, key func(T) string) []T {
	var out []T
	placed := map[string]bool{}
	named := func(name string) (all []T) {
		for _, one := range own {
			if key(one) == name {
				all = append(all, one)
			}
		}
		return all
	}
	for _, one := range base {
		mine := named(key(one))
		switch {
		case len(mine) == 0:
			out = append(out, one)
		case !placed[key(one)]:
			out = append(out, mine...)
		}
		placed[key(one)] = true
	}
	for _, one := range own {
		if !placed[key(one)] {
			out = append(out, one)
		}
	}
	return out
}
