package rpmhosts

import (
	"os"
	"os/exec"
	"path/filepath"
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

// bundled makes a bundle for the host, and returns its file and checksum.
func (im image) bundled(t *testing.T, exit int) (file, sum string, r rootlab.Result) {
	t.Helper()
	c, err := cache.Open()
	must(t, err)
	trusted, err := rootlab.NewSigner(c, "rpmhostkey", "trusted")
	must(t, err)
	dir := t.TempDir()
	evidence, key := filepath.Join(dir, "host.yaml"), filepath.Join(dir, "key.asc")
	file = filepath.Join(dir, "rdma.bundle")
	public, err := trusted.Public()
	must(t, err)
	must(t, os.WriteFile(key, public, 0o644))
	lab.Rdmactl(t, 0, "detect", "--root", im.Dir, "--kernel", im.kernel, "--save", evidence)
	r = lab.Rdmactl(t, exit, "bundle", "create", "--for", evidence, "--profile", "inbox", "--card", "connectx-5", "--kernel", im.kernel,
		"--mirror", serve(t, im.repos)+"/"+good, "--mirror", im.base(t, trusted), "--key", key, "--cache", filepath.Join(dir, "cache"), "--out", file, "-o", "json")
	if exit == 0 {
		sum = rootlab.Decode[struct{ SHA256 string }](t, r).SHA256
	}
	return file, sum, r
}

// TestBundle installs a host with dnf from a bundle, with its own repository out of reach. For a host with zypper
// it is said that there is none.
func TestBundle(t *testing.T) {
	each(t, func(t *testing.T, s system) {
		im := newImage(t, s, good)
		if s.manager != "dnf" {
			_, _, r := im.bundled(t, 4)
			r.Says(t, "zypper", "cannot make a bundle")
			return
		}
		file, sum, r := im.bundled(t, 0)
		r.Says(t, "not-told", `"form": "rpm"`)
		im.uses(t, "http://127.0.0.1:9/") // nothing answers there
		before, packages := im.files(t), im.packages(t)
		install := func(more ...string) []string {
			return append([]string{"install", "--root", im.Dir, "--kernel", im.kernel, "--yes", "--bundle", file}, more...)
		}
		lab.Rdmactl(t, 4, install()...).Says(t, "--sha256")
		dry := lab.Rdmactl(t, 0, install("--sha256", sum, "--dry-run")...)
		dry.Says(t, "install libibverbs", "rdmactl-bundle")
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
		for _, place := range []string{"var/cache/rdmactl", "etc/yum.repos.d/rdmactl-bundle.repo", "etc/pki/rpm-gpg/RPM-GPG-KEY-rdmactl-bundle"} {
			if im.has(place) {
				t.Errorf("%s is left on the host", place)
			}
		}
		lab.Rdmactl(t, 0, install("--sha256", sum)...).Says(t, "nothing to do")
		im.restored(t, before, packages)
	})
}
