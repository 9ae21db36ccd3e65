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

// Refresh reads the repositories anew. The keys that sign repositories are those of each repository's
// gpgkey=, which the administrator, or a step of the plan with a pinned key, has configured.
func (m *Manager) Refresh(ctx context.Context) ([]string, error) {
	d, err := m.dialect()
	if err != nil {
		return nil, err
	}
	if d != dnf4 && m.Note != nil {
		m.Note(map[dialect]string{dnf5: "dnf 5", yum3: "yum 3"}[d] + " is driven by what is documented of it, and no test of rdmactl runs it")
	}
	verb := []string{"makecache", "--refresh"}
	if d == yum3 {
		if _, err := m.Run(ctx, "", m.command(d, []string{"-q"}, "clean", "expire-cache")...); err != nil {
			return nil, err
		}
		verb = []string{"makecache"}
	}
	res, err := m.Query(ctx, "", m.command(d, []string{"-y"}, verb...)...)
	if err != nil {
		return nil, err
	}
	bad, failed := sortMessages(pkgmgr.WithoutCredentials(res.Stdout + "\n" + res.Stderr))
	if len(bad) > 0 {
		return nil, &pkgmgr.SignatureError{Lines: bad[:min(len(bad), 5)]}
	}
	if res.Exit != 0 && len(failed) == 0 {
		return nil, rpm.Failure(res)
	}
	return failed, nil
}

// Fetch downloads into dnf's cache. dnf verifies each file against the repository's index; its
// signature is then verified by rpm, since a repository may be configured without. On a host that never
// installed anything from a repository, dnf takes that repository's gpgkey= into rpm's keyring here.
func (m *Manager) Fetch(ctx context.Context, req pkgmgr.Request) error {
	sol, err := m.Solve(ctx, req)
	if err != nil || len(sol.Actions) == 0 {
		return err
	}
	d, err := m.dialect()
	if err != nil {
		return err
	}
	o, err := m.orderFor(ctx, d, req)
	if err != nil {
		return err
	}
	// The index that was solved with is used, not a newer one.
	flags := []string{"-y", "--downloadonly", "--setopt=metadata_expire=-1"}
	if d != yum3 {
		flags = append(flags, "--setopt=*.metadata_expire=-1")
	}
	if comes(sol.Actions) {
		if m.staged != nil {
			err = m.staged.download(ctx, m, d, flags, o)
		} else {
			_, err = m.Run(ctx, o.stdin, m.command(d, flags, o.verb...)...)
		}
		if err != nil {
			return err
		}
	}
	files, err := m.files(ctx, d, sol.Actions)
	if err != nil {
		return err
	}
	if m.staged != nil {
		return m.staged.signed(ctx, m.Tool, files)
	}
	return m.Signed(ctx, files)
}

func comes(actions []plan.ResolvedPackage) bool {
	return slices.ContainsFunc(actions, func(a plan.ResolvedPackage) bool { return a.Action != "remove" })
}

func (m *Manager) orderFor(ctx context.Context, d dialect, req pkgmgr.Request) (order, error) {
	install, _, err := words(req)
	if err != nil {
		return order{}, err
	}
	db, err := m.Installed(ctx)
	if err != nil {
		return order{}, err
	}
	return orderOf(d, install, present(db, req.Remove)), nil
}

// files finds the package files that actions need. A repository on a file system of the host is used
// in place; its packages are never copied to the cache.
func (m *Manager) files(ctx context.Context, d dialect, actions []plan.ResolvedPackage) ([]string, error) {
	files := []string{}
	for _, a := range actions {
		if a.Action == "remove" {
			continue
		}
		p := pkgmgr.Package{Name: strings.TrimSuffix(a.Name, "-"+rpm.WithoutEpoch(a.Version)), Arch: a.Arch, Version: a.Version}
		file, err := m.cachedFile(d, a.Origin, p)
		if err != nil {
			return nil, err
		}
		if file == "" && d != yum3 {
			if file, err = m.localFile(ctx, d, p); err != nil {
				return nil, err
			}
		}
		if file == "" {
			return nil, fmt.Errorf("cannot install from what was staged: %s is not there", rpm.FileName(p))
		}
		files = append(files, file)
	}
	return files, nil
}

// cacheRoots are where a manager keeps its repositories: dnf a directory ID-HASH each, yum one ID each
// below architecture and release.
func (m *Manager) cacheRoots(d dialect) ([]string, error) {
	switch {
	case m.staged != nil:
		return []string{m.staged.cache()}, nil
	case d == dnf5:
		return []string{"/var/cache/libdnf5"}, nil
	case d == dnf4:
		return []string{"/var/cache/dnf"}, nil
	}
	roots := []string{}
	arches, err := m.names("/var/cache/yum")
	if err != nil {
		return nil, err
	}
	for _, arch := range arches {
		releases, err := m.names("/var/cache/yum/" + arch)
		if err != nil {
			return nil, err
		}
		for _, r := range releases {
			roots = append(roots, "/var/cache/yum/"+arch+"/"+r)
		}
	}
	return roots, nil
}

