package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/internal/fault"
)

// Cache is the directory of builds.
const Cache = "/var/cache/rdmactl/build"

// Request is what to build.
type Request struct {
	// Version is the version of rdma-core that the source must have, such as "65.0".
	Version string
	// Prefix is the directory that it is built for and placed into.
	Prefix string
	// Options are those of cmake's command line, "-DNAME=VALUE".
	Options []string
	// Providers must be built, by the names of their drivers: "mlx5", "rxe".
	Providers []string
	Source    Source
	// Cache is where it is built, Cache if empty.
	Cache   string
	Machine Machine // ThisMachine() if zero
	Jobs    int     // compilers at once; as many as Machine allows if 0
	Nice    int     // 0 to 19, how far the build stands back behind other work of the host
	Limits  Limits  // DefaultLimits() if zero
	// Transport fetches addresses; if nil, one that uses the proxies of the environment.
	Transport http.RoundTripper
	// Output gets what the build prints, beside the log. It may be nil.
	Output io.Writer
}

// Built is a build that is ready to be placed, or that is in place already.
type Built struct {
	Manifest Manifest
	// InPlace says that the prefix has this very build, intact.
	InPlace bool
	// Reused says that an earlier call had built it.
	Reused bool
	// Work is the directory of the build on the host, Stage in it the tree to be placed, Log what was printed.
	Work, Stage, Log string
	// As is the user that it was built as, Jobs how many compilers ran at once.
	As   string
	Jobs int
}

const (
	stageName = "stage"
	logName   = "build.log"
)

var optionText = regexp.MustCompile(`^-D[A-Za-z][A-Za-z0-9_]*(:[A-Z]+)?=[^\x00-\x1f\x7f]*$`)

// complete checks a request and fills in what it leaves open.
func (req *Request) complete() error {
	if !versionText.MatchString(req.Version) {
		return stop("bad-version", "give a version such as 65.0", "cannot build rdma-core %q: that is no version", clip(req.Version))
	}
	if err := checkPrefix(req.Prefix); err != nil {
		return err
	}
	prefix := "-DCMAKE_INSTALL_PREFIX=" + req.Prefix
	options := []string{}
	for _, o := range req.Options {
		if !optionText.MatchString(o) {
			return stop("bad-option", "give options as -DNAME=VALUE", "cannot build with the option %q", clip(o))
		}
		if strings.HasPrefix(o, "-DCMAKE_INSTALL_PREFIX") && o != prefix {
			return stop("bad-option", "leave it out: the prefix is given apart", "cannot build into %s with the option %q", req.Prefix, clip(o))
		}
		options = append(options, o)
	}
	if !slices.Contains(options, prefix) {
		options = append(options, prefix)
	}
	slices.Sort(options)
	req.Options = slices.Compact(options)
	for _, p := range req.Providers {
		if !providerText.MatchString(p) {
			return stop("bad-provider", "give the name of a driver, such as mlx5", "cannot build the provider %q", clip(p))
		}
	}
	if req.Cache == "" {
		req.Cache = Cache
	}
	if req.Machine == (Machine{}) {
		req.Machine = ThisMachine()
	}
	if req.Jobs <= 0 {
		req.Jobs = req.Machine.Jobs()
	}
	if req.Limits == (Limits{}) {
		req.Limits = DefaultLimits()
	}
	return nil
}

// id names the work directory of a request: the same one for the same request, so that a run that was cut
// off is found again.
func (req Request) id() (string, error) {
	data, err := json.Marshal([]any{req.Version, req.Prefix, req.Options, req.Source.Location, req.Source.SHA256, req.Source.Signature})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return "rdma-core-" + req.Version + "-" + hex.EncodeToString(sum[:6]), nil
}

