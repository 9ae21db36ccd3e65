package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/internal/archive"
	"github.com/rdmactl/rdmactl/internal/fault"
)

// packagesPatience is how long a build of packages may take; one takes minutes.
const packagesPatience = 3 * time.Hour

// PackageFile is a package that was built.
type PackageFile struct {
	Name string `json:"name"`
	File string `json:"file"` // its name in the directory of packages
}

// BuiltPackages are packages that wait in Dir, a directory of the host that is root's alone to write.
type BuiltPackages struct {
	Dir      string
	Packages []PackageFile
	Log      string
	As       string
	Jobs     int
}

var debName = regexp.MustCompile(`^([a-z0-9][a-z0-9+.-]{1,60})_([A-Za-z0-9.+~-]{1,80})_([a-z0-9-]{2,20})\.deb$`)

// MakePackages builds the packages of a source that UnpackPackaging unpacked, and what it needs was installed since.
// Outside of its work directory it changes nothing.
func MakePackages(ctx context.Context, h Host, req Request, p Packaging) (BuiltPackages, error) {
	ctx, cancel := context.WithTimeout(ctx, packagesPatience)
	defer cancel()
	m, err := openPackaging(h, req)
	if err != nil {
		return BuiltPackages{}, err
	}
	defer m.work.Close() // files in it are closed with an error
	if m.out.Work != p.Work || p.dir == "" {
		return BuiltPackages{}, errors.New("cannot build packages: the source is not that of the request")
	}
	out := BuiltPackages{Dir: path.Join(p.Work, "debs"), Log: m.out.Log, Jobs: m.out.Jobs}
	if err := m.runPackaging(ctx, p, &out); err != nil {
		if cause := ctx.Err(); errors.Is(cause, context.DeadlineExceeded) {
			err = fault.New(fault.Failed, "build-failed", "the whole output is in "+out.Log, "cannot build packages: it took more than %v", packagesPatience)
		}
		return out, errors.Join(err, emptied(m.work))
	}
	if err := m.takePackages(ctx, p, &out); err != nil {
		return out, errors.Join(err, emptied(m.work))
	}
	return out, nil
}

// runPackaging has dpkg-buildpackage at work on the tree, which becomes the build user's.
func (m *making) runPackaging(ctx context.Context, p Packaging, out *BuiltPackages) (err error) {
	if err := m.builderDirs(true); err != nil {
		return fmt.Errorf("cannot make %s: %w", path.Join(p.Work, "out"), err)
	}
	dir := "out/build/rdma-core-" + m.req.Version
	if err := m.work.Rename(p.dir, dir); err != nil {
		return fmt.Errorf("cannot move the source: %w", err)
	}
	if err := m.begin(p, dir); err != nil {
		return err
	}
	if err := m.give(dir); err != nil {
		return fmt.Errorf("cannot give the source to the build's user: %w", err)
	}
	log, err := m.work.OpenFile(logName, os.O_RDWR|os.O_CREATE|os.O_TRUNC, plain)
	if err != nil {
		return fmt.Errorf("cannot write the build's log: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	own := path.Join(p.Work, "out")
	drop, apart, as, err := confined(m.host, path.Join(own, "tmp"))
	if err != nil {
		return err
	}
	out.As = as
	b := &builder{host: m.host, dir: own, drop: drop, apart: apart, as: as, nice: m.req.Nice, log: log, name: out.Log, extra: m.req.Output}
	tree := path.Join(p.Work, dir)
	profiles := strings.Join(p.Profiles, ",")
	// The reduced list is asked for, since dpkg-buildpackage would ask for what is done without as well.
	if err := b.run(ctx, "find what the build needs", tree, nil, "dpkg-checkbuilddeps", "-P"+profiles, path.Join(p.Needs, "debian/control")); err != nil {
		return err
	}
	env := []string{"LC_ALL=C.UTF-8", "DEB_BUILD_OPTIONS=nocheck noautodbgsym parallel=" + strconv.Itoa(m.req.Jobs)}
	if p.extra {
		env = append(env, "EXTRA_CMAKE_FLAGS=-DNO_PYVERBS=1 -DENABLE_VALGRIND=0", "DH_OPTIONS=-N"+pyverbs)
	}
	return b.run(ctx, "build packages of rdma-core", tree, env, "dpkg-buildpackage", "-b", "-us", "-uc", "-d", "-P"+profiles)
}

// begin puts our entry before the changelog's.
func (m *making) begin(p Packaging, dir string) error {
	tree, err := m.work.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("cannot look into the source: %w", err)
	}
	defer tree.Close() // files in it are closed with an error
	old, err := readAll(tree, "debian/changelog", maxChange)
	if err != nil {
		return fmt.Errorf("cannot read debian/changelog: %w", err)
	}
	text := old
	if !strings.HasPrefix(string(old), "rdma-core ("+p.Version+")") {
		text = append([]byte(p.entry(m.host.Now())), old...)
	}
	if err := errors.Join(tree.Remove("debian/changelog"), write(tree, "debian/changelog", text)); err != nil {
		return fmt.Errorf("cannot write debian/changelog: %w", err)
	}
	// debhelper runs it; archives keep the mode, copies of directories as well, where it was set.
	return tree.Chmod("debian/rules", perm)
}

// give makes all below a directory the build user's, links themselves and not what they name.
func (m *making) give(dir string) error {
	return fs.WalkDir(m.work.FS(), dir, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return m.work.Lchown(name, BuildUser, BuildUser)
	})
}

