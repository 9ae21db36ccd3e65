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
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// vendorScriptStep runs a vendor's own installer. Its undo is that of a transaction of the package manager which did
// what the installer did: the package database before it, in the run's directory, is compared with what it left.
type vendorScriptStep struct{ run *run }

// scriptUndo is what there was before the installer.
type scriptUndo struct {
	// Database is the file in the run's directory with the package database.
	Database string              `json:"database"`
	Old      []pkgmgr.OldPackage `json:"old"`
	Auto     []string            `json:"auto"`
	Keys     []string            `json:"keys,omitempty"`
	Etc      string              `json:"etc"`
	// Trees are directories that no package owns and the installer removes.
	Trees removeUndo  `json:"trees"`
	Units []unitState `json:"units,omitempty"`
	// Force says that the installer is told to remove packages of others too.
	Force bool `json:"force,omitempty"`
}

// scriptLeft is what the installer did.
type scriptLeft struct {
	Changed []plan.ResolvedPackage `json:"changed"`
	Etc     []keptFile             `json:"etc,omitempty"`
	Units   []unitState            `json:"units,omitempty"`
}

// scriptLimit is how long an installer may take: it may compile a whole stack.
const scriptLimit = 6 * time.Hour

func (x *vendorScriptStep) packages() *packagesStep { return &packagesStep{run: x.run} }

// tmp is the directory of the installer's own files and logs, in that of the run.
func (x *vendorScriptStep) tmp() string { return x.run.paths.runInside(x.run.journal.ID) + "/tmp" }

func (x *vendorScriptStep) check(_ context.Context, s plan.Step, _ bool) (bool, error) {
	rec, begun := x.run.records()[s.ID]
	return begun && rec.left != nil, nil
}

func (x *vendorScriptStep) prepare(ctx context.Context, s plan.Step) (any, error) {
	r := x.run
	db, err := r.pm.Installed(ctx)
	if err != nil {
		return nil, err
	}
	removal := r.scripts[s.ID]
	u := scriptUndo{Database: "backup/" + s.ID + "-packages.json", Old: []pkgmgr.OldPackage{}, Force: removal.force}
	for _, p := range removal.gone {
		i := slices.IndexFunc(r.old, func(o pkgmgr.OldPackage) bool { return o.Key() == p.Key() && o.Version == db[p.Key()].Version })
		if i < 0 {
			return nil, fault.New(fault.Stopped, "solution-changed", "run it again", "cannot run the installer: package %s is another one than it was in staging", p.Name)
		}
		u.Old = append(u.Old, r.old[i])
	}
	text, err := json.Marshal(db)
	if err != nil {
		return nil, fmt.Errorf("cannot keep the package database: %w", err)
	}
	if err := r.journal.WriteFile(u.Database, text); err != nil {
		return nil, err
	}
	if u.Auto, err = r.pm.Auto(ctx); err != nil {
		return nil, err
	}
	if u.Keys, err = r.keysThere(); err != nil {
		return nil, err
	}
	if u.Etc, err = x.packages().keepEtc(s); err != nil {
		return nil, err
	}
	if u.Trees, err = x.keepTrees(ctx, s); err != nil {
		return nil, err
	}
	u.Units = x.units(ctx)
	return u, nil
}

// sources are the directories that mlnxofedinstall removes by name, whoever made them.
func (x *vendorScriptStep) sources() ([]string, error) {
	const dir = "/usr/src"
	names, err := x.run.host.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot look into %s: %w", dir, err)
	}
	var out []string
	for _, n := range names {
		if strings.HasPrefix(n, "mlnx-ofed-kernel") {
			out = append(out, path.Join(dir, n))
		}
	}
	return out, nil
}

// treeStep is the removal of those directories, as a step of its own kind would be.
func treeStep(s plan.Step, trees []string) plan.Step {
	return plan.Step{ID: s.ID, Kind: plan.KindRemove, Changes: plan.Changes{Trees: trees}}
}

func (x *vendorScriptStep) keepTrees(ctx context.Context, s plan.Step) (removeUndo, error) {
	trees, err := x.sources()
	if err != nil || len(trees) == 0 {
		return removeUndo{}, err
	}
	kept, err := (&removeStep{run: x.run}).prepare(ctx, treeStep(s, trees))
	if err != nil {
		return removeUndo{}, err
	}
	u, ok := kept.(removeUndo)
	if !ok {
		return removeUndo{}, errors.New("cannot keep directories: their record is another one")
	}
	return u, nil
}

