package kmod

import (
	"bytes"
	"compress/gzip"
	"crypto/x509/pkix"
	"debug/elf"
	"encoding/asn1"
	"encoding/binary"
	"hash/crc32"
	"math/big"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// sample is the .modinfo of a made-up module.
func sample() []string {
	return []string{
		"version=24.10-1.1.4", "license=Dual BSD/GPL", "description=first line\nsigner:         nobody",
		"alias=auxiliary:mlx5_core.rdma", "alias=pci:v000015B3d00001017sv*sd*bc*sc*i*",
		"softdep=pre: mlx5_core post: ib_ipoib", "firmware=mellanox/fw.bin",
		"srcversion=0123456789ABCDEF", "depends=ib_uverbs,mlx5_core", "intree=Y", "name=mlx5_ib",
		"vermagic=6.1.0-9-amd64 SMP preempt mod_unload modversions ",
		"parmtype=first:int", "parm=first:a number (0: off)", "parmtype=second:array of int",
	}
}

// elfModule builds a relocatable ELF64 file with the given sections.
func elfModule(sections map[string][]byte) []byte {
	names := []byte("\x00.shstrtab\x00")
	var body bytes.Buffer
	headers := []elf.Section64{{}}
	const ehsize = 64
	for name, data := range sections {
		headers = append(headers, elf.Section64{
			Name: uint32(len(names)), Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_ALLOC),
			Off: uint64(ehsize + body.Len()), Size: uint64(len(data)), Addralign: 1,
		})
		names = append(names, name+"\x00"...)
		body.Write(data)
	}
	headers = append(headers, elf.Section64{
		Name: 1, Type: uint32(elf.SHT_STRTAB), Off: uint64(ehsize + body.Len()), Size: uint64(len(names)), Addralign: 1,
	})
	body.Write(names)
	h := elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: uint16(elf.ET_REL), Machine: uint16(elf.EM_X86_64), Version: 1,
		Shoff: uint64(ehsize + body.Len()), Ehsize: ehsize, Shentsize: 64, Shnum: uint16(len(headers)), Shstrndx: uint16(len(headers) - 1),
	}
	var out bytes.Buffer
	for _, part := range []any{h, body.Bytes(), headers} {
		if err := binary.Write(&out, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	return out.Bytes()
}

func module(modinfo []string) []byte {
	return elfModule(map[string][]byte{".modinfo": []byte(strings.Join(modinfo, "\x00") + "\x00")})
}

func pack(t *testing.T, kind string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch kind {
	case ".ko":
		return data
	case ".ko.gz":
		w := gzip.NewWriter(&b)
		_, err = w.Write(data)
		if err == nil {
			err = w.Close()
		}
	case ".ko.zst":
		var w *zstd.Encoder
		if w, err = zstd.NewWriter(&b); err == nil {
			if _, err = w.Write(data); err == nil {
				err = w.Close()
			}
		}
	case ".ko.xz":
		// Small blocks: a threaded xz writes several into one file.
		var w *xz.Writer
		if w, err = (xz.WriterConfig{BlockSize: 300, CheckSum: xz.CRC32, DictCap: 1 << 20}).NewWriter(&b); err == nil {
			if _, err = w.Write(data); err == nil {
				err = w.Close()
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sign appends a PKCS#7 message of a signer, without a valid signature: nobody here checks it.
func sign(t *testing.T, image []byte, signer string) []byte {
	t.Helper()
	must := func(v any, err error) []byte {
		if err != nil {
			t.Fatal(err)
		}
		return v.([]byte)
	}
	wrap := func(class, tag int, content ...[]byte) []byte {
		b, err := asn1.Marshal(asn1.RawValue{Class: class, Tag: tag, IsCompound: true, Bytes: bytes.Join(content, nil)})
		return must(b, err)
	}
	der := func(v any) []byte { b, err := asn1.Marshal(v); return must(b, err) }
	seq := func(content ...[]byte) []byte { return wrap(asn1.ClassUniversal, asn1.TagSequence, content...) }
	set := func(content ...[]byte) []byte { return wrap(asn1.ClassUniversal, asn1.TagSet, content...) }

	sha256 := seq(der(asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}))
	rsa := seq(der(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}))
	issuer := der(pkix.Name{CommonName: signer, Organization: []string{"Example"}}.ToRDNSequence())
	info := seq(der(1), seq(issuer, der(big.NewInt(0x25ab))), sha256, rsa, der(bytes.Repeat([]byte{0xa5}, 25)))
	data := seq(der(1), set(sha256), seq(der(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1})), set(info))
	message := seq(der(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}), wrap(asn1.ClassContextSpecific, 0, data))
	return appendSignature(image, message)
}

func appendSignature(image, message []byte) []byte {
	out := append(bytes.Clone(image), message...)
	out = append(out, 0, 0, 2, 0, 0, 0, 0, 0)
	out = binary.BigEndian.AppendUint32(out, uint32(len(message)))
	return append(out, signatureMagic...)
}

func headerSum(header []byte) [4]byte {
	var sum [4]byte
	binary.LittleEndian.PutUint32(sum[:], crc32.ChecksumIEEE(header[:len(header)-4]))
	return sum
}
