package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
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

// TestReleaseThatTheMatrixLacks: such an import is recorded, and nobody is told that plan uses it; with the entry
// that the note proposes the release is known.
func TestReleaseThatTheMatrixLacks(t *testing.T) {
	known := builtInIndex(t)
	of := func(stack, version string) matrix.Holding {
		return matrix.Holding{Stack: stack, Version: version}
	}
	if notes := strangers([]matrix.Holding{of("doca-ofed", "2.9.1"), of("mlnx-ofed", "23.10-2.1.3.1.201")}, known); len(notes) > 0 {
		t.Errorf("known releases: %q", notes)
	}
	for _, h := range []matrix.Holding{of("doca-ofed", "9.9.0"), of("doca-ofed", "9.9"), of("doca-ofed", "2.9.77"), of("mlnx-ofed", "24.10-9.9.9.9"), of("mlnx-ofed", "99.01-1.0.0.0")} {
		notes := strangers([]matrix.Holding{h, h}, known)
		if len(notes) != 1 || !strings.Contains(notes[0], "`plan` takes nothing of it") {
			t.Fatalf("%s %s: %q", h.Stack, h.Version, notes)
		}
		_, entries, _ := strings.Cut(notes[0], "kind: Matrix, ")
		entries, _, _ = strings.Cut(entries, "; `rdmactl")
		file := filepath.Join(t.TempDir(), "own.yaml")
		text := "apiVersion: rdmactl/v1\nkind: Matrix\n" + strings.ReplaceAll(entries, " and ", "\n") + "\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		with, err := (&wishOptions{matrix: []string{file}}).loadMatrix()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if notes := strangers([]matrix.Holding{h}, with); len(notes) > 0 {
			t.Errorf("still unknown: %q", notes)
		}
		if r, ok := with.Find(h.Stack, h.Version); !ok {
			t.Errorf("%s %s is not found", h.Stack, h.Version)
		} else if b, ok := with.BranchOf(h.Stack, with.VersionOf(r)); !ok || b.Name != r.Branch {
			t.Errorf("%s %s is of branch %+v, not of %s", h.Stack, h.Version, b, r.Branch)
		}
	}
}

// TestImportHints follows stated releases through the command.
func TestImportHints(t *testing.T) {
	deb := filepath.Join(t.TempDir(), "mlnx-ofed-kernel-dkms_24.10.OFED.24.10.1.1.4.1-1_all.deb")
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("dpkg-deb is not installed")
	}
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "DEBIAN"), 0o755); err != nil {
		t.Fatal(err)
	}
	control := "Package: mlnx-ofed-kernel-dkms\nVersion: 24.10.OFED.24.10.1.1.4.1-1\nArchitecture: amd64\nMaintainer: V <v@example.org>\nDescription: for tests\n"
	if err := os.WriteFile(filepath.Join(root, "DEBIAN", "control"), []byte(control), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("dpkg-deb", "--build", root, deb).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, tt := range []struct {
		stack, version string
		code           int
		stderr, not    string
	}{
		{"mlnx-ofed", "24.10-1.1.4.0", 0, "this becomes a matrix file that `plan` can use", "does not know"},
		{"mlnx-ofed", "9.9", 2, "is of the drivers 24.10.1.1.4.1", "becomes a matrix file"},
		{"doca-ofed", "9.9", 0, "the matrix does not know doca-ofed 9.9, so `plan` takes nothing of it", "becomes a matrix file"},
		{"doca-ofed", "3.1.0", 2, "is of the drivers", "becomes a matrix file"},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), []string{
			"matrix", "import", deb, "--allow-unsigned", "--distro", "ubuntu", "--version-id", "22.04", "--stack", tt.stack, "--version", tt.version,
		}, streams{in: strings.NewReader(""), out: &out, err: &errs})
		if code != tt.code || !strings.Contains(errs.String(), tt.stderr) || strings.Contains(errs.String(), tt.not) || (code == 0) != (out.Len() > 0) {
			t.Errorf("%s %s: exit %d\n%s%s", tt.stack, tt.version, code, out.String(), errs.String())
		}
	}
}

