package kmod

import (
	"errors"
	"fmt"
	"strings"
)

// PersistFile is the text of a file of /etc/modules-load.d: the modules that systemd-modules-load
// loads at boot, in this order. header becomes comment lines; a name given twice is written once.
func PersistFile(names []string, header string) ([]byte, error) {
	if len(names) == 0 {
		return nil, errors.New("cannot write modules-load.d: no module named")
	}
	b, err := comment(header)
	if err != nil {
		return nil, fmt.Errorf("cannot write modules-load.d: %w", err)
	}
	seen := map[string]bool{}
	for _, name := range names {
		if err := CheckName(name); err != nil {
			return nil, fmt.Errorf("cannot write modules-load.d: %w", err)
		}
		if !seen[Normalize(name)] {
			seen[Normalize(name)] = true
			b = append(b, name+"\n"...)
		}
	}
	return b, nil
}

// Options are the parameters of one module.
type Options struct {
	Module string
	Params []string // "name=value", or "name" for a flag
}

// OptionsFile is the text of a file of /etc/modprobe.d with one options line for each module.
func OptionsFile(options []Options, header string) ([]byte, error) {
	if len(options) == 0 {
		return nil, errors.New("cannot write modprobe.d: no options given")
	}
	b, err := comment(header)
	if err != nil {
		return nil, fmt.Errorf("cannot write modprobe.d: %w", err)
	}
	for _, o := range options {
		if err := CheckName(o.Module); err != nil {
			return nil, fmt.Errorf("cannot write modprobe.d: %w", err)
		}
		if len(o.Params) == 0 {
			return nil, fmt.Errorf("cannot write modprobe.d: module %s has no parameter", o.Module)
		}
		b = append(b, "options "+o.Module...)
		for _, p := range o.Params {
			word, err := paramWord(p)
			if err != nil {
				return nil, fmt.Errorf("cannot write modprobe.d: module %s: %w", o.Module, err)
			}
			b = append(b, " "+word...)
		}
		b = append(b, '\n')
	}
	return b, nil
}

// paramWord checks "name=value". A value with blanks is put in double quotes, which the kernel takes
// off; a backslash would join lines in modprobe.d, and no parameter of the stack needs one.
func paramWord(p string) (string, error) {
	name, value, hasValue := strings.Cut(p, "=")
	if CheckName(name) != nil {
		return "", fmt.Errorf("parameter %q is not of the form name=value", p)
	}
	for _, c := range []byte(value) {
		if c < ' ' || c >= 0x7f || c == '\\' || c == '"' {
			return "", fmt.Errorf("parameter %s: value %q has a control character, quote or backslash", name, value)
		}
	}
	switch {
	case !hasValue:
		return name, nil
	case strings.Contains(value, " "):
		return name + `="` + value + `"`, nil
	}
	return name + "=" + value, nil
}

// comment turns a text into lines that start with '#'.
func comment(text string) ([]byte, error) {
	var b []byte
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		for _, c := range []byte(line) {
			if c < ' ' && c != '\t' || c == 0x7f {
				return nil, fmt.Errorf("header line %q has a control character", line)
			}
		}
		// A comment that ends in a backslash would swallow the next line in modprobe.d.
		line = strings.TrimRight(line, `\ `)
		b = append(b, strings.TrimRight("# "+strings.TrimPrefix(line, "# "), " ")+"\n"...)
	}
	return b, nil
}
