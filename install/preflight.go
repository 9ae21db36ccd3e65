package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// preflight asks everything that can stop the run before anything changes.
func (r *run) preflight(ctx context.Context) error {
	if err := r.emit(journal.Entry{Event: journal.PreflightStarted}); err != nil {
		return err
	}
	if !r.env.isRoot() {
		return notRoot()
	}
	if err := (&modulesStep{run: r}).allowed(ctx, r.plan); err != nil {
		return err
	}
	if err := r.writable(); err != nil {
		return err
	}
	if err := r.moduleKeyReady(); err != nil {
		return err
	}
	for _, s := range r.plan.Steps {
		if s.Kind == plan.KindBuild && s.Changes.Build != nil && s.Changes.Build.Packages != "" {
			if err := (&packageBuildStep{buildStep: buildStep{run: r}}).ready(ctx, s); err != nil {
				return err
			}
			continue
		}
		if s.Kind == plan.KindBuild {
			if err := (&buildStep{run: r}).ready(ctx, s); err != nil {
				return err
			}
		}
	}
	if err := r.readyRepositories(ctx); err != nil {
		return err
	}
	if err := r.readyHolds(ctx); err != nil {
		return err
	}
	if err := r.packagesReady(ctx); err != nil {
		return err
	}
	if err := r.scriptsReady(ctx); err != nil {
		return err
	}
	if err := r.takeBaseline(ctx); err != nil {
		return err
	}
	result, err := json.Marshal(r.solution)
	if err != nil {
		return fmt.Errorf("cannot record the package manager's answer: %w", err)
	}
	return r.emit(journal.Entry{Event: journal.PreflightDone, Verify: r.baseline, Result: result, Text: solutionLine(r.solution)})
}

func notRoot() error {
	return fault.New(fault.Stopped, "not-root", "run it with sudo", "cannot change this host: not root")
}

// takeBaseline tests the host before the run, if it has an RDMA device at all.
func (r *run) takeBaseline(ctx context.Context) error {
	for _, e := range r.journal.Entries {
		if e.Event == journal.PreflightDone {
			r.baseline = e.Verify // of the first attempt: later ones find a changed host
			return nil
		}
	}
	if r.env.Verify == nil || r.order.OnVerifyFailure != VerifyAuto ||
		!slices.ContainsFunc(r.plan.Steps, func(s plan.Step) bool { return s.Kind == plan.KindVerify || s.Kind == plan.KindActivate }) {
		return nil
	}
	devices, err := r.host.ReadDir("/sys/class/infiniband")
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, host.ErrUnknown) {
		return fmt.Errorf("cannot look for RDMA devices: %w", err)
	}
	if len(devices) == 0 {
		return nil
	}
	out, err := r.env.Verify(ctx)
	if err != nil {
		return r.note("the host could not be verified before the run: %v", err)
	}
	r.baseline = out.Verdict
	return nil
}

// packagesReady settles what the package manager will do, or why it cannot.
func (r *run) packagesReady(ctx context.Context) error {
	r.solution = plan.Solution{Manager: r.pm.Name(), Actions: []plan.ResolvedPackage{}}
	if !r.touchesPackages() {
		return nil
	}
	if err := r.waitForManager(ctx); err != nil {
		return managerFault("cannot use the package manager", err)
	}
	db, err := r.pm.Installed(ctx)
	if err != nil {
		return managerFault("cannot read the package database", err)
	}
	if err := r.pm.Healthy(ctx); err != nil && !brokenGoes(r.plan, db) {
		return fault.New(fault.Stopped, "package-manager-broken", wordsOf(r.pm.Name()).mend, "cannot use the package manager: %w", err)
	}
	if !needsPackages(r.plan, db) && len(r.records()) == 0 {
		return nil // and so needs no repository
	}
	warnings, err := r.pm.Refresh(ctx)
	if err != nil {
		return managerFault("cannot trust the repositories", err)
	}
	for _, w := range warnings {
		if err := r.note("repository: %s", w); err != nil {
			return err
		}
	}
	unheld, err := r.unheld(ctx)
	if err != nil {
		return err
	}
	requests, left, err := requestsOf(ctx, unheld, r.plan, db)
	if err != nil {
		return err
	}
	for _, reason := range left {
		if err := r.note("%s", reason.Text); err != nil {
			return err
		}
	}
	if err := r.buildRequests(ctx, db, requests); err != nil {
		return err
	}
	if err := r.recordedRequests(requests); err != nil {
		return err
	}
	r.requests = requests
	if err := r.whole(ctx, db); err != nil {
		return err
	}
	if r.solution, err = r.solveAll(ctx); err != nil {
		return err
	}
	if err := unannounced(r.plan, r.solution, r.order.AllowRemove); err != nil {
		return err
	}
	if err := ownRelease(ctx, r.pm, r.plan, r.solution); err != nil {
		return err
	}
	return r.enoughSpace(ctx)
}

