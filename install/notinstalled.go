package install

import (
	"context"
	"slices"

	"github.com/rdmactl/rdmactl/plan"
)

// NotInstalled are those of names that are neither packages of the host nor in its plan.
func NotInstalled(ctx context.Context, env Env, p plan.Plan, names []string) ([]string, error) {
	solver, err := solverOf(p.Manager, env.Host)
	if err != nil {
		return nil, err
	}
	db, err := solver.Installed(ctx)
	if err != nil {
		return nil, managerFault("cannot read the package database", err)
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return len(statesOf(db, name)) > 0 || slices.ContainsFunc(p.Steps, func(s plan.Step) bool {
			return slices.ContainsFunc(s.Changes.Packages, func(c plan.PackageChange) bool { return c.Name == name })
		})
	}), nil
}
