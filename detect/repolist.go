package detect

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

// repositoryTexts reads what package managers print of their repositories, where evidence has that and
// not the files: "dnf repolist", "zypper lr", and "apt-cache policy".
func (p probe) repositoryTexts() (found []facts.Repository, source string) {
	for _, q := range []struct {
		prefix string
		parse  func(text, line string) []facts.Repository
	}{
		{"dnf repolist", parseRepolist}, {"yum repolist", parseRepolist},
		{"zypper lr", parseZypperRepos}, {"zypper repos", parseZypperRepos}, {"apt-cache policy", parsePolicy},
	} {
		for _, res := range p.answers(q.prefix) {
			for _, r := range q.parse(res.Stdout, res.Argv[0]) {
				if !slices.ContainsFunc(found, func(have facts.Repository) bool { return have.ID == r.ID && have.URL == r.URL && have.Suite == r.Suite }) {
					found, source = append(found, r), res.Argv[0]
				}
			}
		}
	}
	return found, source
}

var columns = regexp.MustCompile(`\s{2,}`)

// parseRepolist reads the table "repo id  repo name  [status]" of dnf and yum; without the last column all
// are enabled. yum puts the release and the architecture behind the id, "base/7/x86_64", and "!" before one
// whose metadata is old.
func parseRepolist(text, line string) []facts.Repository {
	var out []facts.Repository
	head := false
	for row := range strings.Lines(text) {
		row = strings.TrimSpace(row)
		if strings.HasPrefix(row, "repo id") {
			head = true
			continue
		}
		cells := columns.Split(row, -1)
		if !head || len(cells) < 2 || strings.HasPrefix(row, "repolist:") {
			continue
		}
		id, _, _ := strings.Cut(strings.TrimLeft(cells[0], "!*"), "/")
		enabled := !strings.HasPrefix(cells[len(cells)-1], "disabled")
		out = append(out, facts.Repository{Kind: "rpm", ID: id, File: line, Enabled: enabled, Signed: facts.Field[bool]{Source: line}})
	}
	return out
}

// parseZypperRepos reads the table of "zypper lr": # | Alias | Name | Enabled | GPG Check | Refresh, with
// -u | URI at its end.
func parseZypperRepos(text, line string) []facts.Repository {
	var out []facts.Repository
	var head []string
	for row := range strings.Lines(text) {
		cells := strings.Split(row, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[0] == "#" {
			head = cells
			continue
		}
		if head == nil || len(cells) != len(head) {
			continue
		}
		r := facts.Repository{Kind: "rpm", File: line, Signed: facts.Field[bool]{Source: line}}
		for i, name := range head {
			switch name {
			case "Alias":
				r.ID = cells[i]
			case "Enabled":
				r.Enabled = cells[i] == "Yes"
			case "GPG Check": // "(r ) Yes", "(  ) No", "----" of a disabled one
				if value := cells[i]; strings.HasSuffix(value, "Yes") || strings.HasSuffix(value, "No") {
					r.Signed = facts.Is(strings.HasSuffix(value, "Yes"), line)
				}
			case "URI":
				r.URL = withoutCredentials(cells[i])
			}
		}
		out = append(out, r)
	}
	return out
}

// "500 http://mirror.example.com/debian bookworm/main amd64 Packages"; a flat repository has no architecture,
// "500 file:/repo ./ Packages"
var policyLine = regexp.MustCompile(`^-?[0-9]+ ([a-z+]+:\S+) +(\S+)(?: +\S+)? +Packages$`)

// parsePolicy reads the package files of "apt-cache policy". A flat repository has no component.
func parsePolicy(text, line string) []facts.Repository {
	var out []facts.Repository
	for row := range strings.Lines(text) {
		m := policyLine.FindStringSubmatch(strings.TrimSpace(row))
		if m == nil {
			continue
		}
		r := facts.Repository{Kind: "apt", URL: withoutCredentials(m[1]), Suite: m[2], File: line, Enabled: true, Signed: facts.Field[bool]{Source: line}}
		if at := strings.LastIndexByte(m[2], '/'); at > 0 && m[2] != "./" {
			r.Suite, r.Components = m[2][:at], []string{m[2][at+1:]}
		}
		same := slices.IndexFunc(out, func(have facts.Repository) bool { return have.URL == r.URL && have.Suite == r.Suite })
		switch {
		case same < 0:
			out = append(out, r)
		case len(r.Components) == 1 && !slices.Contains(out[same].Components, r.Components[0]):
			out[same].Components = append(out[same].Components, r.Components[0])
		}
	}
	return out
}
