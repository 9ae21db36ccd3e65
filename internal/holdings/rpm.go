package holdings

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cavaliergopher/rpm"
)

// Tags of an rpm's headers, of rpm's rpmtag.h.
const (
	sigDSA     = 267 // over the header
	sigRSA     = 268 // over the header
	sigPGP     = 1002
	sigGPG     = 1005
	tagPayload = 5092 // digest of the compressed payload, since rpm 4.14
	tagAlgo    = 5093 // of that digest; 8 is SHA-256
	tagDirs    = 1118
	tagNames   = 1117
	tagIndexes = 1116
)

// rpmFile is an opened rpm package.
type rpmFile struct {
	pkg
	header []byte // the signed header as it stands in the file
	parsed *rpm.Package
	paths  []string
	length int64 // bytes before the payload
}

// readRPMHeaders reads the raw start of an rpm: lead and both headers.
func readRPMHeaders(r io.Reader) (raw, header []byte, err error) {
	raw = make([]byte, 96)
	if _, err := io.ReadFull(r, raw); err != nil {
		return nil, nil, err
	}
	if !bytes.HasPrefix(raw, []byte{0xed, 0xab, 0xee, 0xdb}) {
		return nil, nil, errors.New("it does not start as an rpm does")
	}
	for _, signature := range []bool{true, false} {
		start := len(raw)
		if raw, err = appendRPMHeader(raw, r, signature); err != nil {
			return nil, nil, err
		}
		header = raw[start:]
	}
	return raw, header, nil
}

// appendRPMHeader reads one header and checks it entry by entry: the parser of rpm 1.3.0 allocates
// what an entry states before it looks whether the header can hold it, and slices beyond the end of
// texts without a NUL.
func appendRPMHeader(raw []byte, r io.Reader, padded bool) ([]byte, error) {
	var intro [16]byte
	if _, err := io.ReadFull(r, intro[:]); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(intro[:], []byte{0x8e, 0xad, 0xe8}) {
		return nil, errors.New("a header does not start as one")
	}
	count, size := int64(binary.BigEndian.Uint32(intro[8:])), int64(binary.BigEndian.Uint32(intro[12:]))
	if count > 4096 || size > maxRPMHeader {
		return nil, refuse(hintHostile, "a header has %d entries and %d bytes, more than any package's", count, size)
	}
	body := make([]byte, count*16+size)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, err
	}
	if err := checkRPMHeader(body[:count*16], body[count*16:]); err != nil {
		return nil, err
	}
	raw = append(append(raw, intro[:]...), body...)
	if pad := (8 - size%8) % 8; padded && pad > 0 {
		var zero [8]byte
		if _, err := io.ReadFull(r, zero[:pad]); err != nil {
			return nil, err
		}
		raw = append(raw, zero[:pad]...)
	}
	return raw, nil
}

func checkRPMHeader(index, store []byte) error {
	total := int64(0) // entries may overlap, so their sum is bounded too
	for ; len(index) > 0; index = index[16:] {
		kind := binary.BigEndian.Uint32(index[4:])
		offset, count := int64(binary.BigEndian.Uint32(index[8:])), int64(binary.BigEndian.Uint32(index[12:]))
		if offset > int64(len(store)) || count < 1 {
			return errors.New("an entry of a header lies outside of it")
		}
		var bytesOf int64
		switch rpm.TagType(kind) {
		case rpm.TagTypeNull:
		case rpm.TagTypeChar, rpm.TagTypeInt8, rpm.TagTypeBinary:
			bytesOf = count
		case rpm.TagTypeInt16:
			bytesOf = 2 * count
		case rpm.TagTypeInt32:
			bytesOf = 4 * count
		case rpm.TagTypeInt64:
			bytesOf = 8 * count
		case rpm.TagTypeString, rpm.TagTypeStringArray, rpm.TagTypeI18NString:
			if count > int64(len(store))-offset {
				return errors.New("an entry of a header lies outside of it")
			}
			for range count {
				n := bytes.IndexByte(store[offset+bytesOf:], 0)
				if n < 0 {
					return errors.New("a text of a header does not end")
				}
				bytesOf += int64(n) + 1
			}
		default:
			return fmt.Errorf("an entry of a header has the unknown type %d", kind)
		}
		if bytesOf > int64(len(store))-offset {
			return errors.New("an entry of a header lies outside of it")
		}
		if total += bytesOf; total > 2*int64(len(store))+4096 {
			return errors.New("the entries of a header overlap")
		}
	}
	return nil
}

