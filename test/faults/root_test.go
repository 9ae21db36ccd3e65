package faults

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/test/internal/cache"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
	"github.com/rdmactl/rdmactl/test/vendorlab"
)

// suite is the Debian release of the images.
const suite = "bookworm"

// image is one image of one test.
type image struct{ rootlab.Root }

// need skips a test where images cannot be made.
func need(t testing.TB) {
	t.Helper()
	lab.Need(t, rootlab.WhyNot("set RDMACTL_ROOTS=1 to break runs in real images; making the first takes minutes",
		"mmdebstrap", "apt-ftparchive", "dpkg-deb", "gpg", "gpgconf"))
}

// base is the vendors' root, which has a kernel, and the distribution's packages for it.
func base(t testing.TB) vendorlab.Base {
	t.Helper()
	need(t)
	vendor, err := vendorlab.Open(os.Stderr)
	must(t, err)
	b, err := vendor.Base()
	must(t, err)
	return b
}

// over makes an image over a kept root.
func over(t testing.TB, kept string) image {
	t.Helper()
	im := image{rootlab.Over(t, kept, "run-faults-")}
	if _, err := os.Stat(im.Upper() + "/."); err != nil {
		lab.Need(t, "needs overlayfs: what a run left is copied and looked at there")
	}
	return im
}

// fork makes an image that is as this one is now.
func (im image) fork(t testing.TB) image {
	t.Helper()
	return image{im.Fork(t, "run-faults-")}
}

func (im image) write(t testing.TB, rel, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(im.Path(rel)), 0o755))
	must(t, os.WriteFile(im.Path(rel), []byte(text), 0o644))
}

// chroot runs a command in the image, as an administrator would.
func (im image) chroot(t testing.TB, script string) string {
	t.Helper()
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-ec", `mount -t proc proc "$1/proc"; exec chroot "$1" /bin/sh -ec "$2"`, "sh", im.Dir, script)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive"}
	var out bytes.Buffer
	cmd.Stdout = &out
	must(t, rootlab.Run(cmd))
	return out.String()
}

// index describes a repository of packages: what it says of itself beyond its files.
type index struct {
	signer   rootlab.Signer
	unsigned bool
	date     time.Time // of the release, if not now
}

// keys are the signers of the tests.
type keys struct{ trusted, next rootlab.Signer }

func signers(t testing.TB) keys {
	t.Helper()
	c, err := cache.Open()
	must(t, err)
	var k keys
	k.trusted, err = rootlab.NewSigner(c, "faults-key", "trusted")
	must(t, err)
	k.next, err = rootlab.NewSigner(c, "faults-key", "next")
	must(t, err)
	return k
}

// repository makes a flat repository of packages, at dir.
func repository(t testing.TB, dir string, packages []string, ix index) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	if len(packages) == 0 {
		t.Fatal("there are no packages")
	}
	must(t, rootlab.Run(exec.Command("cp", append(packages, dir)...)))
	reindex(t, dir, ix)
}

// reindex describes and signs the packages that are at dir.
func reindex(t testing.TB, dir string, ix index) {
	t.Helper()
	var packages, release bytes.Buffer
	list := exec.Command("apt-ftparchive", "packages", ".")
	list.Dir, list.Stdout = dir, &packages
	must(t, rootlab.Run(list))
	must(t, os.WriteFile(filepath.Join(dir, "Packages"), packages.Bytes(), 0o644))
	sums := exec.Command("apt-ftparchive", "-o", "APT::FTPArchive::Release::Suite="+suite, "-o", "APT::FTPArchive::Release::Codename="+suite, "release", ".")
	sums.Dir, sums.Stdout = dir, &release
	must(t, rootlab.Run(sums))
	text := release.Bytes()
	if !ix.date.IsZero() {
		lines := bytes.SplitAfter(text, []byte("\n"))
		for i, line := range lines {
			if bytes.HasPrefix(line, []byte("Date: ")) {
				lines[i] = []byte("Date: " + ix.date.UTC().Format(time.RFC1123) + "\n")
			}
		}
		text = bytes.Join(lines, nil)
	}
	must(t, os.WriteFile(filepath.Join(dir, "Release"), text, 0o644))
	must(t, os.RemoveAll(filepath.Join(dir, "InRelease")))
	if !ix.unsigned {
		must(t, rootlab.Run(ix.signer.GPG("--clearsign", "--output", filepath.Join(dir, "InRelease"), filepath.Join(dir, "Release"))))
	}
}

// uses makes a repository at an address the image's only package source, trusted by one key.
func (im image) uses(t testing.TB, address string, trusted rootlab.Signer) {
	t.Helper()
	for _, name := range []string{"etc/apt/sources.list", "etc/apt/sources.list.d"} {
		must(t, os.RemoveAll(im.Path(name)))
	}
	im.write(t, "etc/apt/sources.list.d/test.list", "deb [signed-by=/usr/share/keyrings/rdmactl-test.gpg] "+address+" ./\n")
	must(t, rootlab.Run(trusted.GPG("--export", "--output", im.Path("usr/share/keyrings/rdmactl-test.gpg"))))
}

// debs are the packages in a directory.
func debs(t testing.TB, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	must(t, err)
	return found
}

// bare is an image with no package of an RDMA stack, and a signed repository inside that has the distribution's.
func bare(t testing.TB) image {
	t.Helper()
	b := base(t)
	k := signers(t)
	im := over(t, b.Root)
	repository(t, im.Path("srv/repo"), debs(t, b.Inbox), index{signer: k.trusted})
	im.uses(t, "file:/srv/repo", k.trusted)
	im.quick(t)
	return im
}

// quick has the image's dpkg leave it to the kernel when files are written to the disk: a kill loses nothing of them.
func (im image) quick(t testing.TB) {
	t.Helper()
	im.write(t, "etc/dpkg/dpkg.cfg.d/rdmactl-test", "force-unsafe-io\n")
}
