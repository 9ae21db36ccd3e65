package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// TestMatrixImport reads a small bundle without signatures: kernel lists and packages are tested where
// they are read.
func TestMatrixImport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "MLNX_OFED_LINUX-24.10-1.1.4.0-rhel9.4-x86_64")
	put := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("distro", "rhel9.4\n")
	put(".mlnx", "24.10-1.1.4.0\n")
	put(".arch", "x86_64\n")
	put("RPMS/a.rpm", "abc")
	put("RPMS/repodata/primary.xml", `<metadata><package type="rpm"><name>mlnx-ofed-all</name><arch>noarch</arch><version epoch="0" ver="24.10" rel="1.1.4.0.rhel9.4"/><checksum type="sha256">00</checksum><size package="3"/><location href="a.rpm"/></package></metadata>`)
	put("RPMS/repodata/repomd.xml", `<repomd><data type="primary"><checksum type="sha256">91d22b1e00d23b8af7bbe4fbb1d5ce5f31c2d95ee6fda3e6c2f31cb9b9bd0b5d</checksum><location href="repodata/primary.xml"/></data></repomd>`)
	save := filepath.Join(t.TempDir(), "mirror.yaml")
	run := func(opts importOptions, sources ...string) (string, string, error) {
		var out, errs bytes.Buffer
		g := &globalOptions{streams: streams{out: &out, err: &errs}, output: "table"}
		opts.now = func() time.Time { return time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC) }
		err := runMatrixImport(context.Background(), sources, opts, g)
		return out.String(), errs.String(), err
	}
	wantRefused := func(err error, cause string) {
		t.Helper()
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), cause) {
			t.Errorf("got %v, want exit 2 and %q", err, cause)
		}
		if _, err := os.Lstat(save); err == nil {
			t.Error("something was written")
		}
	}
	_, _, err := run(importOptions{save: save}, dir)
	wantRefused(err, "is not signed")
	_, _, err = run(importOptions{save: save, allowUnsigned: true}, dir)
	wantRefused(err, "another checksum")
	put("RPMS/repodata/repomd.xml", `<repomd><data type="primary"><checksum type="sha256">`+sumOf(t, filepath.Join(dir, "RPMS/repodata/primary.xml"))+`</checksum><location href="repodata/primary.xml"/></data></repomd>`)
	out, errs, err := run(importOptions{save: save, allowUnsigned: true}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "mlnx-ofed  24.10-1.1.4.0  rhel 9.4  x86_64  none     1         nobody known") || !strings.Contains(errs, "--matrix") {
		t.Errorf("%s%s", out, errs)
	}
	data, err := os.ReadFile(save)
	if err != nil {
		t.Fatal(err)
	}
	m, err := matrix.Load(save, data)
	if err != nil || len(m.Holdings) != 1 || m.Holdings[0].VersionID != "9.4" || m.Holdings[0].Date != "2026-11-30T10:00:00Z" {
		t.Fatalf("%s: %v", data, err)
	}
	if _, _, err = run(importOptions{save: save, allowUnsigned: true}, dir); err != nil {
		t.Errorf("an earlier import is not replaced: %v", err)
	}
	for text, cause := range map[string]string{"kind: Profile\n": "another kind of file", string(data) + "roles: []\nbranches: [{stack: mlnx-ofed, name: \"24.10\", lts: true, versions: [\">= 24.10\"], source: [x]}]\n": "other sections"} {
		other := filepath.Join(t.TempDir(), "other.yaml")
		if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := run(importOptions{save: other, allowUnsigned: true}, dir)
		if err == nil || !strings.Contains(err.Error(), cause) {
			t.Errorf("got %v, want %q", err, cause)
		}
		if kept, err := os.ReadFile(other); err != nil || string(kept) != text {
			t.Errorf("%s was changed: %v", other, err)
		}
	}
}

func sumOf(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(data))
}
