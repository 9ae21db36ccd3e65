package detect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// loader is what an architecture's ABI says of its dynamic loader and of Debian's directory.
type loader struct{ arch, loader, multiarch string }

func loaders() []loader {
	return []loader{
		{"x86_64", "/lib64/ld-linux-x86-64.so.2", "x86_64-linux-gnu"},
		{"aarch64", "/lib/ld-linux-aarch64.so.1", "aarch64-linux-gnu"},
		{"ppc64le", "/lib64/ld64.so.2", "powerpc64le-linux-gnu"},
		{"s390x", "/lib/ld64.so.1", "s390x-linux-gnu"},
		{"riscv64", "/lib/ld-linux-riscv64-lp64d.so.1", "riscv64-linux-gnu"},
	}
}

const verbsLibrary = "libibverbs.so.1"

// userspaceFiles are the copies of the verbs library before their packages are known.
type userspaceFiles struct{ facts.Userspace }

// userspace looks for libibverbs in the directories that the loader searches, in its order.
// LD_LIBRARY_PATH is another process's matter.
func (p probe) userspace(arch facts.Field[string]) userspaceFiles {
	var out userspaceFiles
	out.DriverConf = p.driverConf()
	var copies []facts.Libibverbs
	var undecided error
	for _, dir := range p.libraryDirs(arch.Or("")) {
		file := path.Join(dir, verbsLibrary)
		_, err := p.r.Stat(file)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				undecided = err
			}
			continue
		}
		lib := facts.Libibverbs{Path: file}
		if foreign := p.readLibrary(&lib); foreign {
			continue
		}
		p.readProviders(dir, &lib)
		copies = append(copies, lib)
	}
	switch {
	case len(copies) > 0:
		out.Libibverbs = facts.Is(copies, verbsLibrary+" on the loader's path")
	case undecided != nil:
		out.Libibverbs = field(copies, verbsLibrary+" on the loader's path", undecided)
	default:
		out.Libibverbs = facts.None[[]facts.Libibverbs](verbsLibrary + " on the loader's path")
	}
	out.Built = p.built(arch.Or(""), out.Libibverbs)
	return out
}

