package images

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
	"github.com/rdmactl/rdmactl/test/vendorlab"
)

// TestVendorStackFromABundle replaces the distribution's stack by a vendor's with neither the distribution's nor the
// vendor's repository in reach.
func TestVendorStackFromABundle(t *testing.T) {
	im, set, address := vendorImage(t, vendorlab.Variant{})
	dir := t.TempDir()
	evidence, file := filepath.Join(dir, "host.yaml"), filepath.Join(dir, "vendor.bundle")
	lab.Rdmactl(t, 0, "detect", "--root", im.Dir, "--kernel", set.Kernel, "--save", evidence)
	made := rootlab.Decode[struct {
		SHA256 string
		Hosts  []struct{ Notes []string }
	}](t, lab.Rdmactl(t, 0, append([]string{
		"bundle", "create", "--for", evidence, "--out", file, "--cache", filepath.Join(dir, "cache"), "-o", "json",
		"--mirror", im.Path("srv/repo") + " ./", "--key", im.Path("usr/share/keyrings/rdmactl-test.gpg"),
	}, vendorFlags(set, address)...)...))
	for _, note := range made.Hosts[0].Notes {
		t.Errorf("it is noted: %s", note)
	}
	must(t, os.WriteFile(im.Path("etc/apt/sources.list.d/test.list"), []byte("deb http://127.0.0.1:9/ ./\n"), 0o644))
	before, packages := im.guarded(t), im.packages(t)
	install := []string{"--bundle", file, "--sha256", made.SHA256, "--kernel", set.Kernel}
	if r := im.installs(t, install...); r.Verdict != "done" || !r.Changed {
		t.Errorf("the report is %+v", r)
	}
	if v := im.packages(t)["libibverbs1"]; !strings.Contains(v, "mlnx") {
		t.Errorf("libibverbs1 is %q", v)
	}
	built, err := filepath.Glob(im.Path("lib/modules/" + set.Kernel + "/updates/dkms/*.ko*"))
	if err != nil || len(built) == 0 {
		t.Errorf("DKMS built %v, %v", built, err)
	}
	for _, place := range []string{"etc/apt/sources.list.d/rdmactl-mlnx-ofed.list", "etc/apt/sources.list.d/rdmactl-bundle.list", "var/cache/rdmactl", vendorlab.FirmwareMark} {
		if _, err := os.Lstat(im.Path(place)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", place, err)
		}
	}
	if r := im.installs(t, install...); r.Verdict != "nothing-to-do" || r.Changed {
		t.Errorf("the second run is %+v", r)
	}
	lab.RollsBack(t, im.Root)
	if diff := before.Changed(im.guarded(t)); len(diff) > 0 {
		t.Errorf("the image is not as before:\n%s", strings.Join(diff, "\n"))
	}
	if diff := packages.Changed(im.packages(t)); len(diff) > 0 {
		t.Errorf("the packages are not as before: %v", diff)
	}
}
