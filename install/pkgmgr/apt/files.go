package apt

import (
	"context"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// FilesOf asks dpkg for each package: in one answer nothing tells where the next one begins.
func (s *Solver) FilesOf(ctx context.Context, packages []pkgmgr.Package) (map[string][]string, error) {
	files := map[string][]string{}
	for _, p := range packages {
		out, err := s.ask(ctx, "dpkg-query", "-L", p.Key())
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(out) {
			files[p.Key()] = append(files[p.Key()], strings.TrimRight(line, "\n"))
		}
	}
	return files, nil
}