// takePackages copies the packages out of the build's reach, and refuses what debian/control does not name.
func (m *making) takePackages(ctx context.Context, p Packaging, out *BuiltPackages) error {
	failed := func(format string, args ...any) error {
		return fault.New(fault.Failed, "build-incomplete", "the whole output is in "+out.Log, "cannot use what was built: "+format, args...)
	}
	from, err := m.work.OpenRoot("out/build")
	if err != nil {
		return failed("%w", err)
	}
	defer from.Close() // it was only read
	d, err := from.Open(".")
	if err != nil {
		return failed("%w", err)
	}
	names, err := sortedNames(d)
	if err = errors.Join(err, d.Close()); err != nil {
		return failed("%w", err)
	}
	to, err := emptyDir(m.work, "debs", 0o700)
	if err != nil {
		return fmt.Errorf("cannot make %s: %w", out.Dir, err)
	}
	defer to.Close() // files in it are closed with an error
	_, plainVersion, epoch := strings.Cut(p.Version, ":")
	if !epoch {
		plainVersion = p.Version
	}
	left := m.req.Limits.Bytes
	for _, name := range names {
		if !strings.HasSuffix(name, ".deb") {
			continue
		}
		parts := debName.FindStringSubmatch(name)
		if parts == nil || parts[2] != plainVersion || !slices.Contains(p.Packages, parts[1]) {
			return failed("%q is not of the packages that debian/control names, in version %s", clip(name), p.Version)
		}
		n, err := copyPackage(ctx, from, to, name, left)
		if err != nil {
			return failed("%w", err)
		}
		left -= n
		out.Packages = append(out.Packages, PackageFile{Name: parts[1], File: name})
	}
	for _, needed := range []string{"libibverbs1", "ibverbs-providers", "rdma-core"} {
		if !slices.ContainsFunc(out.Packages, func(f PackageFile) bool { return f.Name == needed }) {
			return failed("it has no package %s", needed)
		}
	}
	return nil
}

func copyPackage(ctx context.Context, from, to *os.Root, name string, most int64) (n int64, err error) {
	in, _, err := openRegular(from, name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, plain)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(out, archive.Bounded(ctx, in, most, fmt.Errorf("the packages have more than %d MiB", most>>20)))
	return n, errors.Join(err, out.Chmod(plain), out.Sync(), out.Close())
}
