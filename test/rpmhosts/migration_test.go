package rpmhosts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
	"github.com/rdmactl/rdmactl/test/vendorlab"
)

// TestVendorStackIsUninstalled goes back from a vendor's stack to the distribution's with the real dnf, while the
// vendor's repository is still configured, and takes that back.
func TestVendorStackIsUninstalled(t *testing.T) {
	h := newVendorHost(t, vendorlab.MLNXRHEL())
	s := h.serves(t, vendorlab.Variant{})
	if r := rootlab.Decode[rootlab.Report](t, lab.Rdmactl(t, 0, h.args("install", s, "--yes", "-o", "json")...)); r.Verdict != "done" {
		t.Fatalf("the report is %+v", r)
	}
	files, packages := h.image.files(t), h.image.packages(t)
	uninstall := func() rootlab.Report {
		return rootlab.Decode[rootlab.Report](t, lab.Rdmactl(t, 0, "uninstall", "--root", h.Dir, "--kernel", h.kernel, "--yes", "-o", "json"))
	}
	if r := uninstall(); r.Verdict != "done" || !r.Changed {
		t.Fatalf("the report is %+v", r)
	}
	now := h.image.packages(t)
	for name, version := range now {
		if strings.Contains(version, "mlnx") || strings.Contains(version, "OFED") || strings.Contains(name, "mlnx") || strings.Contains(version, "2410") {
			t.Errorf("package %s %s is there", name, version)
		}
	}
	for _, name := range replaced() {
		if now[name] != h.packages[name] {
			t.Errorf("package %s is %q, and was %q before the vendor's", name, now[name], h.packages[name])
		}
	}
	for _, glob := range []string{"etc/infiniband", "etc/modprobe.d/mlnx*", "etc/yum.repos.d/rdmactl-*", "lib/modules/*/extra/mlnx*/*.ko*"} {
		if found, err := filepath.Glob(h.Path(glob)); err != nil || len(found) > 0 {
			t.Errorf("%v is there, %v", found, err)
		}
	}
	if got := h.inside(t, "modinfo -k "+h.kernel+" -F filename mlxfw"); strings.Contains(got, "/extra/") {
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