// openRPM reads the headers of an rpm; what follows in r is the payload.
func openRPM(name string, r io.Reader) (rpmFile, error) {
	bad := func(err error) (rpmFile, error) {
		var own *refusal
		if errors.As(err, &own) {
			return rpmFile{}, err
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("it is cut short")
		}
		return rpmFile{}, refuse(hintDamaged, "%s is no sound rpm package: %w", name, err)
	}
	raw, header, err := readRPMHeaders(r)
	if err != nil {
		return bad(err)
	}
	parsed, err := rpm.Read(bytes.NewReader(raw))
	if err != nil {
		return bad(err)
	}
	f := rpmFile{header: header, parsed: parsed, length: int64(len(raw))}
	f.Name, f.Arch = parsed.Name(), parsed.Architecture()
	f.Version = evr(strconv.Itoa(parsed.Epoch()), parsed.Version(), parsed.Release())
	if parsed.Header.GetTag(1106) == nil && parsed.Header.GetTag(1044) == nil { // SOURCEPACKAGE, SOURCERPM
		f.Arch = "src"
	}
	if err := checkPackage(f.Name, f.Version, f.Arch); err != nil {
		return rpmFile{}, err
	}
	if f.paths, err = rpmPaths(parsed); err != nil {
		return bad(err)
	}
	if isCoreDriver(f.Name) {
		if f.kernels, err = kernelsOfPaths(f.paths); err != nil {
			return rpmFile{}, err
		}
		if len(f.kernels) == 0 {
			f.kernels = kernelsOfRPM(f.Name, f.Version)
		}
	}
	return f, nil
}

// rpmPaths are the files of a package. Package.Files of rpm 1.3.0 panics when the lists differ in
// length, so they are joined here.
func rpmPaths(p *rpm.Package) ([]string, error) {
	dirs, names, indexes := p.Header.GetTag(tagDirs).StringSlice(), p.Header.GetTag(tagNames).StringSlice(), p.Header.GetTag(tagIndexes).Int64Slice()
	if len(names) != len(indexes) || len(names) > maxEntries {
		return nil, errors.New("its list of files is not whole")
	}
	paths := make([]string, 0, len(names))
	for i, name := range names {
		if indexes[i] < 0 || indexes[i] >= int64(len(dirs)) {
			return nil, errors.New("its list of files is not whole")
		}
		paths = append(paths, dirs[indexes[i]]+name)
	}
	return paths, nil
}

func evr(epoch, version, release string) string {
	v := version + "-" + release
	if epoch != "" && epoch != "0" {
		v = epoch + ":" + v
	}
	return v
}

// signature judges an rpm by the signature of its header, which names everything that is taken from
// it. It does not speak for the payload: payload does.
func (f rpmFile) signature(j *judge, what string) (string, error) {
	for _, tag := range []int{sigRSA, sigDSA} {
		if sig := f.parsed.Signature.GetTag(tag).Bytes(); sig != nil {
			return j.detached(what, bytes.NewReader(f.header), sig)
		}
	}
	for _, tag := range []int{sigPGP, sigGPG} {
		if f.parsed.Signature.GetTag(tag).Bytes() != nil {
			return "", refuse("take packages signed by rpm 4.0 or later", "the signature of %s covers header and payload together, which is not read here", what)
		}
	}
	return "", j.unsigned(what)
}

// payloadCheck returns a writer for the compressed payload and what to ask at its end. Packages built
// before rpm 4.14 state no digest: nil.
func (f rpmFile) payloadCheck() (io.Writer, func() error) {
	sums, algo := f.parsed.Header.GetTag(tagPayload).StringSlice(), f.parsed.Header.GetTag(tagAlgo).Int64()
	if len(sums) == 0 || algo != 8 {
		return nil, nil
	}
	h := sha256.New()
	return h, func() error {
		if hex.EncodeToString(h.Sum(nil)) != strings.ToLower(sums[0]) {
			return refuse(hintDamaged, "the payload of the package has another checksum than its header states")
		}
		return nil
	}
}

// walkPayload goes through the files of an rpm; compressed is what follows the headers.
func (f rpmFile) walkPayload(ctx context.Context, name string, compressed io.Reader, each func(cpioHeader, io.Reader) error) error {
	if format := f.parsed.PayloadFormat(); format != "cpio" {
		return refuse("install the package, and name the folder of its repository", "the payload of %s is %q, not cpio", name, clip(format))
	}
	sum, done := f.payloadCheck()
	if sum != nil {
		compressed = io.TeeReader(compressed, sum)
	}
	kind := f.parsed.PayloadCompression()
	r, err := unpacker(kind, compressed)
	if err != nil {
		return damaged(name, err)
	}
	defer r.Close()
	if err := walkCPIO(ctx, r, name, each); err != nil {
		return err
	}
	if done == nil {
		return nil
	}
	if _, err := io.Copy(io.Discard, limit(ctx, compressed, maxStream, name)); err != nil {
		return damaged(name, err)
	}
	return done()
}
