package detect

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

func TestVersionDefinitions(t *testing.T) {
	data, err := os.ReadFile("testdata/private-abi-99.so")
	if err != nil {
		t.Fatal(err)
	}
	const name = "/usr/lib64/libibverbs.so.1"
	text, err := versionDefinitions(name)(bytes.NewReader(data), int64(len(data)))
	want := "\n" + name + ":     file format elf64-x86-64\n\nVersion definitions:\n1 0x01 0x01bc4061 libibverbs.so.1\n2 0x00 0x06365ab0 IBVERBS_1.0\n3 0x02 0x06365ab1 IBVERBS_1.1\n4 0x00 0x090b6e49 IBVERBS_PRIVATE_99\n"
	if diff := cmp.Diff(want, text); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if abi := privateABI(text, "s"); abi.Or(0) != 99 {
		t.Errorf("private ABI %+v", abi)
	}
	// Without the private tag it is an old library; without any, something else.
	if abi := privateABI(strings.ReplaceAll(text, "IBVERBS_PRIVATE_99", "IBVERBS_1.2"), "s"); !abi.IsAbsent() {
		t.Errorf("private ABI %+v", abi)
	}
	if abi := privateABI("Version definitions:\n1 0x01 0x0 libfoo.so\n", "s"); !abi.IsUnknown() {
		t.Errorf("private ABI %+v", abi)
	}
	for _, broken := range [][]byte{nil, []byte("text"), data[:64], data[:len(data)/2]} {
		if text, err := versionDefinitions(name)(bytes.NewReader(broken), int64(len(broken))); err == nil && strings.Contains(text, "PRIVATE") {
			t.Errorf("a cut file of %d bytes gave %q", len(broken), text)
		}
	}
}

// A 32-bit copy is not what a 64-bit program loads.
func TestForeignLibrary(t *testing.T) {
	e := &host.Evidence{
		Dirs: map[string][]string{"/usr/lib": {"libibverbs.so.1"}},
		Commands: map[string]host.Answer{"objdump -p /usr/lib/libibverbs.so.1": {
			Stdout: "/usr/lib/libibverbs.so.1:     file format elf32-i386\nVersion definitions:\n1 0x0 0x0 IBVERBS_PRIVATE_34\n",
		}},
	}
	if f := detected(t, e).Userspace.Libibverbs; f.IsKnown() {
		t.Errorf("got %+v", f)
	}
	e.Commands["objdump -p /usr/lib/libibverbs.so.1"] = host.Answer{Stdout: "file format elf64-x86-64\n1 0x0 0x0 IBVERBS_PRIVATE_34\n"}
	if f := detected(t, e).Userspace.Libibverbs; !f.IsKnown() {
		t.Errorf("got %+v", f)
	}
}

func TestPrivateABI(t *testing.T) {
	e := &host.Evidence{Commands: map[string]host.Answer{"objdump -p /opt/l.so": {Stdout: "1 0x0 0x0 IBVERBS_PRIVATE_64\n"}}}
	if n, err := PrivateABI(t.Context(), host.NewReplay(e), "/opt/l.so"); err != nil || n != 64 {
		t.Errorf("got %d, %v", n, err)
	}
	if _, err := PrivateABI(t.Context(), host.NewReplay(e), "/opt/other.so"); !errors.Is(err, host.ErrUnknown) {
		t.Errorf("got %v", err)
	}
}

func TestSecureBoot(t *testing.T) {
	yes, no := true, false
	tests := []struct {
		name string
		e    host.Evidence
		want string
	}{
		{"on", host.Evidence{Commands: map[string]host.Answer{"mokutil --sb-state": {Stdout: "SecureBoot enabled\n"}}}, "true"},
		{"setup mode", host.Evidence{Commands: map[string]host.Answer{"mokutil --sb-state": {Stdout: "SecureBoot enabled\nPlatform is in Setup Mode\n"}}}, "false"},
		{"no EFI by mokutil", host.Evidence{Commands: map[string]host.Answer{"mokutil --sb-state": {Stderr: "EFI variables are not supported on this system\n", Exit: 255}}}, "false"},
		{"other words", host.Evidence{Commands: map[string]host.Answer{"mokutil --sb-state": {Stderr: "Failed to read\n", Exit: 255}}}, "unknown"},
		{"BIOS", host.Evidence{Dirs: map[string][]string{"/sys/firmware": {"dmi"}}, Context: &host.Context{Container: &no}}, "false"},
		{"hidden by a container", host.Evidence{Dirs: map[string][]string{"/sys/firmware": {}}, Context: &host.Context{Container: &yes}}, "unknown"},
		{"EFI without the variable", host.Evidence{Dirs: map[string][]string{"/sys/firmware/efi": {"efivars"}, "/sys/firmware/efi/efivars": {"Boot0000-x"}}}, "false"},
		{"efivarfs not mounted", host.Evidence{Dirs: map[string][]string{"/sys/firmware/efi": {"efivars"}, "/sys/firmware/efi/efivars": {}}}, "unknown"},
		{"nothing told", host.Evidence{}, "unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := detected(t, &tt.e).SecureBoot.Enabled
			got := "unknown"
			if v, ok := f.Get(); ok {
				got = map[bool]string{true: "true", false: "false"}[v]
			}
			if got != tt.want {
				t.Errorf("got %+v, want %s", f, tt.want)
			}
		})
	}
	for in, want := range map[string]string{"\x06\x00\x00\x00\x01": "SecureBoot enabled\n", "\x06\x00\x00\x00\x00": "SecureBoot disabled\n", "\x06\x00": ""} {
		if got, err := decodeSecureBoot(strings.NewReader(in), 5); got != want || (err == nil) != (want != "") {
			t.Errorf("decoded %q to %q, %v", in, got, err)
		}
	}
}

