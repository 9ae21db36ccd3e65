package detect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

func TestOriginOf(t *testing.T) {
	tests := []struct{ name, version, vendor, distro, want string }{
		{"libibverbs", "54mlnx1-1.54103", "", "ol", mlnxOFED},
		{"libibverbs1", "2410mlnx54-1.2410068", docaOFED, "ubuntu", docaOFED},
		{"libibverbs1", "2410mlnx54-1.2410068", "", "ubuntu", mlnxOFED},
		{"libibmad", "1.3.11.MLNX20150329.b2cb00f-0.1", "", "rhel", mlnxOFED},
		{"libibverbs", "2510.0.11-1.el9", "", "rhel", docaOFED},
		{"libibverbs", "2601.0.7-1.azl3", "", "azurelinux", inbox},
		{"ucx", "1.15.0-1.2307055", "", "rhel", mlnxOFED},
		{"ucx", "1.15.0-2.el9", mlnxOFED, "rhel", inbox},
		{"perftest", "24.10.0-0.95.g370212b.2410325", "", "debian", mlnxOFED},
		{"perftest", "4.5+0.17-0.95.g370212b", "", "debian", inbox},
		{"libibverbs", "48.0-1.el8", mlnxOFED, "rocky", inbox},
		{"rdma-core", "38.1-150400.4.6", "", "sles", inbox},
		{"libibverbs1", "44.0-2", "", "debian", inbox},
		{"libibverbs1", "44.0", "", "debian", other},
		{"libibverbs", "65.0-1", "", "rhel", other},
		{"libibverbs", "43.0-1.amzn2", "", "rhel", other},
		{"libibverbs", "48.0-1.amzn2023.0.1", "", "amzn", inbox},
		{"doca-ofed", "2.10.0-093000", "", "debian", docaOFED},
		{"compat-rdma", "4.17-1", "", "rhel", ofaOFED},
		{"mlnx-ofa_kernel", "5.4-OFED.5.4.1.0.3.1.ol8u4", "", "ol", mlnxOFED},
		{"kernel-modules-extra", "", "", "rocky", other},
	}
	for _, tt := range tests {
		if got := originOf(tt.name, tt.version, tt.vendor, tt.distro); got != tt.want {
			t.Errorf("%s %s of %q on %s is %s, want %s", tt.name, tt.version, tt.vendor, tt.distro, got, tt.want)
		}
	}
}

func TestVendorOf(t *testing.T) {
	pkg := func(name, status string) []facts.Package { return []facts.Package{{Name: name, Status: status}} }
	tests := []struct {
		packages []facts.Package
		info     string
		want     string
	}{
		{nil, "MLNX_OFED_LINUX-5.8-1.0.1.1", mlnxOFED},
		{nil, "OFED-internal-25.10-1.7.1", docaOFED},
		{nil, "OFED-4.17-1", ofaOFED},
		{pkg("doca-ofed", "install ok installed"), "", docaOFED},
		{pkg("doca-ofed", "deinstall ok config-files"), "", ""},
		{pkg("mlnx-ofed-all", "install ok installed"), "", mlnxOFED},
		{pkg("mlnx-ofed-kernel-only", "install ok installed"), "", mlnxOFED},
		{pkg("mlnx-ofed-kernel-dkms", "install ok installed"), "", ""},
		{pkg("bash", "install ok installed"), "", ""},
		{[]facts.Package{{Name: "mlnx-ofa_kernel", Version: "25.10-OFED.25.10.1.7.1.1.el9"}}, "", docaOFED},
		{[]facts.Package{{Name: "libibverbs", Version: "2501mlnx56-1.2501060"}}, "", docaOFED},
		{[]facts.Package{{Name: "mlnx-ofed-kernel-dkms", Version: "24.10.OFED.24.10.1.1.4.1-1"}, {Name: "libibverbs1", Version: "2410mlnx54-1.2410114"}}, "", ""},
	}
	for _, tt := range tests {
		if got := vendorOf(tt.packages, tt.info); got != tt.want {
			t.Errorf("%v, %q is %q, want %q", tt.packages, tt.info, got, tt.want)
		}
	}
}

