package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/bundle"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/holdings"
	"github.com/rdmactl/rdmactl/internal/web"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

const (
	// sourcesName is where a run keeps what it unpacks, before it does.
	sourcesName = "sources.json"
	// sourceMark is in an unpacked source that is whole.
	sourceMark = "rdmactl-source.json"
	// sourceFetch is how long a bundle of some GB may take to come.
	sourceFetch = 2 * time.Hour
	maxSource   = 16 << 30 // bytes of a bundle
)

// madeSource is a directory that a run made for a bundle, and those above it that it made too, outermost first.
type madeSource struct {
	Dir     string   `json:"dir"`
	Parents []string `json:"parents,omitempty"`
}

// mark says what an unpacked source is.
type mark struct {
	SHA256 string `json:"sha256"`
	// Key is the public key of the index that was made for it, armored; empty for one that is the vendor's.
	Key string `json:"key,omitempty"`
}

// unpackSource has the repository of a bundle unpacked on the host: verified by its checksum, which the planning tied
// to what proves it, beside its place and moved there whole.
func (r *run) unpackSource(ctx context.Context, s plan.Step) error {
	b := s.Changes.Repository.Bundle
	if b == nil {
		return nil
	}
	if err := proven(s); err != nil {
		return err
	}
	have, err := r.unpacked(*b)
	if err != nil {
		return err
	}
	if have == nil {
		if have, err = r.unpackNew(ctx, s, *b); err != nil {
			return err
		}
		if err := r.note("%s is verified (SHA-256 %s) and unpacked to %s", path.Base(b.File), b.SHA256, b.Dir()); err != nil {
			return err
		}
	}
	if !b.OwnIndex {
		return nil
	}
	if have.Key == "" {
		return fault.New(fault.Stopped, "source-faulty", "remove that directory, then run again", "cannot use %s: it has no index of ours", b.Dir())
	}
	return r.journal.WriteFile(keyFile(s), []byte(have.Key))
}

// proven stops a bundle that nothing proves.
func proven(s plan.Step) error {
	c := s.Changes.Repository
	b := c.Bundle
	switch {
	case len(b.SHA256) != 64 || strings.Trim(b.SHA256, "0123456789abcdef") != "" || c.URL != b.Place():
		return fmt.Errorf("cannot execute step %s: it does not say what is unpacked where", s.ID)
	case b.OwnIndex && b.Proof == "":
		return fault.New(fault.Stopped, "source-not-proven",
			"name the file with --source, and give its checksum from where you trust it with --sha256, or a detached signature of it with --signature and the key with --key",
			"cannot use %s: nothing in it signs its repository, and nothing proves the file", b.File)
	}
	return nil
}

// sourceHost opens directories of the host; nil for a kind of host that cannot.
func (r *run) sourceHost() (host.DirOpener, error) {
	opener, ok := r.env.Host.(host.DirOpener)
	if !ok {
		return nil, errors.New("cannot unpack a bundle on this kind of host")
	}
	return opener, nil
}

// unpacked is the mark of a source that is there whole, nil for none.
func (r *run) unpacked(b plan.BundleChange) (*mark, error) {
	if _, err := r.host.Lstat(b.Dir()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, dir := range []string{path.Dir(plan.SourcesDir), plan.SourcesDir, b.Dir()} {
		if err := r.ownDirectory(dir); err != nil {
			return nil, err
		}
	}
	text, err := r.host.ReadFile(path.Join(b.Dir(), sourceMark))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot look at %s: %w", b.Dir(), err)
	}
	var m mark
	if err := json.Unmarshal(text, &m); err != nil || m.SHA256 != b.SHA256 {
		return nil, fault.New(fault.Stopped, "source-faulty", "remove that directory, then run again", "cannot use %s: its %s is not that of the file", b.Dir(), sourceMark)
	}
	return &m, nil
}

// ownDirectory refuses a directory that others than root could write.
func (r *run) ownDirectory(dir string) error {
	info, err := r.host.Lstat(dir)
	if err != nil {
		return fmt.Errorf("cannot look at %s: %w", dir, err)
	}
	if !info.Mode.IsDir() || info.UID != uint32(os.Geteuid()) || info.Mode.Perm()&0o022 != 0 {
		return fault.New(fault.Stopped, "source-not-trusted", "look who made it, and remove it", "cannot use %s: it is not a directory that root alone may write", dir)
	}
	return nil
}

