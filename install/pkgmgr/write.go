package pkgmgr

import (
	"fmt"
	"path"

	"github.com/rdmactl/rdmactl/host"
)

// WriteFiles lays files down, with their directories.
func WriteFiles(w host.Writer, files []File) error {
	for _, f := range files {
		if err := w.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
			return fmt.Errorf("cannot make %s: %w", path.Dir(f.Path), err)
		}
		if err := w.WriteFile(f.Path, f.Data, f.Mode); err != nil {
			return fmt.Errorf("cannot write %s: %w", f.Path, err)
		}
	}
	return nil
}
