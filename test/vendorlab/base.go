package vendorlab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/test/internal/cache"
)

// Base is what everything is made from: a root and packages of one Debian release.
type Base struct {
	// Root is a file tree with systemd, a kernel, its headers, a compiler, DKMS and dnf, and without any package
	// of an RDMA stack. Never write into it: copy it, as CopyRoot does.
	Root string
	// Inbox is a flat apt repository, not signed, with Debian's own RDMA packages and what they depend on.
	Inbox string
	// Kernel is the release of the kernel in Root, as uname -r prints it.
	Kernel string
	// source has the kernel's own sources of the modules that are replaced.
	source string
}

const suite = "bookworm"

// rootPackages are what a server has, with what DKMS needs.
func rootPackages() []string {
	return []string{
		"dbus", "dkms", "dnf", "ethtool", "gcc", "iproute2", "kmod", "libc6-dev", "libnl-3-200", "libnl-route-3-200", "linux-headers-amd64", "linux-image-amd64",
		"lsof", "make", "openssl", "pciutils", "perl", "procps", "python3", "rpm", "systemd", "systemd-sysv", "udev", "util-linux",
	}
}

// inboxPackages are repacked under the vendor's names and versions, and are what the way back leads to.
func inboxPackages() []string {
	return []string{
		"rdma-core", "libibverbs1", "ibverbs-providers", "ibverbs-utils", "librdmacm1", "rdmacm-utils", "libibumad3",
		"libibmad5", "libibnetdisc5", "infiniband-diags", "perftest", "ethtool", "iproute2", "libnl-3-200",
		"libnl-route-3-200",
	}
}

// kernelSource are the directories that are taken from Debian's source of the kernel.
func kernelSource() []string { return []string{mlxfwDir, coreDir} }

// setup keeps the initramfs small, which is made when the kernel is installed.
const setup = `mkdir -p "$1/etc/initramfs-tools/conf.d"
echo MODULES=list >"$1/etc/initramfs-tools/conf.d/rdmactl-test"`

// fetch runs outside the root with apt configured for it, while the package lists are there. Packages that
// the root has already are downloaded too: they are repacked.
const fetch = `export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
mkdir -p "$DEBS/partial"
apt-get install --yes --download-only --reinstall --no-install-recommends \
  -o Dir::Cache::Archives="$DEBS" -o APT::Sandbox::User=root -o Debug::NoLocking=true $PACKAGES
rm -rf "$DEBS/partial" "$DEBS/lock"
cd "$SOURCE"
apt-get download -o APT::Sandbox::User=root linux-source-6.1`

// Base returns the packages and the root, made once for the cache: about two minutes.
func (l *Lab) Base() (Base, error) {
	hash, err := l.key("base", suite, rootPackages(), inboxPackages(), kernelSource(), setup, fetch)
	if err != nil {
		return Base{}, err
	}
	dir, err := l.cache.Get("labbase-"+suite, hash, func(dir string) error {
		begin := time.Now()
		l.say("making the root of Debian %s, about two minutes", suite)
		if err := makeBase(dir); err != nil {
			return err
		}
		l.say("root of %s made in %.0f s", suite, time.Since(begin).Seconds())
		return nil
	})
	if err != nil {
		return Base{}, err
	}
	b := Base{Root: filepath.Join(dir, "root"), Inbox: filepath.Join(dir, "inbox"), source: filepath.Join(dir, "source")}
	kernel, err := only(filepath.Join(b.Root, "boot/vmlinuz-*"))
	if err != nil {
		return Base{}, err
	}
	b.Kernel = strings.TrimPrefix(filepath.Base(kernel), "vmlinuz-")
	return b, nil
}

func makeBase(dir string) error {
	root, inbox, source := filepath.Join(dir, "root"), filepath.Join(dir, "inbox"), filepath.Join(dir, "source")
	if err := errors.Join(os.Mkdir(inbox, 0o755), os.Mkdir(source, 0o755)); err != nil {
		return err
	}
	args := []string{
		"--variant=minbase", "--quiet", "--include=" + strings.Join(rootPackages(), ","),
		"--essential-hook=" + setup, "--customize-hook=" + fetch,
	}
	for _, glob := range []string{"/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*"} {
		args = append(args, "--dpkgopt=path-exclude="+glob)
	}
	cmd := exec.Command("mmdebstrap", append(args, suite, root)...)
	cmd.Env = append(os.Environ(), "DEBS="+inbox, "SOURCE="+source, "PACKAGES="+strings.Join(inboxPackages(), " "))
	if err := run(cmd); err != nil {
		return err
	}
	if found, err := filepath.Glob(filepath.Join(root, "usr/lib/x86_64-linux-gnu/libibverbs*")); err != nil || len(found) > 0 {
		return errors.Join(fmt.Errorf("the root is not bare, it has %v", found), err)
	}
	if err := writePackages(inbox); err != nil {
		return err
	}
	return unpackSource(source)
}

// unpackSource takes the needed directories out of Debian's source of the kernel.
func unpackSource(dir string) error {
	deb, err := only(filepath.Join(dir, "linux-source-*.deb"))
	if err != nil {
		return err
	}
	unpacked := filepath.Join(dir, "unpacked")
	if err := run(exec.Command("dpkg-deb", "--extract", deb, unpacked)); err != nil {
		return err
	}
	archive, err := only(filepath.Join(unpacked, "usr/src/linux-source-*.tar.xz"))
	if err != nil {
		return err
	}
	args := []string{"--extract", "--file", archive, "--strip-components=1", "--directory", dir, "--wildcards"}
	for _, d := range kernelSource() {
		args = append(args, "*/"+d+"/*")
	}
	return errors.Join(run(exec.Command("tar", args...)), os.RemoveAll(unpacked), os.Remove(deb))
}

// writePackages makes the index of a flat apt repository.
func writePackages(dir string) error {
	text, err := output(in(dir, "apt-ftparchive", "packages", "."))
	if err != nil {
		return err
	}
	return replace(filepath.Join(dir, "Packages"), []byte(text))
}

// CopyRoot makes a root of its own for a test, with the same owners, modes, times and attributes.
func (b Base) CopyRoot(to string) error {
	return run(exec.Command("cp", "--archive", "--reflink=auto", "--no-target-directory", b.Root, to))
}

func (l *Lab) key(parts ...any) (string, error) { return cache.Key(append(parts, version)...) }
