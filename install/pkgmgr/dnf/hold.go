package dnf

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/rpm"
)

// Holds are locks of the versionlock plugin. Its list is written here rather than by `dnf versionlock`, which reads
// the repositories first and so needs a network. Formats: dnf-plugins-core, doc/versionlock.rst; dnf5, doc/misc
// of dnf5-versionlock; yum-utils, plugins/versionlock.

// locking is where a dialect has its plugin and its locks.
type locking struct {
	list    string // of locks
	conf    string // of the plugin; empty where it is part of the manager
	dir     string // of conf
	main    string // configuration that may turn all plugins off
	code    []string
	program string // the package that brings the plugin
}

func (d dialect) locking() locking {
	switch d {
	case dnf5: // libdnf5 reads it itself
		return locking{list: "/etc/dnf/versionlock.toml"}
	case yum3:
		return locking{
			list: "/etc/yum/pluginconf.d/versionlock.list", conf: "/etc/yum/pluginconf.d/versionlock.conf", dir: "/etc/yum/pluginconf.d", main: "/etc/yum.conf",
			code: []string{"/usr/lib/yum-plugins/versionlock.py", "/usr/share/yum-plugins/versionlock.py"}, program: "yum-plugin-versionlock",
		}
	}
	return locking{
		list: "/etc/dnf/plugins/versionlock.list", conf: "/etc/dnf/plugins/versionlock.conf", dir: "/etc/dnf/plugins", main: "/etc/dnf/dnf.conf",
		program: "python3-dnf-plugin-versionlock",
	}
}

// CanHold looks for the plugin, and whether anything turns it off.
func (s *Solver) CanHold() error {
	d, err := s.dialect()
	if err != nil {
		return err
	}
	l := d.locking()
	if l.conf == "" {
		return nil
	}
	conf, err := s.textOf(l.conf)
	if err != nil {
		return err
	}
	there, err := s.pluginThere(d, l)
	if err != nil {
		return err
	}
	missing := &pkgmgr.NoHoldError{
		Why:  "the versionlock plugin of " + d.program() + " is not installed",
		Hint: "install the package " + l.program + ", or leave --hold away",
	}
	if conf == "" || !there {
		return missing
	}
	general, err := s.textOf(l.main)
	if err != nil {
		return err
	}
	if value := iniValue(general, "main", "plugins"); off(value) || value == "" && d == yum3 {
		return &pkgmgr.NoHoldError{Why: l.main + " turns all plugins off, versionlock among them", Hint: "set plugins=1 there, or leave --hold away"}
	}
	if off(iniValue(conf, "main", "enabled")) {
		return &pkgmgr.NoHoldError{Why: l.conf + " turns the versionlock plugin off", Hint: "set enabled=1 there, or leave --hold away"}
	}
	if list := iniValue(conf, "main", "locklist"); list != "" && list != l.list {
		return &pkgmgr.NoHoldError{Why: l.conf + " keeps the locks in " + list + ", which rdmactl does not read", Hint: "set locklist = " + l.list + " there, or leave --hold away"}
	}
	return nil
}

// pluginThere looks for the plugin's code, which lies in a directory of the Python that dnf runs with.
func (s *Solver) pluginThere(d dialect, l locking) (bool, error) {
	places := l.code
	if d == dnf4 {
		for _, lib := range []string{"/usr/lib", "/usr/lib64"} {
			names, err := s.Host.ReadDir(lib)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return false, fmt.Errorf("cannot look into %s: %w", lib, err)
			}
			for _, n := range names {
				if strings.HasPrefix(n, "python3") {
					places = append(places, path.Join(lib, n, "site-packages/dnf-plugins/versionlock.py"), path.Join(lib, n, "dist-packages/dnf-plugins/versionlock.py"))
				}
			}
		}
	}
	for _, file := range places {
		_, err := s.Host.Stat(file)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("cannot look at %s: %w", file, err)
		}
	}
	return false, nil
}

// textOf is the text of a file, empty where it is missing.
func (s *Solver) textOf(file string) (string, error) {
	text, err := s.Host.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("cannot read %s: %w", file, err)
	}
	return string(text), nil
}

// iniValue is the last value of a key in a section.
func iniValue(text, section, key string) string {
	in, value := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			in = line[1 : len(line)-1]
			continue
		}
		name, rest, ok := strings.Cut(line, "=")
		if ok && in == section && strings.TrimSpace(name) == key {
			value = strings.TrimSpace(rest)
		}
	}
	return value
}

func off(value string) bool {
	return slices.Contains([]string{"0", "no", "false", "off"}, strings.ToLower(value))
}

