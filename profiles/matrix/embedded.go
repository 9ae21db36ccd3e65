package matrix

import (
	_ "embed"
	"fmt"
)

// embedded is the matrix of the YAML files beside it in its decoded form: reading the YAML itself would
// take longer than the rest of a plan.
//
//go:generate go test -count=1 -run ^TestGenerated$ . -update
//go:embed embedded.bin
var embedded string

// Embedded is the matrix that is built in.
func Embedded() (*Matrix, error) {
	m, err := decode(embedded)
	if err != nil {
		return nil, fmt.Errorf("cannot read the built-in matrix: %w", err)
	}
	return m, nil
}
