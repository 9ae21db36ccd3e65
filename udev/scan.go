package udev

import "strings"

// pos is a place in a file, both counted from 1; columns are bytes.
type pos struct{ line, column int }

// token is a Token with its place.
type token struct {
	Token
	attr     string // text in braces after the key; Key is without it
	hasAttr  bool
	at       pos // of the key
	opAt     pos
	valueAt  pos
	trailing bool // a comma follows and then nothing
}

func (t token) name() string {
	if t.hasAttr {
		return t.Key + "{" + t.attr + "}"
	}
	return t.Key
}

func (t token) match() bool { return t.Op == "==" || t.Op == "!=" }

// logicalLine is a rule that may take several lines, each but the last ending in a backslash.
type logicalLine struct {
	text string
	at   []pos // of each byte of text, and of its end
}

func logicalLines(text string) []logicalLine {
	var lines []logicalLine
	var cur logicalLine
	flush := func(end pos) {
		if strings.TrimSpace(cur.text) != "" {
			cur.at = append(cur.at, end)
			lines = append(lines, cur)
		}
		cur = logicalLine{}
	}
	n := 0
	var end pos
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		end = pos{n, len(line) + 1}
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") {
			continue // udev drops comment lines, also between continued lines
		}
		body, more := strings.CutSuffix(line, `\`)
		cur.text += body
		for i := range len(body) {
			cur.at = append(cur.at, pos{n, i + 1})
		}
		if !more {
			flush(end)
		}
	}
	flush(end)
	return lines
}

// scan cuts a line into tokens; the problem is where it cannot go on.
func (l logicalLine) scan() ([]token, *Problem) {
	var tokens []token
	i := 0
	fail := func(at int, code, text string) ([]token, *Problem) {
		return tokens, &Problem{Line: l.at[at].line, Column: l.at[at].column, Code: code, Text: text}
	}
	skip := func(set string) bool {
		start := i
		for i < len(l.text) && strings.IndexByte(set, l.text[i]) >= 0 {
			i++
		}
		return i > start
	}
	for {
		start := i
		skip(" \t,")
		if i == len(l.text) {
			if len(tokens) > 0 && strings.Contains(l.text[start:], ",") {
				tokens[len(tokens)-1].trailing = true
			}
			return tokens, nil
		}
		var t token
		t.at = l.at[i]
		keyAt := i
		for i < len(l.text) && (l.text[i] >= 'A' && l.text[i] <= 'Z' || l.text[i] == '_') {
			i++
		}
		t.Key = l.text[keyAt:i]
		if t.Key == "" {
			return fail(keyAt, "syntax", "a key in capital letters is expected")
		}
		if i < len(l.text) && l.text[i] == '{' {
			end := strings.IndexByte(l.text[i:], '}')
			if end < 0 {
				return fail(i, "unbalanced", "the brace is not closed")
			}
			t.attr, t.hasAttr = l.text[i+1:i+end], true
			i += end + 1
		}
		skip(" \t")
		t.opAt = l.at[i]
		opAt := i
		for _, op := range []string{"==", "!=", "+=", "-=", ":=", "="} {
			if strings.HasPrefix(l.text[i:], op) {
				t.Op = op
				i += len(op)
				break
			}
		}
		if t.Op == "" {
			return fail(opAt, "syntax", "an operator is expected after "+t.name()+": == != = += -= :=")
		}
		skip(" \t")
		t.valueAt = l.at[i]
		escaped := i+1 < len(l.text) && (l.text[i] == 'e' || l.text[i] == 'i') && l.text[i+1] == '"'
		if escaped {
			i++
		}
		if i == len(l.text) || l.text[i] != '"' {
			return fail(i, "syntax", "a value in double quotes is expected for "+t.name())
		}
		open := i
		i++
		valueAt := i
		for i < len(l.text) && l.text[i] != '"' {
			if l.text[i] == '\\' && i+1 < len(l.text) && (escaped || l.text[i+1] == '"') {
				i++
			}
			i++
		}
		if i >= len(l.text) {
			return fail(open, "unbalanced", "the quote of "+t.name()+" is not closed")
		}
		t.Value = l.text[valueAt:i]
		i++
		if i < len(l.text) && strings.IndexByte(" \t,", l.text[i]) < 0 {
			return fail(i, "unbalanced", "a comma is expected after the value of "+t.name())
		}
		tokens = append(tokens, t)
	}
}