// inputs is the hash over all that decides what a build gives, but for the host's compiler and libraries.
func (req Request) inputs(source string) (string, error) {
	data, err := json.Marshal([]any{manifestFormat, req.Version, req.Prefix, req.Options, source})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// Make gathers, verifies, builds and stages. Outside of its work directory it changes nothing.
func Make(ctx context.Context, h Host, req Request) (Built, error) {
	m, err := newMaking(h, req)
	if err != nil {
		return Built{}, err
	}
	src, done, err := m.gather(ctx)
	if m.work != nil {
		defer m.work.Close() // files in it are closed with an error
	}
	if done || err != nil {
		return m.out, err
	}
	return m.out, m.build(ctx, src)
}

// Prove gathers, verifies and unpacks the source of a build, and looks whether it is of the version that is asked for: all
// that can be told before there is a compiler. It changes nothing outside of its work directory, where Make takes up what
// was gathered, and leaves nothing there when it fails.
func Prove(ctx context.Context, h Host, req Request) error {
	m, err := newMaking(h, req)
	if err != nil {
		return err
	}
	src, done, err := m.gather(ctx)
	if m.work != nil {
		defer m.work.Close() // files in it are closed with an error
	}
	if !done && err == nil {
		_, _, err = m.tree(ctx, src)
	}
	if err != nil {
		return errors.Join(err, Clean(h, m.out))
	}
	return nil
}

// Forget removes the work directory of a build that is not made after all.
func Forget(h Host, req Request) error {
	m, err := newMaking(h, req)
	if err != nil {
		return err
	}
	return Clean(h, m.out)
}

func newMaking(h Host, req Request) (*making, error) {
	if err := req.complete(); err != nil {
		return nil, err
	}
	id, err := req.id()
	if err != nil {
		return nil, fmt.Errorf("cannot name the build: %w", err)
	}
	m := &making{host: h, req: req, id: id, out: Built{Work: path.Join(req.Cache, id), Jobs: req.Jobs}}
	m.out.Stage, m.out.Log = path.Join(m.out.Work, stageName), path.Join(m.out.Work, logName)
	return m, nil
}

// gather brings and verifies the source; done says that it is built already.
func (m *making) gather(ctx context.Context) (src gathered, done bool, err error) {
	if done, err := m.placed(m.req.Source.SHA256); done || err != nil {
		return src, done, err
	}
	if err := m.open(m.id); err != nil {
		return src, false, err
	}
	g := gathering{work: m.work, limits: m.req.Limits, transport: m.req.Transport, now: m.host.Now()}
	if src, err = g.gather(ctx, m.req.Source); err != nil {
		return src, false, err
	}
	if done, err = m.placed(src.SHA256); done || err != nil {
		return src, done, err
	}
	done, err = m.staged(src.SHA256)
	return src, done, err
}

// making is one call of Make.
type making struct {
	host Host
	req  Request
	id   string
	out  Built
	work *os.Root
}

// placed says whether the prefix has this build already.
func (m *making) placed(source string) (bool, error) {
	if source == "" {
		return false, nil // not known before it is gathered
	}
	s, err := Inspect(m.host, m.req.Prefix)
	if err != nil || !s.Intact() {
		return false, err
	}
	inputs, err := m.req.inputs(strings.ToLower(source))
	if err != nil || s.Manifest.Inputs != inputs {
		return false, err
	}
	m.out.Manifest, m.out.InPlace, m.out.Reused = *s.Manifest, true, true
	return true, m.providers(m.out.Manifest)
}

// staged says whether an earlier call finished this build.
func (m *making) staged(source string) (bool, error) {
	s, err := inspect(m.host, m.out.Stage)
	if err != nil || !s.Intact() || len(s.Added) > 0 {
		return false, nil // a stage that is not whole, or cannot be read, is built anew
	}
	inputs, err := m.req.inputs(source)
	if err != nil || s.Manifest.Inputs != inputs {
		return false, err
	}
	m.out.Manifest, m.out.Reused = *s.Manifest, true
	return true, m.providers(m.out.Manifest)
}

// open makes the work directory, and refuses one that another user could change.
func (m *making) open(id string) error {
	if err := m.host.MkdirAll(m.req.Cache, perm); err != nil {
		return fmt.Errorf("cannot make %s: %w", m.req.Cache, err)
	}
	for dir := m.req.Cache; dir != "/"; dir = path.Dir(dir) {
		info, err := m.host.Lstat(dir)
		if err != nil {
			return fmt.Errorf("cannot look at %s: %w", dir, err)
		}
		own := info.UID == 0 || info.UID == uint32(os.Geteuid())
		if info.Mode&fs.ModeSymlink == 0 && (!own || info.Mode.Perm()&0o022 != 0 && info.Mode&fs.ModeSticky == 0) {
			return stop("cache-not-safe", "make it root's, writable by no one else", "cannot build in %s: others can write to %s", m.req.Cache, dir)
		}
		if info.Mode.Perm()&0o001 == 0 && os.Geteuid() == 0 {
			return stop("cache-not-safe", "let other users pass through it (chmod o+x): the build does not run as root", "cannot build in %s: the build's user cannot pass through %s", m.req.Cache, dir)
		}
	}
	cache, err := m.host.OpenDir(m.req.Cache)
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", m.req.Cache, err)
	}
	defer cache.Close() // work is opened through it
	if err := cache.Mkdir(id, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("cannot make %s: %w", m.out.Work, err)
	}
	if err := cache.Chmod(id, perm); err != nil {
		return fmt.Errorf("cannot make %s: %w", m.out.Work, err)
	}
	if m.work, err = cache.OpenRoot(id); err != nil {
		return fmt.Errorf("cannot open %s: %w", m.out.Work, err)
	}
	return nil
}

