package dnf

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/rpm"
)

// repoDirs are dnf's own defaults for reposdir; dnf passes over those that are missing.
const repoDirs = "/etc/yum.repos.d,/etc/distro.repos.d,/etc/yum/repos.d"

// staged is what a manager with further repositories has in its directory: their .repo files and keys,
// a cache, and a keyring.
type staged struct {
	dir  string
	keys []string
	// only says that the host's own repositories are left out.
	only bool
	// elsewhere are the options for a host that is not this one; see Elsewhere.
	elsewhere []string
}

func (s *staged) repos() string   { return s.dir + "/repos.d" }
func (s *staged) cache() string   { return s.dir + "/cache" }
func (s *staged) keyring() string { return s.dir + "/keyring" }

func (s *staged) options() []string {
	dirs := repoDirs + "," + s.repos()
	if s.only {
		dirs = s.repos()
	}
	return append([]string{"--setopt=reposdir=" + dirs, "--setopt=cachedir=" + s.cache()}, s.elsewhere...)
}

// Files are what configures repositories for good.
func (m *Manager) Files(repos []pkgmgr.Repository) ([]pkgmgr.File, error) {
	files := []pkgmgr.File{}
	for _, r := range repos {
		f, err := rpm.RepoFiles(r, "/etc/yum.repos.d", "")
		if err != nil {
			return nil, err
		}
		files = append(files, f...)
	}
	return files, nil
}

// WithRepositories returns a manager that knows further repositories, from files below dir. Until Apply
// rpm itself does not trust their keys: packages are verified by a keyring in dir.
func (m *Manager) WithRepositories(ctx context.Context, dir string, repos []pkgmgr.Repository) (pkgmgr.Manager, error) {
	return m.stage(ctx, &staged{dir: dir}, repos)
}

// WithOnly is WithRepositories for a manager that knows repos and nothing else.
func (m *Manager) WithOnly(ctx context.Context, dir string, repos []pkgmgr.Repository) (pkgmgr.Manager, error) {
	return m.stage(ctx, &staged{dir: dir, only: true}, repos)
}

func (m *Manager) stage(ctx context.Context, s *staged, repos []pkgmgr.Repository) (pkgmgr.Manager, error) {
	dir := s.dir
	if !path.IsAbs(dir) || strings.ContainsAny(dir, " ,\t\n") {
		return nil, fmt.Errorf("cannot stage repositories in %q: not an absolute path without blanks and commas", dir)
	}
	for _, r := range repos {
		files, err := rpm.RepoFiles(r, s.repos(), dir+"/keys")
		if err != nil {
			return nil, err
		}
		if err := pkgmgr.WriteFiles(m.Writer, files); err != nil {
			return nil, err
		}
		s.keys = append(s.keys, files[0].Path)
	}
	for _, d := range []string{s.cache(), s.repos()} {
		if err := m.Writer.MkdirAll(d, 0o755); err != nil {
			return nil, fmt.Errorf("cannot make %s: %w", d, err)
		}
	}
	if err := m.NoteTrust(ctx, dir); err != nil {
		return nil, err
	}
	out := New(m.Writer)
	out.Note, out.staged, out.without = m.Note, s, m.without
	return out, nil
}

// download has dnf 4 download without taking keys into rpm's keyring: with -y it would, without it
// refuses after the download, which is all that is wanted. dnf5 and yum 3 take the keys here already.
func (s *staged) download(ctx context.Context, m *Manager, d dialect, flags []string, o order) error {
	if d != dnf4 {
		_, err := m.Run(ctx, o.stdin, m.command(d, flags, o.verb...)...)
		return err
	}
	stdin := "y\n"
	if o.stdin != "" {
		stdin = strings.Replace(o.stdin, "\nrun\n", "\nrun\ny\n", 1)
	}
	_, err := m.Run(ctx, stdin, m.command(d, flags[1:], o.verb...)...)
	var sig *pkgmgr.SignatureError
	if errors.As(err, &sig) && len(sig.Lines) == 1 && strings.Contains(sig.Lines[0], "Refusing to automatically import keys") {
		return nil // signed verifies
	}
	return err
}

func (s *staged) signed(ctx context.Context, t rpm.Tool, files []string) error {
	if err := t.Keyring(ctx, s.keyring(), s.keys); err != nil {
		return err
	}
	return t.SignedBy(ctx, s.keyring(), files)
}
