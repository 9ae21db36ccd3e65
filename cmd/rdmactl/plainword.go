package main

import (
	"regexp"
	"strconv"
	"strings"
)

// plain is what a message may repeat of a file that may be another than the one that was meant: names, never a
// text that may be a secret.
var (
	plain        = regexp.MustCompile(`^[A-Za-z0-9_./-]{1,60}$`)
	unknownField = regexp.MustCompile(`^json: unknown field (".*")$`)
)

// plainWord quotes a name, and says of anything else only that it is none.
func plainWord(text string) string {
	if !plain.MatchString(text) {
		return "a text that is no name"
	}
	return strconv.Quote(text)
}

// kindWord is the kind of a JSON value, without the number that encoding/json puts behind it.
func kindWord(value string) string {
	kind, _, _ := strings.Cut(value, " ")
	return kind
}

// plainProblem is an error of encoding/json without what it repeats of the file.
func plainProblem(err error) string {
	if m := unknownField.FindStringSubmatch(err.Error()); m != nil {
		name, unquoteErr := strconv.Unquote(m[1])
		if unquoteErr != nil {
			name = ""
		}
		return "unknown field: " + plainWord(name)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
