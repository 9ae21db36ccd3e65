package strictyaml

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

var (
	syntaxLine    = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '([^']*)' referenced`)
)

// syntaxProblem finds the place of an error of yaml.v3 3.0.1, which tells a line in some messages
// only. Its parser, unlike its scanner, counts lines from 0.
func syntaxProblem(file string, data []byte, err error) Problem {
	pos := Pos{File: file, Line: 1, Column: 1}
	text := err.Error()
	if m := syntaxLine.FindStringSubmatch(text); m != nil {
		text = m[2]
		if line, convErr := strconv.Atoi(m[1]); convErr == nil && line > 0 {
			if strings.HasPrefix(text, "did not find expected") {
				line++
			}
			last := bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n")) + 1
			pos.Line = max(min(line, last), 1)
			return Problem{pos, "not valid YAML: " + text}
		}
	}
	at := -1
	if m := unknownAnchor.FindStringSubmatch(text); m != nil {
		alias := regexp.MustCompile(`(?:^|[\s\[{,:])(\*` + regexp.QuoteMeta(m[1]) + `)(?:$|[\s\]},])`)
		if found := alias.FindSubmatchIndex(data); found != nil {
			at = found[2]
		}
	} else if strings.Contains(text, "UTF-8") || strings.Contains(text, "control character") {
		at = badCharacter(data)
	}
	if at >= 0 {
		pos.Line = bytes.Count(data[:at], []byte("\n")) + 1
		pos.Column = utf8.RuneCount(data[bytes.LastIndexByte(data[:at], '\n')+1:at]) + 1
	}
	if m := unknownAnchor.FindStringSubmatch(text); m != nil && !safeWord.MatchString(m[1]) {
		text = "an anchor is unknown"
	}
	return Problem{pos, "not valid YAML: " + text}
}

// badCharacter is the offset of the first character that YAML forbids, -1 if there is none.
func badCharacter(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		control := r < ' ' && r != '\t' && r != '\n' && r != '\r' || r >= 0x7f && r < 0xa0 && r != 0x85
		if r == utf8.RuneError && size == 1 || control || r == 0xfffe || r == 0xffff {
			return i
		}
		i += size
	}
	return -1
}
