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

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/kmod"
	"github.com/rdmactl/rdmactl/plan"
)

// modulesStep loads kernel modules now.
type modulesStep struct {
	noUndo
	run *run
}

type modulesUndo struct {
	Loaded []string `json:"loaded"` // before the step
	// Comes are the step's modules and all that they need, as far as they were not loaded.
	Comes []string `json:"comes"`
}

// modulesLeft are the modules that came with the step, dependencies too, in the order of loading.
type modulesLeft struct {
	New []string `json:"new"`
}

func (x *modulesStep) loaded(ctx context.Context) ([]kmod.Module, error) {
	list, err := kmod.Loaded(ctx, x.run.host)
	if err != nil {
		return nil, fmt.Errorf("cannot read which modules are loaded: %w", err)
	}
	return list, nil
}

// absent says that this kernel has no such module, neither as a file nor built in.
func (x *modulesStep) absent(ctx context.Context, name string) (bool, error) {
	_, err := kmod.Find(ctx, x.run.host, "", name)
	switch {
	case err == nil:
		return false, nil
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case errors.Is(err, host.ErrUnknown):
		return false, nil // modprobe will say
	}
	return false, fmt.Errorf("cannot look for module %s: %w", name, err)
}

// allowed stops early for modules that the administrator keeps out: modprobe would load them when
// they are named, and that is not ours to decide. Optional ones are left out.
func (x *modulesStep) allowed(ctx context.Context, p plan.Plan) error {
	for _, s := range p.Steps {
		for _, m := range s.Changes.Modules {
			if m.Optional {
				continue
			}
			blocked, where, err := x.barred(ctx, m.Name)
			if err != nil {
				return err
			}
			if where == "" {
				continue
			}
			needs := ""
			if !kmod.Same(blocked, m.Name) {
				needs = " needs " + blocked + ", which"
			}
			return fault.New(fault.Stopped, kmod.CodeBlacklisted, "remove that line if the module is wanted, then run again",
				"cannot load module %s: it%s is blacklisted in %s", m.Name, needs, where)
		}
	}
	return nil
}

// barred returns the file that keeps out a module, or one that it needs, unless they are loaded.
func (x *modulesStep) barred(ctx context.Context, name string) (blocked, where string, err error) {
	conf, err := kmod.Config(x.run.host)
	if err == nil {
		err = errors.Join(conf.Unread...)
	}
	if err != nil {
		return "", "", fault.New(fault.Stopped, kmod.CodeConfigUnknown, "it may say that a module must stay out",
			"cannot read which modules are kept out: %w", err)
	}
	list, err := x.loaded(ctx)
	if err != nil {
		return "", "", err
	}
	if kmod.IsLoaded(list, name) {
		return "", "", nil
	}
	needs, err := x.needs(ctx)
	if err != nil {
		return "", "", err
	}
	for _, n := range append([]string{name}, needs[kmod.Normalize(name)]...) {
		if hit, where := conf.Blacklisted(n); hit && !kmod.IsLoaded(list, n) {
			return n, where, nil
		}
	}
	return "", "", nil
}

func (x *modulesStep) check(ctx context.Context, s plan.Step, _ bool) (bool, error) {
	list, err := x.loaded(ctx)
	if err != nil {
		return false, err
	}
	for _, m := range s.Changes.Modules {
		if kmod.IsLoaded(list, m.Name) {
			continue
		}
		loc, err := kmod.Find(ctx, x.run.host, "", m.Name)
		if err == nil && loc.Builtin {
			continue
		}
		if m.Optional && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if m.Optional {
			_, where, err := x.barred(ctx, m.Name)
			if err != nil {
				return false, err
			}
			if where != "" {
				continue
			}
		}
		return false, nil
	}
	return true, nil
}

func (x *modulesStep) prepare(ctx context.Context, s plan.Step) (any, error) {
	list, err := x.loaded(ctx)
	if err != nil {
		return nil, err
	}
	u := modulesUndo{Loaded: []string{}, Comes: []string{}}
	for _, m := range list {
		u.Loaded = append(u.Loaded, m.Name)
	}
	needs, err := x.needs(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range s.Changes.Modules {
		for _, name := range append([]string{kmod.Normalize(m.Name)}, needs[kmod.Normalize(m.Name)]...) {
			if !slices.Contains(u.Loaded, name) && !slices.Contains(u.Comes, name) {
				u.Comes = append(u.Comes, name)
			}
		}
	}
	return u, nil
}

// needs reads modules.dep of the running kernel: all dependencies of each module, also indirect ones.
func (x *modulesStep) needs(ctx context.Context) (map[string][]string, error) {
	release, err := kmod.Running(ctx, x.run.host)
	if err != nil {
		return nil, err
	}
	text, err := x.run.host.ReadFile("/lib/modules/" + release + "/modules.dep")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // modprobe will say so
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read which modules need others: %w", err)
	}
	all := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		file, deps, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		names := []string{}
		for _, d := range strings.Fields(deps) {
			names = append(names, moduleName(d))
		}
		all[moduleName(file)] = names
	}
	return all, nil
}

