package detect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

func kinds(uses []facts.Use) []string {
	var out []string
	for _, u := range uses {
		out = append(out, u.Kind+" "+u.Name+" "+u.Detail)
	}
	return out
}

func TestUses(t *testing.T) {
	tests := []struct {
		name string
		e    host.Evidence
		want []string
	}{
		{"mount(8)", host.Evidence{Commands: map[string]host.Answer{"mount": {Stdout: "srv:/a on /a type nfs (rw,vers=3,proto=rdma,port=20049)\nsrv:/b on /b type nfs4 (rw,proto=tcp)\n10.0.0.1@o2ib:/fs on /fs type lustre (rw)\n" +
			"//srv/c on /c type cifs (rw,username=alice,rdma)\n/dev/sda on / type ext4 (rw)\n"}}}, []string{"lustre /fs lustre", "nfs-rdma /a nfs", "smb-direct /c cifs"}},
		{"storage", host.Evidence{
			Files: map[string]string{
				"/sys/class/nvme/nvme0/transport": "pcie\n", "/sys/class/nvme/nvme1/transport": "rdma\n", "/sys/class/scsi_host/host3/proc_name": "ib_srp\n",
				"/sys/class/scsi_host/host4/proc_name": "iscsi_iser\n", "/sys/class/scsi_host/host5/proc_name": "ahci\n",
				"/sys/kernel/config/nvmet/ports/1/addr_trtype": "rdma\n", "/sys/kernel/config/nvmet/ports/2/addr_trtype": "tcp\n", "/proc/fs/nfsd/portlist": "rdma 20049\ntcp 2049\n",
			},
		}, []string{"iser host4 ", "nfs-rdma-server port 20049 ", "nvme-rdma nvme1 ", "nvmet-rdma 1 ", "srp host3 "}},
		{"open devices", host.Evidence{Files: map[string]string{
			"/proc/modules": "ib_uverbs 1 5 mlx5_ib,rdma_ucm, Live 0x0\nib_umad 1 0 - Live 0x0\nrdma_ucm 1 1 - Live 0x0\n",
		}}, []string{"open-device ib_uverbs 3 open", "open-device rdma_ucm 1 open"}},
		{
			"IPoIB",
			host.Evidence{Files: map[string]string{"/sys/class/net/ib0/type": "32\n", "/sys/class/net/ib0/operstate": "up\n", "/sys/class/net/ib1/type": "32\n", "/sys/class/net/ib1/operstate": "down\n"}},
			[]string{"ipoib ib0 "},
		},
		{"VLAN and bridge", host.Evidence{
			Files: map[string]string{"/sys/class/net/e0/type": "1\n", "/sys/class/net/e1/type": "1\n"},
			Links: map[string]string{
				"/sys/class/net/e0/device": "../../../0000:01:00.0", "/sys/class/net/e0/device/driver": "../../drivers/mlx5_core",
				"/sys/class/net/e1/device": "../../../0000:02:00.0", "/sys/class/net/e1/device/driver": "../../drivers/igb",
			},
			Dirs: map[string][]string{"/sys/class/net/e0": {"device", "type", "upper_br0", "upper_e0.7"}, "/sys/class/net/e1": {"device", "type", "upper_br1"}},
		}, []string{"upper-netdev br0 on e0", "upper-netdev e0.7 on e0"}},
		{"nothing told", host.Evidence{}, nil},
	}
	for _, tt := range tests {
		f := detected(t, &tt.e)
		if diff := cmp.Diff(tt.want, kinds(f.Uses.Or(nil))); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		if f.Uses.IsAbsent() || f.UsesUnknown["lustre"] == "" && tt.name != "mount(8)" {
			t.Errorf("%s: what was not looked at counts as unused: %+v, %v", tt.name, f.Uses, f.UsesUnknown)
		}
	}
}

// ip's text tells the same as sysfs.
func TestUppersInText(t *testing.T) {
	const ip = "2: ens1f0: <BROADCAST,MULTICAST,SLAVE,UP,LOWER_UP> mtu 1500 qdisc mq master bond0 state UP mode DEFAULT\n    link/ether 0a:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff\n" +
		"3: bond0: <BROADCAST,MULTICAST,MASTER,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP\n4: bond0.7@bond0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 state UP\n"
	e := asked(map[string]string{"ip link": ip, "ip route": "default via 192.0.2.1 dev bond0.7\n"})
	e.Links = map[string]string{"/sys/class/net/ens1f0/device/driver": "../../../../bus/pci/drivers/mlx5_core"}
	f := detected(t, e)
	if diff := cmp.Diff([]string{"upper-netdev bond0 on ens1f0"}, kinds(f.Uses.Or(nil))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"ens1f0"}, f.Access.DefaultRouteHardware.Or(nil)); diff != "" || f.Access.DefaultRouteDriver.Or("") != "mlx5_core" {
		t.Errorf("%+v: %s", f.Access, diff)
	}
	if rows := useRows(f.Uses); len(rows) != 1 || rows[0] != "upper-netdev: bond0 on ens1f0" {
		t.Errorf("rows %q", rows)
	}
	// Beside each other they are not on each other.
	e.Commands["ip link"] = host.Answer{Stdout: strings.ReplaceAll(strings.ReplaceAll(ip, "master bond0 ", ""), "@bond0", "")}
	e.Commands["ip route"] = host.Answer{Stdout: "default via 192.0.2.1 dev bond0\n"}
	if f := detected(t, e); f.Uses.IsKnown() || f.Access.DefaultRouteHardware.IsKnown() || f.Access.DefaultRouteDriver.IsKnown() {
		t.Errorf("%+v, %+v", f.Uses, f.Access)
	}
}

