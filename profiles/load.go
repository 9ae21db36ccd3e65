package profiles

import (
	"embed"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/strictyaml"
)

// Default is the profile of a plan that names none.
const Default = "lts"

//go:embed *.yaml
var embedded embed.FS

// List returns the names of the embedded profiles, sorted.
func List() ([]string, error) {
	entries, err := embedded.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("cannot list profiles: %w", err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), path.Ext(entry.Name())))
	}
	slices.Sort(names)
	return names, nil
}

// Load returns one embedded profile. An empty name means Default.
func Load(name string) (Profile, error) {
	if name == "" {
		name = Default
	}
	names, err := List()
	if err != nil {
		return Profile{}, err
	}
	if !slices.Contains(names, name) {
		return Profile{}, fault.New(fault.Usage, "unknown-profile", "profiles are "+strings.Join(names, ", "),
			"cannot load profile %q: there is none of this name", name)
	}
	file := name + ".yaml"
	data, err := embedded.ReadFile(file)
	if err != nil {
		return Profile{}, fmt.Errorf("cannot read profile %q: %w", name, err)
	}
	return LoadFile("profiles/"+file, data)
}

// LoadFile reads the text of one profile; file names it in messages. A profile decides what root
// writes and loads, so nothing in it is guessed: everything wrong is reported with its position.
func LoadFile(file string, data []byte) (Profile, error) {
	var doc document
	if err := strictyaml.Decode(file, data, &doc); err != nil {
		return Profile{}, err
	}
	if err := strictyaml.Fail(doc.problems(keyAt(data, doc.At, "prefer"))); err != nil {
		return Profile{}, err
	}
	return doc.profile(), nil
}

// keyAt is where a key of the mapping at its begin stands in the text, its begin if the key is not
// written at the start of a line. The decoder keeps the places of mappings only, not those of lists.
func keyAt(data []byte, begin strictyaml.Pos, key string) strictyaml.Pos {
	pattern := regexp.MustCompile(`^["']?` + regexp.QuoteMeta(key) + `["']?[ \t]*:`)
	indent := strings.Repeat(" ", begin.Column-1)
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		rest, ok := strings.CutPrefix(line, indent)
		if number >= begin.Line && ok && pattern.MatchString(rest) {
			return strictyaml.Pos{File: begin.File, Line: number, Column: begin.Column}
		}
	}
	return begin
}

// problems are those that one value alone does not show. preferAt is where the key prefer stands.
func (d document) problems(preferAt strictyaml.Pos) strictyaml.Problems {
	var all strictyaml.Problems
	say := func(at strictyaml.Pos, format string, args ...any) {
		all = append(all, strictyaml.Problem{Pos: at, Text: fmt.Sprintf(format, args...)})
	}
	required := func(at strictyaml.Pos, key, value string) {
		if value == "" {
			say(at, "key %q is missing", key)
		}
	}
	required(d.At, "apiVersion", string(d.APIVersion))
	required(d.At, "kind", string(d.Kind))
	required(d.At, "name", string(d.Name))
	required(d.At, "summary", string(d.Summary))
	required(d.At, "hardware", string(d.Hardware))
	if len(d.Prefer) == 0 {
		say(preferAt, "key \"prefer\" must name at least one stack")
	}
	if twice, ok := repeated(d.Prefer); ok {
		say(preferAt, "prefer names %q twice", twice)
	}
	for _, family := range slices.Sorted(maps.Keys(d.Packages)) {
		var names []string
		for _, p := range d.Packages[family] {
			required(p.At, "name", string(p.Name))
			required(p.At, "why", string(p.Why))
			// The same package may stand for several releases.
			for _, release := range append([]releaseText{""}, p.Releases...) {
				if release == "" && len(p.Releases) > 0 {
					continue
				}
				key := string(p.Name) + " " + string(release)
				if slices.Contains(names, key) {
					say(p.At, "package %q is named twice", p.Name)
				}
				names = append(names, key)
			}
		}
	}
	loaded := map[string]bool{}
	for _, m := range d.Modules.Load {
		required(m.At, "name", string(m.Name))
		required(m.At, "why", string(m.Why))
		if loaded[ModuleKey(string(m.Name))] {
			say(m.At, "module %q is named twice", m.Name)
		}
		loaded[ModuleKey(string(m.Name))] = true
	}
	for _, s := range d.Modules.Softdeps {
		required(s.At, "module", string(s.Module))
		required(s.At, "why", string(s.Why))
		if len(s.Pre) == 0 {
			say(s.At, "key \"pre\" must name at least one module")
		}
	}
	if twice, ok := repeated(d.Memlock.Groups); ok {
		say(d.Memlock.At, "groups names %q twice", twice)
	}
	if twice, ok := repeated(d.Memlock.Units); ok {
		say(d.Memlock.At, "units names %q twice", twice)
	}
	if s := d.SoftRoCE; s != nil {
		required(s.At, "device", string(s.Device))
		required(s.At, "netdev", string(s.Netdev))
		if !loaded["rdma_rxe"] {
			say(s.At, "soft_roce needs the module rdma_rxe in modules.load")
		}
	}
	return all
}

// ModuleKey is the form of a module's name in /proc/modules: modprobe takes "-" and "_" for the same.
func ModuleKey(name string) string { return strings.ReplaceAll(name, "-", "_") }

func repeated[T ~string](list []T) (T, bool) {
	for i, one := range list {
		if slices.Contains(list[:i], one) {
			return one, true
		}
	}
	return "", false
}

func (d document) profile() Profile {
	p := Profile{
		APIVersion: string(d.APIVersion),
		Kind:       string(d.Kind),
		Name:       string(d.Name),
		Summary:    string(d.Summary),
		Prefer:     plain(d.Prefer),
		Hardware:   string(d.Hardware),
		Packages:   map[string][]Package{},
		Memlock: Memlock{
			Groups:   plain(d.Memlock.Groups),
			Everyone: d.Memlock.Everyone,
			Units:    plain(d.Memlock.Units),
		},
		Udev: Udev{UmadGroup: string(d.Udev.UmadGroup)},
	}
	for family, packages := range d.Packages {
		for _, one := range packages {
			p.Packages[string(family)] = append(p.Packages[string(family)], Package{
				Name: string(one.Name), Why: string(one.Why), Releases: plain(one.Releases), Optional: one.Optional,
			})
		}
	}
	for _, m := range d.Modules.Load {
		p.Modules.Load = append(p.Modules.Load, Module{Name: string(m.Name), Why: string(m.Why), Optional: m.Optional})
	}
	for _, s := range d.Modules.Softdeps {
		p.Modules.Softdeps = append(p.Modules.Softdeps, Softdep{Module: string(s.Module), Pre: plain(s.Pre), Why: string(s.Why)})
	}
	for name, options := range d.Modules.Options {
		if p.Modules.Options == nil {
			p.Modules.Options = map[string]string{}
		}
		p.Modules.Options[string(name)] = string(options)
	}
	if d.SoftRoCE != nil {
		p.SoftRoCE = &SoftRoCE{Device: string(d.SoftRoCE.Device), Netdev: string(d.SoftRoCE.Netdev)}
	}
	return p
}

func plain[T ~string](list []T) []string {
	var out []string
	for _, one := range list {
		out = append(out, string(one))
	}
	return out
}