// moduleName is the kernel's name of a module file, which may be compressed.
func moduleName(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".ko")
	return kmod.Normalize(name)
}

func (x *modulesStep) do(ctx context.Context, s plan.Step, undo json.RawMessage) (any, string, error) {
	var u modulesUndo
	if err := decode(undo, &u); err != nil {
		return nil, "", err
	}
	left := modulesLeft{New: []string{}}
	missing, barred := []string{}, []string{}
	for _, m := range s.Changes.Modules {
		if m.Optional {
			absent, err := x.absent(ctx, m.Name)
			if err != nil {
				return nil, "", err
			}
			if absent {
				missing = append(missing, m.Name)
				continue
			}
			_, where, err := x.barred(ctx, m.Name)
			if err != nil {
				return nil, "", err
			}
			if where != "" {
				barred = append(barred, m.Name+" ("+where+")")
				continue
			}
		}
		if err := kmod.Load(ctx, x.run.host, m.Name); err != nil {
			return nil, "", err
		}
	}
	list, err := x.loaded(ctx)
	if err != nil {
		return nil, "", err
	}
	// /proc/modules has the newest first.
	for _, m := range slices.Backward(list) {
		if !slices.Contains(u.Loaded, m.Name) {
			left.New = append(left.New, m.Name)
		}
	}
	text := "loaded " + strings.Join(left.New, ", ")
	if len(left.New) == 0 {
		text = "nothing new to load"
	}
	if len(missing) > 0 {
		text += "; this kernel does not have " + strings.Join(missing, ", ")
	}
	if len(barred) > 0 {
		text += "; blacklisted: " + strings.Join(barred, ", ")
	}
	return left, text, nil
}

// undo unloads what came with the step, newest first, as far as nothing uses it. A module that drives
// devices stays: a card's network interface may be the way to this host.
func (x *modulesStep) undo(ctx context.Context, _ plan.Step, rec record) (undone, error) {
	out := undone{}
	var u modulesUndo
	var left modulesLeft
	if err := errors.Join(decode(rec.undo, &u), decode(rec.left, &left)); err != nil {
		return out, err
	}
	ours := left.New
	if rec.left == nil {
		ours = u.Comes // the step did not end: what it would have brought
	}
	why := map[string]string{}
	for {
		list, err := x.loaded(ctx)
		if err != nil {
			return out, err
		}
		progress := false
		for _, m := range list {
			if !slices.ContainsFunc(ours, func(o string) bool { return kmod.Same(o, m.Name) }) || why[m.Name] == "failed" {
				continue
			}
			if reason := x.inUse(m); reason != "" {
				why[m.Name] = reason
				continue
			}
			// rmmod takes exactly one module; modprobe -r would also take others that were there
			// before and are idle.
			res, err := x.run.host.Run(ctx, host.Command{Argv: []string{"rmmod", "--", m.Name}})
			if err != nil || res.Exit != 0 {
				why[m.Name] = "failed"
				out.notes = append(out.notes, fmt.Sprintf("module %s stays loaded until the next boot: rmmod: %s", m.Name, firstOf(err, res)))
				continue
			}
			delete(why, m.Name)
			progress = true
		}
		if !progress {
			break
		}
	}
	list, err := x.loaded(ctx)
	if err != nil {
		return out, err
	}
	for _, m := range list {
		if reason := why[m.Name]; reason != "" && reason != "failed" {
			out.notes = append(out.notes, fmt.Sprintf("module %s stays loaded until the next boot: %s", m.Name, reason))
		}
	}
	return out, nil
}

func firstOf(err error, res host.Result) string {
	if err != nil {
		return err.Error()
	}
	line, _, _ := strings.Cut(strings.TrimSpace(res.Stderr), "\n")
	return line
}

// inUse says why a module cannot be unloaded now, empty if it can.
func (x *modulesStep) inUse(m kmod.Module) string {
	switch {
	case len(m.UsedBy) > 0:
		return "used by " + strings.Join(m.UsedBy, ", ")
	case m.Permanent:
		return "it is permanent"
	case m.Refs != 0:
		return fmt.Sprintf("%d references are held", m.Refs)
	}
	drivers := "/sys/module/" + m.Name + "/drivers"
	names, err := x.run.host.ReadDir(drivers)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		return fmt.Sprintf("cannot tell whether it drives devices: %v", err)
	}
	for _, n := range names {
		entries, err := x.run.host.ReadDir(drivers + "/" + n)
		if err != nil {
			return fmt.Sprintf("cannot tell whether it drives devices: %v", err)
		}
		for _, e := range entries {
			if e == "module" {
				continue
			}
			if info, err := x.run.host.Lstat(drivers + "/" + n + "/" + e); err == nil && info.Mode&fs.ModeSymlink != 0 {
				return "it drives " + e
			}
		}
	}
	return ""
}
