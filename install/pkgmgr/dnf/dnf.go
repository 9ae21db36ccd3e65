// Package dnf drives dnf 4 (EL8, EL9, Fedora 28 to 40), by its documented differences dnf5 (Fedora 41
// and newer), and yum 3 where there is no dnf (EL7).
//
// Versions are exact from the solver on, nothing is fetched after staging, no answer is ever asked
// for, an administrator's configuration file is kept (rpm lays the new one beside as .rpmnew), and
// nothing is forced: never --nogpgcheck, --allowerasing, --skip-broken, --nodeps or autoremove.
package dnf

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/rpm"
	"github.com/rdmactl/rdmactl/plan"
)

// Solver asks dnf and rpm.
type Solver struct {
	rpm.Tool
	staged *staged
	// without are ids of repositories that are looked away from.
	without []string
	// released is a directory with other locks for the versionlock plugin, see Released.
	released string
}

// Manager also changes the host.
type Manager struct {
	Solver
	// Note is told what a person should know and no error says, such as configuration files of
	// packages that were laid beside the administrator's. It may be nil.
	Note func(string)
}

// NewSolver returns what plan --resolve needs. A request that both installs and removes needs a Manager.
func NewSolver(r host.Reader) *Solver { return &Solver{Tool: rpm.Tool{Host: r}} }

// New returns a manager for one host.
func New(w host.Writer) *Manager {
	return &Manager{Solver: Solver{Tool: rpm.Tool{Host: w, Writer: w}}}
}

// Name is dnf, for yum too: it is the family's name.
func (s *Solver) Name() string { return "dnf" }

// dialect is the command line that a host's manager understands.
type dialect int

const (
	dnf4 dialect = iota
	dnf5
	yum3
)

// dialect looks at which programs there are. /usr/bin/dnf is a link to dnf-3 or dnf5, /usr/bin/yum one
// to either of them, or yum 3 itself.
func (s *Solver) dialect() (dialect, error) {
	for _, p := range []string{"/usr/bin/dnf", "/usr/bin/yum"} {
		target, err := s.Host.Readlink(p)
		if err == nil && strings.HasSuffix(target, "dnf5") {
			return dnf5, nil
		}
		switch _, err := s.Host.Stat(p); {
		case err == nil && p == "/usr/bin/yum" && target == "":
			return yum3, nil
		case err == nil:
			return dnf4, nil
		case !errors.Is(err, fs.ErrNotExist):
			return dnf4, fmt.Errorf("cannot look at %s: %w", p, err)
		}
	}
	return dnf4, fmt.Errorf("cannot use dnf: neither dnf nor yum is on this host: %w", host.ErrNotInstalled)
}

func (d dialect) program() string { return [...]string{"dnf", "dnf5", "yum"}[d] }

// options are those of every command. They say what the host's configuration may have otherwise:
// signatures are checked, weak dependencies stay out because the plan names them where they matter,
// dependencies that nobody needs any more stay, packages stay in the cache between the steps of a
// run, and a repository that cannot be reached does not stop the others.
func (s *Solver) options(d dialect) []string {
	out := []string{"--setopt=gpgcheck=1", "--setopt=clean_requirements_on_remove=0", "--setopt=keepcache=1"}
	if d == yum3 {
		// yum 3 knows no weak dependencies and no globs of repositories; what it would let through
		// unsigned, rpmkeys stops after the download.
		out = append(out, "--setopt=skip_missing_names_on_install=0", "--color=never", "--disableplugin=refresh-packagekit")
	} else {
		out = append(out, "--setopt=*.gpgcheck=1", "--setopt=*.skip_if_unavailable=1", "--setopt=install_weak_deps=0", "--setopt=strict=1")
	}
	if d == dnf4 {
		out = append(out, "--setopt=color=never")
	}
	if s.staged != nil {
		out = append(out, s.staged.options()...)
	}
	for _, id := range s.without {
		out = append(out, "--disablerepo="+id)
	}
	return append(out, s.releasedOptions(d)...)
}

// cached is the option to use what was read and downloaded before, and nothing else.
const cached = "-C"

// command is a command line of the manager: verb is what it does, flags come before it.
func (s *Solver) command(d dialect, flags []string, verb ...string) []string {
	return slices.Concat([]string{d.program()}, flags, s.options(d), verb)
}

// order is a transaction as the manager's command line, or its shell's input, take it.
type order struct {
	verb  []string
	stdin string
}

