package zypper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/rpm"
	"github.com/rdmactl/rdmactl/plan"
)

// Refresh reads the repositories anew. A key that rpm does not trust yet is refused: --non-interactive
// answers so, and --gpg-auto-import-keys would also take one that the repository itself brings.
func (m *Manager) Refresh(ctx context.Context) ([]string, error) {
	res, err := m.Query(ctx, "", m.command("refresh", "--force")...)
	if err != nil {
		return nil, err
	}
	text := pkgmgr.WithoutCredentials(messages(res.Stdout) + res.Stderr)
	bad, failed := sortMessages(text)
	if len(bad) > 0 {
		return nil, &pkgmgr.SignatureError{Lines: bad[:min(len(bad), 5)]}
	}
	// 4: no repository could be read; 6: none is configured; 106: some could not.
	if res.Exit != 0 && res.Exit != 6 && len(failed) == 0 {
		return nil, failure(res)
	}
	return failed, nil
}

// Fetch downloads into zypper's cache. zypper verifies each file against the repository's index; its
// signature is then verified by rpm, which zypper leaves out where the index is signed.
func (m *Manager) Fetch(ctx context.Context, req pkgmgr.Request) error {
	sol, err := m.Solve(ctx, req)
	if err != nil || !slices.ContainsFunc(sol.Actions, comes) {
		return err
	}
	db, err := m.Installed(ctx)
	if err != nil {
		return err
	}
	verb, rest, err := m.order(req, db)
	if err != nil {
		return err
	}
	if err := m.zypper(ctx, verb, append([]string{"--download-only"}, rest...)...); err != nil {
		return err
	}
	files, err := m.files(ctx, sol.Actions)
	if err != nil {
		return err
	}
	return m.Signed(ctx, files)
}

func comes(a plan.ResolvedPackage) bool { return a.Action != "remove" }

// zypper runs a changing verb. 102 and 103 say that a reboot or a restart of zypper is advised, 106
// that a repository was left out; 107 that a script of a package failed.
func (m *Manager) zypper(ctx context.Context, verb string, rest ...string) error {
	res, err := m.Writer.Run(ctx, host.Command{Argv: m.command(verb, rest...), Env: m.Env})
	if err != nil {
		return fmt.Errorf("cannot run zypper: %w", err)
	}
	switch res.Exit {
	case 0, 102, 103, 106:
		// Older versions only print that a script failed.
		if lines := rpm.FailedScripts(messages(res.Stdout) + "\n" + res.Stderr); len(lines) > 0 {
			return &pkgmgr.CommandError{Command: "zypper " + verb, Exit: res.Exit, Lines: lines}
		}
		return nil
	}
	return failure(res)
}

