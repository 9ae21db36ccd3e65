package rules

import (
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

func TestStatusMethodModulesLabel(t *testing.T) {
	index := smallIndex(t)
	point := func(text string) change {
		return on(func(f *facts.Facts) { f.Distro.PointRelease = facts.Is(text, "release file") })
	}
	for _, tc := range []struct {
		name, stack, version string
		changes              []change
		want                 string
	}{
		{"documented, the table's kernel", "mlnx-ofed", "24.10-1.1.4.0", nil, "supported repository prebuilt rhel9.4"},
		{"documented, errata of the line", "mlnx-ofed", "24.10-1.1.4.0", []change{system("rhel", "9.4", "rhel", "5.14.0-427.31.1.el9_4.x86_64")}, "supported repository prebuilt rhel9.4"},
		{"documented, another minor's kernel", "mlnx-ofed", "24.10-1.1.4.0", []change{system("rhel", "9.4", "rhel", "5.14.0-503.11.1.el9_5.x86_64")}, "unknown repository prebuilt rhel9.4"},
		{"documented, 64k pages", "mlnx-ofed", "24.10-1.1.4.0", []change{system("rhel", "9.4", "rhel", "5.14.0-427.13.1.el9_4.x86_64+64k")}, "unknown bundle built rhel9.4"},
		{"documented, elrepo's kernel", "mlnx-ofed", "24.10-1.1.4.0", []change{system("rhel", "9.4", "rhel", "6.9.1-1.el9.elrepo.x86_64")}, "unknown bundle built rhel9.4"},
		{"a rebuild that the row names", "mlnx-ofed", "24.10-1.1.4.0", []change{system("rocky", "9.2", "rhel", "5.14.0-284.30.1.el9_2.x86_64")}, "supported repository prebuilt rhel9.2"},
		{"a rebuild that no row names", "mlnx-ofed", "24.10-1.1.4.0", []change{system("almalinux", "9.4", "rhel", "5.14.0-427.13.1.el9_4.x86_64")}, "unknown repository prebuilt rhel9.4"},
		{"a rebuild's errata are its own", "mlnx-ofed", "24.10-1.1.4.0", []change{system("almalinux", "9.4", "rhel", "5.14.0-427.31.1.el9_4.x86_64")}, "unknown bundle built rhel9.4"},
		{"another minor of RHEL is no match", "mlnx-ofed", "24.10-1.1.4.0", []change{system("rhel", "9.5", "rhel", "5.14.0-570.40.1.el9_6.x86_64")}, "unknown local-repo prebuilt rhel9.5"},
		{"held for another build of the line", "mlnx-ofed", "24.10-1.1.4.0", []change{system("rhel", "9.5", "rhel", "5.14.0-503.40.1.el9_5.x86_64")}, "present local-repo prebuilt rhel9.5"},
		{"held for another build of the line, a rebuild", "mlnx-ofed", "24.10-1.1.4.0", []change{system("rocky", "9.5", "rhel", "5.14.0-503.40.1.el9_5.x86_64")}, "unknown local-repo built rhel9.5"},
		{"held for exactly this kernel", "mlnx-ofed", "24.10-1.1.4.0", []change{system("rhel", "9.5", "rhel", "5.14.0-503.11.1.el9_5.x86_64")}, "present local-repo prebuilt rhel9.5"},
		{"held for RHEL, a rebuild", "mlnx-ofed", "24.10-1.1.4.0", []change{system("rocky", "9.5", "rhel", "5.14.0-503.11.1.el9_5.x86_64")}, "present local-repo prebuilt rhel9.5"},
		{"held, with sources for DKMS", "doca-ofed", "3.2.1", nil, "present repository dkms rhel9"},
		{"held, and the kernel is known to fail", "doca-ofed", "3.2.1", []change{rhel98}, "unsupported   rhel9"},
		{"community", "mlnx-ofed", "24.10-1.1.4.0", []change{ubuntu22}, "community repository dkms ubuntu22.04"},
		{"a bundle's name is no support", "mlnx-ofed", "24.10-1.1.4.0", []change{ubuntu24}, "unknown repository dkms ubuntu24.04"},
		{"the container lists the kernel", "mlnx-ofed", "24.10-1.1.4.0", []change{system("ubuntu", "24.04", "debian", "6.8.0-1019-aws"), method("container")}, "supported container prebuilt ubuntu24.04"},
		{"the container builds", "mlnx-ofed", "24.10-1.1.4.0", []change{ubuntu24, method("container")}, "unknown container built ubuntu24.04"},
		{"a kernel without a package, on deb", "mlnx-ofed", "24.10-1.1.4.0", []change{system("ubuntu", "22.04", "debian", "5.14.0-rc5")}, "unknown bundle built ubuntu22.04"},
		{"Debian with its point release", "mlnx-ofed", "24.10-1.1.4.0", []change{system("debian", "12", "debian", "6.1.0-50-amd64"), point("12.5")}, "supported repository dkms debian12.5"},
		{"Debian of another point release", "mlnx-ofed", "24.10-1.1.4.0", []change{system("debian", "12", "debian", "6.1.0-50-amd64"), point("12.9")}, "unknown repository dkms debian12.5"},
		{"Oracle Linux with UEK has rows of its own", "mlnx-ofed", "24.10-1.1.4.0", []change{system("ol", "8.6", "rhel", "5.4.17-2136.307.3.1.el8uek.x86_64")}, "supported repository prebuilt "},
		{"Oracle Linux with Red Hat's kernel is like RHEL", "mlnx-ofed", "24.10-1.1.4.0", []change{system("ol", "9.4", "rhel", "5.14.0-427.13.1.el9_4.x86_64")}, "unknown repository prebuilt rhel9.4"},
		{"the minor of CentOS comes from its release file", "mlnx-ofed", "4.9-7.1.0.0", []change{system("centos", "7", "rhel", "3.10.0-1062.12.1.el7.x86_64"), point("7.7.1908"), pci(cx3VF)}, "supported repository prebuilt rhel7.7"},
		{"CentOS without a minor", "mlnx-ofed", "4.9-7.1.0.0", []change{system("centos", "7", "rhel", "3.10.0-1062.12.1.el7.x86_64"), pci(cx3VF)}, "unknown bundle built "},
		{"nobody was seen to make packages for this minor", "mlnx-ofed", "24.10-1.1.4.0", []change{system("rhel", "9.8", "rhel", "5.14.0-687.el9.x86_64")}, "unknown bundle built "},
		{"nor for this distribution", "mlnx-ofed", "24.10-1.1.4.0", []change{system("photon", "5.0", "rhel", "6.1.10-1.ph5")}, "unknown bundle built "},
		{"UEK that the installer makes no KMP for", "mlnx-ofed", "23.10-2.1.3.1.201", []change{system("ol", "7.9", "rhel", "5.4.17-2011.6.2.el7uek.x86_64")}, "supported bundle built "},
		{"a row without a kernel covers the release's own line", "mlnx-ofed", "23.10-2.1.3.1.201", []change{system("debian", "12", "debian", "6.1.0-18-amd64"), point("12.1")}, "supported repository dkms debian12.1"},
		{"not a kernel of backports", "mlnx-ofed", "23.10-2.1.3.1.201", []change{system("debian", "12", "debian", "6.12.9+bpo-amd64"), point("12.1")}, "unknown repository dkms debian12.1"},
		{"a hardware enablement kernel is the release's own", "mlnx-ofed", "23.10-2.1.3.1.201", []change{system("ubuntu", "22.04", "debian", "6.8.0-40-generic")}, "supported repository dkms ubuntu22.04"},
		{"one of a later release is not", "mlnx-ofed", "23.10-2.1.3.1.201", []change{system("ubuntu", "22.04", "debian", "6.11.0-9-generic")}, "unknown repository dkms ubuntu22.04"},
		{"no source tells the release's kernels", "mlnx-ofed", "23.10-2.1.3.1.201", []change{system("kylin", "10sp3", "rhel", "4.19.90-52.22.v2207.ky10.x86_64")}, "unknown repository prebuilt "},
		{"SLES", "mlnx-ofed", "24.10-1.1.4.0", []change{system("sles", "15.5", "suse", "5.14.21-150500.55.7-default")}, "supported repository prebuilt sles15sp5"},
		{"DOCA before 3.2, rpm", "doca-ofed", "2.10.0", nil, "supported repository prebuilt rhel9.4"},
		{"a method that is asked for", "mlnx-ofed", "24.10-1.1.4.0", []change{method("bundle")}, "supported bundle prebuilt rhel9.4"},
		{"DOCA's bundle is a repository", "doca-ofed", "2.10.0", []change{method("bundle")}, "supported local-repo prebuilt rhel9.4"},
		{"no hardware table was seen", "doca-ofed", "3.2.1", []change{ubuntu22}, "unknown repository dkms "},
		{"OFED, whose cards no table tells", "ofed", "4.17-1", []change{system("rhel", "7.6", "rhel", "3.10.0-957.el7.x86_64")}, "unknown vendor-script built rhel7.6"},
		{"rdma-core", "rdma-core", "64.0", nil, "supported source inbox "},
		{"rdma-core on a system that upstream does not name", "rdma-core", "64.0", []change{system("openwrt", "23.05", "openwrt", "5.15.134")}, "unknown source inbox "},
	} {
		c := candidate(t, vendorInput(t, index, tc.changes...), tc.stack, tc.version)
		if got := string(c.Status) + " " + c.Method + " " + c.Modules + " " + c.Label; got != tc.want {
			t.Errorf("%s: got %q, want %q\n%v\n%v", tc.name, got, tc.want, c.Refusals, c.Reasons)
		}
		if (c.Status == Unsupported) != (len(c.Refusals) > 0) {
			t.Errorf("%s: %s with %d refusals", tc.name, c.Status, len(c.Refusals))
		}
	}
}

// What names a system without its minor release is no evidence for a minor release, but where the
// vendor's repositories are for major ones.
func TestEvidence(t *testing.T) {
	index := smallIndex(t)
	for _, tc := range []struct {
		stack, version string
		change         change
		want           matrix.Evidence
	}{
		{"mlnx-ofed", "24.10-1.1.4.0", system("rocky", "9.6", "rhel", "5.14.0-570.12.1.el9_6.x86_64"), ""},
		{"mlnx-ofed", "24.10-1.1.4.0", system("rhel", "9.3", "rhel", "5.14.0-362.8.1.el9_3.x86_64"), matrix.Tested},
		{"mlnx-ofed", "24.10-1.1.4.0", ubuntu24, matrix.BundleName},
		{"mlnx-ofed", "24.10-1.1.4.0", system("almalinux", "9.4", "rhel", "5.14.0-427.13.1.el9_4.x86_64"), matrix.DocumentedTable},
		{"mlnx-ofed", "5.4-3.7.5.0", ubuntu24, ""},
	} {
		if c := candidate(t, vendorInput(t, index, tc.change), tc.stack, tc.version); c.Evidence != tc.want {
			t.Errorf("%s %s: evidence %q, want %q", tc.stack, tc.version, c.Evidence, tc.want)
		}
	}
}

// Nothing but a row of the vendor's table makes a combination supported: without rows none is.
func TestNoRowNoSupport(t *testing.T) {
	m := smallMatrix()
	for i := range m.Releases {
		m.Releases[i].Rows = nil
	}
	m.Holdings = nil
	index, err := matrix.NewIndex(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, stack := range []string{"mlnx-ofed", "doca-ofed", "ofed"} {
		for _, c := range Candidates(vendorInput(t, index), stack) {
			if c.Status != Unknown && c.Status != Unsupported {
				t.Errorf("%s %s is %s", stack, c.Release.Version, c.Status)
			}
		}
	}
}

func TestKernelKinds(t *testing.T) {
	for _, tc := range []struct {
		release, id string
		want        kernelKind
		flavour     string
	}{
		{"5.15.0-101-generic", "ubuntu", kernelDistro, ""},
		{"5.15.0-1041-azure", "ubuntu", kernelFlavour, "azure"},
		{"6.11.0-1003-nvidia-64k", "ubuntu", kernelFlavour, "nvidia-64k"},
		{"6.9.0-060900-generic", "ubuntu", kernelOther, ""},
		{"5.10.35", "ubuntu", kernelOther, ""},
		{"5.15.0-101-mine", "ubuntu", kernelOther, ""},
		{"5.14.0-rc5", "ubuntu", kernelCandidate, ""},
		{"6.1.0-50-amd64", "debian", kernelDistro, ""},
		{"6.1.0-50-cloud-amd64", "debian", kernelFlavour, "cloud-amd64"},
		{"6.12.117+deb13-amd64", "debian", kernelDistro, ""},
		{"6.8.12-4-pve", "debian", kernelOther, ""},
		{"4.18.0-553.el8_10.x86_64", "rocky", kernelDistro, ""},
		{"5.4.17-2136.330.7.1.el8uek.x86_64", "ol", kernelFlavour, "uek"},
		{"5.14.0-427.13.1.el9_4.aarch64+64k", "rhel", kernelFlavour, "64k"},
		{"6.9.1-1.el9.elrepo.x86_64", "rhel", kernelOther, ""},
		{"6.9.1", "rhel", kernelOther, ""},
		{"5.14.21-150500.53-default", "sles", kernelDistro, ""},
		{"5.14.21-150500.33-azure", "sles", kernelFlavour, "azure"},
		{"6.9.1-vanilla", "sles", kernelOther, ""},
		{"", "ubuntu", kernelUntold, ""},
	} {
		k := kernelOf(Input{Facts: facts.Facts{Kernel: facts.Kernel{Release: facts.Is(tc.release, "uname -r"), Running: true}}}, tc.id)
		if k.kind != tc.want || k.flavour != tc.flavour {
			t.Errorf("%s on %s: kind %d flavour %q, want %d %q", tc.release, tc.id, k.kind, k.flavour, tc.want, tc.flavour)
		}
	}
}

func TestKernelFit(t *testing.T) {
	for _, tc := range []struct {
		release, table, id string
		want               kernelFit
	}{
		{"5.14.0-427.13.1.el9_4.x86_64", "5.14.0-427.13.1.el9_4", "rhel", fitExact},
		{"5.14.0-427.13.1.el9_4.x86_64+64k", "5.14.0-427.13.1.el9_4", "rhel", fitOff},
		{"5.14.0-427.13.10.el9_4.x86_64", "5.14.0-427.13.1", "rhel", fitErrata},
		{"5.14.0-427.31.1.el9_4.x86_64", "5.14.0-427.13.1.el9_4", "rhel", fitErrata},
		{"5.14.0-503.11.1.el9_5.x86_64", "5.14.0-427.13.1.el9_4", "rhel", fitOff},
		{"4.18.0-348.el8.0.2.x86_64", "4.18.0-348.el8", "rhel", fitErrata},
		{"5.15.0-101-generic", "5.15.0-25-generic", "ubuntu", fitErrata},
		{"5.15.0-25-generic", "5.15.0-25-generic", "ubuntu", fitExact},
		{"6.8.0-40-generic", "5.15.0-25-generic", "ubuntu", fitOff},
		{"5.15.0-1041-azure", "5.15.0-25-generic", "ubuntu", fitOff},
		{"7.0.0-38-generic", "7.0", "ubuntu", fitErrata},
		{"6.1.0-50-amd64", "6.1.0-18-amd64", "debian", fitErrata},
		{"6.12.43-amd64", "6.1.0-18-amd64", "debian", fitOff},
		{"5.4.17-2136.330.7.1.el8uek.x86_64", "5.4.17-2102.201.3.el8uek", "ol", fitErrata},
		{"4.18.0-425.el8.x86_64", "5.4.17-2136.307.3.1.el8uek", "ol", fitOff},
		{"5.14.21-150500.55.7-default", "5.14.21-150500.53", "sles", fitErrata},
		{"6.4.0-150600.21-default", "5.14.21-150500.53", "sles", fitOff},
		{"5.14.0-rc5", "5.14.0-70.el9", "ubuntu", fitOff},
		{"5.15.0-101-generic", "", "ubuntu", fitUntold},
		{"", "5.15.0-25-generic", "ubuntu", fitUntold},
		{"5", "5", "ubuntu", fitExact},
		{"5", "6", "ubuntu", fitOff},
	} {
		k := kernelOf(Input{Facts: facts.Facts{Kernel: facts.Kernel{Release: facts.Is(tc.release, "uname -r"), Running: true}}}, tc.id)
		if got := k.fit(tc.table, tc.id); got != tc.want {
			t.Errorf("%s against %s of %s: %d, want %d", tc.release, tc.table, tc.id, got, tc.want)
		}
	}
}

func TestNames(t *testing.T) {
	doca := &matrix.Release{Version: "2.10.0", Driver: "25.01-0.6.0.0"}
	mlnx := &matrix.Release{Version: "23.10-2.1.3.1.201"}
	for _, tc := range []struct {
		asked string
		r     *matrix.Release
		want  bool
	}{
		{"2.10", doca, true},
		{"2.10.0", doca, true},
		{"25.1.0", doca, true}, // of the driver container
		{"25.01-0.6.0.0", doca, true},
		{"2.1", doca, false},
		{"25.1.1", doca, false},
		{"23.10", mlnx, true},
		{"23.10-2.1.3.1-201", mlnx, true},
		{"23.1", mlnx, false},
		{"", mlnx, false},
		{"latest", mlnx, false},
	} {
		if got := Names(tc.asked, tc.r); got != tc.want {
			t.Errorf("%q means %s (%s): %v", tc.asked, tc.r.Version, tc.r.Driver, got)
		}
	}
}

func TestHeadersPackage(t *testing.T) {
	for _, tc := range []struct {
		id, family, kernel, want string
	}{
		{"ubuntu", "debian", "5.15.0-101-generic", "linux-headers-5.15.0-101-generic"},
		{"debian", "debian", "6.8.12-4-pve", "proxmox-headers-6.8.12-4-pve"},
		{"rocky", "rhel", "4.18.0-348.el8.0.2.x86_64", "kernel-devel-4.18.0-348.el8.0.2.x86_64"},
		{"ol", "rhel", "5.4.17-2136.330.7.1.el8uek.x86_64", "kernel-uek-devel-5.4.17-2136.330.7.1.el8uek.x86_64"},
		{"rhel", "rhel", "5.14.0-427.13.1.el9_4.aarch64+64k", "kernel-64k-devel-5.14.0-427.13.1.el9_4.aarch64"},
		{"sles", "suse", "5.14.21-150500.53-default", "kernel-default-devel (5.14.21-150500.53)"},
		{"ubuntu", "debian", "5.10.35", ""},
		{"ubuntu", "debian", "5.14.0-rc5", ""},
		{"ubuntu", "debian", "", ""},
	} {
		in := Input{Facts: facts.Facts{Distro: facts.Distro{ID: facts.Is(tc.id, ""), Family: facts.Is(tc.family, "")}, Kernel: facts.Kernel{Release: facts.Is(tc.kernel, "")}}}
		if got := HeadersPackage(in); got != tc.want {
			t.Errorf("%s %s: %q, want %q", tc.id, tc.kernel, got, tc.want)
		}
	}
	told := Input{Facts: facts.Facts{Kernel: facts.Kernel{Release: facts.Is("5.10.35", ""), HeadersPackage: facts.Is("linux-headers-board", "")}}}
	if got := HeadersPackage(told); got != "linux-headers-board" {
		t.Errorf("a package that the facts tell is not taken: %q", got)
	}
}

func TestSystems(t *testing.T) {
	for _, tc := range []struct {
		d             facts.Distro
		kernel        string
		row, label    string
		like, version string
	}{
		{facts.Distro{ID: facts.Is("openEuler", ""), VersionID: facts.Is("22.03", ""), PrettyName: facts.Is("openEuler 22.03 (LTS-SP3)", "")}, "", "openeuler", "openeuler22.03sp3", "", "22.03sp3"},
		{facts.Distro{ID: facts.Is("openEuler", ""), VersionID: facts.Is("22.03", ""), PrettyName: facts.Is("openEuler 22.03 LTS", "")}, "", "openeuler", "openeuler22.03", "", "22.03"},
		{facts.Distro{ID: facts.Is("kylin", ""), VersionID: facts.Is("V10", ""), PrettyName: facts.Is("Kylin Linux Advanced Server V10 (SP2)", "")}, "", "kylin", "kylin10sp2", "", "10sp2"},
		{facts.Distro{ID: facts.Is("sles", ""), VersionID: facts.Is("15", "")}, "", "sles", "sles15sp0", "", "15.0"},
		{facts.Distro{ID: facts.Is("rhel", ""), VersionID: facts.Is("7.6", "")}, "4.14.0-115.el7a.aarch64", "rhel", "rhel7.6alternate", "", "7.6alt"},
		{facts.Distro{ID: facts.Is("centos", ""), VersionID: facts.Is("8", ""), PointRelease: facts.Is("8.5.2111", "")}, "", "rhel", "rhel8.5", "8.5", "8.5"},
		{facts.Distro{ID: facts.Is("centos", ""), VersionID: facts.Is("9", ""), PointRelease: facts.Is("9", ""), PrettyName: facts.Is("CentOS Stream 9", "")}, "", "centos", "centos9", "", "9"},
		{facts.Distro{ID: facts.Is("ol", ""), VersionID: facts.Is("8.6", "")}, "5.4.17-2136.307.3.1.el8uek.x86_64", "ol", "ol8.6", "", "8.6"},
		{facts.Distro{ID: facts.Is("ubuntu", ""), Codename: facts.Is("jammy", "")}, "", "ubuntu", "ubuntu22.04", "", "22.04"},
		{facts.Distro{ID: facts.Is("rhel", ""), VersionID: facts.Is("9.4/../../x", "")}, "", "rhel", "", "", ""},
		{facts.Distro{ID: facts.Is("../rhel", ""), VersionID: facts.Is("9.4", "")}, "", "", "", "", "9.4"},
		{facts.Distro{}, "", "", "", "", ""},
	} {
		s := systemOf(Input{Facts: facts.Facts{Distro: tc.d, Kernel: facts.Kernel{Release: facts.Is(tc.kernel, "")}}})
		if s.rowID() != tc.row || s.label(false) != tc.label || s.like != tc.like || s.version != tc.version || s.name == "" {
			t.Errorf("%v: row %q label %q like %q version %q name %q", tc.d.ID.Value, s.rowID(), s.label(false), s.like, s.version, s.name)
		}
	}
}
