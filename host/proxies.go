package host

import (
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
)

// proxyLine is a setting of a proxy: http_proxy=..., NO_PROXY="...", proxy = ... of dnf.conf.
var proxyLine = regexp.MustCompile(`(?im)^([ \t]*(?:export[ \t]+)?(?:(?:https?|ftp|socks|all|no)_)?proxy[ \t]*=[ \t]*)(.*)$`)

// proxyHost is a host in such a setting: behind a scheme, before a port, with *. or . before a whole domain.
var proxyHost = regexp.MustCompile(`(^|[\s,"'/@]|\*?\.)([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)`)

// isEnvironment says that a text is variables of a process.
func isEnvironment(source string) bool {
	program, p := sourcePath(source)
	switch program {
	case "env", "printenv":
		return true
	case "grep", "echo", "cat", "":
		return path.Base(p) == "environ" || p == "$SSH_CONNECTION"
	}
	return false
}

// proxySites replaces the hosts in settings of proxies, which need no scheme before them there.
func (r *redactor) proxySites(text string) string {
	return proxyLine.ReplaceAllStringFunc(text, func(line string) string {
		m := proxyLine.FindStringSubmatch(line)
		return m[1] + replaceGroup2(proxyHost, m[2], func(name string) string {
			if !isProxyHost(name) {
				return name
			}
			return r.site(name)
		})
	})
}

// isProxyHost says that a word is the name of somebody's host. Numbers are ports and parts of networks.
func isProxyHost(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil {
		return false
	}
	words := []string{"http", "https", "ftp", "socks", "socks4", "socks5", "socks5h", "none", "_none_", "direct", "yes", "no", "true", "false"}
	return strings.Trim(name, "0123456789.") != "" && !publicSite(name) && !slices.Contains(words, strings.ToLower(name))
}

// replaceGroup2 replaces the second group of each match.
func replaceGroup2(re *regexp.Regexp, text string, replace func(string) string) string {
	var b strings.Builder
	last := 0
	for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[last:m[4]])
		b.WriteString(replace(text[m[4]:m[5]]))
		last = m[5]
	}
	return b.String() + text[last:]
}
