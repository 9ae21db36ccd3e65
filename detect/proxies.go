package detect

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// The users of proxies.
const (
	aptProxy    = "apt"
	dnfProxy    = "dnf"
	yumProxy    = "yum"
	zypperProxy = "zypper"
	environment = "environment"
)

// proxyReader collects the settings of proxies from several places.
type proxyReader struct {
	probe
	found  []facts.Proxy
	unread map[string]string
	failed error
	silent bool // some place was not told, so that nothing found is not nothing there
}

// proxies lists what downloads go through: what apt, dnf, yum and zypper are configured with, and the
// environment of this process. Credentials in them are left out.
func (p probe) proxies(d facts.Distro, unread map[string]string) facts.Field[[]facts.Proxy] {
	const source = "the package manager's configuration and the environment"
	r := &proxyReader{probe: p, unread: unread}
	family := d.Family.Or("")
	if family != "rhel" && family != "suse" {
		r.apt()
	}
	if family != "debian" {
		r.rpm()
	}
	if !p.told.IsImage() { // the environment here is not the image's
		r.environment()
	}
	switch {
	case len(r.found) > 0:
		return facts.Is(r.found, source)
	case r.failed != nil:
		return facts.Failed[[]facts.Proxy](source, r.failed)
	case r.silent:
		return facts.Field[[]facts.Proxy]{Source: source}
	}
	return facts.None[[]facts.Proxy](source)
}

// text reads a file of the configuration; a file with a proxy's password is often closed to other users.
func (r *proxyReader) text(file string) (string, bool) {
	text, err := r.probe.text(file)
	return text, r.told(file, err)
}

func (r *proxyReader) told(place string, err error) bool {
	switch {
	case err == nil:
		return true
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, host.ErrUnknown):
		r.silent = true
	default:
		r.failed, r.unread[place] = err, err.Error()
	}
	return false
}

// names lists a directory of the configuration.
func (r *proxyReader) names(dir string) []string {
	names, complete, err := r.listed(dir)
	if r.told(dir, err) && !complete {
		r.silent = true
	}
	return names
}

var aptPart = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// apt reads the parts in the order of their names and apt.conf last, as apt does: a later setting wins.
func (r *proxyReader) apt() {
	const dir = "/etc/apt/apt.conf.d"
	set := map[string]facts.Proxy{}
	read := func(file string) {
		text, ok := r.text(file)
		if !ok {
			return
		}
		for _, s := range parseAptConf(text) {
			applyAptProxy(set, s, file)
		}
	}
	for _, name := range r.names(dir) {
		if ext := path.Ext(name); aptPart.MatchString(name) && (ext == "" || ext == ".conf") {
			read(path.Join(dir, name))
		}
	}
	read("/etc/apt/apt.conf")
	var all []facts.Proxy
	for _, proxy := range set {
		if proxy.URL != "" || proxy.Direct || proxy.Program != "" {
			all = append(all, proxy)
		}
	}
	slices.SortFunc(all, func(a, b facts.Proxy) int {
		return cmp.Or(strings.Compare(a.Scheme, b.Scheme), strings.Compare(a.Host, b.Host), strings.Compare(a.Program, b.Program))
	})
	r.found = append(r.found, all...)
}

// aptSetting is one line of apt.conf(5) with the whole of its name, lower case where apt does not care.
type aptSetting struct {
	name  []string
	value string
	clear bool
}

// applyAptProxy takes Acquire::SCHEME::Proxy, its like for one host, and Proxy-Auto-Detect.
func applyAptProxy(set map[string]facts.Proxy, s aptSetting, file string) {
	n := s.name
	if len(n) == 0 || n[0] != "acquire" {
		return
	}
	if s.clear {
		for key := range set {
			if under := strings.Split(key, " "); len(n) <= len(under) && slices.Equal(n, under[:len(n)]) {
				delete(set, key)
			}
		}
		return
	}
	if len(n) < 3 || len(n) > 4 || !slices.Contains([]string{"http", "https", "ftp"}, n[1]) {
		return
	}
	proxy := facts.Proxy{For: aptProxy, Scheme: n[1], Source: file}
	switch n[2] {
	case "proxy":
		if len(n) == 4 {
			proxy.Host = n[3]
		}
		proxy.Direct = strings.EqualFold(s.value, "direct") || s.value == "false"
		if !proxy.Direct {
			proxy.URL = proxyAddress(s.value)
		}
	case "proxy-auto-detect", "proxyautodetect":
		if len(n) == 3 {
			proxy.Program = withoutCredentials(s.value)
		}
	default:
		return
	}
	set[strings.Join(n, " ")] = proxy
}

