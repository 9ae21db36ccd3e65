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

// repositories lists the configured package sources, without credentials.
func (p probe) repositories(d facts.Distro, unread map[string]string) facts.Field[[]facts.Repository] {
	source := "/etc/apt/sources.list.d, /etc/yum.repos.d, /etc/zypp/repos.d"
	var found []facts.Repository
	var failed error
	told := false
	read := func(file string, parse func(file, text string) []facts.Repository) {
		text, err := p.text(file)
		switch {
		case err == nil:
			told = true
			found = append(found, parse(file, text)...)
		case errors.Is(err, fs.ErrNotExist):
			told = true
		case !errors.Is(err, host.ErrUnknown):
			failed, unread[file] = err, err.Error()
		}
	}
	read("/etc/apt/sources.list", parseSourcesList)
	for _, dir := range []string{"/etc/apt/sources.list.d", "/etc/yum.repos.d", "/etc/zypp/repos.d"} {
		names, complete, err := p.listed(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist) || complete:
			told = true
		case err != nil && !errors.Is(err, host.ErrUnknown):
			failed, unread[dir] = err, err.Error()
		}
		for _, name := range names {
			file := path.Join(dir, name)
			switch path.Ext(name) {
			case ".list":
				read(file, parseSourcesList)
			case ".sources":
				read(file, parseDeb822Sources)
			case ".repo":
				read(file, parseRepoFile)
			}
		}
	}
	if len(found) == 0 {
		if texts, from := p.repositoryTexts(); len(texts) > 0 {
			found, source = texts, from
		}
	}
	for i := range found {
		classify(&found[i], d)
		p.releaseOrigin(&found[i])
	}
	// What is off and belongs to nothing here is of no use: redhat.repo lists hundreds.
	found = slices.DeleteFunc(found, func(r facts.Repository) bool {
		return !r.Enabled && r.Role == "" && r.Stack != mlnxOFED && r.Stack != docaOFED
	})
	switch {
	case len(found) > 0:
		return facts.Is(found, source)
	case failed != nil:
		return facts.Failed[[]facts.Repository](source, failed)
	case !told:
		return facts.Field[[]facts.Repository]{Source: source}
	}
	return facts.None[[]facts.Repository](source)
}

// repositoryLines are the enabled repositories in one line each: "deb URL SUITE COMPONENT..." or "ID URL".
func repositoryLines(all facts.Field[[]facts.Repository]) facts.Field[[]string] {
	var lines []string
	for _, r := range all.Value {
		switch {
		case !r.Enabled || r.URL == "":
		case r.Kind == "apt":
			lines = append(lines, strings.Join(append([]string{"deb", r.URL, r.Suite}, r.Components...), " "))
		default:
			lines = append(lines, r.ID+" "+r.URL)
		}
	}
	switch {
	case len(lines) > 0:
		return facts.Is(lines, all.Source)
	case all.IsKnown(), all.IsAbsent():
		return facts.None[[]string](all.Source)
	}
	return facts.Field[[]string]{Source: all.Source, Error: all.Error}
}

var urlSecret = regexp.MustCompile(`://[^/@\s]*@`)

// withoutCredentials removes user information and the query from a URL.
func withoutCredentials(text string) string {
	text = urlSecret.ReplaceAllString(text, "://")
	words := strings.Fields(text)
	for i, word := range words {
		if strings.Contains(word, "://") {
			words[i], _, _ = strings.Cut(word, "?")
		}
	}
	return strings.Join(words, " ")
}

// parseSourcesList reads sources.list(5), one source a line: "deb [options] URI suite component...".
func parseSourcesList(file, text string) []facts.Repository {
	var out []facts.Repository
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "deb" {
			continue // deb-src is of no use here
		}
		options := ""
		if strings.HasPrefix(words[1], "[") {
			end := slices.IndexFunc(words, func(w string) bool { return strings.HasSuffix(w, "]") })
			if end < 0 || end+2 >= len(words) {
				continue
			}
			options = strings.Trim(strings.Join(words[1:end+1], " "), "[]")
			words = append([]string{"deb"}, words[end+1:]...)
		}
		trusted := slices.Contains(strings.Fields(options), "trusted=yes")
		out = append(out, facts.Repository{
			Kind: "apt", File: file, URL: withoutCredentials(words[1]), Suite: words[2], Components: words[3:], Enabled: true,
			Signed: facts.Is(!trusted, file),
		})
	}
	return out
}

