package kmod

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

const xzMagic = "\xfd7zXZ\x00"

// xzReader reads the container of the .xz file format 1.1.0 with LZMA2 as the only filter, which is
// all that the kernel itself can unpack beside BCJ. The container is read here because a general
// reader allocates the dictionary that a file asks for, up to 4 GiB; this one refuses first.
// Several blocks are usual: xz 5.6 packs with threads.
type xzReader struct {
	in       *countingReader
	checkLen int
	newCheck func() hash.Hash
	block    io.Reader
	check    hash.Hash
	start    int64 // offset of the block's header
	err      error
}

func newXZReader(packed io.Reader) *xzReader {
	x := &xzReader{in: &countingReader{r: bufio.NewReader(packed)}}
	x.err = x.streamHeader()
	return x
}

func (x *xzReader) Read(p []byte) (int, error) {
	for x.err == nil {
		if x.block == nil {
			if x.err = x.nextBlock(); x.err != nil {
				break
			}
		}
		n, err := x.block.Read(p)
		x.check.Write(p[:n])
		if err == io.EOF {
			err = x.endBlock()
			x.block = nil
		}
		x.err = err
		if n > 0 {
			return n, nil
		}
	}
	return 0, x.err
}

func (x *xzReader) streamHeader() error {
	var h [12]byte
	if _, err := io.ReadFull(x.in, h[:]); err != nil {
		return fmt.Errorf("xz: %w", eofIsUnexpected(err))
	}
	if string(h[:6]) != xzMagic || binary.LittleEndian.Uint32(h[8:]) != crc32.ChecksumIEEE(h[6:8]) || h[6] != 0 {
		return errors.New("xz: stream header is damaged")
	}
	switch h[7] {
	case 0:
		x.newCheck = func() hash.Hash { return noCheck{} }
	case 1:
		x.newCheck = func() hash.Hash { return crc32.NewIEEE() }
	case 4:
		table := crc64.MakeTable(crc64.ECMA)
		x.newCheck = func() hash.Hash { return crc64.New(table) }
	case 10:
		x.newCheck = sha256.New
	default:
		return fmt.Errorf("xz: check type %d is not known", h[7])
	}
	x.checkLen = x.newCheck().Size()
	return nil
}

// nextBlock reads a block's header, or the start of the index: then the data is complete.
func (x *xzReader) nextBlock() error {
	x.start = x.in.n
	first, err := x.in.ReadByte()
	if err != nil {
		return fmt.Errorf("xz: block header: %w", eofIsUnexpected(err))
	}
	if first == 0 {
		return io.EOF
	}
	header := make([]byte, (int(first)+1)*4)
	header[0] = first
	if _, err := io.ReadFull(x.in, header[1:]); err != nil {
		return fmt.Errorf("xz: block header: %w", eofIsUnexpected(err))
	}
	dict, err := blockDictionary(header)
	if err != nil {
		return err
	}
	x.block, err = lzma.Reader2Config{DictCap: dict}.NewReader2(x.in)
	if err != nil {
		return fmt.Errorf("xz: %w", err)
	}
	x.check = x.newCheck()
	return nil
}

// blockDictionary returns the dictionary size, in bytes, that a block's header asks for.
func blockDictionary(header []byte) (int, error) {
	body, sum := header[:len(header)-4], header[len(header)-4:]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(sum) {
		return 0, errors.New("xz: block header is damaged")
	}
	flags, r := body[1], bytes.NewReader(body[2:])
	if flags&0x3f != 0 {
		return 0, errors.New("xz: more than one filter, only LZMA2 is supported")
	}
	for _, sizeFlag := range []byte{0x40, 0x80} {
		if flags&sizeFlag != 0 {
			if _, err := binary.ReadUvarint(r); err != nil {
				return 0, errors.New("xz: block header is damaged")
			}
		}
	}
	var filter [3]byte
	if _, err := io.ReadFull(r, filter[:]); err != nil || filter[0] != 0x21 || filter[1] != 1 {
		return 0, fmt.Errorf("xz: filter %#x is not LZMA2", filter[0])
	}
	dict, err := lzma.DecodeDictCap(filter[2])
	if err != nil {
		return 0, fmt.Errorf("xz: %w", err)
	}
	if dict > maxWindow {
		return 0, fmt.Errorf("xz: asks for a dictionary of %d MiB, limit %d MiB", dict>>20, maxWindow>>20)
	}
	return max(int(dict), lzma.MinDictCap), nil
}

// endBlock reads the padding to a multiple of four and the check.
func (x *xzReader) endBlock() error {
	pad := int(-(x.in.n - x.start) & 3)
	tail := make([]byte, pad+x.checkLen)
	if _, err := io.ReadFull(x.in, tail); err != nil {
		return fmt.Errorf("xz: %w", eofIsUnexpected(err))
	}
	want := x.check.Sum(nil)
	if x.checkLen < sha256.Size {
		reverse(want) // CRCs are little endian in the file, Go prints them big endian
	}
	if !bytes.Equal(tail[pad:], want) {
		return errors.New("xz: data does not match its checksum")
	}
	return nil
}

func reverse(b []byte) {
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
}

func eofIsUnexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// countingReader knows how far it was read; being a ByteReader, it is not read ahead of.
type countingReader struct {
	r *bufio.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *countingReader) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

// noCheck is the check of a stream without one.
type noCheck struct{}

func (noCheck) Write(p []byte) (int, error) { return len(p), nil }
func (noCheck) Sum(b []byte) []byte         { return b }
func (noCheck) Reset()                      {}
func (noCheck) Size() int                   { return 0 }
func (noCheck) BlockSize() int              { return 1 }
