// Package zypper drives zypper: SLES 12 SP3 and newer, SLES 15, openSUSE Leap 15 and newer, Tumbleweed.
//
// Versions are exact from the solver on, nothing is fetched after staging, no answer is ever asked
// for, an administrator's configuration file is kept (rpm lays the new one beside as .rpmnew), and
// nothing is forced: never --no-gpg-checks, --gpg-auto-import-keys, --force, --replacefiles,
// --allow-unsigned-rpm for what a repository offers, or --clean-deps.
package zypper

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/rpm"
	"github.com/rdmactl/rdmactl/plan"
)

// Solver asks zypper and rpm.
type Solver struct {
	rpm.Tool
	staged *staged
}

// Manager also changes the host.
type Manager struct {
	Solver
	// Note is told what a person should know and no error says, such as configuration files of
	// packages that were laid beside the administrator's. It may be nil.
	Note func(string)
	// without are files of repositories that WithRepositories leaves out.
	without []string
}

// NewSolver returns what plan --resolve needs.
func NewSolver(r host.Reader) *Solver { return &Solver{Tool: rpm.Tool{Host: r}} }

// New returns a manager for one host.
func New(w host.Writer) *Manager {
	return &Manager{Solver: Solver{Tool: rpm.Tool{Host: w, Writer: w}}}
}

// Name is zypper.
func (s *Solver) Name() string { return "zypper" }

// command is a command line of zypper: global options, the verb, and what follows it.
func (s *Solver) command(verb string, words ...string) []string {
	argv := []string{"zypper", "--non-interactive", "--xmlout"}
	if s.staged != nil {
		argv = append(argv, s.staged.options()...)
	}
	if verb != "refresh" {
		argv = append(argv, "--no-refresh")
	}
	return slices.Concat(argv, []string{verb}, words)
}

// safety are the options of every installation, simulated or real. Recommended packages are left out
// because the plan names them where they matter; licences are those of packages that the plan names.
func safety() []string { return []string{"--no-recommends", "--auto-agree-with-licenses"} }

// failure is the error of a zypper that did not end with 0, in its own words.
func failure(res host.Result) error {
	text := messages(res.Stdout)
	return rpm.Failure(host.Result{Argv: words(res.Argv), Exit: res.Exit, Stdout: text, Stderr: res.Stderr})
}

// words are a command line without global options, for "zypper install".
func words(argv []string) []string {
	for i, w := range argv {
		if i > 0 && !strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "/") {
			return append([]string{argv[0]}, argv[i:]...)
		}
	}
	return argv
}

// ask runs a verb that changes nothing. 104 says that a name is unknown, 106 that a repository was
// left out, 6 that no repository is configured.
func (s *Solver) ask(ctx context.Context, verb string, rest ...string) (host.Result, error) {
	res, err := s.Query(ctx, "", s.command(verb, rest...)...)
	if err != nil {
		return res, err
	}
	if res.Exit != 0 && res.Exit != 104 && res.Exit != 106 && res.Exit != 6 {
		return res, failure(res)
	}
	return res, nil
}

// order turns a request into the words behind "install" or "remove": name=version and name.arch=version
// to install, "!name" to remove in the same transaction.
func (s *Solver) order(req pkgmgr.Request, db pkgmgr.Database) (verb string, out []string, err error) {
	install, remove := []string{}, []string{}
	allow := allowance{vendor: s.staged != nil || req.Purge}
	for _, w := range req.Install {
		if err := rpm.CheckName(w.Name); err != nil {
			return "", nil, err
		}
		if err := rpm.CheckVersion(w.Version); err != nil {
			return "", nil, err
		}
		if p, ok := db.Find(w.Name); ok && p.Base == "" {
			if c, err := rpm.Compare(w.Version, p.Version); err == nil && c < 0 {
				allow.older = true
			} else if err == nil && c == 0 {
				continue // zypper would say so, and look for another
			}
		}
		install = append(install, strings.Replace(w.Name, ":", ".", 1)+"="+w.Version)
	}
	for _, n := range req.Remove {
		if err := rpm.CheckName(n); err != nil {
			return "", nil, err
		}
		if db.Has(n) {
			remove = append(remove, removal(n, db))
		}
	}
	return joined(install, remove, allow)
}

// removal names what goes; a package that is kept side by side with others only in its version.
func removal(name string, db pkgmgr.Database) string {
	word := strings.Replace(name, ":", ".", 1)
	if p, ok := db.Find(name); ok && p.Base != "" {
		word = p.Base + "." + p.Arch + "=" + p.Version
	}
	return word
}

// allowance is what a transaction may do that libzypp refuses otherwise.
type allowance struct {
	older bool // a lower version takes the place of a higher one: the request names it
	// vendor has packages of another maker take the place of those that are there, as with a vendor's stack and on
	// the way back from it. zypper knows it for "install" from 1.14 on (SLES 15).
	vendor bool
}

func joined(install, remove []string, allow allowance) (verb string, out []string, err error) {
	switch {
	case len(install) == 0 && len(remove) == 0:
		return "", nil, nil
	case len(install) == 0:
		return "remove", append([]string{"--no-clean-deps"}, remove...), nil
	}
	out = safety()
	if allow.older {
		out = append(out, "--oldpackage")
	}
	if allow.vendor {
		out = append(out, "--allow-vendor-change")
	}
	out = append(out, install...)
	for _, r := range remove {
		out = append(out, "!"+r)
	}
	return "install", out, nil
}

