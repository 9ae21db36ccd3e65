package holdings

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"path"
	"strings"

	"pault.ag/go/debian/control"
	"pault.ag/go/debian/deb"
)

// debFile is an opened deb package.
type debFile struct {
	pkg     pkg
	text    []byte // of its control file
	control control.Paragraph
	data    *deb.ArEntry
}

// openDeb reads the control data of a deb package and finds its payload.
func openDeb(ctx context.Context, name string, r io.ReaderAt) (debFile, error) {
	bad := func(err error) (debFile, error) {
		return debFile{}, refuse(hintDamaged, "%s is no sound deb package: %w", name, err)
	}
	archive, err := deb.LoadAr(r)
	if err != nil {
		return bad(err)
	}
	var d debFile
	var controlTar *deb.ArEntry
	for n := 0; ; n++ {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return bad(err)
		}
		if n == maxArMembers || entry.Size < 0 {
			return bad(errors.New("its members are not those of a package"))
		}
		switch {
		case strings.HasPrefix(entry.Name, "control.tar") && controlTar == nil:
			controlTar = entry
		case strings.HasPrefix(entry.Name, "data.tar") && d.data == nil:
			d.data = entry
		}
	}
	if controlTar == nil || d.data == nil {
		return bad(io.ErrUnexpectedEOF)
	}
	text, err := controlOf(ctx, controlTar)
	if err != nil {
		return bad(err)
	}
	p, err := nextParagraph(text)
	if err != nil {
		return bad(err)
	}
	d.text, d.control = text, p
	d.pkg, err = debPackage(p)
	return d, err
}

// controlOf reads the file control of control.tar.
func controlOf(ctx context.Context, entry *deb.ArEntry) ([]byte, error) {
	r, err := unpacker(compression(entry.Name), entry.Data)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	files := tar.NewReader(limit(ctx, r, maxPacked, entry.Name+" unpacked"))
	for range maxEntries {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if path.Clean(h.Name) == "control" {
			return io.ReadAll(limit(ctx, files, maxParagraph, "control"))
		}
	}
	return nil, errors.New("it has no control data")
}

// walk goes through the payload.
func (d debFile) walk(ctx context.Context, each func(*tar.Header, io.Reader) error) error {
	r, err := unpacker(compression(d.data.Name), d.data.Data)
	if err != nil {
		return damaged(d.data.Name, err)
	}
	defer r.Close()
	return walkTar(ctx, r, d.data.Name, each)
}

// walkTar goes through a tar archive that is unpacked already.
func walkTar(ctx context.Context, r io.Reader, name string, each func(*tar.Header, io.Reader) error) error {
	files := tar.NewReader(limit(ctx, r, maxStream, name+" unpacked"))
	for n := 0; ; n++ {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // checkPath judges all of them
			return damaged(name, err)
		}
		if n == maxEntries {
			return refuse(hintHostile, "%s has more than %d files", name, maxEntries)
		}
		if err := each(h, files); err != nil {
			return damaged(name, err)
		}
	}
}

// kernelsOfDebFiles reads the file lists of module packages whose names do not tell the kernel, and
// those are taken only from packages with the stated checksum.
func (im *importer) kernelsOfDebFiles(ctx context.Context, t tree, f *found) error {
	for i := range f.packages {
		p := &f.packages[i]
		if !isCoreDriver(p.Name) || len(p.kernels) > 0 {
			continue
		}
		file, err := t.open(ctx, p.path)
		if errors.Is(err, errNoList) {
			continue
		}
		if err != nil {
			return err
		}
		err = p.readDebKernels(ctx, file)
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (p *pkg) readDebKernels(ctx context.Context, file io.Reader) error {
	r, ok := file.(readerAt)
	if !ok {
		return nil // in an archive or on the web: the name must do
	}
	if err := p.sum.checkFile(ctx, p.path, r); err != nil {
		return err
	}
	d, err := openDeb(ctx, p.path, r)
	if err != nil {
		return err
	}
	var paths []string
	err = d.walk(ctx, func(h *tar.Header, _ io.Reader) error {
		if h.Typeflag == tar.TypeReg {
			paths = append(paths, h.Name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.kernels, err = kernelsOfPaths(paths)
	return err
}

type readerAt interface {
	io.Reader
	io.ReaderAt
}