func TestContainer(t *testing.T) {
	yes, no := true, false
	tests := []struct {
		name    string
		e       host.Evidence
		want    string
		runtime string
	}{
		{"docker's file", host.Evidence{Files: map[string]string{"/.dockerenv": ""}}, "true", "docker"},
		{"podman's file", host.Evidence{Files: map[string]string{"/run/.containerenv": "engine=\"podman\"\n"}}, "true", "podman"},
		{"cgroup v1 of docker", host.Evidence{Files: map[string]string{"/proc/1/cgroup": "4:memory:/docker/12ab\n"}}, "true", "docker"},
		{"the controller's name is no path", host.Evidence{Files: map[string]string{"/proc/1/cgroup": "4:name=docker:/\n"}}, "unknown", ""},
		{"systemd on a host", host.Evidence{Files: map[string]string{"/proc/1/cgroup": "0::/init.scope\n"}}, "false", ""},
		{"context alone", host.Evidence{Context: &host.Context{Container: &yes, ContainerRuntime: "sarus"}}, "true", "sarus"},
		{"context outdoes files", host.Evidence{Context: &host.Context{Container: &no}, Files: map[string]string{"/.dockerenv": ""}}, "false", ""},
		{"nothing told", host.Evidence{}, "unknown", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := detected(t, &tt.e).Platform
			got := "unknown"
			if v, ok := p.Container.Get(); ok {
				got = map[bool]string{true: "true", false: "false"}[v]
			}
			if got != tt.want || p.ContainerRuntime.Or("") != tt.runtime {
				t.Errorf("got %+v, %+v", p.Container, p.ContainerRuntime)
			}
		})
	}
}

func TestServices(t *testing.T) {
	key := "systemctl show -p Id,LoadState,ActiveState,UnitFileState,LimitMEMLOCK " + strings.Join(unitNames(), " ")
	e := &host.Evidence{Commands: map[string]host.Answer{key: {Stdout: "LimitMEMLOCK=8388608\nId=slurmd.service\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\n\n" +
		"Id=rdma-hw.target\nLoadState=loaded\nActiveState=inactive\nUnitFileState=static\n\nId=openibd.service\nLoadState=not-found\nActiveState=inactive\nUnitFileState=\nLimitMEMLOCK=8388608\n"}}}
	const s = "systemctl show"
	want := []facts.Service{
		{Name: "slurmd.service", Load: facts.Is("loaded", s), Active: facts.Is("active", s), Enabled: facts.Is("enabled", s), Memlock: facts.Is("8388608", s)},
		{Name: "rdma-hw.target", Load: facts.Is("loaded", s), Active: facts.Is("inactive", s), Enabled: facts.Is("static", s), Memlock: facts.None[string](s)},
		{Name: "openibd.service", Load: facts.Is("not-found", s), Active: facts.Is("inactive", s), Enabled: facts.None[string](s), Memlock: facts.Is("8388608", s)},
	}
	if diff := cmp.Diff(want, detected(t, e).Services); diff != "" {
		t.Error(diff)
	}
	e.Commands = map[string]host.Answer{key: {Stderr: "System has not been booted with systemd as init system (PID 1). Can't operate.\n", Exit: 1}, "pgrep opensm": {Exit: 1}}
	if got := detected(t, e).Services; len(got) != 1 || got[0].Name != "opensm.service" || got[0].Active.Or("") != "inactive" {
		t.Errorf("got %+v", got)
	}
}

