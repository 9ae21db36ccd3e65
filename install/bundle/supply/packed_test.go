package supply

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// packedPlan takes a vendor's packages out of a .tgz.
func packedPlan(t *testing.T) (p plan.Plan, file string) {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for name, text := range map[string]string{"distro": "debian12.5\n", "DEBS/Release": "Suite: x\n", "DEBS/pool/a.deb": "package\n"} {
		if err := w.WriteHeader(&tar.Header{Name: "bundle/" + name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "bundle.tgz")
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(out.Bytes())
	b := &plan.BundleChange{File: file, SHA256: hex.EncodeToString(digest[:]), Folder: "bundle/DEBS", Repository: "bundle/DEBS", Entries: 2, Bytes: 1000}
	return plan.Plan{Steps: []plan.Step{
		{ID: "packages", Kind: plan.KindPackages},
		{ID: "repository", Kind: plan.KindRepository, Changes: plan.Changes{Repository: &plan.RepositoryChange{URL: b.Place(), Bundle: b, Fingerprint: strings.Repeat("A", 40)}}},
	}}, file
}

// TestPackedSource: the package manager that stands for the host reads a packed source from a folder of the cache, the
// bundle names the file, and the plan that the host gets is untouched.
func TestPackedSource(t *testing.T) {
	p, file := packedPlan(t)
	c := &Collection{Cache: t.TempDir(), Now: time.Now()}
	got, err := c.unpacked(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	r := got.Steps[1].Changes.Repository
	if text, err := os.ReadFile(filepath.Join(r.URL, "pool/a.deb")); err != nil || string(text) != "package\n" || r.Bundle != nil || !strings.HasPrefix(r.URL, c.Cache+"/packed/") {
		t.Errorf("%v: %+v", err, r)
	}
	if was := p.Steps[1].Changes.Repository; was.Bundle == nil || was.URL != was.Bundle.Place() {
		t.Errorf("the plan was changed: %+v", was)
	}
	if got := c.origin("file:" + r.URL); got != file {
		t.Errorf("it is said to come from %s", got)
	}
	if got := c.origin("https://mirror.example.com/x"); got != "https://mirror.example.com/x" {
		t.Errorf("another is said to come from %s", got)
	}
	if _, err := os.Stat(filepath.Join(c.Cache, "packed")); err != nil {
		t.Fatal(err)
	}

	// What is in the cache is not unpacked again, half of it is.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := c.unpacked(t.Context(), p); err != nil {
		t.Errorf("it was there: %v", err)
	}
	if err := os.Remove(filepath.Join(c.Cache, "packed", filepath.Base(p.Steps[1].Changes.Repository.Bundle.Dir()), "at")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.unpacked(t.Context(), p); fault.KindOf(err) != fault.Stopped {
		t.Errorf("half of it was there: %v", err)
	}
}

// TestPackedSourceRefused: what a run would refuse is not collected either.
func TestPackedSourceRefused(t *testing.T) {
	for name, change := range map[string]func(p plan.Plan, file string) error{
		"another file": func(_ plan.Plan, file string) error { return os.WriteFile(file, []byte("x"), 0o600) },
		"nothing proves it": func(p plan.Plan, _ string) error {
			r := p.Steps[1].Changes.Repository
			r.Bundle.OwnIndex = true
			r.URL = r.Bundle.Place()
			return nil
		},
		"no file": func(_ plan.Plan, file string) error { return os.Remove(file) },
	} {
		p, file := packedPlan(t)
		c := &Collection{Cache: t.TempDir(), Now: time.Now()}
		if err := change(p, file); err != nil {
			t.Fatal(err)
		}
		if _, err := c.unpacked(t.Context(), p); fault.KindOf(err) != fault.Stopped {
			t.Errorf("%s: %v", name, err)
		}
		left, err := os.ReadDir(filepath.Join(c.Cache, "packed"))
		if err != nil || len(left) != 0 {
			t.Errorf("%s: %v is left, %v", name, left, err)
		}
	}
}

// TestFetchedSource: of an address it is the file that was fetched for the plan.
func TestFetchedSource(t *testing.T) {
	p, file := packedPlan(t)
	p.Steps[1].Changes.Repository.Bundle.File = "https://me:secret@mirror.example.com/bundle.tgz"
	c := &Collection{Cache: t.TempDir(), Now: time.Now(), Fetched: file}
	got, err := c.unpacked(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if of := c.origin("file:" + got.Steps[1].Changes.Repository.URL); of != "https://mirror.example.com/bundle.tgz" {
		t.Errorf("it is said to come from %s", of)
	}
}