// TestImportOfImageWithSeveralReleases follows an image and --release through the command.
func TestImportOfImageWithSeveralReleases(t *testing.T) {
	for _, tool := range []string{"dpkg-deb", "apt-ftparchive", "genisoimage"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	repo := filepath.Join(t.TempDir(), "ubuntu22.04", "x86_64")
	if err := os.MkdirAll(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	tool := func(name string, args ...string) []byte {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = repo
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return out
	}
	deb := func(name, version, more string) {
		t.Helper()
		root := t.TempDir()
		if err := os.MkdirAll(filepath.Join(root, "DEBIAN"), 0o755); err != nil {
			t.Fatal(err)
		}
		control := "Package: " + name + "\nVersion: " + version + "\nArchitecture: amd64\n" + more + "Maintainer: V <v@example.org>\nDescription: for tests\n"
		if err := os.WriteFile(filepath.Join(root, "DEBIAN", "control"), []byte(control), 0o644); err != nil {
			t.Fatal(err)
		}
		tool("dpkg-deb", "--build", root, name+"_"+version+"_amd64.deb")
	}
	for _, r := range []string{"23.10", "24.10"} {
		deb("mlnx-ofed-all", r+"-1.1.4.0", "Depends: mlnx-ofed-kernel-dkms\n")
		deb("mlnx-ofed-kernel-dkms", r+".OFED."+r+".1.1.4.1-1", "")
	}
	deb("mlnx-ofed-all", "5.8-1.1.2.1", "Depends: mlnx-ofed-kernel-dkms\n")
	for _, kind := range []string{"packages", "release"} { // the second reads what the first wrote
		name := map[string]string{"packages": "Packages", "release": "Release"}[kind]
		if err := os.WriteFile(filepath.Join(repo, name), tool("apt-ftparchive", kind, "."), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	image := filepath.Join(t.TempDir(), "mirror.iso")
	tool("genisoimage", "-quiet", "-R", "-o", image, repo)
	const left = "note: mlnx-ofed 5.8-1.1.2.1 for x86_64 is left out: neither modules nor module sources of its drivers are there\n"
	for _, tt := range []struct {
		source   string
		releases []string
		code     int
		has, not []string
	}{
		{repo, nil, 0, []string{"23.10-1.1.4.0  ubuntu 22.04", "24.10-1.1.4.0  ubuntu 22.04", left}, nil},
		{image, nil, 0, []string{"23.10-1.1.4.0  ubuntu 22.04", "24.10-1.1.4.0  ubuntu 22.04", left}, nil},
		{image, []string{"24.10"}, 0, []string{"24.10-1.1.4.0  ubuntu 22.04"}, []string{"23.10-1.1.4.0", "left out"}},
		{image, []string{"5.8"}, 2, []string{"mlnx-ofed 5.8-1.1.2.1 for x86_64 cannot be installed from it: neither modules"}, []string{"24.10-1.1.4.0"}},
		{image, []string{"2.9.1"}, 2, []string{"it has no release 2.9.1"}, nil},
	} {
		args := []string{"matrix", "import", tt.source, "--allow-unsigned", "--distro", "ubuntu", "--version-id", "22.04"}
		for _, r := range tt.releases {
			args = append(args, "--release", r)
		}
		var out, errs bytes.Buffer
		code := run(t.Context(), args, streams{in: strings.NewReader(""), out: &out, err: &errs})
		text := out.String() + errs.String()
		for _, want := range tt.has {
			if !strings.Contains(text, want) {
				t.Errorf("%v: no %q in:\n%s", args, want, text)
			}
		}
		for _, not := range tt.not {
			if strings.Contains(text, not) {
				t.Errorf("%v: %q in:\n%s", args, not, text)
			}
		}
		if code != tt.code {
			t.Errorf("%v: exit %d, want %d\n%s", args, code, tt.code, text)
		}
	}
}
