package holdings

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/rdmactl/rdmactl/internal/archive"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// Unpack unpacks the folder of a packed file that has its repository into an empty directory that nobody else writes
// to. The name's ending says what the file is. It must be the very file that was imported, and nothing of it is
// taken that Import would refuse; scripts of a package are not run, and not unpacked.
func Unpack(ctx context.Context, name string, file io.ReaderAt, size int64, is matrix.HoldingFile, into *os.Root) error {
	return unpackAs(ctx, name, file, size, is, false, into)
}

// UnpackPrograms is Unpack for a folder that has programs which are run: what starts like one is made executable.
func UnpackPrograms(ctx context.Context, name string, file io.ReaderAt, size int64, is matrix.HoldingFile, into *os.Root) error {
	return unpackAs(ctx, name, file, size, is, true, into)
}

func unpackAs(ctx context.Context, name string, file io.ReaderAt, size int64, is matrix.HoldingFile, programs bool, into *os.Root) error {
	err := unpackFile(ctx, name, file, size, is, programs, into)
	var own *refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return fault.New(fault.Stopped, "cannot-unpack", own.hint, "cannot unpack %s: %w", name, err)
	}
	return archive.Explain(name, err)
}

func unpackFile(ctx context.Context, name string, file io.ReaderAt, size int64, is matrix.HoldingFile, programs bool, into *os.Root) error {
	whole, err := seal(ctx, file, size)
	if err != nil {
		return err
	}
	if whole.sum != is.SHA256 {
		return refuse("look what it is, and plan anew", "it is not the file that was planned with: its SHA-256 is %s, not %s", whole.sum, is.SHA256)
	}
	u := &unpacking{sink: archive.NewSink(into, archive.Limits{Files: maxEntries, Bytes: is.Bytes}), folder: is.Folder, programs: programs}
	return u.walk(ctx, name, whole)
}

// unpacking writes what is in one folder of a packed file. Of all else the names are checked, and no more.
type unpacking struct {
	sink     *archive.Sink
	folder   string
	programs bool // what starts like a program is made one
}

func (u *unpacking) walk(ctx context.Context, name string, file *sealed) error {
	switch {
	case strings.HasSuffix(name, ".iso"):
		_, err := takeISO(ctx, u, file, file.size)
		return err
	case strings.HasSuffix(name, ".tgz"), strings.HasSuffix(name, ".tar.gz"):
		r, err := unpacker(".gz", io.NewSectionReader(file, 0, file.size))
		if err != nil {
			return damaged(name, err)
		}
		defer r.Close()
		return walkTar(ctx, r, name, takeTar(ctx, u))
	case strings.HasSuffix(name, ".deb"):
		d, err := openDeb(ctx, name, file)
		if err != nil {
			return err
		}
		return d.walk(ctx, takeTar(ctx, u))
	case strings.HasSuffix(name, ".rpm"):
		f, err := openRPM(name, io.NewSectionReader(file, 0, file.size))
		if err != nil {
			return err
		}
		return f.walkPayload(ctx, name, io.NewSectionReader(file, f.length, file.size-f.length), takeCPIO(ctx, u))
	}
	return refuse("name a file that ends in .tgz, .iso, .deb or .rpm", "it is no file that is known here")
}

// place is where an entry goes; ok is false for one outside of the folder.
func (u *unpacking) place(name string) (rest string, ok bool, err error) {
	if name, err = checkPath(name); err != nil {
		return "", false, err
	}
	if name == u.folder && name != "." {
		return "", false, refuse(hintHostile, "%q is no folder", clip(name))
	}
	rest, ok = within(u.folder, name)
	return rest, ok, nil
}

func (u *unpacking) add(ctx context.Context, name string, size int64, r io.Reader) error {
	rest, ok, err := u.place(name)
	if err != nil || !ok {
		return err
	}
	content := bufio.NewReaderSize(limit(ctx, r, max(size, 0), name), 512)
	run := false
	if u.programs {
		head, err := content.Peek(4)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		run = bytes.HasPrefix(head, []byte("#!")) || bytes.Equal(head, []byte("\x7fELF"))
	}
	return u.sink.File(rest, run, size, content)
}

func (u *unpacking) addAt(ctx context.Context, name string, content *io.SectionReader) error {
	return u.add(ctx, name, content.Size(), content)
}

func (u *unpacking) link(name, target string, hard bool) error {
	rest, ok, err := u.place(name)
	if err != nil || !ok {
		return err
	}
	if !hard {
		return u.sink.Symlink(rest, target)
	}
	old, ok, err := u.place(target)
	if err != nil {
		return err
	}
	if !ok {
		return refuse(hintHostile, "%q is another name of %q, which is outside of the repository", clip(name), clip(target))
	}
	return u.sink.Hardlink(rest, old)
}
