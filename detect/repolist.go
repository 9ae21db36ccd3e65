package detect

import (
	"regexp"
	"slices"
	"strconv"
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
		{"dnf repolist", parseRepolist},
		{"yum repolist", parseRepolist},
		{"zypper lr", parseZypperRepos},
		{"zypper repos", parseZypperRepos},
		{"apt-cache policy", parsePolicy},
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

// parsePolicy reads the package files of "apt-cache policy", "500 http://mirror.example.com/debian bookworm/main
// amd64 Packages". A flat repository has neither component nor architecture, "500 file:/repo ./ Packages",
// and no suite where that is "/".
func parsePolicy(text, line string) []facts.Repository {
	var out []facts.Repository
	for row := range strings.Lines(text) {
		words := strings.Fields(row)
		if len(words) < 3 || words[len(words)-1] != "Packages" || !strings.Contains(words[1], ":/") {
			continue
		}
		if _, err := strconv.Atoi(words[0]); err != nil {
			continue
		}
		r := facts.Repository{Kind: "apt", URL: withoutCredentials(words[1]), Suite: "/", File: line, Enabled: true, Signed: facts.Field[bool]{Source: line}}
		if len(words) > 3 {
			r.Suite = words[2]
		}
		if suite, component, ok := cutLast(r.Suite); ok && r.Suite != "./" && r.Suite != "/" {
			r.Suite, r.Components = suite, []string{component}
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

func cutLast(suite string) (before, after string, ok bool) {
	at := strings.LastIndexByte(suite, '/')
	if at <= 0 || at == len(suite)-1 {
		return suite, "", false
	}
	return suite[:at], suite[at+1:], true
}
