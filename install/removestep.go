package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/plan"
)

// removeStep takes away files and directories that no package owns: what a vendor's packages leave, and builds. They
// are copied whole into the run's directory first, with owners, modes, times and extended attributes.
type removeStep struct {
	noUndo
	run *run
}

// removeUndo is what the step takes away.
type removeUndo struct {
	Trees []keptTree `json:"trees"`
	// Kernels are those whose list of modules changes.
	Kernels []string `json:"kernels,omitempty"`
}

// keptTree is one place and its copy in the run's directory.
type keptTree struct {
	Path string `json:"path"`
	Copy string `json:"copy"` // as the host's programs see it
}

// roots are the places below which something may be removed whole, so that no plan or matrix can name others.
func removableRoots() []string {
	return []string{"/etc", "/opt", "/usr/local", "/usr/src", "/var/lib/dkms", "/lib/modules", "/usr/lib/modules"}
}

// removable refuses a path that is one of those places, outside of them, or not clean.
func removable(file string) error {
	if err := checkPath(file); err != nil {
		return err
	}
	for _, root := range removableRoots() {
		if strings.HasPrefix(file, root+"/") {
			return nil
		}
	}
	return fmt.Errorf("cannot remove %s: it is not below %s", file, strings.Join(removableRoots(), ", "))
}

// there are the places of a step that exist and that no package owns, with modules that DKMS has installed from them.
func (x *removeStep) there(ctx context.Context, s plan.Step) (trees, kernels []string, err error) {
	for _, file := range s.Changes.Trees {
		if err := removable(file); err != nil {
			return nil, nil, err
		}
		switch _, err := x.run.host.Lstat(file); {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("cannot look at %s: %w", file, err)
		}
		owned, err := x.owned(ctx, file)
		if err != nil {
			return nil, nil, err
		}
		if owned {
			continue
		}
		trees = append(trees, file)
		if path.Dir(file) != "/var/lib/dkms" {
			continue
		}
		modules, of, err := x.built(file)
		if err != nil {
			return nil, nil, err
		}
		trees, kernels = append(trees, modules...), append(kernels, of...)
	}
	slices.Sort(kernels)
	return trees, slices.Compact(kernels), nil
}

// owned asks the package database who a path belongs to.
func (x *removeStep) owned(ctx context.Context, file string) (bool, error) {
	argv := []string{"dpkg-query", "-S", file}
	if name := x.run.base.Name(); name == "dnf" || name == "zypper" {
		argv = []string{"rpm", "-qf", file}
	} else if name != "apt" {
		return false, nil // a manager of tests, which has no files
	}
	res, err := x.run.host.Query(ctx, argv...)
	if err != nil {
		return false, fmt.Errorf("cannot ask who owns %s: %w", file, err)
	}
	return res.Exit == 0, nil
}

// built are the modules that DKMS has installed from a directory of its own: DIR/VERSION/KERNEL/ARCH/module/NAME.ko is
// /lib/modules/KERNEL/updates/dkms/NAME.ko, on RHEL and its rebuilds in extra. With them go links that weak-updates has
// made to them.
func (x *removeStep) built(dir string) (modules, kernels []string, err error) {
	walk := func(dir string) []string {
		names, lerr := x.run.host.ReadDir(dir)
		if lerr != nil && !errors.Is(lerr, fs.ErrNotExist) && !errors.Is(lerr, syscall.ENOTDIR) {
			err = errors.Join(err, fmt.Errorf("cannot look into %s: %w", dir, lerr))
		}
		return names
	}
	for _, version := range walk(dir) {
		if info, lerr := x.run.host.Lstat(path.Join(dir, version)); lerr != nil || !info.Mode.IsDir() {
			continue // links such as kernel-6.1.0-9-amd64-x86_64
		}
		for _, kernel := range walk(path.Join(dir, version)) {
			for _, arch := range walk(path.Join(dir, version, kernel)) {
				for _, name := range walk(path.Join(dir, version, kernel, arch, "module")) {
					if !strings.Contains(name, ".ko") {
						continue
					}
					for _, at := range []string{"updates/dkms", "extra"} {
						file := path.Join("/lib/modules", kernel, at, name)
						if _, lerr := x.run.host.Lstat(file); lerr == nil {
							modules, kernels = append(modules, file), append(kernels, kernel)
						} else if !errors.Is(lerr, fs.ErrNotExist) {
							err = errors.Join(err, fmt.Errorf("cannot look at %s: %w", file, lerr))
						}
					}
				}
			}
		}
	}
	return modules, kernels, err
}

func (x *removeStep) check(ctx context.Context, s plan.Step, _ bool) (bool, error) {
	if _, ok := x.run.records()[s.ID]; ok {
		return false, nil // begun: what is left of it is not all that there was
	}
	trees, _, err := x.there(ctx, s)
	return len(trees) == 0, err
}

