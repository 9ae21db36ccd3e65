package dnf

import (
	"context"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/rpm"
)

// Versions asks for all that the repositories have, with the host's excludes and priorities.
func (s *Solver) Versions(ctx context.Context, names []string) (map[string][]pkgmgr.Offer, error) {
	d, err := s.dialect()
	if err != nil {
		return nil, err
	}
	specs := []string{}
	for _, n := range names {
		if err := rpm.CheckName(n); err != nil {
			return nil, err
		}
		specs = append(specs, strings.Replace(n, ":", ".", 1))
	}
	if len(specs) == 0 {
		return map[string][]pkgmgr.Offer{}, nil
	}
	if d == yum3 {
		offers, err := s.offers(ctx, d, names)
		if err != nil {
			return nil, err
		}
		return offered(names, offers), nil
	}
	out, err := s.Ask(ctx, s.everything(d, specs)...)
	if err != nil {
		return nil, err
	}
	offers, err := parseOffers(out)
	if err != nil {
		return nil, err
	}
	return offered(names, offers), nil
}

// everything asks dnf 4 and dnf5 for all versions of packages.
func (s *Solver) everything(d dialect, specs []string) []string {
	return s.command(d, []string{cached, "-q"}, slices.Concat([]string{"repoquery", "--available", "--qf", queryFormat}, specs)...)
}

// offered sorts offers by the names that were asked for, the newest first.
func offered(names []string, offers []offer) map[string][]pkgmgr.Offer {
	all := map[string][]pkgmgr.Offer{}
	for _, n := range names {
		for _, o := range offers {
			if rpm.Means(n, o.name, "", o.arch) {
				all[n] = append(all[n], pkgmgr.Offer{Version: o.version, Repository: o.repo})
			}
		}
		rpm.SortOffers(all[n])
	}
	return all
}

// Without returns a manager that looks away from the repositories of these files. One that cannot be read is found
// out by those who remove it.
func (m *Manager) Without(files []string) pkgmgr.Staging {
	out := *m
	out.without = nil
	for _, file := range files {
		text, err := m.Host.ReadFile(file)
		if err != nil {
			continue
		}
		out.without = append(out.without, rpm.RepoIDs(string(text))...)
	}
	return &out
}
