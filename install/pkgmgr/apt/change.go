package apt

import (
	"context"
	"crypto/md5" // dpkg records MD5 sums of configuration files
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/plan"
)

// env keeps every part of a transaction from asking: debconf, apt-listchanges, and needrestart, which
// Ubuntu 22.04 and newer run after apt and which restarts services.
func env() []string {
	return []string{
		"DEBIAN_FRONTEND=noninteractive", "DEBCONF_NONINTERACTIVE_SEEN=true",
		"APT_LISTCHANGES_FRONTEND=none", "NEEDRESTART_SUSPEND=1", "UCF_FORCE_CONFFOLD=1",
	}
}

// unattended are the options of every real transaction, update too. DPkg::Lock::Timeout (seconds) is
// known from apt 1.9.11 on and ignored before.
func unattended() []string {
	return []string{
		"-q", "-y",
		"-o", "DPkg::Lock::Timeout=120",
		"-o", "Dpkg::Use-Pty=0",
		"-o", "Dpkg::Options::=--force-confdef",
		"-o", "Dpkg::Options::=--force-confold",
		"-o", "Acquire::Retries=3",
		"-o", "Acquire::AllowInsecureRepositories=false",
		"-o", "Acquire::AllowWeakRepositories=false",
		"-o", "Acquire::AllowDowngradeToInsecureRepositories=false",
	}
}

// run executes a changing command that has to end with 0.
func (m *Manager) run(ctx context.Context, argv ...string) (host.Result, error) {
	res, err := m.Writer.Run(ctx, host.Command{Argv: m.with(argv), Env: env()})
	if err != nil {
		return res, fmt.Errorf("cannot run %s: %w", argv[0], err)
	}
	if res.Exit != 0 {
		return res, failure(res)
	}
	return res, nil
}

func aptGet(verb string, options ...string) []string {
	return slices.Concat([]string{"apt-get", verb}, safety(), unattended(), options)
}

// Refresh runs apt-get update. Error-Mode=any is known from apt 2.2 (Debian 11) on and makes it end
// with 100 on any fault; what it says is read all the same.
func (m *Manager) Refresh(ctx context.Context) ([]string, error) {
	argv := slices.Concat([]string{"apt-get", "update", "-o", "APT::Update::Error-Mode=any"}, unattended())
	res, err := m.Writer.Run(ctx, host.Command{Argv: m.with(argv), Env: env()})
	if err != nil {
		return nil, fmt.Errorf("cannot run apt-get: %w", err)
	}
	bad, failed, other := sortMessages(res.Stdout + "\n" + res.Stderr)
	if len(bad) > 0 {
		if len(bad) > 5 {
			bad = bad[:5]
		}
		return nil, &pkgmgr.SignatureError{Lines: bad}
	}
	if res.Exit != 0 && (len(failed) == 0 || len(other) > 0) {
		return nil, failure(res)
	}
	return failed, nil
}

// Fetch downloads into apt's archives. apt verifies each file against the signed index.
func (m *Manager) Fetch(ctx context.Context, req pkgmgr.Request) error {
	if req.Empty() {
		return nil
	}
	db, err := m.Installed(ctx)
	if err != nil {
		return err
	}
	names, err := words(req, db)
	if err != nil || len(names) == 0 {
		return err
	}
	mend, err := m.mending(ctx, req)
	if err != nil {
		return err
	}
	_, err = m.run(ctx, aptGet("install", slices.Concat([]string{"--download-only"}, mend, names)...)...)
	return err
}

// Apply installs from the archives that Fetch filled.
func (m *Manager) Apply(ctx context.Context, req pkgmgr.Request) error {
	if req.Empty() {
		return nil
	}
	if m.after != nil {
		return errors.New("cannot install into a host that is only foreseen")
	}
	db, err := m.Installed(ctx)
	if err != nil {
		return err
	}
	names, err := words(req, db)
	if err != nil || len(names) == 0 {
		return err
	}
	mend, err := m.mending(ctx, req)
	if err != nil {
		return err
	}
	names = append(mend, names...)
	local, err := m.complete(ctx, names)
	if err != nil {
		return err
	}
	options := []string{}
	if !local {
		options = append(options, "--no-download")
	}
	if len(req.Remove) == 0 {
		options = append(options, "--no-remove")
	} else if req.Purge {
		options = append(options, "--purge")
	}
	_, err = m.run(ctx, aptGet("install", append(options, names...)...)...)
	return err
}

