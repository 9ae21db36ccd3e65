package bundles

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/install/bundle"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// made is what `bundle create` prints.
type made struct {
	bundle.Manifest
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// creating is the command that makes a bundle for hosts in a directory that keeps its downloads.
func (mi *mirror) creating(dir string, evidence []string, more ...string) []string {
	args := []string{
		"bundle", "create", "--profile", "inbox", "--mirror", mi.url + " ./", "--key", mi.key,
		"--cache", filepath.Join(dir, "cache"), "--out", filepath.Join(dir, "rdma.bundle"), "-o", "json",
	}
	for _, e := range evidence {
		args = append(args, "--for", e)
	}
	return append(args, more...)
}

func created(t *testing.T, args []string) made {
	t.Helper()
	return rootlab.Decode[made](t, lab.Rdmactl(t, 0, args...))
}

// installing is the command that installs a host from a bundle.
func (h host) installing(file string, more ...string) []string {
	return append([]string{"install", "--root", h.Dir, "--yes", "--bundle", file}, more...)
}

// TestBundle is the whole way of a host whose own repositories are not asked.
func TestBundle(t *testing.T) {
	m := prepared(t)
	mi := newMirror(t, m, "trusted")
	h := newHost(t, m, mi)
	out := created(t, mi.creating(t.TempDir(), []string{h.evidence}))
	if len(out.Hosts) != 1 || out.Hosts[0].Installed != bundle.InstalledTold || out.Hosts[0].Distro != "debian" || out.Hosts[0].Release != "12" {
		t.Fatalf("the bundle is for %+v", out.Hosts)
	}
	inside := map[string]bool{}
	for _, p := range out.Hosts[0].Packages {
		inside[p.Name] = true
	}
	before, packages := h.files(t), h.packages(t)
	for _, name := range []string{"rdma-core", "libibverbs1", "libnl-3-200", "perftest"} {
		if !inside[name] || packages[name] != "" {
			t.Errorf("%s is in the bundle: %v; the host had %q", name, inside[name], packages[name])
		}
	}
	for name := range packages {
		if inside[name] {
			t.Errorf("%s is in the bundle although the host has it", name)
		}
	}
	lab.Rdmactl(t, 0, "bundle", "inspect", out.File).Says(t, out.SHA256, "debian 12 x86_64", "whole", "nothing was given")
	lab.Rdmactl(t, 0, "bundle", "inspect", out.File, "--sha256", out.SHA256).Says(t, "proven by its SHA-256")

	mi.requests()
	lab.Rdmactl(t, 4, h.installing(out.File)...).Says(t, "nothing shows", "--trust-bundle")
	lab.Rdmactl(t, 2, h.installing(out.File, "--sha256", out.SHA256, "--profile", "soft")...).Says(t, "--profile with --bundle")
	dry := h.installing(out.File, "--sha256", out.SHA256, "--dry-run")
	lab.Rdmactl(t, 0, dry...).Says(t, "install libibverbs1", "nothing was changed")
	if diff := before.Changed(h.files(t)); len(diff) > 0 {
		t.Errorf("what changes nothing changed:\n%s", strings.Join(diff, "\n"))
	}
	lab.Rdmactl(t, 0, h.installing(out.File, "--sha256", out.SHA256)...).Says(t, "run ended: done")
	now := h.packages(t)
	for name := range inside {
		if !strings.HasPrefix(now[name], "install ok installed") {
			t.Errorf("%s is %q", name, now[name])
		}
	}
	for _, place := range []string{"var/cache/rdmactl", "etc/apt/sources.list.d/rdmactl-bundle.list", "etc/apt/keyrings/rdmactl-bundle.asc"} {
		if _, err := os.Lstat(h.Path(place)); !os.IsNotExist(err) {
			t.Errorf("%s is left on the host: %v", place, err)
		}
	}
	if grep, err := exec.Command("grep", "-rl", "rdmactl-bundle\\|rdmactl/bundles", h.Path("etc")).Output(); err == nil {
		t.Errorf("the bundle is named in %s", grep)
	}
	lab.Rdmactl(t, 0, h.installing(out.File, "--sha256", out.SHA256)...).Says(t, "nothing to do")
	lab.RollsBack(t, h.Root)
	if diff := before.Changed(h.files(t)); len(diff) > 0 {
		t.Errorf("the host is not as before:\n%s", strings.Join(diff, "\n"))
	}
	if diff := packages.Changed(h.packages(t)); len(diff) > 0 {
		t.Errorf("the packages are not as before: %v", diff)
	}
	if n := mi.requests(); n > 0 {
		t.Errorf("the host's repository was asked %d times", n)
	}
}

// TestOwnKey signs a bundle with a key that the site has, and takes it by that.
func TestOwnKey(t *testing.T) {
	m := prepared(t)
	mi := newMirror(t, m, "trusted")
	h := newHost(t, m, mi)
	dir := t.TempDir()
	secret, public, other := filepath.Join(dir, "secret.asc"), filepath.Join(dir, "public.asc"), filepath.Join(dir, "other.asc")
	site := signer(t, "site")
	must(t, rootlab.Run(site.GPG("--armor", "--export-secret-keys", "--output", secret)))
	for file, s := range map[string]rootlab.Signer{public: site, other: signer(t, "stranger")} {
		text, err := s.Public()
		must(t, err)
		must(t, os.WriteFile(file, text, 0o644))
	}
	out := created(t, mi.creating(dir, []string{h.evidence}, "--sign-key", secret))
	lab.Rdmactl(t, 2, "bundle", "inspect", out.File, "--key", other).Says(t, "none of the keys")
	lab.Rdmactl(t, 2, h.installing(out.File, "--key", other)...).Says(t, "none of the keys")
	lab.Rdmactl(t, 0, h.installing(out.File, "--key", public)...).Says(t, "the signature of "+out.Fingerprint, "run ended: done")
	lab.RollsBack(t, h.Root)
	lab.Rdmactl(t, 2, mi.creating(dir, []string{h.evidence}, "--sign-key", public)...).Says(t, "public")
}

// TestTwoHosts has what both need once.
func TestTwoHosts(t *testing.T) {
	m := prepared(t)
	mi := newMirror(t, m, "trusted")
	h := newHost(t, m, mi)
	text, err := os.ReadFile(h.evidence)
	must(t, err)
	later := strings.ReplaceAll(string(text), `VERSION_ID="12"`, `VERSION_ID="13"`)
	if later == string(text) {
		t.Fatal("the evidence does not tell the release")
	}
	second := filepath.Join(t.TempDir(), "later.yaml")
	must(t, os.WriteFile(second, []byte(later), 0o644))
	one := created(t, mi.creating(t.TempDir(), []string{h.evidence}))
	both := created(t, mi.creating(t.TempDir(), []string{h.evidence, second}, "--mirror", "debian-13="+mi.url+" ./"))
	if len(both.Hosts) != 2 || len(both.Repositories) != 2 {
		t.Fatalf("%d hosts and %d repositories", len(both.Hosts), len(both.Repositories))
	}
	inBoth := both.Repositories[0].Packages
	if inBoth == 0 || inBoth != one.Repositories[0].Packages {
		t.Errorf("%d packages are for the first host, and %d in a bundle of its own", inBoth, one.Repositories[0].Packages)
	}
	if more := both.Bytes - one.Bytes; more > 200<<10 {
		t.Errorf("the second host takes %d bytes more, of %d", more, one.Bytes)
	}
	t.Logf("for one host %d bytes, for two %d", one.Bytes, both.Bytes)

	// A bundle for the other host alone is refused.
	wrong := created(t, mi.creating(t.TempDir(), []string{second}))
	before := h.files(t)
	lab.Rdmactl(t, 4, h.installing(wrong.File, "--sha256", wrong.SHA256)...).Says(t, "it is for debian 13 x86_64", "this host is debian 12 x86_64")
	if diff := before.Changed(h.files(t)); len(diff) > 0 {
		t.Errorf("a bundle for another host changed:\n%s", strings.Join(diff, "\n"))
	}
}

// TestOldEvidence has no list of what the host has: more comes than it lacks, and that is said.
func TestOldEvidence(t *testing.T) {
	m := prepared(t)
	mi := newMirror(t, m, "trusted")
	h := newHost(t, m, mi)
	text, err := os.ReadFile(h.evidence)
	must(t, err)
	at := strings.Index(string(text), "dpkg-query -W -f Package:")
	if at < 0 {
		t.Fatal("the evidence does not list the packages with their relations")
	}
	old := strings.Replace(string(text), "dpkg-query -W -f Package:", "dpkg-query -W -f Parcel:", 1)
	must(t, os.WriteFile(h.evidence, []byte(old), 0o644))
	// The mirror has not what the host has: nothing less would do.
	lab.Rdmactl(t, 4, mi.creating(t.TempDir(), []string{h.evidence})...).Says(t, "Depends: libc6")
}
