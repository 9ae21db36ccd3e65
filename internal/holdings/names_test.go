package holdings

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

func TestLabels(t *testing.T) {
	for label, want := range map[string]string{
		"rhel9.4": "rhel 9.4", "rhel94": "rhel 9.4", "rhel9u4": "rhel 9.4", "rhel810": "rhel 8.10", "rhel8u10": "rhel 8.10",
		"rhel9": "rhel 9", "rhel10": "rhel 10", "rhel100": "rhel 10.0", "rhel10.0": "rhel 10.0", "rhel7.6alternate": "rhel 7.6alt",
		"ubuntu2204": "ubuntu 22.04", "ubuntu24.04": "ubuntu 24.04", "debian12": "debian 12", "debian12.5": "debian 12.5",
		"debian125": "debian 12.5", "debian1013": "debian 10.13", "debian98": "debian 9.8", "sles15sp5": "sles 15.5", "sles15.6": "sles 15.6",
		"openeuler2403": "openeuler 24.03", "openeuler20.03sp3": "openeuler 20.03sp3", "euleros2.0sp9": "euleros 2.0sp9",
		"bclinux2110sp2": "bclinux 21.10sp2", "ctyunos2301": "ctyunos 23.01", "ctyunos20": "ctyunos 2.0", "alinux32": "alinux 3.2",
		"anolis86": "anolis 8.6", "ol8u3": "ol 8.3", "fc32": "fedora 32", "kylin10sp2": "kylin 10sp2",
		"release9": "", "el9": "", "": "", "rhel": "", "x86": "",
	} {
		got, ok := parseLabel(label)
		if got.String() != want || ok != (want != "") {
			t.Errorf("%s is %q, %v; want %q", label, got, ok, want)
		}
	}
}

func TestKernelsOfNames(t *testing.T) {
	for _, tt := range []struct {
		deb           bool
		name, version string
		want          []string
	}{
		{true, "mlnx-ofed-kernel-modules", "5.4-OFED.5.4.1.0.3.1.kver.5.4.0-42-generic", []string{"5.4.0-42-generic"}},
		{true, "mlnx-ofed-kernel-modules-5.4.0-42-generic", "5.4-1", []string{"5.4.0-42-generic"}},
		{true, "mlnx-ofed-kernel-modules", "5.4-OFED.5.4.1.0.3.1", nil},
		{true, "knem-modules", "1.1.kver.5.4.0-42-generic", nil},
		{false, "mlnx-ofa_kernel-modules", "5.4-OFED.5.4.1.0.3.1.kver.5.4.17_2102.203.6.el8uek.x86_64", []string{"5.4.17-2102.203.6.el8uek.x86_64"}},
		{false, "mlnx-ofa_kernel-modules", "5.4-OFED.5.4.1.0.3.1.kver.4.18.0_553.el8_10.x86_64", []string{"4.18.0-553.el8_10.x86_64"}},
		{false, "mlnx-ofa_kernel-modules", "5.4-OFED.5.4.1.0.3.1.kver.5.14.21_150500.55.7_default", []string{"5.14.21-150500.55.7-default"}},
		{false, "mlnx-ofa_kernel-kmp-default", "24.10.OFED.24.10.1.1.4.1_k6.4.0_150600.21-1.sles15sp6", []string{"6.4.0-150600.21-default"}},
		{false, "kmod-mlnx-ofa_kernel", "24.10-OFED.24.10.4.1.4.1.rhel8u9", nil},
	} {
		of := kernelsOfRPM
		if tt.deb {
			of = kernelsOfDeb
		}
		if diff := cmp.Diff(tt.want, of(tt.name, tt.version)); diff != "" {
			t.Errorf("%s %s: %s", tt.name, tt.version, diff)
		}
	}
}

func TestBundleNames(t *testing.T) {
	for name, want := range map[string]Bundle{
		"MLNX_OFED_LINUX-24.10-1.1.4.0-rhel9.4-x86_64.tgz":       {"24.10-1.1.4.0", "rhel9.4", "x86_64"},
		"/srv/MLNX_OFED_LINUX-4.9-7.1.0.0-ubuntu22.04-aarch64":   {"4.9-7.1.0.0", "ubuntu22.04", "aarch64"},
		"MLNX_OFED_LINUX-5.8-1.1.2.1-rhel8.6-ext.tgz":            {"5.8-1.1.2.1", "rhel8.6", ""},
		"MLNX_OFED_LINUX-24.10-rhel9.4-x86_64.tgz":               {},
		"MLNX_OFED_SRC-24.10-1.1.4.0.tgz":                        {},
		"MLNX_OFED_LINUX-24.10-1.1.4.0-rhel9.4-x86_64.tgz\x00.x": {},
	} {
		got, ok := ParseBundleName(name)
		if got != want || ok != (want != Bundle{}) {
			t.Errorf("%q: %+v, %v", name, got, ok)
		}
	}
}

// Packages are of the format of the system's package manager, whatever is stated.
func TestFormatOfTheSystem(t *testing.T) {
	for _, tt := range []struct {
		id, arch string
		fits     bool
	}{
		{"rhel", "x86_64", true},
		{"rhel", "noarch", true},
		{"rhel", "amd64", false},
		{"rhel", "all", false},
		{"sles", "arm64", false},
		{"ubuntu", "amd64", true},
		{"ubuntu", "x86_64", false},
		{"debian", "noarch", false},
		{"kylin", "amd64", true}, // nobody looked which it has
		{"kylin", "x86_64", true},
		{"rhel", "src", true},
	} {
		f := found{packages: []pkg{{HoldingPackage: matrix.HoldingPackage{Name: "doca-ofed", Version: "2.9.1", Arch: tt.arch}}}}
		if err := f.fits(system{tt.id, "9"}); (err == nil) != tt.fits {
			t.Errorf("%s of %s: %v", tt.arch, tt.id, err)
		}
	}
}
