package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// A vendor's own installer runs as root and does as it likes. So before it starts, the whole file that it comes in is
// proven and unpacked, what it is going to remove is known and allowed, and kept; after it, what it did is compared
// with that. What it did is taken back like a transaction of the package manager (vendorscriptstep.go).

// scriptRemoval is what an installer is going to remove, as the package manager sees it.
type scriptRemoval struct {
	gone  []pkgmgr.Package // installed now
	force bool             // packages of others are among them, which the user allowed by name
}

// scriptsReady settles before anything changes what would stop an installer: its source, and what it removes.
func (r *run) scriptsReady(ctx context.Context) error {
	for _, s := range r.plan.Steps {
		if s.Kind != plan.KindVendorScript {
			continue
		}
		if s.Changes.Script == nil {
			return fmt.Errorf("cannot execute step %s: it names no installer", s.ID)
		}
		if r.order.Offline != nil {
			return fault.New(fault.Stopped, "manager-not-supported", "leave --method vendor-script away", "cannot run a vendor's installer from a bundle of rdmactl's own")
		}
		if err := r.scriptSource(ctx, *s.Changes.Script); err != nil {
			return err
		}
		if rec, begun := r.records()[s.ID]; begun && rec.left != nil {
			continue // what it was to remove is gone
		}
		removal, err := removalOf(ctx, r.pm, s, r.order.AllowRemove)
		if err != nil {
			return err
		}
		if err := r.scriptSpace(ctx, s); err != nil {
			return err
		}
		r.scripts[s.ID] = removal
	}
	return nil
}

// scriptSource proves what root is going to run, and unpacks it.
func (r *run) scriptSource(ctx context.Context, c plan.ScriptChange) error {
	const hint = "name the vendor's bundle with --source, and give its checksum from where you trust it with --sha256, or a detached signature of it with --signature and the key with --key"
	b := c.Bundle
	switch {
	case b == nil && c.Directory == "":
		return fault.New(fault.Stopped, "no-source", hint, "cannot run %s: no source is named", path.Base(c.Program))
	case b == nil && r.inImage():
		return fault.New(fault.Stopped, "source-outside-image", "give the packed bundle: that is unpacked inside",
			"cannot run %s in the image: its programs see the image alone, and %s is a directory of the build host", path.Base(c.Program), c.Directory)
	case b == nil:
		if path.Dir(c.Program) != c.Directory {
			return fmt.Errorf("cannot run %s: it is not in %s", c.Program, c.Directory)
		}
		return r.ownTree(c.Directory)
	case !b.Whole || len(b.SHA256) != 64 || strings.Trim(b.SHA256, "0123456789abcdef") != "" || path.Dir(c.Program) != b.Place():
		return fmt.Errorf("cannot run %s: the plan does not say what is unpacked where", c.Program)
	case b.Proof != "sha256" && b.Proof != "signature":
		return fault.New(fault.Stopped, "source-not-proven", hint, "cannot run %s of %s as root: nothing proves the whole file; a signature of the repository inside is not one of its programs", path.Base(c.Program), b.File)
	}
	have, err := r.unpacked(*b)
	if err != nil || have != nil {
		return err
	}
	if _, err := r.unpackNew(ctx, plan.Step{}, *b); err != nil {
		return err
	}
	return r.note("%s is verified (SHA-256 %s) and unpacked whole to %s", path.Base(b.File), b.SHA256, b.Dir())
}

// maxTree bounds the entries of an unpacked bundle.
const maxTree = 200_000

