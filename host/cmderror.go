package host

import (
	"errors"
	"fmt"
	"io/fs"
)

// commandError says that a command could not be run.
type commandError struct {
	argv []string
	err  error
}

func (e *commandError) Error() string {
	return fmt.Sprintf("cannot run %s: %v", commandKey(e.argv), e.err)
}
func (e *commandError) Unwrap() error { return e.err }

func isUnknown(err error) bool { return errors.Is(err, ErrUnknown) }

// inner takes the cause out of a path error, to be put into one of another operation.
func inner(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