func TestRoutes(t *testing.T) {
	const head = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
	for text, want := range map[string]string{
		head + "eth0\t00000000\t0100A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\nib0\t00000000\t0100A8C0\t0003\t0\t0\t50\t00000000\t0\t0\t0\n": "ib0",
		head + "eth0\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n":                                                               "",
		head + "*\t00000000\t00000000\t0200\t0\t0\t0\t00000000\t0\t0\t0\n":                                                                  "",
		"": "",
	} {
		if got := parseRoutes(text); got != want {
			t.Errorf("default route of %q is %q, want %q", text, got, want)
		}
	}
	zero := strings.Repeat("0", 32)
	six := zero + " 00 " + zero + " 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth1\n" + zero + " 00 " + zero + " 00 " + zero + " ffffffff 00000001 00000000 00200200       lo\n"
	if got := parseRoutes6(six); got != "eth1" {
		t.Errorf("IPv6 default route is %q", got)
	}
	if got := parseIPRoute("10.0.0.0/8 dev eth0\ndefault via 192.0.2.1 dev bond0 proto static\ndefault via 192.0.2.2 dev eth1 metric 200\n"); got != "bond0" {
		t.Errorf("default route is %q", got)
	}
}

// The administrator's route may be a VLAN on a bond of cards.
func TestDriverBelowBond(t *testing.T) {
	e := &host.Evidence{
		Files: map[string]string{"/proc/net/route": "h\nbond0.5\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"},
		Links: map[string]string{"/sys/class/net/ens1/device/driver": "../../bus/pci/drivers/mlx5_core", "/sys/class/net/ens2/device/driver": "../../bus/pci/drivers/ice"},
		Dirs: map[string][]string{
			"/sys/class/net/bond0.5": {"lower_bond0", "mtu"}, "/sys/class/net/bond0": {"lower_ens1", "lower_ens2"},
			"/sys/class/net/ens1": {"device"}, "/sys/class/net/ens2": {"device"}, "/sys/class/net": {"bond0", "bond0.5", "ens1", "ens2"},
		},
	}
	if a := detected(t, e).Access; a.DefaultRouteNetdev.Or("") != "bond0.5" || a.DefaultRouteDriver.Or("") != "ice,mlx5_core" {
		t.Errorf("got %+v", a)
	}
	e.Dirs["/sys/class/net/bond0"] = []string{"mtu"}
	if a := detected(t, e).Access; a.DefaultRouteDriver.IsKnown() {
		t.Errorf("got %+v", a)
	}
}

func TestDf(t *testing.T) {
	e := &host.Evidence{Commands: map[string]host.Answer{"df -P -B 1 / /var /usr /opt /boot /tmp": {
		Stdout: "Filesystem 1-blocks Used Available Capacity Mounted on\n/dev/vda1 100 40 60 40% /\n/dev/vda1 100 40 60 40% /\nmy disk 100 40 55 40% /usr\n/dev/vda1 100 40 60 40% /\ntmpfs 10 0 10 0% /tmp\n",
		Stderr: "df: /boot: No such file or directory\n", Exit: 1,
	}}}
	var got []string
	for _, fs := range detected(t, e).Storage {
		got = append(got, fs.Path+" on "+fs.MountPoint, string(fs.FreeBytes.State), bytesText(strconv.FormatInt(fs.FreeBytes.Value, 10)))
	}
	want := []string{
		"/ on /", "known", "60 bytes", "/var on /", "known", "60 bytes", "/usr on /usr", "known", "55 bytes", "/opt on /", "known", "60 bytes",
		"/boot on ", "absent", "0 bytes", "/tmp on /tmp", "known", "10 bytes",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	older := &host.Evidence{Commands: map[string]host.Answer{"df -P -B 1 /var /srv": {Stdout: "Filesystem\n/dev/vda1 100 40 60 40% /\n/dev/vdb 9 2 7 2% /srv\n"}}}
	if fs := detected(t, older).Storage; len(fs) != 2 || fs[1].Path != "/srv" || fs[1].FreeBytes.Or(0) != 7 {
		t.Errorf("of other directories: %+v", fs)
	}
	if _, err := parseDf("Filesystem\n/dev/vda1 words\n"); err == nil {
		t.Error("a broken line was read")
	}
}

func TestLimits(t *testing.T) {
	soft, hard, err := parseLimits("Limit  Soft  Hard  Units\nMax locked memory         8388608              unlimited            bytes     \n")
	if soft != "8388608" || hard != "unlimited" || err != nil {
		t.Errorf("got %q, %q, %v", soft, hard, err)
	}
	for _, text := range []string{"", "Max locked memory lots many bytes\n", "Max locked memory\n"} {
		if soft, hard, err := parseLimits(text); err == nil {
			t.Errorf("%q gave %q, %q", text, soft, hard)
		}
	}
	e := &host.Evidence{Commands: map[string]host.Answer{"ulimit -l": {Stdout: "unlimited\n"}, "ulimit -Hl": {Stdout: "none\n"}}}
	if m := detected(t, e).Memlock; m.Soft.Or("") != "unlimited" || !m.Hard.IsUnknown() {
		t.Errorf("got %+v", m)
	}
}

func TestBlacklistAndBoot(t *testing.T) {
	e := &host.Evidence{
		Files: map[string]string{
			"/etc/modprobe.d/b.conf":         "blacklist mlx5-ib\nblacklist pcspkr\ninstall ib_core /bin/false\n",
			"/etc/modules-load.d/a.conf":     "# c\nrdma_ucm\n; x\nnvme-rdma\n",
			"/etc/rdma/modules/a.conf":       "ib_umad\n",
			"/usr/lib/modules-load.d/a.conf": "siw\n",
			"/proc/cmdline":                  "module_blacklist=ib_ipoib quiet\n",
		},
	}
	m := detected(t, e).Modules
	if diff := cmp.Diff(map[string]string{"mlx5_ib": "/etc/modprobe.d/b.conf:1", "ib_core": "/etc/modprobe.d/b.conf:3 (install /bin/false)", "ib_ipoib": "kernel command line (module_blacklist)"}, m.Blacklisted.Value); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"rdma_ucm": "/etc/modules-load.d/a.conf", "nvme_rdma": "/etc/modules-load.d/a.conf", "ib_umad": "/etc/rdma/modules/a.conf"}, m.LoadAtBoot.Value); diff != "" {
		t.Error(diff)
	}
	if m := detected(t, &host.Evidence{}).Modules; !m.Blacklisted.IsUnknown() || !m.LoadAtBoot.IsUnknown() {
		t.Errorf("got %+v", m)
	}
}

