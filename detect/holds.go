package detect

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// The kinds of holds.
const (
	kindHold    = "hold"
	kindPin     = "pin"
	kindVersion = "versionlock"
	kindLock    = "lock"
	kindExclude = "exclude"
)

// holds collects what keeps packages back: marks of dpkg, pins of apt, locks and excludes of dnf, yum
// and zypper, and says whether every place was told. The files of another family's manager are not looked for where the family is known.
func (p probe) holds(d facts.Distro, held facts.Field[[]string], repositories []facts.Repository, unread map[string]string) (found facts.Field[[]facts.Hold], complete bool) {
	const source = "the package manager's configuration"
	var all []facts.Hold
	var failed error
	silent := false // some place was not told, so that nothing found is not nothing there
	for _, name := range held.Or(nil) {
		all = append(all, facts.Hold{Package: name, Kind: kindHold, Source: held.Source})
	}
	read := func(file string, parse func(file, text string) []facts.Hold) {
		text, err := p.text(file)
		switch {
		case err == nil:
			all = append(all, parse(file, text)...)
		case errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, host.ErrUnknown):
			silent = true
		default:
			failed, unread[file] = err, err.Error()
		}
	}
	family := d.Family.Or("")
	if family != "rhel" && family != "suse" {
		silent = held.IsUnknown()
		read("/etc/apt/preferences", parsePreferences)
		const dir = "/etc/apt/preferences.d"
		names, complete, err := p.listed(dir)
		switch {
		case complete, errors.Is(err, fs.ErrNotExist):
		case err == nil, errors.Is(err, host.ErrUnknown):
			silent = true
		default:
			failed, unread[dir] = err, err.Error()
		}
		for _, name := range names {
			if ext := path.Ext(name); ext == "" || ext == ".pref" { // apt reads no others
				read(path.Join(dir, name), parsePreferences)
			}
		}
	}
	if family != "debian" {
		for _, l := range lockFiles() {
			read(l.file, l.parse)
		}
		read("/etc/dnf/dnf.conf", parseMainExcludes)
		// From EL 8 on it is a link to dnf.conf.
		if _, err := p.r.Readlink("/etc/yum.conf"); err != nil {
			read("/etc/yum.conf", parseMainExcludes)
		}
		for _, command := range []struct{ line, kind string }{{"dnf versionlock list", kindVersion}, {"dnf versionlock", kindVersion}, {"yum versionlock list", kindVersion}, {"yum versionlock", kindVersion}, {"zypper locks", kindLock}, {"zypper ll", kindLock}} {
			text, from := p.firstTold(command.line)
			if text == "" {
				continue
			}
			parse := parseVersionlock
			if command.kind == kindLock {
				parse = parseZypperTable
			}
			all = append(all, parse(from, text)...)
		}
	}
	for _, r := range repositories {
		for _, pattern := range r.Excludes {
			all = append(all, facts.Hold{Package: pattern, Kind: kindExclude, Repository: r.ID, Source: r.File})
		}
	}
	switch {
	case len(all) > 0:
		return facts.Is(all, source), !silent && failed == nil
	case failed != nil:
		return facts.Failed[[]facts.Hold](source, failed), false
	case silent:
		return facts.Field[[]facts.Hold]{Source: source}, false
	}
	return facts.None[[]facts.Hold](source), true
}

// lockFile is a file of locked packages.
type lockFile struct {
	file  string
	parse func(file, text string) []facts.Hold
}

func lockFiles() []lockFile {
	return []lockFile{
		{"/etc/dnf/plugins/versionlock.list", parseVersionlock},
		{"/etc/yum/pluginconf.d/versionlock.list", parseVersionlock},
		{"/etc/dnf/versionlock.toml", parseVersionlockTOML}, // dnf5
		{"/etc/zypp/locks", parseZyppLocks},
	}
}

// parsePreferences reads apt_preferences(5).
func parsePreferences(file, text string) []facts.Hold {
	var out []facts.Hold
	for _, paragraph := range deb822(text) {
		priority, err := strconv.Atoi(paragraph["pin-priority"])
		if err != nil {
			continue // apt ignores a record without a number
		}
		for _, name := range strings.Fields(paragraph["package"]) {
			out = append(out, facts.Hold{Package: name, Version: withoutCredentials(paragraph["pin"]), Kind: kindPin, Priority: priority, Source: file})
		}
	}
	return out
}

