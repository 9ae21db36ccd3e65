package build

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// wants is a unit that a udev rule has systemd start.
var wants = regexp.MustCompile(`ENV\{SYSTEMD_WANTS\}\s*\+?=\s*"([^"]*)"`)

// Wanted are the units of the build without which its udev rules do nothing: those that the rules have systemd
// start, and those of the build that these want in turn. A template is named with its "@".
func (p Placed) Wanted() []string {
	var out []string
	var add func(names string)
	add = func(names string) {
		for name := range strings.FieldsSeq(names) {
			base := template(name)
			at := p.named("unit", base)
			if at == "" || slices.Contains(out, base) {
				continue
			}
			out = append(out, base)
			for line := range strings.Lines(p.Texts[at]) {
				key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				if key == "Wants" || key == "Requires" || key == "BindsTo" {
					add(value)
				}
			}
		}
	}
	for _, name := range p.texts("rules") {
		for line := range strings.Lines(p.Texts[name]) {
			if strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			for _, found := range wants.FindAllStringSubmatch(line, -1) {
				add(found[1])
			}
		}
	}
	slices.Sort(out)
	return out
}

// template is the unit file that an instance comes from: of rdma-load-modules@roce.service it is
// rdma-load-modules@.service.
func template(name string) string {
	before, after, ok := strings.Cut(name, "@")
	if !ok {
		return name
	}
	return before + "@" + path.Ext(after)
}