// parseAptConf reads apt.conf(5): NAME VALUE; and NAME { ... }; with // and /* */ for comments, and # at the
// begin of a line. #include is not followed.
func parseAptConf(text string) []aptSetting {
	var out []aptSetting
	var scope [][]string
	var words []string
	clearing := false
	full := func(name string) []string {
		var all []string
		for _, part := range append(slices.Concat(scope...), strings.Split(name, "::")...) {
			if part != "" {
				all = append(all, strings.ToLower(part))
			}
		}
		return all
	}
	finish := func() {
		if clearing {
			for _, word := range words {
				out = append(out, aptSetting{name: full(word), clear: true})
			}
		} else if len(words) > 1 {
			out = append(out, aptSetting{name: full(words[0]), value: words[1]})
		}
		words, clearing = nil, false
	}
	for _, token := range aptTokens(text) {
		switch {
		case token.quoted:
			words = append(words, token.text)
		case token.text == "{":
			name := []string{}
			if len(words) > 0 {
				name = strings.Split(words[0], "::")
			}
			scope, words = append(scope, name), nil
		case token.text == "}":
			finish()
			if len(scope) > 0 {
				scope = scope[:len(scope)-1]
			}
		case token.text == ";":
			finish()
		case token.text == "#clear":
			words, clearing = nil, true
		default:
			words = append(words, token.text)
		}
	}
	finish()
	return out
}

type aptToken struct {
	text   string
	quoted bool
}

func aptTokens(text string) []aptToken {
	var out []aptToken
	start := true // of a line
	for i := 0; i < len(text); {
		rest := text[i:]
		switch c := text[i]; {
		case c == '\n':
			start = true
			i++
			continue
		case strings.IndexByte(" \t\r", c) >= 0:
			i++
			continue
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest, "*/")
			if end < 0 {
				return out
			}
			i += end + len("*/")
		case strings.HasPrefix(rest, "//"), start && c == '#' && !strings.HasPrefix(strings.ToLower(rest), "#clear"):
			i += lineEnd(rest)
		case c == '"':
			end := strings.IndexAny(rest[1:], "\"\n")
			if end < 0 {
				return out
			}
			out = append(out, aptToken{rest[1 : end+1], true})
			i += end + 1
			if text[i] == '"' {
				i++
			}
		case strings.IndexByte("{};", c) >= 0:
			out = append(out, aptToken{text: string(c)})
			i++
		default:
			end := strings.IndexAny(rest, " \t\r\n\"{};")
			if end < 0 {
				end = len(rest)
			}
			if slashes := strings.Index(rest[:end], "//"); slashes > 0 {
				end = slashes // a comment, also in http://... that should have been quoted
			}
			word := rest[:end]
			if strings.EqualFold(word, "#clear") {
				word = "#clear"
			}
			out = append(out, aptToken{text: word})
			i += end
		}
		start = false
	}
	return out
}

func lineEnd(text string) int {
	if end := strings.IndexByte(text, '\n'); end >= 0 {
		return end
	}
	return len(text)
}

// rpm reads the configuration of dnf, yum and zypper.
func (r *proxyReader) rpm() {
	main := func(file, by string) {
		text, ok := r.text(file)
		if !ok {
			return
		}
		for _, section := range parseINI(text) {
			if section.name == "main" {
				r.add(rpmProxy(by, "", section.values["proxy"], file))
			}
		}
	}
	main("/etc/dnf/dnf.conf", dnfProxy)
	// From EL 8 on it is a link to dnf.conf.
	if _, err := r.r.Readlink("/etc/yum.conf"); err != nil {
		main("/etc/yum.conf", yumProxy)
	}
	for _, dir := range []struct{ path, by string }{{"/etc/yum.repos.d", dnfProxy}, {"/etc/zypp/repos.d", zypperProxy}} {
		for _, name := range r.names(dir.path) {
			file := path.Join(dir.path, name)
			if path.Ext(name) != ".repo" {
				continue
			}
			text, ok := r.text(file)
			if !ok {
				continue
			}
			for _, section := range parseINI(text) {
				if section.name != "" && section.name != "main" && (section.values["enabled"] == "" || !isNo(section.values["enabled"])) {
					r.add(rpmProxy(dir.by, section.name, section.values["proxy"], file))
				}
			}
		}
	}
	const suse = "/etc/sysconfig/proxy"
	if text, ok := r.text(suse); ok {
		r.found = append(r.found, parseSysconfigProxy(text, suse)...)
	}
}