// Users' names in the options of a mount are not kept.
func TestMountLines(t *testing.T) {
	got := mountLines("//srv/c /c cifs rw,username=alice,domain=CORP,credentials=/root/c,rdma,vers=3 0 0\nnothing\n")
	if want := "/c cifs rw,rdma,vers=3\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAllowUnsupported(t *testing.T) {
	none := map[string][]string{"/etc/modprobe.d": {}, "/run": {}, "/usr/local/lib": {}, "/usr/lib": {"modprobe.d"}, "/lib": {"modprobe.d"}, "/usr/lib/modprobe.d": {}, "/lib/modprobe.d": {"10-unsupported-modules.conf"}}
	e := &host.Evidence{Dirs: none, Files: map[string]string{"/lib/modprobe.d/10-unsupported-modules.conf": "# c\nallow_unsupported_modules 0\n"}}
	if f := detected(t, e).Modules.AllowUnsupported; !f.IsKnown() || f.Value {
		t.Errorf("got %+v", f)
	}
	// A file in /etc hides the one of the same name.
	e.Files["/etc/modprobe.d/10-unsupported-modules.conf"] = "allow_unsupported_modules 1\n"
	e.Dirs["/etc/modprobe.d"] = []string{"10-unsupported-modules.conf"}
	if f := detected(t, e).Modules.AllowUnsupported; !f.Or(false) {
		t.Errorf("got %+v", f)
	}
	e.Dirs["/etc/modprobe.d"], e.Dirs["/lib/modprobe.d"], e.Files = []string{}, []string{}, nil
	if f := detected(t, e).Modules.AllowUnsupported; !f.IsAbsent() {
		t.Errorf("got %+v", f)
	}
}

func TestPlatformMarks(t *testing.T) {
	e := &host.Evidence{Files: map[string]string{
		"/sys/devices/system/cpu/online": "0-3,8,10-11\n", "/run/reboot-required": "*** System restart required ***\n", "/run/ostree-booted": "",
		"/etc/os-release": "ID=\"openEuler\"\nVERSION_ID=\"22.03\"\nVERSION=\"22.03 (LTS-SP3)\"\n",
	}}
	f := detected(t, e)
	if p := f.Platform; p.CPUs.Or(0) != 7 || !p.RebootPending.Or(false) || p.ImageBased.Or("") != "ostree" || f.Distro.ServicePack.Or("") != "SP3" {
		t.Errorf("got %+v, %+v", p, f.Distro)
	}
	for _, bad := range []string{"", "x", "3-1", "0-x"} {
		if n, err := countOfList(bad); err == nil {
			t.Errorf("%q counts %d", bad, n)
		}
	}
	e.Files = map[string]string{"/etc/os-release": "ID=\"openEuler\"\nVERSION_ID=\"22.03\"\nVERSION=\"22.03 LTS\"\n"}
	e.Dirs = map[string][]string{"/run": {}, "/usr/sbin": {}}
	if f := detected(t, e); !f.Distro.ServicePack.IsAbsent() || !f.Platform.ImageBased.IsAbsent() || !f.Platform.RebootPending.IsUnknown() || !f.Platform.CPUs.IsUnknown() {
		t.Errorf("got %+v, %+v", f.Platform, f.Distro)
	}
}

func TestTools(t *testing.T) {
	e := asked(map[string]string{"gcc --version": "gcc (Ubuntu 9.4.0-1ubuntu1~20.04.1) 9.4.0\nCopyright\n", "which make": "/opt/bin/make\n"})
	e.Commands["dkms --version"] = host.Answer{Stderr: "bash: dkms: command not found\n", Exit: 127}
	e.Files["/usr/sbin/update-initramfs"] = "#!/bin/sh\n"
	e.Files["/etc/os-release"] = "ID=ubuntu\nVERSION_ID=\"20.04\"\n"
	e.Commands["dpkg -l"] = host.Answer{Stdout: "ii  patch  2.7.6-7  amd64  x\n"}
	f := detected(t, e)
	got := map[string]facts.Tool{}
	for _, tool := range f.Tools {
		got[tool.Name] = tool
	}
	if g := got["gcc"]; !g.Path.IsKnown() || g.Version.Or("") != "9.4.0" {
		t.Errorf("gcc %+v", g)
	}
	if g := got["make"]; g.Path.Or("") != "/opt/bin/make" {
		t.Errorf("make %+v", g)
	}
	if g := got["patch"]; !g.Path.IsKnown() {
		t.Errorf("patch %+v", g)
	}
	if g := got["dkms"]; !g.Path.IsAbsent() {
		t.Errorf("dkms %+v", g)
	}
	if g := got["zstd"]; !g.Path.IsUnknown() {
		t.Errorf("zstd %+v", g)
	}
	if f.Kernel.InitramfsTool.Or("") != "initramfs-tools" {
		t.Errorf("initramfs %+v", f.Kernel.InitramfsTool)
	}
}
