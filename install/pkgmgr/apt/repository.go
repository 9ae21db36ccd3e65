package apt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// The places of repositories and their keys. /etc/apt/keyrings is where administrators and vendors put
// keys that belong to one repository (apt 2.4's manual; earlier versions read them from anywhere).
const (
	sourceParts = "/etc/apt/sources.list.d"
	sourceList  = "/etc/apt/sources.list"
	keyrings    = "/etc/apt/keyrings"
)

// repoFiles are a repository's key and its list, in the directories given. A keyring with the ending
// .asc is armored (apt 1.4 and newer).
func repoFiles(r pkgmgr.Repository, lists, keys string) ([]pkgmgr.File, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	key := path.Join(keys, r.ID+".asc")
	suite := r.Suite
	if suite == "" {
		suite = "./"
	}
	line := strings.TrimRight(fmt.Sprintf("deb [signed-by=%s] %s %s %s", key, r.URL, suite, strings.Join(r.Components, " ")), " ")
	return []pkgmgr.File{
		{Path: key, Data: r.Key, Mode: 0o644},
		{Path: path.Join(lists, r.ID+".list"), Data: []byte(line + "\n"), Mode: r.Mode()},
	}, nil
}

// Files are what configures repositories for good.
func (m *Manager) Files(repos []pkgmgr.Repository) ([]pkgmgr.File, error) {
	files := []pkgmgr.File{}
	for _, r := range repos {
		f, err := repoFiles(r, sourceParts, keyrings)
		if err != nil {
			return nil, err
		}
		files = append(files, f...)
	}
	return files, nil
}

// staged are the options that have apt read its sources from a directory of ours, and keep its lists
// and archives there.
type staged struct {
	dir string
	// arch is the architecture of a host that is not this one, whose package database is in dir; see Elsewhere.
	arch string
}

func (s *staged) options() []string {
	if s == nil {
		return nil
	}
	out := []string{
		"-o", "Dir::Etc::SourceList=/dev/null", "-o", "Dir::Etc::SourceParts=" + s.sources(),
		"-o", "Dir::State::Lists=" + s.lists(), "-o", "Dir::Cache=" + s.cache(),
		// The directory is root's alone, and apt's user for downloads could not read the keys in it.
		"-o", "APT::Sandbox::User=root",
	}
	if s.arch != "" {
		out = append(out, s.foreign()...)
	}
	return out
}

func (s *staged) sources() string { return s.dir + "/sources.list.d" }
func (s *staged) lists() string   { return s.dir + "/lists" }
func (s *staged) cache() string   { return s.dir + "/cache" }

func (s *staged) archives() string {
	if s == nil {
		return "/var/cache/apt/archives"
	}
	return s.cache() + "/archives"
}

// Without returns a manager that looks away from the sources of these files.
func (m *Manager) Without(files []string) pkgmgr.Staging {
	out := *m
	out.without = files
	return &out
}

// WithRepositories returns a manager that knows the host's sources, copied, and repos besides.
func (m *Manager) WithRepositories(_ context.Context, dir string, repos []pkgmgr.Repository) (pkgmgr.Manager, error) {
	return m.stage(dir, repos, true)
}

// WithOnly returns a manager that knows repos and none of the host's sources.
func (m *Manager) WithOnly(_ context.Context, dir string, repos []pkgmgr.Repository) (pkgmgr.Manager, error) {
	return m.stage(dir, repos, false)
}

// stage lays out a directory; besides says that the host's sources are copied into it.
func (m *Manager) stage(dir string, repos []pkgmgr.Repository, besides bool) (pkgmgr.Manager, error) {
	if !path.IsAbs(dir) || strings.ContainsAny(dir, " ,;\"\t\n") {
		return nil, fmt.Errorf("cannot stage repositories in %q: not an absolute path of plain letters", dir)
	}
	s := &staged{dir: dir}
	files := []pkgmgr.File{}
	own := map[string]bool{}
	for _, r := range repos {
		f, err := repoFiles(r, s.sources(), dir+"/keys")
		if err != nil {
			return nil, err
		}
		files, own[r.ID+".list"] = append(files, f...), true
	}
	if besides {
		copied, err := m.sourcesBeside(s, own)
		if err != nil {
			return nil, err
		}
		files = append(files, copied...)
	}
	if err := pkgmgr.WriteFiles(m.Writer, files); err != nil {
		return nil, err
	}
	for _, d := range []string{s.sources(), s.lists() + "/partial", s.archives() + "/partial"} {
		if err := m.Writer.MkdirAll(d, 0o755); err != nil {
			return nil, fmt.Errorf("cannot make %s: %w", d, err)
		}
	}
	out := New(m.Writer)
	out.staged, out.runner = s, m.Writer
	return out, nil
}

// sourcesBeside are the host's sources as they go into a staging directory, but for those that are own.
func (m *Manager) sourcesBeside(s *staged, own map[string]bool) ([]pkgmgr.File, error) {
	copied := map[string]string{sourceList: "sources.list.list"}
	names, err := m.Host.ReadDir(sourceParts)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read %s: %w", sourceParts, err)
	}
	for _, n := range names {
		// A repository of the run that is configured already is the same one, and not wanted twice.
		if (strings.HasSuffix(n, ".list") || strings.HasSuffix(n, ".sources")) && !own[n] && !slices.Contains(m.without, sourceParts+"/"+n) {
			copied[sourceParts+"/"+n] = n
		}
	}
	files := []pkgmgr.File{}
	for from, to := range copied {
		text, err := m.Host.ReadFile(from)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", from, err)
		}
		files = append(files, pkgmgr.File{Path: path.Join(s.sources(), to), Data: text, Mode: 0o600})
	}
	return files, nil
}
