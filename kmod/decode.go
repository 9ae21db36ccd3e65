package kmod

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/rdmactl/rdmactl/host"
)

const (
	// maxModuleSize bounds a decompressed module, in bytes. The largest modules of distributions
	// (amdgpu with debug information) are below 100 MiB.
	maxModuleSize = 256 << 20
	// maxWindow bounds the memory that a compressed file may ask for. The kernel's build packs with
	// a 1 MiB dictionary (xz) and at most a 128 MiB window (zstd --ultra -T0).
	maxWindow = 128 << 20
	// maxModinfo bounds the .modinfo section, in bytes; amdgpu has 100 KiB.
	maxModinfo = 8 << 20
)

// modinfoDecoder returns the decoder of a module file that is called filename.
func modinfoDecoder(filename string) host.Decoder {
	return func(file io.ReaderAt, size int64) (string, error) {
		return Decode(filename, file, size)
	}
}

// Decode prints a module file of size bytes as modinfo(8) would, under the given file name. The
// compression is told by the file's first bytes, not by its name. One difference: a newline inside a
// value is followed by two tabs, and strings whose key is no word or claims a signature are left out,
// so that nothing can pose as a line of its own.
func Decode(filename string, file io.ReaderAt, size int64) (string, error) {
	return decode(filename, file, size, maxModuleSize)
}

// decode is Decode with a bound for the unpacked size, in bytes.
func decode(filename string, file io.ReaderAt, size, limit int64) (string, error) {
	image, imageSize, err := unpack(file, size, limit)
	if err != nil {
		return "", fmt.Errorf("cannot unpack module: %w", err)
	}
	modinfo, err := modinfoSection(image)
	if err != nil {
		return "", err
	}
	sig, err := readSignature(image, imageSize)
	if err != nil {
		return "", err
	}
	return layOut(filename, modinfo, sig), nil
}

// unpack returns the ELF image of a module file, of limit bytes at most if it is packed.
func unpack(file io.ReaderAt, size, limit int64) (io.ReaderAt, int64, error) {
	var magic [6]byte
	if n, err := file.ReadAt(magic[:], 0); err != nil && err != io.EOF {
		return nil, 0, err
	} else if n < len(magic) {
		return nil, 0, fmt.Errorf("file of %d bytes is too short for a module", n)
	}
	packed := io.NewSectionReader(file, 0, size)
	var plain io.Reader
	switch {
	case string(magic[:4]) == "\x7fELF":
		return file, size, nil
	case string(magic[:]) == xzMagic:
		plain = newXZReader(packed)
	case string(magic[:4]) == "\x28\xb5\x2f\xfd":
		z, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(uint64(limit)), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, 0, err
		}
		defer z.Close()
		plain = z
	case string(magic[:2]) == "\x1f\x8b":
		z, err := gzip.NewReader(packed)
		if err != nil {
			return nil, 0, err
		}
		plain = z
	default:
		return nil, 0, fmt.Errorf("file starts with % x: neither ELF nor xz, zstd or gzip", magic)
	}
	image, err := readBounded(plain, limit)
	if err != nil {
		return nil, 0, err
	}
	return bytes.NewReader(image), int64(len(image)), nil
}

// errTooLarge says that a file unpacks to more than a module can be.
var errTooLarge = errors.New("unpacks to more than a module can be")

func readBounded(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%w (limit %d MiB)", errTooLarge, limit>>20)
	}
	return data, nil
}

// modinfoSection returns the strings "key=value" of the section .modinfo, in the file's order.
func modinfoSection(image io.ReaderAt) ([]string, error) {
	f, err := elf.NewFile(image)
	if err != nil {
		return nil, fmt.Errorf("cannot read module as ELF: %w", err)
	}
	section := f.Section(".modinfo")
	if section == nil {
		return nil, errors.New("cannot read module: it has no section .modinfo")
	}
	if section.Type == elf.SHT_NOBITS || section.Size > maxModinfo || section.FileSize > maxModinfo {
		return nil, fmt.Errorf("cannot read module: section .modinfo of %d bytes is not plausible", section.Size)
	}
	data, err := section.Data()
	if err != nil {
		return nil, fmt.Errorf("cannot read section .modinfo: %w", err)
	}
	var list []string
	for s := range strings.SplitSeq(string(data), "\x00") {
		if s != "" {
			list = append(list, s)
		}
	}
	return list, nil
}

// layOut prints as modinfo.c of kmod does: parameters last, the one seen last first.
func layOut(filename string, modinfo []string, sig *signature) string {
	var b strings.Builder
	line := func(key, value string) {
		if len(key) > 15 {
			fmt.Fprintf(&b, "%s:", key)
		} else {
			fmt.Fprintf(&b, "%-16s", key+":")
		}
		b.WriteString(strings.ReplaceAll(value, "\n", "\n\t\t"))
		b.WriteByte('\n')
	}
	line("filename", filename)
	var params []Param
	for _, s := range modinfo {
		key, value, ok := strings.Cut(s, "=")
		if !ok || !isInfoKey(key) || isComputedKey(key) {
			continue
		}
		if key == "parm" || key == "parmtype" {
			params = mergeParam(params, key, value)
			continue
		}
		line(key, value)
	}
	if sig != nil {
		line("sig_id", sig.id)
		line("signer", sig.signer)
		line("sig_key", hexColons(sig.key))
		line("sig_hashalgo", sig.hashAlgo)
		line("signature", hexColons(sig.value))
	}
	for i := len(params) - 1; i >= 0; i-- {
		p := params[i]
		switch {
		case p.Desc == "":
			line("parm", p.Name+":"+p.Type)
		case p.Type == "":
			line("parm", p.Name+":"+p.Desc)
		default:
			line("parm", p.Name+":"+p.Desc+" ("+p.Type+")")
		}
	}
	return b.String()
}

// isComputedKey says that modinfo finds this out from elsewhere than .modinfo; a module that has such a
// string tries to pass for what it is not.
func isComputedKey(key string) bool {
	switch key {
	case "filename", "sig_id", "signer", "sig_key", "sig_hashalgo", "signature":
		return true
	}
	return false
}

// mergeParam joins the strings parm (description) and parmtype of one parameter.
func mergeParam(params []Param, key, value string) []Param {
	name, text, ok := strings.Cut(value, ":")
	if !ok {
		return params
	}
	i := len(params)
	for j, p := range params {
		if p.Name == name {
			i = j
			break
		}
	}
	if i == len(params) {
		params = append(params, Param{Name: name})
	}
	if key == "parm" {
		params[i].Desc = text
	} else {
		params[i].Type = text
	}
	return params
}

// hexColons prints bytes as "AB:CD:...", 20 to a line.
func hexColons(data []byte) string {
	var b strings.Builder
	for i, c := range data {
		if i > 0 {
			b.WriteByte(':')
			if i%20 == 0 {
				b.WriteByte('\n')
			}
		}
		fmt.Fprintf(&b, "%02X", c)
	}
	return b.String()
}
