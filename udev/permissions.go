package udev

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// sampleNode is a node that stands for its class when a rule's matches are tried.
type sampleNode struct {
	class             Class
	kernel, subsystem string
}

// sampleNodes covers numbers of one and two digits, so that "uverbs1" and "uverbs[0-9]*" both match.
func sampleNodes() []sampleNode {
	list := []sampleNode{{RDMACM, "rdma_cm", "misc"}}
	for n := range 13 {
		list = append(list,
			sampleNode{Uverbs, fmt.Sprintf("uverbs%d", n), "infiniband_verbs"},
			sampleNode{Umad, fmt.Sprintf("umad%d", n), "infiniband_mad"},
			sampleNode{Issm, fmt.Sprintf("issm%d", n), "infiniband_mad"})
	}
	return list
}

// guard is a condition that holds for all rules up to a label: `SUBSYSTEM!="x", GOTO="end"` lets only
// devices of x go on.
type guard struct {
	token token
	label string
}

// guardsOf returns the guard of a rule with one match and a jump.
func guardsOf(tokens []token) []guard {
	if len(tokens) != 2 || !tokens[0].match() || tokens[1].Key != "GOTO" {
		return nil
	}
	t := tokens[0]
	if t.Op == "!=" {
		t.Op = "=="
	} else {
		t.Op = "!="
	}
	return []guard{{t, tokens[1].Value}}
}

// permissions finds rules that narrow what the kernel opens, or open what it keeps for root.
func (l *linter) permissions(tokens []token) {
	classes := l.touched(tokens)
	if len(classes) == 0 {
		return
	}
	hasMode := slices.ContainsFunc(tokens, func(t token) bool { return t.Key == "MODE" && !t.match() })
	for _, t := range tokens {
		if t.match() {
			continue
		}
		var why string
		switch t.Key {
		case "MODE":
			mode, err := parseMode(t.Value)
			if err != nil {
				continue
			}
			for _, c := range classes {
				if open := c == Uverbs || c == RDMACM; open && mode&0o666 != 0o666 {
					l.add(t.valueAt, "narrows-node", "MODE %s takes %s from ordinary users; the kernel's mode is 0666", t.Value, c)
				}
			}
			if mode&^0o600 != 0 {
				why = "MODE " + t.Value
			}
		case "GROUP":
			// udev makes the mode 0660 where a group is set and neither a rule nor the kernel sets one.
			if !hasMode && t.Value != "root" && t.Value != "0" {
				why = "GROUP " + t.Value + " without MODE (udev then sets 0660)"
			}
		case "OWNER":
			if t.Value != "root" && t.Value != "0" {
				why = "OWNER " + t.Value
			}
		case "TAG":
			if t.Value == "uaccess" && t.Op != "-=" {
				why = "TAG uaccess"
			}
		}
		if why == "" || l.opts.AllowUmad {
			continue
		}
		for _, c := range classes {
			if c == Umad || c == Issm {
				l.add(t.valueAt, "widens-node", "%s opens %s, which is root's alone: who writes it can speak to the whole fabric", why, c)
			}
		}
	}
}

// touched returns the classes whose nodes a rule can match. A rule that says neither KERNEL nor
// SUBSYSTEM (here or in a guard) is not about these nodes.
func (l *linter) touched(tokens []token) []Class {
	conditions := slices.Clone(tokens)
	for _, g := range l.guards {
		conditions = append(conditions, g.token)
	}
	var classes []Class
	for _, n := range sampleNodes() {
		named, holds := false, true
		for _, t := range conditions {
			var value string
			switch {
			case t.Key == "KERNEL" && t.match():
				value = n.kernel
			case t.Key == "SUBSYSTEM" && t.match():
				value = n.subsystem
			default:
				continue
			}
			named = named || t.Op == "=="
			if matchesAny(t.Value, value) != (t.Op == "==") {
				holds = false
				break
			}
		}
		if named && holds && !slices.Contains(classes, n.class) {
			classes = append(classes, n.class)
		}
	}
	return classes
}

// matchesAny tries the patterns between '|', as udev does.
func matchesAny(patterns, value string) bool {
	for p := range strings.SplitSeq(patterns, "|") {
		// fnmatch writes a negated class [!a], Go [^a].
		if ok, err := path.Match(strings.ReplaceAll(p, "[!", "[^"), value); err == nil && ok {
			return true
		}
	}
	return false
}
