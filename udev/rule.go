package udev

import (
	"errors"
	"fmt"
	"strings"
)

// Rule is one line of a rules file: all matches must hold for the assignments to take place.
type Rule struct {
	Comment string // lines above the rule, without '#'
	Matches []Token
	Assigns []Token
}

// Token is one comparison or assignment.
type Token struct {
	Key   string // "KERNEL", "ATTR{board_id}"
	Op    string // == != for a match; = += -= := for an assignment
	Value string
}

// Render writes rules, and refuses those in which Lint finds a problem.
func Render(rules []Rule, opts Options) ([]byte, error) {
	if len(rules) == 0 {
		return nil, errors.New("cannot write udev rules: no rule given")
	}
	var b strings.Builder
	for i, rule := range rules {
		if err := rule.render(&b); err != nil {
			return nil, fmt.Errorf("cannot write udev rule %d: %w", i+1, err)
		}
	}
	var errs []error
	for _, p := range Lint("new rules", []byte(b.String()), opts) {
		errs = append(errs, errors.New(p.String()))
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("cannot write udev rules: %w", errors.Join(errs...))
	}
	return []byte(b.String()), nil
}

func (rule Rule) render(b *strings.Builder) error {
	for line := range strings.Lines(rule.Comment) {
		line = strings.TrimRight(line, "\n")
		if hasControl(line) {
			return fmt.Errorf("comment %q has a control character", line)
		}
		// A comment ending in a backslash would go on in the next line.
		b.WriteString(strings.TrimRight("# "+line, `\ `) + "\n")
	}
	var words []string
	for i, t := range append(append([]Token(nil), rule.Matches...), rule.Assigns...) {
		comparison := t.Op == "==" || t.Op == "!="
		if comparison != (i < len(rule.Matches)) {
			return fmt.Errorf("%s%s%q is on the wrong side of the rule", t.Key, t.Op, t.Value)
		}
		if hasControl(t.Value) || strings.ContainsAny(t.Value, `"\`) {
			return fmt.Errorf("value %q of %s has a control character, quote or backslash", t.Value, t.Key)
		}
		if hasControl(t.Key) || strings.ContainsAny(t.Key, "\"\\#, ") {
			return fmt.Errorf("key %q is not valid", t.Key)
		}
		words = append(words, t.Key+t.Op+`"`+t.Value+`"`)
	}
	b.WriteString(strings.Join(words, ", ") + "\n")
	return nil
}

func hasControl(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' || c == 0x7f {
			return true
		}
	}
	return false
}

// UmadForGroup is the rule that lets a group use the management nodes. Whoever is in it can send
// management datagrams to the whole fabric; Lint and Render want Options.AllowUmad for it.
func UmadForGroup(group string) Rule {
	return Rule{
		Comment: "Members of this group can send management datagrams to the whole fabric.",
		Matches: []Token{{"SUBSYSTEM", "==", "infiniband_mad"}, {"KERNEL", "==", "umad*|issm*"}},
		Assigns: []Token{{"GROUP", "=", group}, {"MODE", "=", "0660"}},
	}
}
