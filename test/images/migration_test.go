package images

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
	"github.com/rdmactl/rdmactl/test/vendorlab"
)

// uninstalls takes a stack out of an image and returns the report.
func (im image) uninstalls(t *testing.T, exit int, args ...string) rootlab.Report {
	t.Helper()
	return rootlab.Decode[rootlab.Report](t, lab.Rdmactl(t, exit, append([]string{"uninstall", "--root", im.Dir, "--yes", "-o", "json"}, args...)...))
}

// left is the image without what a migration and its rollback leave: what DKMS writes about a build has its time. Files
// that packages bring and no test changes are told by size and time, as dpkg restores both.
func (im image) left(t *testing.T) rootlab.Tree {
	t.Helper()
	view := im.view()
	view.Omit = func(file string) bool {
		return strings.HasPrefix(file, "/var/lib/dkms/") && filepath.Base(file) == "make.log"
	}
	view.Dated = func(file string) bool {
		return strings.HasPrefix(file, "/usr/src/linux-") || strings.HasPrefix(file, "/usr/lib/gcc/") || strings.HasPrefix(file, "/usr/share/") || strings.HasPrefix(file, "/lib/modules/") && strings.Contains(file, "/kernel/")
	}
	return rootlab.TreeOf(t, im.Dir, view)
}

// inboxOnly checks that nothing of a vendor's is in an image.
func (im image) inboxOnly(t *testing.T, kernel string) {
	t.Helper()
	now := im.packages(t)
	for name, version := range now {
		if strings.Contains(version, "mlnx") || strings.Contains(version, "OFED") || strings.Contains(name, "mlnx") || strings.HasPrefix(name, "doca") || strings.Contains(version, "2410") {
			t.Errorf("package %s %s is there", name, version)
		}
	}
	for _, name := range []string{"libibverbs1", "rdma-core", "ibverbs-providers"} {
		if !strings.HasPrefix(now[name], "44.0-2") {
			t.Errorf("package %s is %q", name, now[name])
		}
	}
	for _, glob := range []string{
		"lib/modules/" + kernel + "/updates/dkms/*", "var/lib/dkms/mlnx*", "usr/src/mlnx*", "usr/src/ofa*", "etc/infiniband", "etc/modprobe.d/mlnx*",
		"etc/init.d/openibd", "lib/systemd/system/openibd*", "etc/apt/sources.list.d/*mlnx*", "etc/apt/keyrings/rdmactl-*", "usr/lib/x86_64-linux-gnu/libibverbs.so.*.54.*",
	} {
		found, err := filepath.Glob(im.Path(glob))
		must(t, err)
		if len(found) > 0 {
			t.Errorf("%v is there", found)
		}
	}
	for _, mark := range []string{vendorlab.FirmwareMark, vendorlab.ScriptMark} {
		if _, err := os.Stat(im.Path(mark)); err == nil {
			t.Errorf("%s is there", mark)
		}
	}
}

// state is what a rollback must give back.
type state struct{ files, packages rootlab.Tree }

func (im image) state(t *testing.T) state {
	t.Helper()
	return state{im.left(t), im.packages(t)}
}

// isAgain checks that an image is as before. Where the private key that DKMS made was taken from the image, a stack that
// is put back is signed by a new one; an administrator's, which stays, signs it as before.
func (im image) isAgain(t *testing.T, before state) {
	t.Helper()
	now := im.state(t)
	if _, err := os.Lstat(im.Path("var/lib/dkms/mok.key")); err == nil {
		im.looksLike(t, before, now)
		return
	}
	im.looksLike(t, unsigned(before), unsigned(now))
	for file := range before.files {
		if strings.Contains(file, "/updates/dkms/") {
			im.signedBy(t, vendorlab.Set{Kernel: "*"}, im.Path("var/lib/dkms/mok.pub"))
			return
		}
	}
}

// unsigned leaves out of a state what has a signature of DKMS's, and its certificate.
func unsigned(s state) state {
	out := state{rootlab.Tree{}, s.packages}
	for file, what := range s.files {
		if !strings.HasSuffix(file, ".ko") && file != "/var/lib/dkms/mok.pub" {
			out.files[file] = what
		}
	}
	return out
}

