package dnf

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr/rpm"
	"github.com/rdmactl/rdmactl/plan"
)

// parseTransaction reads the table that dnf and yum show before they ask:
//
//	Installing:
//	 alpha            noarch            1.0-1                 test            6.3 k
//	     replacing  gamma.noarch 1.0-1
//	Installing dependencies:
//	 libibverbs-utils
//	                  x86_64            44.0-3.el9            test             60 k
//
// A row whose name is too long for its column goes on in the next line. told says that there was a
// table. dnf5 writes its obsoletes as "replacing gamma noarch 1.0-1" and versions with epoch 0.
func parseTransaction(out string) (actions []plan.ResolvedPackage, told bool, err error) {
	actions = []plan.ResolvedPackage{}
	section, pending := "", []string{}
	flush := func() error {
		if len(pending) == 0 {
			return nil
		}
		row := pending
		pending = nil
		if len(row) < 4 {
			return fmt.Errorf("cannot read dnf's answer: %q", strings.Join(row, " "))
		}
		a := plan.ResolvedPackage{Name: row[0], Arch: row[1], Version: rpm.Normal(row[2]), Origin: strings.TrimPrefix(row[3], "@"), Action: section}
		if section == "remove" {
			a.From, a.Version, a.Origin = a.Version, "", ""
		}
		actions = append(actions, a)
		return nil
	}
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n\r ")
		text := strings.TrimSpace(strings.TrimPrefix(line, "> "))
		switch {
		case strings.HasPrefix(text, "Transaction Summary"):
			if err := flush(); err != nil {
				return nil, false, err
			}
			section, told = "", true
		case told || text == "" || strings.Trim(text, "=-") == "":
		case text == line && strings.HasSuffix(text, ":"):
			if err := flush(); err != nil {
				return nil, false, err
			}
			section = sectionOf(text)
		case section == "" || !strings.HasPrefix(line, " "):
		case strings.HasPrefix(text, "replacing "):
			if err := flush(); err != nil {
				return nil, false, err
			}
			gone, err := parseReplaced(text)
			if err != nil {
				return nil, false, err
			}
			if gone.Name != "" {
				actions = append(actions, gone)
			}
		case strings.HasPrefix(line, "  "):
			pending = append(pending, strings.Fields(text)...)
		default:
			if err := flush(); err != nil {
				return nil, false, err
			}
			pending = strings.Fields(text)
		}
	}
	if !told {
		return actions, false, nil
	}
	return drop(actions), true, nil
}

// drop leaves one entry of a package that is both replaced and named in a section of its own: dnf5
// lists what an upgrade replaces, which is no removal.
func drop(actions []plan.ResolvedPackage) []plan.ResolvedPackage {
	out := []plan.ResolvedPackage{}
	for i, a := range actions {
		again := false
		for j, b := range actions {
			if a.Action == "remove" && i != j && a.Name == b.Name && a.Arch == b.Arch && (b.Action != "remove" || j < i) {
				again = true
			}
		}
		if !again {
			out = append(out, a)
		}
	}
	return out
}

// sectionOf is the action of a section's heading; those about groups, modules and what is skipped
// have none. "Upgrading", "Downgrading" and "Reinstalling" are told from the database as well.
func sectionOf(heading string) string {
	for _, h := range []struct{ prefix, action string }{
		{"Installing group", ""},
		{"Installing Group", ""},
		{"Installing Environment", ""},
		{"Installing module", ""},
		{"Installing", "install"},
		{"Upgrading", "upgrade"},
		{"Updating", "upgrade"}, // yum 3
		{"Downgrading", "downgrade"},
		{"Reinstalling", "reinstall"},
		{"Removing group", ""},
		{"Removing Group", ""},
		{"Removing Environment", ""},
		{"Removing", "remove"},
	} {
		if strings.HasPrefix(heading, h.prefix) {
			return h.action
		}
	}
	return ""
}

// parseReplaced reads "replacing  gamma.noarch 1.0-1", dnf5's form with blanks included.
func parseReplaced(text string) (plan.ResolvedPackage, error) {
	f := strings.Fields(text)
	a := plan.ResolvedPackage{Action: "remove"}
	switch {
	case len(f) == 3:
		i := strings.LastIndexByte(f[1], '.')
		if i <= 0 {
			return a, fmt.Errorf("cannot read dnf's answer: %q", text)
		}
		a.Name, a.Arch, a.From = f[1][:i], f[1][i+1:], rpm.Normal(f[2])
	case len(f) >= 4:
		a.Name, a.Arch, a.From = f[1], f[2], rpm.Normal(f[3])
	default:
		return a, fmt.Errorf("cannot read dnf's answer: %q", text)
	}
	return a, nil
}

