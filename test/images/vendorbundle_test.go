package images

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
	"github.com/rdmactl/rdmactl/test/vendorlab"
)

// bundleLab makes vendor's files, and images that could take them.
type bundleLab struct {
	vendor *vendorlab.Lab
	base   vendorlab.Base
	debs   string
}

func newBundleLab(t *testing.T) bundleLab {
	t.Helper()
	m := prepared(t)
	vendor, err := vendorlab.Open(os.Stderr)
	must(t, err)
	base, err := vendor.Base()
	must(t, err)
	return bundleLab{vendor, base, m.debs}
}

// image has a repository of the distribution and no RDMA package.
func (l bundleLab) image(t *testing.T) image {
	t.Helper()
	im := overlay(t, l.base.Root)
	im.repository(t, l.debs, nil)
	return im
}

// set is a release with prebuilt modules, which takes no compiler.
func (l bundleLab) set(t *testing.T, r vendorlab.Release, v vendorlab.Variant) vendorlab.Set {
	t.Helper()
	v.Prebuilt = true
	set, err := l.vendor.Make(r, v)
	must(t, err)
	return set
}

func bundleFlags(set vendorlab.Set, source string, more ...string) []string {
	return append([]string{"--stack", set.Release.Stack, "--source", source, "--card", "connectx-5", "--kernel", set.Kernel}, more...)
}

// isoOf is the bundle as an image, as the vendor has it: its files at the top.
func isoOf(t *testing.T, set vendorlab.Set) string {
	t.Helper()
	lab.Need(t, rootlab.WhyNot("set RDMACTL_ROOTS=1", "genisoimage"))
	file := filepath.Join(t.TempDir(), filepath.Base(set.Bundle)+".iso")
	must(t, rootlab.Run(exec.Command("genisoimage", "-quiet", "-R", "-o", file, set.Bundle)))
	return file
}

