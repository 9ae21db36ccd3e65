package host

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestOperands compares each kind with the regular expression that defines it, on all short texts of the
// characters that matter to any.
func TestOperands(t *testing.T) {
	kinds := []struct {
		name string
		is   func(string) bool
		want *regexp.Regexp
	}{
		{"anyWord", anyWord, regexp.MustCompile(`^[^-\x00]`)},
		{"noSet", noSet, regexp.MustCompile(`^[^-=\x00][^=\x00]*$`)},
		{"noFlag", noFlag, regexp.MustCompile(`^[A-Z_]+=[^\x00]*$`)},
		{"device", device, regexp.MustCompile(`^[A-Za-z0-9_/][A-Za-z0-9_.:/@-]*$`)},
		{"solverWord", solverWord, regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+=:~^-]*$`)},
		{"zypperWord", zypperWord, regexp.MustCompile(`^!?[A-Za-z0-9_][A-Za-z0-9_.+=:~^-]*$`)},
		{"rpmWord", rpmWord, regexp.MustCompile(`^(?:[^-:\x00]|:[^/\x00])(?:[^:\x00]|:[^/\x00])*:?$`)},
	}
	yes, no := make([]int, len(kinds)), make([]int, len(kinds))
	check := func(text string) {
		for i, k := range kinds {
			// What has a NUL byte is refused before; of anyWord the expression looks at the first character only.
			if got, want := k.is(text), k.want.MatchString(text); got != want {
				t.Fatalf("%s(%q) = %v, want %v", k.name, text, got, want)
			} else if got {
				yes[i]++
			} else {
				no[i]++
			}
		}
	}
	texts := []string{""}
	for range 5 {
		var longer []string
		for _, text := range texts {
			check(text)
			for _, c := range []string{"a", "Z", "_", "-", ":", "/", "=", ".", "\x00"} {
				longer = append(longer, text+c)
			}
		}
		texts = longer
	}
	for _, text := range []string{"a\n", "\n", "0", "@a", "a@b", "~", "a b", "ü", "a:ü", "!a", "!!a", "!", "a~1^2", "\xff", ":\xff", "a:\xff/", "libibverbs.so.1()(64bit)", "http://x/y.rpm", "a:::/b", "a::::/b"} {
		check(text)
	}
	for i, k := range kinds {
		if yes[i] == 0 || no[i] == 0 {
			t.Errorf("%s: %d texts are of the kind, %d are not", k.name, yes[i], no[i])
		}
	}
}

// TestOptionsHaveADash is what lets an argument without a dash be judged as an operand alone.
func TestOptionsHaveADash(t *testing.T) {
	programs := 0
	for _, program := range programsWithForms(t) {
		for _, f := range formsOf(program) {
			programs++
			for _, option := range strings.Fields(f.flags + " " + f.valued + " " + f.need + " " + f.prefix) {
				if option[0] != '-' {
					t.Errorf("%s has the option %q", program, option)
				}
			}
		}
	}
	if programs < 40 {
		t.Errorf("%d forms were looked at", programs)
	}
}

// programsWithForms reads the names of formsOf from its text, so that a new one cannot be left out.
func programsWithForms(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("allowlist.go")
	if err != nil {
		t.Fatal(err)
	}
	body, _, _ := strings.Cut(string(text), "\n}\n")
	var out []string
	for _, line := range regexp.MustCompile(`(?m)^\tcase (".*"):$`).FindAllStringSubmatch(body, -1) {
		for name := range strings.SplitSeq(line[1], ", ") {
			out = append(out, strings.Trim(name, `"`))
		}
	}
	return out
}
