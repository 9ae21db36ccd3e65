package holdings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"sync"
)

// maxFile is what a packed file may have, in bytes. A bundle with sources and firmware has some 1.5 GB.
const maxFile = 16 << 30

// sealedBlock is how much of a file one checksum covers.
const sealedBlock = 256 << 10

// sealed is a file whose content was summed up whole. Whatever is read of it later is the same, or the reading
// fails: the file may belong to someone who changes it in between, and an image cannot be read in one go.
type sealed struct {
	file   io.ReaderAt
	size   int64
	sum    string // SHA-256, hex
	blocks [][sha256.Size]byte

	mu    sync.Mutex
	at    int64 // number of the block that is held, -1 for none
	block []byte
}

// seal reads a file of size bytes once.
func seal(ctx context.Context, file io.ReaderAt, size int64) (*sealed, error) {
	if size > maxFile {
		return nil, refuse(hintHostile, "it has %d MiB, more than the %d that a bundle may have", size>>20, maxFile>>20)
	}
	s := &sealed{file: file, size: size, at: -1}
	whole := sha256.New()
	block := make([]byte, sealedBlock)
	for at := int64(0); at < size; at += sealedBlock {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part := block[:min(sealedBlock, size-at)]
		if n, err := file.ReadAt(part, at); n < len(part) {
			return nil, shortened(err)
		}
		whole.Write(part)
		s.blocks = append(s.blocks, sha256.Sum256(part))
	}
	s.sum = hex.EncodeToString(whole.Sum(nil))
	return s, nil
}

// shortened words that a file ended before its size.
func shortened(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return errChanged()
	}
	return err
}

func errChanged() error {
	return refuse("put it where nobody else writes to it", "it was changed while it was read")
}

// ReadAt reads what was sealed.
func (s *sealed) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("negative offset")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	done := 0
	for done < len(p) {
		at := off + int64(done)
		if at >= s.size {
			return done, io.EOF
		}
		if err := s.load(at / sealedBlock); err != nil {
			return done, err
		}
		done += copy(p[done:], s.block[at%sealedBlock:])
	}
	return done, nil
}

// load has a block held.
func (s *sealed) load(n int64) error {
	if s.at == n {
		return nil
	}
	if s.block == nil {
		s.block = make([]byte, sealedBlock)
	}
	start := n * sealedBlock
	s.at, s.block = -1, s.block[:min(sealedBlock, s.size-start)]
	if got, err := s.file.ReadAt(s.block, start); got < len(s.block) {
		return shortened(err)
	}
	if sha256.Sum256(s.block) != s.blocks[n] {
		return errChanged()
	}
	s.at = n
	return nil
}