// recordedRequests replaces the requests of steps that an earlier attempt started by what it asked for.
func (r *run) recordedRequests(requests map[string]pkgmgr.Request) error {
	for id, rec := range r.records() {
		i := slices.IndexFunc(r.plan.Steps, func(s plan.Step) bool { return s.ID == id && s.Kind == plan.KindPackages })
		if i < 0 {
			continue
		}
		var u packagesUndo
		if err := decode(rec.undo, &u); err != nil {
			return err
		}
		requests[id] = u.Request
		if id == plan.RemovalStep && rec.left != nil || r.toolsGone(id) {
			requests[id] = pkgmgr.Request{} // what has these names now came after it, or a later step takes it away
		}
		r.old = append(r.old, u.Old...)
	}
	return nil
}

// needsPackages says whether the package database alone shows that something is to be done.
func needsPackages(p plan.Plan, db pkgmgr.Database) bool {
	for _, s := range p.Steps {
		for _, c := range s.Changes.Packages {
			switch c.Action {
			case "exclude", "replace":
			case "restore":
				if len(statesOf(db, c.Name)) > 0 {
					return true
				}
			case "remove":
				if db.Has(c.Name) {
					return true
				}
			case "upgrade":
				return true
			default:
				if !db.Has(c.Name) {
					return true
				}
			}
		}
	}
	return false
}

// requestsOf turns the packages of a plan into exact requests, one a step. Optional packages that no
// repository has are left out and returned as reasons.
func requestsOf(ctx context.Context, solver pkgmgr.Solver, p plan.Plan, db pkgmgr.Database) (map[string]pkgmgr.Request, []plan.Reason, error) {
	names := []string{}
	for _, s := range p.Steps {
		if s.Changes.BuiltBy != "" {
			continue // see buildRequests
		}
		for _, c := range s.Changes.Packages {
			if c.Action == "install" || c.Action == "upgrade" {
				names = append(names, c.Name)
			}
		}
	}
	candidates, sources, err := solver.Available(ctx, names)
	if err != nil {
		return nil, nil, managerFault("cannot ask the repositories for packages", err)
	}
	own, err := ownVersions(ctx, solver, p, db)
	if err != nil {
		return nil, nil, err
	}
	requests := map[string]pkgmgr.Request{}
	left := []plan.Reason{}
	missing := []string{}
	for _, s := range p.Steps {
		if s.Kind != plan.KindPackages || s.Changes.BuiltBy != "" {
			continue
		}
		req := pkgmgr.Request{Install: []pkgmgr.Want{}}
		for _, c := range s.Changes.Packages {
			installed, has := db.Find(c.Name)
			candidate, available := candidates[c.Name]
			if own != nil {
				candidate.Version, available = own[c.Name], own[c.Name] != ""
			}
			switch {
			case c.Action == "restore" && !c.Optional && candidate.Version == "" && len(statesOf(db, c.Name)) > 0:
				missing = append(missing, c.Name)
			case c.Action == "restore":
				restore(&req, statesOf(db, c.Name), candidate.Version)
			case c.Action == "remove":
				if has || len(statesOf(db, c.Name)) > 0 {
					req.Remove = append(req.Remove, c.Name)
				}
			case c.Action == "exclude" || c.Action == "replace":
				// The solver decides what becomes of it; see unannounced.
			case has && (c.Action != "upgrade" || !available || candidate.Version == installed.Version):
			case available:
				req.Install = append(req.Install, pkgmgr.Want{Name: c.Name, Version: candidate.Version})
			case c.Optional:
				left = append(left, plan.Reason{Code: "package-not-available", Text: "package " + c.Name + " is left out: no repository has it", Source: solver.Name()})
			default:
				missing = append(missing, c.Name)
			}
		}
		requests[s.ID] = req
	}
	if len(missing) > 0 {
		refresh := wordsOf(solver.Name()).refresh
		looked := "the list of no repository is here: none is configured, or `" + refresh + "` has not been run"
		if len(sources) > 0 {
			looked = "looked at " + strings.Join(sources, "; ")
		}
		hint := "add a repository that has it, then run `" + refresh + "`"
		if restoring(p) {
			hint = "add a repository of the distribution's, then run `" + refresh + "`; `rdmactl uninstall --to-profile none` takes the stack away and leaves none"
		}
		found := fault.New(fault.Stopped, "package-not-found", hint,
			"cannot install %s: no repository has it (%s)", strings.Join(missing, ", "), looked)
		if len(sources) == 0 {
			found.Err = errNoLists
		}
		return nil, nil, found
	}
	return requests, left, nil
}