// files finds the package files that actions need, in the cache or in a repository on the host.
func (m *Manager) files(ctx context.Context, actions []plan.ResolvedPackage) ([]string, error) {
	files := []string{}
	for _, a := range actions {
		if !comes(a) {
			continue
		}
		p := pkgmgr.Package{Name: baseOf(a), Arch: a.Arch, Version: a.Version}
		file, err := m.cachedFile(p)
		if err != nil {
			return nil, err
		}
		if file == "" {
			if file, err = m.localFile(ctx, a.Origin, p); err != nil {
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

func (m *Manager) packages() string {
	if m.staged != nil {
		return m.staged.cache() + "/packages"
	}
	return "/var/cache/zypp/packages"
}

// cachedFile finds a package below packages/ALIAS/, where it lies as the repository has it: at the top
// or in a directory for its architecture or deeper.
func (m *Manager) cachedFile(p pkgmgr.Package) (string, error) {
	return m.find(m.packages(), rpm.FileName(p), 6)
}

func (m *Manager) find(dir, name string, depth int) (string, error) {
	names, err := m.Host.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("cannot look for downloaded packages: %w", err)
	}
	if slices.Contains(names, name) {
		return path.Join(dir, name), nil
	}
	for _, n := range names {
		info, err := m.Host.Lstat(path.Join(dir, n))
		if err != nil || !info.Mode.IsDir() || depth == 0 {
			continue
		}
		if file, err := m.find(path.Join(dir, n), name, depth-1); err != nil || file != "" {
			return file, err
		}
	}
	return "", nil
}

// localFile finds a package of a repository that lies on the host and is used in place.
func (m *Manager) localFile(ctx context.Context, name string, p pkgmgr.Package) (string, error) {
	res, err := m.ask(ctx, "repos")
	if err != nil {
		return "", err
	}
	repos, err := parseRepos(res.Stdout)
	if err != nil {
		return "", err
	}
	for _, r := range repos {
		if r.Name != name {
			continue
		}
		for _, scheme := range []string{"file://", "dir://", "file:", "dir:"} {
			dir, ok := strings.CutPrefix(r.URL, scheme)
			if !ok || !strings.HasPrefix(dir, "/") {
				continue
			}
			if file, err := m.find(path.Clean(dir), rpm.FileName(p), 6); err != nil || file != "" {
				return file, err
			}
			break // another may have the same name
		}
	}
	return "", nil
}

// Apply installs from the cache that Fetch filled. zypper has no option to stay off the network: with
// --no-refresh and every file in its cache it has nothing to ask for.
func (m *Manager) Apply(ctx context.Context, req pkgmgr.Request) error {
	sol, err := m.Solve(ctx, req)
	if err != nil || len(sol.Actions) == 0 {
		return err
	}
	packages, err := m.files(ctx, sol.Actions)
	if err != nil {
		return err
	}
	if err := m.NoteDirectories(ctx, packages); err != nil {
		return err
	}
	db, err := m.Installed(ctx)
	if err != nil {
		return err
	}
	verb, rest, err := m.order(req, db)
	if err != nil {
		return err
	}
	beside, err := m.Beside(ctx, rpm.Replaced(sol.Actions))
	if err != nil {
		return err
	}
	if err := m.transaction(ctx, rpm.Unfinished{Request: &req, Comes: rpm.ComesOf(sol.Actions), Packages: packages, Staged: m.directory()}, verb, rest); err != nil {
		return err
	}
	return m.Afterwards(ctx, beside, m.Note)
}

func (m *Manager) transaction(ctx context.Context, u rpm.Unfinished, verb string, rest []string) error {
	return m.During(u, func() (bool, error) {
		err := m.zypper(ctx, verb, rest...)
		var command *pkgmgr.CommandError
		var sig *pkgmgr.SignatureError
		ended := err == nil || errors.As(err, &sig) || errors.As(err, &command) && command.Exit < 128
		return ended, err
	})
}

// Keep copies old packages out of the cache, downloads them again, or packs them from their files.
func (m *Manager) Keep(ctx context.Context, old []pkgmgr.Package, dir string) ([]pkgmgr.OldPackage, error) {
	return m.Tool.Keep(ctx, old, dir, func(ctx context.Context, p pkgmgr.Package) (string, error) {
		if file, err := m.cachedFile(p); err != nil || file != "" {
			return file, err
		}
		offers, err := m.offers(ctx, []string{p.Name})
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(offers, func(o offer) bool {
			return o.remote() && o.Arch == p.Arch && rpm.Normal(o.Edition) == p.Version
		})
		if i < 0 {
			return "", nil
		}
		// --force asks for the very version that is installed; nothing but a download comes of it.
		err = m.zypper(ctx, "install", "--download-only", "--no-recommends", "--force", p.Name+"."+p.Arch+"="+p.Version)
		var command *pkgmgr.CommandError
		if err != nil && !errors.As(err, &command) {
			return "", err
		}
		if file, err := m.cachedFile(p); err != nil || file != "" {
			return file, err
		}
		return m.localFile(ctx, offers[i].Repository, p)
	}, m.Note)
}

// undoOrder is the order of an undo.
func (m *Manager) undoOrder(ctx context.Context, u pkgmgr.Undo) (verb string, rest []string, db pkgmgr.Database, err error) {
	if db, err = m.Installed(ctx); err != nil {
		return "", nil, nil, err
	}
	install, remove := []string{}, []string{}
	unsigned := false
	if err := rpm.CheckUndo(u); err != nil {
		return "", nil, nil, err
	}
	for _, b := range u.Back {
		if now, ok := db[b.Key()]; ok && now.Status == pkgmgr.Installed && now.Version == b.Version {
			continue
		}
		unsigned = unsigned || rpm.Repacked(b.File)
		install = append(install, b.File)
	}
	for _, n := range slices.Concat(u.Purge, u.Remove) {
		if db.Has(n) {
			remove = append(remove, removal(n, db))
		}
	}
	back := len(install) > 0
	verb, rest, err = joined(install, remove, allowance{older: back, vendor: back})
	if unsigned {
		rest = append([]string{"--allow-unsigned-rpm"}, rest...) // packed here from what was installed here
	}
	return verb, rest, db, err
}

// SolveUndo simulates an undo.
func (m *Manager) SolveUndo(ctx context.Context, u pkgmgr.Undo) ([]plan.ResolvedPackage, error) {
	if u.Empty() {
		return nil, nil
	}
	verb, rest, db, err := m.undoOrder(ctx, u)
	if err != nil || verb == "" {
		return nil, err
	}
	actions, _, _, err := m.solve(ctx, verb, rest, db)
	return actions, err
}

// Undo removes and puts back in one transaction, and takes away what rpm left of our packages'
// configuration.
func (m *Manager) Undo(ctx context.Context, u pkgmgr.Undo) error {
	if u.Empty() {
		return m.DropDirectories(ctx)
	}
	verb, rest, _, err := m.undoOrder(ctx, u)
	if err != nil {
		return err
	}
	if verb == "" {
		return m.DropDirectories(ctx)
	}
	return m.AroundUndo(ctx, u, func() error {
		return m.transaction(ctx, rpm.Unfinished{Undo: &u, Comes: u.Back, Staged: m.directory()}, verb, rest)
	})
}

// Again installs packages once more, from their kept files or from the cache. libzypp installs one
// package after another and takes each out of its cache when it is done: those that are not there any
// more came whole.
func (m *Manager) Again(ctx context.Context, packages []pkgmgr.OldPackage) error {
	specs := []string{}
	for _, p := range packages {
		if p.File != "" {
			specs = append(specs, p.File)
			continue
		}
		plain := p.Package
		if p.Base != "" {
			plain.Name, plain.Base = p.Base, ""
		}
		file, err := m.cachedFile(plain)
		if err != nil {
			return err
		}
		if file != "" {
			specs = append(specs, plain.Name+"."+plain.Arch+"="+plain.Version)
		}
	}
	if len(specs) == 0 {
		return nil
	}
	options := append(safety(), "--force")
	if slices.ContainsFunc(specs, rpm.Repacked) {
		options = append(options, "--allow-unsigned-rpm")
	}
	return m.zypper(ctx, "install", append(options, specs...)...)
}

// AgainLast is so because libzypp replaces one package after another, and solves for all that is installed: half of a
// stack is in the way of anything but the other half.
func (m *Manager) AgainLast() bool { return true }

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
	return m.Tool.Repair(ctx, mender)
}
