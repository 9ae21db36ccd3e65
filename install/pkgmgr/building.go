package pkgmgr

import (
	"context"
	"strings"
)

// Building is a Manager that can tell what a source package needs to be built.
type Building interface {
	Manager
	// BuildNeeds are the packages, in exact versions, that the host lacks of what the file debian/control below dir
	// asks for, read with build profiles. dir is an absolute path of the host. Nothing is changed.
	// What no repository has is an *UnmetNeedsError.
	BuildNeeds(ctx context.Context, dir string, profiles []string) ([]Want, error)
}

// UnmetNeedsError says what a build needs and the host cannot have, in the manager's words.
type UnmetNeedsError struct{ Lines []string }

func (e *UnmetNeedsError) Error() string { return strings.Join(e.Lines, "; ") }