func sumOf(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	must(t, err)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// nothingUnpacked checks that neither an unpacked bundle nor a mark of its content is left.
func (im image) nothingUnpacked(t *testing.T) {
	t.Helper()
	for _, name := range []string{"var/cache/rdmactl", "etc/apt/sources.list.d/rdmactl-mlnx-ofed.list", "etc/apt/sources.list.d/rdmactl-doca-ofed.list"} {
		if _, err := os.Lstat(im.Path(name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
	for _, mark := range []string{im.Path(vendorlab.FirmwareMark), im.Path(vendorlab.ScriptMark), "/tmp/vendorlab-was-here"} {
		if _, err := os.Lstat(mark); err == nil {
			t.Errorf("%s is there", mark)
		}
	}
}

// updates has the image's own apt read all its repositories, as it does later without rdmactl.
func (im image) updates(t *testing.T) {
	t.Helper()
	cmd := exec.Command("chroot", im.Dir, "apt-get", "update")
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	said, err := cmd.CombinedOutput()
	if text := string(said); err != nil || !strings.Contains(text, "file:/var/cache/rdmactl/sources/") || strings.Contains(text, "W:") || strings.Contains(text, "E:") {
		t.Errorf("apt-get update: %v\n%s", err, text)
	}
}

// TestVendorBundles installs from what a vendor gives out to be downloaded, and takes it back.
func TestVendorBundles(t *testing.T) {
	l := newBundleLab(t)
	mlnx, doca := l.set(t, vendorlab.MLNXDebian(), vendorlab.Variant{}), l.set(t, vendorlab.DOCADebian(), vendorlab.Variant{})
	unsigned := l.set(t, vendorlab.MLNXDebian(), vendorlab.Variant{Fault: vendorlab.Unsigned})
	for _, c := range []struct {
		name  string
		set   vendorlab.Set
		file  string
		web   bool
		proof []string
	}{
		{"tgz", mlnx, mlnx.Packed, false, []string{"--key", mlnx.Key}},
		{"iso", mlnx, isoOf(t, mlnx), false, []string{"--key", mlnx.Key}},
		{"local repo package from a server", doca, doca.Packed, true, []string{"--key", doca.Key}},
		{"not signed, with a checksum", unsigned, unsigned.Packed, false, []string{"--sha256", sumOf(t, unsigned.Packed)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			im := l.image(t)
			before, packages := im.guarded(t), im.packages(t)
			source := c.file
			if c.web {
				server := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(c.file))))
				t.Cleanup(server.Close)
				source = server.URL + "/" + filepath.Base(c.file)
			}
			flags := bundleFlags(c.set, source, c.proof...)
			agreed := filepath.Join(t.TempDir(), "plan.json")
			lab.Rdmactl(t, 0, append([]string{"plan", "--root", im.Dir, "--out", agreed}, flags...)...).Says(t, "verify and unpack "+filepath.Base(c.file))
			im.nothingUnpacked(t)
			if r := im.installs(t, append([]string{"--plan", agreed}, flags...)...); r.Verdict != "done" || !r.Changed {
				t.Errorf("the report is %+v", r)
			}
			im.updates(t)
			now := im.packages(t)
			for _, name := range []string{"libibverbs1", "rdma-core", "mlnx-ofed-kernel-modules", "mlnx-ofed-kernel-utils"} {
				if !strings.Contains(now[name], "mlnx") && !strings.Contains(now[name], "OFED") {
					t.Errorf("package %s is %q", name, now[name])
				}
			}
			list, err := os.ReadFile(im.Path("etc/apt/sources.list.d/rdmactl-" + c.set.Release.Stack + ".list"))
			must(t, err)
			if !strings.Contains(string(list), "[signed-by=/etc/apt/keyrings/") || !strings.Contains(string(list), "file:/var/cache/rdmactl/sources/"+sumOf(t, c.file)) {
				t.Errorf("the list of the repository is %s", list)
			}
			if r := im.installs(t, flags...); r.Verdict != "nothing-to-do" || r.Changed {
				t.Errorf("the second run is %+v", r)
			}
			lab.RollsBack(t, im.Root)
			im.nothingUnpacked(t)
			if diff := before.Changed(im.guarded(t)); len(diff) > 0 {
				t.Errorf("the image is not as before:\n%s", strings.Join(diff, "\n"))
			}
			if diff := packages.Changed(im.packages(t)); len(diff) > 0 {
				t.Errorf("the packages are not as before: %v", diff)
			}
		})
	}
}

// TestFaultyVendorBundles are files that must not be installed from: each stops before anything changes.
func TestFaultyVendorBundles(t *testing.T) {
	l := newBundleLab(t)
	im := l.image(t) // of all, since none may leave anything in it
	before, packages := im.guarded(t), im.packages(t)
	mlnx, doca := l.set(t, vendorlab.MLNXDebian(), vendorlab.Variant{}), l.set(t, vendorlab.DOCADebian(), vendorlab.Variant{})
	made := func(v vendorlab.Variant) vendorlab.Set { return l.set(t, vendorlab.MLNXDebian(), v) }
	tampered, unsigned, stranger, firmware := made(vendorlab.Variant{Fault: vendorlab.Tampered}), made(vendorlab.Variant{Fault: vendorlab.Unsigned}),
		made(vendorlab.Variant{Fault: vendorlab.WrongKey}), made(vendorlab.Variant{Firmware: true})
	type twin struct {
		name string
		set  vendorlab.Set
		file string
		more []string
		exit int
		says string
	}
	all := []twin{
		{"a package in it that was changed", tampered, tampered.Packed, []string{"--key", tampered.Key}, 4, "nothing was changed"},
		{"another checksum", unsigned, unsigned.Packed, []string{"--sha256", strings.Repeat("0", 64)}, 2, "its SHA-256 is " + sumOf(t, unsigned.Packed)},
		{"no signature and no proof", unsigned, unsigned.Packed, []string{"--key", unsigned.Key}, 2, "--sha256"},
		{"no key", mlnx, mlnx.Packed, nil, 2, "--key FILE"},
		{"another key", stranger, stranger.Packed, []string{"--key", stranger.Key}, 2, "is signed by another key"},
		{"firmware", firmware, firmware.Packed, []string{"--key", firmware.Key}, 4, "mlnx-fw-updater would come with them"},
	}
	for _, set := range []vendorlab.Set{mlnx, doca} {
		for _, with := range vendorlab.Archives() {
			file, err := l.vendor.Hostile(set, with)
			must(t, err)
			all = append(all, twin{set.Release.Stack + " " + string(with), set, file, []string{"--key", set.Key}, 2, "cannot import " + file})
		}
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"install", "--root", im.Dir, "--yes"}, bundleFlags(c.set, c.file, c.more...)...)
			lab.Rdmactl(t, c.exit, args...).Says(t, c.says)
			im.nothingUnpacked(t)
		})
	}
	if diff := before.Changed(im.guarded(t)); len(diff) > 0 {
		t.Errorf("the image is not as before:\n%s", strings.Join(diff, "\n"))
	}
	if diff := packages.Changed(im.packages(t)); len(diff) > 0 {
		t.Errorf("the packages are not as before: %v", diff)
	}
}

// TestKilledWithVendorBundle ends a run with SIGKILL while it unpacks a bundle, and when it has: the way back removes
// what is there of it.
func TestKilledWithVendorBundle(t *testing.T) {
	l := newBundleLab(t)
	set := l.set(t, vendorlab.MLNXDebian(), vendorlab.Variant{})
	for _, point := range []struct{ name, mark string }{{"unpacking", `"preflight-started"`}, {"unpacked", "and unpacked to"}, {"in use", `"step-started"`}} {
		t.Run(point.name, func(t *testing.T) {
			var im image
			var before, packages rootlab.Tree
			rootlab.KilledAt(t, point.name, func() (rootlab.Root, *exec.Cmd) {
				im = l.image(t)
				before, packages = im.guarded(t), im.packages(t)
				return im.Root, lab.Command(t, append([]string{"install", "--root", im.Dir, "--yes"}, bundleFlags(set, set.Packed, "--key", set.Key)...)...)
			}, func() bool { return strings.Contains(im.Journal(), point.mark) })
			lab.Rdmactl(t, 0, "rollback", "--root", im.Dir)
			im.nothingUnpacked(t)
			if diff := before.Changed(im.guarded(t)); len(diff) > 0 {
				t.Errorf("the image is not as before:\n%s", strings.Join(diff, "\n"))
			}
			if diff := packages.Changed(im.packages(t)); len(diff) > 0 {
				t.Errorf("the packages are not as before: %v", diff)
			}
		})
	}
}