// errNoLists says that the package manager has read the list of no repository yet, so that it knows no package at all.
var errNoLists = errors.New("the list of no repository is here")

// joint is all that the plan asks for, for one answer of the solver and one download.
func joint(p plan.Plan, requests map[string]pkgmgr.Request) pkgmgr.Request {
	all := pkgmgr.Request{Install: []pkgmgr.Want{}}
	for _, s := range p.Steps {
		for _, w := range requests[s.ID].Install {
			if !slices.ContainsFunc(all.Install, func(o pkgmgr.Want) bool { return o.Name == w.Name }) {
				all.Install = append(all.Install, w)
			}
		}
		all.Purge = all.Purge || requests[s.ID].Purge
		for _, n := range requests[s.ID].Remove {
			if !slices.Contains(all.Remove, n) {
				all.Remove = append(all.Remove, n)
			}
		}
	}
	return all
}

// unannounced stops for removals and downgrades that neither the plan nor the user named.
func unannounced(p plan.Plan, sol plan.Solution, allowed []string) error {
	named, excluded := slices.Clone(allowed), []string{}
	for _, s := range p.Steps {
		for _, c := range s.Changes.Packages {
			switch c.Action {
			case "remove", "replace", "restore":
				named = append(named, c.Name)
			case "exclude":
				excluded = append(excluded, c.Name)
			}
		}
	}
	bad := []string{}
	for _, a := range sol.Actions {
		if slices.Contains(excluded, a.Name) && a.Action != "remove" {
			return fault.New(fault.Stopped, "excluded-package", "leave it out of the package set that is asked for, or install it by hand when its effects are wanted",
				"cannot install the plan's packages: %s would come with them, which the plan keeps out", a.Name)
		}
		if restoring(p) && a.Action != "remove" && ofVendor(a.Name, a.Version) {
			return fault.New(fault.Stopped, "vendor-package", "disable the repository that has it, then run again",
				"cannot go back to the distribution's packages: %s %s of a vendor would come with them", a.Name, a.Version)
		}
		if (a.Action == "remove" || a.Action == "downgrade") && !slices.Contains(named, a.Name) {
			bad = append(bad, a.Action+" "+a.Name)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return fault.New(fault.Stopped, "unannounced-removal", "name what may go with --allow-remove, if that is meant",
		"cannot install the plan's packages: the package manager would also %s", strings.Join(bad, ", "))
}

// managerFault gives an error of a package manager its exit code and hint.
func managerFault(what string, err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	var sig *pkgmgr.SignatureError
	var locked *pkgmgr.LockedError
	var command *pkgmgr.CommandError
	switch {
	case errors.As(err, &sig):
		return fault.New(fault.Stopped, "repository-signature", signatureHint(sig), "%s: %w", what, err)
	case errors.As(err, &locked):
		return fault.New(fault.Stopped, "package-manager-locked", "wait until it has ended, then run again", "%s: %w", what, err)
	case errors.As(err, &command):
		return fault.New(fault.Stopped, "package-manager-failed", "nothing was changed", "%s: %w", what, err)
	}
	return fault.New(fault.Stopped, "package-manager-failed", "", "%s: %w", what, err)
}

// slack is kept free beyond the solver's figures, for package scripts, caches and backups.
const slack = 64 << 20

// enoughSpace compares free space with the solver's figures, summed per file system.
func (r *run) enoughSpace(ctx context.Context) error {
	downloads, installed := r.pm.Directories()
	need := map[string]int64{downloads: r.solution.DownloadBytes, installed: r.solution.InstalledBytes, r.paths.inside(): r.backupBytes()}
	dirs := []string{}
	for dir := range need {
		dirs = append(dirs, dir)
	}
	sort.Strings(dirs)
	wanted := map[string]int64{}
	free := map[string]int64{}
	found, err := r.freeBytes(ctx, dirs...)
	if err != nil {
		return r.note("free space of %s is not known: %v", strings.Join(dirs, ", "), err)
	}
	for i, f := range found {
		free[f.mount] = f.avail
		wanted[f.mount] += max(0, need[dirs[i]])
	}
	for _, mount := range sortedKeys(free) {
		if want := wanted[mount] + slack; free[mount] < want {
			return fault.New(fault.Stopped, "no-space", "make room there", "cannot install: %s has %d MiB free and %d MiB are needed", mount, free[mount]>>20, (want+1<<20-1)>>20)
		}
	}
	return nil
}

// backupBytes is about what the run keeps for its undo: the packages that go are about as large as those that
// come for them, and an initramfs is kept whole.
func (r *run) backupBytes() int64 {
	var sum int64
	if slices.ContainsFunc(r.solution.Actions, func(a plan.ResolvedPackage) bool { return a.From != "" }) {
		sum += max(0, r.solution.DownloadBytes)
	}
	for _, s := range r.plan.Steps {
		if s.Kind != plan.KindInitramfs {
			continue
		}
		if file, err := (&initramfsStep{run: r}).image(s.Changes.Kernel); err == nil && file != "" {
			if info, err := r.host.Stat(file); err == nil {
				sum += info.Size
			}
		}
	}
	return sum
}

func sortedKeys(m map[string]int64) []string {
	keys := []string{}
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// fileSystem is where a directory is, and what is free there.
type fileSystem struct {
	mount string
	avail int64 // bytes
}

// freeBytes asks df for the file systems of directories, or of their nearest parents that exist.
func (r *run) freeBytes(ctx context.Context, dirs ...string) ([]fileSystem, error) {
	argv := []string{"df", "-P", "-k"}
	for _, dir := range dirs {
		for dir != "/" {
			_, err := r.host.Stat(dir)
			if err == nil {
				break
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			dir = path.Dir(dir)
		}
		argv = append(argv, dir)
	}
	res, err := r.host.Query(ctx, argv...)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(res.Stdout), "\n")
	if res.Exit != 0 || len(lines) != 1+len(dirs) {
		return nil, fmt.Errorf("df ended with %d: %s", res.Exit, strings.TrimSpace(res.Stderr))
	}
	out := []fileSystem{}
	for _, line := range lines[1:] {
		f := strings.Fields(line)
		if len(f) < 6 {
			return nil, fmt.Errorf("cannot read df's line %q", line)
		}
		kib, err := strconv.ParseInt(f[3], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("cannot read df's line: %w", err)
		}
		out = append(out, fileSystem{strings.Join(f[5:], " "), kib << 10})
	}
	return out, nil
}

// stage downloads and keeps everything, so that from here on nothing from outside is needed.
func (r *run) stage(ctx context.Context) error {
	if err := r.keepForScripts(ctx); err != nil {
		return err
	}
	if len(r.solution.Actions) == 0 {
		return nil
	}
	if err := r.emit(journal.Entry{Event: journal.StageStarted}); err != nil {
		return err
	}
	if err := r.fetchAll(ctx); err != nil {
		return err
	}
	db, err := r.pm.Installed(ctx)
	if err != nil {
		return managerFault("cannot read the package database", err)
	}
	replaced := []pkgmgr.Package{}
	for _, a := range r.solution.Actions {
		p, ok := db[a.Name+":"+a.Arch]
		known := slices.ContainsFunc(r.old, func(o pkgmgr.OldPackage) bool { return o.Key() == p.Key() })
		known = known || slices.ContainsFunc(replaced, func(o pkgmgr.Package) bool { return o.Key() == p.Key() })
		if ok && !known && p.Status != pkgmgr.ConfigFiles && p.Version != a.Version {
			replaced = append(replaced, p)
		}
	}
	if len(replaced) > 0 {
		kept, err := r.keeper().Keep(ctx, replaced, r.paths.runInside(r.journal.ID)+"/packages")
		if err != nil {
			return managerFault("cannot keep the packages that are replaced", err)
		}
		r.old = append(r.old, kept...)
	}
	return r.emit(journal.Entry{Event: journal.Staged, Text: fmt.Sprintf("%d packages are ready, %d old ones are kept", len(r.solution.Actions), len(replaced))})
}

// solutionLine is the solver's answer in one line.
func solutionLine(s plan.Solution) string {
	counts := map[string]int64{}
	for _, a := range s.Actions {
		counts[a.Action]++
	}
	if len(counts) == 0 {
		return "no packages change"
	}
	words := []string{}
	for _, k := range sortedKeys(counts) {
		words = append(words, fmt.Sprintf("%s %d", k, counts[k]))
	}
	return s.Manager + ": " + strings.Join(words, ", ")
}
