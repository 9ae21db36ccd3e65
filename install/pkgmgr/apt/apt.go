// Package apt drives apt-get and dpkg: Debian 10 (apt 1.8) and newer, Ubuntu 18.04 and newer.
//
// Versions are exact from the solver on, nothing is fetched after staging, no answer is ever asked
// for, an administrator's configuration file is kept, and nothing is forced beyond that: never
// --force-all, --allow-unauthenticated, --allow-change-held-packages or autoremove. Only where dependencies were
// unmet before a transaction its undo has dpkg pass over that (undoUnmet).
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
	"time"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/plan"
)

// Solver asks apt and dpkg, through a Reader's read-only commands.
type Solver struct {
	Host   host.Reader
	staged *staged
	after  *after
	// runner runs the questions of a manager with staged repositories: their options name directories,
	// which a Reader's list of commands does not let through. It is nil otherwise.
	runner host.Writer
	memory *memory
}

// Manager also changes the host.
type Manager struct {
	Solver
	Writer host.Writer
	// without are files of sources that WithRepositories leaves out.
	without []string
}

// NewSolver returns what plan --resolve needs.
func NewSolver(r host.Reader) *Solver { return &Solver{Host: r, memory: newMemory()} }

// New returns a manager for one host.
func New(w host.Writer) *Manager {
	return &Manager{Solver: Solver{Host: w, memory: newMemory()}, Writer: w}
}

// Name is apt.
func (s *Solver) Name() string { return "apt" }

const askLimit = 5 * time.Minute

const statusFormat = "${db:Status-Abbrev}\t${Package}\t${Architecture}\t${Version}\n"

// ask runs a read-only command that has to end with 0.
func (s *Solver) ask(ctx context.Context, argv ...string) (string, error) {
	// A solver on a small or emulated machine needs more than a Reader's usual deadline.
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	res, err := s.query(ctx, argv...)
	if err != nil {
		return "", fmt.Errorf("cannot run %s: %w", argv[0], err)
	}
	if res.Exit != 0 {
		return "", failure(res)
	}
	return res.Stdout, nil
}

// query runs a read-only command, apt's with the options of staged repositories.
func (s *Solver) query(ctx context.Context, argv ...string) (host.Result, error) {
	if s.staged.away() && !strings.HasPrefix(argv[0], "apt-") {
		return s.elsewhere(ctx, argv)
	}
	if s.staged == nil && s.after == nil || !strings.HasPrefix(argv[0], "apt-") {
		return s.Host.Query(ctx, argv...)
	}
	return s.runner.Run(ctx, host.Command{Argv: s.with(argv), Env: env()})
}

// with puts the options of staged repositories behind the name of apt's program.
func (s *Solver) with(argv []string) []string {
	if i := slices.IndexFunc(argv, func(w string) bool { return w == "apt-get" || w == "apt-cache" }); i >= 0 {
		return slices.Concat(argv[:i+1], s.staged.options(), s.after.options(), argv[i+1:])
	}
	return argv
}

// failure is the error of a command that ended with another code than 0.
func failure(res host.Result) error {
	words := res.Argv
	if i := slices.Index(words, "apt-get"); i > 0 {
		words = words[i:] // env -C DIR apt-get download
	}
	name := []string{}
	for i, w := range words {
		if len(name) < 2 && !strings.HasPrefix(w, "-") && (i == 0 || words[i-1] != "-o") {
			name = append(name, w)
		}
	}
	return &pkgmgr.CommandError{Command: strings.Join(name, " "), Exit: res.Exit, Lines: errorLines(res.Stderr, res.Stdout)}
}

// Installed reads the package database.
func (s *Solver) Installed(ctx context.Context) (pkgmgr.Database, error) {
	out, err := s.askDatabase(ctx)
	if err != nil {
		return nil, err
	}
	db, err := parseDatabase(out)
	if err != nil {
		return nil, err
	}
	return s.after.of(db), nil
}

// Available asks apt-cache for candidates.
func (s *Solver) Available(ctx context.Context, names []string) (map[string]pkgmgr.Candidate, []string, error) {
	for _, n := range names {
		if err := checkName(n); err != nil {
			return nil, nil, err
		}
	}
	candidates := map[string]pkgmgr.Candidate{}
	if len(names) > 0 {
		out, err := s.ask(ctx, append([]string{"apt-cache", "policy"}, names...)...)
		if err != nil {
			return nil, nil, err
		}
		candidates = parsePolicy(out)
	}
	out, err := s.ask(ctx, "apt-cache", "policy")
	if err != nil {
		return nil, nil, err
	}
	return candidates, parseSources(out), nil
}

