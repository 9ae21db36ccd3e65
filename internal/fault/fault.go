// Package fault is the error that reaches a person: what cannot be done, why, and what to do next.
// Its kind decides the exit code; nothing else does.
package fault

import (
	"errors"
	"fmt"
)

// Kind says how a command failed. The value is the exit code of the command line contract.
type Kind int

// The kinds, in the order of the contract.
const (
	Failed      Kind = 1   // the message says whether anything changed
	Usage       Kind = 2   // usage, or a faulty profile, matrix, plan or evidence file
	Refused     Kind = 3   // no stack can serve this host as asked
	Stopped     Kind = 4   // safety or a failed precondition; nothing changed
	Unhealthy   Kind = 5   // verify or doctor found the host not working
	RolledBack  Kind = 6   // a step or the verification failed and the host was rolled back
	Locked      Kind = 7   // another run holds the lock
	Reboot      Kind = 8   // done, and a reboot is needed (only with --reboot-exit-code)
	Changes     Kind = 9   // the plan has changes (only with --detailed-exitcode)
	Interrupted Kind = 130 // the current step was finished or undone
)

// Error is a fault with its hint. Msg reads "cannot <do what> <object>: <cause>".
type Error struct {
	Kind Kind
	// Code is a stable slug for scripts, such as "no-rdma-hardware".
	Code string
	Msg  string
	// Hint is one line that a person can act on.
	Hint string
	Err  error // the cause, may be nil; already part of Msg
}

func (e *Error) Error() string { return e.Msg }
func (e *Error) Unwrap() error { return e.Err }

// New makes a fault. A %w verb in format keeps the cause.
func New(kind Kind, code, hint, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Code: code, Msg: err.Error(), Hint: hint, Err: errors.Unwrap(err)}
}

// KindOf returns the kind of the first fault in err's chain, Failed for any other error.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Failed
}
