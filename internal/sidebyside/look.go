package sidebyside

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/detect"
	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/build"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// Look reads the copies of a host: a few files of each, and the loader's cache. userspace is what detect tells
// of them, nil to read that as well.
func Look(ctx context.Context, r host.Reader, userspace *facts.Userspace) (Copies, error) {
	if userspace == nil {
		read := detect.Libraries(ctx, r)
		userspace = &read
	}
	out := Copies{Userspace: *userspace}
	l := looking{ctx, r}
	for _, b := range userspace.Built.Or(nil) {
		c := Copy{Stack: "rdma-core", Version: b.Version.Or(""), Prefix: b.Prefix, Library: b.Path, Facts: b}
		l.file(&c)
		for _, dir := range []string{"bin", "sbin"} {
			if info, err := r.Stat(path.Join(b.Prefix, dir)); err == nil && info.Mode.IsDir() {
				c.Programs = append(c.Programs, path.Join(b.Prefix, dir))
			}
		}
		c.Untrusted = l.untrusted(c)
		out.Builds = append(out.Builds, c)
	}
	for _, lib := range userspace.Libibverbs.Or(nil) {
		if plan.Distribution(lib.Path) && out.Inbox == nil {
			c := Copy{
				Stack: "inbox", Version: lib.Version.Or(""), Library: lib.Path,
				Facts: facts.BuiltLibrary{Path: lib.Path, PrivateABI: lib.PrivateABI, Providers: lib.Providers},
			}
			l.file(&c)
			out.Inbox = &c
		}
	}
	file, err := build.LoadedLibrary(ctx, r)
	switch {
	case err == nil:
		out.Default, out.Told = l.real(file), true
	case errors.Is(err, fs.ErrNotExist):
		out.Told = true
	case errors.Is(err, host.ErrNotInstalled), errors.Is(err, host.ErrUnknown):
	default:
		return out, err
	}
	return out, nil
}

type looking struct {
	ctx context.Context
	r   host.Reader
}

// real is a library's path by the real name of its top directory, as detect names it: /lib is a link to /usr/lib
// on a merged-/usr system, and a build may be reached by a link such as /opt/rdma-core/current.
func (l looking) real(file string) string {
	dir := path.Dir(file)
	for at := dir; at != "/" && at != "."; at = path.Dir(at) {
		target, err := l.r.Readlink(at)
		if err != nil {
			continue
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(at), target)
		}
		return path.Clean(target) + strings.TrimPrefix(file, at)
	}
	return file
}

// compiledIn finds the two directories that libibverbs has as text.
var (
	driverText   = regexp.MustCompile(`/[A-Za-z0-9_.+/-]*/libibverbs\.d\x00`)
	providerText = regexp.MustCompile(`(/[A-Za-z0-9_.+/-]+)/lib%s-rdmav[0-9]+\.so\x00`)
)

// maxLibrary bounds what is read of a library, in bytes; libibverbs 64 has 150 kB.
const maxLibrary = 8 << 20

// file reads what the library itself tells.
func (l looking) file(c *Copy) {
	res, err := l.r.Derive(l.ctx, c.Library, []string{"readelf", "-h", "-p", ".rodata", c.Library}, func(file io.ReaderAt, size int64) (string, error) {
		f, err := elf.NewFile(file)
		if err != nil {
			return "", err
		}
		defer f.Close() //nolint:errcheck // NewFile opened nothing
		data := make([]byte, min(size, maxLibrary))
		n, err := file.ReadAt(data, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		out := "format " + formatOf(f) + "\n"
		if m := driverText.Find(data[:n]); m != nil {
			out += "drivers " + string(bytes.TrimRight(m, "\x00")) + "\n"
		}
		if m := providerText.FindSubmatch(data[:n]); m != nil {
			out += "providers " + string(m[1]) + "\n"
		}
		return out, nil
	})
	if err != nil {
		return // the private ABI is not known either, and that stops
	}
	for line := range strings.Lines(res.Stdout) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "format":
			c.Format = value
		case "drivers":
			c.DriverDir = path.Clean(value)
		case "providers":
			c.ProviderDir = path.Clean(value)
		}
	}
	if c.DriverDir == "" && c.Prefix != "" {
		if _, err := l.r.Stat(path.Join(c.Prefix, "etc/libibverbs.d")); err == nil {
			c.DriverDir = path.Join(c.Prefix, "etc/libibverbs.d")
		}
	}
	names, err := l.r.ReadDir(c.DriverDir)
	if err != nil {
		return // no drivers, and that is told
	}
	for _, name := range names {
		if driver, ok := strings.CutSuffix(name, ".driver"); ok {
			c.Drivers = append(c.Drivers, driver)
		}
	}
}

