package holdings

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/web"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// Options are what an import may rely on.
type Options struct {
	// Keys are public keys that the user trusts, as they stand in files.
	Keys []KeyFile
	// Fingerprints are of keys that are trusted when their body comes with the source: 40 hex digits,
	// as in the keys of matrix.Layout.
	Fingerprints []string
	// AllowUnsigned takes what is not signed, and what is signed when no key is at hand. A bad
	// signature, or one by another key than those given, is refused all the same.
	AllowUnsigned bool
	// SHA256 proves a packed file: 64 hex digits. Signature does as well, a detached signature of the file by one of
	// Keys. With either, nothing inside needs to be signed.
	SHA256    string
	Signature []byte
	// OrElse says what else than a signature would do, for hints; empty: --allow-unsigned.
	OrElse string
	// Origin is where a file came from that was fetched; empty: the source itself.
	Origin string
	// Stated is what the user says of a source that does not tell it itself.
	Stated Stated
	// Releases narrow what is taken to these: a version, or a branch for all of its releases. Empty: all.
	Releases []string
	// Known is the matrix, which tells the version of the drivers in a release of DOCA; nil: not known.
	Known *matrix.Index
	// Now is the clock: for the date of a holding, and for what is past its time.
	Now time.Time
	// Transport is for addresses; nil is the usual one, with proxies of the environment.
	Transport http.RoundTripper
}

// KeyFile is an OpenPGP public key file, armored or binary.
type KeyFile struct {
	Name string
	Data []byte
}

// Stated names release and system of a source. What the source tells itself must agree with it.
type Stated struct{ Stack, Version, Distro, VersionID string }

// Result is what a source holds.
type Result struct {
	Holdings []matrix.Holding
	// Keys are the public keys that came with the source and signed it, known by their fingerprint; armored.
	Keys []string
	// Notes are sentences about what was left out or had to be taken from a weaker source.
	Notes []string
}

// importer is one import at work.
type importer struct {
	judge *judge
	opts  Options
	proof string // of the whole file: sha256, signature, or none
}

// Import reads a source: a folder (apt or rpm repository, unpacked bundle), a packed bundle, a local
// repo package, a single package or the http(s) address of a repository. Errors are faults that read
// "cannot import SOURCE: cause"; nothing is ever written.
func Import(ctx context.Context, source string, opts Options) (Result, error) {
	shown := source
	if isAddress(source) {
		shown = web.Public(source)
	}
	result, err := importSource(ctx, source, shown, opts)
	if opts.Origin != "" {
		shown = web.Public(opts.Origin)
	}
	if err == nil {
		return result, nil
	}
	var own *refusal
	var far *unreachable
	switch {
	case errors.As(err, &own):
		return Result{}, fault.New(fault.Usage, "cannot-import", own.hint, "cannot import %s: %w", shown, err)
	case errors.As(err, &far):
		return Result{}, fault.New(fault.Failed, "cannot-import", "see that the server can be reached from here (proxy, certificate), or import a folder", "cannot import %s: %w", shown, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return Result{}, fault.New(fault.Interrupted, "interrupted", "", "cannot import %s: interrupted", shown)
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
		if at.Path != "" && at.Path != source {
			return Result{}, fault.New(fault.Usage, "cannot-import", "see that it is whole and that you may read it", "cannot import %s: %s: %w", shown, at.Path, err)
		}
	}
	return Result{}, fault.New(fault.Usage, "cannot-import", "name a folder, a file or an http(s) address that you may read", "cannot import %s: %w", shown, err)
}

func importSource(ctx context.Context, source, shown string, opts Options) (Result, error) {
	j, err := newJudge(opts)
	if err != nil {
		return Result{}, err
	}
	im := &importer{judge: j, opts: opts}
	if isAddress(source) {
		return im.fromWeb(ctx, source, shown)
	}
	place, err := filepath.Abs(source)
	if err != nil {
		return Result{}, err
	}
	info, err := os.Stat(source)
	if err != nil {
		return Result{}, err
	}
	if info.IsDir() {
		root, err := os.OpenRoot(source)
		if err != nil {
			return Result{}, err
		}
		defer root.Close()
		f, err := im.readFolder(ctx, dirTree{root})
		return im.finish(f, err, place, place)
	}
	if !info.Mode().IsRegular() {
		return Result{}, refuse("name a folder or a file", "it is neither a folder nor a regular file")
	}
	file, err := os.OpenFile(source, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return Result{}, err
	}
	defer file.Close()
	sealed, err := seal(ctx, file, info.Size())
	if err != nil {
		return Result{}, err
	}
	if err := im.prove(sealed); err != nil {
		return Result{}, err
	}
	f, err := im.readFile(ctx, filepath.Base(source), sealed, info.Size())
	if err == nil && f.file != nil {
		f.file.SHA256, f.file.Proof = sealed.sum, im.proof
	}
	if opts.Origin != "" {
		place = web.Public(opts.Origin)
	}
	return im.finish(f, err, place, place)
}

func (im *importer) finish(f *found, err error, origin, place string) (Result, error) {
	if err != nil {
		return Result{}, err
	}
	holdings, err := f.assemble(origin, place, im.opts)
	if err != nil {
		return Result{}, err
	}
	return Result{Holdings: holdings, Keys: im.judge.armored(f.signed), Notes: f.notes}, nil
}

// readFolder finds out what a folder is.
func (im *importer) readFolder(ctx context.Context, t tree) (*found, error) {
	if ok, err := isBundle(ctx, t); ok || err != nil {
		if err != nil {
			return nil, err
		}
		return im.readBundle(ctx, t)
	}
	f, err := im.readRepository(ctx, t)
	if !errors.Is(err, errNoRepository) {
		return f, err
	}
	// A folder with one local repository, as a local repo package leaves it under /usr/share.
	if ok, err := exists(ctx, t, "repo/repodata/repomd.xml"); ok || err != nil {
		if err != nil {
			return nil, err
		}
		return im.readRPMMD(ctx, t, "repo")
	}
	if ok, err := aptRelease(ctx, t, "repo"); ok || err != nil {
		if err != nil {
			return nil, err
		}
		return im.readApt(ctx, t, "repo")
	}
	return nil, refuse("name the folder with InRelease or Release, with repodata, or with the bundle's file distro",
		"it is no apt repository, no rpm repository and no MLNX_OFED bundle")
}

// errNoRepository says that a folder is none.
var errNoRepository = errors.New("no repository")

// readRepository reads an apt or rpm repository whose top is the tree's.
func (im *importer) readRepository(ctx context.Context, t tree) (*found, error) {
	if ok, err := aptRelease(ctx, t, "."); ok || err != nil {
		if err != nil {
			return nil, err
		}
		return im.readApt(ctx, t, ".")
	}
	if ok, err := exists(ctx, t, "repodata/repomd.xml"); ok || err != nil {
		if err != nil {
			return nil, err
		}
		return im.readRPMMD(ctx, t, ".")
	}
	suites, err := t.list("dists")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoList) || errors.Is(err, syscall.ENOTDIR) {
		return nil, errNoRepository
	}
	if err != nil {
		return nil, err
	}
	var all []string
	for _, suite := range suites {
		ok, err := aptRelease(ctx, t, path.Join("dists", suite))
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, suite)
		}
	}
	switch len(all) {
	case 0:
		return nil, errNoRepository
	case 1:
		return im.readApt(ctx, t, path.Join("dists", all[0]))
	}
	return nil, refuse("name one of them: the folder dists/"+all[0], "the repository has %d suites: %s", len(all), clip(strings.Join(all, ", ")))
}