// unpackNew unpacks a bundle that is not there yet.
func (r *run) unpackNew(ctx context.Context, s plan.Step, b plan.BundleChange) (*mark, error) {
	opener, err := r.sourceHost()
	if err != nil {
		return nil, err
	}
	if err := r.noteSource(b); err != nil {
		return nil, err
	}
	if err := r.roomFor(ctx, b); err != nil {
		return nil, err
	}
	if err := r.host.MkdirAll(plan.SourcesDir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make %s: %w", plan.SourcesDir, err)
	}
	for _, dir := range []string{path.Dir(plan.SourcesDir), plan.SourcesDir} {
		if err := r.ownDirectory(dir); err != nil {
			return nil, err
		}
	}
	sources, err := opener.OpenDir(plan.SourcesDir)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", plan.SourcesDir, err)
	}
	defer sources.Close() // files in it are closed with an error
	whole := path.Base(b.Dir())
	part := whole + ".part"
	for _, name := range []string{part, whole} {
		if err := sources.RemoveAll(name); err != nil {
			return nil, fmt.Errorf("cannot clear %s: %w", path.Join(plan.SourcesDir, name), err)
		}
	}
	m, err := r.fillSource(ctx, sources, part, b)
	if err != nil {
		return nil, err
	}
	if err := settleSource(sources, part, whole); err != nil {
		return nil, fmt.Errorf("cannot keep %s: %w", b.Dir(), err)
	}
	return m, nil
}

// fillSource makes the directory of a bundle: its repository, the index where it is ours, and the mark.
func (r *run) fillSource(ctx context.Context, sources *os.Root, part string, b plan.BundleChange) (m *mark, err error) {
	if err := mkdir(sources, part); err != nil {
		return nil, fmt.Errorf("cannot make %s: %w", b.Dir(), err)
	}
	file, err := r.sourceFile(ctx, sources, part, b)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", b.File, err)
	}
	if err := mkdir(sources, part+"/repository"); err != nil {
		return nil, fmt.Errorf("cannot make %s: %w", b.Dir(), err)
	}
	into, err := sources.OpenRoot(part + "/repository")
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", b.Dir(), err)
	}
	defer into.Close() // files in it are closed with an error
	is := matrix.HoldingFile{SHA256: b.SHA256, Folder: b.Folder, Repository: b.Repository, Entries: b.Entries, Bytes: b.Bytes}
	unpack := holdings.Unpack
	if b.Whole {
		unpack = holdings.UnpackPrograms
	}
	if err := unpack(ctx, path.Base(b.File), file, info.Size(), is, into); err != nil {
		return nil, err
	}
	m = &mark{SHA256: b.SHA256}
	if b.OwnIndex {
		if m.Key, err = ownIndex(ctx, into, indexAt(b), r.host.Now()); err != nil {
			return nil, err
		}
	}
	if err := sources.RemoveAll(path.Join(part, fetchedName)); err != nil {
		return nil, fmt.Errorf("cannot remove what was fetched: %w", err)
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", sourceMark, err)
	}
	return m, writeNew(sources, path.Join(part, sourceMark), text, 0o644)
}

// ownIndex makes the index of a repository that nobody signed, signs it by a key that is forgotten with this call,
// and gives the public one.
func ownIndex(ctx context.Context, into *os.Root, at string, now time.Time) (string, error) {
	folder, err := into.OpenRoot(at)
	if err != nil {
		return "", fmt.Errorf("cannot open the repository: %w", err)
	}
	defer folder.Close() // files in it are closed with an error
	signer, err := bundle.NewSigner(now)
	if err != nil {
		return "", err
	}
	if _, err := folder.Stat("repodata"); err == nil { // rpm verifies packages one by one
		if err := holdings.SignRPMs(ctx, folder, now, signer.Detached); err != nil {
			return "", err
		}
		return signer.Public()
	}
	packages, err := holdings.DebIndex(ctx, folder)
	if err != nil {
		return "", err
	}
	signed, err := signer.Clear(releaseOf(packages, now))
	if err != nil {
		return "", err
	}
	for _, name := range []string{"Release", "Release.gpg", "InRelease", "Packages", "Packages.gz", "Packages.bz2", "Packages.xz", "Packages.zst"} {
		if err := folder.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("cannot remove the old index: %w", err)
		}
	}
	if err := errors.Join(writeNew(folder, "Packages", packages, 0o644), writeNew(folder, "InRelease", signed, 0o644)); err != nil {
		return "", fmt.Errorf("cannot write the index: %w", err)
	}
	return signer.Public()
}

// indexAt is the folder of the repository in what is unpacked of a bundle, "." for its top.
func indexAt(b plan.BundleChange) string {
	return path.Clean(strings.TrimPrefix(strings.TrimPrefix(b.Place(), path.Join(b.Dir(), "repository")), "/"))
}

