package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/openpgpkey"
)

// Bundle is an open bundle whose manifest and size are sound. Whether its contents are as the manifest says is
// what Verify tells, and whether it is the one that is meant what Prove does.
type Bundle struct {
	Manifest Manifest
	// Path is as it was named, Size in bytes.
	Path string
	Size int64

	file      io.ReaderAt
	close     func() error
	manifest  []byte
	signature []byte
	offsets   map[string]int64 // of contents, by checksum
	sizes     map[string]int64
	sum       string // of the whole file, after Verify
}

// Open opens the file of a bundle. The caller closes it.
func Open(path string) (*Bundle, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, unreadable(path, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, errors.Join(unreadable(path, err), f.Close())
	case !info.Mode().IsRegular():
		return nil, errors.Join(unreadable(path, errors.New("not a regular file")), f.Close())
	}
	b, err := read(f, info.Size())
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	b.Path, b.close = path, f.Close
	return b, nil
}

func unreadable(path string, err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fault.New(fault.Usage, "faulty-bundle", "name a file that `rdmactl bundle create` wrote", "cannot open the bundle %s: %w", path, err)
}

// Close gives the file free.
func (b *Bundle) Close() error { return b.close() }

// read reads all but the contents of a bundle of size bytes.
func read(file io.ReaderAt, size int64) (*Bundle, error) {
	b := &Bundle{Size: size, file: file, close: func() error { return nil }, offsets: map[string]int64{}, sizes: map[string]int64{}}
	at := int64(0)
	var err error
	if b.manifest, at, err = b.first(at, manifestName, maxManifest); err != nil {
		return nil, err
	}
	if b.signature, at, err = b.first(at, signatureName, maxSignature); err != nil {
		return nil, err
	}
	if b.Manifest, err = decode(b.manifest); err != nil {
		return nil, err
	}
	for _, c := range b.Manifest.Contents {
		at += block
		b.offsets[c.SHA256], b.sizes[c.SHA256] = at, c.Bytes
		at += padded(c.Bytes)
	}
	if want := at + end; size != want {
		return nil, faulty("it has %d bytes, and by its manifest %d: it was cut off, or something was added", size, want)
	}
	by, err := signedBy([]string{b.Manifest.Key}, b.manifest, b.signature, b.Manifest.Made, b.Manifest.Made)
	if err != nil {
		return nil, refuse("the signature of its manifest is not good", err)
	}
	if by != openpgpkey.Normal(b.Manifest.Fingerprint) {
		return nil, faulty("its manifest names the key %s and is signed by %s", clip(b.Manifest.Fingerprint), by)
	}
	return b, nil
}

// first reads one of the files at the beginning.
func (b *Bundle) first(at int64, name string, most int64) (data []byte, next int64, err error) {
	head, err := b.part(at, block)
	if err != nil {
		return nil, 0, err
	}
	size, err := sized(head, name, most)
	if err != nil {
		return nil, 0, err
	}
	if at+block+padded(size) > b.Size {
		return nil, 0, faulty("it ends within %s", name)
	}
	data, err = b.part(at+block, padded(size))
	if err != nil {
		return nil, 0, err
	}
	if !zero(data[size:]) {
		return nil, 0, faulty("something stands behind %s", name)
	}
	return data[:size], at + block + padded(size), nil
}

func (b *Bundle) part(at, size int64) ([]byte, error) {
	data := make([]byte, size)
	if _, err := b.file.ReadAt(data, at); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, faulty("it ends too early")
		}
		return nil, fmt.Errorf("cannot read the bundle: %w", err)
	}
	return data, nil
}

func zero(data []byte) bool { return len(bytes.Trim(data, "\x00")) == 0 }