// orderOf turns words to install and to remove into one transaction. Only a shell takes both at once
// in dnf 4 and yum 3; dnf5 has "do".
func orderOf(d dialect, install, remove []string) order {
	switch {
	case len(remove) == 0:
		return order{verb: append([]string{"install"}, install...)}
	case len(install) == 0:
		return order{verb: append([]string{"remove"}, remove...)}
	case d == dnf5:
		verb := append([]string{"do", "--action=install"}, install...)
		return order{verb: append(append(verb, "--action=remove"), remove...)}
	}
	// All in one line: dnf 4 takes package files only before anything else is in the transaction, and says
	// "Cannot add local packages, because transaction job already exists" of every later one.
	lines := []string{"install " + strings.Join(install, " ")}
	for _, w := range remove {
		lines = append(lines, "remove "+w)
	}
	return order{verb: []string{"shell"}, stdin: strings.Join(append(lines, "run", "exit"), "\n") + "\n"}
}

// words turns a request into specs: name-version or name-version.arch to install, name or name.arch to
// remove. A name that has its version in it, as headers of one kernel are asked for, is whole.
func words(req pkgmgr.Request) (install, remove []string, err error) {
	for _, w := range req.Install {
		if err := rpm.CheckName(w.Name); err != nil {
			return nil, nil, err
		}
		if err := rpm.CheckVersion(w.Version); err != nil {
			return nil, nil, err
		}
		name, arch, hasArch := strings.Cut(w.Name, ":")
		spec := name + "-" + w.Version
		if strings.Contains(name, "-"+rpm.WithoutEpoch(w.Version)) {
			spec = name
		}
		if hasArch {
			spec += "." + arch
		}
		install = append(install, spec)
	}
	for _, n := range req.Remove {
		if err := rpm.CheckName(n); err != nil {
			return nil, nil, err
		}
		remove = append(remove, strings.Replace(n, ":", ".", 1))
	}
	return install, remove, nil
}

const queryFormat = `%{name}\t%{epoch}\t%{version}\t%{release}\t%{arch}\t%{repoid}\n`

// Available asks the repositories for candidates, with the host's excludes and priorities.
func (s *Solver) Available(ctx context.Context, names []string) (map[string]pkgmgr.Candidate, []string, error) {
	d, err := s.dialect()
	if err != nil {
		return nil, nil, err
	}
	for _, n := range names {
		if err := rpm.CheckName(n); err != nil {
			return nil, nil, err
		}
	}
	candidates := map[string]pkgmgr.Candidate{}
	if len(names) > 0 {
		db, err := s.Installed(ctx)
		if err != nil {
			return nil, nil, err
		}
		offers, err := s.offers(ctx, d, names)
		if err != nil {
			return nil, nil, err
		}
		for _, n := range names {
			if v, ok := newest(n, offers); ok {
				c := pkgmgr.Candidate{Version: v}
				if p, has := db.Find(n); has {
					c.Installed = p.Version
				}
				candidates[n] = c
			}
		}
	}
	out, err := s.Ask(ctx, s.repolist(d)...)
	if err != nil {
		return nil, nil, err
	}
	return candidates, parseRepolist(out), nil
}

// repolist asks for the repositories that are used.
func (s *Solver) repolist(d dialect) []string {
	list := []string{"repolist", "--enabled"}
	if d == yum3 {
		list = []string{"repolist", "enabled"}
	}
	return s.command(d, []string{cached, "-q"}, list...)
}

// queried asks dnf 4 and dnf5 for the newest of packages, listed asks yum 3 for all.
func (s *Solver) queried(d dialect, specs []string) []string {
	return s.command(d, []string{cached, "-q"}, slices.Concat([]string{"repoquery", "--available", "--latest-limit=1", "--qf", queryFormat}, specs)...)
}

func (s *Solver) listed(d dialect, specs []string) []string {
	return s.command(d, []string{cached, "-q"}, slices.Concat([]string{"list", "available", "--showduplicates"}, specs)...)
}

func (s *Solver) offers(ctx context.Context, d dialect, names []string) ([]offer, error) {
	specs := []string{}
	for _, n := range names {
		specs = append(specs, strings.Replace(n, ":", ".", 1))
	}
	if d == yum3 {
		// repoquery is of yum-utils, which a host may not have. list ends with 1 when it found nothing.
		res, err := s.Query(ctx, "", s.listed(d, specs)...)
		if err != nil {
			return nil, err
		}
		if res.Exit != 0 && !strings.Contains(res.Stderr, "No matching Packages") {
			return nil, rpm.Failure(res)
		}
		return parseList(res.Stdout), nil
	}
	out, err := s.Ask(ctx, s.queried(d, specs)...)
	if err != nil {
		return nil, err
	}
	return parseOffers(out)
}

