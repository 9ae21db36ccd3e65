package profiles

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// YAML is the profile as a document that can be read again, with everything in it that was taken over. A
// comment says where entries come from when that is another profile.
func (r Resolved) YAML() []byte {
	w := &writer{origins: r.Origins, own: r.Name}
	w.line("# Profile %s, %s.", r.Name, w.where(r))
	w.line("apiVersion: %s", r.APIVersion)
	w.line("kind: %s", r.Kind)
	w.line("name: %s", r.Name)
	w.line("summary: %s", quoted(r.Summary))
	w.value("prefer", "prefer", list(r.Prefer))
	w.value("branches", "branches", r.Branches)
	w.value("hardware", "hardware", r.Hardware)
	w.packages("", "packages", r.Packages)
	w.vendor(r.Vendor)
	w.build(r.Build)
	w.modules(r.Modules)
	w.memlock(r.Memlock)
	if r.Udev.UmadGroup != "" {
		w.line("udev:")
		w.value("udev/umad_group", "  umad_group", r.Udev.UmadGroup)
	}
	if s := r.SoftRoCE; s != nil {
		w.value("soft_roce", "soft_roce", "{device: "+scalar(s.Device)+", netdev: "+scalar(s.Netdev)+"}")
	}
	if len(r.Asks) > 0 {
		w.line("asks:")
		for _, a := range r.Asks {
			w.entry("asks/"+a.ID, "  ", fmt.Sprintf("{id: %s, kind: %s, text: %s}", scalar(a.ID), a.Kind, quoted(a.Text)))
		}
	}
	return []byte(w.out.String())
}

type writer struct {
	out     strings.Builder
	origins map[string]string
	own     string
	group   string // the origin that the last comment of this list named
}

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(&w.out, format+"\n", args...)
	w.group = w.own
}

func (w *writer) where(r Resolved) string {
	text := oneLine(r.File)
	if len(r.Chain) > 1 {
		chain := slices.Clone(r.Chain)
		slices.Reverse(chain)
		text += "; " + strings.Join(chain, " extends ")
	}
	return text
}

// value writes one key, with its origin behind it.
func (w *writer) value(key, name, text string) {
	line := name + ": " + text
	if from := w.origins[key]; from != "" && from != w.own {
		line += " # from " + from
	}
	w.line("%s", line)
}

// entry writes one entry of a list. Its origin stands above the first of those that share it.
func (w *writer) entry(key, indent, text string) {
	if from := w.origins[key]; from != "" && from != w.group {
		w.out.WriteString(indent + "# from " + from + "\n")
		w.group = from
	}
	w.out.WriteString(indent + "- " + text + "\n")
}

func (w *writer) packages(indent, key string, families map[string][]Package) {
	if len(families) == 0 {
		return
	}
	w.line("%spackages:", indent)
	for _, family := range slices.Sorted(maps.Keys(families)) {
		if len(families[family]) == 0 {
			continue
		}
		w.line("%s  %s:", indent, family)
		for _, p := range families[family] {
			fields := []string{"name: " + scalar(p.Name), "why: " + quoted(p.Why)}
			if len(p.Releases) > 0 {
				fields = append(fields, "releases: "+quotedList(p.Releases))
			}
			if len(p.Except) > 0 {
				fields = append(fields, "except: "+quotedList(p.Except))
			}
			fields = append(fields, flag(p.Optional, "optional")...)
			fields = append(fields, flag(p.EveryStack, "every_stack")...)
			w.entry(key+"/"+family+"/"+p.Name, indent+"    ", "{"+strings.Join(fields, ", ")+"}")
		}
	}
}

func (w *writer) vendor(v Vendor) {
	if len(v.Sets) == 0 && !v.UserSpaceOnly {
		return
	}
	w.line("vendor:")
	if len(v.Sets) > 0 {
		w.line("  sets:")
		for _, stack := range slices.Sorted(maps.Keys(v.Sets)) {
			w.value("vendor/sets/"+stack, "    "+stack, list(v.Sets[stack]))
		}
	}
	if v.UserSpaceOnly {
		w.value("vendor/user_space_only", "  user_space_only", "true")
	}
}

func (w *writer) build(b *Build) {
	if b == nil {
		return
	}
	w.line("build:")
	w.value("build/version", "  version", quoted(b.Version))
	w.value("build/prefix", "  prefix", quoted(b.Prefix))
	if len(b.CMake) > 0 {
		w.line("  cmake:")
		for _, name := range slices.Sorted(maps.Keys(b.CMake)) {
			w.value("build/cmake/"+name, "    "+name, quoted(b.CMake[name]))
		}
	}
	w.packages("  ", "build/packages", b.Packages)
}

func (w *writer) modules(m Modules) {
	if len(m.Load) == 0 && len(m.Softdeps) == 0 && len(m.Options) == 0 {
		return
	}
	w.line("modules:")
	if len(m.Load) > 0 {
		w.line("  load:")
	}
	for _, one := range m.Load {
		fields := append([]string{"name: " + scalar(one.Name), "why: " + quoted(one.Why)}, flag(one.Optional, "optional")...)
		w.entry("modules/"+ModuleKey(one.Name), "    ", "{"+strings.Join(fields, ", ")+"}")
	}
	if len(m.Softdeps) > 0 {
		w.line("  softdeps:")
	}
	for _, one := range m.Softdeps {
		w.entry("softdeps/"+ModuleKey(one.Module), "    ", fmt.Sprintf("{module: %s, pre: %s, why: %s}", scalar(one.Module), quotedList(one.Pre), quoted(one.Why)))
	}
	if len(m.Options) > 0 {
		w.line("  options:")
	}
	for _, name := range slices.Sorted(maps.Keys(m.Options)) {
		w.value("options/"+ModuleKey(name), "    "+scalar(name), quoted(m.Options[name]))
	}
}

func (w *writer) memlock(m Memlock) {
	if len(m.Groups) == 0 && len(m.Units) == 0 && !m.Everyone {
		return
	}
	w.line("memlock:")
	for _, part := range []struct {
		name string
		list []string
	}{{"groups", m.Groups}, {"units", m.Units}} {
		if len(part.list) == 0 {
			continue
		}
		w.line("  %s:", part.name)
		for _, one := range part.list {
			w.entry("memlock/"+part.name+"/"+one, "    ", scalar(one))
		}
	}
	if m.Everyone {
		w.value("memlock/everyone", "  everyone", "true")
	}
}

func flag(on bool, name string) []string {
	if on {
		return []string{name + ": true"}
	}
	return nil
}

// scalar writes a name: bare if it is a word that YAML can only take for text, else in quotes ("0", "no").
func scalar(name string) string {
	if len(name) > 3 && strings.Trim(name[:1], "abcdefghijklmnopqrstuvwxyz") == "" && name != "true" && name != "false" && name != "null" &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_.+-") == "" {
		return name
	}
	return quoted(name)
}

// quoted is a text in double quotes, which YAML reads as JSON does.
func quoted(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		return `""` // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func list(names []string) string { return "[" + strings.Join(names, ", ") + "]" }

func quotedList(texts []string) string {
	var out []string
	for _, one := range texts {
		out = append(out, quoted(one))
	}
	return list(out)
}

// oneLine keeps the name of a file from ending its comment.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}