// complete makes sure that nothing is left to fetch. local says that apt will read packages where they
// are, from a file: repository; it never copies those to its archives, and with --no-download it ends
// with "Pathname to install is not absolute" (apt 2.6).
func (m *Manager) complete(ctx context.Context, names []string) (local bool, err error) {
	out, err := m.ask(ctx, slices.Concat([]string{"apt-get", "--print-uris", "-y", "install"}, safety(), names)...)
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(out) {
		uri, ok := strings.CutPrefix(line, "'")
		switch {
		case !ok:
		case strings.HasPrefix(uri, "file:"):
			local = true
		default:
			f := strings.Fields(line)
			name := "a package"
			if len(f) > 1 {
				name = f[1]
			}
			return false, fmt.Errorf("cannot install from what was staged: %s is not there any more", name)
		}
	}
	return local, nil
}

// Keep copies old packages out of the archives, downloads them again, or packs them from their files.
func (m *Manager) Keep(ctx context.Context, old []pkgmgr.Package, dir string) ([]pkgmgr.OldPackage, error) {
	kept := []pkgmgr.OldPackage{}
	for _, p := range old {
		file := fmt.Sprintf("%s_%s_%s.deb", p.Name, strings.ReplaceAll(p.Version, ":", "%3a"), p.Arch)
		if err := m.Writer.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("cannot make %s: %w", dir, err)
		}
		target := path.Join(dir, file)
		if there, err := m.keptAlready(target); err != nil {
			return nil, err
		} else if there != "" {
			kept = append(kept, pkgmgr.OldPackage{Package: p, File: there})
			continue
		}
		cached := path.Join(m.staged.archives(), file)
		if _, err := m.Host.Lstat(cached); err == nil {
			if _, err := m.run(ctx, "cp", "--", cached, target); err != nil {
				return nil, err
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot look at %s: %w", cached, err)
		} else if _, err := m.run(ctx, "env", "-C", dir, "apt-get", "download", "-q",
			"--no-allow-unauthenticated", p.Name+":"+p.Arch+"="+p.Version); err != nil {
			if target, err = m.repacked(ctx, p, dir, err); err != nil {
				return nil, err
			}
		}
		kept = append(kept, pkgmgr.OldPackage{Package: p, File: target})
	}
	return kept, nil
}

// SetAuto changes marks.
func (m *Manager) SetAuto(ctx context.Context, auto, manual []string) error {
	for _, c := range []struct {
		verb  string
		names []string
	}{{"auto", auto}, {"manual", manual}} {
		if len(c.names) == 0 {
			continue
		}
		if _, err := m.run(ctx, append([]string{"apt-mark", c.verb}, c.names...)...); err != nil {
			return err
		}
	}
	return nil
}

