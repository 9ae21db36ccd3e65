package holdings

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/klauspost/compress/zstd"
	"github.com/xi2/xz"

	"github.com/rdmactl/rdmactl/internal/fault"
)

// maxWindow bounds what a compressed stream may ask for as its dictionary, in bytes.
const maxWindow = 128 << 20

// unpacker gives the reader for a compression, named as a file ends or as an rpm's header says.
// xi2/xz is the one that the deb reader uses as well: it bounds the dictionary, which a hostile file
// may otherwise set to 4 GiB.
func unpacker(kind string, r io.Reader) (io.ReadCloser, error) {
	switch kind {
	case "":
		return io.NopCloser(r), nil
	case ".gz", ".tgz", "gzip":
		return gzip.NewReader(r)
	case ".bz2", "bzip2":
		return io.NopCloser(bzip2.NewReader(r)), nil
	case ".xz", "xz":
		x, err := xz.NewReader(r, maxWindow)
		if err != nil {
			return nil, err
		}
		return io.NopCloser(x), nil
	case ".zst", "zstd":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	return nil, refuse("unpack it, and name the folder", "its compression %q is not known here", clip(kind))
}

// suffixes are the compressions that an index may have, the cheapest to read first.
func suffixes() []string { return []string{"", ".zst", ".gz", ".xz", ".bz2"} }

// compression is how a file's name says that it is compressed.
func compression(name string) string {
	switch ext := path.Ext(name); ext {
	case ".gz", ".bz2", ".xz", ".zst", ".tgz":
		return ext
	}
	return ""
}

// unpackIndex unpacks a whole index.
func unpackIndex(ctx context.Context, name string, data []byte) ([]byte, error) {
	r, err := unpacker(compression(name), bytes.NewReader(data))
	if err != nil {
		return nil, damaged(name, err)
	}
	defer r.Close()
	out, err := io.ReadAll(limit(ctx, r, maxIndex, name+" unpacked"))
	if err != nil {
		return nil, damaged(name, err)
	}
	return out, nil
}

// damaged words the errors of the decompressors, and leaves refusals, those of the disk and the end of time alone.
func damaged(name string, err error) error {
	var own *refusal
	var told *fault.Error
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &own), errors.As(err, &told), errors.As(err, &at), errors.As(err, &link), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return refuse(hintDamaged, "%s is cut short", name)
	}
	return refuse(hintDamaged, "%s cannot be unpacked: %w", name, err)
}
