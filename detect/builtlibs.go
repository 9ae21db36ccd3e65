package detect

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// builtRoot holds a directory for each version of rdma-core that was built from source.
const builtRoot = "/opt/rdma-core"

// maxBuilt bounds how many of them are looked at.
const maxBuilt = 64

// built finds the copies of libibverbs below builtRoot. found are those on the loader's path, in its order.
func (p probe) built(arch string, found facts.Field[[]facts.Libibverbs]) facts.Field[[]facts.BuiltLibrary] {
	names, complete, err := p.listed(builtRoot)
	if err != nil {
		return field[[]facts.BuiltLibrary](nil, builtRoot, err)
	}
	if len(names) > maxBuilt {
		names, complete = names[:maxBuilt], false
	}
	var all []facts.BuiltLibrary
	links := map[string]string{} // a name such as "current", to the directory that it stands for
	for _, name := range names {
		prefix := builtRoot + "/" + name
		if target, err := p.r.Readlink(prefix); err == nil {
			if !path.IsAbs(target) {
				target = path.Join(builtRoot, target)
			}
			links[prefix] = path.Clean(target)
			continue
		}
		libs, err := p.builtIn(prefix, arch)
		complete = complete && err == nil
		all = append(all, libs...)
	}
	if len(all) == 0 {
		if !complete {
			return facts.Field[[]facts.BuiltLibrary]{Source: builtRoot}
		}
		return facts.None[[]facts.BuiltLibrary](builtRoot)
	}
	p.markActive(all, found, links)
	return facts.Is(all, builtRoot)
}

// builtIn looks for the library below one prefix: in its lib, lib64 and the like, and in a directory of
// Debian's below them. The error says that some place could not be looked at.
func (p probe) builtIn(prefix, arch string) ([]facts.BuiltLibrary, error) {
	names, _, err := p.listed(prefix)
	if err != nil {
		return nil, ignoring(err, fs.ErrNotExist)
	}
	var all []facts.BuiltLibrary
	var failed error
	for _, name := range names {
		if !strings.HasPrefix(name, "lib") || name == "libexec" {
			continue
		}
		dirs := []string{path.Join(prefix, name)}
		if _, err := p.r.Readlink(dirs[0]); err == nil {
			continue // lib64 that leads to lib
		}
		for _, l := range loaders() {
			if l.arch == arch || arch == "" {
				dirs = append(dirs, path.Join(prefix, name, l.multiarch))
			}
		}
		for _, dir := range dirs {
			file := path.Join(dir, verbsLibrary)
			if _, err := p.r.Stat(file); err != nil {
				failed = errors.Join(failed, ignoring(err, fs.ErrNotExist))
				continue
			}
			lib := facts.Libibverbs{Path: file}
			if foreign := p.readLibrary(&lib); foreign {
				continue
			}
			p.readProviders(dir, &lib)
			all = append(all, facts.BuiltLibrary{
				Prefix: prefix, Path: file, Version: p.builtVersion(file, prefix), PrivateABI: lib.PrivateABI, Providers: lib.Providers,
			})
		}
	}
	return all, failed
}

// ignoring is an error unless it is one of a kind.
func ignoring(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}

var (
	// libibverbs.so.1.15.65.0: interface, minor, and the version of rdma-core
	libraryName  = regexp.MustCompile(`^libibverbs\.so\.1\.[0-9]+\.([0-9]+(?:\.[0-9]+)*)$`)
	builtVersion = regexp.MustCompile(`^v?([0-9]+(?:\.[0-9]+)*)$`)
)

// builtVersion reads the version from what libibverbs.so.1 leads to, else from the name of the prefix.
func (p probe) builtVersion(file, prefix string) facts.Field[string] {
	if target, err := p.r.Readlink(file); err == nil {
		if m := libraryName.FindStringSubmatch(path.Base(target)); m != nil {
			return facts.Is(m[1], file)
		}
	}
	if m := builtVersion.FindStringSubmatch(path.Base(prefix)); m != nil {
		return facts.Is(m[1], prefix)
	}
	return facts.Field[string]{Source: file}
}

// markActive says which copy programs get: the first one of the loader's cache, and where that is not told
// the first one by ld.so.conf.
func (p probe) markActive(all []facts.BuiltLibrary, found facts.Field[[]facts.Libibverbs], links map[string]string) {
	real := func(file string) string {
		for from, to := range links {
			if rest, ok := strings.CutPrefix(file, from+"/"); ok {
				return path.Join(to, rest)
			}
		}
		return file
	}
	first, source := "", "/etc/ld.so.conf"
	if copies := found.Or(nil); len(copies) > 0 {
		first = real(copies[0].Path)
	}
	told, err := p.loaderConfTold()
	configured := func(lib facts.BuiltLibrary) bool {
		return slices.ContainsFunc(found.Or(nil), func(l facts.Libibverbs) bool { return real(l.Path) == lib.Path })
	}
	// Only a copy whose directory is configured can be in the cache; the others need no program to be run.
	if !p.told.IsImage() && slices.ContainsFunc(all, configured) {
		const cache = "ldconfig -p"
		if text, cacheErr := p.run("ldconfig", "-p"); cacheErr == nil {
			first, source, told = real(firstInCache(text)), cache, true
		} else if !errors.Is(cacheErr, host.ErrUnknown) && !errors.Is(cacheErr, host.ErrNotInstalled) {
			told, err = false, cacheErr
		}
	}
	for i := range all {
		lib := &all[i]
		switch {
		case told, lib.Path == first:
			lib.Active = facts.Is(lib.Path == first, source)
		case err != nil:
			lib.Active = field(false, source, err)
		default:
			lib.Active = facts.Field[bool]{Source: source}
		}
	}
}

// loaderConfTold says whether ld.so.conf was told with all that it includes.
func (p probe) loaderConfTold() (bool, error) {
	if _, err := p.text("/etc/ld.so.conf"); err != nil {
		return errors.Is(err, fs.ErrNotExist), ignoring(err, fs.ErrNotExist)
	}
	const dir = "/etc/ld.so.conf.d"
	names, complete, err := p.listed(dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist), ignoring(err, fs.ErrNotExist)
	}
	for _, name := range names {
		if _, err := p.text(dir + "/" + name); strings.HasSuffix(name, ".conf") && err != nil {
			return false, err
		}
	}
	return complete, nil
}

// firstInCache finds the library in the output of "ldconfig -p", in the order in which the loader takes it:
// libibverbs.so.1 (libc6,x86-64) => /usr/lib64/libibverbs.so.1. A 32-bit copy has the type libc6 alone.
func firstInCache(text string) string {
	for line := range strings.Lines(text) {
		name, file, ok := strings.Cut(strings.TrimSpace(line), " => ")
		if soname, kind, _ := strings.Cut(name, " "); ok && soname == verbsLibrary && strings.Contains(kind, ",") {
			return path.Clean(strings.TrimSpace(file))
		}
	}
	return ""
}
