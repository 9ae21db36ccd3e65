package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"github.com/rdmactl/rdmactl/internal/holdings"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// UnpackRepository has what the repository step s takes out of a packed file unpacked into an empty directory that
// nobody else writes to, verified as a run verifies it. file is where the file is. The repository is in the folder at;
// key is the public key of an index that was made for it, empty for one that the vendor has signed.
func UnpackRepository(ctx context.Context, s plan.Step, file string, into *os.Root, now time.Time) (at, key string, err error) {
	if err := proven(s); err != nil {
		return "", "", err
	}
	b := *s.Changes.Repository.Bundle
	f, err := openSource(file)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return "", "", fmt.Errorf("cannot read %s: %w", b.File, err)
	}
	is := matrix.HoldingFile{SHA256: b.SHA256, Folder: b.Folder, Repository: b.Repository, Entries: b.Entries, Bytes: b.Bytes}
	if err := holdings.Unpack(ctx, path.Base(b.File), f, info.Size(), is, into); err != nil {
		return "", "", err
	}
	if at = indexAt(b); b.OwnIndex {
		key, err = ownIndex(ctx, into, at, now)
	}
	return at, key, err
}
