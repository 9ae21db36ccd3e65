package facts

import (
	"encoding/json"
	"fmt"
)

// State says how much is known of a Field.
type State string

// The states of a Field.
const (
	Unknown State = "unknown" // no source told, or reading failed (then Error says how)
	Known   State = "known"
	Absent  State = "absent" // a source told that there is none
)

// Field is one fact with its origin. The zero Field is unknown.
type Field[T any] struct {
	State State
	Value T
	// Source is the path or command line that told it, or that could not be read.
	Source string
	// Error is why an unknown fact is unknown, where there is a reason beyond silence.
	Error string
}

// Is makes a known field.
func Is[T any](value T, source string) Field[T] {
	return Field[T]{State: Known, Value: value, Source: source}
}

// None makes a field whose object is known not to exist.
func None[T any](source string) Field[T] {
	return Field[T]{State: Absent, Source: source}
}

// Failed makes an unknown field with the reason.
func Failed[T any](source string, err error) Field[T] {
	return Field[T]{State: Unknown, Source: source, Error: err.Error()}
}

// Get returns the value and whether it is known.
func (f Field[T]) Get() (T, bool) { return f.Value, f.State == Known }

// Or returns the value, or def if it is not known.
func (f Field[T]) Or(def T) T {
	if f.State == Known {
		return f.Value
	}
	return def
}

// IsKnown, IsAbsent and IsUnknown ask for the state.
func (f Field[T]) IsKnown() bool { return f.State == Known }

// IsAbsent says that the object is known not to exist.
func (f Field[T]) IsAbsent() bool { return f.State == Absent }

// IsUnknown says that nothing told.
func (f Field[T]) IsUnknown() bool { return f.State != Known && f.State != Absent }

// MarshalJSON prints {"state":"known","value":...,"source":...}, {"state":"absent","source":...} or
// {"state":"unknown","source":...,"error":...}.
func (f Field[T]) MarshalJSON() ([]byte, error) {
	state := f.State
	if state == "" {
		state = Unknown
	}
	if state == Known {
		return json.Marshal(struct {
			State  State  `json:"state"`
			Value  T      `json:"value"`
			Source string `json:"source,omitempty"`
		}{state, f.Value, f.Source})
	}
	return json.Marshal(struct {
		State  State  `json:"state"`
		Source string `json:"source,omitempty"`
		Error  string `json:"error,omitempty"`
	}{state, f.Source, f.Error})
}

// UnmarshalJSON reads what MarshalJSON prints.
func (f *Field[T]) UnmarshalJSON(data []byte) error {
	var raw struct {
		State  State           `json:"state"`
		Value  json.RawMessage `json:"value"`
		Source string          `json:"source"`
		Error  string          `json:"error"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*f = Field[T]{State: raw.State, Source: raw.Source, Error: raw.Error}
	switch raw.State {
	case Known:
		return json.Unmarshal(raw.Value, &f.Value)
	case Absent, Unknown:
		return nil
	}
	return fmt.Errorf("cannot read a fact: unknown state %q", raw.State)
}