func TestManagedFiles(t *testing.T) {
	e := &host.Evidence{
		Files: map[string]string{
			"/etc/modprobe.d/rdmactl.conf": "options x y=1\n", "/etc/systemd/system/rdmactl-rxe.service": "[Unit]\n", "/etc/systemd/system/slurmd.service.d/50-rdmactl.conf": "[Service]\n",
			"/etc/modprobe.d/other.conf": "",
		},
		Dirs: map[string][]string{
			"/etc/modprobe.d": {"other.conf", "rdmactl.conf"}, "/etc/systemd/system": {"rdmactl-rxe.service", "slurmd.service.d", "sshd.service"},
			"/etc/systemd/system/slurmd.service.d": {"50-rdmactl.conf"}, "/etc": {"modprobe.d", "systemd"},
		},
	}
	got := detected(t, e).Managed
	if len(got.Value) != 3 || got.Value["/etc/systemd/system/slurmd.service.d/50-rdmactl.conf"] == "" || got.Value["/etc/modprobe.d/rdmactl.conf"] != "671ee37fa82f200ae1569f25aec5c73d13d0d6e3baaea60e1b2b73080d8acc57" {
		t.Errorf("got %+v", got)
	}
	before := got.Value["/etc/modprobe.d/rdmactl.conf"]
	e.Files["/etc/modprobe.d/rdmactl.conf"] = "options x y=2\n"
	if after := detected(t, e).Managed.Value["/etc/modprobe.d/rdmactl.conf"]; after == before || after == "" {
		t.Errorf("an edited file has the sum %q as before", after)
	}
	delete(e.Files, "/etc/modprobe.d/rdmactl.conf")
	e.Commands = map[string]host.Answer{"cat /etc/modprobe.d/rdmactl.conf": {Stderr: "cat: /etc/modprobe.d/rdmactl.conf: Permission denied\n", Exit: 1}}
	if got := detected(t, e).Managed; !got.IsUnknown() || got.Error == "" {
		t.Errorf("an unreadable file gave %+v", got)
	}
}

func TestNetdevTexts(t *testing.T) {
	got := parseIPAddr("1: lo: <LOOPBACK,UP> mtu 65536 qdisc noqueue state UNKNOWN\n    link/loopback 00:00:00:00:00:00 brd x\n    inet 127.0.0.1/8 scope host lo\n"+
		"5: ib0.8001@ib0: <BROADCAST> mtu 2044 qdisc mq state DOWN\n    link/infiniband 00:00:10:87 brd x\n", "s")
	want := []facts.Netdev{
		{Name: "lo", MTU: facts.Is(65536, "s"), OperState: facts.Is("unknown", "s"), Type: facts.Is(772, "s"), Addresses: facts.Is([]string{"127.0.0.1/8"}, "s")},
		{Name: "ib0.8001", MTU: facts.Is(2044, "s"), OperState: facts.Is("down", "s"), Type: facts.Is(32, "s"), MAC: facts.Is("00:00:10:87", "s"), Addresses: facts.None[[]string]("s")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := parseIPBrief("garbage\n", "s"); got != nil {
		t.Errorf("got %+v", got)
	}
}
