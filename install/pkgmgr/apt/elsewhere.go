package apt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/plan"
)

// Other is a host that is not here, for Elsewhere.
type Other struct {
	Arch string // as dpkg names it: amd64
	// Status is its package database as dpkg has it, as far as it is known.
	Status []byte
	// Own says that the sources of this machine are also that host's; Sources are files of sources by name
	// (mirror.list, mirror.sources) and Keys are keyrings by name, which a source names as KEYS/name.
	Own     bool
	Sources map[string][]byte
	Keys    map[string][]byte
	Repos   []pkgmgr.Repository
}

// KeysMark stands in a source for the directory of the keys.
const KeysMark = "@keys@"

// Elsewhere returns a manager of another host, with the database, the lists and the downloads in dir, which
// keeps what was downloaded before. It fetches and solves on this machine with this machine's apt, its proxies
// included, and installs nothing.
func Elsewhere(w host.Writer, dir string, other Other) (*Manager, error) {
	m := New(w)
	staged, err := m.stage(dir, other.Repos, other.Own)
	if err != nil {
		return nil, err
	}
	out, ok := staged.(*Manager)
	if !ok {
		return nil, errors.New("cannot stage with this package manager")
	}
	s := out.staged
	if !wordOf(other.Arch, "-") {
		return nil, fmt.Errorf("cannot resolve packages for the architecture %q", other.Arch)
	}
	s.arch = other.Arch
	files := []pkgmgr.File{{Path: s.admin() + "/status", Data: other.Status, Mode: 0o644}}
	for name, data := range other.Keys {
		files = append(files, pkgmgr.File{Path: dir + "/keys/" + name, Data: data, Mode: 0o644})
	}
	for name, data := range other.Sources {
		text := strings.ReplaceAll(string(data), KeysMark, dir+"/keys")
		files = append(files, pkgmgr.File{Path: s.sources() + "/" + name, Data: []byte(text), Mode: 0o600})
	}
	if err := pkgmgr.WriteFiles(w, files); err != nil {
		return nil, err
	}
	if err := w.MkdirAll(s.admin()+"/updates", 0o755); err != nil {
		return nil, fmt.Errorf("cannot make %s: %w", s.admin(), err)
	}
	return out, m.forget(s, other)
}

// forget removes sources that an earlier use of the directory had.
func (m *Manager) forget(s *staged, other Other) error {
	keep := map[string]bool{}
	for name := range other.Sources {
		keep[name] = true
	}
	for _, r := range other.Repos {
		keep[r.ID+".list"] = true
	}
	if other.Own {
		copied, err := m.sourcesBeside(s, keep)
		if err != nil {
			return err
		}
		for _, f := range copied {
			keep[path.Base(f.Path)] = true
		}
	}
	names, err := m.Host.ReadDir(s.sources())
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", s.sources(), err)
	}
	for _, n := range names {
		if keep[n] {
			continue
		}
		if err := m.Writer.Remove(path.Join(s.sources(), n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove %s: %w", n, err)
		}
	}
	return nil
}

// away says that the host is another one than this machine.
func (s *staged) away() bool { return s != nil && s.arch != "" }

func (s *staged) admin() string { return s.dir + "/dpkg" }

// locks are what an apt holds that works on the same directory, such as one whose caller was killed.
func (s *staged) locks() []string {
	return []string{s.admin() + "/lock-frontend", s.admin() + "/lock", s.lists() + "/lock", s.archives() + "/lock"}
}

// foreign are the options for the host that is not here: its database and architecture, no preferences of this
// machine, and of the lists only those of packages.
func (s *staged) foreign() []string {
	return []string{
		"-o", "Dir::State=" + s.dir + "/state", "-o", "Dir::State::Lists=" + s.lists(), "-o", "Dir::State::status=" + s.admin() + "/status",
		// An image for containers is told not to keep these, and each question would read all lists again.
		"-o", "Dir::Cache::pkgcache=pkgcache.bin", "-o", "Dir::Cache::srcpkgcache=srcpkgcache.bin",
		"-o", "APT::Architecture=" + s.arch, "-o", "APT::Architectures=" + s.arch, "-o", "APT::Default-Release=",
		"-o", "Dir::Etc::Preferences=/dev/null", "-o", "Dir::Etc::PreferencesParts=/dev/null",
		"-o", "Acquire::Languages=none", "-o", "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false",
		"-o", "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false", "-o", "Acquire::IndexTargets::deb::DEP-11-icons-small::DefaultEnabled=false",
		"-o", "Acquire::IndexTargets::deb::DEP-11-icons::DefaultEnabled=false",
	}
}

// elsewhere answers dpkg's questions about the host that is not here.
func (s *Solver) elsewhere(ctx context.Context, argv []string) (host.Result, error) {
	switch {
	case argv[0] == "dpkg-query":
		return s.runner.Run(ctx, host.Command{Argv: slices.Concat(argv[:1], []string{"--admindir=" + s.staged.admin()}, argv[1:])})
	case slices.Equal(argv, []string{"dpkg", "--print-architecture"}):
		return host.Result{Argv: argv, Stdout: s.staged.arch + "\n"}, nil
	}
	return host.Result{}, fmt.Errorf("cannot ask a host that is not here: %s: %w", strings.Join(argv, " "), host.ErrUnknown)
}