func (x *removeStep) prepare(ctx context.Context, s plan.Step) (any, error) {
	trees, kernels, err := x.there(ctx, s)
	if err != nil {
		return nil, err
	}
	dir := path.Join(x.run.paths.runInside(x.run.journal.ID), "trees-"+s.ID)
	if err := x.command(ctx, "rm", "-rf", "--", dir); err != nil { // of an attempt that was killed
		return nil, err
	}
	if err := x.run.host.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make %s: %w", dir, err)
	}
	u := removeUndo{Trees: []keptTree{}, Kernels: kernels}
	for i, file := range trees {
		k := keptTree{Path: file, Copy: path.Join(dir, fmt.Sprint(i))}
		if err := x.copy(ctx, k.Path, k.Copy); err != nil {
			return nil, err
		}
		u.Trees = append(u.Trees, k)
	}
	return u, nil
}

// copy makes a copy with all that belongs to it, on the disk when it returns.
func (x *removeStep) copy(ctx context.Context, from, to string) error {
	if err := x.command(ctx, "cp", "-a", "--", from, to); err != nil {
		return err
	}
	return x.command(ctx, "sync", "-f", path.Dir(to))
}

func (x *removeStep) command(ctx context.Context, argv ...string) error {
	res, err := x.run.host.Run(ctx, host.Command{Argv: argv})
	if err != nil {
		return fmt.Errorf("cannot run %s: %w", argv[0], err)
	}
	if res.Exit != 0 {
		return fmt.Errorf("%s ended with %d: %s", strings.Join(argv, " "), res.Exit, strings.TrimSpace(res.Stderr))
	}
	return nil
}

func (x *removeStep) do(ctx context.Context, _ plan.Step, undo json.RawMessage) (any, string, error) {
	var u removeUndo
	if err := decode(undo, &u); err != nil {
		return nil, "", err
	}
	names := []string{}
	for _, k := range u.Trees {
		if err := removable(k.Path); err != nil {
			return nil, "", err
		}
		if err := x.command(ctx, "rm", "-rf", "--one-file-system", "--", k.Path); err != nil {
			return nil, "", err
		}
		names = append(names, k.Path)
	}
	return nil, strings.Join(names, ", "), x.depmod(ctx, u)
}

// depmod writes the lists of modules anew.
func (x *removeStep) depmod(ctx context.Context, u removeUndo) error {
	for _, kernel := range u.Kernels {
		if err := x.command(ctx, "depmod", kernel); err != nil {
			return err
		}
	}
	return nil
}

// undo puts copies back where nothing is. What was made there since the step ended is someone's and stays.
func (x *removeStep) undo(ctx context.Context, _ plan.Step, rec record) (undone, error) {
	out := undone{}
	var u removeUndo
	if err := decode(rec.undo, &u); err != nil {
		return out, err
	}
	for _, k := range u.Trees {
		if err := removable(k.Path); err != nil {
			return out, err
		}
		part := path.Join(path.Dir(k.Path), ".rdmactl-"+x.run.journal.ID+"-"+path.Base(k.Copy))
		if err := x.command(ctx, "rm", "-rf", "--", part); err != nil { // of an undo that was killed
			return out, err
		}
		_, err := x.run.host.Lstat(k.Path)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return out, fmt.Errorf("cannot look at %s: %w", k.Path, err)
		case err == nil && rec.left != nil:
			same, err := x.same(ctx, k)
			if err != nil {
				return out, err
			}
			if !same { // not put back by an undo that was killed
				out.kept = append(out.kept, k.Path)
				out.notes = append(out.notes, fmt.Sprintf("%s was made after the run and is kept; what it was is in %s", k.Path, k.Copy))
			}
			continue
		}
		if err := x.run.host.MkdirAll(path.Dir(k.Path), 0o755); err != nil {
			return out, fmt.Errorf("cannot make %s: %w", path.Dir(k.Path), err)
		}
		if err := x.copy(ctx, k.Copy, part); err != nil {
			return out, err
		}
		if err == nil { // the step was cut short in it
			if err := x.command(ctx, "rm", "-rf", "--one-file-system", "--", k.Path); err != nil {
				return out, err
			}
		}
		if err := x.run.host.Rename(part, k.Path); err != nil {
			return out, fmt.Errorf("cannot put back %s: %w", k.Path, err)
		}
	}
	return out, x.depmod(ctx, u)
}

// same says that a place is as its copy.
func (x *removeStep) same(ctx context.Context, k keptTree) (bool, error) {
	res, err := x.run.host.Run(ctx, host.Command{Argv: []string{"diff", "-r", "-q", "--no-dereference", "--", k.Path, k.Copy}})
	if err != nil {
		return false, fmt.Errorf("cannot run diff: %w", err)
	}
	return res.Exit == 0, nil
}