func TestPackageLists(t *testing.T) {
	if _, err := parseDpkg("libibverbs1 44.0-2\n"); err == nil {
		t.Error("a line without tabs was read")
	}
	got, err := parseDpkg("a:amd64\t\tdeinstall ok config-files\n\nb\t1\tinstall ok installed\n")
	want := []facts.Package{{Name: "a", Status: "deinstall ok config-files"}, {Name: "b", Version: "1", Status: "install ok installed"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	list := parseDpkgList("Desired=Unknown/Install\n||/ Name  Version\n+++-====-====\nii  libibverbs1:amd64  44.0-2  amd64  Library\nrc  opensm  3.3  amd64  SM\niFR mlnx-dkms  1-1 all x\n")
	want = []facts.Package{
		{Name: "libibverbs1", Version: "44.0-2", Status: "install ok installed"},
		{Name: "opensm", Version: "3.3", Status: "deinstall ok config-files"},
		{Name: "mlnx-dkms", Version: "1-1", Status: "install reinstreq half-configured"},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	list = parseRpmList("mlnx-ofa_kernel-modules-5.4-OFED.5.4.1.0.3.1.kver.5.4.17_2102.203.6.el8uek.x86_64.x86_64\ngpg-pubkey-1-2\nnoversion\nwords of error\n", false)
	want = []facts.Package{{Name: "mlnx-ofa_kernel-modules", Version: "5.4-OFED.5.4.1.0.3.1.kver.5.4.17_2102.203.6.el8uek.x86_64", Arch: "x86_64"}, {Name: "gpg-pubkey", Version: "1-2"}}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	list = parseRpmQuery("rdma-core\t48.0-1.el8\npackage mlnx-tools is not installed\n")
	if diff := cmp.Diff([]facts.Package{{Name: "rdma-core", Version: "48.0-1.el8"}}, list); diff != "" {
		t.Error(diff)
	}
	list = parseDpkgStatus("Package: a\nStatus: install ok installed\nVersion: 1-1\nDescription: x\n more\n\nPackage: b\nVersion: 2\n")
	if diff := cmp.Diff([]facts.Package{{Name: "a", Version: "1-1", Status: "install ok installed"}, {Name: "b", Version: "2"}}, list); diff != "" {
		t.Error(diff)
	}
}

// rpm is asked for named packages; that none of them is there is an answer.
func TestRpmAskedByName(t *testing.T) {
	key := "rpm -q --qf " + rpmFormat + " " + strings.Join(rpmNames(), " ")
	e := &host.Evidence{
		Files:    map[string]string{"/etc/os-release": "ID=rocky\nVERSION_ID=\"9.4\"\n"},
		Commands: map[string]host.Answer{key: {Stdout: "package rdma-core is not installed\n", Exit: 1}},
	}
	if p := detected(t, e).Packages; !p.Installed.IsAbsent() || !p.Broken.IsAbsent() || p.Manager.Or("") != "dnf" {
		t.Errorf("got %+v", p)
	}
	e.Commands[key] = host.Answer{Stdout: "rdma-core\t48.0-1.el9\n", Exit: 90}
	if p := detected(t, e).Packages.Installed.Or(nil); len(p) != 1 || p[0].Origin != inbox {
		t.Errorf("got %+v", p)
	}
	e.Commands[key] = host.Answer{Stderr: "error: cannot open Packages database\n", Exit: 1}
	if p := detected(t, e).Packages; !p.Installed.IsUnknown() || p.Installed.Error == "" {
		t.Errorf("got %+v", p.Installed)
	}
}

func TestRepositories(t *testing.T) {
	e := &host.Evidence{
		Files: map[string]string{
			"/etc/apt/sources.list": "deb [trusted=yes arch=amd64] http://u:p@mirror.example.com/debian bookworm main # c\n#deb http://x y z\ndeb [broken http://a b\ndeb-src http://x y z\n",
			"/etc/apt/sources.list.d/debian.sources": "Types: deb deb-src\nURIs: http://mirror.example.com/debian?token=x\nSuites: bookworm\n bookworm-updates\nComponents: main contrib\n\n" +
				"Types: deb\nEnabled: no\nURIs: http://off\nSuites: s\n",
			"/etc/yum.repos.d/a.repo": "[one]\nname=One\nbaseurl=https://u:p@mirror.example.com/one\nenabled=1\n[two]\nmirrorlist=https://mirror.example.com/list?arch=x\n[off]\nbaseurl=http://off\nenabled=0\n",
		},
		Dirs: map[string][]string{"/etc/apt/sources.list.d": {"debian.sources", "debian.sources.save"}, "/etc/yum.repos.d": {"a.repo"}, "/etc": {"apt", "yum.repos.d"}},
	}
	want := []string{
		"deb http://mirror.example.com/debian bookworm main",
		"deb http://mirror.example.com/debian bookworm main contrib", "deb http://mirror.example.com/debian bookworm-updates main contrib",
		"one https://mirror.example.com/one", "two https://mirror.example.com/list",
	}
	if diff := cmp.Diff(want, detected(t, e).Packages.Repositories.Or(nil)); diff != "" {
		t.Error(diff)
	}
}

func TestOFEDInfoScript(t *testing.T) {
	script := "#!/bin/bash\ncase $1 in\n -s)\n\techo MLNX_OFED_LINUX-23.10-1.1.9.0:\n"
	if got, err := decodeOFEDInfo(strings.NewReader(script), int64(len(script))); err != nil || got != "MLNX_OFED_LINUX-23.10-1.1.9.0:\n" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := decodeOFEDInfo(strings.NewReader("#!/bin/sh\n"), 10); err != nil || got != "" {
		t.Errorf("got %q, %v", got, err)
	}
	e := &host.Evidence{Commands: map[string]host.Answer{"ofed_info -s": {Exit: 127, Stderr: "bash: ofed_info: command not found\n"}}}
	if f := detected(t, e).Packages.OFEDInfo; !f.IsAbsent() {
		t.Errorf("got %+v", f)
	}
	e.Commands["ofed_info -s"] = host.Answer{Stdout: "OFED-internal-25.10-1.7.1:\n"}
	if f := detected(t, e).Packages.OFEDInfo; f.Or("") != "OFED-internal-25.10-1.7.1" {
		t.Errorf("got %+v", f)
	}
}