// readFile reads a packed bundle or a package.
func (im *importer) readFile(ctx context.Context, name string, file io.ReaderAt, size int64) (*found, error) {
	switch {
	case strings.HasSuffix(name, ".iso"):
		return im.readISO(ctx, file, size)
	case strings.HasSuffix(name, ".tgz"), strings.HasSuffix(name, ".tar.gz"):
		r, err := unpacker(".gz", io.NewSectionReader(file, 0, size))
		if err != nil {
			return nil, damaged(name, err)
		}
		defer r.Close()
		a := newContents(false)
		if err := walkTar(ctx, r, name, takeTar(ctx, a)); err != nil {
			return nil, err
		}
		t, folder := a.bundleTree()
		f, err := im.readFolder(ctx, t)
		if err != nil {
			return nil, err
		}
		f.folder = folder
		f.file = a.fileOf(f, folder)
		return f, nil
	case strings.HasSuffix(name, ".deb"):
		return im.readDeb(ctx, name, file, size)
	case strings.HasSuffix(name, ".rpm"):
		return im.readRPM(ctx, name, file, size)
	}
	return nil, refuse("name a folder, or a file that ends in .tgz, .iso, .deb or .rpm", "it is no file that is known here")
}

// readISO reads a bundle in an image, which has its files at the top.
func (im *importer) readISO(ctx context.Context, file io.ReaderAt, size int64) (*found, error) {
	a := newContents(false)
	image, err := takeISO(ctx, a, file, size)
	if err != nil {
		return nil, err
	}
	t, folder := a.bundleTree()
	f, err := im.readFolder(ctx, t)
	var own *refusal
	switch {
	case image.cut && errors.As(err, &own):
		return nil, refuse("make the image with names of Rock Ridge (genisoimage -R), or import the unpacked bundle", "%w (the image has names of Joliet only, and some are cut)", err)
	case err != nil:
		return nil, err
	case image.cut && len(f.gone) > 0:
		f.note("the image has names of Joliet only, and some are cut: a package with such a name counts as not there")
	}
	f.folder = folder
	f.file = a.fileOf(f, folder)
	return f, nil
}

