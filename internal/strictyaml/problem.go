package strictyaml

import (
	"fmt"
	"strings"

	"github.com/rdmactl/rdmactl/internal/fault"
)

// Pos is a place in a YAML file. A struct field of this type, whatever its tag, receives the place
// of the mapping that the struct was decoded from; later checks can name it.
type Pos struct {
	File         string
	Line, Column int // from 1
}

func (p Pos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// Problem is one thing that is wrong at one place.
type Problem struct {
	Pos  Pos
	Text string
}

// String leaves out a place that is not known: what was not read from a file has none.
func (p Problem) String() string {
	if p.Pos == (Pos{}) {
		return p.Text
	}
	return p.Pos.String() + ": " + p.Text
}

// Problems is an error of one line per problem.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// Fail makes the fault of kind Usage that reports all problems, nil if there are none.
// Callers use it for what a schema cannot say, such as a reference to a row that does not exist.
func Fail(problems Problems) error {
	if len(problems) == 0 {
		return nil
	}
	return fault.New(fault.Usage, "invalid-yaml", "correct the lines named above", "%w", problems)
}
