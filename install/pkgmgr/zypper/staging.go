package zypper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/rpm"
)

const repoDir = "/etc/zypp/repos.d"

// packageCheck has zypper verify the signature of packages too, which it leaves out by default where
// the index is signed.
const packageCheck = "pkg_gpgcheck=1"

// staged is what a manager with further repositories has in its directory: the host's .repo files and
// theirs, and caches.
type staged struct {
	dir string
	// elsewhere are the options for a host that is not this one; see Elsewhere.
	elsewhere []string
}

func (s *staged) repos() string { return s.dir + "/repos.d" }
func (s *staged) cache() string { return s.dir + "/cache" }

func (s *staged) options() []string {
	return append([]string{"--reposd-dir", s.repos(), "--cache-dir", s.cache()}, s.elsewhere...)
}

// Files are what configures repositories for good.
func (m *Manager) Files(repos []pkgmgr.Repository) ([]pkgmgr.File, error) {
	files := []pkgmgr.File{}
	for _, r := range repos {
		f, err := rpm.RepoFiles(r, repoDir, "", "type=rpm-md", "autorefresh=0", packageCheck)
		if err != nil {
			return nil, err
		}
		files = append(files, f...)
	}
	return files, nil
}

// WithRepositories returns a manager that knows further repositories, from files below dir. libzypp
// trusts no key but those in rpm's database: the keys of repos are taken into it here, and Untrust takes
// them out again.
func (m *Manager) WithRepositories(ctx context.Context, dir string, repos []pkgmgr.Repository) (pkgmgr.Manager, error) {
	return m.stage(ctx, dir, repos, true)
}

// WithOnly is WithRepositories for a manager that knows repos and nothing else.
func (m *Manager) WithOnly(ctx context.Context, dir string, repos []pkgmgr.Repository) (pkgmgr.Manager, error) {
	return m.stage(ctx, dir, repos, false)
}

// stage lays out a directory; besides says that the host's repositories are copied into it.
func (m *Manager) stage(ctx context.Context, dir string, repos []pkgmgr.Repository, besides bool) (pkgmgr.Manager, error) {
	if !path.IsAbs(dir) || strings.ContainsAny(dir, " \t\n") {
		return nil, fmt.Errorf("cannot stage repositories in %q: not an absolute path without blanks", dir)
	}
	s := &staged{dir: dir}
	own := map[string]bool{}
	files := []pkgmgr.File{}
	keys := []string{}
	for _, r := range repos {
		f, err := rpm.RepoFiles(r, s.repos(), dir+"/keys", "type=rpm-md", "autorefresh=0", packageCheck)
		if err != nil {
			return nil, err
		}
		files, keys, own[path.Base(f[1].Path)] = append(files, f...), append(keys, f[0].Path), true
	}
	var names []string
	if besides {
		var err error
		if names, err = m.Host.ReadDir(repoDir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot read %s: %w", repoDir, err)
		}
	}
	for _, n := range names {
		if !strings.HasSuffix(n, ".repo") || own[n] || slices.Contains(m.without, repoDir+"/"+n) {
			continue
		}
		text, err := m.Host.ReadFile(repoDir + "/" + n)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", n, err)
		}
		files = append(files, pkgmgr.File{Path: s.repos() + "/" + n, Data: text, Mode: 0o600})
	}
	if err := pkgmgr.WriteFiles(m.Writer, files); err != nil {
		return nil, err
	}
	for _, d := range []string{s.cache(), s.repos()} {
		if err := m.Writer.MkdirAll(d, 0o755); err != nil {
			return nil, fmt.Errorf("cannot make %s: %w", d, err)
		}
	}
	if err := m.NoteTrust(ctx, dir); err != nil {
		return nil, err
	}
	if err := m.Trust(ctx, keys); err != nil {
		return nil, err
	}
	out := New(m.Writer)
	out.Note, out.staged = m.Note, s
	return out, nil
}
