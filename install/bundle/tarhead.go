package bundle

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// block is the unit of a tar in bytes, end what it has behind its last file.
const (
	block = 512
	end   = 2 * block
)

// The names at the beginning of a bundle.
const (
	manifestName  = "manifest.json"
	signatureName = "manifest.json.asc"
	poolDir       = "pool/"
)

// header is the one header that a file of a bundle can have: nothing in it is free but name and size.
func header(name string, size int64) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, Format: tar.FormatUSTAR})
	if err == nil && out.Len() != block {
		err = errors.New("it takes more than one block")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write the header of %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// padded is the size of a content with what fills its last block.
func padded(size int64) int64 { return (size + block - 1) / block * block }

// described says in words what a header is that is not the one that is expected.
func described(data []byte) string {
	h, err := tar.NewReader(bytes.NewReader(data)).Next()
	switch {
	case errors.Is(err, io.EOF):
		return "its end"
	case err != nil:
		return "no header of a tar"
	}
	kind := map[byte]string{
		tar.TypeReg: "a file", tar.TypeLink: "a hard link", tar.TypeSymlink: "a symbolic link", tar.TypeChar: "a device",
		tar.TypeBlock: "a device", tar.TypeDir: "a directory", tar.TypeFifo: "a pipe",
	}[h.Typeflag]
	if kind == "" {
		kind = "an entry of another kind"
	}
	return fmt.Sprintf("%s %q of %d bytes", kind, clip(h.Name), h.Size)
}

// sized reads the size in the header of a file of a known name.
func sized(data []byte, name string, most int64) (int64, error) {
	h, err := tar.NewReader(bytes.NewReader(data)).Next()
	if err != nil || h.Name != name || h.Typeflag != tar.TypeReg {
		return 0, faulty("it has %s where %s is expected", described(data), name)
	}
	if h.Size < 0 || h.Size > most {
		return 0, faulty("its %s has %d bytes", name, h.Size)
	}
	want, err := header(name, h.Size)
	if err != nil || !bytes.Equal(want, data) {
		return 0, faulty("the header of %s is not one that rdmactl writes", name)
	}
	return h.Size, nil
}
