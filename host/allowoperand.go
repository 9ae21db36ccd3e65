package host

import "strings"

// The kinds of operands. None starts with "-" or has a NUL byte. They are written out, not as regular
// expressions: a question about packages has a hundred of them.

// anyWord is any text.
func anyWord(s string) bool { return s != "" && s[0] != '-' && s[0] != 0 }

// noSet is a text that assigns nothing.
func noSet(s string) bool { return anyWord(s) && !strings.ContainsAny(s, "=\x00") }

// noFlag is a match of a field, as _PID=1.
func noFlag(s string) bool {
	name, value, ok := strings.Cut(s, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" && strings.IndexByte(value, 0) < 0
}

// device is the name or path of one.
func device(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '/':
		case i > 0 && (c == '.' || c == ':' || c == '@' || c == '-'):
		default:
			return false
		}
	}
	return s != ""
}

// packageWord is the name of a package and nothing else: no file, no address, no pattern.
func packageWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_':
		case i > 0 && (c == '.' || c == '+' || c == '-'):
		default:
			return false
		}
	}
	return s != ""
}

// solverWord is a package in a version, as solvers take it: with an epoch, "=" and what versions have. It is no
// file, no address and no pattern, and asks for no group.
func solverWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_':
		case i > 0 && (c == '.' || c == '+' || c == '-' || c == '=' || c == ':' || c == '~' || c == '^'):
		default:
			return false
		}
	}
	return s != "" && !strings.HasSuffix(s, ".rpm")
}

// zypperWord is a solverWord, or one with "!" before it, which is to be removed.
func zypperWord(s string) bool { return solverWord(strings.TrimPrefix(s, "!")) }

// rpmWord is a package, capability or file, and no address: rpm fetches what has "://". A colon may only
// be the last character, or stand with one that is no slash.
func rpmWord(s string) bool {
	if s == "" || s[0] == '-' {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] == 0 {
			return false
		}
		if s[i] != ':' {
			continue
		}
		i++
		if i == len(s) {
			return i > 1
		}
		if s[i] == '/' || s[i] == 0 {
			return false
		}
	}
	return true
}
