package images

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
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
	im.signedBy(t, set, im.Path("var/lib/dkms/mok.pub")) // by a key that DKMS made, and that is gone
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

// withoutPrivateKeys checks that nobody can sign modules with what the image holds.
func (im image) withoutPrivateKeys(t *testing.T) {
	t.Helper()
	for _, key := range []string{"var/lib/dkms/mok.key", "var/lib/shim-signed/mok/MOK.priv"} {
		if _, err := os.Lstat(im.Path(key)); !os.IsNotExist(err) {
			t.Errorf("the private key %s is in the image: %v", key, err)
		}
	}
}

// signedBy checks that all that DKMS built is signed with a certificate's key, and that no private key is in the image.
func (im image) signedBy(t *testing.T, set vendorlab.Set, certificate string) {
	t.Helper()
	im.withoutPrivateKeys(t)
	serial, err := exec.Command("openssl", "x509", "-in", certificate, "-noout", "-serial").Output()
	must(t, err)
	want := strings.ToLower(strings.TrimPrefix(strings.TrimSpace(string(serial)), "serial="))
	built, err := filepath.Glob(im.Path("lib/modules/" + set.Kernel + "/updates/dkms/*.ko*"))
	must(t, err)
	for _, file := range built {
		out, err := exec.Command("modinfo", "--field", "sig_key", file).Output()
		must(t, err)
		if got := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(string(out)), ":", "")); got != want {
			t.Errorf("%s is signed by the key %q, want %q", filepath.Base(file), got, want)
		}
	}
	if len(built) == 0 {
		t.Error("DKMS built nothing")
	}
}

// TestModuleKey signs with a key of the administrator's, which stays outside; a key and the certificate of another do
// not go together.
func TestModuleKey(t *testing.T) {
	im, set, address := vendorImage(t, vendorlab.Variant{})
	before := im.guarded(t)
	dir := t.TempDir()
	for _, name := range []string{"ours", "other"} {
		must(t, exec.Command("openssl", "req", "-new", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN="+name,
			"-keyout", filepath.Join(dir, name+".key"), "-outform", "DER", "-out", filepath.Join(dir, name+".der")).Run())
	}
	with := func(key, certificate string) []string {
		return append(vendorFlags(set, address), "--module-key", filepath.Join(dir, key), "--module-cert", filepath.Join(dir, certificate))
	}
	for _, ask := range []string{"--yes", "--dry-run"} {
		lab.Rdmactl(t, 2, append([]string{"install", "--root", im.Dir, ask}, with("ours.key", "other.der")...)...).Says(t, "certificate of another key")
	}
	if diff := before.Changed(im.guarded(t)); len(diff) > 0 {
		t.Errorf("the image is not as before:\n%s", strings.Join(diff, "\n"))
	}
	lab.Rdmactl(t, 0, append([]string{"plan", "--root", im.Dir}, vendorFlags(set, address)...)...).Says(t, "image-module-key")
	if r := im.installs(t, with("ours.key", "ours.der")...); r.Verdict != "done" {
		t.Errorf("the report is %+v", r)
	}
	im.signedBy(t, set, filepath.Join(dir, "ours.der"))
	secret, err := os.ReadFile(filepath.Join(dir, "ours.key"))
	must(t, err)
	line := strings.Split(string(secret), "\n")[1]
	if out, err := exec.Command("grep", "-rlF", line, im.Path("var"), im.Path("etc")).Output(); err == nil {
		t.Errorf("the key is in the image: %s", out)
	}
	lab.RollsBack(t, im.Root)
	if diff := before.Changed(im.guarded(t)); len(diff) > 0 {
		t.Errorf("the image is not as before:\n%s", strings.Join(diff, "\n"))
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
