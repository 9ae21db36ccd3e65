package kmod

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
)

// Load loads a module, or the modules of an alias, with modprobe(8) and proves it from /proc/modules.
// A module that is loaded or built in already is left alone.
//
// What the host's configuration keeps out stays out: modprobe itself would load a blacklisted module
// that is named, and `modprobe -b` would leave it and end 0. So the configuration is read first, for
// the module and for those that it needs, and the refusal names the file. -b is given all the same,
// for what is said in places that only modprobe knows.
//
// On a Writer with a method DryRun that returns true, the command is handed over and nothing is proved.
func Load(ctx context.Context, w host.Writer, name string) error {
	if err := CheckName(name); err != nil {
		return fault.New(fault.Usage, CodeLoadFailed, "", "cannot load module: %w", err)
	}
	if up, err := isUp(ctx, w, []string{name}); err != nil {
		return err
	} else if up {
		return nil
	}
	targets, err := targetsOf(ctx, w, name)
	if err != nil {
		return err
	}
	if err := refuseBlacklisted(ctx, w, name, targets); err != nil {
		return err
	}
	res, err := w.Run(ctx, host.Command{Argv: []string{"modprobe", "-b", "--", name}})
	if err != nil {
		return fault.New(fault.Failed, CodeLoadFailed, "modprobe is in the package kmod", "cannot load module %s: modprobe: %w", name, err)
	}
	if res.Exit != 0 {
		return loadFault(name, res.Stderr, kernelLog(ctx, w, name), res.Exit)
	}
	if isDryRun(w) {
		return nil
	}
	up, err := isUp(ctx, w, targets)
	if err != nil {
		return err
	}
	if !up {
		return fault.New(fault.Failed, CodeNotLoaded,
			"an install line or a blacklist of the host keeps it out: look at `modprobe --showconfig`",
			"cannot load module %s: modprobe ended with 0 and the module is not in /proc/modules", name)
	}
	return nil
}

func isDryRun(w host.Writer) bool {
	d, ok := w.(interface{ DryRun() bool })
	return ok && d.DryRun()
}

// isUp says whether all of the modules are in memory or built in.
func isUp(ctx context.Context, r host.Reader, names []string) (bool, error) {
	list, err := Loaded(ctx, r)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		i := slices.IndexFunc(list, func(m Module) bool { return Same(m.Name, name) })
		if i >= 0 {
			if list[i].State != "" && list[i].State != "Live" {
				return false, nil
			}
			continue
		}
		loc, err := Find(ctx, r, "", name)
		if err != nil || !loc.Builtin {
			// An alias, or a module that is not there: not up, and modprobe will say which.
			return false, nil
		}
	}
	return true, nil
}

// targetsOf returns the module itself, or the modules that an alias stands for.
func targetsOf(ctx context.Context, r host.Reader, name string) ([]string, error) {
	_, err := Find(ctx, r, "", name)
	if err == nil {
		return []string{name}, nil
	}
	if !isUnknown(err) {
		return nil, err
	}
	names, err := Resolve(ctx, r, "", name)
	if err != nil && !isUnknown(err) {
		return nil, err
	}
	if len(names) == 0 {
		return []string{name}, nil // modprobe says that it does not exist
	}
	return names, nil
}

// refuseBlacklisted stops if the configuration keeps out the module, its alias or a dependency that
// is not loaded yet.
func refuseBlacklisted(ctx context.Context, r host.Reader, name string, targets []string) error {
	conf, err := Config(r)
	if err == nil {
		err = errors.Join(conf.Unread...)
	}
	if err != nil {
		return fault.New(fault.Stopped, CodeConfigUnknown, "it may say that the module must stay out; run as root",
			"cannot load module %s: %w", name, err)
	}
	loaded, err := Loaded(ctx, r)
	if err != nil {
		return err
	}
	for _, n := range append([]string{name}, targets...) {
		if hit, where := conf.Blacklisted(n); hit {
			return blacklistFault(name, n, where)
		}
	}
	for _, target := range targets {
		deps, err := dependencies(ctx, r, target)
		if err != nil {
			return fmt.Errorf("cannot load module %s: modules.dep: %w", name, err)
		}
		for _, n := range deps {
			if hit, where := conf.Blacklisted(n); hit && !IsLoaded(loaded, n) {
				return blacklistFault(name, n, where)
			}
		}
	}
	return nil
}