// unpack unpacks an archive of the download directory.
func (m *making) unpack(ctx context.Context, archive, into string) error {
	dir, err := emptyDir(m.work, into, perm)
	if err != nil {
		return fmt.Errorf("cannot make the source directory: %w", err)
	}
	defer dir.Close() // files in it are closed with an error
	f, _, err := openRegular(m.work, path.Join("download", archive))
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", archive, err)
	}
	return errors.Join(Unpack(ctx, archive, f, dir, m.req.Limits), f.Close())
}

// treeDir is where CMakeLists.txt is: archives of a release have one directory at the top.
func (m *making) treeDir() (string, error) {
	if ok, err := exists(m.work, "tree/CMakeLists.txt"); ok || err != nil {
		return "tree", err
	}
	d, err := m.work.Open("tree")
	if err != nil {
		return "", err
	}
	names, err := sortedNames(d)
	if err = errors.Join(err, d.Close()); err != nil {
		return "", err
	}
	if len(names) != 1 {
		return "tree", nil
	}
	return path.Join("tree", names[0]), nil
}

// tree unpacks what was gathered, and tells where it is in the work directory, and its private ABI.
func (m *making) tree(ctx context.Context, src gathered) (dir string, abi int, err error) {
	for _, name := range []string{stageName, "out", "packaging"} {
		if err := discard(m.work, name); err != nil {
			return "", 0, fmt.Errorf("cannot clear %s: %w", m.out.Work, err)
		}
	}
	if src.archive != "" {
		if err := m.unpack(ctx, src.archive, "tree"); err != nil {
			return "", 0, err
		}
	}
	if src.packaging != "" {
		if err := m.unpack(ctx, src.packaging, "packaging"); err != nil {
			return "", 0, err
		}
	}
	if dir, err = m.treeDir(); err != nil {
		return "", 0, fmt.Errorf("cannot look into the source: %w", err)
	}
	abi, err = m.version(dir)
	return dir, abi, err
}

