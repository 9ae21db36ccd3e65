package bundles

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/install/bundle"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// TestAgainstTheDisk prints how long the writing of a bundle takes against reading and writing the same bytes. The
// bundle is written with its checksums, and both are on the disk at the end.
func TestAgainstTheDisk(t *testing.T) {
	lab.Need(t, rootlab.WhyNot("set RDMACTL_ROOTS=1 to compare with the disk"))
	const files, size = 64, 4 << 20
	dir := t.TempDir()
	signer, err := bundle.NewSigner(time.Now())
	must(t, err)
	var blobs []bundle.Blob
	repo := bundle.Repository{ID: "debian-12-x86_64", Form: bundle.Debs}
	for i := range files {
		file := filepath.Join(dir, fmt.Sprintf("p%d", i))
		data := make([]byte, size)
		_, err := rand.Read(data)
		must(t, errors.Join(err, os.WriteFile(file, data, 0o644)))
		b, err := bundle.FileBlob(file)
		must(t, err)
		blobs, repo.Files = append(blobs, b), append(repo.Files, bundle.File{Path: fmt.Sprintf("packages/p%d.deb", i), SHA256: b.SHA256})
	}
	plainly := func() {
		out, err := os.Create(filepath.Join(dir, "plain"))
		must(t, err)
		for _, b := range blobs {
			in, err := os.Open(b.File)
			must(t, err)
			_, err = io.Copy(struct{ io.Writer }{out}, struct{ io.Reader }{in}) // without the kernel's short way
			must(t, errors.Join(err, in.Close()))
		}
		must(t, errors.Join(out.Sync(), out.Close()))
	}
	bundled := func() {
		m := bundle.Manifest{
			Made: time.Now().UTC(), Tool: "test", Repositories: []bundle.Repository{repo},
			Hosts: []bundle.Host{{Name: "one", Distro: "debian", Release: "12", Arch: "x86_64", Repository: repo.ID}},
		}
		made, err := bundle.Write(t.Context(), filepath.Join(dir, "a.bundle"), m, blobs, signer, nil)
		must(t, err)
		if made.Bytes < files*size {
			t.Fatalf("the bundle has %d bytes", made.Bytes)
		}
	}
	best := func(f func()) time.Duration {
		least := time.Hour
		for range 3 {
			begin := time.Now()
			f()
			least = min(least, time.Since(begin))
		}
		return least
	}
	disk, own := best(plainly), best(bundled)
	t.Logf("bundle vs. disk: %.2f (%v against %v for %d MiB)", own.Seconds()/disk.Seconds(), own.Round(time.Millisecond), disk.Round(time.Millisecond), files*size>>20)
}
