package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/install/bundle"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/profiles"
)

// smallBundle is the file of a bundle for a Debian 12 that needs no packages.
func smallBundle(t *testing.T) (file, sum string) {
	t.Helper()
	signer, err := bundle.NewSigner(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	profile, err := profiles.Load("inbox")
	if err != nil {
		t.Fatal(err)
	}
	files, blobs, err := bundle.DebRepository("debian-12-x86_64", nil, signer, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	m := bundle.Manifest{
		Made: time.Now().UTC(), Tool: version,
		Hosts: []bundle.Host{
			{Name: "one", Distro: "debian", Release: "12", Arch: "x86_64", Kernel: "6.1.0-57-amd64", Manager: "apt", Repository: "debian-12-x86_64", Request: bundle.Request{Profile: profile}, Plan: "a plan", Installed: bundle.InstalledTold, Packages: []plan.ResolvedPackage{}},
			{Name: "two", Distro: "debian", Release: "12", Arch: "x86_64", Kernel: "6.1.0-58-amd64", Manager: "apt", Repository: "debian-12-x86_64", Request: bundle.Request{Profile: profile}, Plan: "a plan", Installed: bundle.InstalledNotTold, Packages: []plan.ResolvedPackage{}},
		},
		Repositories: []bundle.Repository{{ID: "debian-12-x86_64", Form: bundle.Debs, Sources: []string{"a mirror"}, Files: files}},
	}
	file = filepath.Join(t.TempDir(), "a.bundle")
	made, err := bundle.Write(t.Context(), file, m, blobs, signer, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file, made.SHA256
}

func said(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, streams{in: strings.NewReader(""), out: &o, err: &e})
	return code, o.String(), e.String()
}

func TestBundleInspect(t *testing.T) {
	file, sum := smallBundle(t)
	code, out, errs := said(t, "bundle", "inspect", file, "--sha256", sum, "-o", "json")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	checkSchema(t, []byte(out))
	var info bundleInfo
	if err := json.Unmarshal([]byte(out), &info); err != nil || info.SHA256 != sum || info.ProvenBy == "" || len(info.Hosts) != 2 {
		t.Errorf("%v: %s", err, out)
	}
	code, out, _ = said(t, "bundle", "inspect", file)
	if code != 0 || !strings.Contains(out, "nothing was given that proves") || !strings.Contains(out, "does not list all of its packages") {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, _, errs := said(t, "bundle", "inspect", file, "--sha256", strings.Repeat("0", 64)); code != int(fault.Usage) || !strings.Contains(errs, sum) {
		t.Errorf("with another checksum exit %d: %s", code, errs)
	}
	if err := os.WriteFile(file+".sha256", []byte("no checksum\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := said(t, "bundle", "inspect", file); code != int(fault.Usage) || !strings.Contains(errs, ".sha256 beside it") {
		t.Errorf("with another checksum beside it exit %d: %s", code, errs)
	}
}

func TestBundleUsage(t *testing.T) {
	file, sum := smallBundle(t)
	out := filepath.Join(t.TempDir(), "x")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"bundle", "create", "--out", "x"}, "no host was given"},
		{[]string{"bundle", "create", "--for", "x.yaml"}, "no file to write"},
		{[]string{"bundle", "create", "--for", "testdata/no-card.yaml", "--out", out, "--mirror", "ftp://a b c"}, "its address"},
		{[]string{"bundle", "create", "--for", "testdata/no-card.yaml", "--out", out, "--sources", "a.txt"}, "its ending"},
		{[]string{"bundle", "create", "--for", "testdata/no-card.yaml", "--out", out, "--sign-key", "testdata/no-card.yaml"}, "cannot sign"},
		{[]string{"bundle", "create", "--for", "testdata/no-card.yaml", "--out", "testdata"}, "cannot write the bundle testdata: it is a directory"},
		{[]string{"bundle", "inspect"}, "0 files"},
		{[]string{"install", "--trust-bundle"}, "not named"},
		{[]string{"install", "--bundle", file, "--sha256", "12"}, "64 hex digits"},
		{[]string{"install", "--bundle", file, "--sha256", sum, "--stack", "inbox"}, "--stack with --bundle"},
		{[]string{"install", "--bundle", filepath.Join(t.TempDir(), "none"), "--sha256", sum}, "no such file"},
	} {
		if code, _, errs := said(t, c.args...); code != int(fault.Usage) || !strings.Contains(errs, c.says) {
			t.Errorf("%v: exit %d, %q is not said: %s", c.args, code, c.says, errs)
		}
	}
}

// TestBundleOutIsLookedAtFirst: before anything is planned or downloaded.
func TestBundleOutIsLookedAtFirst(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{filepath.Join(dir, "nowhere", "x"), "/proc/x"} {
		code, _, errs := said(t, "bundle", "create", "--for", "gone.yaml", "--out", file)
		if code != int(fault.Failed) || !strings.Contains(errs, "cannot write the bundle "+file+": ") {
			t.Errorf("exit %d: %s", code, errs)
		}
	}
	if code, _, errs := said(t, "bundle", "create", "--for", "gone.yaml", "--out", filepath.Join(dir, "x"), "--cache", t.TempDir()); code != int(fault.Usage) || !strings.Contains(errs, "gone.yaml") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestBundleKeyOfNothing: a key is for a mirror or a source.
func TestBundleKeyOfNothing(t *testing.T) {
	signer, err := bundle.NewSigner(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	text, err := signer.Public()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	key := filepath.Join(dir, "key.asc")
	if err := os.WriteFile(key, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"bundle", "create", "--for", "testdata/no-card.yaml", "--profile", "inbox", "--out", filepath.Join(dir, "x"), "--cache", filepath.Join(dir, "cache")}
	if code, _, errs := said(t, append(args, "--key", key)...); code != int(fault.Usage) || !strings.Contains(errs, "nothing of the plan comes from a source") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, _, errs := said(t, append(args, "--key", key, "--mirror", "file:/nowhere ./")...); code == 0 || strings.Contains(errs, "nothing of the plan") {
		t.Errorf("with a mirror exit %d: %s", code, errs)
	}
}

func TestBundleHost(t *testing.T) {
	file, _ := smallBundle(t)
	b, err := bundle.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, c := range []struct{ id, release, arch, kernel, want string }{
		{"debian", "12", "x86_64", "6.1.0-58-amd64", "two"},
		{"debian", "12", "x86_64", "6.1.0-99-amd64", "one"},
		{"debian", "13", "x86_64", "6.1.0-58-amd64", ""},
		{"debian", "12", "aarch64", "6.1.0-58-arm64", ""},
		{"ubuntu", "12", "x86_64", "6.1.0-58-amd64", ""},
		{"", "", "", "", ""},
	} {
		var f facts.Facts
		f.Distro.ID, f.Distro.VersionID = facts.Is(c.id, "test"), facts.Is(c.release, "test")
		f.Kernel.Arch, f.Kernel.Release = facts.Is(c.arch, "test"), facts.Is(c.kernel, "test")
		if h, _ := hostOf(b.Manifest, f); h.Name != c.want {
			t.Errorf("%+v is %q", c, h.Name)
		}
	}
}

// TestBundleForAnother: what differs is named, and how a bundle for this very host is made.
func TestBundleForAnother(t *testing.T) {
	file, _ := smallBundle(t)
	b, err := bundle.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	host := func(id, release, arch, kernel string) facts.Facts {
		var f facts.Facts
		f.Distro.ID, f.Distro.VersionID = facts.Is(id, "test"), facts.Is(release, "test")
		f.Kernel.Arch, f.Kernel.Release = facts.Is(arch, "test"), facts.Is(kernel, "test")
		return f
	}
	for _, c := range []struct{ id, release, arch, says string }{
		{"debian", "13", "x86_64", "it is for debian 12 x86_64, and this host is debian 13 x86_64: another release"},
		{"debian", "12", "aarch64", "another architecture"},
		{"rocky", "9.4", "x86_64", "another distribution and release"},
		{"", "", "", "this host is an unknown system"},
	} {
		u, allow := bundleUse{opened: b}, false
		_, err := u.settle(host(c.id, c.release, c.arch, "6"), &wishOptions{}, nil, &allow)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Stopped || f.Code != "not-in-bundle" || !strings.Contains(f.Msg, c.says) ||
			!strings.Contains(f.Hint, "`rdmactl bundle create --for this.yaml") || !strings.Contains(f.Hint, "`rdmactl detect --save this.yaml`") {
			t.Errorf("%+v: %v, hint %v", c, err, f)
		}
	}

	missing := fault.New(fault.Stopped, "package-not-found", "add a repository that has it, then run `apt-get update`", "cannot find package x")
	u, allow := bundleUse{opened: b}, false
	other := host("debian", "12", "x86_64", "6.1.0-99-amd64")
	if _, err := u.settle(other, &wishOptions{}, nil, &allow); err != nil {
		t.Fatal(err)
	}
	var f *fault.Error
	if err := u.lacks(other, missing); !errors.As(err, &f) || f.Msg != missing.Msg || f.Kind != fault.Stopped || strings.Contains(f.Hint, "apt-get") ||
		!strings.Contains(f.Hint, "made for one: its kernel was 6.1.0-57-amd64 and here it is 6.1.0-99-amd64") || !strings.Contains(f.Hint, "bundle create --for this.yaml") {
		t.Errorf("%v, hint %v", err, f)
	}
	same := host("debian", "12", "x86_64", "6.1.0-57-amd64")
	if err := u.lacks(same, missing); !errors.As(err, &f) || strings.Contains(f.Hint, "its kernel was") || !strings.Contains(f.Hint, "this one may have others") {
		t.Errorf("%v, hint %v", err, f)
	}
	locked := fault.New(fault.Locked, "locked", "wait", "another run")
	if err := u.lacks(other, locked); err != error(locked) {
		t.Errorf("a fault that has nothing to do with the bundle became %v", err)
	}
	if err := (&bundleUse{}).lacks(other, missing); err != error(missing) {
		t.Errorf("without a bundle it became %v", err)
	}
}

func TestFromBundle(t *testing.T) {
	p := plan.Plan{Verdict: plan.Install, Steps: []plan.Step{
		{ID: "repository", Kind: plan.KindRepository, Changes: plan.Changes{Repository: &plan.RepositoryChange{URL: "https://vendor.invalid"}}},
		{ID: "packages", Kind: plan.KindPackages, Network: true},
	}}
	got, err := install.FromBundle(p, "", "")
	if err != nil || len(got.Steps) != 1 || got.Steps[0].ID != "packages" || got.Steps[0].Network {
		t.Errorf("%v: %+v", err, got.Steps)
	}
	p.Steps = append(p.Steps, plan.Step{ID: "build", Kind: plan.KindBuild, Changes: plan.Changes{Build: &plan.BuildChange{Source: "https://a", Version: "65.0", Signature: "x"}}})
	if _, err := install.FromBundle(p, "", ""); fault.KindOf(err) != fault.Stopped {
		t.Errorf("a build without a source: %v", err)
	}
	got, err = install.FromBundle(p, "/there/a.tar.gz", "12")
	if b := got.Steps[1].Changes.Build; err != nil || b.Source != "/there/a.tar.gz" || b.SHA256 != "12" || b.Signature != "" || p.Steps[2].Changes.Build.Source != "https://a" {
		t.Errorf("%v: %+v", err, b)
	}
}
