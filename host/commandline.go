package host

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// isCommandLine says that a text is a kernel command line or holds one.
func isCommandLine(source string) bool {
	return strings.HasSuffix(source, "/cmdline") || strings.HasPrefix(source, "dmesg") || strings.HasPrefix(source, "journalctl") ||
		strings.Contains(source, "/boot/loader/") || strings.Contains(source, "grub") || strings.HasPrefix(source, "/etc/kernel/")
}

var (
	// passwd/root-password is one of debian-installer's
	argumentName = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)
	// ",pass=", "rootflags=user=", "?token="
	argument = regexp.MustCompile(`([A-Za-z0-9][A-Za-z0-9_.-]*)=`)
	// iscsi:user:password@server, user:password@proxy; a "/" before the "@" is part of a path
	userBefore = regexp.MustCompile(`[^\s/@="',:]*:[^\s/"']*@|\biscsi:[^\s"']*@`)
)

// cleanCommandLine takes credentials out of one line. As the kernel does, it reads blanks between
// double quotes as part of an argument, and a quote that is not closed to the end.
func cleanCommandLine(line string) string {
	body := strings.TrimRight(line, "\r\n")
	ending := line[len(body):]
	var b strings.Builder
	for body != "" {
		n := len(body) - len(strings.TrimLeft(body, " \t"))
		b.WriteString(body[:n])
		body = body[n:]
		n = argumentLength(body)
		b.WriteString(cleanArgument(body[:n]))
		body = body[n:]
	}
	return b.String() + ending
}

// argumentLength is the length of the first argument.
func argumentLength(s string) int {
	quote := byte(0)
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case c == '"' && (i == 0 || s[i-1] != '\\'), c == '\'' && i > 0 && s[i-1] == '=': // ' in GRUB's files only
			quote = c
		case c == ' ' || c == '\t':
			return i
		}
	}
	return len(s)
}

func cleanArgument(word string) string {
	quoted := strings.HasPrefix(word, `"`)
	body := strings.TrimPrefix(word, `"`)
	name, value, ok := strings.Cut(body, "=")
	if !ok {
		return userBefore.ReplaceAllStringFunc(word, hideUser)
	}
	if quoted {
		value = strings.TrimSuffix(value, `"`)
	}
	if secretArgument(path.Base(name), value) && argumentName.MatchString(name) {
		if quoted {
			if strings.HasSuffix(body, `"`) {
				return `"` + name + "=" + hidden + `"`
			}
			return `"` + name + "=" + hidden
		}
		return name + "=" + hidden
	}
	word = cleanInner(word)
	if slices.Contains(offsets(), name) {
		return word
	}
	return userBefore.ReplaceAllStringFunc(word, hideUser)
}

// cleanInner hides credentials among the values of one argument: options of a mount, parameters of
// a URL, and arguments within GRUB_CMDLINE_LINUX="...".
func cleanInner(word string) string {
	var b strings.Builder
	last := 0
	for _, m := range argument.FindAllStringSubmatchIndex(word, -1) {
		start, end := m[0], m[1]
		if start < last {
			continue
		}
		value := pairValue.FindString(word[end:])
		if start > 0 && strings.IndexByte("?&;", word[start-1]) >= 0 {
			value = queryValue.FindString(word[end:])
		}
		if !secretArgument(word[m[2]:m[3]], value) {
			continue
		}
		b.WriteString(word[last:end])
		b.WriteString(hidden)
		last = end + len(value)
	}
	b.WriteString(word[last:])
	return b.String()
}

func secretArgument(name, value string) bool {
	return value != "" && !isEmptyQuotes(value) && keyKind(name) != harmlessKey && (!kindIsWeak(name) || !isSwitch(value))
}

func hideUser(s string) string {
	if strings.HasPrefix(s, "zfs:") { // root=zfs:pool@snapshot
		return s
	}
	return hidden + "@"
}

// In these arguments "@" stands before an offset.
func offsets() []string {
	return []string{"crashkernel", "memmap", "cma", "mtdparts", "elfcorehdr", "ramoops"}
}
