package matrix

import (
	"fmt"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/strictyaml"
)

// maxFile bounds a file of the matrix in bytes; what an import of a large repository records has some
// MiB.
const maxFile = 32 << 20

// document is the YAML form of a file of the matrix.
type document struct {
	At         strictyaml.Pos
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Matrix     `yaml:",inline"`
}

// Load reads the text of one file of the matrix; file names it in messages. Everything that is wrong in
// it is reported at once, each with its position. What only the whole matrix shows (a branch that no file
// has, two files that contradict each other) is found by Merge.
func Load(file string, data []byte) (*Matrix, error) {
	if len(data) > maxFile {
		return nil, fault.New(fault.Usage, "invalid-yaml", "split it by subject",
			"cannot read matrix file %s: larger than %d MiB", file, maxFile>>20)
	}
	var read *Matrix
	err := strictyaml.DecodeAll(file, data, func(doc document, place strictyaml.Place) error {
		if read != nil {
			return fmt.Errorf("a second document starts here; only one is allowed")
		}
		read = &doc.Matrix
		if problems := doc.problems(place); len(problems) > 0 {
			return problems
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return read, nil
}
