package images

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
	"github.com/rdmactl/rdmactl/test/vendorlab"
)

// scriptLab is a bundle with an installer that works, and an image with the distribution's stack, which the tests fork.
type scriptLab struct {
	set            vendorlab.Set
	folder, packed string
	stock          image
}

func newScriptLab(t *testing.T) scriptLab {
	t.Helper()
	l := newBundleLab(t)
	s := scriptLab{set: l.set(t, vendorlab.MLNXDebian(), vendorlab.Variant{})}
	var err error
	s.folder, s.packed, err = l.vendor.WithInstaller(s.set)
	must(t, err)
	s.stock = l.image(t)
	s.stock.installs(t, "--profile", "inbox", "--card", "connectx-5", "--kernel", l.base.Kernel)
	for _, name := range []string{"var/lib/rdmactl", "var/log/rdmactl"} { // as if others had made it so
		must(t, os.RemoveAll(s.stock.Path(name)))
	}
	must(t, os.MkdirAll(s.stock.Path(vendorlab.Installers), 0o755))
	return s
}

// image is one of a single test, with the installer's knobs set.
func (s scriptLab) image(t *testing.T, knobs map[string]string) image {
	t.Helper()
	im := image{s.stock.Fork(t, "run-diskless-")}
	im.set(t, knobs)
	return im
}

func (im image) set(t *testing.T, knobs map[string]string) {
	t.Helper()
	for name, value := range knobs {
		must(t, os.WriteFile(vendorlab.KnobFile(im.Dir, name), []byte(value+"\n"), 0o644))
	}
}

func (s scriptLab) flags(t *testing.T, more ...string) []string {
	t.Helper()
	return bundleFlags(s.set, s.packed, append([]string{"--method", "vendor-script", "--key", s.set.Key, "--sha256", sumOf(t, s.packed)}, more...)...)
}

// unchanged checks that an image is as it was.
func (im image) unchanged(t *testing.T, before, packages rootlab.Tree) {
	t.Helper()
	if diff := before.Changed(im.guarded(t)); len(diff) > 0 {
		t.Errorf("the image is not as before:\n%s", strings.Join(diff, "\n"))
	}
	if diff := packages.Changed(im.packages(t)); len(diff) > 0 {
		t.Errorf("the packages are not as before: %v", diff)
	}
	im.nothingUnpacked(t)
}

// isVendors checks that the installer's packages are there, and no firmware was burnt.
func (im image) isVendors(t *testing.T) {
	t.Helper()
	now := im.packages(t)
	for _, name := range []string{"libibverbs1", "rdma-core", "mlnx-ofed-kernel-modules", "mlnx-ofed-kernel-utils", "ofed-scripts"} {
		if !strings.Contains(now[name], "mlnx") && !strings.Contains(now[name], "OFED") {
			t.Errorf("package %s is %q", name, now[name])
		}
	}
	if now["mlnx-fw-updater"] != "" {
		t.Error("the firmware updater is there")
	}
	if _, err := os.Lstat(im.Path(vendorlab.FirmwareMark)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("firmware was burnt: %v", err)
	}
}

// TestVendorScript has the vendor's own installer replace the distribution's stack, and takes that back.
func TestVendorScript(t *testing.T) {
	s := newScriptLab(t)
	t.Run("refused", s.refused)
	t.Run("killed", s.killed)
	t.Run("there and back", func(t *testing.T) {
		im := s.image(t, nil)
		before, packages := im.guarded(t), im.packages(t)
		lab.Rdmactl(t, 0, append([]string{"plan", "--root", im.Dir}, s.flags(t)...)...).Says(t, "vendor-script: run the vendor's installer", "--without-fw-update", "--without-mlnx-fw-updater", "--tmpdir")
		if r := im.installs(t, s.flags(t)...); r.Verdict != "done" || !r.Changed {
			t.Errorf("the report is %+v", r)
		}
		im.isVendors(t)
		if limits, err := os.ReadFile(im.Path("etc/security/limits.conf")); err != nil || !strings.Contains(string(limits), "memlock unlimited") {
			t.Errorf("limits.conf is %q, %v", limits, err)
		}
		if r := im.installs(t, s.flags(t)...); r.Verdict != "nothing-to-do" || r.Changed {
			t.Errorf("the second run is %+v", r)
		}
		lab.RollsBack(t, im.Root)
		im.unchanged(t, before, packages)
	})
	t.Run("ends with", func(t *testing.T) {
		im := s.image(t, nil)
		before, packages := im.guarded(t), im.packages(t)
		for _, c := range []struct {
			knob string
			exit int
			says string
		}{
			{"exit-before", 1, "vendor-script-failed"},
			{"exit-before", 2, "vendor-no-firmware"},
			{"exit-before", 22, "vendor-option"},
			{"exit-before", 171, "vendor-no-hardware"},
			{"exit-before", 172, "vendor-prerequisite"},
			{"exit-before", 173, "vendor-mst"},
			{"exit-before", 174, "vendor-dependants"},
			{"exit-before", 99, "nothing documents what that means"},
			{"exit-after", 28, "vendor-no-space"},
		} {
			im.set(t, map[string]string{c.knob: strconv.Itoa(c.exit)})
			lab.Rdmactl(t, 6, append([]string{"install", "--root", im.Dir, "--yes", "-o", "json"}, s.flags(t)...)...).Says(t, c.says, "told to end with "+strconv.Itoa(c.exit), "rolled back")
			must(t, os.Remove(vendorlab.KnobFile(im.Dir, c.knob)))
		}
		im.unchanged(t, before, packages)
	})
	t.Run("removes what was not announced", func(t *testing.T) {
		im := s.image(t, map[string]string{"remove": "ethtool"})
		must(t, rootlab.Run(exec.Command("chroot", im.Dir, "apt-get", "install", "--yes", "ethtool"))) // nothing needs it
		before, packages := im.guarded(t), im.packages(t)
		lab.Rdmactl(t, 6, append([]string{"install", "--root", im.Dir, "--yes"}, s.flags(t)...)...).Says(t, "ethtool went", "rolled back")
		im.unchanged(t, before, packages)
	})
	t.Run("installs the firmware updater", func(t *testing.T) {
		im := s.image(t, map[string]string{"firmware": "yes"})
		packages := im.packages(t)
		lab.Rdmactl(t, 6, append([]string{"install", "--root", im.Dir, "--yes"}, s.flags(t)...)...).Says(t, "it installed mlnx-fw-updater, which the plan keeps out", "rolled back")
		if diff := packages.Changed(im.packages(t)); len(diff) > 0 {
			t.Errorf("the packages are not as before: %v", diff)
		}
		if _, err := os.Lstat(im.Path(vendorlab.FirmwareMark)); err != nil { // it shows in the happy case too, were it there
			t.Errorf("the updater's script leaves no mark: %v", err)
		}
	})
}

