package build

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/plan"
)

// Activation is what of a placed build the host shall use by itself. The zero value is side by side: only
// programs that are told the prefix use it.
type Activation struct {
	// Library makes programs that are linked with libibverbs, librdmacm and so on load those of the prefix.
	Library bool
	// Path puts the prefix's programs before the distribution's, for those who log in.
	Path bool
	// Udev lets udev use the prefix's rules instead of the distribution's of the same names.
	Udev bool
	// Units are systemd units of the prefix that systemd shall know, such as "ibacm.service". A template
	// is named with its "@". They take the place of the distribution's of the same names.
	Units []string
	// Modules are lists of kernel modules in the prefix's etc/rdma/modules, such as "rdma", that are loaded
	// at boot.
	Modules []string
}

// Files of an activation. The loader's configuration is read in the order of names, and of several
// directories with a library the first one serves: ours has to come before libc.conf and
// x86_64-linux-gnu.conf of Debian and before what vendors put there.
const (
	LoaderFile  = "/etc/ld.so.conf.d/00-rdmactl-rdma-core.conf"
	ProfileFile = "/etc/profile.d/rdmactl-rdma-core.sh"
	ModulesFile = "/etc/modules-load.d/rdmactl-rdma-core.conf"
)

// Placed is a build in its prefix, as far as an activation needs it.
type Placed struct {
	Manifest Manifest
	// Texts are udev rules, units and module lists, by their path below the prefix.
	Texts map[string]string
}

// WrittenBy begins each file of an activation.
const WrittenBy = "# Written by rdmactl: rdma-core "

// Read reads a placed build.
func Read(h Host, prefix string) (Placed, error) {
	if err := checkPrefix(prefix); err != nil {
		return Placed{}, err
	}
	root, err := h.OpenDir(prefix)
	if err != nil {
		return Placed{}, fmt.Errorf("cannot read the build in %s: %w", prefix, err)
	}
	defer root.Close() // it was only read
	p := Placed{Texts: map[string]string{}}
	if p.Manifest, err = readManifest(root); err != nil {
		return Placed{}, fmt.Errorf("cannot read the build in %s: %w", prefix, err)
	}
	for _, e := range p.Manifest.Files {
		if e.Kind != "file" || kindOfText(e.Path) == "" {
			continue
		}
		text, err := readAll(root, e.Path, maxText)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Placed{}, fmt.Errorf("cannot read the build in %s: %w", prefix, err)
		}
		p.Texts[e.Path] = string(text)
	}
	return p, nil
}

// kindOfText says what an installed text is to an activation: rules, unit, modules, or nothing.
func kindOfText(name string) string {
	dir, base := path.Split(name)
	switch {
	case strings.HasSuffix(dir, "udev/rules.d/") && strings.HasSuffix(base, ".rules"):
		return "rules"
	case strings.HasSuffix(dir, "systemd/system/"):
		return "unit"
	case strings.HasSuffix(dir, "rdma/modules/") && strings.HasSuffix(base, ".conf"):
		return "modules"
	}
	return ""
}

// Activate gives the files by which the host uses the build. After them ldconfig is to be run for Library,
// udev reloaded for Udev, and systemd for Units.
func (p Placed) Activate(a Activation) ([]plan.FileChange, error) {
	m := p.Manifest
	out := []plan.FileChange{}
	add := func(name, text string) {
		out = append(out, plan.FileChange{Path: name, Action: "write", Mode: "0644", Content: text})
	}
	about := WrittenBy + m.Version + " in " + m.Prefix + ".\n"
	if a.Library {
		add(LoaderFile, about+path.Join(m.Prefix, m.LibDir)+"\n")
	}
	if a.Path {
		add(ProfileFile, about+profileText(m))
	}
	if a.Udev {
		for _, name := range p.texts("rules") {
			add("/etc/udev/rules.d/"+path.Base(name), about+p.rules(name))
		}
	}
	for _, unit := range a.Units {
		name := p.named("unit", unit)
		if name == "" {
			return nil, stop("no-such-unit", "name one of "+strings.Join(p.bases("unit"), ", "), "cannot activate rdma-core %s: it has no unit %s", m.Version, clip(unit))
		}
		add("/etc/systemd/system/"+path.Base(name), about+p.Texts[name])
	}
	if len(a.Modules) > 0 {
		text := about
		for _, list := range a.Modules {
			name := p.named("modules", list+".conf")
			if name == "" {
				return nil, stop("no-such-list", "name one of "+strings.Join(p.bases("modules"), ", "), "cannot activate rdma-core %s: it has no list of modules %s", m.Version, clip(list))
			}
			text += "# " + list + "\n" + withoutComments(p.Texts[name])
		}
		add(ModulesFile, text)
	}
	return out, nil
}

func (p Placed) texts(kind string) []string {
	var out []string
	for name := range p.Texts {
		if kindOfText(name) == kind {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func (p Placed) bases(kind string) []string {
	var out []string
	for _, name := range p.texts(kind) {
		out = append(out, path.Base(name))
	}
	return out
}

func (p Placed) named(kind, base string) string {
	for _, name := range p.texts(kind) {
		if path.Base(name) == base {
			return name
		}
	}
	return ""
}

func profileText(m Manifest) string {
	var out strings.Builder
	for _, dir := range []string{"sbin", "bin"} { // bin ends up first
		if !slices.ContainsFunc(m.Files, func(e Entry) bool { return e.Kind == "dir" && e.Path == dir }) {
			continue
		}
		at := path.Join(m.Prefix, dir)
		fmt.Fprintf(&out, "case \":$PATH:\" in *:%s:*) ;; *) PATH=%s:$PATH ;; esac\n", at, at)
	}
	return out.String() + "export PATH\n"
}

// program is a command of a rule that starts with a name instead of a path.
var program = regexp.MustCompile(`((?:PROGRAM|RUN(?:\{program\})?|IMPORT\{program\})\s*(?:==|!=|=|\+=|:=)\s*")([A-Za-z0-9_.+-]+)`)

// rules is the text of a file of rules. udev looks for a program without a path in its own directory, where
// that of the distribution is, or none: so the rule names it with its path.
func (p Placed) rules(name string) string {
	beside := path.Dir(path.Dir(name)) // rdma_rename is in the directory above rules.d
	return program.ReplaceAllStringFunc(p.Texts[name], func(match string) string {
		part := program.FindStringSubmatch(match)
		own := path.Join(beside, part[2])
		if !p.Manifest.has(own) {
			return match
		}
		return part[1] + path.Join(p.Manifest.Prefix, own)
	})
}

func withoutComments(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' && line[0] != ';' {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}