// libraryDirs are the directories of ld.so.conf(5), then the loader's own, each once by its real
// name: /lib is a link to /usr/lib on a merged-/usr system.
func (p probe) libraryDirs(arch string) []string {
	dirs := p.ldConf("/etc/ld.so.conf", 0)
	for _, l := range loaders() {
		if l.arch == arch || arch == "" {
			dirs = append(dirs, "/lib/"+l.multiarch, "/usr/lib/"+l.multiarch)
		}
	}
	dirs = append(dirs, "/lib64", "/usr/lib64", "/lib", "/usr/lib")
	links := map[string]string{}
	for _, top := range []string{"/lib", "/lib64"} {
		if target, err := p.r.Readlink(top); err == nil {
			if !path.IsAbs(target) {
				target = "/" + target
			}
			links[top] = path.Clean(target)
		}
	}
	var out []string
	for _, dir := range dirs {
		dir = path.Clean(dir)
		for top, target := range links {
			if dir == top || strings.HasPrefix(dir, top+"/") {
				dir = target + strings.TrimPrefix(dir, top)
				break
			}
		}
		if !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// ldConf reads one file of ld.so.conf(5) with its includes.
func (p probe) ldConf(file string, depth int) []string {
	text, err := p.text(file)
	if err != nil || depth > 4 {
		return nil
	}
	var dirs []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n,:", r) })
		switch {
		case len(words) == 0 || words[0] == "hwcap":
		case words[0] == "include":
			for _, pattern := range words[1:] {
				if !path.IsAbs(pattern) {
					pattern = path.Join(path.Dir(file), pattern)
				}
				for _, name := range p.glob(pattern) {
					dirs = append(dirs, p.ldConf(name, depth+1)...)
				}
			}
		default:
			for _, word := range words {
				// "DIR=TYPE" is of libc5's time.
				dir, _, _ := strings.Cut(word, "=")
				if path.IsAbs(dir) {
					dirs = append(dirs, dir)
				}
			}
		}
	}
	return dirs
}

// glob lists the files that match a pattern in the last element.
func (p probe) glob(pattern string) []string {
	names, _, err := p.listed(path.Dir(pattern))
	if err != nil {
		return nil
	}
	var files []string
	for _, name := range names {
		if ok, err := path.Match(path.Base(pattern), name); err == nil && ok {
			files = append(files, path.Join(path.Dir(pattern), name))
		}
	}
	return files
}

var (
	privateTag   = regexp.MustCompile(`(?m)\bIBVERBS_PRIVATE_([0-9]{1,4})\s*$`)
	providerFile = regexp.MustCompile(`^lib([A-Za-z0-9_]+)-rdmav([0-9]{1,4})\.so$`)
)

// readLibrary reads the private ABI from the library's version definitions, as objdump prints them.
// It tells whether the file is for a 32-bit loader.
func (p probe) readLibrary(lib *facts.Libibverbs) (foreign bool) {
	source := "objdump -p " + lib.Path
	res, err := p.r.Derive(p.ctx, lib.Path, []string{"objdump", "-p", lib.Path}, versionDefinitions(lib.Path))
	if err != nil {
		lib.PrivateABI = field(0, source, err)
		return false
	}
	if strings.Contains(res.Stdout, "file format elf32-") {
		return true
	}
	lib.PrivateABI = privateABI(res.Stdout, source)
	return false
}

// privateABI finds the one IBVERBS_PRIVATE_NN. Libraries before rdma-core v12 have none.
func privateABI(text, source string) facts.Field[int] {
	matches := privateTag.FindAllStringSubmatch(text, -1)
	switch {
	case len(matches) > 0:
		n, err := strconv.Atoi(matches[0][1])
		return field(n, source, err)
	case strings.Contains(text, "IBVERBS_1.0"):
		return facts.None[int](source)
	}
	return unknown[int](source, "no version definitions of libibverbs are in it")
}

// readProviders lists the providers beside a library. Those of libraries without a private ABI stand
// in the library's own directory.
func (p probe) readProviders(dir string, lib *facts.Libibverbs) {
	where := path.Join(dir, "libibverbs")
	if lib.PrivateABI.IsAbsent() {
		where = dir
	}
	names, complete, err := p.listed(where)
	if err != nil {
		lib.Providers = field[[]facts.Provider](nil, where, err)
		return
	}
	var providers []facts.Provider
	for _, name := range names {
		m := providerFile.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		if n, err := strconv.Atoi(m[2]); err == nil {
			providers = append(providers, facts.Provider{Name: m[1], Path: path.Join(where, name), PrivateABI: n})
		}
	}
	if len(providers) == 0 && !complete {
		lib.Providers = facts.Field[[]facts.Provider]{Source: where}
		return
	}
	lib.Providers = list(providers, where)
}

// driverConf lists the providers that /etc/libibverbs.d names.
func (p probe) driverConf() facts.Field[[]string] {
	const dir = "/etc/libibverbs.d"
	names, complete, err := p.listed(dir)
	if err != nil {
		return field[[]string](nil, dir, err)
	}
	var drivers []string
	for _, name := range names {
		if driver, ok := strings.CutSuffix(name, ".driver"); ok {
			drivers = append(drivers, driver)
		}
	}
	if len(drivers) == 0 && !complete {
		return facts.Field[[]string]{Source: dir}
	}
	return list(drivers, dir)
}

// owned adds the packages of the copies. A distribution's package owns what is in the system's
// directories; what is under /usr/local or /opt is no package's that is looked for.
func (u userspaceFiles) owned(packages facts.Packages) facts.Userspace {
	for i := range u.Libibverbs.Value {
		lib := &u.Libibverbs.Value[i]
		system := strings.HasPrefix(lib.Path, "/usr/lib") || strings.HasPrefix(lib.Path, "/lib")
		if !system {
			lib.Package, lib.Version = facts.None[string](lib.Path), facts.Field[string]{Source: lib.Path}
			continue
		}
		installed := packages.Installed
		if !installed.IsKnown() {
			lib.Package = facts.Field[string]{State: installed.State, Source: installed.Source, Error: installed.Error}
			lib.Version = lib.Package
			continue
		}
		lib.Package, lib.Version = facts.None[string](installed.Source), facts.None[string](installed.Source)
		for _, pkg := range installed.Value {
			if pkg.Name == "libibverbs1" || pkg.Name == "libibverbs" {
				lib.Package, lib.Version = facts.Is(pkg.Name, installed.Source), facts.Is(pkg.Version, installed.Source)
				break
			}
		}
	}
	return u.Userspace
}

// PrivateABI reads the private ABI of one libibverbs file, for a caller that has just built or
// installed it. It is 0 for a library that has none.
func PrivateABI(ctx context.Context, r host.Reader, file string) (int, error) {
	res, err := r.Derive(ctx, file, []string{"objdump", "-p", file}, versionDefinitions(file))
	if err != nil {
		return 0, fmt.Errorf("cannot read the private ABI of %s: %w", file, err)
	}
	f := privateABI(res.Stdout, file)
	if f.IsUnknown() {
		return 0, fmt.Errorf("cannot read the private ABI of %s: %s", file, f.Error)
	}
	return f.Value, nil
}
