package rpmhosts

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/cache"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// base makes a repository of what the host has and its other packages need: a bundle for a host of which it is
// not known what it has brings that as well.
func (im image) base(t *testing.T, trusted rootlab.Signer) string {
	t.Helper()
	dir := t.TempDir()
	must(t, im.releasePackage().build(dir, im.Dir, im.vendor))
	files, err := filepath.Glob(dir + "/*.rpm")
	must(t, err)
	must(t, trusted.RPMs(files...))
	must(t, trusted.Stop())
	must(t, rootlab.Run(exec.Command("createrepo_c", "-q", "--general-compress-type=gz", dir)))
	return dir
}

// bundler makes bundles for the host.
type bundler struct {
	dir, file     string
	evidence, key string
	base          string // repository of what the host has
	im            image
}

func (im image) bundler(t *testing.T) bundler {
	t.Helper()
	c, err := cache.Open()
	must(t, err)
	trusted, err := rootlab.NewSigner(c, "rpmhostkey", "trusted")
	must(t, err)
	dir := t.TempDir()
	b := bundler{dir: dir, file: filepath.Join(dir, "rdma.bundle"), evidence: filepath.Join(dir, "host.yaml"), key: filepath.Join(dir, "key.asc"), im: im}
	public, err := trusted.Public()
	must(t, err)
	must(t, os.WriteFile(b.key, public, 0o644))
	lab.Rdmactl(t, 0, "detect", "--root", im.Dir, "--kernel", im.kernel, "--save", b.evidence)
	b.base = im.base(t, trusted)
	return b
}

// creates makes a bundle from one of the repositories.
func (b bundler) creates(t *testing.T, exit int, repository string) rootlab.Result {
	t.Helper()
	return lab.Rdmactl(t, exit, "bundle", "create", "--for", b.evidence, "--profile", "inbox", "--card", "connectx-5", "--kernel", b.im.kernel,
		"--mirror", serve(t, b.im.repos)+"/"+repository, "--mirror", b.base, "--key", b.key, "--cache", filepath.Join(b.dir, "cache-"+repository), "--out", b.file, "-o", "json")
}

// TestFaultyMirrors give no bundle.
func TestFaultyMirrors(t *testing.T) {
	each(t, func(t *testing.T, s system) {
		b := newImage(t, s, good).bundler(t)
		twins := faulty()
		if s.manager == "dnf" { // which verifies the index of no mirror, but each package
			twins = []string{unsigned, tampered}
		}
		for _, name := range twins {
			t.Run(name, func(t *testing.T) {
				r := b.creates(t, 4, name)
				if !regexp.MustCompile(`(?i)signature|checksum|signed|digest|correct key`).MatchString(r.Stderr) {
					t.Errorf("it is not said what is wrong:\n%s", r)
				}
				if _, err := os.Lstat(b.file); !os.IsNotExist(err) {
					t.Errorf("there is a bundle: %v", err)
				}
			})
		}
	})
}

// TestBundle installs a host from a bundle, with its own repository out of reach.
func TestBundle(t *testing.T) {
	each(t, func(t *testing.T, s system) {
		im := newImage(t, s, good)
		b := im.bundler(t)
		r := b.creates(t, 0, good)
		r.Says(t, "not-told", `"form": "rpm"`)
		file, sum := b.file, rootlab.Decode[struct{ SHA256 string }](t, r).SHA256
		im.uses(t, "http://127.0.0.1:9/") // nothing answers there
		before, packages := im.files(t), im.packages(t)
		install := func(more ...string) []string {
			return append([]string{"install", "--root", im.Dir, "--kernel", im.kernel, "--yes", "--bundle", file}, more...)
		}
		lab.Rdmactl(t, 4, install()...).Says(t, "--sha256")
		must(t, change(file, func(data []byte) []byte { data[len(data)-5000] ^= 1; return data }))
		lab.Rdmactl(t, 2, install("--trust-bundle")...).Says(t, "has the SHA-256")
		must(t, change(file, func(data []byte) []byte { data[len(data)-5000] ^= 1; return data }))
		dry := lab.Rdmactl(t, 0, install("--sha256", sum, "--dry-run")...)
		dry.Says(t, "install libibverbs", map[string]string{"dnf": "rdmactl-bundle", "zypper": "rdmactl bundle"}[s.manager]) // its id, and its name
		if diff := before.Changed(im.files(t)); len(diff) > 0 {
			t.Errorf("a dry run changed files:\n%s", strings.Join(diff, "\n"))
		}
		lab.Rdmactl(t, 0, install("--sha256", sum)...).Says(t, "done")
		now := im.packages(t)
		for _, name := range im.want {
			if now[name] == "" {
				t.Errorf("%s is not installed", name)
			}
		}
		for name := range now {
			if strings.HasPrefix(name, "gpg-pubkey") && packages[name] == "" {
				t.Errorf("the host trusts %s since", name)
			}
		}
		for _, place := range []string{"var/cache/rdmactl", s.repos + "/rdmactl-bundle.repo", "etc/pki/rpm-gpg/RPM-GPG-KEY-rdmactl-bundle"} {
			if im.has(place) {
				t.Errorf("%s is left on the host", place)
			}
		}
		lab.Rdmactl(t, 0, install("--sha256", sum)...).Says(t, "nothing to do")
		im.restored(t, before, packages)
	})
}