// formatOf names the file format as binutils do, for the architectures that this program is built for.
func formatOf(f *elf.File) string {
	bits := map[elf.Class]string{elf.ELFCLASS32: "elf32", elf.ELFCLASS64: "elf64"}[f.Class]
	name, known := map[elf.Machine]string{
		elf.EM_X86_64: "x86-64", elf.EM_386: "i386", elf.EM_AARCH64: "littleaarch64", elf.EM_ARM: "littlearm",
		elf.EM_PPC64: "powerpcle", elf.EM_S390: "s390", elf.EM_RISCV: "littleriscv",
	}[f.Machine]
	if !known {
		name = fmt.Sprintf("machine-%d", f.Machine)
	}
	return bits + "-" + name
}

// Native is the format of this machine's own programs, empty where it is not known.
func Native() string {
	return map[string]string{
		"amd64": "elf64-x86-64", "arm64": "elf64-littleaarch64", "ppc64le": "elf64-powerpcle", "s390x": "elf64-s390", "riscv64": "elf64-littleriscv",
	}[runtime.GOARCH]
}

// untrusted says who else could change what programs load: a build that a stranger may write would run the
// stranger's code as whoever uses it.
func (l looking) untrusted(c Copy) string {
	uid := l.r.Told().UID
	files := []string{c.Prefix, c.Dir(), c.Library, path.Join(c.Dir(), "libibverbs")}
	for dir := path.Dir(c.Prefix); dir != "/" && dir != "."; dir = path.Dir(dir) {
		files = append(files, dir)
	}
	for _, file := range append(files, c.Programs...) {
		info, err := l.r.Stat(file)
		if err != nil {
			continue
		}
		own := info.UID == 0 || uid != nil && info.UID == uint32(*uid)
		if !own || info.Mode.Perm()&0o022 != 0 && info.Mode&fs.ModeSticky == 0 {
			return fmt.Sprintf("%s belongs to user %d with mode %04o, so others than root could change it", file, info.UID, info.Mode.Perm())
		}
	}
	return ""
}

// Intact compares a build's libraries, driver configuration and programs with the manifest that its installation
// left; what else was changed below its prefix (an edited srp_daemon.conf) is the administrator's. A build that
// rdmactl did not make has no manifest and nothing to compare with: made is false then.
func Intact(h build.Host, c Copy) (made bool, err error) {
	if c.Prefix == "" {
		return false, nil
	}
	state, err := build.Inspect(h, c.Prefix)
	if err != nil {
		return false, fault.New(fault.Stopped, "build-not-intact", hintIntact, "cannot use %s: %w", c.Name(), err)
	}
	if state.Manifest == nil {
		return false, nil
	}
	dirs := []string{state.Manifest.LibDir, state.Manifest.DriverDir, "bin", "sbin"}
	matters := func(name string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(name, dir+"/") })
	}
	for _, w := range []struct {
		names []string
		what  string
	}{{state.Missing, "is gone"}, {state.Changed, "is not what was installed"}} {
		for _, name := range w.names {
			if matters(name) {
				return true, fault.New(fault.Stopped, "build-not-intact", hintIntact, "cannot use %s: %s %s", c.Name(), path.Join(c.Prefix, name), w.what)
			}
		}
	}
	return true, nil
}

// Elsewhere says whether LD_LIBRARY_PATH leads to a libibverbs that is neither a build's nor the distribution's.
func Elsewhere(r host.Reader, env []string, all Copies) bool {
	for _, dir := range environ(env).list("LD_LIBRARY_PATH", ";") {
		dir = path.Clean(dir)
		known := all.Inbox != nil && dir == all.Inbox.Dir() || slices.ContainsFunc(all.Builds, func(b Copy) bool { return dir == b.Dir() })
		if known || !path.IsAbs(dir) {
			continue
		}
		if _, err := r.Stat(path.Join(dir, "libibverbs.so.1")); err == nil {
			return true
		}
	}
	return false
}

const hintIntact = "move its directory away and build it anew: `rdmactl install --stack rdma-core --version VERSION --activate none --source FILE --sha256 DIGITS`"
