package udev

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Options change what Lint takes for a problem.
type Options struct {
	// AllowUmad accepts rules that open umad and issm to others than root. A profile that sets it
	// must tell the user the risk.
	AllowUmad bool
}

// Problem is one thing that is wrong with a rules file.
type Problem struct {
	File         string
	Line, Column int // from 1, column in bytes
	// Code is a stable slug: syntax, unbalanced, unknown-key, operator, attribute, trailing-comma,
	// no-match, relative-program, mode, label, narrows-node, widens-node.
	Code string
	Text string
}

func (p Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s (%s)", p.File, p.Line, p.Column, p.Text, p.Code)
}

// use says how a key of udev(7) is used.
type use struct {
	match, assign bool
	ops           string // assignment operators beside "=", separated by blanks
	attr          int    // text in braces: 0 none, 1 optional, 2 required
}

// keyUse returns the use of a key; the list is that of udev(7) of systemd 257, in which keys have
// only been added since 204.
func keyUse(key string) (use, bool) {
	switch key {
	case "ACTION", "DEVPATH", "KERNEL", "KERNELS", "SUBSYSTEM", "SUBSYSTEMS", "DRIVER", "DRIVERS", "TAGS", "RESULT":
		return use{match: true}, true
	case "ATTRS", "CONST":
		return use{match: true, attr: 2}, true
	case "TEST":
		return use{match: true, attr: 1}, true
	case "PROGRAM": // "=" is read as "=="
		return use{match: true, assign: true}, true
	case "IMPORT":
		return use{match: true, assign: true, attr: 2}, true
	case "ATTR", "SYSCTL":
		return use{match: true, assign: true, attr: 2}, true
	case "ENV":
		return use{match: true, assign: true, ops: "+= :=", attr: 2}, true
	case "TAG":
		return use{match: true, assign: true, ops: "+= -= :="}, true
	case "SYMLINK":
		return use{match: true, assign: true, ops: "+= -= :="}, true
	case "NAME":
		return use{match: true, assign: true, ops: ":="}, true
	case "OWNER", "GROUP", "MODE":
		return use{assign: true, ops: ":="}, true
	case "SECLABEL":
		return use{assign: true, ops: "+= :=", attr: 2}, true
	case "RUN":
		return use{assign: true, ops: "+= :=", attr: 1}, true
	case "OPTIONS":
		return use{assign: true, ops: "+= :="}, true
	case "LABEL", "GOTO":
		return use{assign: true}, true
	}
	return use{}, false
}

// Lint checks the text of a rules file. Problems come in the order of the file.
func Lint(file string, text []byte, opts Options) []Problem {
	l := linter{opts: opts}
	for _, line := range logicalLines(string(text)) {
		tokens, problem := line.scan()
		if problem != nil {
			l.problems = append(l.problems, *problem)
		}
		if len(tokens) > 0 {
			l.rule(tokens, problem == nil)
		}
	}
	for _, t := range l.gotos {
		l.add(t.at, "label", "GOTO=%q has no LABEL after it", t.Value)
	}
	for i := range l.problems {
		l.problems[i].File = file
	}
	slices.SortStableFunc(l.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return l.problems
}

type linter struct {
	opts     Options
	problems []Problem
	gotos    []token // whose label has not come yet
	guards   []guard
}

func (l *linter) add(at pos, code, format string, args ...any) {
	l.problems = append(l.problems, Problem{Line: at.line, Column: at.column, Code: code, Text: fmt.Sprintf(format, args...)})
}

func (l *linter) rule(tokens []token, whole bool) {
	matches, assigns := 0, 0
	for _, t := range tokens {
		l.token(t)
		switch {
		case t.match() || t.Key == "PROGRAM" || t.Key == "IMPORT":
			matches++
		case t.Key == "LABEL":
			l.gotos = slices.DeleteFunc(l.gotos, func(g token) bool { return g.Value == t.Value })
			l.guards = slices.DeleteFunc(l.guards, func(g guard) bool { return g.label == t.Value })
		case t.Key == "GOTO":
			l.gotos = append(l.gotos, t)
		default:
			assigns++
		}
	}
	if last := tokens[len(tokens)-1]; last.trailing {
		l.add(last.at, "trailing-comma", "a comma follows %s and then nothing", last.name())
	}
	if whole && matches == 0 && assigns > 0 && len(l.guards) == 0 {
		l.add(tokens[0].at, "no-match", "the rule has no match: it applies to every device")
	}
	l.permissions(tokens)
	l.guards = append(l.guards, guardsOf(tokens)...)
}

func (l *linter) token(t token) {
	u, known := keyUse(t.Key)
	if !known {
		l.add(t.at, "unknown-key", "udev has no key %s", t.Key)
		return
	}
	switch {
	case t.hasAttr && u.attr == 0:
		l.add(t.at, "attribute", "%s takes nothing in braces", t.Key)
	case u.attr == 2 && t.attr == "":
		l.add(t.at, "attribute", "%s needs a name in braces", t.Key)
	}
	switch {
	case t.match() && !u.match:
		l.add(t.opAt, "operator", "%s can only be assigned: write = instead of %s", t.Key, t.Op)
	case !t.match() && !u.assign:
		l.add(t.opAt, "operator", "%s can only be compared: write == or != instead of %s", t.Key, t.Op)
	case !t.match() && t.Op != "=" && !slices.Contains(strings.Fields(u.ops), t.Op):
		l.add(t.opAt, "operator", "%s does not take %s", t.Key, t.Op)
	}
	switch t.Key {
	case "RUN":
		if t.attr != "builtin" && t.Value != "" && !strings.HasPrefix(t.Value, "/") && t.Value[0] != '$' && t.Value[0] != '%' {
			l.add(t.valueAt, "relative-program", "RUN of %q is not an absolute path", firstWord(t.Value))
		}
	case "MODE":
		if _, err := parseMode(t.Value); err != nil && !strings.ContainsAny(t.Value, "$%") {
			l.add(t.valueAt, "mode", "MODE %q is not an octal number up to 07777", t.Value)
		}
	}
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

func parseMode(s string) (uint32, error) {
	m, err := strconv.ParseUint(s, 8, 32)
	if err == nil && m > 0o7777 {
		err = strconv.ErrRange
	}
	return uint32(m), err
}
