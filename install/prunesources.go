package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/plan"
)

// pruneSources removes the unpacked repositories that no remaining run may still need and the host's package manager is
// not configured with.
func pruneSources(env Env, store journal.Store) (freed int64, err error) {
	opener, ok := env.Host.(host.DirOpener)
	if !ok {
		return 0, nil
	}
	names, err := env.Host.ReadDir(plan.SourcesDir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("cannot look into %s: %w", plan.SourcesDir, err)
	}
	needed, err := sourcesNeeded(env, store)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		whole := strings.TrimSuffix(name, ".part")
		if needed(path.Join(plan.SourcesDir, whole)) {
			continue
		}
		n, err := sizeOfSource(opener, name)
		if err == nil {
			err = removeSource(opener, whole)
		}
		if err != nil {
			return freed, err
		}
		freed += n
	}
	for _, dir := range []string{plan.SourcesDir, path.Dir(plan.SourcesDir)} {
		if err := env.Host.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
			return freed, fmt.Errorf("cannot remove %s: %w", dir, err)
		}
	}
	return freed, nil
}

// sourcesNeeded says of a directory whether anything uses it.
func sourcesNeeded(env Env, store journal.Store) (func(dir string) bool, error) {
	ids, err := store.IDs()
	if err != nil {
		return nil, err
	}
	byRuns := map[string]bool{}
	for _, id := range ids {
		j, err := store.Open(id)
		var p plan.Plan
		if err == nil {
			p, _, err = readRun(j)
		}
		if err != nil {
			return func(string) bool { return true }, nil // nobody knows what that run needs
		}
		for _, s := range p.Steps {
			if r := s.Changes.Repository; r != nil && r.Bundle != nil {
				byRuns[r.Bundle.Dir()] = true
			}
			if x := s.Changes.Script; x != nil && x.Bundle != nil {
				byRuns[x.Bundle.Dir()] = true
			}
		}
	}
	var configured strings.Builder
	for _, dir := range []string{"/etc/apt/sources.list.d", "/etc/yum.repos.d", "/etc/zypp/repos.d"} {
		names, err := env.Host.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot see which repositories are used: %w", err)
		}
		for _, name := range names {
			text, err := env.Host.ReadFile(path.Join(dir, name))
			if err != nil {
				return nil, fmt.Errorf("cannot see which repositories are used: %w", err)
			}
			configured.Write(text)
		}
	}
	return func(dir string) bool { return byRuns[dir] || strings.Contains(configured.String(), dir+"/") }, nil
}

// sizeOfSource is how many bytes the files of an unpacked source have.
func sizeOfSource(opener host.DirOpener, name string) (sum int64, err error) {
	root, err := opener.OpenDir(path.Join(plan.SourcesDir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("cannot open %s: %w", path.Join(plan.SourcesDir, name), err)
	}
	defer func(r *os.Root) { err = errors.Join(err, r.Close()) }(root)
	err = fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