// HoldsOn are locks on the versions that are there.
func (m *Manager) HoldsOn(_ context.Context, packages []pkgmgr.Package) ([]pkgmgr.Hold, error) {
	holds := []pkgmgr.Hold{}
	for _, p := range packages {
		name := p.Name
		if p.Base != "" {
			name = p.Base
		}
		holds = append(holds, pkgmgr.Hold{Name: name, Version: rpm.Normal(p.Version)})
	}
	return holds, nil
}

// Holds reads the list.
func (m *Manager) Holds(context.Context) ([]pkgmgr.Hold, error) {
	d, text, err := m.locks()
	if err != nil {
		return nil, err
	}
	holds := []pkgmgr.Hold{}
	for _, e := range entriesOf(d, text) {
		if e.hold.Name != "" {
			holds = append(holds, e.hold)
		}
	}
	return holds, nil
}

func (m *Manager) locks() (dialect, string, error) {
	d, err := m.dialect()
	if err != nil {
		return d, "", err
	}
	text, err := m.textOf(d.locking().list)
	return d, text, err
}

// HoldFiles are the list.
func (m *Manager) HoldFiles() ([]string, error) {
	d, err := m.dialect()
	if err != nil {
		return nil, err
	}
	return []string{d.locking().list}, nil
}

// Hold adds locks to the list.
func (m *Manager) Hold(_ context.Context, holds []pkgmgr.Hold) error {
	d, text, err := m.locks()
	if err != nil {
		return err
	}
	for _, h := range holds {
		if err := checkHold(h); err != nil {
			return err
		}
	}
	return m.write(d, text, withLocks(d, text, holds))
}

// Release takes locks out of the list.
func (m *Manager) Release(_ context.Context, holds []pkgmgr.Hold) error {
	d, text, err := m.locks()
	if err != nil {
		return err
	}
	return m.write(d, text, withoutLocks(d, text, holds))
}

func checkHold(h pkgmgr.Hold) error {
	if err := rpm.CheckName(h.Name); err != nil {
		return err
	}
	return rpm.CheckVersion(h.Version)
}

func (m *Manager) write(d dialect, before, after string) error {
	if before == after {
		return nil
	}
	list := d.locking().list
	mode := fs.FileMode(0o644)
	if info, err := m.Host.Stat(list); err == nil {
		mode = info.Mode.Perm()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot look at %s: %w", list, err)
	}
	if err := host.Tidy(m.Writer, list); err != nil { // of an attempt that was killed
		return err
	}
	return pkgmgr.WriteFiles(m.Writer, []pkgmgr.File{{Path: list, Data: []byte(after), Mode: mode}})
}

// entry is a part of a list: one lock with its lines, or lines that lock nothing.
type entry struct {
	text string
	hold pkgmgr.Hold
}

// entriesOf splits a list; the texts together are the list.
func entriesOf(d dialect, text string) []entry {
	var out []entry
	if d == dnf5 {
		for i, part := range strings.SplitAfter(text, "\n") {
			if i == 0 || strings.TrimSpace(part) == tomlTable {
				out = append(out, entry{})
			}
			out[len(out)-1].text += part
		}
		for i := range out {
			if strings.HasPrefix(strings.TrimSpace(out[i].text), tomlTable) {
				out[i].hold = tomlHold(out[i].text)
			}
		}
		return out
	}
	for line := range strings.Lines(text) {
		out = append(out, entry{text: line, hold: lineHold(d, strings.TrimSpace(line))})
	}
	return out
}

// lineHold reads "NAME-EPOCH:VERSION-RELEASE.ARCH" of dnf, "EPOCH:NAME-VERSION-RELEASE.ARCH" of yum. "!" excludes a
// version and locks nothing. Anything else that locks is given as it is written.
func lineHold(d dialect, line string) pkgmgr.Hold {
	if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "!") {
		return pkgmgr.Hold{}
	}
	bare := regexp.MustCompile(`\.(?:\*|x86_64|aarch64|ppc64le|s390x|noarch|i[3-6]86)$`).ReplaceAllString(line, "")
	if m := regexp.MustCompile(`^([0-9]+):([^\s:]+)-([^-:\s]+)-([^-:\s]+)$`).FindStringSubmatch(bare); m != nil && d == yum3 {
		return pkgmgr.Hold{Name: m[2], Version: rpm.EVR(m[1], m[3], m[4])}
	}
	if m := regexp.MustCompile(`^([^\s:]+)-(?:([0-9]+):)?([^-:\s]+)-([^-:\s]+)$`).FindStringSubmatch(bare); m != nil {
		return pkgmgr.Hold{Name: m[1], Version: rpm.EVR(m[2], m[3], m[4])}
	}
	return pkgmgr.Hold{Name: line}
}

