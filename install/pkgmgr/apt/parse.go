package apt

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"pault.ag/go/debian/version"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/plan"
)

// ParseSimulation reads the Inst, Remv and Purg lines of `apt-get -s`:
//
//	Inst name [installed version] (new version origin, origin [arch]) [more]
//	Remv name [version] [more]
//
// native is the host's architecture, for removals, which do not tell it unless it is a foreign one.
// unauthenticated are the packages that apt cannot verify.
func ParseSimulation(out, native string) (actions []plan.ResolvedPackage, unauthenticated []string, err error) {
	lines := strings.Split(out, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], " \r")
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "Inst":
			a, err := parseInst(rest)
			if err != nil {
				return nil, nil, err
			}
			actions = append(actions, a)
		case "Remv", "Purg":
			a, err := parseRemv(rest, native)
			if err != nil {
				return nil, nil, err
			}
			actions = append(actions, a)
		}
		if strings.Contains(line, "cannot be authenticated") {
			for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "  ") {
				i++
				unauthenticated = append(unauthenticated, strings.Fields(lines[i])...)
			}
		}
	}
	return actions, unauthenticated, nil
}

func parseInst(rest string) (plan.ResolvedPackage, error) {
	fail := func() (plan.ResolvedPackage, error) {
		return plan.ResolvedPackage{}, fmt.Errorf("cannot read apt's answer: %q", "Inst "+rest)
	}
	a := plan.ResolvedPackage{Action: "install"}
	name, rest, ok := strings.Cut(rest, " ")
	if !ok {
		return fail()
	}
	a.Name, _, _ = strings.Cut(name, ":")
	if strings.HasPrefix(rest, "[") {
		from, after, ok := strings.Cut(rest[1:], "] ")
		if !ok {
			return fail()
		}
		a.From, rest = from, after
	}
	if !strings.HasPrefix(rest, "(") {
		return fail()
	}
	inner, _, ok := strings.Cut(rest[1:], ")")
	if !ok {
		return fail()
	}
	open, end := strings.LastIndex(inner, "["), strings.LastIndex(inner, "]")
	if open < 0 || end < open {
		return fail()
	}
	a.Arch = inner[open+1 : end]
	a.Version, a.Origin, _ = strings.Cut(strings.TrimSpace(inner[:open]), " ")
	if a.Name == "" || a.Version == "" || a.Arch == "" {
		return fail()
	}
	if a.From != "" {
		switch c, err := compareVersions(a.From, a.Version); {
		case err != nil:
			return plan.ResolvedPackage{}, err
		case c < 0:
			a.Action = "upgrade"
		case c > 0:
			a.Action = "downgrade"
		default:
			a.Action = "reinstall"
		}
	}
	return a, nil
}

func parseRemv(rest, native string) (plan.ResolvedPackage, error) {
	name, rest, _ := strings.Cut(rest, " ")
	a := plan.ResolvedPackage{Action: "remove", Arch: native}
	if n, arch, ok := strings.Cut(name, ":"); ok {
		name, a.Arch = n, arch
	}
	a.Name = name
	if strings.HasPrefix(rest, "[") {
		a.From, _, _ = strings.Cut(rest[1:], "]")
	}
	if a.Name == "" {
		return a, fmt.Errorf("cannot read apt's answer: %q", "Remv "+rest)
	}
	return a, nil
}

// compareVersions orders Debian versions by dpkg's rules.
func compareVersions(a, b string) (int, error) {
	va, err := version.Parse(strings.TrimSpace(a))
	if err != nil {
		return 0, fmt.Errorf("cannot read package version %q: %w", a, err)
	}
	vb, err := version.Parse(strings.TrimSpace(b))
	if err != nil {
		return 0, fmt.Errorf("cannot read package version %q: %w", b, err)
	}
	return version.Compare(va, vb), nil
}

