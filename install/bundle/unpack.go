package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/rdmactl/rdmactl/internal/fault"
)

// Unpack lays a repository into the directory name of into, which root alone can enter, whole or not at all.
// Each content is verified again while it is written: the file may have changed since Verify.
func (b *Bundle) Unpack(ctx context.Context, id string, into *os.Root, name string, progress func(int64)) (err error) {
	repo, ok := b.Manifest.RepositoryOf(id)
	if !ok {
		return fmt.Errorf("cannot unpack the repository %q: the bundle has none of this name", clip(id))
	}
	for _, old := range []string{name, name + ".part"} {
		if err := into.RemoveAll(old); err != nil {
			return fmt.Errorf("cannot remove what an earlier run unpacked: %w", err)
		}
	}
	part := name + ".part"
	defer func() {
		if err != nil {
			err = errors.Join(err, into.RemoveAll(part))
		}
	}()
	if err := into.Mkdir(part, 0o700); err != nil {
		return fmt.Errorf("cannot unpack the bundle: %w", err)
	}
	dir, err := into.OpenRoot(part)
	if err != nil {
		return fmt.Errorf("cannot unpack the bundle: %w", err)
	}
	for _, f := range repo.Files {
		if err := b.lay(ctx, dir, f, progress); err != nil {
			return errors.Join(err, dir.Close())
		}
	}
	if err := dir.Close(); err != nil {
		return fmt.Errorf("cannot unpack the bundle: %w", err)
	}
	if err := into.Rename(part, name); err != nil {
		return fmt.Errorf("cannot unpack the bundle: %w", err)
	}
	return nil
}

func (b *Bundle) lay(ctx context.Context, dir *os.Root, f File, progress func(int64)) error {
	fail := func(err error) error {
		var known *fault.Error
		if errors.As(err, &known) {
			return err
		}
		return fault.New(fault.Stopped, "cannot-unpack", "make room there; nothing else was changed", "cannot unpack %s of the bundle: %w", f.Path, err)
	}
	if err := dir.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
		return fail(err)
	}
	out, err := dir.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fail(err)
	}
	sum := sha256.New()
	in := &counted{r: io.NewSectionReader(b.file, b.offsets[f.SHA256], b.sizes[f.SHA256]), ctx: ctx, tell: progress}
	if _, err := io.Copy(io.MultiWriter(sum, out), in); err != nil {
		return errors.Join(fail(err), out.Close())
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != f.SHA256 {
		return errors.Join(faulty("the content of %s has the SHA-256 %s, and by the manifest %s", f.Path, got, f.SHA256), out.Close())
	}
	if err := out.Close(); err != nil {
		return fail(err)
	}
	return nil
}
