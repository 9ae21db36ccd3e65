package build_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// file is a regular file of an archive.
func file(name, text string) entry {
	return entry{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))}, text}
}

type entry struct {
	tar.Header
	text string
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := e.Header
		must(t, w.WriteHeader(&h))
		_, err := io.WriteString(w, e.text)
		must(t, err)
	}
	must(t, w.Close())
	return out.Bytes()
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(data)
	must(t, err)
	must(t, w.Close())
	return out.Bytes()
}

// packed packs an archive as its ending says; bzip2 has no writer in Go.
func packed(t testing.TB, ending string, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	switch ending {
	case ".tar":
		return data
	case ".tar.gz":
		return gzipped(t, data)
	case ".tar.xz":
		w, err := xz.NewWriter(&out)
		must(t, err)
		_, err = w.Write(data)
		must(t, err)
		must(t, w.Close())
	case ".tar.zst":
		w, err := zstd.NewWriter(&out)
		must(t, err)
		_, err = w.Write(data)
		must(t, err)
		must(t, w.Close())
	case ".tar.bz2":
		bin, err := exec.LookPath("bzip2")
		if err != nil {
			t.Skip("needs bzip2")
		}
		cmd := exec.Command(bin, "-c")
		cmd.Stdin, cmd.Stdout = bytes.NewReader(data), &out
		must(t, cmd.Run())
	}
	return out.Bytes()
}

// openTemp is a directory that other users can pass through, in one of its own.
func openTemp(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		must(t, os.Chmod(d, 0o755))
	}
	return dir
}