// parseSizes reads `apt-get --print-uris`: the sizes of what is still to be downloaded, and the
// figure of installed size in either wording (apt 3.0 has a table). -1 is not told.
func parseSizes(out string) (download, installed int64) {
	installed = -1
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "'") {
			if f := strings.Fields(line); len(f) >= 3 {
				if n, err := strconv.ParseInt(f[2], 10, 64); err == nil {
					download += n
				}
			}
			continue
		}
		if m := sizeLine().FindStringSubmatch(line); m != nil {
			n, ok := parseAptSize(m[1], m[2])
			if ok {
				installed = n
				if strings.Contains(line, "freed") {
					installed = -n
				}
			}
		}
		// apt 3.0: "  Space needed: 17.9 MB / 20.1 GB available"
		if m := spaceLine().FindStringSubmatch(line); m != nil {
			if n, ok := parseAptSize(m[1], m[2]); ok {
				installed = n
			}
		}
	}
	return download, installed
}

func sizeLine() *regexp.Regexp {
	return regexp.MustCompile(`^After this operation, ([0-9.,]+) ?([kMGT]?)B .*(?:used|freed)`)
}

func spaceLine() *regexp.Regexp {
	return regexp.MustCompile(`^Space needed: ([0-9.,]+) ?([kMGT]?)B`)
}

func parseAptSize(number, unit string) (int64, bool) {
	f, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
	if err != nil || f < 0 || f > 1e15 {
		return 0, false
	}
	scale := map[string]float64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[unit]
	if f*scale > 1e18 {
		return 0, false
	}
	return int64(f * scale), true
}

// parsePolicy reads `apt-cache policy NAME...`.
func parsePolicy(out string) map[string]pkgmgr.Candidate {
	all := map[string]pkgmgr.Candidate{}
	name := ""
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n\r ")
		switch {
		case line != "" && line[0] != ' ' && strings.HasSuffix(line, ":"):
			name = strings.TrimSuffix(line, ":")
		case name == "":
		case strings.HasPrefix(line, "  Installed: "):
			c := all[name]
			c.Installed = noneIsEmpty(strings.TrimPrefix(line, "  Installed: "))
			all[name] = c
		case strings.HasPrefix(line, "  Candidate: "):
			c := all[name]
			c.Version = noneIsEmpty(strings.TrimPrefix(line, "  Candidate: "))
			all[name] = c
		}
	}
	for n, c := range all {
		if c.Version == "" {
			delete(all, n)
		}
	}
	return all
}

func noneIsEmpty(v string) string {
	if v == "(none)" {
		return ""
	}
	return v
}

// parseSources reads the package files of `apt-cache policy` without a name.
func parseSources(out string) []string {
	sources := []string{}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 3 || !strings.HasPrefix(line, " ") {
			continue
		}
		if _, err := strconv.Atoi(f[0]); err != nil || !strings.Contains(f[1], ":") {
			continue
		}
		sources = append(sources, pkgmgr.WithoutCredentials(strings.Join(f[1:], " ")))
	}
	return sources
}

// parseDatabase reads `dpkg-query -W --showformat=statusFormat`.
func parseDatabase(out string) (pkgmgr.Database, error) {
	db := pkgmgr.Database{}
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		f := strings.Split(line, "\t")
		if len(f) != 4 {
			return nil, fmt.Errorf("cannot read the package database: %q", line)
		}
		p := pkgmgr.Package{Name: f[1], Arch: f[2], Version: f[3]}
		state := f[0]
		if len(state) < 2 {
			return nil, fmt.Errorf("cannot read the package database: %q", line)
		}
		switch {
		case len(state) > 2 && state[2] == 'R':
			p.Status, p.Torn = pkgmgr.Broken, true
		case state[1] == 'i':
			p.Status = pkgmgr.Installed
		case state[1] == 'c':
			p.Status = pkgmgr.ConfigFiles
		case state[1] == 'n':
			continue
		default:
			p.Status, p.Torn = pkgmgr.Broken, state[1] == 'H'
		}
		db[p.Key()] = p
	}
	return db, nil
}

// conffile is a configuration file as dpkg installed it.
type conffile struct{ path, md5 string }

// parseConffiles reads `dpkg-query -W --showformat=${Conffiles}\n`.
func parseConffiles(out string) []conffile {
	files := []conffile{}
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, " /") {
			continue
		}
		line = strings.TrimSuffix(strings.TrimSuffix(line[1:], " remove-on-upgrade"), " obsolete")
		i := strings.LastIndexByte(line, ' ')
		if i < 0 || len(line)-i-1 != 32 {
			continue
		}
		files = append(files, conffile{line[:i], line[i+1:]})
	}
	return files
}
