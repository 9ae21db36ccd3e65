package kmod

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/host"
)

// Origin says which part of a kernel's module tree a file is in.
type Origin string

// The origins, as directories below /lib/modules/KERNEL.
const (
	Inbox       Origin = "inbox"        // kernel/
	Updates     Origin = "updates"      // updates/: SUSE KMPs, MLNX_OFED on Debian and SLES
	DKMS        Origin = "dkms"         // updates/dkms/: DKMS on Debian, Ubuntu and SUSE
	Extra       Origin = "extra"        // extra/: kmod packages, and DKMS, on the Red Hat family
	WeakUpdates Origin = "weak-updates" // weak-updates/: links to a module built for another kernel
	Builtin     Origin = "builtin"      // in the kernel image
	Elsewhere   Origin = "elsewhere"
)

// Location is where a module is.
type Location struct {
	Name    string // as the kernel has it
	Path    string // absolute; empty when built in
	Builtin bool
	Origin  Origin
}

// Find says which file modprobe would load under a module's own name (not an alias, see Resolve) for
// a kernel ("" is the running one). It is fs.ErrNotExist if the kernel has no such module, and
// host.ErrUnknown if no source tells.
//
// modules.dep is the authority: depmod has already applied the search order (updates before the
// kernel's own, or /etc/depmod.d). It is a large file, so it is recorded as the one line wanted, under
// `modinfo -k KERNEL -n NAME`, with empty output for a name that is not in it. modules.builtin is
// small and is read as it is. Without either, the file name in `modinfo NAME` is taken.
func Find(ctx context.Context, r host.Reader, kernel, name string) (Location, error) {
	if err := CheckName(name); err != nil {
		return Location{}, fmt.Errorf("cannot find module: %w", err)
	}
	release, err := releaseOf(ctx, r, kernel)
	if err != nil {
		return Location{}, &lookupError{"find module", name, "", "", err}
	}
	dir := path.Join(modulesRoot, release)
	res, depErr := r.Derive(ctx, dir+"/modules.dep", []string{"modinfo", "-k", release, "-n", name}, depDecoder(dir, name))
	if depErr == nil {
		line := lastLine(res.Stdout)
		switch {
		case line == "(builtin)":
			return builtin(name), nil
		case strings.HasPrefix(line, "/"):
			return locate(release, line), nil
		case strings.Contains(res.Stderr, "command not found"):
			depErr = host.ErrUnknown
		case strings.Contains(res.Stderr, "not found"):
			return Location{}, notFound(name, release)
		}
	}
	if depErr != nil && !isUnknown(depErr) {
		return Location{}, &lookupError{"find module", name, "", "modules.dep: ", depErr}
	}
	list, builtinErr := r.ReadFile(dir + "/modules.builtin")
	if builtinErr == nil && listsModule(string(list), name) {
		return builtin(name), nil
	}
	if depErr == nil || errors.Is(depErr, fs.ErrNotExist) {
		switch {
		case builtinErr == nil, errors.Is(builtinErr, fs.ErrNotExist):
			return Location{}, notFound(name, release)
		case !errors.Is(builtinErr, host.ErrUnknown):
			return Location{}, &lookupError{"find module", name, "", "modules.builtin: ", builtinErr}
		}
	}
	info, err := derivePlain(ctx, r, dir+"/modules.dep", release, name)
	switch {
	case err == nil && info.Builtin:
		return builtin(name), nil
	case err == nil && info.Filename != "":
		return locate(release, info.Filename), nil
	case errors.Is(err, fs.ErrNotExist):
		return Location{}, notFound(name, release)
	}
	return Location{}, &lookupError{"find module", name, " of kernel " + release, "", host.ErrUnknown}
}

func releaseOf(ctx context.Context, r host.Reader, kernel string) (string, error) {
	if kernel == "" {
		var err error
		if kernel, err = Running(ctx, r); err != nil {
			return "", err
		}
	}
	return kernel, checkKernel(kernel)
}

func notFound(name, release string) error {
	return &lookupError{"find module", name, " of kernel " + release, "", fs.ErrNotExist}
}

func builtin(name string) Location {
	return Location{Name: Normalize(name), Builtin: true, Origin: Builtin}
}

func locate(release, file string) Location {
	return Location{Name: nameOf(file), Path: file, Origin: OriginOf(release, file)}
}

