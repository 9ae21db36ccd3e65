package pkgmgr

import "context"

// Offer is one version of a package that a repository has.
type Offer struct {
	Version string
	// Repository is the address of an apt repository, and the id or alias of an rpm repository.
	Repository string
}

// Lister is a Solver that tells all versions that the repositories have. The candidate alone says nothing of the
// distribution's package while a vendor's of the same name is installed or offered: its number is higher.
type Lister interface {
	// Versions are the offers by name, the newest first; a name that no repository has is left out.
	Versions(ctx context.Context, names []string) (map[string][]Offer, error)
}

// Leaving is a Staging that can look away from repositories that the host has.
type Leaving interface {
	Staging
	// Without returns a manager whose WithRepositories leaves out what these files configure.
	Without(files []string) Staging
}

// Foreseeing is a Manager that can answer for the host as it will be.
type Foreseeing interface {
	Manager
	// After returns a manager that solves and fetches as if the packages of these keys were gone already. What
	// it needs for that it writes below dir, an absolute path of the host that root owns. It applies nothing.
	After(ctx context.Context, dir string, gone []string) (Manager, error)
}

// Unmeeting is a Solver that can tell whether dependencies are unmet on the host, as where one package of a set was
// removed by force.
type Unmeeting interface {
	Unmet(ctx context.Context) (bool, error)
}
