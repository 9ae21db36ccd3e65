package zypper

import (
	"context"
	"slices"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/rpm"
)

// Versions asks for all that the repositories have; those of a repository that is disabled are not among them.
func (s *Solver) Versions(ctx context.Context, names []string) (map[string][]pkgmgr.Offer, error) {
	for _, n := range names {
		if err := rpm.CheckName(n); err != nil {
			return nil, err
		}
	}
	all := map[string][]pkgmgr.Offer{}
	if len(names) == 0 {
		return all, nil
	}
	res, err := s.ask(ctx, "repos")
	if err != nil {
		return nil, err
	}
	repos, err := parseRepos(res.Stdout)
	if err != nil {
		return nil, err
	}
	offers, err := s.offers(ctx, names)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		for _, o := range offers {
			if !o.remote() || !rpm.Means(n, o.Name, "", o.Arch) {
				continue
			}
			// A search tells the name of the repository, configuration files have its alias.
			id := o.Repository
			if i := slices.IndexFunc(repos, func(r repo) bool { return r.Name == o.Repository }); i >= 0 {
				id = repos[i].Alias
			}
			all[n] = append(all[n], pkgmgr.Offer{Version: rpm.Normal(o.Edition), Repository: id})
		}
		rpm.SortOffers(all[n])
	}
	return all, nil
}

// Without returns a manager whose WithRepositories leaves out the repositories of these files.
func (m *Manager) Without(files []string) pkgmgr.Staging {
	out := *m
	out.without = files
	return &out
}