// OriginOf says which part of the module tree of a kernel a path is in.
func OriginOf(release, file string) Origin {
	below, ok := cutModulesRoot(file)
	if ok {
		below, ok = strings.CutPrefix(below, release+"/")
	}
	if !ok {
		return Elsewhere
	}
	for _, o := range []struct {
		dir    string
		origin Origin
	}{
		{"kernel/", Inbox}, {"updates/dkms/", DKMS}, {"updates/", Updates}, {"extra/", Extra}, {"weak-updates/", WeakUpdates},
	} {
		if strings.HasPrefix(below, o.dir) {
			return o.origin
		}
	}
	return Elsewhere
}

// depDecoder finds the line of one module in modules.dep and prints its path.
func depDecoder(dir, name string) host.Decoder {
	return func(file io.ReaderAt, size int64) (string, error) {
		dep, err := findDep(io.NewSectionReader(file, 0, size), name)
		if err != nil || dep == nil {
			return "", err
		}
		return absolute(dir, dep[0]) + "\n", nil
	}
}

// findDep returns a module's file and its dependencies' (all of them, the nearest first) as
// modules.dep names them; nil if the name is not in it.
func findDep(r io.Reader, name string) ([]string, error) {
	want := Normalize(name)
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), 1<<20)
	for s.Scan() {
		file, deps, ok := strings.Cut(s.Text(), ":")
		if ok && nameOf(file) == want {
			return append([]string{file}, strings.Fields(deps)...), nil
		}
	}
	return nil, s.Err()
}

func absolute(dir, file string) string {
	if strings.HasPrefix(file, "/") {
		return path.Clean(file)
	}
	return path.Join(dir, file)
}

func listsModule(list, name string) bool {
	want := Normalize(name)
	for line := range strings.Lines(list) {
		if nameOf(strings.TrimSpace(line)) == want {
			return true
		}
	}
	return false
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// Resolve returns the modules that an alias stands for (xprtrdma: rpcrdma), none if it is no alias.
// modules.alias is recorded as the answer of `modprobe -S KERNEL -R ALIAS`. Aliases set in modprobe.d
// are not part of it, see Configuration.
func Resolve(ctx context.Context, r host.Reader, kernel, alias string) ([]string, error) {
	if strings.ContainsAny(alias, "\x00\n \t") || strings.HasPrefix(alias, "-") || alias == "" {
		return nil, fmt.Errorf("cannot resolve alias %q: not one word", alias)
	}
	release, err := releaseOf(ctx, r, kernel)
	if err != nil {
		return nil, fmt.Errorf("cannot resolve alias %s: %w", alias, err)
	}
	res, err := r.Derive(ctx, path.Join(modulesRoot, release, "modules.alias"),
		[]string{"modprobe", "-S", release, "-R", alias}, aliasDecoder(alias))
	if err != nil {
		return nil, fmt.Errorf("cannot resolve alias %s: %w", alias, err)
	}
	if strings.Contains(res.Stderr, "command not found") {
		return nil, fmt.Errorf("cannot resolve alias %s: %w", alias, host.ErrUnknown)
	}
	return strings.Fields(res.Stdout), nil
}

func aliasDecoder(alias string) host.Decoder {
	return func(file io.ReaderAt, size int64) (string, error) {
		var found []string
		want := Normalize(alias)
		s := bufio.NewScanner(io.NewSectionReader(file, 0, size))
		s.Buffer(make([]byte, 64<<10), 1<<20)
		for s.Scan() {
			words := strings.Fields(s.Text())
			if len(words) != 3 || words[0] != "alias" || slices.Contains(found, words[2]) {
				continue
			}
			if ok, err := path.Match(normalizePattern(words[1]), want); err == nil && ok {
				found = append(found, words[2])
			}
		}
		if err := s.Err(); err != nil || len(found) == 0 {
			return "", err
		}
		return strings.Join(found, "\n") + "\n", nil
	}
}

// normalizePattern is Normalize outside of brackets, where a dash is a range.
func normalizePattern(pattern string) string {
	b := []byte(pattern)
	in := false
	for i, c := range b {
		switch c {
		case '[':
			in = true
		case ']':
			in = false
		case '-':
			if !in {
				b[i] = '_'
			}
		}
	}
	return string(b)
}