// refused are requests that stop before anything is run.
func (s scriptLab) refused(t *testing.T) {
	im := s.image(t, nil)
	before, packages := im.guarded(t), im.packages(t)
	for _, c := range []struct {
		name string
		args []string
		exit int
		says string
	}{
		{"the index is signed, the file is not proven", bundleFlags(s.set, s.packed, "--method", "vendor-script", "--key", s.set.Key), 4, "nothing proves the whole file"},
		{"another checksum", bundleFlags(s.set, s.packed, "--method", "vendor-script", "--sha256", strings.Repeat("0", 64)), 2, "its SHA-256 is"},
		{"an unpacked folder of the build host", bundleFlags(s.set, s.folder, "--method", "vendor-script", "--key", s.set.Key), 4, "its programs see the image alone"},
		{"a repository, which has no installer", bundleFlags(s.set, filepath.Join(s.folder, "DEBS"), "--method", "vendor-script", "--key", s.set.Key, "--version", s.set.Release.Version), 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			lab.Rdmactl(t, c.exit, append([]string{"install", "--root", im.Dir, "--yes"}, c.args...)...).Says(t, c.says)
		})
	}
	t.Run("packages of others need what goes", func(t *testing.T) {
		lab.Rdmactl(t, 4, append([]string{"install", "--root", s.dependant(t).Dir, "--yes"}, s.flags(t)...)...).Says(t, "would have to go as well: needs-verbs")
	})
	im.unchanged(t, before, packages)
}

// dependant is an image with a package of nobody's stack that needs the distribution's.
func (s scriptLab) dependant(t *testing.T) image {
	t.Helper()
	im := s.image(t, nil)
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "DEBIAN"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "DEBIAN/control"), []byte("Package: needs-verbs\nVersion: 1\nArchitecture: all\nMaintainer: test <test@example.com>\nDepends: libibverbs1\nDescription: test\n"), 0o644))
	must(t, rootlab.Run(exec.Command("dpkg-deb", "--root-owner-group", "--build", dir, im.Path("srv/needs-verbs.deb"))))
	must(t, rootlab.Run(exec.Command("chroot", im.Dir, "dpkg", "-i", "/srv/needs-verbs.deb")))
	return im
}

// killed ends a run with SIGKILL before, inside and after the installer; both ways on lead to a whole image.
func (s scriptLab) killed(t *testing.T) {
	for _, point := range []struct {
		name  string
		knobs map[string]string
		at    func(image) bool
	}{
		{"before", nil, func(im image) bool { return strings.Contains(im.Journal(), "are kept") }},
		{"inside", map[string]string{"hang": "yes"}, func(im image) bool {
			_, err := os.Lstat(vendorlab.KnobFile(im.Dir, "hanging"))
			return err == nil
		}},
		{"after", nil, func(im image) bool { return strings.Contains(im.Journal(), "packages came or changed") }},
	} {
		for _, way := range []string{"rollback", "resume"} {
			t.Run(point.name+" and "+way, func(t *testing.T) {
				var im image
				var before, packages rootlab.Tree
				rootlab.KilledAt(t, point.name, func() (rootlab.Root, *exec.Cmd) {
					im = s.image(t, point.knobs)
					before, packages = im.guarded(t), im.packages(t)
					return im.Root, lab.Command(t, append([]string{"install", "--root", im.Dir, "--yes"}, s.flags(t)...)...)
				}, func() bool { return point.at(im) })
				must(t, os.RemoveAll(vendorlab.KnobFile(im.Dir, "hang")))
				if way == "resume" {
					lab.Rdmactl(t, 0, "install", "--root", im.Dir, "--resume", "--yes")
					im.isVendors(t)
				}
				lab.Rdmactl(t, 0, "rollback", "--root", im.Dir)
				im.unchanged(t, before, packages)
			})
		}
	}
}