// noteSource writes down what the run is about to make, so that it goes again whatever happens.
func (r *run) noteSource(b plan.BundleChange) error {
	all, err := r.sourcesMade()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(m madeSource) bool { return m.Dir == b.Dir() }) {
		return nil // of an earlier attempt
	}
	parents, err := missingDirs(r.host, plan.SourcesDir)
	if err != nil {
		return err
	}
	text, err := json.Marshal(append(all, madeSource{b.Dir(), parents}))
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", sourcesName, err)
	}
	return r.journal.WriteFile(sourcesName, text)
}

func (r *run) sourcesMade() ([]madeSource, error) {
	text, err := r.journal.ReadFile(sourcesName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []madeSource
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", sourcesName, err)
	}
	return all, nil
}

// roomFor compares the space that is free with what the file says that it takes.
func (r *run) roomFor(ctx context.Context, b plan.BundleChange) error {
	found, err := r.freeBytes(ctx, plan.SourcesDir)
	if err != nil {
		return r.note("free space of %s is not known: %v", plan.SourcesDir, err)
	}
	want := b.Bytes + int64(b.Entries)*4096 + slack
	if b.OwnIndex {
		want += b.Bytes / 4 // a package is there twice while it is signed
	}
	if f := found[0]; f.avail < want {
		return fault.New(fault.Stopped, "no-space", "make room there", "cannot unpack %s: %s has %d MiB free and %d MiB are needed", path.Base(b.File), f.mount, f.avail>>20, (want+1<<20-1)>>20)
	}
	return nil
}

// fetchedName is the file of an address, beside its repository, while that is unpacked.
const fetchedName = "file"

// sourceFile opens the file of a bundle: where it is, or what the planning fetched, or it is fetched now.
func (r *run) sourceFile(ctx context.Context, sources *os.Root, part string, b plan.BundleChange) (*os.File, error) {
	if !strings.Contains(b.File, "://") {
		return openSource(b.File)
	}
	if r.order.Fetched != "" {
		if f, err := openSource(r.order.Fetched); err == nil {
			return f, nil
		}
	}
	const hint = "see that the network, the proxy and the address are right, or give a file"
	fail := func(err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fault.New(fault.Stopped, "source-unreachable", hint, "cannot take %s: %w", b.File, err)
	}
	body, err := web.New(sourceFetch, r.env.transport).Open(ctx, b.File)
	if err != nil {
		return nil, fail(err)
	}
	defer body.Close() // it was only read
	f, err := sources.OpenFile(path.Join(part, fetchedName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot keep what is fetched: %w", err)
	}
	n, err := io.Copy(f, io.LimitReader(body, maxSource+1))
	if err == nil && n > maxSource {
		err = fmt.Errorf("it has more than %d MiB", int64(maxSource)>>20)
	}
	if err != nil {
		return nil, errors.Join(fail(err), f.Close())
	}
	return f, nil
}

// openSource opens a regular file of this machine.
func openSource(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err == nil {
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%s is no regular file", name)
		}
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil {
		return nil, fault.New(fault.Stopped, "no-source", "name it again with --source", "cannot read the bundle: %w", err)
	}
	return f, nil
}

// settleSource puts a whole source into its place, on the disk when it returns.
func settleSource(sources *os.Root, part, name string) error {
	d, err := sources.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(d.Fd())), sources.Rename(part, name), d.Sync(), d.Close())
}

// forgetSources removes what the run unpacked. It is called when nothing of the run is left.
func (r *run) forgetSources() error {
	all, err := r.sourcesMade()
	if err != nil || len(all) == 0 {
		return err
	}
	opener, err := r.sourceHost()
	if err != nil {
		return err
	}
	for _, m := range all {
		if err := removeSource(opener, path.Base(m.Dir)); err != nil {
			return err
		}
		for _, dir := range slices.Backward(m.Parents) {
			if err := r.host.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
				return fmt.Errorf("cannot remove %s: %w", dir, err)
			}
		}
	}
	return nil
}

// removeSource removes an unpacked source, whole or not.
func removeSource(opener host.DirOpener, name string) error {
	sources, err := opener.OpenDir(plan.SourcesDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", plan.SourcesDir, err)
	}
	defer sources.Close() // nothing in it is open
	for _, n := range []string{name + ".part", name} {
		if err := sources.RemoveAll(n); err != nil {
			return fmt.Errorf("cannot remove %s: %w", path.Join(plan.SourcesDir, n), err)
		}
	}
	return nil
}

func mkdir(root *os.Root, name string) error {
	if err := root.Mkdir(name, 0o700); err != nil {
		return err
	}
	return root.Chmod(name, 0o755) // whatever umask there is; apt's user for downloads reads in it
}

func writeNew(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Chmod(mode), f.Close())
}
