package apt

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// after is a host as it will be when some packages are gone: apt reads a copy of dpkg's status without them.
type after struct {
	status string // path of the copy
	gone   []string
}

func (a *after) options() []string {
	if a == nil {
		return nil
	}
	// Without its caches, which would be those of the database that is in place.
	return []string{"-o", "Dir::State::status=" + a.status, "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache="}
}

// of is the database without what is gone.
func (a *after) of(db pkgmgr.Database) pkgmgr.Database {
	if a == nil {
		return db
	}
	out := pkgmgr.Database{}
	for key, p := range db {
		if !slices.Contains(a.gone, key) {
			out[key] = p
		}
	}
	return out
}

const dpkgStatus = "/var/lib/dpkg/status"

// source is the status that apt reads.
func (a *after) source() string {
	if a == nil {
		return dpkgStatus
	}
	return a.status
}

// After returns a manager that solves and fetches as if packages were gone.
func (m *Manager) After(_ context.Context, dir string, gone []string) (pkgmgr.Manager, error) {
	if len(gone) == 0 {
		return m, nil
	}
	if !path.IsAbs(dir) || strings.ContainsAny(dir, " ,;\"\t\n") {
		return nil, fmt.Errorf("cannot foresee packages in %q: not an absolute path of plain letters", dir)
	}
	text, err := m.Host.ReadFile(m.after.source())
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", m.after.source(), err)
	}
	left, missing := withoutPackages(string(text), gone)
	if len(missing) > 0 {
		return nil, fmt.Errorf("cannot foresee the removal of %s: %s does not have it", strings.Join(missing, ", "), dpkgStatus)
	}
	a := &after{status: dir + "/status", gone: gone}
	if err := pkgmgr.WriteFiles(m.Writer, []pkgmgr.File{{Path: a.status, Data: []byte(left), Mode: 0o644}}); err != nil {
		return nil, err
	}
	out := *m
	out.after, out.runner = a, m.Writer
	return &out, nil
}

// withoutPackages takes the paragraphs of packages, by name:arch, out of a status file, and returns the keys that it
// did not have.
func withoutPackages(text string, gone []string) (left string, missing []string) {
	var out strings.Builder
	found := map[string]bool{}
	for paragraph := range strings.SplitAfterSeq(text, "\n\n") {
		key := field(paragraph, "Package") + ":" + field(paragraph, "Architecture")
		if slices.Contains(gone, key) {
			found[key] = true
			continue
		}
		out.WriteString(paragraph)
	}
	for _, key := range gone {
		if !found[key] {
			missing = append(missing, key)
		}
	}
	return out.String(), missing
}

// field is a field of one line in a paragraph.
func field(paragraph, name string) string {
	for line := range strings.Lines(paragraph) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
