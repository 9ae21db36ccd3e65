package detect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

func TestVendorStack(t *testing.T) {
	const head = "base-files\t1\tinstall ok installed\n"
	deb := func(lines ...string) *host.Evidence {
		e := asked(nil)
		e.Files["/etc/os-release"] = "ID=ubuntu\nVERSION_ID=\"26.04\"\n"
		text := head
		for _, l := range lines {
			text += strings.ReplaceAll(l, " ", "\t") + "\tinstall ok installed\n"
		}
		e.Commands = map[string]host.Answer{"dpkg-query -W -f " + strings.NewReplacer("\t", `\t`, "\n", `\n`).Replace(dpkgFormat): {Stdout: text}}
		return e
	}
	rpm := func(lines ...string) *host.Evidence {
		e := asked(map[string]string{"rpm -qa": "bash-5.1.8-9.el9.x86_64\n" + strings.Join(lines, "\n") + "\n"})
		e.Files["/etc/os-release"] = "ID=rocky\nVERSION_ID=\"9.4\"\n"
		return e
	}
	tests := []struct {
		name string
		e    *host.Evidence
		want facts.Field[facts.VendorStack]
	}{
		{"inbox", deb("libibverbs1 61.0-2"), facts.None[facts.VendorStack]("dpkg-query -W")},
		{"only the repository's package", rpm("doca-host-3.2.1-044000_25.10_rhel9.x86_64"), facts.None[facts.VendorStack]("rpm -qa")},
		{"only firmware tools", deb("mft 4.30.1-1210", "kernel-mft-dkms 4.30.1.1210-1"), facts.None[facts.VendorStack]("dpkg-query -W")},
		{"Canonical's", deb("doca-ofed-generic 7.0.0-14.14", "linux-modules-doca-ofed-3.4-generic 7.0.0-14.14", "libibverbs1 61.0-2"), facts.Is(facts.VendorStack{
			Stack: docaOFED, Version: "3.4", Supplier: canonical, Build: "kernel",
		}, "dpkg-query -W")},
		{"DOCA of prebuilt modules", rpm("doca-ofed-2.9.2-012000.x86_64", "kmod-mlnx-ofa_kernel-24.10-OFED.24.10.2.1.8.1.rhel9u4.x86_64", "libibverbs-2410mlnx54-1.2410218.x86_64"), facts.Is(facts.VendorStack{
			Stack: docaOFED, Version: "2.9.2", Driver: "24.10-2.1.8", Library: "2410mlnx54-1.2410218", Supplier: nvidia, Build: "kmp",
		}, "rpm -qa")},
		{"a later release than any list knows", rpm("doca-ofed-4.0.0-100000.x86_64", "mlnx-ofa_kernel-dkms-26.10-OFED.26.10.0.1.2.1.noarch"), facts.Is(facts.VendorStack{
			Stack: docaOFED, Version: "4.0.0", Driver: "26.10-0.1.2", Supplier: nvidia, Build: "dkms",
		}, "rpm -qa")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, detected(t, tt.e).Packages.Vendor); diff != "" {
				t.Error(diff)
			}
		})
	}
	// An excerpt does not rule a stack out, and DKMS alone tells of one.
	excerpt := asked(map[string]string{"rpm -qa": "rdma-core-48.0-1.el9.x86_64\n"})
	if p := detected(t, excerpt).Packages; !p.Vendor.IsUnknown() || !p.Excerpt {
		t.Errorf("got %+v", p.Vendor)
	}
	built := asked(map[string]string{"dkms status": "mlnx-ofed-kernel/25.10.OFED.25.10.1.7.1.1, 6.8.0-90-generic, x86_64: installed\n"})
	if v := detected(t, built).Packages.Vendor.Or(facts.VendorStack{}); v.Build != "dkms" || v.Driver != "25.10-1.7.1" {
		t.Errorf("got %+v", v)
	}
}

func TestSupplierOfRPM(t *testing.T) {
	list := parseRpmQuery("ucx\t1.19.0-1\tx86_64\t1\tNVIDIA Corporation\nlibfabric\t1.18.0-1.el9\tx86_64\t(none)\t(none)\nold\t1-1\n")
	want := []facts.Package{{Name: "ucx", Version: "1.19.0-1", Arch: "x86_64", Epoch: "1", Supplier: nvidia}, {Name: "libfabric", Version: "1.18.0-1.el9", Arch: "x86_64"}, {Name: "old", Version: "1-1"}}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
}

