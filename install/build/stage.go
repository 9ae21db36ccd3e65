package build

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
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

	"github.com/rdmactl/rdmactl/internal/archive"
	"github.com/rdmactl/rdmactl/internal/fault"
)

var providerText = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)

// stage copies what was installed into a tree of root's own, and writes its manifest. A process that the
// build left behind may still hold the files that it installed open; it cannot reach the copies.
func (m *making) stage(ctx context.Context, manifest Manifest) error {
	dest, err := m.work.OpenRoot("out/dest")
	if err != nil {
		return fmt.Errorf("cannot look into the build: %w", err)
	}
	defer dest.Close() // it was only read
	if err := onlyBelow(dest, m.req.Prefix); err != nil {
		return err
	}
	from, err := dest.OpenRoot(m.req.Prefix[1:])
	if err != nil {
		return fault.New(fault.Failed, "build-failed", "the whole output is in "+m.out.Log, "cannot stage rdma-core: it installed nothing into %s: %w", m.req.Prefix, err)
	}
	defer from.Close() // it was only read
	to, err := emptyDir(m.work, stageName, perm)
	if err != nil {
		return fmt.Errorf("cannot make the stage: %w", err)
	}
	defer to.Close() // files in it are closed with an error
	c := &copying{ctx: ctx, from: from, to: to, prefix: m.req.Prefix}
	if err := c.directory("."); err != nil {
		return fmt.Errorf("cannot stage rdma-core: %w", err)
	}
	manifest.Files = c.files
	if manifest.Digest, err = digestOf(c.files); err != nil {
		return err
	}
	if err := manifest.whole(to); err != nil {
		return err
	}
	if err := m.providers(manifest); err != nil {
		return err
	}
	if err := manifest.write(to); err != nil {
		return fmt.Errorf("cannot write the manifest: %w", err)
	}
	m.out.Manifest = manifest
	// The objects and the unpacked source are ten times what was installed.
	for _, name := range []string{"out", "tree"} {
		if err := discard(m.work, name); err != nil {
			return fmt.Errorf("cannot clear %s: %w", m.out.Work, err)
		}
	}
	return nil
}

// onlyBelow refuses files outside of the prefix: from v63 on SYSUSERS_DIR is an absolute directory of the
// host, and options for packagers lead to others.
func onlyBelow(dest *os.Root, prefix string) error {
	var outside []string
	err := fs.WalkDir(dest.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if "/"+name == prefix {
			return fs.SkipDir
		}
		if !d.IsDir() {
			outside = append(outside, "/"+name)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot look into the build: %w", err)
	}
	if len(outside) == 0 {
		return nil
	}
	shown := strings.Join(outside[:min(len(outside), 5)], ", ")
	if n := len(outside) - 5; n > 0 {
		shown += fmt.Sprintf(" and %d more", n)
	}
	return fault.New(fault.Stopped, "outside-prefix", "set the option for that directory below the prefix, such as -DSYSUSERS_DIR="+prefix+"/lib/sysusers.d",
		"cannot stage rdma-core: it installs outside of %s: %s", prefix, shown)
}

// copying makes the stage from what was installed.
type copying struct {
	ctx      context.Context
	from, to *os.Root
	prefix   string
	files    []Entry
}

func (c *copying) directory(at string) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	d, err := c.from.Open(at)
	if err != nil {
		return err
	}
	names, err := sortedNames(d)
	if err = errors.Join(err, d.Close()); err != nil {
		return err
	}
	for _, name := range names {
		if err := c.one(path.Join(at, name)); err != nil {
			return err
		}
	}
	return syncDir(c.to, at)
}

func (c *copying) one(name string) error {
	info, err := c.from.Lstat(name)
	if err != nil {
		return err
	}
	if clean, err := relative(name); err != nil || clean != name || name == ManifestName {
		return fmt.Errorf("it installs %q, a name that cannot be kept", clip(name))
	}
	e := Entry{Path: name}
	switch info.Mode().Type() {
	case fs.ModeDir:
		e.Kind, e.Mode = "dir", perm
		if err := c.to.Mkdir(name, 0o700); err != nil {
			return err
		}
		if err := c.to.Chmod(name, perm); err != nil {
			return err
		}
		c.files = append(c.files, e)
		return c.directory(name)
	case fs.ModeSymlink:
		e.Kind = "link"
		if e.Link, err = c.from.Readlink(name); err != nil {
			return err
		}
		if !archive.StaysInside(name, e.Link) && !strings.HasPrefix(path.Clean(e.Link), c.prefix+"/") {
			return fault.New(fault.Stopped, "outside-prefix", "see the options of the build", "its link %s leads out of %s, to %q", name, c.prefix, clip(e.Link))
		}
		if err := c.to.Symlink(e.Link, name); err != nil {
			return err
		}
	case 0:
		e.Kind = "file"
		if err := c.file(&e); err != nil {
			return err
		}
	default:
		return fault.New(fault.Stopped, "hostile-source", hintHostile, "it installs %q, which is neither a file nor a directory nor a link", clip(name))
	}
	c.files = append(c.files, e)
	return nil
}

