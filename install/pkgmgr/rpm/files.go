package rpm

import (
	"context"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// FilesOf asks rpm's database.
func (t Tool) FilesOf(ctx context.Context, packages []pkgmgr.Package) (map[string][]string, error) {
	files := map[string][]string{}
	for _, p := range packages {
		out, err := t.Ask(ctx, "rpm", "-q", "--qf", `[%{FILENAMES}\n]`, NEVRA(p))
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(out) {
			files[p.Key()] = append(files[p.Key()], strings.TrimRight(line, "\n"))
		}
	}
	return files, nil
}
