// Package rules holds what excludes a stack on a host, or must be said about it: one rule a file,
// with its code, the source of the knowledge behind it, and a test that has a host on either side.
// Rules are pure functions over Input; the same host gives the same findings in the same order.
package rules

import (
	"fmt"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// Code is an entry of the registry in facts.
type Code string

// Effect is what a finding does to the plan.
type Effect int

// The effects.
const (
	Refuse Effect = iota // the stack cannot serve this host as asked
	Warn                 // it can, and the user must know this
)

// Finding is one thing that a rule found.
type Finding struct {
	Code   Code
	Effect Effect
	Text   string
	Source string // where the fact was read
	// Looked is what was examined, for a finding that rests on something not being there.
	Looked []string
}

// Scope is what a rule judges.
type Scope int

// The scopes.
const (
	Request  Scope = iota // the request as a whole: no stack is refused by it
	Inbox                 // the stack inbox
	Anything              // both: no stack can serve such a host, and no other request helps
)

// Rule is one rule.
type Rule struct {
	Name   string
	Scope  Scope
	Source string // of the knowledge, not of the fact
	Judge  func(Input) []Finding
}

// Input is what rules judge: the facts, and what the profile comes down to on this host.
type Input struct {
	Facts   facts.Facts
	Profile profiles.Profile
	// Named says that the user named the stack, or a profile that knows only this one.
	Named bool
	// Cards are generations that the user states; seen by nobody.
	Cards []string
	// Kernel is the target kernel; empty for the facts' own.
	Kernel   string
	Packages []profiles.Package
	Modules  []Module
	// Netdev is the interface under the Soft-RoCE device of the profile.
	Netdev Netdev
	// Matrix is what is documented of stacks; without it there are no candidates.
	Matrix *matrix.Index
	// Day is the day of the plan, YYYY-MM-DD; empty when nothing tells it.
	Day string
	// Aside leaves what programs get by default alone.
	Aside bool
	// Method and Version are asked for; empty when they are not.
	Method, Version string
}

// All returns the rules in the order in which their findings are shown.
func All() []Rule {
	return []Rule{
		notLinux(), container(), kernelName(), machine(), distribution(), release(), cards(), hardware(), mixedUserSpace(),
		foreignStack(), modulesDisabled(), brokenPackages(), heldPackages(),
		kernelFiles(), kernelAge(), missingModules(), blacklistedModules(), droppedDevices(), unmaintainedDevices(), cardAge(), providerAge(),
		systemd(), softNetdev(), softConflict(),
	}
}

// Judge applies the rules of one scope, and those that judge anything.
func Judge(in Input, scope Scope) []Finding {
	var all []Finding
	for _, rule := range All() {
		if rule.Scope == scope || rule.Scope == Anything {
			all = append(all, rule.Judge(in)...)
		}
	}
	return all
}

// Refusals are those findings that refuse.
func Refusals(all []Finding) []Finding { return only(all, Refuse) }

// Warnings are those findings that warn.
func Warnings(all []Finding) []Finding { return only(all, Warn) }

func only(all []Finding, effect Effect) []Finding {
	var out []Finding
	for _, f := range all {
		if f.Effect == effect {
			out = append(out, f)
		}
	}
	return out
}

func refuse(code Code, source, format string, args ...any) []Finding {
	return []Finding{{Code: code, Effect: Refuse, Text: fmt.Sprintf(format, args...), Source: source}}
}

func warn(code Code, source, format string, args ...any) []Finding {
	return []Finding{{Code: code, Effect: Warn, Text: fmt.Sprintf(format, args...), Source: source}}
}

// list shows at most ten names.
func list(names []string) string {
	if len(names) > 10 {
		return strings.Join(names[:10], ", ") + fmt.Sprintf(" and %d more", len(names)-10)
	}
	return strings.Join(names, ", ")
}