func (c *copying) file(e *Entry) (err error) {
	in, info, err := openRegular(c.from, e.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		return fault.New(fault.Stopped, "hostile-source", hintHostile, "it installs %q to run as another user", clip(e.Path))
	}
	if e.Mode = plain; info.Mode()&0o111 != 0 {
		e.Mode = perm
	}
	out, err := c.to.OpenFile(e.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	h := sha256.New()
	e.Size, err = io.Copy(io.MultiWriter(out, h), in)
	e.SHA256 = hex.EncodeToString(h.Sum(nil))
	return errors.Join(err, out.Chmod(e.Mode), out.Sync(), out.Close())
}

// whole checks that the tree has a libibverbs of the private ABI, and writes down where it is.
func (m *Manifest) whole(root *os.Root) error {
	broken := func(format string, args ...any) error {
		return fault.New(fault.Failed, "build-incomplete", "see the options of the build", "cannot use what was built: "+format, args...)
	}
	for _, e := range m.Files {
		switch {
		case path.Base(e.Path) == "libibverbs.so.1":
			m.LibDir = path.Dir(e.Path)
		case strings.HasSuffix(e.Path, ".driver") && path.Base(path.Dir(e.Path)) == "libibverbs.d":
			m.DriverDir = path.Dir(e.Path)
		}
	}
	if m.LibDir == "" {
		return broken("it has no libibverbs.so.1")
	}
	if m.DriverDir == "" {
		return broken("it has no driver configuration (libibverbs.d)")
	}
	private := "IBVERBS_PRIVATE_" + strconv.Itoa(m.PrivateABI)
	library := path.Join(m.LibDir, "libibverbs.so.1")
	defined, _, err := elfVersions(root, library)
	if err != nil {
		return broken("%s: %w", library, err)
	}
	if !slices.Contains(defined, private) {
		return broken("%s does not have %s, of which its providers are", library, private)
	}
	for _, e := range m.Files {
		if e.Kind != "dir" && strings.HasSuffix(e.Path, "-rdmav"+strconv.Itoa(m.PrivateABI)+".so") {
			_, needed, err := elfVersions(root, e.Path)
			if err != nil {
				return broken("%s: %w", e.Path, err)
			}
			if !slices.Contains(needed, private) {
				return broken("the provider %s does not need %s: it is of another library", e.Path, private)
			}
		}
	}
	return nil
}

// providers checks that a build has what was asked for: the library and the driver file of each.
func (m *making) providers(manifest Manifest) error {
	var missing []string
	for _, name := range m.req.Providers {
		if !slices.Contains(manifest.Providers(), name) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fault.New(fault.Failed, "provider-missing", "see the options of the build and which versions have it",
		"cannot use rdma-core %s: it has no provider for %s", manifest.Version, strings.Join(missing, ", "))
}

// Providers are the drivers that the build has whole: with their library and their configuration.
func (m Manifest) Providers() []string {
	var out []string
	suffix := "-rdmav" + strconv.Itoa(m.PrivateABI) + ".so"
	for _, e := range m.Files {
		base := path.Base(e.Path)
		name := strings.TrimSuffix(strings.TrimPrefix(base, "lib"), suffix)
		if e.Kind != "dir" && base == "lib"+name+suffix && m.has(path.Join(m.DriverDir, name+".driver")) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// elfVersions are the symbol versions that a library defines and needs.
func elfVersions(root *os.Root, name string) (defined, needed []string, err error) {
	f, err := root.Open(name) // a link within the tree is followed
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxELF {
		return nil, nil, errors.New("it is no library")
	}
	e, err := elf.NewFile(f)
	if err != nil {
		return nil, nil, err
	}
	versions, err := e.DynamicVersions()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, nil, err
	}
	for _, v := range versions {
		defined = append(defined, v.Name)
	}
	needs, err := e.DynamicVersionNeeds()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, nil, err
	}
	for _, n := range needs {
		for _, v := range n.Needs {
			needed = append(needed, v.Dep)
		}
	}
	return defined, needed, nil
}