func blacklistFault(name, blocked, where string) error {
	needs := ""
	if !Same(name, blocked) {
		needs = " needs " + blocked + ", which"
	}
	return fault.New(fault.Stopped, CodeBlacklisted, "remove that line if the module is wanted, then run again",
		"cannot load module %s: it%s is blacklisted in %s", name, needs, where)
}

// dependencies returns the names of all modules that a module needs, from the running kernel's
// modules.dep; none where that file does not exist.
func dependencies(ctx context.Context, r host.Reader, name string) ([]string, error) {
	release, err := releaseOf(ctx, r, "")
	if err != nil {
		return nil, err
	}
	text, err := r.ReadFile(path.Join(modulesRoot, release, "modules.dep"))
	if err != nil {
		if isUnknown(err) {
			return nil, nil
		}
		return nil, err
	}
	dep, err := findDep(strings.NewReader(string(text)), name)
	if err != nil || len(dep) == 0 {
		return nil, err
	}
	var names []string
	for _, file := range dep[1:] {
		names = append(names, nameOf(file))
	}
	return names, nil
}

// kernelLog returns what the kernel logged about a module; nothing if it may not be read, since the
// log only refines a message.
func kernelLog(ctx context.Context, r host.Reader, name string) string {
	res, err := r.Query(ctx, "dmesg")
	if err != nil || res.Exit != 0 {
		return ""
	}
	return logOf(name, res.Stdout)
}

// Unload removes a module with `modprobe -r`, which also removes modules that only it needed. A
// module that is not loaded is left alone; one in use is refused with its holders.
func Unload(ctx context.Context, w host.Writer, name string) error {
	if err := CheckName(name); err != nil {
		return fault.New(fault.Usage, codeUnloadFailed, "", "cannot unload module: %w", err)
	}
	list, err := Loaded(ctx, w)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(m Module) bool { return Same(m.Name, name) })
	if i < 0 {
		return nil
	}
	if err := refuseInUse(list[i]); err != nil {
		return err
	}
	res, err := w.Run(ctx, host.Command{Argv: []string{"modprobe", "-r", "--", name}})
	if err != nil {
		return fault.New(fault.Failed, codeUnloadFailed, "modprobe is in the package kmod", "cannot unload module %s: modprobe: %w", name, err)
	}
	if res.Exit != 0 {
		code, hint := codeUnloadFailed, "look at the end of dmesg"
		if strings.Contains(res.Stderr, "in use") {
			code, hint = CodeInUse, "stop what uses it (`lsmod`, `fuser /dev/infiniband/*`), or reboot"
		}
		return fault.New(fault.Failed, code, hint, "cannot unload module %s: %s", name, oneLine(res.Stderr))
	}
	if isDryRun(w) {
		return nil
	}
	if list, err = Loaded(ctx, w); err != nil {
		return err
	}
	if IsLoaded(list, name) {
		return fault.New(fault.Failed, codeUnloadFailed, "a remove line of modprobe.d may keep it: look at `modprobe --showconfig`",
			"cannot unload module %s: modprobe ended with 0 and the module is still in /proc/modules", name)
	}
	return nil
}

func refuseInUse(m Module) error {
	const hint = "unload the holders first, or activate at the next boot"
	switch {
	case len(m.UsedBy) > 0:
		return fault.New(fault.Stopped, CodeInUse, hint, "cannot unload module %s: it is used by %s", m.Name, strings.Join(m.UsedBy, ", "))
	case m.Permanent:
		return fault.New(fault.Stopped, CodeInUse, "reboot", "cannot unload module %s: it is permanent", m.Name)
	case m.Refs > 0:
		return fault.New(fault.Stopped, CodeInUse, "close the programs and mounts that use it (`fuser /dev/infiniband/*`, `mount`)",
			"cannot unload module %s: %d references are held by devices or processes", m.Name, m.Refs)
	}
	return nil
}