// Verify reads the whole file and compares each content with its checksum, and returns the checksum of the
// file. progress is told of each part in bytes; it may be nil.
func (b *Bundle) Verify(ctx context.Context, progress func(bytes int64)) (string, error) {
	whole := sha256.New()
	in := &counted{r: io.TeeReader(io.NewSectionReader(b.file, 0, b.Size), whole), ctx: ctx, tell: progress}
	for _, p := range []struct {
		name string
		data []byte
	}{{manifestName, b.manifest}, {signatureName, b.signature}} {
		if err := expect(in, p.name, int64(len(p.data))); err != nil {
			return "", err
		}
		again := make([]byte, len(p.data))
		if _, err := io.ReadFull(in, again); err != nil {
			return "", shortened(err)
		}
		if !bytes.Equal(again, p.data) {
			return "", faulty("it is being changed while it is read")
		}
		if err := fill(in, int64(len(p.data))); err != nil {
			return "", err
		}
	}
	for _, c := range b.Manifest.Contents {
		if err := expect(in, poolDir+c.SHA256, c.Bytes); err != nil {
			return "", err
		}
		one := sha256.New()
		if _, err := io.CopyN(one, in, c.Bytes); err != nil {
			return "", shortened(err)
		}
		if got := hex.EncodeToString(one.Sum(nil)); got != c.SHA256 {
			return "", faulty("the content of %s has the SHA-256 %s, and by the manifest %s", b.named(c.SHA256), got, c.SHA256)
		}
		if err := fill(in, c.Bytes); err != nil {
			return "", err
		}
	}
	tail := make([]byte, end)
	if _, err := io.ReadFull(in, tail); err != nil {
		return "", shortened(err)
	}
	if !zero(tail) {
		return "", faulty("it has %s where its end is expected", described(tail[:block]))
	}
	b.sum = hex.EncodeToString(whole.Sum(nil))
	return b.sum, nil
}

// named is a file that has a content.
func (b *Bundle) named(sum string) string {
	for _, r := range b.Manifest.Repositories {
		for _, f := range r.Files {
			if f.SHA256 == sum {
				return f.Path
			}
		}
	}
	return "a file"
}

func shortened(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return faulty("it ends too early")
	}
	return fmt.Errorf("cannot read the bundle: %w", err)
}

// expect reads the header that a file must have.
func expect(in io.Reader, name string, size int64) error {
	want, err := header(name, size)
	if err != nil {
		return err
	}
	have := make([]byte, block)
	if _, err := io.ReadFull(in, have); err != nil {
		return shortened(err)
	}
	if !bytes.Equal(have, want) {
		return faulty("it has %s where %s of %d bytes is expected", described(have), name, size)
	}
	return nil
}

// fill reads what fills the last block of a file.
func fill(in io.Reader, size int64) error {
	rest := make([]byte, padded(size)-size)
	if _, err := io.ReadFull(in, rest); err != nil {
		return shortened(err)
	}
	if !zero(rest) {
		return faulty("something stands between its files")
	}
	return nil
}

// counted tells how much was read, and ends when it is no longer wanted.
type counted struct {
	r    io.Reader
	ctx  context.Context // of one call
	tell func(int64)
}

func (c *counted) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	if c.tell != nil && n > 0 {
		c.tell(int64(n))
	}
	return n, err
}

// Proof is what shows that a bundle is the one that is meant.
type Proof struct {
	SHA256 string   // of the file, hex digits
	Keys   []string // texts of public keys, one of which signed the manifest
	// Trust takes the bundle without any.
	Trust bool
}

// Prove says by what a verified bundle is proven, in words.
func (b *Bundle) Prove(p Proof, now time.Time) (string, error) {
	by := []string{}
	if p.SHA256 != "" {
		if !strings.EqualFold(p.SHA256, b.sum) {
			return "", fault.New(fault.Usage, "wrong-checksum", "get the file again from where it was made, or compare the digits",
				"cannot use the bundle %s: its SHA-256 is %s, not %s", b.Path, b.sum, strings.ToLower(p.SHA256))
		}
		by = append(by, "its SHA-256")
	}
	if len(p.Keys) > 0 {
		finger, err := signedBy(p.Keys, b.manifest, b.signature, now, b.Manifest.Made)
		if err != nil {
			return "", fault.New(fault.Usage, "faulty-bundle", "name the public part of the key that was given to `rdmactl bundle create --sign-key`",
				"cannot use the bundle %s: none of the keys that were given signed it: %w", b.Path, err)
		}
		by = append(by, "the signature of "+finger)
	}
	switch {
	case len(by) > 0:
		return strings.Join(by, " and "), nil
	case p.Trust:
		return "nothing but --trust-bundle", nil
	}
	return "", fault.New(fault.Stopped, "bundle-not-proven", "give --sha256 with the digits that `rdmactl bundle create` printed, or --key with the key that signed it; --trust-bundle takes it without",
		"cannot trust the bundle %s: nothing shows that it is the one that was made", b.Path)
}

// SHA256 is that of the whole file, after Verify.
func (b *Bundle) SHA256() string { return b.sum }
