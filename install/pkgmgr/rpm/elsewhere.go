package rpm

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
	"github.com/rdmactl/rdmactl/plan"
)

// Other is a host that is not here, for the managers' Elsewhere: they solve for it on this machine, in an empty root
// below a directory of their own.
type Other struct {
	Release string // of $releasever: 9 of RHEL, 15.6 of SUSE
	Arch    string // as uname -m tells it
	// Platform is PLATFORM_ID of its os-release, such as platform:el9; empty where it has none.
	Platform string
	// Repos are the repositories that it is resolved with, Files are .repo files besides, by name, and Keys the
	// keys that sign packages of those.
	Repos []pkgmgr.Repository
	Files map[string][]byte
	Keys  map[string][]byte
}

const otherDatabase = "/var/lib/rpm"

// Root is the empty root of the host below dir.
func (o Other) Root(dir string) string { return dir + "/root" }

// Prepare makes the empty root below dir, and takes away .repo files of an earlier use of dir. The writer that it
// returns is w with the rpm database of that root in the place of this machine's, and env for all that it runs.
func (o Other) Prepare(w host.Writer, dir string, env ...string) (host.Writer, error) {
	for _, word := range []string{o.Release, o.Arch, o.Platform} {
		if !regexp.MustCompile(`^[A-Za-z0-9._:-]*$`).MatchString(word) {
			return nil, fmt.Errorf("cannot resolve packages for %q", word)
		}
	}
	database := o.Root(dir) + otherDatabase
	for _, d := range []string{database, dir + "/repos.d", dir + "/keys"} {
		if err := w.MkdirAll(d, 0o755); err != nil {
			return nil, fmt.Errorf("cannot make %s: %w", d, err)
		}
	}
	keep := map[string]bool{}
	for _, r := range o.Repos {
		keep[r.ID+".repo"] = true
	}
	for name := range o.Files {
		keep[name] = true
	}
	names, err := w.ReadDir(dir + "/repos.d")
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", dir+"/repos.d", err)
	}
	for _, n := range names {
		if keep[n] {
			continue
		}
		if err := w.Remove(dir + "/repos.d/" + n); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot remove %s: %w", n, err)
		}
	}
	return &away{Writer: w, database: database, env: env}, nil
}

// Lay writes the .repo files and keys that are no repository's of ours, and returns the files of the keys.
func (o Other) Lay(w host.Writer, dir string) (keys []string, err error) {
	files := []pkgmgr.File{}
	for name, data := range o.Files {
		files = append(files, pkgmgr.File{Path: dir + "/repos.d/" + name, Data: data, Mode: 0o600})
	}
	for name, data := range o.Keys {
		files = append(files, pkgmgr.File{Path: dir + "/keys/" + name, Data: data, Mode: 0o644})
		keys = append(keys, dir+"/keys/"+name)
	}
	slices.Sort(keys)
	return keys, pkgmgr.WriteFiles(w, files)
}

// away is this machine with another rpm database, an empty one: what is asked about packages and keys is asked
// about the host that is not here.
type away struct {
	host.Writer
	database string
	env      []string
}

// Run runs a command; rpm's with the other database.
func (a *away) Run(ctx context.Context, c host.Command) (host.Result, error) {
	if program := path.Base(c.Argv[0]); (program == "rpm" || program == "rpmkeys") && !slices.Contains(c.Argv, "--dbpath") {
		c.Argv = slices.Concat(c.Argv[:1], []string{"--dbpath", a.database}, c.Argv[1:])
	}
	c.Env = slices.Concat(a.env, c.Env)
	return a.Writer.Run(ctx, c)
}

// PackageFiles are the packages of actions that come, each with the file that find has for it.
func (t Tool) PackageFiles(actions []plan.ResolvedPackage, find func(plan.ResolvedPackage) (string, error)) ([]pkgmgr.PackageFile, error) {
	out := []pkgmgr.PackageFile{}
	for _, a := range actions {
		if a.Action == "remove" {
			continue
		}
		file, err := find(a)
		if err != nil {
			return nil, err
		}
		info, err := t.Host.Stat(file)
		if err != nil {
			return nil, fmt.Errorf("cannot look at %s: %w", file, err)
		}
		p := pkgmgr.Package{Name: strings.TrimSuffix(a.Name, "-"+WithoutEpoch(a.Version)), Arch: a.Arch, Version: a.Version, Status: pkgmgr.Installed}
		out = append(out, pkgmgr.PackageFile{Package: p, File: file, Bytes: info.Size})
	}
	return out, nil
}