// parseSizes reads the figures below the table; -1 is not told.
func parseSizes(out string) (download, installed int64) {
	download, installed = -1, -1
	form := regexp.MustCompile(`(?m)^(Total download size|Installed size|Freed space|Total size)\s*: ([0-9.]+) ?([kMGT]?)\s*$`)
	for _, m := range form.FindAllStringSubmatch(out, -1) {
		f, err := strconv.ParseFloat(m[2], 64)
		if err != nil || f > 1e9 {
			continue
		}
		n := int64(f * map[string]float64{"": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}[m[3]])
		switch m[1] {
		case "Total download size":
			download = n
		case "Total size":
			download = 0 // all of it is in the cache
		case "Installed size":
			installed = n
		case "Freed space":
			installed, download = -n, 0
		}
	}
	// dnf5: "Total size of inbound packages is 12 KiB. Need to download 12 KiB." and "After this
	// operation, 32 B extra will be used (install 32 B, remove 0 B)."
	scale := map[string]float64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
	if m := regexp.MustCompile(`Need to download ([0-9.]+) ?([KMG]?i?B)`).FindStringSubmatch(out); m != nil {
		if f, err := strconv.ParseFloat(m[1], 64); err == nil && f < 1e9 {
			download = int64(f * scale[m[2]])
		}
	}
	if m := regexp.MustCompile(`After this operation, ([0-9.]+) ?([KMG]?i?B) (?:extra )?will be (used|freed)`).FindStringSubmatch(out); m != nil {
		if f, err := strconv.ParseFloat(m[1], 64); err == nil && f < 1e9 {
			installed = int64(f * scale[m[2]])
			if m[3] == "freed" {
				installed = -installed
			}
		}
	}
	return download, installed
}

// notFound are the words that the manager did not know, which it may pass over in silence otherwise.
func notFound(res host.Result) []string {
	lines := []string{}
	for line := range strings.Lines(res.Stderr + "\n" + res.Stdout) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "No match for argument") || strings.HasPrefix(line, "No package ") || strings.Contains(line, "Unable to find a match") {
			lines = append(lines, line)
		}
	}
	return lines[:min(len(lines), 5)]
}

// offer is a package that a repository has.
type offer struct{ name, arch, version, repo string }

// parseOffers reads queryFormat.
func parseOffers(out string) ([]offer, error) {
	offers := []offer{}
	for line := range strings.Lines(out) {
		if line = strings.TrimRight(line, "\n\r"); line == "" {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 6 {
			return nil, fmt.Errorf("cannot read dnf's list of packages: %q", line)
		}
		offers = append(offers, offer{f[0], f[4], rpm.EVR(f[1], f[2], f[3]), f[5]})
	}
	return offers, nil
}

// parseList reads `yum list`: name.arch, version and repository, over more than one line when the
// columns are too narrow.
func parseList(out string) []offer {
	offers, row := []offer{}, []string{}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(row) == 0 && (len(f) == 0 || !strings.Contains(f[0], ".")) || strings.HasSuffix(strings.TrimSpace(line), " Packages") {
			row = nil
			continue
		}
		if row = append(row, f...); len(row) < 3 {
			continue
		}
		if i := strings.LastIndexByte(row[0], '.'); i > 0 {
			offers = append(offers, offer{row[0][:i], row[0][i+1:], rpm.Normal(row[1]), row[2]})
		}
		row = nil
	}
	return offers
}

// newest is the version that the manager would take for a word: the newest of any architecture, where
// 32-bit packages that a 64-bit host also sees do not count.
func newest(word string, offers []offer) (string, bool) {
	i386 := regexp.MustCompile(`^i[3-6]86$`)
	best := offer{}
	for _, o := range offers {
		if !rpm.Means(word, o.name, "", o.arch) && word != o.name+"-"+rpm.WithoutEpoch(o.version)+"."+o.arch && word != o.name+"-"+rpm.WithoutEpoch(o.version) {
			continue
		}
		switch c, err := rpm.Compare(o.version, best.version); {
		case best.version == "", i386.MatchString(best.arch) && !i386.MatchString(o.arch):
			best = o
		case i386.MatchString(o.arch) && !i386.MatchString(best.arch):
		case err == nil && c > 0:
			best = o
		}
	}
	return best.version, best.version != ""
}

// parseRepolist reads `dnf repolist` and `yum repolist`: "id  name", below a heading.
func parseRepolist(out string) []string {
	sources := []string{}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] == "repo" || strings.HasSuffix(f[0], ":") || strings.Trim(f[0], "=-") == "" {
			continue
		}
		sources = append(sources, strings.Join(f, " "))
	}
	return sources
}

// parseReasons reads name and reason. dnf 4 writes "dependency", dnf5 "Dependency".
func parseReasons(out string) []string {
	auto := []string{}
	for line := range strings.Lines(out) {
		name, reason, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if ok && strings.HasSuffix(strings.ToLower(strings.ReplaceAll(reason, " ", "-")), "dependency") {
			auto = append(auto, name)
		}
	}
	return auto
}

// sortMessages reads what makecache said about each repository: bad are about signatures and
// checksums, failed about repositories that could not be read.
func sortMessages(out string) (bad, failed []string) {
	name := regexp.MustCompile(`(?:Failed to download metadata for repo|Errors during downloading metadata for repository|for repository) '([^']+)'`)
	reason := map[string]string{}
	order := []string{}
	current := ""
	for line := range strings.Lines(out) {
		text := strings.TrimSpace(line)
		if m := name.FindStringSubmatch(text); m != nil {
			current = m[1]
			if _, ok := reason[current]; !ok {
				order = append(order, current)
			}
			reason[current] += " " + text
			continue
		}
		if current != "" && (strings.HasPrefix(text, "- ") || strings.HasPrefix(line, " ")) {
			reason[current] += " " + text
			continue
		}
		current = ""
	}
	for _, repo := range order {
		text := strings.TrimSpace(reason[repo])
		if len(rpm.SignatureLines(text)) > 0 || strings.Contains(text, "GPG verification") {
			bad = append(bad, text)
		} else {
			failed = append(failed, text)
		}
	}
	return bad, failed
}