// isLocalRepo says that a package brings a repository: doca-host, until 2.6 doca-host-repo-<system>.
func isLocalRepo(name string) bool {
	return name == "doca-host" || strings.HasPrefix(name, "doca-host-repo-")
}

// readDeb reads a single deb package. Debs are not signed, the repository inside of a local repo
// package is.
func (im *importer) readDeb(ctx context.Context, name string, file io.ReaderAt, size int64) (*found, error) {
	d, err := openDeb(ctx, name, file)
	if err != nil {
		return nil, err
	}
	d.pkg.Bytes = size
	if isLocalRepo(d.pkg.Name) {
		a := newContents(true)
		if err := d.walk(ctx, takeTar(ctx, a)); err != nil {
			return nil, err
		}
		return im.readLocalRepo(ctx, a, d.pkg, "", name)
	}
	if err := im.judge.unsigned("the package"); err != nil {
		return nil, err
	}
	if isCoreDriver(d.pkg.Name) && len(d.pkg.kernels) == 0 {
		var paths []string
		if err := d.walk(ctx, func(h *tar.Header, _ io.Reader) error {
			paths = append(paths, h.Name)
			return nil
		}); err != nil {
			return nil, err
		}
		if d.pkg.kernels, err = kernelsOfPaths(paths); err != nil {
			return nil, err
		}
	}
	return &found{packages: []pkg{d.pkg}}, nil
}

func (im *importer) readRPM(ctx context.Context, name string, file io.ReaderAt, size int64) (*found, error) {
	f, err := openRPM(name, io.NewSectionReader(file, 0, size))
	if err != nil {
		return nil, err
	}
	f.Bytes = size
	local := isLocalRepo(f.Name)
	by, err := f.signature(im.judge, "the package")
	// The repository inside may be signed instead.
	if err != nil && !(local && im.unsignedRPM(f)) {
		return nil, err
	}
	if !local {
		return &found{packages: []pkg{f.pkg}, signed: by}, nil
	}
	if sum, _ := f.payloadCheck(); sum == nil {
		by = "" // the signature says nothing of the payload
	}
	a := newContents(true)
	if err := f.walkPayload(ctx, name, io.NewSectionReader(file, f.length, size-f.length), takeCPIO(ctx, a)); err != nil {
		return nil, err
	}
	return im.readLocalRepo(ctx, a, f.pkg, by, name)
}

func (im *importer) unsignedRPM(f rpmFile) bool {
	for _, tag := range []int{sigRSA, sigDSA, sigPGP, sigGPG} {
		if f.parsed.Signature.GetTag(tag) != nil {
			return false
		}
	}
	return true
}

// readLocalRepo reads the repository in a package's payload. By is the key that signed the whole
// package, which then speaks for an index without a signature of its own.
func (im *importer) readLocalRepo(ctx context.Context, a *contents, outer pkg, by, name string) (*found, error) {
	t, folder, ok := a.repository()
	if !ok {
		return nil, refuse(hintDamaged, "%s has no repository in usr/share/doca-host-*/repo", name)
	}
	f, err := im.readRepository(ctx, t)
	var own *refusal
	whole := by != "" && errors.As(err, &own)
	if whole { // nothing inside is signed by a key that is given, and need not be
		judge := *im.judge
		judge.allowUnsigned, judge.keys = true, nil
		inner := *im
		inner.judge = &judge
		f, err = inner.readRepository(ctx, t)
	}
	if errors.Is(err, errNoRepository) {
		return nil, refuse(hintDamaged, "%s has no index in its repository", name)
	}
	if err != nil {
		return nil, err
	}
	f.folder = folder
	f.file = a.fileOf(f, "usr/share/"+folder+"/repo")
	if f.file != nil {
		f.file.Whole = whole
	}
	// What signed packages say is not mixed with what an unsigned one says.
	if f.signed == "" || by != "" {
		f.packages = append(f.packages, outer)
	}
	if f.signed == "" {
		f.signed = by
	}
	return f, nil
}

func (im *importer) fromWeb(ctx context.Context, source, shown string) (Result, error) {
	scheme, _, _ := strings.Cut(source, "://")
	if scheme = strings.ToLower(scheme); scheme != "http" && scheme != "https" {
		return Result{}, refuse("give a folder, a file or an http(s) address", "the scheme %q is not read here", clip(scheme))
	}
	switch path.Ext(strings.TrimSuffix(shown, "/")) {
	case ".tgz", ".iso", ".deb", ".rpm":
		return Result{}, refuse("download it first, and import the file", "only repositories are read from the web")
	}
	t, err := newWebTree(source, im.opts.Transport)
	if err != nil {
		return Result{}, err
	}
	f, err := im.readRepository(ctx, t)
	if errors.Is(err, errNoRepository) {
		err = refuse("give the address of the folder with InRelease or Release, or with repodata", "neither an apt nor an rpm repository is there")
	}
	return im.finish(f, err, shown, t.base.Path)
}
