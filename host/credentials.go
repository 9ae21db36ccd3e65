package host

import (
	"regexp"
	"strings"
)

// hidden stands for a credential.
const hidden = "REDACTED"

var (
	// scheme://user:password@host and //user:password@host; the user alone may be a token
	userinfo = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s/@"'<>]+(?:@[^\s/@"'<>]*)*@|(//)[^\s/@:"'<>]+:[^\s/"'<>]*@`)
	// scheme://user:pass/word@host, where the slash should have been written as %2F
	userinfoSlash = regexp.MustCompile(`(//[^\s/@:"'<>\[\]]+:)([^\s@"'<>/]*)/[^\s@"'<>]*@`)
	port          = regexp.MustCompile(`^\d*$`)
	// "me:password@proxy" without a scheme, as in a proxy's setting
	userinfoBare = regexp.MustCompile(`(^|[\s"'=])[^\s/@:"'=,<>]+:[^\s/@:"'<>,]+@([A-Za-z0-9\[])`)

	// password=..., proxy_password = ..., --token=..., "secret": "...", api_key: ...
	pair          = regexp.MustCompile(`([A-Za-z0-9][A-Za-z0-9_.-]*)(["']?)([ \t]*)([=:])([ \t]*)`)
	pairValue     = regexp.MustCompile(`^(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|\\"[^\n]*?\\"|["'][^\n]*|[^\s"'&;,]+)`)
	queryValue    = regexp.MustCompile(`^[^\s"'&;]+`)
	authorization = regexp.MustCompile(`(?i)(authorization["']?[ \t]*[:=][ \t]*["']?(?:(?:basic|bearer|token|digest)[ \t]+)?)[A-Za-z0-9+/=._~-]+`)
	aptAuth       = regexp.MustCompile(`(?i)(\b(?:login|password)[ \t]+)\S+`)
	pemKey        = regexp.MustCompile(`(?s)(-----BEGIN [A-Z ]*PRIVATE KEY-----\n).*?(-----END [A-Z ]*PRIVATE KEY-----|$)`)
	longOption    = regexp.MustCompile(`(?i)(--?[a-z-]*(?:password|passwd|passphrase|token|secret)[ \t]+)("[^"\n]*"?|'[^'\n]*'?|[^\s-]\S*)`)
	// crypt(5)
	cryptHash = regexp.MustCompile(`\$(?:1|2[abxy]|5|6|7|y|gy|md5)\$[^:\s"']+`)
)

// CleanCredentials takes passwords, tokens, keys and hashes of passwords out of a text and keeps its
// lines; what is harmless stays as it is, and cleaning twice is the same as once. Source is the path
// or the command line that the text comes from: on a kernel command line more is a credential than
// elsewhere.
func CleanCredentials(source, text string) string {
	text = pemKey.ReplaceAllStringFunc(text, func(block string) string {
		lines := strings.Split(block, "\n")
		for i := 1; i < len(lines)-1; i++ {
			lines[i] = hidden
		}
		if last := len(lines) - 1; last > 0 && !strings.HasPrefix(lines[last], "-----END") && lines[last] != "" {
			lines[last] = hidden
		}
		return strings.Join(lines, "\n")
	})
	text = userinfo.ReplaceAllString(text, "${1}${2}"+hidden+"@")
	text = userinfoSlash.ReplaceAllStringFunc(text, func(s string) string {
		m := userinfoSlash.FindStringSubmatch(s)
		if port.MatchString(m[2]) { // http://host:8080/a@b
			return s
		}
		return "//" + hidden + "@"
	})
	text = authorization.ReplaceAllString(text, "${1}"+hidden)
	if isCommandLine(source) {
		lines := strings.SplitAfter(text, "\n")
		for i, line := range lines {
			lines[i] = cleanCommandLine(line)
		}
		text = strings.Join(lines, "")
	}
	if !strings.HasSuffix(source, "/cmdline") {
		text = cleanPairs(text)
		text = longOption.ReplaceAllString(text, "${1}"+hidden)
	}
	if !isCommandLine(source) {
		text = userinfoBare.ReplaceAllString(text, "${1}"+hidden+"@${2}")
	}
	text = cryptHash.ReplaceAllString(text, hidden)
	if strings.Contains(source, "/apt/auth.conf") || strings.HasSuffix(source, "netrc") {
		text = aptAuth.ReplaceAllString(text, "${1}"+hidden)
	}
	return text
}

// cleanPairs hides the values of keys that name a credential, in files of settings, JSON, headers
// and queries of URLs.
func cleanPairs(text string) string {
	var b strings.Builder
	last := 0
	for _, m := range pair.FindAllStringSubmatchIndex(text, -1) {
		start, end := m[0], m[1]
		if start < last {
			continue // within a value that is hidden already
		}
		key, separator := text[m[2]:m[3]], text[m[8]]
		query := start > 0 && strings.IndexByte("?&", text[start-1]) >= 0
		lineStart := strings.LastIndexByte(text[:start], '\n') + 1
		first := strings.Trim(text[lineStart:start], " \t") == ""
		if separator == '=' && m[10] != m[11] && m[6] == m[7] && !first {
			continue // "password= quiet": the value is empty
		}
		var value string
		switch kind := keyKind(key); {
		case separator == ':' && kind != certainKey:
			continue
		case query && kind != harmlessKey:
			value = queryValue.FindString(text[end:])
		case kind == certainKey, kind == mostlyKey, kind == likelyKey:
			value = pairValue.FindString(text[end:])
		default:
			continue
		}
		if first && separator == '=' && value != "" { // a setting: the value is the rest of the line
			value, _, _ = strings.Cut(text[end:], "\n")
			value = strings.TrimRight(value, "\r")
		}
		if value == "" || isEmptyQuotes(value) || kindIsWeak(key) && isSwitch(value) {
			continue
		}
		b.WriteString(text[last:end])
		b.WriteString(hidden)
		last = end + len(value)
	}
	b.WriteString(text[last:])
	return b.String()
}

func isEmptyQuotes(value string) bool { return value == `""` || value == "''" }
