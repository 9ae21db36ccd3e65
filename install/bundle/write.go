package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/fault"
)

// Blob is a content before it is in a bundle: a file, or text.
type Blob struct {
	Content
	File string // empty: Text
	Text []byte
}

// TextBlob is a text as a content.
func TextBlob(text []byte) Blob {
	sum := sha256.Sum256(text)
	return Blob{Content: Content{SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(text))}, Text: text}
}

// FileBlob reads a file for its checksum.
func FileBlob(path string) (Blob, error) {
	f, err := os.Open(path)
	if err != nil {
		return Blob{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return Blob{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return Blob{Content: Content{SHA256: hex.EncodeToString(h.Sum(nil)), Bytes: n}, File: path}, nil
}

// Made is what Write made.
type Made struct {
	Manifest Manifest
	SHA256   string
	Bytes    int64
}

// Write writes a bundle in the place of path, whole or not at all, and its checksum in path.sha256. m has all
// but the contents, which are the blobs, each once. progress is told of what is written in bytes; it may be nil.
func Write(ctx context.Context, path string, m Manifest, blobs []Blob, s Signer, progress func(int64)) (made Made, err error) {
	blobs = slices.Clone(blobs)
	slices.SortFunc(blobs, func(a, b Blob) int { return strings.Compare(a.SHA256, b.SHA256) })
	blobs = slices.CompactFunc(blobs, func(a, b Blob) bool { return a.SHA256 == b.SHA256 })
	m.Schema, m.Contents = Schema, []Content{}
	for _, b := range blobs {
		m.Contents = append(m.Contents, b.Content)
	}
	m.Fingerprint = s.Fingerprint()
	if m.Key, err = s.Public(); err != nil {
		return made, err
	}
	if err := m.check(); err != nil {
		return made, fmt.Errorf("cannot make the bundle: %w", err)
	}
	manifest, err := m.encode()
	if err != nil {
		return made, fmt.Errorf("cannot make the bundle: %w", err)
	}
	signature, err := s.Detached(manifest)
	if err != nil {
		return made, err
	}
	made.Manifest = m
	made.SHA256, err = replace(path, func(w io.Writer) error {
		out := &layer{w: w, ctx: ctx, tell: progress}
		if err := out.text(manifestName, manifest); err != nil {
			return err
		}
		if err := out.text(signatureName, signature); err != nil {
			return err
		}
		for _, b := range blobs {
			if err := out.blob(b); err != nil {
				return err
			}
		}
		_, err := out.Write(make([]byte, end))
		made.Bytes = out.n
		return err
	})
	if err != nil {
		return made, err
	}
	line := made.SHA256 + "  " + filepath.Base(path) + "\n"
	_, err = replace(path+".sha256", func(w io.Writer) error {
		_, err := io.WriteString(w, line)
		return err
	})
	return made, err
}

// layer writes one file after another.
type layer struct {
	w    io.Writer
	ctx  context.Context // of one call
	tell func(int64)
	n    int64
}

func (l *layer) Write(p []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := l.w.Write(p)
	l.n += int64(n)
	if l.tell != nil && n > 0 {
		l.tell(int64(n))
	}
	return n, err
}

func (l *layer) begin(name string, size int64) error {
	head, err := header(name, size)
	if err != nil {
		return err
	}
	_, err = l.Write(head)
	return err
}

func (l *layer) fill(size int64) error {
	_, err := l.Write(make([]byte, padded(size)-size))
	return err
}

func (l *layer) text(name string, data []byte) error {
	if err := l.begin(name, int64(len(data))); err != nil {
		return err
	}
	if _, err := l.Write(data); err != nil {
		return err
	}
	return l.fill(int64(len(data)))
}

func (l *layer) blob(b Blob) error {
	if b.File == "" {
		return l.text(poolDir+b.SHA256, b.Text)
	}
	f, err := os.Open(b.File)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", b.File, err)
	}
	defer f.Close()
	if err := l.begin(poolDir+b.SHA256, b.Bytes); err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.CopyBuffer(&beside{l, sum}, struct{ io.Reader }{io.LimitReader(f, b.Bytes+1)}, make([]byte, chunk))
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); n != b.Bytes || got != b.SHA256 {
		return fault.New(fault.Failed, "wrong-checksum", "remove it, and run the command again",
			"cannot make the bundle: %s has the SHA-256 %s, and by the index of its repository %s", b.File, got, b.SHA256)
	}
	return l.fill(b.Bytes)
}

// chunk is how many bytes are read, written and summed at a time.
const chunk = 1 << 20

// beside writes to w while it sums: the disk and a second processor need not wait for each other.
type beside struct {
	w   io.Writer
	sum hash.Hash
}

func (b *beside) Write(p []byte) (int, error) {
	summed := make(chan struct{})
	go func() {
		defer close(summed)
		b.sum.Write(p) // a hash has no errors
	}()
	n, err := b.w.Write(p)
	<-summed
	return n, err
}

// replace writes a file beside and puts it into its place when it is whole and on the disk. It returns its
// SHA-256.
func replace(path string, fill func(io.Writer) error) (sum string, err error) {
	fail := func(err error) (string, error) {
		var p *os.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return "", fault.New(fault.Failed, "cannot-write", "choose a directory that you may write and that has room", "cannot write %s: %w", path, err)
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fail(errors.New("it is there, and no ordinary file"))
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*~")
	if err != nil {
		return fail(err)
	}
	h := sha256.New()
	err = fill(&beside{f, h})
	var known *fault.Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) {
		return "", errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the error says what matters
		return fail(err)
	}
	return hex.EncodeToString(h.Sum(nil)), syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", dir, err)
	}
	return errors.Join(d.Sync(), d.Close())
}
