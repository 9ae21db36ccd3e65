package supply

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/install/bundle"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

func hostOf(id, release, arch string) facts.Facts {
	var f facts.Facts
	f.Distro.ID, f.Distro.VersionID, f.Kernel.Arch = facts.Is(id, "test"), facts.Is(release, "test"), facts.Is(arch, "test")
	return f
}

func TestParseMirror(t *testing.T) {
	for text, want := range map[string]Feed{
		"https://m/debian bookworm main contrib": {Form: "apt", Address: "https://m/debian", Suite: "bookworm", Components: []string{"main", "contrib"}},
		"debian-12=https://m/debian ./":          {For: "debian-12", Form: "apt", Address: "https://m/debian", Suite: "./", Components: []string{}},
		"/srv/mirror ./":                         {Form: "apt", Address: "file:/srv/mirror", Suite: "./", Components: []string{}},
		"https://m/BaseOS/x86_64/os/":            {Form: "rpm", Address: "https://m/BaseOS/x86_64/os/"},
		"rocky-9.4=https://m/os?a=b":             {For: "rocky-9.4", Form: "rpm", Address: "https://m/os?a=b"},
	} {
		got, err := ParseMirror(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
	for _, text := range []string{"", "mirror", "ftp://m/debian bookworm main", "https://m/debian bookworm", "https://m/debian ./ main", "https://m/[arch=x] a b", "https:///x a b", "https://m/a\n[b]", "https://m/ suite;x main", "-x a b"} {
		if got, err := ParseMirror(text); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	if _, err := ParseMirror("https://me:secret@m/ one two;"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a password is told: %v", err)
	}
}

func TestParseSourcesName(t *testing.T) {
	for text, want := range map[string]Feed{
		"/a/x.list":           {Form: "apt", Name: "x.list"},
		"debian=/a/x.sources": {For: "debian", Form: "apt", Name: "x.sources"},
		"rocky-9.4=b.repo":    {For: "rocky-9.4", Form: "rpm", Name: "b.repo"},
	} {
		_, got, err := ParseSourcesName(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
	if _, _, err := ParseSourcesName("a.yaml"); fault.KindOf(err) != fault.Usage {
		t.Errorf("a.yaml: %v", err)
	}
}

func TestFeedIsForSomeHosts(t *testing.T) {
	debian := hostOf("debian", "12", "x86_64")
	for of, want := range map[string]bool{"": true, "debian": true, "debian-12": true, "debian-1": false, "debian-13": false, "ubuntu": false} {
		if got := (Feed{For: of, Form: "apt"}).of(debian, "apt"); got != want {
			t.Errorf("%q is for debian 12: %v", of, got)
		}
	}
	if (Feed{Form: "rpm"}).of(debian, "apt") {
		t.Error("an rpm repository is for a host with apt")
	}
}

func TestKindID(t *testing.T) {
	if id, err := kindID(hostOf("debian", "12", "x86_64")); err != nil || id != "debian-12-x86_64" {
		t.Errorf("%q, %v", id, err)
	}
	for _, f := range []facts.Facts{{}, hostOf("debian", "", "x86_64"), hostOf("debian", "12/../..", "x86_64"), hostOf("debian", "12", "")} {
		if id, err := kindID(f); fault.KindOf(err) != fault.Stopped {
			t.Errorf("%q, %v", id, err)
		}
	}
}

func TestAddDeb(t *testing.T) {
	k := &kind{}
	one := pkgmgr.PackageFile{Package: pkgmgr.Package{Name: "ethtool", Version: "1:6.1-1", Arch: "amd64"}, SHA256: strings.Repeat("a", 64), Bytes: 3}
	other := one
	other.SHA256 = strings.Repeat("b", 64)
	for range 2 {
		if err := k.addDeb(one); err != nil {
			t.Fatal(err)
		}
	}
	if len(k.debs) != 1 || k.debs[0].Name != "ethtool_6.1-1_amd64.deb" {
		t.Errorf("%+v", k.debs)
	}
	if err := k.addDeb(other); fault.KindOf(err) != fault.Stopped {
		t.Errorf("another package of the same name: %v", err)
	}
}

func TestSource(t *testing.T) {
	text := []byte("a source archive")
	raw := sha256.Sum256(text)
	sum := hex.EncodeToString(raw[:])
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked++; _, _ = w.Write(text) }))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "rdma-core-65.0.tar.gz")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c := &Collection{Cache: t.TempDir()}
	take := func(source, sum string) (string, *kind, error) {
		k := &kind{}
		p := plan.Plan{Steps: []plan.Step{{Kind: plan.KindBuild, Changes: plan.Changes{Build: &plan.BuildChange{Source: source, SHA256: sum, Version: "65.0"}}}}}
		at, err := c.source(t.Context(), k, Host{Name: "one", Plan: p})
		return at, k, err
	}
	for _, source := range []string{file, server.URL + "/rdma-core-65.0.tar.gz", server.URL + "/rdma-core-65.0.tar.gz"} {
		at, k, err := take(source, strings.ToUpper(sum))
		if err != nil || at != "source/rdma-core-65.0.tar.gz" || len(k.builds) != 1 || k.builds[0].blob.SHA256 != sum {
			t.Errorf("%s: %q, %+v, %v", source, at, k.builds, err)
		}
	}
	if asked != 1 {
		t.Errorf("the server was asked %d times", asked)
	}
	for source, digits := range map[string]string{
		file: strings.Repeat("0", 64), "": sum, file + ".dsc": sum, filepath.Dir(file): sum, file + "/none": sum, server.URL + "/other.tar.gz": strings.Repeat("0", 64),
	} {
		if at, _, err := take(source, digits); fault.KindOf(err) != fault.Stopped {
			t.Errorf("%s with %s: %q, %v", source, digits, at, err)
		}
	}
	if _, _, err := take(file, ""); fault.KindOf(err) != fault.Stopped {
		t.Errorf("without a checksum: %v", err)
	}
	if at, err := c.source(t.Context(), &kind{}, Host{}); at != "" || err != nil {
		t.Errorf("without a build: %q, %v", at, err)
	}
}

func TestKeys(t *testing.T) {
	signer, err := bundle.NewSigner(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	public, err := signer.Public()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Keys([]string{public, public}, time.Now())
	if err != nil || len(got) != 2 || !strings.HasPrefix(got[0], "-----BEGIN PGP PUBLIC KEY BLOCK-----") {
		t.Errorf("%q, %v", got, err)
	}
	for what, one := range map[string]struct {
		text string
		now  time.Time
	}{"none": {"nothing", time.Now()}, "of the future": {public, time.Now().AddDate(-1, 0, 0)}} {
		if _, err := Keys([]string{one.text}, one.now); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestWithInstalled(t *testing.T) {
	var f facts.Facts
	f.Packages.Installed = facts.Is([]facts.Package{{Name: "libibverbs"}, {Name: "kernel-core"}, {Name: "rdma-core"}, {Name: "mlnx-tools"}}, "test")
	p := plan.Plan{Steps: []plan.Step{{Kind: plan.KindPackages, Changes: plan.Changes{Packages: []plan.PackageChange{{Name: "rdma-core", Action: "install"}, {Name: "mlnx-tools", Action: "remove"}}}}}}
	got := withInstalled(Host{Facts: f, Plan: p})
	if len(got.Steps) != 2 || len(p.Steps) != 1 || len(got.Steps[1].Changes.Packages) != 1 || got.Steps[1].Changes.Packages[0].Name != "libibverbs" || !got.Steps[1].Changes.Packages[0].Optional {
		t.Errorf("%+v", got.Steps)
	}
}