var (
	// NAME-[EPOCH:]VERSION-RELEASE[.ARCH] of dnf
	dnfLock = regexp.MustCompile(`^([^\s:]+)-((?:[0-9]+:)?[^-:\s]+-[^-:\s]+)$`)
	// EPOCH:NAME-VERSION-RELEASE[.ARCH] of yum
	yumLock  = regexp.MustCompile(`^([0-9]+):([^\s:]+)-([^-:\s]+-[^-:\s]+)$`)
	lockArch = regexp.MustCompile(`\.(?:\*|x86_64|aarch64|ppc64le|s390x|noarch|i[3-6]86)$`)
)

// parseVersionlock reads the lists of the versionlock plugins of dnf 4 and yum. "!" excludes a version
// and locks nothing.
func parseVersionlock(file, text string) []facts.Hold {
	var out []facts.Hold
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || strings.ContainsAny(line, " \t") {
			continue
		}
		h := facts.Hold{Kind: kindVersion, Source: file}
		if rest, ok := strings.CutPrefix(line, "!"); ok {
			line, h.Kind = rest, kindExclude
		}
		bare := lockArch.ReplaceAllString(line, "")
		if m := yumLock.FindStringSubmatch(bare); m != nil {
			h.Package, h.Version = m[2], m[3]
			if m[1] != "0" {
				h.Version = m[1] + ":" + m[3]
			}
		} else if m := dnfLock.FindStringSubmatch(bare); m != nil {
			h.Package, h.Version = m[1], strings.TrimPrefix(m[2], "0:")
		} else {
			h.Package = bare
		}
		out = append(out, h)
	}
	return out
}

// parseVersionlockTOML reads what "dnf versionlock add" of dnf5 writes: a table for each package, with
// conditions such as key = "evr", comparator = "=", value = "0:5.2.26-3.fc40".
func parseVersionlockTOML(file, text string) []facts.Hold {
	var out []facts.Hold
	key, comparator := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "[[packages]]" {
			out = append(out, facts.Hold{Kind: kindVersion, Source: file})
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || len(out) == 0 {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		h := &out[len(out)-1]
		switch strings.TrimSpace(name) {
		case "name":
			h.Package = value
		case "key":
			key = value
		case "comparator":
			comparator = value
		case "value":
			if key == "evr" || key == "version" {
				h.Version = strings.TrimPrefix(comparator, "=") + strings.TrimPrefix(value, "0:")
			}
		}
	}
	return slices.DeleteFunc(out, func(h facts.Hold) bool { return h.Package == "" })
}

// parseZyppLocks reads /etc/zypp/locks, paragraphs of "key: value".
func parseZyppLocks(file, text string) []facts.Hold {
	var out []facts.Hold
	for _, paragraph := range deb822(text) {
		if kind := paragraph["type"]; kind != "" && kind != "package" {
			continue
		}
		for _, name := range strings.Fields(paragraph["solvable_name"]) {
			out = append(out, facts.Hold{Package: name, Version: paragraph["version"], Kind: kindLock, Source: file})
		}
	}
	return out
}

// parseZypperTable reads "zypper locks": # | Name | Type | Repository | Comment.
func parseZypperTable(line, text string) []facts.Hold {
	var out []facts.Hold
	for row := range strings.Lines(text) {
		cells := strings.Split(row, "|")
		if len(cells) < 4 {
			continue
		}
		if _, err := strconv.Atoi(strings.TrimSpace(cells[0])); err != nil || strings.TrimSpace(cells[2]) != "package" {
			continue // the heading
		}
		name, version, _ := strings.Cut(strings.TrimSpace(cells[1]), " ") // "kernel-default == 6.4.0"
		h := facts.Hold{Package: name, Version: version, Kind: kindLock, Source: line}
		if repository := strings.TrimSpace(cells[3]); repository != "(any)" {
			h.Repository = repository
		}
		out = append(out, h)
	}
	return out
}

// parseMainExcludes reads the main section of dnf.conf and yum.conf.
func parseMainExcludes(file, text string) []facts.Hold {
	var out []facts.Hold
	for _, section := range parseINI(text) {
		if section.name != "main" {
			continue
		}
		for _, key := range []string{"exclude", "excludepkgs"} {
			for _, pattern := range fieldsOrCommas(section.values[key]) {
				out = append(out, facts.Hold{Package: pattern, Kind: kindExclude, Source: file})
			}
		}
	}
	return out
}

// lockedNames are the packages that locks keep at their version.
func lockedNames(holds []facts.Hold) []string {
	var names []string
	for _, h := range holds {
		if (h.Kind == kindVersion || h.Kind == kindLock) && !slices.Contains(names, h.Package) {
			names = append(names, h.Package)
		}
	}
	return names
}
