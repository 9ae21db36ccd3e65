package detect

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// repositories lists the configured package sources, without credentials.
func (p probe) repositories() facts.Field[[]string] {
	const source = "/etc/apt/sources.list.d, /etc/yum.repos.d, /etc/zypp/repos.d"
	var found []string
	var failed error
	told := false
	read := func(file string, parse func(string) []string) {
		text, err := p.text(file)
		switch {
		case err == nil:
			told = true
			found = append(found, parse(text)...)
		case errors.Is(err, fs.ErrNotExist):
			told = true
		case !errors.Is(err, host.ErrUnknown):
			failed = err
		}
	}
	read("/etc/apt/sources.list", parseSourcesList)
	for _, dir := range []string{"/etc/apt/sources.list.d", "/etc/yum.repos.d", "/etc/zypp/repos.d"} {
		names, complete, err := p.listed(dir)
		if errors.Is(err, fs.ErrNotExist) || complete {
			told = true
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
	switch {
	case len(found) > 0:
		return facts.Is(found, source)
	case failed != nil:
		return facts.Failed[[]string](source, failed)
	case !told:
		return facts.Field[[]string]{Source: source}
	}
	return facts.None[[]string](source)
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
func parseSourcesList(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "deb" {
			continue // deb-src is of no use here
		}
		if strings.HasPrefix(words[1], "[") {
			end := slices.IndexFunc(words, func(w string) bool { return strings.HasSuffix(w, "]") })
			if end < 0 || end+2 >= len(words) {
				continue
			}
			words = append([]string{"deb"}, words[end+1:]...)
		}
		out = append(out, withoutCredentials(strings.Join(words, " ")))
	}
	return out
}

// parseDeb822Sources reads the paragraphs of a .sources file as lines of the other form.
func parseDeb822Sources(text string) []string {
	var out []string
	for _, paragraph := range deb822(text) {
		if !slices.Contains(strings.Fields(paragraph["types"]), "deb") || strings.EqualFold(paragraph["enabled"], "no") {
			continue
		}
		for _, uri := range strings.Fields(paragraph["uris"]) {
			for _, suite := range strings.Fields(paragraph["suites"]) {
				words := append([]string{"deb", uri, suite}, strings.Fields(paragraph["components"])...)
				out = append(out, withoutCredentials(strings.Join(words, " ")))
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

// parseRepoFile reads a .repo file of dnf and zypper: "ID URL" of the sections that are enabled.
func parseRepoFile(text string) []string {
	var out []string
	section, url, enabled := "", "", true
	flush := func() {
		if section != "" && enabled && url != "" {
			out = append(out, withoutCredentials(section+" "+url))
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' && strings.HasSuffix(line, "]") {
			flush()
			section, url, enabled = line[1:len(line)-1], "", true
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "baseurl":
			url = value
		case "mirrorlist", "metalink":
			if url == "" {
				url = value
			}
		case "enabled":
			enabled = value != "0" && !strings.EqualFold(value, "false") && !strings.EqualFold(value, "no")
		}
	}
	flush()
	return out
}