// units are the states of the services that a stack of the vendor's has, where systemd runs. They are for the record:
// what enables a unit is below /etc, and a running one keeps the modules that it has.
func (x *vendorScriptStep) units(ctx context.Context) []unitState {
	up, err := x.run.systemd()
	if err != nil || !up || x.run.inImage() {
		return nil
	}
	var out []unitState
	for _, name := range []string{"openibd.service", "opensmd.service", "rdma.service", "ibacm.service"} {
		active, err := (&servicesStep{run: x.run}).unitWord(ctx, "is-active", name)
		if err != nil {
			continue
		}
		enabled, err := (&servicesStep{run: x.run}).unitWord(ctx, "is-enabled", name)
		if err != nil {
			continue
		}
		out = append(out, unitState{name, active, enabled})
	}
	return out
}

// command is what is run.
func (x *vendorScriptStep) command(c plan.ScriptChange, force bool) host.Command {
	argv := []string{c.Program}
	for _, a := range c.Args {
		argv = append(argv, strings.ReplaceAll(a, plan.RunDirectory, x.run.paths.runInside(x.run.journal.ID)))
	}
	if force && c.Force != "" {
		argv = append(argv, c.Force)
	}
	env := []string{
		"HOME=/root", "TMPDIR=" + x.tmp(), "DEBIAN_FRONTEND=noninteractive", "DEBCONF_NONINTERACTIVE_SEEN=true", "APT_LISTCHANGES_FRONTEND=none",
		"NEEDRESTART_SUSPEND=1", "UCF_FORCE_CONFFOLD=1",
	}
	if slices.Contains(c.Args, "--without-fw-update") {
		env = append(env, "RUN_FW_UPDATER=no") // what the installer itself tells the package that burns
	}
	return host.Command{Argv: argv, Env: env}
}

func (x *vendorScriptStep) do(ctx context.Context, s plan.Step, undo json.RawMessage) (any, string, error) {
	r, c := x.run, s.Changes.Script
	var u scriptUndo
	if err := decode(undo, &u); err != nil {
		return nil, "", err
	}
	before, err := x.database(u)
	if err != nil {
		return nil, "", err
	}
	if err := r.waitForManager(ctx); err != nil {
		return nil, "", managerFault("cannot run the installer", err)
	}
	if err := (&removeStep{run: r}).command(ctx, "rm", "-rf", "--", x.tmp()); err != nil { // of an attempt that was killed
		return nil, "", err
	}
	if err := r.host.MkdirAll(x.tmp(), 0o700); err != nil {
		return nil, "", fmt.Errorf("cannot make %s: %w", x.tmp(), err)
	}
	limited, cancel := context.WithTimeout(ctx, scriptLimit)
	defer cancel()
	res, err := r.host.Run(limited, x.command(*c, u.Force))
	switch {
	case limited.Err() != nil && ctx.Err() == nil:
		return nil, "", fault.New(fault.Failed, "vendor-script-killed", "see in the log what it waited for", "cannot install with %s: it did not end within %s", path.Base(c.Program), scriptLimit)
	case err != nil:
		return nil, "", fmt.Errorf("cannot run %s: %w", c.Program, err)
	case res.Exit != 0:
		return nil, "", scriptFault(*c, res, x.saidLast(res))
	}
	after, err := r.pm.Installed(ctx)
	if err != nil {
		return nil, "", err
	}
	changed := changesOf(before, after)
	besides, err := judgeScript(s, u, before, after, changed)
	if err != nil {
		return nil, "", err
	}
	if len(besides) > 0 {
		if err := r.note("%s also installed, for itself: %s", path.Base(c.Program), strings.Join(besides, ", ")); err != nil {
			return nil, "", err
		}
	}
	left := scriptLeft{Changed: changed, Units: x.units(ctx)}
	if left.Etc, err = x.packages().changedEtc(packagesUndo{Etc: u.Etc}); err != nil {
		return nil, "", err
	}
	came, gone := 0, 0
	for _, a := range changed {
		if a.Version == "" {
			gone++
		} else {
			came++
		}
	}
	return left, fmt.Sprintf("%d packages came or changed, %d went", came, gone), nil
}