// Solve has the manager plan a request without carrying it out.
func (s *Solver) Solve(ctx context.Context, req pkgmgr.Request) (plan.Solution, error) {
	sol := plan.Solution{Manager: "dnf", Actions: []plan.ResolvedPackage{}}
	if req.Empty() {
		return sol, nil
	}
	d, err := s.dialect()
	if err != nil {
		return sol, err
	}
	install, _, err := words(req)
	if err != nil {
		return sol, err
	}
	db, err := s.Installed(ctx)
	if err != nil {
		return sol, err
	}
	remove := present(db, req.Remove)
	if len(install) == 0 && len(remove) == 0 {
		return sol, nil
	}
	sol.Actions, sol.DownloadBytes, sol.InstalledBytes, err = s.solve(ctx, d, orderOf(d, install, remove), db)
	if err != nil {
		return sol, err
	}
	return sol, rpm.Answers("dnf", req, sol.Actions, db)
}

// present are the specs of what is there to be removed: dnf takes the name of a package that is not
// installed for an error in its shell, and for nothing on its command line.
func present(db pkgmgr.Database, names []string) []string {
	out := []string{}
	for _, n := range names {
		if db.Has(n) {
			out = append(out, strings.Replace(n, ":", ".", 1))
		}
	}
	return out
}

func (s *Solver) solve(ctx context.Context, d dialect, o order, db pkgmgr.Database) (actions []plan.ResolvedPackage, download, installed int64, err error) {
	res, err := s.Query(ctx, o.stdin, s.command(d, []string{cached, "--assumeno"}, o.verb...)...)
	if err != nil {
		return nil, 0, 0, err
	}
	// It ends with 1 both when the answer was no and when there was nothing to be asked.
	actions, told, err := parseTransaction(res.Stdout)
	if err != nil {
		return nil, 0, 0, err
	}
	if !told {
		if strings.Contains(res.Stdout+res.Stderr, "Nothing to do") && (res.Exit == 0 || d == yum3) {
			return []plan.ResolvedPackage{}, 0, 0, nil
		}
		return nil, 0, 0, rpm.Failure(res)
	}
	if unmatched := notFound(res); len(unmatched) > 0 {
		return nil, 0, 0, &pkgmgr.CommandError{Command: d.program() + " " + o.verb[0], Exit: res.Exit, Lines: unmatched}
	}
	actions, err = rpm.Complete(actions, db)
	if err != nil {
		return nil, 0, 0, err
	}
	download, installed = parseSizes(res.Stdout)
	return actions, download, installed, nil
}

// Auto returns the packages that were installed only as dependencies, by dnf's own records.
func (m *Manager) Auto(ctx context.Context) ([]string, error) {
	d, err := m.dialect()
	if err != nil {
		return nil, err
	}
	if d == yum3 {
		return m.yumAuto(ctx)
	}
	out, err := m.Ask(ctx, m.command(d, []string{cached, "-q"}, "repoquery", "--installed", "--qf", `%{name}\t%{reason}\n`)...)
	if err != nil {
		return nil, err
	}
	return parseReasons(out), nil
}

// SetAuto changes marks.
func (m *Manager) SetAuto(ctx context.Context, auto, manual []string) error {
	d, err := m.dialect()
	if err != nil {
		return err
	}
	verbs := map[dialect][2]string{dnf4: {"remove", "install"}, dnf5: {"dependency", "user"}}[d]
	for i, names := range [][]string{auto, manual} {
		if len(names) == 0 {
			continue
		}
		specs := []string{}
		for _, n := range names {
			if err := rpm.CheckName(n); err != nil {
				return err
			}
			specs = append(specs, strings.Replace(n, ":", ".", 1))
		}
		if d == yum3 {
			if err := m.yumMark(ctx, specs, [2]string{"dep", "user"}[i]); err != nil {
				return err
			}
			continue
		}
		if _, err := m.Run(ctx, "", m.command(d, []string{cached, "-y", "-q"}, append([]string{"mark", verbs[i]}, specs...)...)...); err != nil {
			return err
		}
	}
	return nil
}

// Directories are where dnf downloads to and where packages go.
func (m *Manager) Directories() (downloads, installed string) {
	if m.staged != nil {
		return m.staged.dir, "/usr"
	}
	return "/var/cache/dnf", "/usr"
}

// Wait looks every second who holds the lock of rpm or of a manager above it.
func (m *Manager) Wait(ctx context.Context, limit time.Duration) error {
	if err := m.dropStaleLocks(); err != nil {
		return err
	}
	return m.Tool.Wait(ctx, limit)
}
