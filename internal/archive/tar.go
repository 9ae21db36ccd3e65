package archive

import (
	"archive/tar"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/xi2/xz"

	"github.com/rdmactl/rdmactl/internal/fault"
)

// Endings are the endings of archives that can be unpacked.
func Endings() []string {
	return []string{".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.zst", ".tar.bz2", ".tbz2", ".tar"}
}

// Ending is how a name says that the file is an archive, empty if it does not.
func Ending(name string) string {
	for _, ending := range Endings() {
		if strings.HasSuffix(name, ending) {
			return ending
		}
	}
	return ""
}

// decompressor gives what an archive of a name holds. xi2/xz and zstd bound the dictionary, which a hostile
// file may otherwise set to 4 GiB.
func decompressor(ending string, r io.Reader) (io.ReadCloser, error) {
	switch ending {
	case ".tar":
		return io.NopCloser(r), nil
	case ".tar.gz", ".tgz":
		return gzip.NewReader(r)
	case ".tar.bz2", ".tbz2":
		return io.NopCloser(bzip2.NewReader(r)), nil
	case ".tar.xz", ".txz":
		x, err := xz.NewReader(r, window)
		if err != nil {
			return nil, err
		}
		return io.NopCloser(x), nil
	case ".tar.zst":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	return nil, stop("unknown-source", "give a .tar.gz, .tar.xz, .tar.zst, .tar.bz2, a .dsc or a directory", "cannot unpack %s: its ending says of no archive", Clip(ending))
}

// Unpack unpacks an archive into an empty directory that no one else writes to. The name's ending says how
// it is compressed. Owners, times and attributes of the archive are not taken: files are 0644, or 0755 where
// they may be run. It refuses what leads out of the directory, what is neither file, directory nor link,
// set-user-id bits, what would replace or go through something unpacked before, more than the limits, and
// streams that are cut short or have something behind their end.
func Unpack(ctx context.Context, name string, r io.Reader, into *os.Root, limits Limits) error {
	s := NewSink(into, limits)
	d, err := decompressor(Ending(name), r)
	if err != nil {
		return Explain(name, err)
	}
	defer d.Close()
	// Headers, padding and what extended headers say are bounded as well: they unpack from nearly nothing.
	most := s.limits.Bytes + int64(s.limits.Files)*overhead + 64<<10
	end := &ending{r: &bounded{ctx, d, most, s.TooMuch()}}
	t := tar.NewReader(end)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Explain(name, err)
		}
		if err := s.Tar(h, t); err != nil {
			return Explain(name, err)
		}
	}
	if _, err := io.Copy(io.Discard, end); err != nil { // the checksum of a compressed stream is at its end
		return Explain(name, err)
	}
	if !end.zeros() {
		return stop("damaged-source", HintDamaged, "cannot unpack %s: the archive has no proper end", name)
	}
	return nil
}

// Tar takes one entry of a tar archive with its content.
func (s *Sink) Tar(h *tar.Header, r io.Reader) error {
	switch h.Typeflag {
	case tar.TypeXGlobalHeader: // the commit, in what git archive makes
		return s.Count()
	case tar.TypeDir:
		return s.Dir(strings.TrimSuffix(h.Name, "/"))
	case tar.TypeReg:
		if h.Mode&0o6000 != 0 {
			return stop("hostile-source", HintHostile, "%q would run as another user (set-user-id or set-group-id)", Clip(h.Name))
		}
		return s.File(h.Name, h.Mode&0o111 != 0, h.Size, r)
	case tar.TypeSymlink:
		return s.Symlink(h.Name, h.Linkname)
	case tar.TypeLink:
		return s.Hardlink(h.Name, h.Linkname)
	}
	return stop("hostile-source", HintHostile, "%q is neither a file nor a directory nor a link", Clip(h.Name))
}

// ending remembers the last bytes of a stream: an archive ends with two blocks of zeros at least, and
// archive/tar does not ask for them.
type ending struct {
	r    io.Reader
	tail int // zero bytes at the end so far
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	trailing := 0
	for trailing < n && p[n-1-trailing] == 0 {
		trailing++
	}
	if trailing == n {
		e.tail += n
	} else {
		e.tail = trailing
	}
	return n, err
}

func (e *ending) zeros() bool { return e.tail >= 1024 }

// Explain words the errors of the decompressors and leaves refusals alone.
func Explain(name string, err error) error {
	var own *fault.Error
	switch {
	case errors.As(err, &own):
		return fault.New(own.Kind, own.Code, own.Hint, "cannot unpack %s: %w", name, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return stop("damaged-source", HintDamaged, "cannot unpack %s: it is cut short", name)
	}
	var path *os.PathError
	var link *os.LinkError
	if errors.As(err, &path) || errors.As(err, &link) { // of the disk, not of the archive
		return fault.New(fault.Failed, "unpack-failed", "see that there is room and that the directory can be written", "cannot unpack %s: %w", name, err)
	}
	return stop("damaged-source", HintDamaged, "cannot unpack %s: %w", name, err)
}
