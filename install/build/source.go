package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rdmactl/rdmactl/internal/archive"
)

// Source is where a tree comes from, and what proves that it is the right one.
type Source struct {
	// Location is an archive (.tar.gz, .tar.xz, .tar.zst, .tar.bz2), the .dsc of a Debian source package
	// or a directory, such as a git checkout: a path of the machine that this process runs on, also when
	// the host is an image, or an http or https address.
	Location string
	// SHA256 is of the file at Location, 64 hex digits.
	SHA256 string
	// Signature is the location of a detached OpenPGP signature of the file. A .dsc has its own.
	Signature string
	// Keyrings are OpenPGP public keys, armored or binary. With a Signature one of the Fingerprints, of
	// primary keys, must be of the key that signed. A .dsc whose signature is to be verified needs the
	// Keyrings only, and is then refused without a good signature, whatever SHA256 says.
	Keyrings     [][]byte
	Fingerprints []string
	// TrustDirectory says that a directory may be built without proof. It and all in it must belong to
	// root, to this process's user or to one of TrustUsers, and must not be writable by everyone.
	TrustDirectory bool
	TrustUsers     []uint32
}

// Provenance is what is known of a source that was verified.
type Provenance struct {
	Location string `json:"location"` // without user, password and query
	// SHA256 is of the file, or of all names and contents of a directory.
	SHA256 string `json:"sha256"`
	// SignedBy is the fingerprint of the primary key that signed it, empty if no signature was verified.
	SignedBy string `json:"signed_by,omitempty"`
	// Trusted says that nothing but the directory's owner vouches for it.
	Trusted bool `json:"trusted,omitempty"`
	// Package is the version of a Debian source package. Its patches are not applied: what is built is the
	// upstream release.
	Package string `json:"package,omitempty"`
}

const openFlags = syscall.O_NONBLOCK // a pipe must not block the open

