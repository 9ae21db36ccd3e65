package archive

import (
	"context"
	"io"

	"github.com/rdmactl/rdmactl/internal/fault"
)

// Limits bound what is unpacked.
type Limits struct {
	Files int   // entries of an archive, or of a directory
	Bytes int64 // of all files unpacked
}

const (
	maxPath  = 1024      // bytes of a path in an archive
	maxDepth = 32        // directories in a path
	window   = 128 << 20 // bytes of dictionary that a compressed stream may ask for
	overhead = 4 << 10   // bytes of headers and padding that an entry of an archive may have
	// perm is the mode of directories and programs, plain that of other files.
	perm  = 0o755
	plain = 0o644
)

// stop is an error that comes before anything outside of the directory changed.
func stop(code, hint, format string, args ...any) error {
	return fault.New(fault.Stopped, code, hint, format, args...)
}

// What to do about a source that is refused.
const (
	HintHostile = "do not use this source; no release has such content"
	HintDamaged = "fetch it again from where it came; if that does not help, the source itself is faulty"
)

// bounded fails, instead of ending, when there is more than left bytes or when the time is up.
type bounded struct {
	ctx  context.Context
	r    io.Reader
	left int64
	over error
}

// Bounded reads at most most bytes of r, and fails with over when there are more, or with the error of ctx when the
// time is up.
func Bounded(ctx context.Context, r io.Reader, most int64, over error) io.Reader {
	return &bounded{ctx, r, most, over}
}

func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if b.left <= 0 {
		var one [1]byte
		n, err := b.r.Read(one[:])
		if n > 0 {
			return 0, b.over
		}
		return 0, err
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	return n, err
}

// Clip keeps messages short whatever a source has in a name.
func Clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}
