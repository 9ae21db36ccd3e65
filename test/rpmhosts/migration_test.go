package rpmhosts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
	"github.com/rdmactl/rdmactl/test/vendorlab"
)

// TestVendorStackIsUninstalled goes back from a vendor's stack to the distribution's, while the vendor's repository is
// still configured, and takes that back. The run that brought it holds its packages, which is no obstacle to rdmactl.
func TestVendorStackIsUninstalled(t *testing.T) {
	eachVendor(t, uninstalled)
}

func uninstalled(t *testing.T, v vendorSystem) {
	h := newVendorHost(t, v, v.mlnx)
	s := h.serves(t, vendorlab.Variant{})
	if h.manager == "dnf" {
		h.versionlock(t)
	}
	if r := rootlab.Decode[rootlab.Report](t, lab.Rdmactl(t, 0, h.args("install", s, "--hold", "--yes", "-o", "json")...)); r.Verdict != "done" {
		t.Fatalf("the report is %+v", r)
	}
	if locks := h.locks(t); !strings.Contains(locks, "libibverbs") || !strings.Contains(locks, h.meta()) || !strings.Contains(locks, "mlnx-ofa_kernel") {
		t.Errorf("what the vendor brought is not locked: %q", locks)
	}
	files, packages := h.image.files(t), h.image.packages(t)
	uninstall := func() rootlab.Report {
		return rootlab.Decode[rootlab.Report](t, lab.Rdmactl(t, 0, "uninstall", "--root", h.Dir, "--kernel", h.kernel, "--yes", "-o", "json"))
	}
	if r := uninstall(); r.Verdict != "done" || !r.Changed {
		t.Fatalf("the report is %+v", r)
	}
	if locks := h.locks(t); strings.Contains(locks, "libibverbs") {
		t.Errorf("locks are left: %q", locks)
	}
	now := h.image.packages(t)
	for name, version := range now {
		if strings.Contains(version, "mlnx") || strings.Contains(version, "OFED") || strings.Contains(name, "mlnx") || strings.Contains(version, "2410") {
			t.Errorf("package %s %s is there", name, version)
		}
	}
	for _, name := range append(replaced(), v.gone...) {
		if now[name] != h.packages[name] {
			t.Errorf("package %s is %q, and was %q before the vendor's", name, now[name], h.packages[name])
		}
	}
	for _, glob := range []string{"etc/infiniband", "etc/modprobe.d/mlnx*", "etc/yum.repos.d/rdmactl-*", "etc/zypp/repos.d/rdmactl-*", "lib/modules/*/extra/mlnx*/*.ko*", "lib/modules/*/updates/*.ko*"} {
		if found, err := filepath.Glob(h.Path(glob)); err != nil || len(found) > 0 {
			t.Errorf("%v is there, %v", found, err)
		}
	}
	if got := h.inside(t, "modinfo -k "+h.kernel+" -F filename mlxfw"); !strings.Contains(got, "/kernel/") {
		t.Errorf("modprobe would load %s", got)
	}
	if _, err := os.Stat(h.Path(vendorlab.ScriptMark)); err == nil {
		t.Error("the vendor's uninstaller was run")
	}
	if r := uninstall(); r.Verdict != "nothing-to-do" || r.Changed {
		t.Errorf("the second run is %+v", r)
	}
	lab.RollsBack(t, h.Root)
	h.asBefore(t, files, packages)
	h.clean(t)
}
