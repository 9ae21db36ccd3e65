package host

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// form is the shape of arguments that a program may be asked with. Everything that is not in it is
// refused: a new option of a program is not trusted until it was read about.
type form struct {
	flags   string            // options without a value, exact, space-separated
	valued  string            // options that take the next argument
	letters string            // options that may be bundled: -xT
	prefix  string            // options of the form --name=value, as "--name="
	operand func(string) bool // the kind of its operands; nil: no operands
	first   string            // if set, the first operand must be one of these words
	need    string            // if set, one of these options must be there
	least   int               // number of operands needed
}

// Allowed tells whether argv is a command that cannot change a host. It is no shell: an argument
// with a semicolon is a file name.
func Allowed(argv []string) error {
	if len(argv) == 0 || argv[0] == "" {
		return &commandError{argv, fmt.Errorf("%w: it is empty", ErrNotAllowed)}
	}
	if reason := refuse(argv[0], argv[1:]); reason != "" {
		return &commandError{argv, fmt.Errorf("%w: %s", ErrNotAllowed, reason)}
	}
	return nil
}

// refuse returns why a command may not be run, empty if it may.
func refuse(program string, args []string) string {
	if dir, base := path.Split(program); dir != "" {
		if !slices.Contains([]string{"/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/"}, dir) {
			return "the program is not in a system directory"
		}
		program = base
	}
	for _, a := range args {
		if strings.ContainsRune(a, 0) {
			return "an argument has a NUL byte"
		}
	}
	if len(args) == 1 && args[0] == "--version" && has(versioned, program) {
		return ""
	}
	if reason, ok := refuseTool(program, args); ok {
		return reason
	}
	forms := formsOf(program)
	if len(forms) == 0 {
		return "the program is not on the list"
	}
	reason := ""
	for _, f := range forms {
		if reason = f.refuse(args); reason == "" {
			return ""
		}
	}
	return reason
}

// versioned are programs that may be asked for their version only, or also.
const versioned = "gcc cc make ld cmake ninja meson dnf yum zypper apt apt-get dpkg rpm dkms systemctl modinfo kmod python3 perl docker podman " +
	"dpkg-query udevadm rdma devlink mokutil tar zstd xz lspci"

// refuse matches arguments against a form.
func (f form) refuse(args []string) string {
	needed := f.need == ""
	operands := 0
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !strings.HasPrefix(a, "-") { // an operand; every option has a dash
			switch {
			case f.operand == nil:
				return "argument " + a + " is not on the list"
			case operands == 0 && f.first != "" && !has(f.first, a):
				return a + " is not on the list"
			case !f.operand(a):
				return "argument " + a + " is not on the list"
			}
			operands++
			continue
		}
		name, _, joined := strings.Cut(a, "=")
		if f.need != "" && (has(f.need, a) || joined && has(f.need, name)) {
			needed = true
		}
		switch {
		case has(f.flags, a):
		case has(f.valued, a):
			if i++; i == len(args) {
				return "option " + a + " has no value"
			}
			if !strings.HasPrefix(a, "--q") && strings.HasPrefix(args[i], "-") && len(args[i]) > 1 && !isNumber(args[i][1:]) {
				return "option " + a + " has no value"
			}
		case joined && strings.HasPrefix(a, "--") && has(f.prefix, name+"="):
		case len(a) > 1 && a[0] == '-' && a[1] != '-' && f.letters != "" && strings.Trim(a[1:], f.letters) == "":
		default:
			return "option " + a + " is not on the list"
		}
	}
	if !needed {
		return "it must be asked with one of " + f.need
	}
	if operands < f.least {
		return "an argument is missing"
	}
	return ""
}

func has(words, word string) bool {
	if !strings.Contains(words, word) { // nearly always, and much faster than to go through the words
		return false
	}
	for one := range strings.FieldsSeq(words) {
		if one == word {
			return true
		}
	}
	return false
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