// Available asks the repositories for candidates: the newest version of the best priority.
func (s *Solver) Available(ctx context.Context, names []string) (map[string]pkgmgr.Candidate, []string, error) {
	for _, n := range names {
		if err := rpm.CheckName(n); err != nil {
			return nil, nil, err
		}
	}
	res, err := s.ask(ctx, "repos")
	if err != nil {
		return nil, nil, err
	}
	repos, err := parseRepos(res.Stdout)
	if err != nil {
		return nil, nil, err
	}
	sources := []string{}
	for _, r := range repos {
		if r.Enabled {
			sources = append(sources, pkgmgr.WithoutCredentials(strings.TrimSpace(r.Alias+" "+r.URL)))
		}
	}
	candidates := map[string]pkgmgr.Candidate{}
	if len(names) == 0 || len(sources) == 0 {
		return candidates, sources, nil
	}
	db, err := s.Installed(ctx)
	if err != nil {
		return nil, nil, err
	}
	offers, err := s.offers(ctx, names)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range names {
		if v, ok := best(n, offers, repos); ok {
			c := pkgmgr.Candidate{Version: v}
			if p, has := db.Find(n); has {
				c.Installed = p.Version
			}
			candidates[n] = c
		}
	}
	return candidates, sources, nil
}

func (s *Solver) offers(ctx context.Context, names []string) ([]offer, error) {
	plain := []string{}
	for _, n := range names {
		n, _, _ = strings.Cut(n, ":")
		plain = append(plain, n)
	}
	res, err := s.ask(ctx, "search", search(plain)...)
	if err != nil {
		return nil, err
	}
	return parseSearch(res.Stdout)
}

// search are the words behind "search" for packages of exactly these names.
func search(names []string) []string {
	return append([]string{"--details", "--match-exact", "--type", "package"}, names...)
}

// Solve simulates a request.
func (s *Solver) Solve(ctx context.Context, req pkgmgr.Request) (plan.Solution, error) {
	sol := plan.Solution{Manager: "zypper", Actions: []plan.ResolvedPackage{}}
	if req.Empty() {
		return sol, nil
	}
	db, err := s.Installed(ctx)
	if err != nil {
		return sol, err
	}
	verb, rest, err := s.order(req, db)
	if err != nil || verb == "" {
		return sol, err
	}
	sol.Actions, sol.DownloadBytes, sol.InstalledBytes, err = s.solve(ctx, verb, rest, db)
	if err != nil {
		return sol, err
	}
	return sol, rpm.Answers("zypper", req, sol.Actions, db)
}

// simulated is a transaction that zypper only tells of.
func (s *Solver) simulated(verb string, rest []string) []string {
	return s.command(verb, append([]string{"--dry-run"}, rest...)...)
}

func (s *Solver) solve(ctx context.Context, verb string, rest []string, db pkgmgr.Database) ([]plan.ResolvedPackage, int64, int64, error) {
	res, err := s.Query(ctx, "", s.simulated(verb, rest)...)
	if err != nil {
		return nil, 0, 0, err
	}
	// 104 is a name that nobody has; 106, a repository that was left out, does not matter when the
	// packages are there all the same.
	if res.Exit != 0 && res.Exit != 106 {
		return nil, 0, 0, failure(res)
	}
	sum, err := parseSummary(res.Stdout)
	if err != nil {
		return nil, 0, 0, err
	}
	if !sum.told {
		return nil, 0, 0, failure(res)
	}
	actions, err := rpm.Complete(sum.actions, db)
	if err != nil {
		return nil, 0, 0, err
	}
	return actions, sum.download, sum.installed, s.origins(ctx, actions)
}

// origins fills in the repositories that have the versions which come; the summary does not tell them
// (libzypp before 17.31).
func (s *Solver) origins(ctx context.Context, actions []plan.ResolvedPackage) error {
	names := []string{}
	for _, a := range actions {
		if a.Action != "remove" && a.Origin == "" {
			names = append(names, baseOf(a))
		}
	}
	if len(names) == 0 {
		return nil
	}
	offers, err := s.offers(ctx, names)
	if err != nil {
		return err
	}
	for i, a := range actions {
		for _, o := range offers {
			if a.Action != "remove" && a.Origin == "" && o.Name == baseOf(a) && o.Arch == a.Arch && rpm.Normal(o.Edition) == a.Version && o.remote() {
				actions[i].Origin = o.Repository
			}
		}
	}
	return nil
}

// baseOf is the plain name of a package that comes.
func baseOf(a plan.ResolvedPackage) string {
	return strings.TrimSuffix(a.Name, "-"+rpm.WithoutEpoch(a.Version))
}

// Directories are where zypper downloads to and where packages go.
func (m *Manager) Directories() (downloads, installed string) {
	if m.staged != nil {
		return m.staged.dir, "/usr"
	}
	return "/var/cache/zypp", "/usr"
}

// Wait looks every second who holds the lock of rpm or of a manager above it.
func (m *Manager) Wait(ctx context.Context, limit time.Duration) error {
	return m.Tool.Wait(ctx, limit)
}
