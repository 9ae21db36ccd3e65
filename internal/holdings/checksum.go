package holdings

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"io"
	"strings"
)

// stated is what a signed file says of another one.
type stated struct {
	size int64 // bytes, -1 when it does not say
	kind string
	sum  string // hex
}

// check refuses content of another size or checksum than is stated.
func (s stated) check(name string, data []byte) error {
	if s.size >= 0 && int64(len(data)) != s.size {
		return refuse(hintDamaged, "%s has %d bytes, not the %d that are stated", name, len(data), s.size)
	}
	h := hasher(s.kind)
	if h == nil {
		return refuse("use a source with SHA-256 checksums", "the checksum of %s is %q, which cannot be relied on", name, clip(s.kind))
	}
	h.Write(data)
	want, err := hex.DecodeString(strings.TrimSpace(s.sum))
	if err != nil || !bytes.Equal(h.Sum(nil), want) {
		return refuse(hintDamaged, "%s has another checksum than is stated", name)
	}
	return nil
}

// hasher gives the checksums that are accepted: no collision of them is known.
func hasher(kind string) hash.Hash {
	switch strings.ToLower(kind) {
	case "sha256":
		return sha256.New()
	case "sha512":
		return sha512.New()
	}
	return nil
}

// checkFile is check for a file that is too large to keep, from its start.
func (s stated) checkFile(ctx context.Context, name string, r io.ReaderAt) error {
	h := hasher(s.kind)
	if h == nil {
		return refuse("use a source with SHA-256 checksums", "the checksum of %s is %q, which cannot be relied on", name, clip(s.kind))
	}
	n, err := io.Copy(h, limit(ctx, io.NewSectionReader(r, 0, maxStream), maxStream, name))
	if err != nil {
		return err
	}
	want, err := hex.DecodeString(strings.TrimSpace(s.sum))
	if err != nil || s.size >= 0 && n != s.size || !bytes.Equal(h.Sum(nil), want) {
		return refuse(hintDamaged, "%s has another size or checksum than is stated", name)
	}
	return nil
}
