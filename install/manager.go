package install

import (
	"fmt"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/apt"
	"github.com/rdmactl/rdmactl/install/pkgmgr/dnf"
	"github.com/rdmactl/rdmactl/install/pkgmgr/zypper"
)

// managerOf is the package manager that a plan names; a host whose manager nothing tells is taken for one
// with apt, whose first command then says what it is not.
//
// note is told what a person should know and no error says.
func managerOf(name string, w host.Writer, note func(string)) (pkgmgr.Manager, error) {
	switch name {
	case "apt", "":
		return apt.New(w), nil
	case "dnf", "yum":
		m := dnf.New(w)
		m.Note = note
		return m, nil
	case "zypper":
		m := zypper.New(w)
		m.Note = note
		return m, nil
	}
	return nil, fmt.Errorf("cannot install packages with %s", name)
}

// solverOf is what managerOf is for a host that is only asked.
func solverOf(name string, r host.Reader) (pkgmgr.Solver, error) {
	switch name {
	case "apt", "":
		return apt.NewSolver(r), nil
	case "dnf", "yum":
		return dnf.NewSolver(r), nil
	case "zypper":
		return zypper.NewSolver(r), nil
	}
	return nil, fmt.Errorf("cannot ask %s about packages", name)
}
