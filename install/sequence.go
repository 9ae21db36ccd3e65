package install

import (
	"context"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// The package manager is asked once for all that a plan wants of it, and downloads it at once. Only a removal that has
// to be over before the next packages come (plan.RemovalStep) is a transaction of its own: what comes after it is
// solved and fetched for the host without what goes in it, so that all of it is there, and known to fit, before the
// first package goes.

// turn is what the package manager is asked for at once, and what is gone by then, as keys of packages.
type turn struct {
	request pkgmgr.Request
	gone    []string
}

// turns splits the plan's requests where a removal has to be over first.
func turns(p plan.Plan, requests map[string]pkgmgr.Request) []pkgmgr.Request {
	var out []pkgmgr.Request
	part := plan.Plan{}
	flush := func() {
		if len(part.Steps) > 0 {
			out = append(out, joint(part, requests))
		}
		part.Steps = nil
	}
	for _, s := range p.Steps {
		alone := s.ID == plan.RemovalStep && s.Kind == plan.KindPackages
		if alone {
			flush()
		}
		part.Steps = append(part.Steps, s)
		if alone {
			flush()
		}
	}
	flush()
	return out
}

// solveAll is the package manager's answer to the whole plan, in the order of its transactions.
func (r *run) solveAll(ctx context.Context) (plan.Solution, error) {
	all := plan.Solution{Manager: r.pm.Name(), Actions: []plan.ResolvedPackage{}}
	r.turns = nil
	var gone []string
	for _, req := range turns(r.plan, r.requests) {
		pm, err := r.after(ctx, gone)
		if err != nil {
			return all, err
		}
		sol, err := pm.Solve(ctx, req)
		if err != nil {
			return all, managerFault("cannot solve for the plan's packages", err)
		}
		r.turns = append(r.turns, turn{request: req, gone: slices.Clone(gone)})
		all = added(all, sol)
		for _, a := range sol.Actions {
			if a.Action == "remove" {
				gone = append(gone, a.Name+":"+a.Arch)
			}
		}
	}
	return all, nil
}

// after is the package manager for the host without some packages.
func (r *run) after(ctx context.Context, gone []string) (pkgmgr.Manager, error) {
	pm, err := r.unheld(ctx)
	if err != nil || len(gone) == 0 {
		return pm, err
	}
	f, ok := pm.(pkgmgr.Foreseeing)
	if !ok {
		return nil, fault.New(fault.Stopped, "manager-not-supported", "remove the old release by hand, then run again",
			"cannot tell what the host would get after the old release is removed: %s cannot be asked that", r.pm.Name())
	}
	pm, err = f.After(ctx, r.paths.runInside(r.journal.ID)+"/foreseen", gone)
	if err != nil {
		return nil, managerFault("cannot foresee the host without the old release", err)
	}
	return pm, nil
}

// added puts the answers to two transactions together. What both bring is there once.
func added(all, more plan.Solution) plan.Solution {
	for _, a := range more.Actions {
		if !slices.Contains(all.Actions, a) {
			all.Actions = append(all.Actions, a)
		}
	}
	sum := func(a, b int64) int64 {
		if a < 0 || b < 0 {
			return -1
		}
		return a + b
	}
	if len(more.Actions) > 0 {
		all.DownloadBytes = sum(all.DownloadBytes, more.DownloadBytes)
		if more.InstalledBytes == -1 || all.InstalledBytes == -1 {
			all.InstalledBytes = -1
		} else {
			all.InstalledBytes += more.InstalledBytes
		}
	}
	return all
}

// fetchAll downloads what each transaction needs.
func (r *run) fetchAll(ctx context.Context) error {
	for _, t := range r.turns {
		pm, err := r.after(ctx, t.gone)
		if err != nil {
			return err
		}
		if err := pm.Fetch(ctx, t.request); err != nil {
			return managerFault("cannot download the packages", err)
		}
	}
	return nil
}

// keeper is the package manager that old packages are kept with: the repositories that the run leaves may have them.
func (r *run) keeper() pkgmgr.Manager {
	if len(leftRepositories(r.plan)) > 0 {
		return r.base
	}
	return r.pm
}

// leftRepositories are the files of repositories that the plan takes away.
func leftRepositories(p plan.Plan) []string {
	var out []string
	for _, s := range p.Steps {
		for _, c := range s.Changes.Files {
			if c.Action != "remove" {
				continue
			}
			for _, dir := range []string{"/etc/apt/sources.list.d/", "/etc/yum.repos.d/", "/etc/zypp/repos.d/"} {
				if strings.HasPrefix(c.Path, dir) {
					out = append(out, c.Path)
				}
			}
		}
	}
	return out
}

// staging is the package manager that repositories are staged with, away from those that the plan takes away.
func (r *run) staging() (pkgmgr.Staging, bool) {
	files := leftRepositories(r.plan)
	if leaving, ok := r.base.(pkgmgr.Leaving); ok && len(files) > 0 {
		return leaving.Without(files), true
	}
	s, ok := r.base.(pkgmgr.Staging)
	return s, ok
}
