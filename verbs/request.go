package verbs

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
)

// Request is what to verify. The zero value tests every device and port with the default sizes.
type Request struct {
	Device string `json:"device,omitempty"` // such as mlx5_0; empty for all
	Port   int    `json:"port,omitempty"`   // 0 for all
	Quick  bool   `json:"quick,omitempty"`  // fewer and shorter measurements
	// Sizes in bytes to measure latency and bandwidth at, instead of the default ones.
	Sizes []int `json:"sizes,omitempty"`
	// Iterations is the number of exchanges or messages of one measurement, instead of as many as
	// fit into its time.
	Iterations int `json:"iterations,omitempty"`
	// MaxBytes bounds the payload that one bandwidth measurement moves; 0 for no bound.
	MaxBytes int64 `json:"max_bytes,omitempty"`
	// NoMeasure compares data only.
	NoMeasure bool `json:"no_measure,omitempty"`
	// TimeLimit in seconds after which the worker begins no further test; Run sets it below its
	// deadline.
	TimeLimit float64 `json:"time_limit_s,omitempty"`
}

// The bounds of a request.
const (
	maxSize         = 8 << 20 // bytes of one message
	maxSizes        = 64
	maxIterations   = 10_000_000
	maxRequestBytes = 64 << 10
	maxPort         = 255
)

// Validate refuses what cannot be tested.
func (q Request) Validate() error {
	if q.Device != "" && !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,62}$`).MatchString(q.Device) {
		return fmt.Errorf("cannot test device %q: not a device name", q.Device)
	}
	if q.Port < 0 || q.Port > maxPort {
		return fmt.Errorf("cannot test port %d: ports are 1 to %d", q.Port, maxPort)
	}
	if len(q.Sizes) > maxSizes {
		return fmt.Errorf("cannot test %d sizes: at most %d", len(q.Sizes), maxSizes)
	}
	for _, s := range q.Sizes {
		if s < 1 || s > maxSize {
			return fmt.Errorf("cannot test size %d: sizes are 1 to %d bytes", s, maxSize)
		}
	}
	if q.Iterations < 0 || q.Iterations > maxIterations {
		return fmt.Errorf("cannot test %d iterations: at most %d", q.Iterations, maxIterations)
	}
	if q.MaxBytes < 0 || q.TimeLimit < 0 {
		return fmt.Errorf("cannot test with a negative bound")
	}
	return nil
}

func readRequest(r io.Reader) (Request, error) {
	var q Request
	dec := json.NewDecoder(io.LimitReader(r, maxRequestBytes))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&q); err != nil {
		return Request{}, fmt.Errorf("cannot read request: %w", err)
	}
	return q, q.Validate()
}