// judgeScript compares what an installer did with what was announced. besides are packages that it installed and are
// not of its bundle.
func judgeScript(s plan.Step, u scriptUndo, before, after pkgmgr.Database, changed []plan.ResolvedPackage) (besides []string, err error) {
	name := path.Base(s.Changes.Script.Program)
	brings := s.Changes.Script.Brings
	bad, own := []string{}, 0
	for _, a := range changed {
		key := a.Name + ":" + a.Arch
		excluded := slices.ContainsFunc(s.Changes.Packages, func(c plan.PackageChange) bool { return c.Action == "exclude" && c.Name == a.Name })
		announced := slices.ContainsFunc(u.Old, func(o pkgmgr.OldPackage) bool { return o.Key() == key })
		_, ofBundle := brings[a.Name]
		switch {
		case excluded && a.Version != "":
			return nil, fault.New(fault.Failed, "excluded-package", "do not run the installer of this bundle; the package manager installs it without that package", "cannot install with %s: it installed %s, which the plan keeps out", name, a.Name)
		case after[key].Status == pkgmgr.Broken:
			bad = append(bad, a.Name+" is not installed whole")
		case a.Version == "" && !announced && before[key].Status != pkgmgr.ConfigFiles:
			bad = append(bad, a.Name+" went")
		case a.Version == "":
		case ofBundle && !slices.Contains(brings[a.Name], a.Version):
			bad = append(bad, a.Name+" "+a.Version+" is not the bundle's")
		case ofBundle, len(brings) == 0 && (announced || a.From == ""):
			own++
		case a.From != "" && !announced:
			bad = append(bad, a.Name+" "+a.From+" became "+a.Version)
		default:
			besides = append(besides, a.Name)
		}
	}
	if len(bad) > 0 {
		return nil, fault.New(fault.Failed, "unannounced-change", "do not run the installer of this bundle; the package manager installs it without that",
			"cannot install with %s as announced: %s", name, strings.Join(bad, "; "))
	}
	if own == 0 {
		return nil, fault.New(fault.Failed, "vendor-script-idle", "its own log says what it found", "cannot install with %s: it ended with 0 and brought none of its packages", name)
	}
	return besides, nil
}

// changesOf are the packages that differ between two databases, in order of their names. Version is empty for one that
// is not installed afterwards.
func changesOf(before, after pkgmgr.Database) []plan.ResolvedPackage {
	keys := map[string]bool{}
	for k := range before {
		keys[k] = true
	}
	for k := range after {
		keys[k] = true
	}
	out := []plan.ResolvedPackage{}
	for k := range keys {
		b, a := before[k], after[k]
		if b.Status == a.Status && b.Version == a.Version {
			continue
		}
		one := plan.ResolvedPackage{Name: a.Name, Arch: a.Arch, Action: "install"}
		if one.Name == "" {
			one.Name, one.Arch = b.Name, b.Arch
		}
		if b.Status == pkgmgr.Installed {
			one.From, one.Action = b.Version, "upgrade"
		}
		if a.Status == pkgmgr.Installed || a.Status == pkgmgr.Broken {
			one.Version = a.Version
		} else {
			one.Action = "remove"
		}
		out = append(out, one)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name+out[i].Arch < out[j].Name+out[j].Arch })
	return out
}

// database is the package database before the installer.
func (x *vendorScriptStep) database(u scriptUndo) (pkgmgr.Database, error) {
	text, err := x.run.journal.ReadFile(u.Database)
	if err != nil {
		return nil, err
	}
	db := pkgmgr.Database{}
	if err := json.Unmarshal(text, &db); err != nil {
		return nil, fmt.Errorf("cannot read the kept package database: %w", err)
	}
	return db, nil
}

