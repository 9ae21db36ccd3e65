package install

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// width is the widest line for a person, in characters.
const width = 100

// wrapped is text in lines of at most width characters, those after the first behind indent. A word
// that is longer stays whole: paths must be copied as one. What could steer a terminal is replaced,
// since the text may be that of a program.
func wrapped(text, indent string) string {
	var out strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		word = strings.Map(printable, word)
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > width:
			out.WriteString("\n" + indent)
			column = utf8.RuneCountInString(indent)
		default:
			out.WriteString(" ")
			column++
		}
		out.WriteString(word)
		column += n
	}
	return out.String() + "\n"
}

// shortened is text in one line of at most n characters.
func shortened(text string, n int) string {
	line := []rune(strings.Map(printable, strings.Join(strings.Fields(text), " ")))
	if len(line) <= n {
		return string(line)
	}
	return string(line[:n-3]) + "..."
}

func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return '?'
}
