package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/web"
	"github.com/rdmactl/rdmactl/plan"
)

// ownRelease stops where the package manager would take packages of another release than the plan's: it takes the
// newest of all that a repository has, and mirrors keep several releases in one index.
func ownRelease(ctx context.Context, solver pkgmgr.Solver, p plan.Plan, sol plan.Solution) error {
	for _, s := range p.Steps {
		c := s.Changes.Repository
		if c == nil || len(c.Packages) == 0 {
			continue
		}
		others, names := []plan.ResolvedPackage{}, []string{}
		for _, a := range sol.Actions {
			own := c.Packages[a.Name]
			if a.Action != "remove" && len(own) > 0 && !slices.Contains(own, a.Version) {
				others, names = append(others, a), append(names, a.Name)
			}
		}
		if len(others) == 0 {
			continue
		}
		lister, ok := solver.(pkgmgr.Lister)
		if !ok {
			return fault.New(fault.Stopped, "manager-not-supported", "", "cannot tell the releases of a repository apart with %s", solver.Name())
		}
		offers, err := lister.Versions(ctx, names)
		if err != nil {
			return managerFault("cannot ask the repositories for packages", err)
		}
		words := []string{}
		for _, a := range others {
			// What the distribution has in a higher version comes from there, and that is its own affair.
			elsewhere := slices.ContainsFunc(offers[a.Name], func(o pkgmgr.Offer) bool {
				return o.Version == a.Version && o.Repository != c.ID() && !sameRepository(o.Repository, c.URL)
			})
			if !elsewhere {
				words = append(words, fmt.Sprintf("%s %s, not %s", a.Name, a.Version, strings.Join(c.Packages[a.Name], " or ")))
			}
		}
		if len(words) > 0 {
			more := ""
			if n := len(words) - 5; n > 0 {
				words, more = words[:5], fmt.Sprintf(" and %d more", n)
			}
			return fault.New(fault.Stopped, "other-release", "ask for the newest release that it has, or give the address of a repository that has the wanted one alone",
				"cannot install this release from %s: it has others too, of which the package manager would take %s%s", web.Public(c.URL), strings.Join(words, "; "), more)
		}
	}
	return nil
}