// asPackages is what the installer did as a transaction of the package manager, for its undo. Of one that was cut
// short that is all in which the host differs from before.
func (x *vendorScriptStep) asPackages(ctx context.Context, rec record) (record, scriptUndo, error) {
	var u scriptUndo
	if err := decode(rec.undo, &u); err != nil {
		return rec, u, err
	}
	before, err := x.database(u)
	if err != nil {
		return rec, u, err
	}
	now, err := x.run.pm.Installed(ctx)
	if err != nil {
		return rec, u, err
	}
	p := packagesUndo{Before: []pkgmgr.Package{}, Old: slices.Clone(u.Old), Auto: u.Auto, Keys: u.Keys, Etc: u.Etc}
	left := packagesLeft{}
	if rec.left != nil {
		var l scriptLeft
		if err := decode(rec.left, &l); err != nil {
			return rec, u, err
		}
		p.Announced, left.Etc = l.Changed, l.Etc
	} else {
		p.Announced = changesOf(before, now)
	}
	for _, o := range u.Old { // an earlier attempt may have put them back, and their marks not
		if !slices.ContainsFunc(p.Announced, func(a plan.ResolvedPackage) bool { return a.Name == o.Name && a.Arch == o.Arch }) {
			p.Announced = append(p.Announced, plan.ResolvedPackage{Name: o.Name, Arch: o.Arch, From: o.Version, Action: "remove"})
		}
	}
	lost := []pkgmgr.Package{}
	for _, a := range p.Announced {
		b, was := before[a.Name+":"+a.Arch]
		if !was {
			continue
		}
		p.Before = append(p.Before, b)
		kept := slices.ContainsFunc(p.Old, func(o pkgmgr.OldPackage) bool { return o.Key() == b.Key() })
		if n := now[b.Key()]; b.Status == pkgmgr.Installed && !kept && (n.Status != pkgmgr.Installed || n.Version != b.Version) {
			lost = append(lost, b)
		}
	}
	if len(lost) > 0 { // it was not announced, and so is not kept: the repositories may have it
		more, err := x.run.keeper().Keep(ctx, lost, x.run.keptPackages())
		if err != nil {
			return rec, u, fmt.Errorf("cannot get packages again that the installer took away unannounced: %w", err)
		}
		p.Old = append(p.Old, more...)
	}
	if m, ok := x.run.pm.(pkgmgr.Unmeeting); ok {
		if p.Unmet, err = m.Unmet(ctx); err != nil {
			return rec, u, err
		}
	}
	out := record{kept: rec.kept}
	if out.undo, err = encode(p); err != nil {
		return rec, u, err
	}
	if rec.left != nil {
		out.left, err = encode(left)
	}
	return out, u, err
}

func (x *vendorScriptStep) stopper(ctx context.Context, s plan.Step, rec record) error {
	if rec.left == nil {
		return nil // it is not whole, and nothing stands on it
	}
	as, _, err := x.asPackages(ctx, rec)
	if err != nil {
		return err
	}
	return x.packages().stopper(ctx, s, as)
}

func (x *vendorScriptStep) beforeUndo(ctx context.Context, s plan.Step, rec record) (any, error) {
	if err := x.quiet(ctx, s); err != nil {
		return nil, err
	}
	as, _, err := x.asPackages(ctx, rec)
	if err != nil {
		return nil, err
	}
	return x.packages().beforeUndo(ctx, s, as)
}

// quiet waits until neither the installer nor the package manager is at work, and has that finish what it was in the
// middle of.
func (x *vendorScriptStep) quiet(ctx context.Context, s plan.Step) error {
	if err := x.run.scriptAtWork(ctx, *s.Changes.Script); err != nil {
		return err
	}
	if err := x.run.waitForManager(ctx); err != nil {
		return managerFault("cannot use the package manager", err)
	}
	if text, err := x.run.pm.Repair(ctx); err != nil {
		return x.run.mustNote("the package database could not be repaired before the undo: %v", err)
	} else if text != "" {
		return x.run.mustNote("%s", text)
	}
	return nil
}

func (x *vendorScriptStep) undo(ctx context.Context, s plan.Step, rec record) (undone, error) {
	as, u, err := x.asPackages(ctx, rec)
	if err != nil {
		return undone{}, err
	}
	out, err := x.packages().undo(ctx, s, as)
	if err != nil || len(u.Trees.Trees) == 0 {
		return out, err
	}
	trees, err := encode(u.Trees)
	if err != nil {
		return out, err
	}
	more, err := (&removeStep{run: x.run}).undo(ctx, treeStep(s, nil), record{undo: trees, left: rec.left})
	out.kept, out.notes = append(out.kept, more.kept...), append(out.notes, more.notes...)
	return out, err
}