// ownTree refuses an unpacked bundle that others than root could have changed: all in it, and each directory above it,
// is root's, and no one else may write there. A directory above may be a sticky one, as /tmp is, where root's entries
// stay root's.
func (r *run) ownTree(dir string) error {
	refuse := func(name, why string) error {
		return fault.New(fault.Stopped, "source-not-trusted", "as root, unpack a proven bundle anew into a directory of root's own: `tar --no-same-permissions --no-same-owner -xzf`; or give the packed file and its checksum",
			"cannot run programs of %s as root: %s %s", dir, name, why)
	}
	left := maxTree
	var walk func(name string) error
	walk = func(name string) error {
		if left--; left < 0 {
			return refuse(dir, fmt.Sprintf("has more than %d files", maxTree))
		}
		info, err := r.host.Lstat(name)
		if err != nil {
			return fmt.Errorf("cannot look at %s: %w", name, err)
		}
		link := info.Mode&fs.ModeSymlink != 0
		switch {
		case info.UID != uint32(os.Geteuid()):
			return refuse(name, "is not root's")
		case !link && info.Mode.Perm()&0o022 != 0:
			return refuse(name, "can be written by others")
		case !link && !info.Mode.IsDir() && !info.Mode.IsRegular():
			return refuse(name, "is neither a file nor a folder nor a link")
		case link:
			target, err := r.host.Readlink(name)
			if err != nil {
				return fmt.Errorf("cannot read link %s: %w", name, err)
			}
			if !path.IsAbs(target) {
				target = path.Join(path.Dir(name), target)
			}
			if !strings.HasPrefix(path.Clean(target)+"/", dir+"/") {
				return refuse(name, "is a link out of it")
			}
		case info.Mode.IsDir():
			names, err := r.host.ReadDir(name)
			if err != nil {
				return fmt.Errorf("cannot look into %s: %w", name, err)
			}
			for _, n := range names {
				if err := walk(path.Join(name, n)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := walk(dir); err != nil {
		return err
	}
	for above := path.Dir(dir); ; above = path.Dir(above) {
		info, err := r.host.Stat(above)
		if err != nil {
			return fmt.Errorf("cannot look at %s: %w", above, err)
		}
		if info.UID != uint32(os.Geteuid()) && info.UID != 0 || info.Mode.Perm()&0o022 != 0 && info.Mode&fs.ModeSticky == 0 {
			return refuse(above, "above it is not root's alone to write")
		}
		if above == "/" {
			return nil
		}
	}
}

// removalOf asks the package manager what goes with the packages that the installer removes, and stops for what
// neither the plan nor the user named: the installer would end with 174 then, or take it along when it is forced.
func removalOf(ctx context.Context, solver pkgmgr.Solver, s plan.Step, allowed []string) (scriptRemoval, error) {
	out := scriptRemoval{}
	db, err := solver.Installed(ctx)
	if err != nil {
		return out, managerFault("cannot read the package database", err)
	}
	named := []string{}
	for _, c := range s.Changes.Packages {
		if c.Action != "replace" && c.Action != "remove" {
			continue
		}
		for _, p := range statesOf(db, c.Name) {
			out.gone = append(out.gone, p)
			if !slices.Contains(named, c.Name) {
				named = append(named, c.Name)
			}
		}
	}
	if len(named) == 0 {
		return out, nil
	}
	sol, err := solver.Solve(ctx, pkgmgr.Request{Install: []pkgmgr.Want{}, Remove: named})
	if err != nil {
		return out, managerFault("cannot ask what goes with the packages that the installer removes", err)
	}
	bad := []string{}
	for _, a := range sol.Actions {
		if a.Action != "remove" || slices.ContainsFunc(out.gone, func(p pkgmgr.Package) bool { return p.Key() == a.Name+":"+a.Arch }) {
			continue
		}
		if !slices.Contains(allowed, a.Name) {
			bad = append(bad, a.Name)
			continue
		}
		out.force = true
		out.gone = append(out.gone, db[a.Name+":"+a.Arch])
	}
	if len(bad) > 0 {
		return out, fault.New(fault.Stopped, "unannounced-removal", "name what may go with --allow-remove, if that is meant; they are put back by a rollback only",
			"cannot run %s: packages that are not of the stack need what it removes, and would have to go as well: %s", path.Base(s.Changes.Script.Program), strings.Join(bad, ", "))
	}
	return out, nil
}

// scriptSpace compares free space with what is going to be installed: the installer ends with 28 half-way otherwise.
func (r *run) scriptSpace(ctx context.Context, s plan.Step) error {
	_, installed := r.pm.Directories()
	found, err := r.freeBytes(ctx, installed)
	if err != nil {
		return r.note("free space of %s is not known: %v", installed, err)
	}
	mount, avail := found[0].mount, found[0].avail
	// Packages are compressed to about a quarter, modules are built beside them.
	if want := 4*s.Bytes + slack; avail < want {
		return fault.New(fault.Stopped, "no-space", "make room there", "cannot run %s: %s has %d MiB free and about %d MiB are needed", path.Base(s.Changes.Script.Program), mount, avail>>20, want>>20)
	}
	return nil
}

// keepForScripts keeps every package that an installer is going to remove.
func (r *run) keepForScripts(ctx context.Context) error {
	for _, s := range r.plan.Steps {
		gone := r.scripts[s.ID].gone
		if _, begun := r.records()[s.ID]; begun || len(gone) == 0 {
			continue // they are in the record
		}
		gone = slices.DeleteFunc(slices.Clone(gone), func(p pkgmgr.Package) bool {
			return slices.ContainsFunc(r.old, func(o pkgmgr.OldPackage) bool { return o.Key() == p.Key() && o.Version == p.Version })
		})
		kept, err := r.keeper().Keep(ctx, gone, r.keptPackages())
		if err != nil {
			return managerFault("cannot keep the packages that the installer removes", err)
		}
		r.old = append(r.old, kept...)
		if err := r.note("%d packages that %s removes are kept", len(gone), path.Base(s.Changes.Script.Program)); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) keptPackages() string { return r.paths.runInside(r.journal.ID) + "/packages" }

// takeBackScripts takes back what an installer did that was cut short, so that it starts anew from the host that was
// agreed to. No vendor says that an installer may be run again over its own half.
func (r *run) takeBackScripts(ctx context.Context) error {
	records := r.records()
	for _, s := range slices.Backward(r.plan.Steps) {
		rec, begun := records[s.ID]
		if s.Kind != plan.KindVendorScript || !begun || rec.left != nil {
			continue
		}
		x := &vendorScriptStep{run: r}
		fail := func(err error) error {
			return fault.New(fault.Failed, "vendor-script-half", "put right what it says, then `rdmactl rollback`", "cannot take back what %s did before it was cut short: %w", path.Base(s.Changes.Script.Program), err)
		}
		saved, err := x.beforeUndo(ctx, s, rec)
		if err != nil {
			return fail(err)
		}
		found, err := encode(saved)
		if err != nil {
			return err
		}
		rec.kept = append(rec.kept, found)
		if _, err := x.undo(ctx, s, rec); err != nil {
			return fail(err)
		}
		if err := r.note("what %s did before it was cut short is taken back; it starts anew", path.Base(s.Changes.Script.Program)); err != nil {
			return err
		}
	}
	return nil
}

// scriptAtWork waits until nothing runs any more from the directory of an installer: where no unit holds a run's
// processes together, what it started outlives a worker that was killed.
func (r *run) scriptAtWork(ctx context.Context, c plan.ScriptChange) error {
	if r.inImage() {
		return nil // it ended with the worker
	}
	until := time.Now().Add(r.lockWait())
	for {
		pid, err := r.processOf(path.Dir(c.Program) + "/")
		if err != nil || pid == "" {
			return err
		}
		if time.Now().After(until) {
			return fault.New(fault.Stopped, "vendor-script-running", "wait until it has ended, or end it, then run this again",
				"cannot go on: process %s still runs a program of %s", pid, path.Dir(c.Program))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// processOf is a process whose command line names something below a directory, empty for none.
func (r *run) processOf(dir string) (string, error) {
	names, err := r.host.ReadDir("/proc")
	if err != nil {
		return "", fmt.Errorf("cannot see which processes run: %w", err)
	}
	for _, pid := range names {
		if strings.Trim(pid, "0123456789") != "" || pid == fmt.Sprint(os.Getpid()) {
			continue
		}
		line, err := r.host.ReadFile("/proc/" + pid + "/cmdline")
		if errors.Is(err, fs.ErrNotExist) || err != nil && strings.Contains(err.Error(), "no such process") {
			continue // it has ended
		}
		if err != nil {
			return "", fmt.Errorf("cannot see what process %s is: %w", pid, err)
		}
		for word := range strings.SplitSeq(string(line), "\x00") {
			if strings.HasPrefix(word, dir) {
				return pid, nil
			}
		}
	}
	return "", nil
}