// checkName refuses what cannot be a Debian package name, since names go on command lines where
// "name-" and "name+" mean other things. No package ends so, but for those named after C++.
func checkName(name string) error {
	base, arch, hasArch := strings.Cut(name, ":")
	end := strings.TrimSuffix(base, "++")
	if len(base) < 2 || !wordOf(base, "+-.") || !alnum(base[0]) || !alnum(end[len(end)-1]) ||
		(hasArch && (!wordOf(arch, "-") || !alnum(arch[len(arch)-1]))) {
		return fmt.Errorf("cannot use package name %q: not a Debian package name", name)
	}
	return nil
}

// checkVersion refuses what is no exact version. One has to be there: "name=version" can only be that
// package, a bare name may be taken for a pattern. A "-" at the end would be an order to remove, and
// no version ends so, since a revision is not empty.
func checkVersion(v string) error {
	if v == "" || !alnum(strings.ToLower(v)[0]) || !wordOf(strings.ToLower(v), "+-.:~") || strings.HasSuffix(v, "-") {
		return fmt.Errorf("cannot use package version %q: not a Debian version", v)
	}
	return nil
}

func alnum(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

func wordOf(s, others string) bool {
	for i := range len(s) {
		if !alnum(s[i]) && strings.IndexByte(others, s[i]) < 0 {
			return false
		}
	}
	return s != ""
}

// words turns a request into apt-get's words: name=version to install, name- to remove. What is not there is not
// named: apt-get fails for a package that no repository has any more.
func words(req pkgmgr.Request, db pkgmgr.Database) ([]string, error) {
	out := []string{}
	older := false
	for _, w := range req.Install {
		if err := checkName(w.Name); err != nil {
			return nil, err
		}
		if err := checkVersion(w.Version); err != nil {
			return nil, err
		}
		out = append(out, w.Name+"="+w.Version)
		for _, p := range named(db, w.Name) {
			if c, err := compareVersions(w.Version, p.Version); err == nil && c < 0 && p.Status != pkgmgr.ConfigFiles {
				older = true
			}
		}
	}
	for _, n := range req.Remove {
		if err := checkName(n); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(named(db, n), func(p pkgmgr.Package) bool { return p.Status != pkgmgr.ConfigFiles }) {
			out = append(out, n+"-")
		}
	}
	if older {
		out = append([]string{"--allow-downgrades"}, out...) // the request names the older version
	}
	return out, nil
}

// named are the entries of a name, or of name:arch, whatever their state.
func named(db pkgmgr.Database, word string) []pkgmgr.Package {
	name, arch, hasArch := strings.Cut(word, ":")
	found := []pkgmgr.Package{}
	for _, p := range db {
		if p.Name == name && (!hasArch || p.Arch == arch) {
			found = append(found, p)
		}
	}
	return found
}

// safety are the options of every transaction, simulated or real. Recommends are left out because
// the plan names them where they matter (ibverbs-providers is only recommended by libibverbs1).
func safety() []string {
	return []string{"--no-install-recommends", "--no-allow-unauthenticated", "--no-auto-remove"}
}

// Solve simulates a request.
func (s *Solver) Solve(ctx context.Context, req pkgmgr.Request) (plan.Solution, error) {
	sol := plan.Solution{Manager: "apt", Actions: []plan.ResolvedPackage{}, DownloadBytes: 0, InstalledBytes: 0}
	if req.Empty() {
		return sol, nil
	}
	db, err := s.Installed(ctx)
	if err != nil {
		return sol, err
	}
	names, err := words(req, db)
	if err != nil || len(names) == 0 {
		return sol, err
	}
	mend, err := s.mending(ctx, req)
	if err != nil {
		return sol, err
	}
	names = append(mend, names...)
	out, err := s.askSimulation(ctx, slices.Concat([]string{"apt-get", "-s", "install"}, safety(), names))
	if err != nil {
		return sol, err
	}
	actions, unauthenticated, err := s.actions(ctx, out)
	if err != nil {
		return sol, err
	}
	if len(unauthenticated) > 0 {
		return sol, &pkgmgr.SignatureError{Lines: []string{"packages that no signed repository vouches for: " + strings.Join(unauthenticated, ", ")}}
	}
	if err := s.answers(ctx, req, actions); err != nil {
		return sol, err
	}
	sol.Actions = actions
	sol.DownloadBytes, sol.InstalledBytes = -1, -1
	// Sizes are an estimate for a person and the space check; without them the run goes on.
	argv := slices.Concat([]string{"apt-get", "--print-uris", "-y", "install"}, safety(), names)
	if out, err := s.askSimulation(ctx, argv); err == nil {
		sol.DownloadBytes, sol.InstalledBytes = parseSizes(out)
	}
	return sol, nil
}

// answers makes sure that a simulation is about the very packages of the request: apt takes a name
// that no package has for a pattern ("rdma.core") and goes on with those that match.
func (s *Solver) answers(ctx context.Context, req pkgmgr.Request, actions []plan.ResolvedPackage) error {
	db, err := s.Installed(ctx)
	if err != nil {
		return err
	}
	acted := func(word string, is func(plan.ResolvedPackage) bool) bool {
		name, _, _ := strings.Cut(word, ":")
		return slices.ContainsFunc(actions, func(a plan.ResolvedPackage) bool { return a.Name == name && is(a) })
	}
	for _, w := range req.Install {
		comes := acted(w.Name, func(a plan.ResolvedPackage) bool { return a.Action != "remove" && a.Version == w.Version })
		if p, ok := db.Find(w.Name); !comes && (!ok || p.Version != w.Version) {
			return fmt.Errorf("cannot use apt's answer: it does not install %s %s, which was asked for", w.Name, w.Version)
		}
	}
	for _, n := range req.Remove {
		if db.Has(n) && !acted(n, func(a plan.ResolvedPackage) bool { return a.Action == "remove" }) {
			return fmt.Errorf("cannot use apt's answer: it does not remove %s, which was asked for", n)
		}
	}
	return nil
}

// actions parses a simulation, orders it by name and fills in the architecture of removals.
func (s *Solver) actions(ctx context.Context, out string) ([]plan.ResolvedPackage, []string, error) {
	arch, err := s.memory.remember("architecture", func() string { return "compiled into dpkg" }, func() (string, error) { return s.ask(ctx, "dpkg", "--print-architecture") })
	if err != nil {
		return nil, nil, err
	}
	actions, unauthenticated, err := ParseSimulation(out, strings.TrimSpace(arch))
	if err != nil {
		return nil, nil, err
	}
	var db pkgmgr.Database
	for i, a := range actions {
		if a.Action != "remove" {
			continue
		}
		if db == nil {
			if db, err = s.Installed(ctx); err != nil {
				return nil, nil, err
			}
		}
		if _, ok := db[a.Name+":"+a.Arch]; !ok {
			for _, p := range db {
				if p.Name == a.Name {
					actions[i].Arch = p.Arch
				}
			}
		}
	}
	sort.Slice(actions, func(i, j int) bool {
		if actions[i].Name != actions[j].Name {
			return actions[i].Name < actions[j].Name
		}
		return actions[i].Arch < actions[j].Arch
	})
	return actions, unauthenticated, nil
}

// Healthy reads the package database for packages that are not whole, and dpkg's own journal.
func (m *Manager) Healthy(ctx context.Context) error {
	names, err := m.Host.ReadDir("/var/lib/dpkg/updates")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot look whether dpkg was interrupted: %w", err)
	}
	for _, n := range names {
		if strings.Trim(n, "0123456789") == "" {
			return errors.New("dpkg was interrupted earlier")
		}
	}
	broken, err := m.broken(ctx)
	if err != nil {
		return err
	}
	if len(broken) > 0 {
		return fmt.Errorf("packages are not installed whole: %s", strings.Join(broken, ", "))
	}
	return nil
}

