package holdings

import (
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// TestStatedReleaseAgainstPackages: what a user states is taken where the packages do not tell it, and refused
// where they tell something else.
func TestStatedReleaseAgainstPackages(t *testing.T) {
	embedded, err := matrix.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	known, err := matrix.NewIndex(embedded)
	if err != nil {
		t.Fatal(err)
	}
	one := func(name, version string) []pkg {
		return []pkg{{HoldingPackage: matrix.HoldingPackage{Name: name, Version: version, Arch: "amd64"}}}
	}
	dkms := one("mlnx-ofed-kernel-dkms", "24.10.OFED.24.10.1.1.4.1-1")
	kmod := one("kmod-mlnx-ofa_kernel", "24.10-OFED.24.10.1.1.4.1.rhel9u4")
	for name, tt := range map[string]struct {
		packages       []pkg
		stack, version string
		cause          string // empty: taken
	}{
		"drivers of the release":             {dkms, "mlnx-ofed", "24.10-1.1.4.0", ""},
		"drivers of another point release":   {dkms, "mlnx-ofed", "24.10-2.1.8.0", "is of the drivers 24.10.1.1.4.1"},
		"drivers of another branch":          {kmod, "mlnx-ofed", "9.9", "is of the drivers 24.10.1.1.4.1"},
		"the branch alone":                   {kmod, "mlnx-ofed", "24.10", ""},
		"the DOCA release with the drivers":  {kmod, "doca-ofed", "2.9.1", ""},
		"a DOCA release with other drivers":  {kmod, "doca-ofed", "2.9.2", "is of the drivers"},
		"a DOCA release of another branch":   {dkms, "doca-ofed", "3.1.0", "is of the drivers"},
		"a DOCA release that nobody knows":   {dkms, "doca-ofed", "9.9.0", ""},
		"knem has a number of its own":       {one("knem-dkms", "1.1.4.90mlnx3-OFED.23.10.0.2.1.1"), "mlnx-ofed", "24.10-1.1.4.0", ""},
		"another stack's metapackage":        {one("doca-ofed", "3.1-1"), "mlnx-ofed", "24.10-1.1.4.0", "is of doca-ofed"},
		"the stack's metapackage":            {one("doca-ofed", "3.1-1"), "doca-ofed", "3.1.0", ""},
		"the metapackage of another release": {one("doca-ofed", "3.1-1"), "doca-ofed", "9.9.0", "is of doca-ofed 3.1"},
		"metapackage that tells all":         {one("doca-ofed", "2.9.1-0.1.6"), "mlnx-ofed", "2.9.1", "it is doca-ofed 2.9.1, not mlnx-ofed 2.9.1"},
		"metapackage and another version":    {one("doca-ofed", "2.9.1-0.1.6"), "doca-ofed", "9.9", "it is doca-ofed 2.9.1, not doca-ofed 9.9"},
		"metapackage and its version":        {one("doca-ofed", "2.9.1-0.1.6"), "doca-ofed", "2.9.1", ""},
		"no version":                         {dkms, "mlnx-ofed", "newest", "is no version"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &found{packages: tt.packages}
			stack, version, err := f.release(Stated{Stack: tt.stack, Version: tt.version}, known)
			switch {
			case tt.cause == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.cause == "" && (stack != tt.stack || version != tt.version):
				t.Errorf("taken as %s %s", stack, version)
			case tt.cause != "" && (err == nil || !strings.Contains(err.Error(), tt.cause)):
				t.Errorf("got %v, want %q", err, tt.cause)
			}
		})
	}
}