// parseDeb822Sources reads the paragraphs of a .sources file.
func parseDeb822Sources(file, text string) []facts.Repository {
	var out []facts.Repository
	for _, paragraph := range deb822(text) {
		if !slices.Contains(strings.Fields(paragraph["types"]), "deb") {
			continue
		}
		for _, uri := range strings.Fields(paragraph["uris"]) {
			for _, suite := range strings.Fields(paragraph["suites"]) {
				out = append(out, facts.Repository{
					Kind: "apt", File: file, URL: withoutCredentials(uri), Suite: suite, Components: strings.Fields(paragraph["components"]),
					Enabled: !isNo(paragraph["enabled"]), Signed: facts.Is(!isYes(paragraph["trusted"]), file),
				})
			}
		}
	}
	return out
}

// deb822 splits text into paragraphs of lower-case keys. A line that begins with a blank continues
// the value.
func deb822(text string) []map[string]string {
	var out []map[string]string
	var current map[string]string
	key := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.TrimSpace(line) == "":
			current, key = nil, ""
		case line[0] == '#':
		case line[0] == ' ' || line[0] == '\t':
			if key != "" {
				current[key] += " " + strings.TrimSpace(line)
			}
		default:
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				continue
			}
			if current == nil {
				current = map[string]string{}
				out = append(out, current)
			}
			key = strings.ToLower(strings.TrimSpace(name))
			current[key] = strings.TrimSpace(value)
		}
	}
	return out
}

// parseRepoFile reads a .repo file of dnf, yum and zypper.
func parseRepoFile(file, text string) []facts.Repository {
	var out []facts.Repository
	for _, section := range parseINI(text) {
		if section.name == "" || section.name == "main" {
			continue
		}
		v := section.values
		r := facts.Repository{Kind: "rpm", ID: section.name, File: file, Enabled: v["enabled"] == "" || !isNo(v["enabled"])}
		for _, key := range []string{"baseurl", "mirrorlist", "metalink"} {
			if words := fieldsOrCommas(v[key]); r.URL == "" && len(words) > 0 {
				r.URL = withoutCredentials(words[0])
			}
		}
		if patterns := append(fieldsOrCommas(v["exclude"]), fieldsOrCommas(v["excludepkgs"])...); len(patterns) > 0 {
			r.Excludes = patterns
		}
		if n, err := strconv.Atoi(v["priority"]); err == nil {
			r.Priority = n
		}
		if check := v["gpgcheck"]; check != "" {
			r.Signed = facts.Is(!isNo(check), file)
		} else {
			r.Signed = facts.Field[bool]{Source: file} // the main section says
		}
		out = append(out, r)
	}
	return out
}

// iniSection is one section of a file of dnf, yum or zypper.
type iniSection struct {
	name   string
	values map[string]string
}

// parseINI reads sections of "key = value" lines. A line that begins with a blank continues the value.
func parseINI(text string) []iniSection {
	var out []iniSection
	key := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		switch {
		case bare == "":
			key = ""
		case bare[0] == '#' || bare[0] == ';':
		case bare[0] == '[' && strings.HasSuffix(bare, "]"):
			out, key = append(out, iniSection{bare[1 : len(bare)-1], map[string]string{}}), ""
		case len(out) == 0:
		case line[0] == ' ' || line[0] == '\t':
			if key != "" {
				out[len(out)-1].values[key] += " " + bare
			}
		default:
			name, value, ok := strings.Cut(bare, "=")
			if key = ""; ok {
				key = strings.TrimSpace(name)
				out[len(out)-1].values[key] = strings.TrimSpace(value)
			}
		}
	}
	return out
}

func fieldsOrCommas(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
}

func isNo(s string) bool {
	return slices.Contains([]string{"0", "no", "false", "off"}, strings.ToLower(strings.TrimSpace(s)))
}

func isYes(s string) bool {
	return slices.Contains([]string{"1", "yes", "true", "on"}, strings.ToLower(strings.TrimSpace(s)))
}
