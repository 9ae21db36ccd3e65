package host

import (
	"regexp"
	"strings"
)

// hidden stands for a credential.
const hidden = "REDACTED"

var (
	// scheme://user:password@host; the user alone may be a token
	userinfo = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s/@"'<>]+(?:@[^\s/@"'<>]*)*@`)
	// password=..., proxy_password = ..., --token=..., "secret": "...", api_key: ...
	secretPair = regexp.MustCompile(`(?i)((?:^|[\s"'?&;,{_.-])(?:[a-z0-9]+[_.-])*(?:password|passwd|passphrase|passwort|pwd|pass|token|secret|secretkey|apikey|api_key|` +
		`access_key|private_key|auth_key|psk|credentials?)["']?[ \t]*[=:][ \t]*)("[^"\n]*"|'[^'\n]*'|[^\s"'&;,]+)`)
	// key= is a credential on a kernel command line only: elsewhere it is the name of any setting.
	commandLineKey = regexp.MustCompile(`(?i)((?:^|[\s._-])(?:[a-z0-9]+[_.-])*key=)("[^"\n]*"|\S+)`)
	authorization  = regexp.MustCompile(`(?i)(authorization["']?[ \t]*[:=][ \t]*["']?(?:basic|bearer|token)?[ \t]*)[A-Za-z0-9+/=._~-]+`)
	aptAuth        = regexp.MustCompile(`(?i)(\b(?:login|password)[ \t]+)\S+`)
	pemKey         = regexp.MustCompile(`(?s)(-----BEGIN [A-Z ]*PRIVATE KEY-----\n).*?(-----END [A-Z ]*PRIVATE KEY-----|$)`)
	longOption     = regexp.MustCompile(`(?i)(--?[a-z-]*(?:password|passwd|token|secret)[ \t]+)([^\s-]\S*)`)
	shadowHash     = regexp.MustCompile(`\$(?:1|2[aby]|5|6|7|y|gy)\$[^:\s"']+`)
)

// scrub takes credentials out of a text, keeping its lines. Source is the path or command that the
// text comes from.
func scrub(source, text string) string {
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
	text = userinfo.ReplaceAllString(text, "${1}"+hidden+"@")
	text = secretPair.ReplaceAllString(text, "${1}"+hidden)
	text = authorization.ReplaceAllString(text, "${1}"+hidden)
	text = longOption.ReplaceAllString(text, "${1}"+hidden)
	text = shadowHash.ReplaceAllString(text, hidden)
	if strings.HasSuffix(source, "/cmdline") || strings.HasPrefix(source, "dmesg") || strings.HasPrefix(source, "journalctl") ||
		strings.Contains(source, "/boot/loader/") || strings.Contains(source, "grub") {
		text = commandLineKey.ReplaceAllString(text, "${1}"+hidden)
	}
	if strings.Contains(source, "/apt/auth.conf") || strings.HasSuffix(source, "netrc") {
		text = aptAuth.ReplaceAllString(text, "${1}"+hidden)
	}
	return text
}