var (
	fileName        = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+~-]{0,200}$`)
	sha256Text      = regexp.MustCompile(`^[0-9a-f]{64}$`)
	fingerprintText = regexp.MustCompile(`^([0-9A-F]{40}|[0-9A-F]{64})$`)
)

// gathered is a source in the work directory, verified.
type gathered struct {
	Provenance
	archive   string // name in the download directory, empty for a directory
	packaging string // what a distribution adds, may be empty
}

// gathering takes a source into a work directory.
type gathering struct {
	work      *os.Root
	limits    Limits
	transport http.RoundTripper
	now       time.Time
}

// gather takes and verifies a source. A directory is copied to tree at once, an archive waits in download.
func (g gathering) gather(ctx context.Context, src Source) (gathered, error) {
	src.SHA256 = strings.ToLower(src.SHA256)
	if src.SHA256 != "" && !sha256Text.MatchString(src.SHA256) {
		return gathered{}, stop("bad-checksum", "give 64 hex digits, as sha256sum prints them", "cannot use %q as a SHA-256", clip(src.SHA256))
	}
	if src.Location == "" {
		return gathered{}, stop("no-source", "give an archive, a .dsc, a directory or an https address", "cannot build: no source is given")
	}
	if !isAddress(src.Location) {
		info, err := os.Stat(src.Location)
		if err != nil {
			return gathered{}, stop("no-source", "give the path of a file or directory that can be read", "cannot take the source: %w", err)
		}
		if info.IsDir() {
			return g.directory(ctx, src)
		}
	}
	return g.file(ctx, src)
}

// proof says whether anything will prove the source. It is asked before a byte is fetched.
func (src Source) proof() error {
	signed := src.Signature != "" || strings.HasSuffix(src.Location, ".dsc") && len(src.Keyrings) > 0
	switch {
	case src.Signature != "" && (len(src.Keyrings) == 0 || len(src.Fingerprints) == 0):
		return stop("not-verified", "give the public key of who signs the releases, and its fingerprint", "cannot verify %s: its signature needs a key and the key's fingerprint", public(src.Location))
	case src.SHA256 == "" && !signed:
		return stop("not-verified", "give its SHA-256, or its signature with the key's fingerprint", "cannot verify %s: nothing proves that it is the right source", public(src.Location))
	}
	return nil
}

func (g gathering) file(ctx context.Context, src Source) (gathered, error) {
	out := gathered{Provenance: Provenance{Location: public(src.Location)}}
	if err := src.proof(); err != nil {
		return out, err
	}
	name, err := baseName(src.Location)
	if err != nil {
		return out, stop("no-source", "give a .tar.gz, .tar.xz, .tar.zst, .tar.bz2 or .dsc", "cannot take the source: %w", err)
	}
	isDsc := strings.HasSuffix(name, ".dsc")
	if !isDsc && archiveEnding(name) == "" {
		return out, stop("unknown-source", "give a .tar.gz, .tar.xz, .tar.zst, .tar.bz2, a .dsc or a directory", "cannot take %s: its ending says of no source", clip(name))
	}
	download, err := emptyDir(g.work, "download", 0o700)
	if err != nil {
		return out, fmt.Errorf("cannot make the download directory: %w", err)
	}
	defer download.Close() // files in it are closed with an error
	f := &fetcher{download, g.transport, g.limits.Download}
	most := int64(0)
	if isDsc {
		most = maxText
	}
	if err := f.take(ctx, src.Location, name, most); err != nil {
		return out, err
	}
	if out.SHA256, _, err = sumOf(download, name); err != nil {
		return out, fmt.Errorf("cannot read the source again: %w", err)
	}
	if src.SHA256 != "" && src.SHA256 != out.SHA256 {
		return out, stop("wrong-checksum", hintDamaged, "cannot use %s: its SHA-256 is %s, not %s", public(src.Location), out.SHA256, src.SHA256)
	}
	if isDsc {
		return g.debian(ctx, src, f, name, out)
	}
	if src.Signature != "" {
		if out.SignedBy, err = g.signed(ctx, src, f, name); err != nil {
			return out, err
		}
	}
	out.archive = name
	return out, nil
}

// signed verifies the detached signature of a file.
func (g gathering) signed(ctx context.Context, src Source, f *fetcher, name string) (string, error) {
	j, err := newJudge(src.Keyrings, src.Fingerprints, g.now)
	if err != nil {
		return "", err
	}
	const own = "signature"
	if err := f.take(ctx, src.Signature, own, maxText); err != nil {
		return "", err
	}
	signature, err := readAll(f.into, own, maxText)
	if err != nil {
		return "", fmt.Errorf("cannot read the signature: %w", err)
	}
	signed, _, err := openRegular(f.into, name)
	if err != nil {
		return "", fmt.Errorf("cannot read the source again: %w", err)
	}
	by, err := j.detached(name, signed, signature)
	return by, errors.Join(err, signed.Close())
}

// debian verifies a .dsc and takes the files that it names.
func (g gathering) debian(ctx context.Context, src Source, f *fetcher, name string, out gathered) (gathered, error) {
	text, err := readAll(f.into, name, maxText)
	if err != nil {
		return out, fmt.Errorf("cannot read %s: %w", name, err)
	}
	if len(src.Keyrings) > 0 {
		j, err := newJudge(src.Keyrings, src.Fingerprints, g.now)
		if err != nil {
			return out, err
		}
		if text, out.SignedBy, err = j.clear(name, text); err != nil {
			return out, err
		}
	}
	d, err := readDsc(name, text)
	if err != nil {
		return out, err
	}
	if d.source != "rdma-core" {
		return out, stop("unknown-source", "give the .dsc of rdma-core", "cannot build %s: it is the source of %q", name, clip(d.source))
	}
	for _, p := range d.parts {
		location, err := sibling(src.Location, p.name)
		if err != nil {
			return out, fmt.Errorf("cannot take %s: %w", p.name, err)
		}
		if err := f.take(ctx, location, p.name, p.size+1); err != nil {
			return out, err
		}
		sum, size, err := sumOf(f.into, p.name)
		if err != nil {
			return out, fmt.Errorf("cannot read %s: %w", p.name, err)
		}
		if size != p.size || sum != p.sha256 {
			return out, stop("wrong-checksum", hintDamaged, "cannot use %s: it is not the file that %s names, its SHA-256 is %s", p.name, name, sum)
		}
	}
	out.archive, out.Package = d.upstream.name, d.version
	if d.packaging != nil {
		out.packaging = d.packaging.name
	}
	return out, nil
}

// directory copies a trusted directory, without .git, so that nothing of it can change while it is built.
func (g gathering) directory(ctx context.Context, src Source) (gathered, error) {
	out := gathered{Provenance: Provenance{Location: src.Location, Trusted: true}}
	if !src.TrustDirectory {
		return out, stop("not-verified", "say that the directory is to be trusted, or give an archive with its SHA-256 or signature", "cannot verify %s: nothing proves that a directory is the right source", src.Location)
	}
	if src.SHA256 != "" || src.Signature != "" {
		return out, stop("not-verified", "give the archive that they are of", "cannot verify %s: a checksum or signature is of a file, not of a directory", src.Location)
	}
	at, err := filepath.EvalSymlinks(src.Location)
	if err == nil {
		at, err = filepath.Abs(at)
	}
	if err != nil {
		return out, stop("no-source", "give the path of a directory that can be read", "cannot take the source: %w", err)
	}
	trusted := append([]uint32{0, uint32(os.Geteuid())}, src.TrustUsers...)
	for dir := path.Dir(at); ; dir = path.Dir(dir) {
		info, err := os.Lstat(dir)
		if err != nil {
			return out, stop("no-source", "give the path of a directory that can be read", "cannot take the source: %w", err)
		}
		if err := vouched(dir, info, trusted); err != nil {
			return out, err
		}
		if dir == "/" {
			break
		}
	}
	from, err := os.OpenRoot(at)
	if err != nil {
		return out, stop("no-source", "give the path of a directory that can be read", "cannot take the source: %w", err)
	}
	defer from.Close() // it was only read
	tree, err := emptyDir(g.work, "tree", perm)
	if err != nil {
		return out, fmt.Errorf("cannot make the source directory: %w", err)
	}
	defer tree.Close() // files in it are closed with an error
	s := archive.NewSink(tree, g.limits.ofArchive())
	err = takeDirectory(ctx, s, from, ".", func(name string, info fs.FileInfo) error { return vouched(path.Join(at, name), info, trusted) })
	if err != nil {
		return out, archive.Explain(src.Location, err)
	}
	out.SHA256 = s.Digest()
	return out, nil
}

// vouched says no to what others than the trusted users can change.
func vouched(name string, info fs.FileInfo, trusted []uint32) error {
	const hint = "give a directory that belongs to root or to you, and that only its owner writes"
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || !slices.Contains(trusted, st.Uid) {
		return stop("not-trusted", hint, "cannot trust %s: it belongs to another user", name)
	}
	// In a directory with the sticky bit, such as /tmp, others cannot replace what is there.
	if info.Mode()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return stop("not-trusted", hint, "cannot trust %s: everyone may write to it", name)
	}
	return nil
}
