package detect

import (
	"debug/elf"
	"fmt"
	"io"
	"strings"

	"github.com/rdmactl/rdmactl/host"
)

// versionDefinitions prints the symbol versions that a shared library defines, laid out as
// "objdump -p" does.
func versionDefinitions(name string) host.Decoder {
	return func(file io.ReaderAt, _ int64) (string, error) {
		f, err := elf.NewFile(file)
		if err != nil {
			return "", err
		}
		defer f.Close() //nolint:errcheck // NewFile opened nothing
		versions, err := f.DynamicVersions()
		if err != nil {
			return "", err
		}
		var out strings.Builder
		fmt.Fprintf(&out, "\n%s:     file format %s\n\nVersion definitions:\n", name, formatOf(f))
		for _, v := range versions {
			fmt.Fprintf(&out, "%d 0x%02x 0x%08x %s\n", v.Index, uint16(v.Flags), elfHash(v.Name), v.Name)
		}
		return out.String(), nil
	}
}

// formatOf names the file format in the words of binutils.
func formatOf(f *elf.File) string {
	bits := "elf64"
	if f.Class == elf.ELFCLASS32 {
		bits = "elf32"
	}
	switch f.Machine {
	case elf.EM_X86_64:
		return bits + "-x86-64"
	case elf.EM_386:
		return bits + "-i386"
	case elf.EM_AARCH64:
		return bits + "-littleaarch64"
	case elf.EM_PPC64:
		return bits + "-powerpcle"
	case elf.EM_S390:
		return bits + "-s390"
	case elf.EM_RISCV:
		return bits + "-littleriscv"
	}
	return bits + "-little"
}

// elfHash is the hash of the System V ABI.
func elfHash(name string) uint32 {
	var h uint32
	for _, c := range []byte(name) {
		h = h<<4 + uint32(c)
		g := h & 0xf0000000
		h ^= g >> 24
		h &^= g
	}
	return h
}