// The maker of a package tells where its version has no mark.
func TestOriginByMaker(t *testing.T) {
	e := asked(nil)
	e.Files["/etc/os-release"] = "ID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\"\n"
	e.Commands = map[string]host.Answer{"rpm -q --qf " + strings.NewReplacer("\t", `\t`, "\n", `\n`).Replace(rpmFormat) + " x": {Stdout: "libibverbs1\t61.0-1.2\tx86_64\t(none)\topenSUSE\n" +
		"libmlx5-1\t61.0-1.2\tx86_64\t(none)\tobs://build.example.com/home:me\nsharp\t3.12.0-1\tx86_64\t(none)\tNVIDIA Corporation\nnvidia_peer_memory\t1.3-0\tx86_64\t(none)\tMellanox\n"}}
	got := map[string]string{}
	for _, p := range detected(t, e).Packages.Installed.Or(nil) {
		got[p.Name] = strings.TrimSpace(p.Origin + " " + p.Supplier)
	}
	want := map[string]string{"libibverbs1": "inbox", "libmlx5-1": "unknown", "sharp": "mlnx-ofed nvidia", "nvidia_peer_memory": "unknown nvidia"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// rpm says "is not installed" of every package of a database that it cannot open, too.
func TestBrokenDatabase(t *testing.T) {
	key := "rpm -q --qf " + rpmFormat + " rdma-core"
	e := asked(nil)
	e.Files["/etc/os-release"] = "ID=rocky\nVERSION_ID=\"9.4\"\n"
	e.Commands = map[string]host.Answer{key: {
		Stdout: "package rdma-core is not installed\n", Exit: 1,
		Stderr: "error: sqlite failure: CREATE TABLE: file is not a database\nerror: cannot open Packages index using sqlite - No such file or directory (2)\nerror: cannot open Packages database in /var/lib/rpm\n",
	}}
	if p := detected(t, e).Packages; !p.Installed.IsUnknown() || p.Database.Or("") != databaseBroken || !p.Vendor.IsUnknown() {
		t.Errorf("got %+v, %+v", p.Installed, p.Database)
	}
	a := e.Commands[key]
	a.Stderr = "warning: Found bdb_ro Packages database while attempting sqlite backend: using bdb_ro backend.\n"
	e.Commands[key] = a
	if p := detected(t, e).Packages; !p.Installed.IsAbsent() || p.Database.Or("") != databaseOK {
		t.Errorf("got %+v, %+v", p.Installed, p.Database)
	}
	e.Commands = map[string]host.Answer{"apt-get install x": {Stderr: "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem.\n", Exit: 100}}
	if p := detected(t, e).Packages; p.Database.Or("") != databaseInterrupted {
		t.Errorf("got %+v", p.Database)
	}
}

func TestBusyAndRegistered(t *testing.T) {
	for line, want := range map[string]string{
		"apt install x": "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1234 (unattended-upgr)\n",
		"zypper in x":   "System management is locked by the application with pid 1234 (zypper).\n",
		"yum install x": "Existing lock /var/run/yum.pid: another copy is running as pid 1234.\n",
	} {
		e := asked(nil)
		e.Commands = map[string]host.Answer{line: {Stderr: want, Exit: 1}}
		if f := detected(t, e).Packages.Busy; !strings.HasPrefix(f.Or(""), "process 1234") {
			t.Errorf("%s: %+v", line, f)
		}
	}
	for text, want := range map[string]bool{"system identity: 1-2-3\nname: x\n": true, "This system is not yet registered. Try 'subscription-manager register --help'.\n": false} {
		e := asked(map[string]string{"subscription-manager identity": text})
		e.Files["/etc/os-release"] = "ID=\"rhel\"\nVERSION_ID=\"9.6\"\n"
		if f := detected(t, e).Packages.Registered; !f.IsKnown() || f.Value != want {
			t.Errorf("%q: %+v", text, f)
		}
	}
}
