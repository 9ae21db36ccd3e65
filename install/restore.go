package install

import (
	"context"
	"slices"
	"sort"
	"strings"

	"github.com/rdmactl/rdmactl/detect"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// restoring says that the plan gives packages back to the distribution.
func restoring(p plan.Plan) bool {
	return slices.ContainsFunc(p.Steps, func(s plan.Step) bool {
		return slices.ContainsFunc(s.Changes.Packages, func(c plan.PackageChange) bool { return c.Action == "restore" })
	})
}

// statesOf are the packages of a name that are there in any state but their configuration, by key.
func statesOf(db pkgmgr.Database, name string) []pkgmgr.Package {
	name, arch, hasArch := strings.Cut(name, ":")
	out := []pkgmgr.Package{}
	for _, p := range db {
		if (p.Name == name || p.Base != "" && p.Base == name) && p.Status != pkgmgr.ConfigFiles && (!hasArch || p.Arch == arch) {
			out = append(out, p)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Key() < out[j].Key() })
	return out
}

// restore asks for the distribution's version in the place of what is there, or for its removal where the distribution
// has none.
func restore(req *pkgmgr.Request, there []pkgmgr.Package, version string) {
	req.Purge = true
	for _, p := range there {
		word := p.Name
		if len(there) > 1 {
			word = p.Key()
		}
		switch {
		case version == "":
			req.Remove = append(req.Remove, word)
		case p.Version != version || p.Status != pkgmgr.Installed:
			req.Install = append(req.Install, pkgmgr.Want{Name: word, Version: version})
		}
	}
}

// ownVersions are the distribution's newest versions of a plan's packages, nil where the plan restores none. They are
// looked for among all that the repositories have, since a vendor's has the higher number: the candidate of the
// package manager would be the vendor's.
func ownVersions(ctx context.Context, solver pkgmgr.Solver, p plan.Plan, db pkgmgr.Database) (map[string]string, error) {
	if !restoring(p) {
		return nil, nil
	}
	lister, ok := solver.(pkgmgr.Lister)
	if !ok {
		return nil, fault.New(fault.Stopped, "manager-not-supported", "", "cannot look for the distribution's packages with %s", solver.Name())
	}
	names, not := []string{}, []string{}
	for _, s := range p.Steps {
		not = append(not, s.Changes.NotFrom...)
		for _, c := range s.Changes.Packages {
			if c.Action == "restore" && len(statesOf(db, c.Name)) > 0 || c.Action == "install" || c.Action == "upgrade" {
				names = append(names, c.Name)
			}
		}
	}
	offers, err := lister.Versions(ctx, names)
	if err != nil {
		return nil, managerFault("cannot ask the repositories for packages", err)
	}
	own := map[string]string{}
	for name, list := range offers {
		i := slices.IndexFunc(list, func(o pkgmgr.Offer) bool {
			return !slices.ContainsFunc(not, func(n string) bool { return sameRepository(n, o.Repository) }) && !ofVendor(name, o.Version)
		})
		if i >= 0 {
			own[name] = list[i].Version
		}
	}
	return own, nil
}

// sameRepository compares addresses that may end in a slash or not, or ids.
func sameRepository(a, b string) bool {
	return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
}

// ofVendor says that a package's name or version has the mark of a vendor's stack, or of a build of rdmactl's.
func ofVendor(name, version string) bool {
	name, _, _ = strings.Cut(name, ":")
	return strings.Contains(version, plan.PackageMark) || detect.OfVendor(name, version)
}

// brokenGoes says that packages are not whole, and that the plan takes all of them away: they need no mending then,
// and often cannot be mended. One whose unpacking was cut short has to be mended first.
func brokenGoes(p plan.Plan, db pkgmgr.Database) bool {
	broken := false
	for _, one := range db {
		if one.Status != pkgmgr.Broken {
			continue
		}
		broken = true
		goes := slices.ContainsFunc(p.Steps, func(s plan.Step) bool {
			return slices.ContainsFunc(s.Changes.Packages, func(c plan.PackageChange) bool {
				return c.Name == one.Name && (c.Action == "restore" || c.Action == "remove")
			})
		})
		if one.Torn || !goes {
			return false
		}
	}
	return broken
}

// whole names the dependencies of what comes as well, where dependencies are unmet on the host: apt then adds none by
// itself, and takes only a request that leaves nothing unmet. They are those of the host without what goes.
func (r *run) whole(ctx context.Context, db pkgmgr.Database) error {
	m, ok := r.pm.(pkgmgr.Unmeeting)
	if !ok || !restoring(r.plan) {
		return nil
	}
	unmet, err := m.Unmet(ctx)
	if err != nil || !unmet {
		return err
	}
	for _, s := range r.plan.Steps {
		req := r.requests[s.ID]
		if len(req.Remove) == 0 || len(r.records()) > 0 {
			continue // a recorded request is whole
		}
		var gone []string
		for _, w := range req.Install {
			for _, p := range statesOf(db, w.Name) {
				gone = append(gone, p.Key())
			}
		}
		for _, n := range req.Remove {
			for _, p := range statesOf(db, n) {
				gone = append(gone, p.Key())
			}
		}
		pm, err := r.after(ctx, gone)
		if err != nil {
			return err
		}
		sol, err := pm.Solve(ctx, pkgmgr.Request{Install: req.Install})
		if err != nil {
			return managerFault("cannot solve for the plan's packages on a host whose dependencies are unmet", err)
		}
		for _, a := range sol.Actions {
			asked := slices.ContainsFunc(req.Install, func(w pkgmgr.Want) bool { return w.Name == a.Name || w.Name == a.Name+":"+a.Arch })
			if a.Action != "remove" && !asked {
				req.Install = append(req.Install, pkgmgr.Want{Name: a.Name, Version: a.Version})
				req.Dependencies = append(req.Dependencies, a.Name)
			}
		}
		r.requests[s.ID] = req
	}
	return nil
}
