package version

import (
	"fmt"
	"regexp"
	"strings"

	goversion "github.com/hashicorp/go-version"
)

// Constraint is a comma separated list of comparisons, all of which must hold, such as
// ">= 23.10, < 25". "=" means exactly this number: "= 24.10" does not match 24.10-1.1.4.0, but
// "~> 24.10.0" matches every point release of the branch.
type Constraint struct {
	raw    string
	parsed goversion.Constraints
	// comparisons are the parts in the order of parsed.
	comparisons []clause
}

// clause is one comparison.
type clause struct {
	op       string
	segments []int64
}

var comparison = regexp.MustCompile(`^(=|!=|>|<|>=|<=|~>)?\s*([0-9]+([.-][0-9]+)*)$`)

// ParseConstraint reads a constraint. A "-" between digits counts as ".", as in the versions.
func ParseConstraint(text string) (Constraint, error) {
	raw := strings.TrimSpace(text)
	parts := strings.Split(raw, ",")
	var comparisons []clause
	for i, part := range parts {
		m := comparison.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return Constraint{}, fmt.Errorf("cannot read version constraint %q: %q is not an operator "+
				"(=, !=, >, <, >=, <=, ~>) with digits", text, strings.TrimSpace(part))
		}
		digits := strings.ReplaceAll(m[2], "-", ".")
		parts[i] = m[1] + " " + digits
		v, err := goversion.NewVersion(digits)
		if err != nil {
			return Constraint{}, fmt.Errorf("cannot read version constraint %q: %w", text, err)
		}
		comparisons = append(comparisons, clause{op: m[1], segments: v.Segments64()})
	}
	parsed, err := goversion.NewConstraint(strings.Join(parts, ","))
	if err != nil {
		return Constraint{}, fmt.Errorf("cannot read version constraint %q: %w", text, err)
	}
	return Constraint{raw: raw, parsed: parsed, comparisons: comparisons}, nil
}

// String is the constraint as it was written.
func (c Constraint) String() string { return c.raw }

// MarshalText is the constraint as it was written.
func (c Constraint) MarshalText() ([]byte, error) { return []byte(c.raw), nil }

// UnmarshalText is ParseConstraint.
func (c *Constraint) UnmarshalText(text []byte) error {
	parsed, err := ParseConstraint(string(text))
	if err != nil {
		return err
	}
	*c = parsed
	return nil
}

// check is false for a version or a constraint that was never parsed.
func (c Constraint) check(n number) bool {
	if n.parsed == nil || len(c.parsed) == 0 {
		return false
	}
	for i, p := range c.comparisons {
		order := compareSegments(n.segments, p.segments)
		ok := false
		switch p.op {
		case "", "=":
			ok = order == 0
		case "!=":
			ok = order != 0
		case ">":
			ok = order > 0
		case "<":
			ok = order < 0
		case ">=":
			ok = order >= 0
		case "<=":
			ok = order <= 0
		default: // "~>" counts how many numbers were written, which go-version keeps to itself
			ok = c.parsed[i].Check(n.parsed)
		}
		if !ok {
			return false
		}
	}
	return true
}
