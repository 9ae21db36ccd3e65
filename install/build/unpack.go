package build

import (
	"context"
	"io"
	"os"

	"github.com/rdmactl/rdmactl/internal/archive"
)

// archiveEnding is how a name says that the file is an archive, empty if it does not.
func archiveEnding(name string) string { return archive.Ending(name) }

// Unpack unpacks an archive into an empty directory that no one else writes to; see archive.Unpack.
func Unpack(ctx context.Context, name string, r io.Reader, into *os.Root, limits Limits) error {
	return archive.Unpack(ctx, name, r, into, limits.ofArchive())
}

// relative gives a path of a source in its clean form.
func relative(name string) (string, error) { return archive.Relative(name) }