// add takes a setting that says something.
func (r *proxyReader) add(p facts.Proxy) {
	if p.URL != "" || p.Direct || len(p.Except) > 0 {
		r.found = append(r.found, p)
	}
}

// rpmProxy reads proxy= of dnf.conf(5) and yum.conf(5); "_none_" and, of dnf, an empty value lift it for one
// repository.
func rpmProxy(by, repository, value, file string) facts.Proxy {
	p := facts.Proxy{For: by, Scheme: "all", Repository: repository, Source: file}
	if value == "_none_" {
		p.Direct = true
		return p
	}
	p.URL = proxyAddress(value)
	return p
}

// parseSysconfigProxy reads the file of YaST, which libzypp goes by as well, unless it is switched off.
func parseSysconfigProxy(text, file string) []facts.Proxy {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && !strings.HasPrefix(key, "#") {
			values[key] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	if isNo(values["PROXY_ENABLED"]) {
		return nil
	}
	var out []facts.Proxy
	for _, one := range []struct{ key, scheme string }{{"HTTP_PROXY", "http"}, {"HTTPS_PROXY", "https"}, {"FTP_PROXY", "ftp"}, {"SOCKS_PROXY", "socks"}} {
		if url := proxyAddress(values[one.key]); url != "" {
			out = append(out, facts.Proxy{For: zypperProxy, Scheme: one.scheme, URL: url, Source: file})
		}
	}
	if except := exceptions(values["NO_PROXY"]); len(out) > 0 && len(except) > 0 {
		out = append(out, facts.Proxy{For: zypperProxy, Scheme: "all", Except: except, Source: file})
	}
	return out
}

// environment reads the variables that programs such as curl, and apt without a setting of its own, go by.
func (r *proxyReader) environment() {
	const file = "/proc/self/environ"
	text, err := r.probe.environment(file, "_proxy=", proxyVariable)
	source := file
	if err != nil {
		if told, from := r.firstTold("env", "printenv"); told != "" {
			text, source, err = told, from, nil
		}
	}
	if !r.told(file, silence(err)) {
		return
	}
	var out []facts.Proxy
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		scheme, isProxy := strings.CutSuffix(strings.ToLower(key), "_proxy")
		if !ok || !isProxy {
			continue
		}
		p := facts.Proxy{For: environment, Scheme: scheme, Source: key + " of " + source}
		switch scheme {
		case "http", "https", "ftp", "socks", "all":
			p.URL = proxyAddress(value)
		case "no":
			p.Scheme, p.Except = "all", exceptions(value)
		default:
			continue
		}
		// HTTPS_PROXY beside https_proxy says the same, as a rule.
		if p.URL == "" && len(p.Except) == 0 || slices.ContainsFunc(out, func(o facts.Proxy) bool {
			return o.Scheme == p.Scheme && o.URL == p.URL && slices.Equal(o.Except, p.Except)
		}) {
			continue
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b facts.Proxy) int { return strings.Compare(a.Source, b.Source) })
	r.found = append(r.found, out...)
}

// proxyVariable keeps a proxy's variable of an environment, without its credentials.
func proxyVariable(one string) (string, bool) {
	key, value, ok := strings.Cut(one, "=")
	lower := strings.ToLower(key)
	if !ok || !strings.HasSuffix(lower, "_proxy") {
		return "", false
	}
	switch strings.TrimSuffix(lower, "_proxy") {
	case "no":
		return key + "=" + strings.Join(exceptions(value), ","), true
	case "http", "https", "ftp", "socks", "all":
		return key + "=" + proxyAddress(value), true
	}
	return "", false
}

var proxyScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// proxyAddress is the scheme, host and port of a proxy. All before the last "@" is user and password, which
// may hold any character; behind the host nothing has a meaning.
func proxyAddress(text string) string {
	text = strings.Trim(strings.TrimSpace(text), `"'`)
	scheme := proxyScheme.FindString(text)
	rest := text[len(scheme):]
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	if end := strings.IndexAny(rest, "/?# \t\r\n"); end >= 0 {
		rest = rest[:end]
	}
	if rest == "" {
		return ""
	}
	return scheme + rest
}

// exceptions are the entries of a no_proxy. None of them has credentials.
func exceptions(text string) []string {
	var out []string
	for _, one := range strings.FieldsFunc(strings.Trim(text, `"'`), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' || r == '\r' }) {
		if at := strings.LastIndexByte(one, '@'); at >= 0 {
			one = one[at+1:]
		}
		if one != "" {
			out = append(out, one)
		}
	}
	return out
}
