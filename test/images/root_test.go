package images

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rdmactl/rdmactl/test/internal/cache"
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

// whyNot is why these tests cannot run here, empty if they can.
func whyNot() string {
	switch _, err := exec.LookPath("mmdebstrap"); {
	case os.Getenv("RDMACTL_ROOTS") != "1":
		return "set RDMACTL_ROOTS=1 to install into real images; making the first takes minutes"
	case os.Geteuid() != 0:
		return "needs root: a root file system is made and entered"
	case err != nil:
		return "needs mmdebstrap"
	}
	return ""
}

type counter struct {
	n      atomic.Int64
	reason atomic.Value
}

var skips counter

func skippedCount() int64 { return skips.n.Load() }

func skipReason() any { return skips.reason.Load() }

// material is what is made once and kept: a root, which nobody changes, and packages.
type material struct{ root, debs string }

func prepared(t *testing.T) material {
	t.Helper()
	if why := whyNot(); why != "" {
		skips.n.Add(1)
		skips.reason.Store(why)
		t.Skip(why)
	}
	c, err := cache.Open()
	must(t, err)
	hash, err := cache.Key(1, suite, rootPackages(), repoPackages(), initramfsList, fetch)
	must(t, err)
	dir, err := c.Get("diskless-"+suite, hash, func(dir string) error {
		t.Logf("making a root of Debian %s, about two minutes", suite)
		cmd := exec.Command("nice", "mmdebstrap", "--variant=minbase", "--quiet", "--include="+strings.Join(rootPackages(), ","),
			"--essential-hook="+initramfsList, "--customize-hook="+fetch, suite, filepath.Join(dir, "root"))
		cmd.Env = append(os.Environ(), "DEBS="+filepath.Join(dir, "debs"), "REPO_PACKAGES="+strings.Join(repoPackages(), " "))
		return run(cmd)
	})
	must(t, err)
	return material{filepath.Join(dir, "root"), filepath.Join(dir, "debs")}
}

// key is a throw-away signing key, made once.
func key(t *testing.T, name string) string {
	t.Helper()
	c, err := cache.Open()
	must(t, err)
	home, err := c.Get("diskless-key-"+name, "1", func(dir string) error {
		return errors.Join(os.Chmod(dir, 0o700), run(gpg(dir, "--passphrase", "", "--quick-generate-key",
			"rdmactl test "+name+" <"+name+"@rdmactl.invalid>", "rsa3072", "sign", "never")), closeAgent(dir))
	})
	must(t, err)
	return home
}

func gpg(home string, args ...string) *exec.Cmd {
	return exec.Command("gpg", append([]string{"--homedir", home, "--batch", "--yes", "--pinentry-mode", "loopback"}, args...)...)
}

func closeAgent(home string) error {
	return run(exec.Command("gpgconf", "--homedir", home, "--kill", "gpg-agent"))
}

// image is one image of one test: an overlay over the kept root, or a copy of it.
type image struct {
	root  string
	state string // directory beside it
}

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
func overlay(t *testing.T, lower string) image {
	t.Helper()
	base, err := os.MkdirTemp(filepath.Dir(filepath.Dir(lower)), "run-diskless-")
	must(t, err)
	must(t, os.Chmod(base, 0o700))
	t.Cleanup(func() { must(t, os.RemoveAll(base)) })
	im := image{root: filepath.Join(base, "root"), state: base}
	upper, work := filepath.Join(base, "upper"), filepath.Join(base, "work")
	for _, dir := range []string{im.root, upper, work} {
		must(t, os.Mkdir(dir, 0o755))
	}
	err = unix.Mount("overlay", im.root, "overlay", 0, "lowerdir="+lower+",upperdir="+upper+",workdir="+work)
	if err == nil {
		t.Cleanup(func() { must(t, unix.Unmount(im.root, unix.MNT_DETACH)) })
		t.Cleanup(func() { im.quiet(t) })
	} else {
		must(t, run(exec.Command("cp", "--archive", "--no-target-directory", lower, im.root)))
	}
	return im
}

// repository lays the packages into the image and signs their index.
func (im image) repository(t *testing.T, debs string, extra []string) {
	t.Helper()
	dir := im.path("srv/repo")
	must(t, os.MkdirAll(dir, 0o755))
	found, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	must(t, err)
	if len(found) == 0 {
		t.Fatalf("no packages in %s", debs)
	}
	must(t, run(exec.Command("cp", append(append(found, extra...), dir)...)))
	var packages, release bytes.Buffer
	list := exec.Command("apt-ftparchive", "packages", ".")
	list.Dir, list.Stdout = dir, &packages
	must(t, run(list))
	must(t, os.WriteFile(filepath.Join(dir, "Packages"), packages.Bytes(), 0o644))
	sums := exec.Command("apt-ftparchive", "-o", "APT::FTPArchive::Release::Suite="+suite, "-o", "APT::FTPArchive::Release::Codename="+suite, "release", ".")
	sums.Dir, sums.Stdout = dir, &release
	must(t, run(sums))
	must(t, os.WriteFile(filepath.Join(dir, "Release"), release.Bytes(), 0o644))
	home := key(t, "trusted")
	must(t, run(gpg(home, "--clearsign", "--output", filepath.Join(dir, "InRelease"), filepath.Join(dir, "Release"))))
	must(t, run(gpg(home, "--export", "--output", im.path("usr/share/keyrings/rdmactl-test.gpg"))))
	must(t, closeAgent(home))
	for _, name := range []string{"etc/apt/sources.list", "etc/apt/sources.list.d"} {
		must(t, os.RemoveAll(im.path(name)))
	}
	must(t, os.MkdirAll(im.path("etc/apt/sources.list.d"), 0o755))
	im.write(t, "etc/apt/sources.list.d/test.list", "deb [signed-by=/usr/share/keyrings/rdmactl-test.gpg] file:/srv/repo ./\n", 0o644)
}

// quiet waits until nobody works on the image any more.
func (im image) quiet(t *testing.T) {
	t.Helper()
	eventually(t, "the end of all runs", func() bool {
		all, err := filepath.Glob("/proc/[0-9]*/cmdline")
		must(t, err)
		for _, file := range all {
			if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, []byte(im.root)) {
				return false
			}
		}
		return true
	})
}

func (im image) path(rel string) string { return filepath.Join(im.root, rel) }

func (im image) write(t *testing.T, rel, text string, mode os.FileMode) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(im.path(rel)), 0o755))
	must(t, os.WriteFile(im.path(rel), []byte(text), mode))
	must(t, os.Chmod(im.path(rel), mode))
}

// run runs a command and puts what it said into the error.
func run(cmd *exec.Cmd) error {
	var said bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &said
	}
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, said.String())
	}
	return nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// program is rdmactl as it is released, built once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "rdmactl-images-")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "rdmactl")
	cmd := exec.Command("go", "build", "-trimpath", "-o", file, "../../cmd/rdmactl")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return file, run(cmd)
})
