package images

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/cache"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// suite is the Debian release of the images.
const suite = "bookworm"

// rootPackages are in the image before anything is installed: a system that could boot, and no RDMA package.
func rootPackages() []string {
	return []string{
		"dbus", "iproute2", "kmod", "linux-image-amd64", "perl", "procps", "python3", "systemd", "systemd-sysv", "udev", "util-linux",
	}
}

// repoPackages are offered by the repository inside the image, with all that they need.
func repoPackages() []string {
	return []string{
		"rdma-core", "libibverbs1", "ibverbs-providers", "ibverbs-utils", "librdmacm1", "rdmacm-utils", "libibumad3", "libibmad5",
		"libibnetdisc5", "infiniband-diags", "perftest", "mstflint", "ethtool", "pciutils",
	}
}

// initramfsList keeps the image's initramfs small.
const initramfsList = `mkdir -p "$1/etc/initramfs-tools/conf.d"
echo MODULES=list >"$1/etc/initramfs-tools/conf.d/rdmactl-test"`

// fetch runs outside of the root with apt configured for it, while the package lists are there.
const fetch = `export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
mkdir -p "$DEBS/partial"
apt-get install --yes --download-only --no-remove -o APT::Install-Recommends=true \
  -o Dir::Cache::Archives="$DEBS" -o APT::Sandbox::User=root -o Debug::NoLocking=true $REPO_PACKAGES
rm -rf "$DEBS/partial" "$DEBS/lock"`

// material is what is made once and kept: a root, which nobody changes, and packages.
type material struct{ root, debs string }

func prepared(t *testing.T) material {
	t.Helper()
	lab.Need(t, rootlab.WhyNot("set RDMACTL_ROOTS=1 to install into real images; making the first takes minutes", "mmdebstrap"))
	c, err := cache.Open()
	must(t, err)
	hash, err := cache.Key(1, suite, rootPackages(), repoPackages(), initramfsList, fetch)
	must(t, err)
	dir, err := c.Get("diskless-"+suite, hash, func(dir string) error {
		t.Logf("making a root of Debian %s, about two minutes", suite)
		cmd := exec.Command("nice", "mmdebstrap", "--variant=minbase", "--quiet", "--include="+strings.Join(rootPackages(), ","),
			"--essential-hook="+initramfsList, "--customize-hook="+fetch, suite, filepath.Join(dir, "root"))
		cmd.Env = append(os.Environ(), "DEBS="+filepath.Join(dir, "debs"), "REPO_PACKAGES="+strings.Join(repoPackages(), " "))
		return rootlab.Run(cmd)
	})
	must(t, err)
	return material{filepath.Join(dir, "root"), filepath.Join(dir, "debs")}
}

// image is one image of one test.
type image struct{ rootlab.Root }

// newImage makes an image whose only package source is a signed repository inside it, of the prepared packages
// and those of extra.
func newImage(t *testing.T, extra ...string) image {
	t.Helper()
	m := prepared(t)
	im := overlay(t, m.root)
	im.repository(t, m.debs, extra)
	return im
}

// overlay makes an image that is a kept root until something is changed in it.
func overlay(t *testing.T, kept string) image {
	t.Helper()
	return image{rootlab.Over(t, kept, "run-diskless-")}
}

// repository lays the packages into the image and signs their index.
func (im image) repository(t *testing.T, debs string, extra []string) {
	t.Helper()
	dir := im.Path("srv/repo")
	must(t, os.MkdirAll(dir, 0o755))
	found, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	must(t, err)
	if len(found) == 0 {
		t.Fatalf("no packages in %s", debs)
	}
	must(t, rootlab.Run(exec.Command("cp", append(append(found, extra...), dir)...)))
	var packages, release bytes.Buffer
	list := exec.Command("apt-ftparchive", "packages", ".")
	list.Dir, list.Stdout = dir, &packages
	must(t, rootlab.Run(list))
	must(t, os.WriteFile(filepath.Join(dir, "Packages"), packages.Bytes(), 0o644))
	sums := exec.Command("apt-ftparchive", "-o", "APT::FTPArchive::Release::Suite="+suite, "-o", "APT::FTPArchive::Release::Codename="+suite, "release", ".")
	sums.Dir, sums.Stdout = dir, &release
	must(t, rootlab.Run(sums))
	must(t, os.WriteFile(filepath.Join(dir, "Release"), release.Bytes(), 0o644))
	c, err := cache.Open()
	must(t, err)
	trusted, err := rootlab.NewSigner(c, "diskless-key", "trusted")
	must(t, err)
	must(t, rootlab.Run(trusted.GPG("--clearsign", "--output", filepath.Join(dir, "InRelease"), filepath.Join(dir, "Release"))))
	must(t, rootlab.Run(trusted.GPG("--export", "--output", im.Path("usr/share/keyrings/rdmactl-test.gpg"))))
	must(t, trusted.Stop())
	for _, name := range []string{"etc/apt/sources.list", "etc/apt/sources.list.d"} {
		must(t, os.RemoveAll(im.Path(name)))
	}
	must(t, os.MkdirAll(im.Path("etc/apt/sources.list.d"), 0o755))
	im.write(t, "etc/apt/sources.list.d/test.list", "deb [signed-by=/usr/share/keyrings/rdmactl-test.gpg] file:/srv/repo ./\n", 0o644)
}

func (im image) write(t *testing.T, rel, text string, mode os.FileMode) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(im.Path(rel)), 0o755))
	must(t, os.WriteFile(im.Path(rel), []byte(text), mode))
	must(t, os.Chmod(im.Path(rel), mode))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
