package holdings

import (
	"encoding/json"
	"fmt"

	"github.com/rdmactl/rdmactl/internal/strictyaml"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// Document writes holdings as a matrix file: what a file in /etc/rdmactl/matrix.d is.
func Document(list []matrix.Holding) ([]byte, error) {
	data, err := json.Marshal(struct {
		APIVersion string           `json:"apiVersion"`
		Kind       string           `json:"kind"`
		Holdings   []matrix.Holding `json:"holdings"`
	}{"rdmactl/v1", "Matrix", list})
	if err != nil {
		return nil, fmt.Errorf("cannot write holdings: %w", err)
	}
	return strictyaml.FromJSON(data)
}
