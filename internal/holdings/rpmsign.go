package holdings

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/cavaliergopher/rpm"

	"github.com/rdmactl/rdmactl/internal/archive"
)

// Tags of a signature header that are of no signature: sizes and checksums of header and payload.
func keptSignatureTag(tag uint32) bool {
	return slices.Contains([]uint32{269, 270, 271, 273, 1000, 1004, 1007}, tag)
}

const tagRegion = 62 // RPMTAG_HEADERSIGNATURES, which says what part of the header is one whole

// signedRPM says what became of a package that was signed.
type signedRPM struct {
	sum        string // SHA-256
	size       int64
	start, end int64 // of the header, as an index has it
}

// signRPM gives the package at name another signature: that of its header, which has the checksum of the payload since
// rpm 4.14. It is written beside and put into its place.
func signRPM(ctx context.Context, folder *os.Root, name string, sign func([]byte) ([]byte, error)) (out signedRPM, err error) {
	in, err := folder.Open(name) // a link within the folder is followed, and replaced
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	info, err := in.Stat()
	if err != nil {
		return out, err
	}
	if !info.Mode().IsRegular() {
		return out, refuse(hintHostile, "%s is not a regular file", clip(name))
	}
	raw, header, err := readRPMHeaders(io.NewSectionReader(in, 0, info.Size()))
	if err != nil {
		return out, refuse(hintDamaged, "%s is no sound rpm package: %w", clip(name), err)
	}
	text, err := sign(header)
	if err != nil {
		return out, err
	}
	block, err := armor.Decode(bytes.NewReader(text))
	if err != nil {
		return out, err
	}
	signature, err := io.ReadAll(io.LimitReader(block.Body, maxSmallFile))
	if err != nil {
		return out, err
	}
	old := raw[rpmLead : len(raw)-len(header)]
	front := append(slices.Clone(raw[:rpmLead]), signatureHeader(old, signature)...)
	part := name + ".signed"
	to, err := folder.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return out, err
	}
	sum := sha256.New()
	rest := io.NewSectionReader(in, int64(len(raw)-len(header)), info.Size())
	out.size, err = io.Copy(io.MultiWriter(to, sum), io.MultiReader(bytes.NewReader(front), archive.Bounded(ctx, rest, info.Size(), errChanged())))
	if err = errors.Join(err, to.Chmod(0o644), to.Close()); err != nil {
		return out, err
	}
	out.sum, out.start, out.end = hex.EncodeToString(sum.Sum(nil)), int64(len(front)), int64(len(front)+len(header))
	return out, folder.Rename(part, name)
}

const rpmLead = 96 // bytes

// headerEntry is one entry of a header with its data.
type headerEntry struct {
	tag, kind, count uint32
	data             []byte
}

// align is what the place of data of a kind is a multiple of.
func align(kind uint32) int {
	switch rpm.TagType(kind) {
	case rpm.TagTypeInt16:
		return 2
	case rpm.TagTypeInt32:
		return 4
	case rpm.TagTypeInt64:
		return 8
	}
	return 1
}

// signatureHeader is the signature header old, which was checked, with this signature in place of others, padded as
// the lead wants it.
func signatureHeader(old, signature []byte) []byte {
	count := int(binary.BigEndian.Uint32(old[8:]))
	index, store := old[16:16+16*count], old[16+16*count:]
	entries := []headerEntry{{268, uint32(rpm.TagTypeBinary), uint32(len(signature)), signature}} // RPMSIGTAG_RSA, of the header
	for ; len(index) > 0; index = index[16:] {
		e := headerEntry{tag: binary.BigEndian.Uint32(index), kind: binary.BigEndian.Uint32(index[4:]), count: binary.BigEndian.Uint32(index[12:])}
		if keptSignatureTag(e.tag) && e.kind != uint32(rpm.TagTypeNull) {
			e.data = entryData(e, store[binary.BigEndian.Uint32(index[8:]):])
			entries = append(entries, e)
		}
	}
	slices.SortStableFunc(entries, func(a, b headerEntry) int { return cmp.Compare(a.tag, b.tag) })
	var rows, data []byte
	for _, e := range entries {
		for len(data)%align(e.kind) != 0 {
			data = append(data, 0)
		}
		rows = appendRow(rows, e.tag, e.kind, uint32(len(data)), e.count)
		data = append(data, e.data...)
	}
	n := uint32(len(entries) + 1)
	region := appendRow(nil, tagRegion, uint32(rpm.TagTypeBinary), uint32(len(data)), 16)
	data = appendRow(data, tagRegion, uint32(rpm.TagTypeBinary), -(n * 16), 16) // how far back the index begins
	out := append([]byte{}, old[:8]...)
	out = binary.BigEndian.AppendUint32(out, n)
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
	out = append(append(append(out, region...), rows...), data...)
	for len(out)%8 != 0 {
		out = append(out, 0)
	}
	return out
}

func appendRow(to []byte, fields ...uint32) []byte {
	for _, f := range fields {
		to = binary.BigEndian.AppendUint32(to, f)
	}
	return to
}

// entryData is the data of an entry, which lies in the store as checkRPMHeader has made sure.
func entryData(e headerEntry, store []byte) []byte {
	switch rpm.TagType(e.kind) {
	case rpm.TagTypeString, rpm.TagTypeStringArray, rpm.TagTypeI18NString:
		end := 0
		for range e.count {
			end += bytes.IndexByte(store[end:], 0) + 1
		}
		return store[:end]
	}
	return store[:int(e.count)*align(e.kind)]
}
