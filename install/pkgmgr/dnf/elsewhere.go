package dnf

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/rpm"
	"github.com/rdmactl/rdmactl/plan"
)

// Other is a host that is not here, for Elsewhere.
type Other struct {
	Release string // of $releasever: 9
	Arch    string // as uname -m tells it
	// Platform is PLATFORM_ID of its os-release, such as platform:el9; empty where it has none.
	Platform string
	// Repos are the repositories that it is resolved with, Files are .repo files besides, by name, and Keys the
	// keys that sign packages of those.
	Repos []pkgmgr.Repository
	Files map[string][]byte
	Keys  map[string][]byte
}

// Elsewhere returns a manager of another host, of which nothing is known to be installed: what it brings is
// whole by itself. It fetches and solves on this machine with this machine's dnf, in an empty root below dir,
// where it keeps what was downloaded before, and installs nothing.
func Elsewhere(ctx context.Context, w host.Writer, dir string, other Other) (*Manager, error) {
	for _, word := range []string{other.Release, other.Arch, other.Platform} {
		if !regexp.MustCompile(`^[A-Za-z0-9._:-]*$`).MatchString(word) {
			return nil, fmt.Errorf("cannot resolve packages for %q", word)
		}
	}
	root := dir + "/root"
	for _, d := range []string{root + databaseDir, dir + "/repos.d", dir + "/keys"} {
		if err := w.MkdirAll(d, 0o755); err != nil {
			return nil, fmt.Errorf("cannot make %s: %w", d, err)
		}
	}
	m := New(&away{Writer: w, database: root + databaseDir})
	keep := map[string]bool{}
	for _, r := range other.Repos {
		keep[r.ID+".repo"] = true
	}
	for name := range other.Files {
		keep[name] = true
	}
	names, err := w.ReadDir(dir + "/repos.d")
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", dir+"/repos.d", err)
	}
	for _, n := range names { // of an earlier use of the directory
		if keep[n] {
			continue
		}
		if err := w.Remove(dir + "/repos.d/" + n); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot remove %s: %w", n, err)
		}
	}
	staged, err := m.WithOnly(ctx, dir, other.Repos)
	if err != nil {
		return nil, err
	}
	out, ok := staged.(*Manager)
	if !ok {
		return nil, errors.New("cannot stage with this package manager")
	}
	files := []pkgmgr.File{}
	for name, data := range other.Files {
		files = append(files, pkgmgr.File{Path: out.staged.repos() + "/" + name, Data: data, Mode: 0o600})
	}
	for name, data := range other.Keys {
		files = append(files, pkgmgr.File{Path: dir + "/keys/" + name, Data: data, Mode: 0o644})
		out.staged.keys = append(out.staged.keys, dir+"/keys/"+name)
	}
	if err := pkgmgr.WriteFiles(w, files); err != nil {
		return nil, err
	}
	slices.Sort(out.staged.keys)
	out.staged.elsewhere = []string{"--installroot=" + root, "--forcearch=" + other.Arch}
	if other.Release != "" {
		out.staged.elsewhere = append(out.staged.elsewhere, "--releasever="+other.Release)
	}
	if other.Platform != "" {
		out.staged.elsewhere = append(out.staged.elsewhere, "--setopt=module_platform_id="+other.Platform)
	}
	return out, nil
}

const databaseDir = "/var/lib/rpm"

// away is this machine with another rpm database, an empty one: what is asked about packages and keys is asked
// about the host that is not here.
type away struct {
	host.Writer
	database string
}

// Run runs a command; rpm's with the other database.
func (a *away) Run(ctx context.Context, c host.Command) (host.Result, error) {
	if program := path.Base(c.Argv[0]); (program == "rpm" || program == "rpmkeys") && !slices.Contains(c.Argv, "--dbpath") {
		c.Argv = slices.Concat(c.Argv[:1], []string{"--dbpath", a.database}, c.Argv[1:])
	}
	return a.Writer.Run(ctx, c)
}

// PackageFiles are the packages of actions that come, with their files.
func (m *Manager) PackageFiles(ctx context.Context, actions []plan.ResolvedPackage) ([]pkgmgr.PackageFile, error) {
	d, err := m.dialect()
	if err != nil {
		return nil, err
	}
	out := []pkgmgr.PackageFile{}
	for _, a := range actions {
		if a.Action == "remove" {
			continue
		}
		files, err := m.files(ctx, d, []plan.ResolvedPackage{a})
		if err != nil {
			return nil, err
		}
		info, err := m.Host.Stat(files[0])
		if err != nil {
			return nil, fmt.Errorf("cannot look at %s: %w", files[0], err)
		}
		p := pkgmgr.Package{Name: strings.TrimSuffix(a.Name, "-"+rpm.WithoutEpoch(a.Version)), Arch: a.Arch, Version: a.Version, Status: pkgmgr.Installed}
		out = append(out, pkgmgr.PackageFile{Package: p, File: files[0], Bytes: info.Size})
	}
	return out, nil
}
