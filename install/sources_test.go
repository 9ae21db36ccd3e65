package install

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// OpenDir makes the host one that a bundle can be unpacked on.
func (h *fakeHost) OpenDir(dir string) (*os.Root, error) {
	h.tick()
	return os.OpenRoot(h.path(dir))
}

// packed is a bundle as a .tgz, with its files in a folder.
func packed(t *testing.T, files map[string]string) (file, sum string) {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for name, text := range files {
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
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(out.Bytes())
	return file, hex.EncodeToString(digest[:])
}

// bundlePlan takes the vendor's packages out of a file.
func bundlePlan(fingerprint, file, sum string) plan.Plan {
	p := vendorPlan(fingerprint)
	b := &plan.BundleChange{File: file, SHA256: sum, Folder: "bundle/DEBS", Repository: "bundle/DEBS", Entries: 2, Bytes: 1000}
	p.Steps[0].Changes.Repository.URL, p.Steps[0].Changes.Repository.Bundle = b.Place(), b
	return p
}

func bundleFiles() map[string]string {
	return map[string]string{"distro": "debian12.5\n", "mlnxofedinstall": "#!/bin/sh\n", "DEBS/Release": "Suite: x\n", "DEBS/pool/a.deb": "package\n"}
}

func TestBundleAndBack(t *testing.T) {
	key, fingerprint := vendorKey(t, time.Now().AddDate(-1, 0, 0), 0)
	file, sum := packed(t, bundleFiles())
	b := vendorBench(t, key)
	before := b.h.tree()
	p := bundlePlan(fingerprint, file, sum)
	rep, err := Start(context.Background(), b.env, p, b.opts)
	if err != nil || rep.Verdict != VerdictDone {
		t.Fatalf("%+v, %v", rep, err)
	}
	place := plan.SourcesDir + "/" + sum + "/repository"
	if got := b.h.text(place + "/pool/a.deb"); got != "package\n" {
		t.Errorf("the package is %q", got)
	}
	for _, name := range []string{place + "/distro", place + "/mlnxofedinstall", plan.SourcesDir + "/" + sum + ".part"} {
		if _, err := os.Lstat(b.h.path(name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
	if got := b.h.text("/etc/repos.d/rdmactl-vendor.list"); got != "file:"+place+"\n" {
		t.Errorf("the repository is %q", got)
	}
	if _, err := b.rollback(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("rolled back (-before +after):\n%s", diff)
	}
}

// A bundle that cannot be used stops the run, and leaves nothing.
func TestBundlesThatStop(t *testing.T) {
	key, fingerprint := vendorKey(t, time.Now().AddDate(-1, 0, 0), 0)
	for name, c := range map[string]struct {
		spoil func(b *bench, p *plan.Plan, file string)
		says  string
	}{
		"another file since": {func(b *bench, _ *plan.Plan, file string) {
			if err := os.WriteFile(file, []byte("another"), 0o644); err != nil {
				b.t.Fatal(err)
			}
		}, "it is not the file that was planned with"},
		"no file any more": {func(b *bench, _ *plan.Plan, file string) {
			if err := os.Remove(file); err != nil {
				b.t.Fatal(err)
			}
		}, "cannot read the bundle"},
		"a directory in its place": {func(b *bench, _ *plan.Plan, file string) {
			if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o755)); err != nil {
				b.t.Fatal(err)
			}
		}, "no regular file"},
		"more than it says": {func(_ *bench, p *plan.Plan, _ string) { p.Steps[0].Changes.Repository.Bundle.Bytes = 3 }, "of files"},
		"no proof": {func(_ *bench, p *plan.Plan, _ string) {
			r := p.Steps[0].Changes.Repository
			r.Bundle.OwnIndex = true
			r.URL = r.Bundle.Place()
		}, "nothing proves the file"},
		"another place":             {func(_ *bench, p *plan.Plan, _ string) { p.Steps[0].Changes.Repository.URL = "/etc" }, "does not say what is unpacked where"},
		"a checksum that is a path": {func(_ *bench, p *plan.Plan, _ string) { p.Steps[0].Changes.Repository.Bundle.SHA256 = "../../etc" }, "does not say what is unpacked where"},
		"no room":                   {func(b *bench, _ *plan.Plan, _ string) { b.h.free = 10 << 10 }, "cannot unpack bundle.tgz"},
		"a cache that others may write": {func(b *bench, _ *plan.Plan, _ string) {
			b.h.put("/var/cache/rdmactl/.keep", "")
			if err := os.Chmod(b.h.path("/var/cache/rdmactl"), 0o777); err != nil {
				b.t.Fatal(err)
			}
		}, "root alone may write"},
		"a cache that leads away": {func(b *bench, _ *plan.Plan, _ string) {
			if err := os.Symlink("/etc", b.h.path("/var/cache/rdmactl")); err != nil {
				b.t.Fatal(err)
			}
		}, ""},
		"a solver that stops": {func(b *bench, _ *plan.Plan, _ string) { delete(b.m.repo, "vendor") }, "vendor"},
	} {
		t.Run(name, func(t *testing.T) {
			file, sum := packed(t, bundleFiles())
			b := vendorBench(t, key)
			p := bundlePlan(fingerprint, file, sum)
			c.spoil(b, &p, file)
			before := b.h.tree()
			rep, err := Start(context.Background(), b.env, p, b.opts)
			wantKind(t, err, fault.Stopped, c.says)
			if rep.Changed {
				t.Errorf("%+v", rep)
			}
			if diff := cmp.Diff(before, b.h.tree()); diff != "" {
				t.Errorf("something changed (-before +after):\n%s", diff)
			}
		})
	}
}

// A bundle from an address is fetched, unless the planning has it still.
func TestBundleFromAnAddress(t *testing.T) {
	key, fingerprint := vendorKey(t, time.Now().AddDate(-1, 0, 0), 0)
	file, sum := packed(t, bundleFiles())
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		fetched string
		served  []byte
		says    string // empty: it is taken
	}{
		"fetched before":       {fetched: file},
		"fetched now":          {served: data},
		"fetched and gone":     {fetched: file + ".gone", served: data},
		"another file there":   {served: []byte("another"), says: "not the file that was planned with"},
		"the server is broken": {says: "cannot take https://vendor.example.com/bundle.tgz"},
	} {
		t.Run(name, func(t *testing.T) {
			b := vendorBench(t, key)
			b.opts.Fetched = c.fetched
			b.env.transport = roundTrip(func(r *http.Request) *http.Response {
				w := httptest.NewRecorder()
				if c.served == nil || r.URL.String() != "https://vendor.example.com/bundle.tgz" {
					w.WriteHeader(http.StatusInternalServerError)
				}
				_, _ = w.Write(c.served)
				return w.Result()
			})
			before := b.h.tree()
			_, err := Start(context.Background(), b.env, bundlePlan(fingerprint, "https://vendor.example.com/bundle.tgz", sum), b.opts)
			if c.says != "" {
				wantKind(t, err, fault.Stopped, c.says)
			} else if err != nil {
				t.Fatal(err)
			} else if _, err := os.Lstat(b.h.path(plan.SourcesDir + "/" + sum + "/" + fetchedName)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("what was fetched is there still: %v", err)
			} else if _, err := b.rollback(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, b.h.tree()); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
		})
	}
}

// Wherever the power goes while a bundle is unpacked and used, the run comes to its end, or back.
func TestBundleCrashAtEveryPoint(t *testing.T) {
	key, fingerprint := vendorKey(t, time.Now().AddDate(-1, 0, 0), 0)
	file, sum := packed(t, bundleFiles())
	p := bundlePlan(fingerprint, file, sum)
	crashEverywhere(t, 80, func() *bench { return vendorBench(t, key) },
		func(b *bench) (RunReport, error) { return Start(context.Background(), b.env, p, b.opts) })
}

// What was unpacked stays as long as a run or the package manager needs it.
func TestPruneOfSources(t *testing.T) {
	key, fingerprint := vendorKey(t, time.Now().AddDate(-1, 0, 0), 0)
	file, sum := packed(t, bundleFiles())
	b := vendorBench(t, key)
	if _, err := Start(context.Background(), b.env, bundlePlan(fingerprint, file, sum), b.opts); err != nil {
		t.Fatal(err)
	}
	there := func() bool {
		_, err := os.Stat(b.h.path(plan.SourcesDir + "/" + sum + "/repository/Release"))
		return err == nil
	}
	// The run awaits its reboot; it is closed here as the boot would.
	b.h.put("/proc/sys/kernel/random/boot_id", "another\n")
	if _, err := Resume(context.Background(), b.env, b.opts); err != nil {
		t.Fatal(err)
	}
	list := "/etc/apt/sources.list.d/rdmactl-vendor.list"
	b.h.put(list, "deb [signed-by=/k] file:"+plan.SourcesDir+"/"+sum+"/repository ./\n")
	if _, err := Prune(b.env, 1); err != nil || !there() {
		t.Fatalf("the run is kept, and what it unpacked is gone: %v", err)
	}
	if out, err := Prune(b.env, 0); err != nil || !there() || len(out.Runs) != 1 {
		t.Fatalf("the repository is in use, and is gone: %+v, %v", out, err)
	}
	b.h.put(list, strings.Replace(b.h.text(list), sum, strings.Repeat("0", 64), 1))
	out, err := Prune(b.env, 0)
	if err != nil || there() || out.Bytes < int64(len("package\n")) {
		t.Fatalf("nothing needs it: %+v, %v", out, err)
	}
	if _, err := os.Stat(b.h.path("/var/cache/rdmactl")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the empty cache: %v", err)
	}
}