func (m *making) build(ctx context.Context, src gathered) error {
	dir, abi, err := m.tree(ctx, src)
	if err != nil {
		return err
	}
	tool, err := findTools(ctx, m.host)
	if err != nil {
		return err
	}
	if err := m.compile(ctx, tool, dir); err != nil {
		return err
	}
	inputs, err := m.req.inputs(src.SHA256)
	if err != nil {
		return fmt.Errorf("cannot name the build: %w", err)
	}
	manifest := Manifest{
		Format: manifestFormat, Stack: "rdma-core", Version: m.req.Version, PrivateABI: abi, Prefix: m.req.Prefix,
		Source: src.Provenance, Options: m.req.Options, Tools: tool.Tools, Inputs: inputs,
	}
	return m.stage(ctx, manifest)
}

func (m *making) version(dir string) (abi int, err error) {
	tree, err := m.work.OpenRoot(dir)
	if err != nil {
		return 0, stop("unknown-source", "give the source of rdma-core", "cannot look into the source: %w", err)
	}
	defer tree.Close() // it was only read
	version, abi, err := treeVersion(tree)
	if err != nil {
		return 0, err
	}
	if !sameVersion(version, m.req.Version) {
		return 0, stop("wrong-version", "ask for version "+version+", or give the source of "+m.req.Version, "cannot build rdma-core %s: the source is of version %s", m.req.Version, version)
	}
	return abi, nil
}

// compile configures, builds and installs into out/dest.
func (m *making) compile(ctx context.Context, tool tools, dir string) (err error) {
	drop, as, err := unprivileged(m.host)
	if err != nil {
		return err
	}
	out := path.Join(m.out.Work, "out")
	if err := m.builderDirs(len(drop) > 0); err != nil {
		return fmt.Errorf("cannot make %s: %w", out, err)
	}
	log, err := m.work.OpenFile(logName, os.O_RDWR|os.O_CREATE|os.O_TRUNC, plain)
	if err != nil {
		return fmt.Errorf("cannot write the build's log: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	b := &builder{host: m.host, dir: out, drop: drop, as: as, nice: m.req.Nice, log: log, name: m.out.Log, extra: m.req.Output}
	m.out.As = as
	tree, built := path.Join(m.out.Work, dir), path.Join(out, "build")
	// The last of several values counts, so the caller's options come last.
	configure := append([]string{tool.cmake, "-G", tool.Generator}, tool.policy(m.req.Version)...)
	if tool.python != "" {
		configure = append(configure, "-DPYTHON_EXECUTABLE="+tool.python)
	}
	configure = append(append(configure, m.req.Options...), tree)
	if err := b.run(ctx, "configure rdma-core", built, nil, configure...); err != nil {
		return err
	}
	if err := b.run(ctx, "compile rdma-core", built, nil, tool.cmake, "--build", ".", "--", "-j"+strconv.Itoa(m.req.Jobs)); err != nil {
		return err
	}
	// The target "install" would first look once more whether all is built.
	return b.run(ctx, "install rdma-core into the stage", built, []string{"DESTDIR=" + path.Join(out, "dest")}, tool.cmake, "-P", "cmake_install.cmake")
}

// builderDirs makes the directories that belong to the build's user.
func (m *making) builderDirs(give bool) error {
	out, err := emptyDir(m.work, "out", 0o700)
	if err != nil {
		return err
	}
	defer out.Close() // directories need no close of their own
	for _, name := range []string{"build", "dest", "home", "tmp"} {
		if err := out.Mkdir(name, 0o700); err != nil {
			return err
		}
		if give {
			if err := out.Lchown(name, BuildUser, BuildUser); err != nil {
				return err
			}
		}
	}
	if give {
		return m.work.Lchown("out", BuildUser, BuildUser)
	}
	return nil
}

// Clean removes the work directory of a build, the log included.
func Clean(h Host, b Built) error {
	cache, err := h.OpenDir(path.Dir(b.Work))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", path.Dir(b.Work), err)
	}
	err = cache.RemoveAll(path.Base(b.Work))
	if err = errors.Join(err, cache.Close()); err != nil {
		return fault.New(fault.Failed, "clean-failed", "remove it by hand", "cannot remove %s: %w", b.Work, err)
	}
	return nil
}