// names are the entries of a directory that may be missing.
func (m *Manager) names(dir string) ([]string, error) {
	names, err := m.Host.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !strings.Contains(err.Error(), "not a directory") {
		return nil, fmt.Errorf("cannot look for downloaded packages: %w", err)
	}
	return names, nil
}

// cachedFile finds a package that was downloaded from a repository, from any if repo is empty.
func (m *Manager) cachedFile(d dialect, repo string, p pkgmgr.Package) (string, error) {
	roots, err := m.cacheRoots(d)
	if err != nil {
		return "", err
	}
	for _, root := range roots {
		dirs, err := m.names(root)
		if err != nil {
			return "", err
		}
		for _, dir := range dirs {
			if repo != "" && dir != repo && !regexp.MustCompile("^"+regexp.QuoteMeta(repo)+"-[0-9a-f]{16}$").MatchString(dir) {
				continue
			}
			file := path.Join(root, dir, "packages", rpm.FileName(p))
			if _, err := m.Host.Lstat(file); err == nil {
				return file, nil
			} else if !errors.Is(err, fs.ErrNotExist) && !strings.Contains(err.Error(), "not a directory") {
				return "", fmt.Errorf("cannot look at %s: %w", file, err)
			}
		}
	}
	return "", nil
}

// localFile asks where a package of a file: repository is.
func (m *Manager) localFile(ctx context.Context, d dialect, p pkgmgr.Package) (string, error) {
	out, err := m.Ask(ctx, m.command(d, []string{cached, "-q"}, "repoquery", "--available", "--location", spec(p))...)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		file, ok := strings.CutPrefix(strings.TrimSpace(line), "file://")
		if !ok {
			continue
		}
		if _, err := m.Host.Lstat(file); err == nil {
			return file, nil
		}
	}
	return "", nil
}

// spec names one package exactly.
func spec(p pkgmgr.Package) string { return p.Name + "-" + p.Version + "." + p.Arch }

// Apply installs from the cache that Fetch filled.
func (m *Manager) Apply(ctx context.Context, req pkgmgr.Request) error {
	sol, err := m.Solve(ctx, req)
	if err != nil || len(sol.Actions) == 0 {
		return err
	}
	d, err := m.dialect()
	if err != nil {
		return err
	}
	packages, err := m.files(ctx, d, sol.Actions)
	if err != nil {
		return err
	}
	if err := m.NoteDirectories(ctx, packages); err != nil {
		return err
	}
	o, err := m.orderFor(ctx, d, req)
	if err != nil {
		return err
	}
	beside, err := m.Beside(ctx, rpm.Replaced(sol.Actions))
	if err != nil {
		return err
	}
	if err := m.transaction(ctx, d, rpm.Unfinished{Request: &req, Comes: rpm.ComesOf(sol.Actions), Packages: packages, Staged: m.directory()}, o); err != nil {
		return err
	}
	return m.Afterwards(ctx, beside, m.Note)
}

// transaction runs an order from the cache.
func (m *Manager) transaction(ctx context.Context, d dialect, u rpm.Unfinished, o order) error {
	return m.During(u, func() (bool, error) {
		res, err := m.Run(ctx, o.stdin, m.command(d, []string{"-y", cached}, o.verb...)...)
		if err != nil {
			return res.Argv != nil && ctx.Err() == nil && res.Exit < 128, err
		}
		if err := shellFailed(d, o, res); err != nil {
			return true, err
		}
		// A package whose %post failed is installed, and dnf ends with 0.
		if lines := rpm.FailedScripts(res.Stdout + "\n" + res.Stderr); len(lines) > 0 {
			return true, &pkgmgr.CommandError{Command: d.program() + " " + o.verb[0], Exit: res.Exit, Lines: lines}
		}
		return true, nil
	})
}

// shellFailed is the error of a transaction that dnf 4's shell did not carry out: the shell ends with 0
// all the same. After one that it did it says so.
func shellFailed(d dialect, o order, res host.Result) error {
	if d != dnf4 || o.stdin == "" || strings.Contains(res.Stdout, "Complete!") {
		return nil
	}
	err := rpm.Failure(res)
	var command *pkgmgr.CommandError
	if errors.As(err, &command) && len(command.Lines) == 0 {
		command.Lines = []string{"it carried nothing out and does not say why"}
	}
	return err
}