// PackageFiles are the packages of actions that come, with their files: downloaded ones, or those of a repository on
// a file system.
func (m *Manager) PackageFiles(ctx context.Context, actions []plan.ResolvedPackage) ([]pkgmgr.PackageFile, error) {
	words, coming := []string{}, []pkgmgr.Package{}
	for _, a := range actions {
		if a.Action == "remove" {
			continue
		}
		if err := errors.Join(checkName(a.Name), checkVersion(a.Version)); err != nil {
			return nil, err
		}
		words = append(words, a.Name+"="+a.Version)
		coming = append(coming, pkgmgr.Package{Name: a.Name, Arch: a.Arch, Version: a.Version, Status: pkgmgr.Installed})
	}
	if len(words) == 0 {
		return nil, nil
	}
	local, err := m.localFiles(ctx, words)
	if err != nil {
		return nil, err
	}
	return m.packageFiles(ctx, coming, local)
}

// packageFiles finds the file and the paragraph of packages.
func (m *Manager) packageFiles(ctx context.Context, coming []pkgmgr.Package, local map[string]string) ([]pkgmgr.PackageFile, error) {
	words := []string{}
	for _, p := range coming {
		words = append(words, p.Name+"="+p.Version)
	}
	out, err := m.ask(ctx, append([]string{"apt-cache", "show"}, words...)...)
	if err != nil {
		return nil, err
	}
	records := parseRecords(out)
	files := []pkgmgr.PackageFile{}
	for _, p := range coming {
		i := slices.IndexFunc(records, func(r record) bool {
			return r.fields["package"] == p.Name && r.fields["version"] == p.Version && r.fields["architecture"] == p.Arch && r.fields["sha256"] != ""
		})
		if i < 0 {
			return nil, fmt.Errorf("cannot use package %s %s: no index tells its SHA-256", p.Name, p.Version)
		}
		o := pkgmgr.PackageFile{Package: p, SHA256: strings.ToLower(records[i].fields["sha256"]), Record: records[i].text, Bytes: records[i].bytes()}
		o.File = path.Join(m.staged.archives(), fmt.Sprintf("%s_%s_%s.deb", p.Name, strings.ReplaceAll(p.Version, ":", "%3a"), p.Arch))
		info, err := m.Host.Stat(o.File)
		if errors.Is(err, fs.ErrNotExist) {
			if o.File = local[path.Base(records[i].fields["filename"])]; o.File == "" {
				return nil, fmt.Errorf("cannot use package %s %s: it was not downloaded", p.Name, p.Version)
			}
			info, err = m.Host.Stat(o.File)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot look at %s: %w", o.File, err)
		}
		if info.Size != o.Bytes {
			return nil, fmt.Errorf("cannot use package %s %s: its file has %d bytes, and by the index %d", p.Name, p.Version, info.Size, o.Bytes)
		}
		files = append(files, o)
	}
	return files, nil
}

// localFiles are packages in repositories on a file system, by their names: apt reads them where they are.
func (m *Manager) localFiles(ctx context.Context, words []string) (map[string]string, error) {
	out, err := m.ask(ctx, slices.Concat([]string{"apt-get", "--print-uris", "-y", "install"}, safety(), words)...)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for line := range strings.Lines(out) {
		rest, ok := strings.CutPrefix(line, "'file:")
		if !ok {
			continue
		}
		quoted, _, _ := strings.Cut(rest, "'")
		file, err := url.PathUnescape(quoted)
		if err != nil {
			return nil, fmt.Errorf("cannot read apt's answer: %q", clipped(line))
		}
		file = path.Clean("/" + strings.TrimLeft(file, "/"))
		files[path.Base(file)] = file
	}
	return files, nil
}

func clipped(line string) string { return strings.TrimSpace(line[:min(len(line), 200)]) }

// Older brings the packages that would be replaced, so that they can be put back where no repository is
// reached. Those that no repository has any more are named.
func (m *Manager) Older(ctx context.Context, old []pkgmgr.Package) (files []pkgmgr.PackageFile, missing []string, err error) {
	if len(old) == 0 {
		return nil, nil, nil
	}
	if files, err = m.older(ctx, old); err == nil || ctx.Err() != nil {
		return files, nil, err
	}
	for _, p := range old { // some are not there: which?
		one, err := m.older(ctx, []pkgmgr.Package{p})
		switch {
		case ctx.Err() != nil:
			return nil, nil, err
		case err != nil:
			missing = append(missing, p.Name+" "+p.Version)
		default:
			files = append(files, one...)
		}
	}
	return files, missing, nil
}

func (m *Manager) older(ctx context.Context, old []pkgmgr.Package) ([]pkgmgr.PackageFile, error) {
	argv := []string{"env", "-C", m.staged.archives(), "apt-get", "download", "-q", "--no-allow-unauthenticated"}
	for _, p := range old {
		if err := errors.Join(checkName(p.Name), checkVersion(p.Version)); err != nil {
			return nil, err
		}
		argv = append(argv, p.Name+"="+p.Version)
	}
	if _, err := m.run(ctx, argv...); err != nil {
		return nil, err
	}
	return m.packageFiles(ctx, old, nil)
}
