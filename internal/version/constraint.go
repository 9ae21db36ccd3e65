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
}

var comparison = regexp.MustCompile(`^(=|!=|>|<|>=|<=|~>)?\s*([0-9]+([.-][0-9]+)*)$`)

// ParseConstraint reads a constraint. A "-" between digits counts as ".", as in the versions.
func ParseConstraint(text string) (Constraint, error) {
	raw := strings.TrimSpace(text)
	parts := strings.Split(raw, ",")
	for i, part := range parts {
		m := comparison.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return Constraint{}, fmt.Errorf("cannot read version constraint %q: %q is not an operator "+
				"(=, !=, >, <, >=, <=, ~>) with digits", text, strings.TrimSpace(part))
		}
		parts[i] = m[1] + " " + strings.ReplaceAll(m[2], "-", ".")
	}
	parsed, err := goversion.NewConstraint(strings.Join(parts, ","))
	if err != nil {
		return Constraint{}, fmt.Errorf("cannot read version constraint %q: %w", text, err)
	}
	return Constraint{raw: raw, parsed: parsed}, nil
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
	return n.parsed != nil && len(c.parsed) > 0 && c.parsed.Check(n.parsed)
}