// Keep copies old packages out of the cache, downloads them again, or packs them from their files.
func (m *Manager) Keep(ctx context.Context, old []pkgmgr.Package, dir string) ([]pkgmgr.OldPackage, error) {
	d, err := m.dialect()
	if err != nil {
		return nil, err
	}
	return m.Tool.Keep(ctx, old, dir, func(ctx context.Context, p pkgmgr.Package) (string, error) {
		file, err := m.cachedFile(d, "", p)
		if err != nil || file != "" {
			return file, err
		}
		flags := []string{"-y", "-q", "--downloadonly"}
		if d != dnf5 { // which only knows a directory for its command download, of a plugin in dnf 4
			flags = append(flags, map[dialect]string{dnf4: "--destdir=", yum3: "--downloaddir="}[d]+dir)
		}
		// A package that no repository has any more is an error here, and is packed instead.
		if _, err := m.Run(ctx, "", m.command(d, flags, "reinstall", spec(p))...); err != nil {
			var sig *pkgmgr.SignatureError
			if errors.As(err, &sig) {
				return "", err
			}
			return m.localFile(ctx, d, p)
		}
		if d == dnf5 {
			return m.cachedFile(d, "", p)
		}
		return path.Join(dir, rpm.FileName(p)), nil
	}, m.Note)
}

// undoOrder is the order of an undo.
func (m *Manager) undoOrder(ctx context.Context, d dialect, u pkgmgr.Undo) (order, pkgmgr.Database, error) {
	db, err := m.Installed(ctx)
	if err != nil {
		return order{}, nil, err
	}
	if err := rpm.CheckUndo(u); err != nil {
		return order{}, nil, err
	}
	install := []string{}
	for _, b := range u.Back {
		install = append(install, b.File)
	}
	remove := present(db, slices.Concat(u.Purge, u.Remove))
	if len(install)+len(remove) == 0 {
		return order{}, db, nil
	}
	return orderOf(d, install, remove), db, nil
}

// SolveUndo has the manager plan an undo.
func (m *Manager) SolveUndo(ctx context.Context, u pkgmgr.Undo) ([]plan.ResolvedPackage, error) {
	if u.Empty() {
		return nil, nil
	}
	d, err := m.dialect()
	if err != nil {
		return nil, err
	}
	o, db, err := m.undoOrder(ctx, d, u)
	if err != nil || o.verb == nil {
		return nil, err
	}
	actions, _, _, err := m.solve(ctx, d, o, db)
	return actions, err
}

// Undo removes and puts back in one transaction, and takes away what rpm left of our packages'
// configuration.
func (m *Manager) Undo(ctx context.Context, u pkgmgr.Undo) error {
	if u.Empty() {
		return m.DropDirectories(ctx)
	}
	d, err := m.dialect()
	if err != nil {
		return err
	}
	o, _, err := m.undoOrder(ctx, d, u)
	if err != nil {
		return err
	}
	if o.verb == nil {
		return m.DropDirectories(ctx)
	}
	return m.AroundUndo(ctx, u, func() error {
		return m.transaction(ctx, d, rpm.Unfinished{Undo: &u, Comes: u.Back, Staged: m.directory()}, o)
	})
}

// Again installs packages once more, from their kept files or from the cache.
func (m *Manager) Again(ctx context.Context, packages []pkgmgr.OldPackage) error {
	d, err := m.dialect()
	if err != nil {
		return err
	}
	specs := []string{}
	for _, p := range packages {
		switch {
		case p.File != "":
			specs = append(specs, p.File)
		case p.Base != "":
			specs = append(specs, spec(pkgmgr.Package{Name: p.Base, Arch: p.Arch, Version: p.Version}))
		default:
			specs = append(specs, spec(p.Package))
		}
	}
	_, err = m.Run(ctx, "", m.command(d, []string{"-y", cached}, append([]string{"reinstall"}, specs...)...)...)
	return err
}

// AgainLast is not so: what was cut short is made whole first.
func (m *Manager) AgainLast() bool { return false }

// directory is that of staged repositories.
func (m *Manager) directory() string {
	if m.staged == nil {
		return ""
	}
	return m.staged.dir
}

// Repair finishes what an interrupted transaction left in the middle, from the repositories that it was
// staged from.
func (m *Manager) Repair(ctx context.Context) (string, error) {
	pending, err := m.Pending()
	if err != nil {
		return "", err
	}
	mender := m
	if pending != nil && pending.Staged != "" {
		mender = New(m.Writer)
		mender.Note, mender.staged = m.Note, &staged{dir: pending.Staged}
	}
	if err := mender.dropStaleLocks(); err != nil {
		return "", err
	}
	return m.Tool.Repair(ctx, mender)
}