func (m *Manager) broken(ctx context.Context) ([]string, error) {
	db, err := m.Installed(ctx)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for k, p := range db {
		if p.Status == pkgmgr.Broken {
			names = append(names, k)
		}
	}
	sort.Strings(names)
	return names, nil
}

// Auto returns the packages marked as installed automatically.
func (m *Manager) Auto(ctx context.Context) ([]string, error) {
	out, err := m.ask(ctx, "apt-mark", "showauto")
	if err != nil {
		return nil, err
	}
	return strings.Fields(out), nil
}

// Edited compares the configuration files of packages with what dpkg installed.
func (m *Manager) Edited(ctx context.Context, names []string) ([]string, error) {
	edited := []string{}
	if len(names) == 0 {
		return edited, nil
	}
	out, err := m.ask(ctx, append([]string{"dpkg-query", "-W", "--showformat=${Conffiles}\n"}, names...)...)
	if err != nil {
		return nil, err
	}
	for _, c := range parseConffiles(out) {
		data, err := m.Host.ReadFile(c.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read configuration file %s: %w", c.path, err)
		}
		sum := md5.Sum(data)
		if hex.EncodeToString(sum[:]) != c.md5 {
			edited = append(edited, path.Clean(c.path))
		}
	}
	sort.Strings(edited)
	return edited, nil
}

// Directories are where apt downloads to and where packages go.
func (m *Manager) Directories() (downloads, installed string) {
	return m.staged.archives(), "/usr"
}