func (im image) looksLike(t *testing.T, before, now state) {
	t.Helper()
	if diff := before.files.Changed(now.files); len(diff) > 0 {
		t.Errorf("the image is not as before:\n%s", strings.Join(diff, "\n"))
	}
	if diff := before.packages.Changed(now.packages); len(diff) > 0 {
		t.Errorf("the packages are not as before: %v", diff)
	}
}

// thereAndBack takes the vendor's stack out of an image, finds nothing to do after it, and goes back.
func (im image) thereAndBack(t *testing.T, before state, kernel string, away func() rootlab.Report) {
	t.Helper()
	if r := away(); r.Verdict != "done" || !r.Changed {
		t.Fatalf("the report is %+v", r)
	}
	im.inboxOnly(t, kernel)
	if r := im.uninstalls(t, 0); r.Verdict != "nothing-to-do" || r.Changed {
		t.Errorf("the second run is %+v", r)
	}
	if r := im.installs(t, "--profile", "inbox", "--card", "connectx-5", "--kernel", kernel); r.Verdict != "nothing-to-do" || r.Changed {
		t.Errorf("inbox after it is %+v", r)
	}
	lab.RollsBack(t, im.Root)
	im.isAgain(t, before)
}

// TestFromAVendorStack goes back to the distribution's stack from one that rdmactl has installed, while the vendor's
// repository is still configured and offers higher numbers, and from there to the vendor's other stack.
func TestFromAVendorStack(t *testing.T) {
	im, set, address := vendorImage(t, vendorlab.Variant{})
	if r := im.installs(t, vendorFlags(set, address)...); r.Verdict != "done" {
		t.Fatalf("the report is %+v", r)
	}
	state := im.state(t)
	if !t.Run("to inbox", func(t *testing.T) {
		shown := lab.Rdmactl(t, 0, "uninstall", "--root", im.Dir, "--dry-run")
		shown.Says(t, "rollback", "takes mlnx-ofed 24.10-2.1.8.0 away", "downgrade libibverbs1:amd64 44.0-2", "remove mlnx-ofed-kernel-dkms:all", "nothing was changed")
		im.thereAndBack(t, state, set.Kernel, func() rootlab.Report {
			return im.installs(t, "--profile", "inbox", "--card", "connectx-5", "--kernel", set.Kernel)
		})
	}) {
		return // it is not as before
	}
	t.Run("to doca-ofed", func(t *testing.T) { im.toDOCA(t, state) })
}

// byHand installs a vendor's release with apt alone, from a directory that is gone afterwards as a bundle is that was
// thrown away.
func byHand(t *testing.T, v vendorlab.Variant, script string) (image, vendorlab.Set) {
	t.Helper()
	m := prepared(t)
	vendor, err := vendorlab.Open(os.Stderr)
	must(t, err)
	base, err := vendor.Base()
	must(t, err)
	set, err := vendor.Make(vendorlab.MLNXDebian(), v)
	must(t, err)
	im := overlay(t, base.Root)
	im.repository(t, m.debs, nil)
	key, err := os.ReadFile(set.Key)
	must(t, err)
	im.write(t, "usr/share/keyrings/vendor.asc", string(key), 0o644)
	im.write(t, "etc/apt/sources.list.d/vendor.list", "deb [signed-by=/usr/share/keyrings/vendor.asc] file:/srv/vendor ./\n", 0o644)
	cmd := vendorlab.Chroot(im.Dir, script+"\nrm /etc/apt/sources.list.d/vendor.list; apt-get update -qq", vendorlab.Bind{From: set.Repo, To: "/srv/vendor"})
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v:\n%s", err, out.String())
	}
	must(t, os.RemoveAll(im.Path("srv/vendor")))
	return im, set
}

const byAPT = "apt-get update -qq\napt-get install --yes -qq --no-install-recommends -o Dpkg::Use-Pty=0 "

