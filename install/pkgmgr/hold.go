package pkgmgr

import (
	"context"
	"path"
	"strings"
)

// Hold is one package that a manager keeps at its version.
type Hold struct {
	// Name is a package, name:arch where dpkg has it for another architecture, or a pattern that a person wrote.
	Name string `json:"name"`
	// Version is what a lock of dnf or yum names, without an epoch 0; empty for any.
	Version string `json:"version,omitempty"`
}

// Covers says that the hold keeps a package at its version, whoever set it.
func (h Hold) Covers(p Package) bool {
	name, arch, hasArch := strings.Cut(h.Name, ":")
	if hasArch && arch != p.Arch {
		return false
	}
	own := p.Name
	if p.Base != "" {
		own = p.Base
	}
	ok, err := path.Match(name, own)
	return name == own || err == nil && ok
}

// HoldAsking is a Solver that can tell whether holds take effect on its host.
type HoldAsking interface {
	// CanHold returns a *NoHoldError where nothing on the host would carry a hold out.
	CanHold() error
}

// Holding is a Manager that can keep packages at their version.
type Holding interface {
	Manager
	HoldAsking
	// HoldsOn are the holds that Hold would set on installed packages.
	HoldsOn(ctx context.Context, packages []Package) ([]Hold, error)
	// Holds are all that are set, by whomever, in the manager's order.
	Holds(ctx context.Context) ([]Hold, error)
	// Hold sets holds that are not set yet, Release lifts exactly those that are named. Both can be called again.
	Hold(ctx context.Context, holds []Hold) error
	Release(ctx context.Context, holds []Hold) error
	// HoldFiles are the files that have the holds and nothing else; none where they are part of the database.
	HoldFiles() ([]string, error)
	// Released returns a manager that answers and fetches as if holds were lifted. What it needs for that it writes
	// below dir, an absolute path of the host that root owns. It applies nothing.
	Released(ctx context.Context, dir string, holds []Hold) (Manager, error)
}

// NoHoldError says why a host's package manager carries out no hold, and what would help.
type NoHoldError struct {
	Why  string
	Hint string
}

func (e *NoHoldError) Error() string { return e.Why }
