package rules

import (
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// What ofed_info, packages and libraries print names a release of the matrix, or none.
func TestReleaseOnHost(t *testing.T) {
	index := embeddedIndex(t)
	doca := func(version string) change {
		return func(f *facts.Facts, a *Asked) {
			installedPackages(facts.Package{Name: "doca-ofed", Version: version, Status: "install ok installed", Origin: "doca-ofed"})(f, a)
		}
	}
	library := func(version string) change {
		return installedPackages(facts.Package{Name: "libibverbs1", Version: version, Status: "install ok installed", Origin: "mlnx-ofed"})
	}
	for name, tc := range map[string]struct {
		changes     []change
		stack, want string // empty: none of the matrix
	}{
		"ofed_info of 3.2.1, which prints another number than its driver's": {[]change{ofedInfo("OFED-internal-25.10-1.7.1")}, "doca-ofed", "3.2.1"},
		"the driver's own":                        {[]change{ofedInfo("OFED-internal-25.10-2.4.1")}, "doca-ofed", "3.2.2"},
		"a number that nothing is known to print": {[]change{ofedInfo("OFED-internal-25.10-1.8.1")}, "doca-ofed", ""},
		"the package wins over ofed_info":         {[]change{ofedInfo("OFED-internal-25.10-1.7.1"), doca("3.2.2-035000")}, "doca-ofed", "3.2.2"},
		"a driver that only one release has":      {[]change{ofedInfo("OFED-internal-23.10-3.2.2")}, "doca-ofed", "2.5.2"},
		"a branch that several have":              {[]change{ofedInfo("OFED-internal-23.10-9.9.9")}, "doca-ofed", ""},
		"a release to come":                       {[]change{doca("4.0.0-011000")}, "doca-ofed", ""},
		"MLNX_OFED":                               {[]change{ofedInfo("MLNX_OFED_LINUX-24.10-1.1.4.0")}, "mlnx-ofed", "24.10-1.1.4.0"},
		"a special drop of it":                    {[]change{ofedInfo("MLNX_OFED_LINUX-24.10-1.1.4.0.105")}, "mlnx-ofed", "24.10-1.1.4.0.105"},
		"without the last number":                 {[]change{ofedInfo("MLNX_OFED_LINUX-24.10-1.1.4")}, "mlnx-ofed", "24.10-1.1.4.0"},
		"a library alone":                         {[]change{library("2410mlnx54-1.2410068")}, "mlnx-ofed", ""},
	} {
		got := ""
		if r := ReleaseOnHost(vendorInput(t, index, tc.changes...), tc.stack); r != nil {
			got = r.Version
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// MLNX_OFED and DOCA-OFED are one line by the versions of their drivers.
func TestNewerThan(t *testing.T) {
	index := embeddedIndex(t)
	release := func(stack, version string) *matrix.Release {
		r, ok := index.Find(stack, version)
		if !ok {
			t.Fatalf("no %s %s", stack, version)
		}
		return r
	}
	stack := func(version, driver string) change {
		return on(func(f *facts.Facts) {
			f.Packages.Vendor = facts.Is(facts.VendorStack{Stack: "doca-ofed", Version: version, Driver: driver}, "rpm -qa")
		})
	}
	for name, tc := range map[string]struct {
		change         change
		stack, version string
		want           bool
	}{
		"DOCA before the last MLNX_OFED":           {stack("2.5.2", ""), "mlnx-ofed", "24.10-1.1.4.0", false},
		"DOCA after the last MLNX_OFED":            {stack("3.2.1", ""), "mlnx-ofed", "24.10-4.1.4.0", true},
		"the same drivers":                         {stack("2.9.1", ""), "mlnx-ofed", "24.10-1.1.4.0", false},
		"MLNX_OFED and a later DOCA":               {ofedInfo("MLNX_OFED_LINUX-24.10-1.1.4.0"), "doca-ofed", "3.2.3", false},
		"MLNX_OFED and an earlier DOCA":            {ofedInfo("MLNX_OFED_LINUX-24.10-1.1.4.0"), "doca-ofed", "2.5.2", true},
		"an earlier point release":                 {ofedInfo("MLNX_OFED_LINUX-5.8-7.0.6.1"), "mlnx-ofed", "5.8-3.0.7.0", true},
		"23.10 after 5.8":                          {ofedInfo("MLNX_OFED_LINUX-5.8-7.0.6.1"), "mlnx-ofed", "23.10-3.2.2.0", false},
		"point releases known by the branch alone": {stack("2.5.2", ""), "doca-ofed", "2.5.6", false},
		"and the other way":                        {stack("2.5.6", ""), "doca-ofed", "2.5.2", true},
		"a release to come, by its own number":     {stack("4.0.0", ""), "doca-ofed", "3.2.3", true},
		"a release to come, by its drivers":        {stack("4.0.0", "26.10-0.5.0"), "mlnx-ofed", "24.10-4.1.4.0", true},
		"2.10 is after 2.9":                        {stack("2.10.0", ""), "doca-ofed", "2.9.4", true},
		"another line":                             {stack("3.2.1", ""), "rdma-core", "44.0", false},
	} {
		have, there := VendorOnHost(vendorInput(t, index, tc.change))
		if !there || have.NewerThan(release(tc.stack, tc.version)) != tc.want {
			t.Errorf("%s: %+v newer than %s %s: not %v", name, have, tc.stack, tc.version, tc.want)
		}
	}
	for name, change := range map[string]change{"nothing": on(func(*facts.Facts) {}), "inbox": installedPackages(facts.Package{Name: "libibverbs1", Version: "44.0-2", Status: "install ok installed", Origin: "inbox"})} {
		if have, there := VendorOnHost(vendorInput(t, index, change)); there {
			t.Errorf("%s: %+v", name, have)
		}
	}
}

// A vendor's stack is named with what its packages tell of its release, and no more.
func TestVendorName(t *testing.T) {
	for want, v := range map[string]facts.VendorStack{
		"doca-ofed 4.0.0 (drivers 26.10-0.5.0)":    {Stack: "doca-ofed", Version: "4.0.0", Driver: "26.10-0.5.0"},
		"mlnx-ofed 24.10-1.1.4.0":                  {Stack: "mlnx-ofed", Version: "24.10-1.1.4.0", Driver: "24.10-1.1.4.0"},
		"doca-ofed 25.10-1.7.1":                    {Stack: "doca-ofed", Driver: "25.10-1.7.1"},
		"mlnx-ofed, of which they tell no release": {Stack: "mlnx-ofed"},
	} {
		if got := vendorName(v); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A row that names the minor release is not hidden by one of another product for the major one.
func TestMinorReleaseFirst(t *testing.T) {
	index := embeddedIndex(t)
	in := vendorInput(t, index, system("rhel", "8.5", "rhel", "4.18.0-348.el8.x86_64"), pci(mellanoxCard("0000:3b:00.0", "1017", "connectx-5")))
	if c := candidate(t, in, "mlnx-ofed", "5.8-3.0.7.0"); c.Evidence != matrix.BundleName {
		t.Errorf("RHEL 8.5, whose bundle was seen: evidence %q, %v", c.Evidence, c.Reasons)
	}
	// The twin: of RHEL 8.6 no bundle of this release was seen, and RHEL 8 alone tells nothing of it.
	in = vendorInput(t, index, system("rhel", "8.6", "rhel", "4.18.0-372.9.1.el8.x86_64"), pci(mellanoxCard("0000:3b:00.0", "1017", "connectx-5")))
	if c := candidate(t, in, "mlnx-ofed", "5.8-3.0.7.0"); c.Evidence != "" {
		t.Errorf("RHEL 8.6: evidence %q, %v", c.Evidence, c.Reasons)
	}
}

// No address is made up of a name that other branches have.
func TestPathOfTheBranch(t *testing.T) {
	index := embeddedIndex(t)
	for name, tc := range map[string]struct {
		system         change
		stack, version string
		want           string
	}{
		"SLES 15.6, which no 3.2 has":              {system("sles", "15.6", "suse", "6.4.0-150600.21-default"), "doca-ofed", "3.2.3", ""},
		"RHEL 8.4, which others tested with 24.10": {system("rhel", "8.4", "rhel", "4.18.0-305.el8.x86_64"), "mlnx-ofed", "24.10-0.7.0.0", ""},
		"RHEL 8.4 of 5.8, whose bundle was seen":   {system("rhel", "8.4", "rhel", "4.18.0-305.el8.x86_64"), "mlnx-ofed", "5.8-3.0.7.0", "rhel8.4"},
		"Ubuntu 22.04 of another 3.2":              {system("ubuntu", "22.04", "debian", "5.15.0-25-generic"), "doca-ofed", "3.2.3", "ubuntu22.04"},
		"RHEL 9.4 of a branch whose table has it":  {system("rhel", "9.4", "rhel", "5.14.0-427.13.1.el9_4.x86_64"), "mlnx-ofed", "23.10-3.2.2.0", "rhel9.4"},
		"Ubuntu 22.04 of 5.9, whose table has it":  {system("ubuntu", "22.04", "debian", "5.15.0-25-generic"), "mlnx-ofed", "5.9-0.5.6.0.125", "ubuntu22.04"},
	} {
		c := candidate(t, vendorInput(t, index, tc.system, pci(mellanoxCard("0000:3b:00.0", "101b", "connectx-6"))), tc.stack, tc.version)
		if c.Label != tc.want || len(c.Refusals) > 0 {
			t.Errorf("%s: label %q, want %q (%v)", name, c.Label, tc.want, c.Refusals)
		}
	}
}
