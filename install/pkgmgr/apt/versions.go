package apt

import (
	"context"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// Versions asks apt-cache for all versions and who has them.
func (s *Solver) Versions(ctx context.Context, names []string) (map[string][]pkgmgr.Offer, error) {
	for _, n := range names {
		if err := checkName(n); err != nil {
			return nil, err
		}
	}
	if len(names) == 0 {
		return map[string][]pkgmgr.Offer{}, nil
	}
	out, err := s.ask(ctx, append([]string{"apt-cache", "madison"}, names...)...)
	if err != nil {
		return nil, err
	}
	return parseMadison(out), nil
}

// parseMadison reads `apt-cache madison NAME...`, whose lines are
//
//	libibverbs1 | 44.0-2 | http://deb.example.com/debian bookworm/main amd64 Packages
//
// The package database is not among them. Lines of sources end with Sources.
func parseMadison(out string) map[string][]pkgmgr.Offer {
	all := map[string][]pkgmgr.Offer{}
	for line := range strings.Lines(out) {
		f := strings.SplitN(line, "|", 3)
		if len(f) != 3 {
			continue
		}
		name, version, source := strings.TrimSpace(f[0]), strings.TrimSpace(f[1]), strings.Fields(f[2])
		if name == "" || version == "" || len(source) < 2 || source[len(source)-1] != "Packages" {
			continue
		}
		all[name] = append(all[name], pkgmgr.Offer{Version: version, Repository: pkgmgr.WithoutCredentials(source[0])})
	}
	for _, offers := range all {
		slices.SortStableFunc(offers, func(a, b pkgmgr.Offer) int {
			c, err := compareVersions(b.Version, a.Version)
			if err != nil {
				return strings.Compare(b.Version, a.Version)
			}
			return c
		})
	}
	return all
}