const tomlTable = "[[packages]]"

// tomlHold reads a table of dnf5: a name, and one condition on "evr".
func tomlHold(text string) pkgmgr.Hold {
	value := func(key string) string {
		m := regexp.MustCompile(`(?m)^\s*` + key + `\s*=\s*["']([^"']*)["']`).FindStringSubmatch(text)
		if m == nil {
			return ""
		}
		return m[1]
	}
	h := pkgmgr.Hold{Name: value("name")}
	if value("key") == "evr" && value("comparator") == "=" {
		h.Version = rpm.Normal(value("value"))
	}
	return h
}

// lockText is a lock as the dialect's own command writes it.
func lockText(d dialect, h pkgmgr.Hold) string {
	epoch, rest, ok := strings.Cut(h.Version, ":")
	if !ok {
		epoch, rest = "0", h.Version
	}
	switch d {
	case yum3:
		return epoch + ":" + h.Name + "-" + rest + ".*\n"
	case dnf5:
		return tomlTable + "\nname = \"" + h.Name + "\"\ncomment = \"Added by rdmactl\"\n[[packages.conditions]]\nkey = \"evr\"\ncomparator = \"=\"\nvalue = \"" + epoch + ":" + rest + "\"\n"
	}
	return h.Name + "-" + epoch + ":" + rest + ".*\n"
}

// withLocks adds the locks that a list does not have.
func withLocks(d dialect, text string, holds []pkgmgr.Hold) string {
	have := entriesOf(d, text)
	for _, h := range holds {
		if slices.ContainsFunc(have, func(e entry) bool { return e.hold == h }) {
			continue
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if d == dnf5 {
			if text == "" {
				text = "version = \"1.0\"\n"
			}
			text += "\n"
		}
		text += lockText(d, h)
		have = append(have, entry{hold: h})
	}
	return text
}

// withoutLocks takes locks out of a list.
func withoutLocks(d dialect, text string, holds []pkgmgr.Hold) string {
	var out strings.Builder
	for _, e := range entriesOf(d, text) {
		if e.hold.Name == "" || !slices.Contains(holds, e.hold) {
			out.WriteString(e.text)
		}
	}
	return out.String()
}

// Released returns a manager whose plugin reads another list, without the locks. yum 3 finds its plugins' files before
// it reads its command line, so there the plugin is left out, which is the same where nothing else is locked. dnf5 reads
// its own file and no other: there a plan that changes what an earlier run holds is carried out once its locks are gone.
func (m *Manager) Released(_ context.Context, dir string, holds []pkgmgr.Hold) (pkgmgr.Manager, error) {
	d, text, err := m.locks()
	if err != nil {
		return nil, err
	}
	left := withoutLocks(d, text, holds)
	if left == text {
		return m, nil
	}
	out := *m
	if d == yum3 && !locksAny(left) {
		out.released = withoutPlugin
		return &out, nil
	}
	if d != dnf4 {
		return nil, &pkgmgr.NoHoldError{
			Why:  d.program() + " cannot be asked what it would do without the locks of an earlier run",
			Hint: "lift them with `" + d.program() + " versionlock delete NAME`, then run again",
		}
	}
	if !path.IsAbs(dir) || strings.ContainsAny(dir, " ,\t\n") {
		return nil, fmt.Errorf("cannot foresee packages in %q: not an absolute path without blanks and commas", dir)
	}
	conf := "[main]\nenabled = 1\nlocklist = " + dir + "/versionlock.list\n"
	if err := pkgmgr.WriteFiles(m.Writer, []pkgmgr.File{
		{Path: dir + "/versionlock.list", Data: []byte(left), Mode: 0o644},
		{Path: dir + "/versionlock.conf", Data: []byte(conf), Mode: 0o644},
	}); err != nil {
		return nil, err
	}
	out.released = dir
	return &out, nil
}

// withoutPlugin stands for a directory: the plugin is left out, since nothing else is locked.
const withoutPlugin = "-"

// locksAny says that a list of yum's has more than remarks.
func locksAny(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return true
		}
	}
	return false
}

// releasedOptions have the plugin read its configuration from dir after its own.
func (s *Solver) releasedOptions(d dialect) []string {
	switch s.released {
	case "":
		return nil
	case withoutPlugin:
		return []string{"--disableplugin=versionlock"}
	}
	return []string{"--setopt=pluginconfpath=" + d.locking().dir + "," + s.released}
}
