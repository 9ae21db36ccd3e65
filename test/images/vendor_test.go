package images

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/vendorlab"
)

// vendorImage has the distribution's stack from its own repository, and a vendor's release on a web server.
func vendorImage(t *testing.T, v vendorlab.Variant) (im image, set vendorlab.Set, address string) {
	t.Helper()
	m := prepared(t)
	vendor, err := vendorlab.Open(os.Stderr)
	must(t, err)
	base, err := vendor.Base()
	must(t, err)
	set, err = vendor.Make(vendorlab.MLNXDebian(), v)
	must(t, err)
	im = overlay(t, base.Root)
	im.repository(t, m.debs, nil)
	im.installs(t, "--profile", "inbox", "--card", "connectx-5", "--kernel", base.Kernel)
	// Where the vendor's own server has it: the path tells for which system it is.
	at := "/public/repo/mlnx_ofed/" + vendorlab.MLNXDebian().Version + "/" + vendorlab.MLNXDebian().Label + "/x86_64/"
	server := httptest.NewServer(http.StripPrefix(at, http.FileServer(http.Dir(set.Repo))))
	t.Cleanup(server.Close)
	return im, set, server.URL + at
}

func vendorFlags(set vendorlab.Set, address string) []string {
	return []string{"--stack", "mlnx-ofed", "--source", address, "--key", set.Key, "--card", "connectx-5", "--kernel", set.Kernel}
}

// TestVendorStackComesAndGoes replaces the distribution's stack by a vendor's, whose modules DKMS builds in the
// image, and takes it back.
func TestVendorStackComesAndGoes(t *testing.T) {
	im, set, address := vendorImage(t, vendorlab.Variant{})
	before, packages := im.guarded(t), im.packages(t)
	r := im.installs(t, vendorFlags(set, address)...)
	if r.Verdict != "done" || !r.Changed {
		t.Errorf("the report is %+v", r)
	}
	now := im.packages(t)
	for _, name := range []string{"libibverbs1", "rdma-core", "mlnx-ofed-kernel-dkms", "mlnx-ofed-kernel-utils"} {
		if !strings.Contains(now[name], "mlnx") && !strings.Contains(now[name], "OFED") && !strings.Contains(now[name], "24.10") {
			t.Errorf("package %s is %q", name, now[name])
		}
	}
	built, err := filepath.Glob(im.Path("lib/modules/" + set.Kernel + "/updates/dkms/*.ko*"))
	if err != nil || len(built) == 0 {
		t.Errorf("DKMS built %v, %v", built, err)
	}
	for _, mark := range []string{vendorlab.FirmwareMark, vendorlab.ScriptMark} {
		if _, err := os.Stat(im.Path(mark)); err == nil {
			t.Errorf("%s is there", mark)
		}
	}
	if _, err := os.Stat(im.Path("etc/apt/sources.list.d/rdmactl-mlnx-ofed.list")); err != nil {
		t.Error(err)
	}
	if r := im.installs(t, vendorFlags(set, address)...); r.Verdict != "nothing-to-do" || r.Changed {
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

// TestFaultyVendors are releases that must not be installed: each stops before anything changes, or is taken back.
func TestFaultyVendors(t *testing.T) {
	for _, c := range []struct {
		name string
		v    vendorlab.Variant
		exit int
		says string
	}{
		{"unsigned", vendorlab.Variant{Fault: vendorlab.Unsigned}, 2, "is not signed"},
		{"by another key", vendorlab.Variant{Fault: vendorlab.WrongKey}, 2, "key"},
		{"by a key that is expired", vendorlab.Variant{Fault: vendorlab.ExpiredKey}, 2, "expired"},
		{"with packages that were changed", vendorlab.Variant{Fault: vendorlab.Tampered}, 4, "nothing was changed"},
		{"with a list that is cut off", vendorlab.Variant{Fault: vendorlab.Truncated}, 2, ""},
		{"with a script that fails", vendorlab.Variant{Fault: vendorlab.FailingScript}, 6, "rolled back"},
		{"whose packages burn firmware", vendorlab.Variant{Firmware: true}, 4, "mlnx-fw-updater would come with them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			im, set, address := vendorImage(t, c.v)
			before, packages := im.guarded(t), im.packages(t)
			args := append([]string{"install", "--root", im.Dir, "--yes"}, vendorFlags(set, address)...)
			lab.Rdmactl(t, c.exit, args...).Says(t, c.says)
			if diff := before.Changed(im.guarded(t)); len(diff) > 0 {
				t.Errorf("the image is not as before:\n%s", strings.Join(diff, "\n"))
			}
			if diff := packages.Changed(im.packages(t)); len(diff) > 0 {
				t.Errorf("the packages are not as before: %v", diff)
			}
			if _, err := os.Stat(im.Path(vendorlab.FirmwareMark)); err == nil {
				t.Error("firmware was burnt")
			}
		})
	}
}