// Repair runs dpkg --configure -a, then has apt unpack again what was left half unpacked.
func (m *Manager) Repair(ctx context.Context) (string, error) {
	fault := m.Healthy(ctx)
	if fault == nil {
		return "", nil
	}
	strays, err := m.strays() // before dpkg forgets what it was unpacking
	if err != nil {
		return "", err
	}
	if err := m.tidy(strays); err != nil {
		return "", err
	}
	_, failed := m.run(ctx, "dpkg", "--configure", "-a", "--force-confdef", "--force-confold")
	if m.Healthy(ctx) == nil {
		return fmt.Sprintf("%v; dpkg --configure -a finished it", fault), nil
	}
	// What configuring cannot mend: a package whose unpacking was cut short has to be unpacked again,
	// in the version that was staged, and one whose dependency did not come yet needs it. -f lets apt
	// add what is missing; nothing may be removed.
	db, err := m.Installed(ctx)
	if err != nil {
		return "", errors.Join(failed, err)
	}
	options := []string{"-f", "--no-remove"}
	names := []string{}
	for k, p := range db {
		if p.Torn {
			names = append(names, k+"="+p.Version)
		}
	}
	if len(names) > 0 {
		sort.Strings(names)
		options = append(append(options, "--reinstall"), names...)
	}
	if _, err := m.run(ctx, aptGet("install", options...)...); err != nil {
		return "", errors.Join(failed, err)
	}
	if err := m.Healthy(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("%v; apt-get -f install mended it", fault), nil
}

// undoWords are apt-get's verb and words for an undo.
func undoWords(u pkgmgr.Undo) (verb string, options []string, err error) {
	for _, n := range slices.Concat(u.Purge, u.Remove) {
		if err := checkName(n); err != nil {
			return "", nil, err
		}
	}
	if len(u.Back) == 0 {
		verb = "purge"
		if len(u.Remove) > 0 {
			verb = "remove"
		}
		return verb, slices.Concat(u.Purge, u.Remove), nil
	}
	options = []string{"--allow-downgrades"}
	for _, b := range u.Back {
		options = append(options, b.File)
	}
	for _, n := range slices.Concat(u.Purge, u.Remove) {
		options = append(options, n+"-")
	}
	return "install", options, nil
}

// SolveUndo simulates an undo.
func (m *Manager) SolveUndo(ctx context.Context, u pkgmgr.Undo) ([]plan.ResolvedPackage, error) {
	if u.Empty() {
		return nil, nil
	}
	verb, options, err := undoWords(u)
	if err != nil {
		return nil, err
	}
	if u.Unmet {
		return undoneUnmet(u), nil
	}
	out, err := m.ask(ctx, slices.Concat([]string{"apt-get", "-s", verb}, safety(), options)...)
	if err != nil {
		return nil, err
	}
	actions, _, err := m.actions(ctx, out)
	return actions, err
}

// beside are the files that dpkg lays beside the configuration files of packages that are put back:
// NAME.dpkg-dist has the text of the package, where the administrator's differs. Those that are not
// there yet would be the undo's own traces, and those with exactly the text of the package that goes
// are traces of its installation.
func (m *Manager) beside(ctx context.Context, u pkgmgr.Undo) ([]string, error) {
	names := []string{}
	for _, b := range u.Back {
		names = append(names, b.Key())
	}
	if len(names) == 0 {
		return nil, nil
	}
	// It ends with 1 for a package that is not installed, and tells of the others.
	res, err := m.Host.Query(ctx, append([]string{"dpkg-query", "-W", "--showformat=${Conffiles}\n"}, names...)...)
	if err != nil {
		return nil, fmt.Errorf("cannot run dpkg-query: %w", err)
	}
	traces := []string{}
	for _, c := range parseConffiles(res.Stdout) {
		for _, suffix := range []string{".dpkg-dist", ".dpkg-new"} {
			file := path.Clean(c.path) + suffix
			data, err := m.Host.ReadFile(file)
			sum := md5.Sum(data)
			switch {
			case errors.Is(err, fs.ErrNotExist), err == nil && hex.EncodeToString(sum[:]) == c.md5:
				traces = append(traces, file)
			case err != nil:
				return nil, fmt.Errorf("cannot read %s: %w", file, err)
			}
		}
	}
	return traces, nil
}

func (m *Manager) tidy(files []string) error {
	for _, f := range files {
		if err := m.Writer.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove %s: %w", f, err)
		}
	}
	return nil
}

// Undo removes and puts back in one transaction, then purges what that left of our packages.
func (m *Manager) Undo(ctx context.Context, u pkgmgr.Undo) error {
	if u.Empty() {
		return nil
	}
	verb, options, err := undoWords(u)
	if err != nil {
		return err
	}
	beside, err := m.beside(ctx, u)
	if err != nil {
		return err
	}
	if u.Unmet {
		if err := m.undoUnmet(ctx, u); err != nil {
			return err
		}
		return m.tidy(beside)
	}
	if _, err := m.run(ctx, aptGet(verb, options...)...); err != nil {
		return err
	}
	if err := m.tidy(beside); err != nil {
		return err
	}
	if verb == "purge" || len(u.Purge) == 0 {
		return nil
	}
	// What is gone without a trace is not named: apt-get fails for a package that no repository has any more.
	db, err := m.Installed(ctx)
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(u.Purge), func(name string) bool { return len(named(db, name)) == 0 })
	if len(left) == 0 {
		return nil
	}
	_, err = m.run(ctx, aptGet("purge", left...)...)
	return err
}