// TestUninstallOfAnothersStack takes away what an administrator has installed with apt, and packs it from its files
// for the way back.
func TestUninstallOfAnothersStack(t *testing.T) {
	im, set := byHand(t, vendorlab.Variant{}, byAPT+"mlnx-ofed-all")
	if !t.Run("whole", func(t *testing.T) {
		im.thereAndBack(t, im.state(t), set.Kernel, func() rootlab.Report { return im.uninstalls(t, 0) })
	}) {
		return
	}
	// One of the packages is gone without its script, so that DKMS keeps its modules and others miss it.
	t.Run("with a package missing", func(t *testing.T) {
		cmd := vendorlab.Chroot(im.Dir, "rm /var/lib/dpkg/info/mlnx-ofed-kernel-dkms.prerm\ndpkg --purge --force-depends mlnx-ofed-kernel-dkms")
		must(t, rootlab.Run(cmd))
		if found, err := filepath.Glob(im.Path("var/lib/dkms/mlnx-ofed-kernel/*/" + set.Kernel)); err != nil || len(found) == 0 {
			t.Fatalf("DKMS keeps %v, %v", found, err)
		}
		im.thereAndBack(t, im.state(t), set.Kernel, func() rootlab.Report { return im.uninstalls(t, 0) })
	})
}

// TestUninstallOfHalfAStack takes away an installation that failed in the middle.
func TestUninstallOfHalfAStack(t *testing.T) {
	im, set := byHand(t, vendorlab.Variant{Fault: vendorlab.FailingScript}, "apt-get update -qq\nif apt-get install --yes -qq --no-install-recommends -o Dpkg::Use-Pty=0 mlnx-ofed-all; then exit 1; fi")
	if state := im.packages(t)["ofed-scripts"]; !strings.HasSuffix(state, "half-configured") {
		t.Fatalf("ofed-scripts is %q", state)
	}
	im.thereAndBack(t, im.state(t), set.Kernel, func() rootlab.Report { return im.uninstalls(t, 0) })
}

// toDOCA replaces one of the vendor's stacks by the other one, for which the old one has to be gone before: what the
// image without it gets is known, fetched and kept before the first package goes.
func (im image) toDOCA(t *testing.T, before state) {
	vendor, err := vendorlab.Open(os.Stderr)
	must(t, err)
	doca, err := vendor.Make(vendorlab.DOCADebian(), vendorlab.Variant{})
	must(t, err)
	r := vendorlab.DOCADebian()
	at := "/public/repo/doca/" + r.Version + "/" + r.Label + "/x86_64/"
	server := httptest.NewServer(http.StripPrefix(at, http.FileServer(http.Dir(doca.Repo))))
	t.Cleanup(server.Close)
	flags := []string{"--stack", "doca-ofed", "--version", r.Version, "--source", server.URL + at, "--key", doca.Key, "--card", "connectx-5", "--kernel", doca.Kernel}
	report := im.installs(t, flags...)
	steps := ""
	for _, s := range report.Steps {
		steps += s.ID + " " + s.Status + ", "
	}
	if report.Verdict != "done" || !strings.Contains(steps, "remove-old-stack done, packages done, old-repository done") {
		t.Fatalf("the report is %+v", report)
	}
	now := im.packages(t)
	for _, name := range []string{"doca-ofed", "libibverbs1", "rdma-core", "mlnx-ofed-kernel-dkms"} {
		if !strings.Contains(now[name], "24") && !strings.HasPrefix(now[name], "2.9.2") {
			t.Errorf("package %s is %q", name, now[name])
		}
	}
	if now["mlnx-ofed-all"] != "" && !strings.Contains(now["mlnx-ofed-all"], "config-files") {
		t.Errorf("mlnx-ofed-all is %q", now["mlnx-ofed-all"])
	}
	if _, err := os.Stat(im.Path("etc/apt/sources.list.d/rdmactl-mlnx-ofed.list")); err == nil {
		t.Error("the old repository is there")
	}
	if r := im.installs(t, flags...); r.Verdict != "nothing-to-do" || r.Changed {
		t.Errorf("the second run is %+v", r)
	}
	lab.RollsBack(t, im.Root)
	im.isAgain(t, before)
}
