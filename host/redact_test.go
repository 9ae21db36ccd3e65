package host_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
)

func redacted(t *testing.T, keep bool, files, commands map[string]string) *host.Evidence {
	t.Helper()
	e := &host.Evidence{APIVersion: host.EvidenceAPIVersion, Kind: host.EvidenceKind, Files: files, Commands: map[string]host.Answer{}}
	for k, v := range commands {
		e.Commands[k] = host.Answer{Stdout: v}
	}
	must(t, host.Redact(e, keep))
	return e
}

func TestRedactKeepsRelations(t *testing.T) {
	e := redacted(t, false, map[string]string{
		"/etc/hostname":                                       "node17.cluster.example.org\n",
		"/sys/class/infiniband/mlx5_0/node_desc":              "node17 mlx5_0\n",
		"/sys/class/infiniband/mlx5_0/node_guid":              "b859:9f03:00a1:b2c3\n",
		"/sys/class/infiniband/mlx5_0/ports/1/gids/0":         "fe80:0000:0000:0000:ba59:9fff:fea1:b2c3\n",
		"/sys/class/infiniband/mlx5_0/ports/1/gids/1":         "0000:0000:0000:0000:0000:ffff:0a01:0211\n",
		"/sys/class/infiniband/mlx5_0/ports/1/gids/2":         "0000:0000:0000:0000:0000:0000:0000:0000\n",
		"/sys/class/net/eth0/address":                         "b8:59:9f:a1:b2:c3\n",
		"/sys/class/net/ib0/address":                          "00:00:10:29:fe:80:00:00:00:00:00:00:b8:59:9f:03:00:a1:b2:c3\n",
		"/sys/class/net/eth0/broadcast":                       "ff:ff:ff:ff:ff:ff\n",
		"/sys/class/dmi/id/product_serial":                    "SGH123WXYZ\n",
		"/sys/bus/pci/devices/0000:06:00.0/uevent":            "PCI_SLOT_NAME=0000:06:00.0\nMODALIAS=pci:v000015B3d00001017sv000015B3sd00000023bc02sc00i00\n",
		"/sys/class/infiniband/mlx5_0/device/infiniband_none": "x",
	}, map[string]string{
		"ip addr":   "2: eth0: <UP> mtu 1500\n    link/ether b8:59:9f:a1:b2:c3 brd ff:ff:ff:ff:ff:ff\n    inet 10.1.2.17/24 brd 10.1.2.255 scope global eth0\n    inet6 fe80::ba59:9fff:fea1:b2c3/64 scope link\n    inet 127.0.0.1/8 scope host lo\n    inet6 2a00:1450::17/64 scope global\n",
		"ibstat":    "\tNode GUID: 0xb8599f0300a1b2c3\n",
		"lspci -vv": "06:00.0 Ethernet controller\n\tCapabilities: [48] Vital Product Data\n\t\t[SN] Serial number: MT2045X12345\n\tDevice Serial Number b8-59-9f-03-00-a1-b2-c3\n",
		"rpm -qa":   "kmod-4.1.7.10-1\nmlnx-ofa_kernel-5.4-OFED.5.4.3.1.0.1.x86_64\nlibfoo-1.2.3.4\n",
		"uname -a":  "Linux node17 5.4.17-2136.314.6.3.el7uek.x86_64 #2 SMP x86_64 GNU/Linux\n",
		"dmesg":     "Linux version 4.4.0.1\nmlx5_core 0000:06:00.0: firmware version: 16.35.2000\nIPv4: host 10.1.2.18 bad netmask 255.255.255.0\n[ffffffffc0a81234] x\n",
		"modinfo x": "sig_key:        B8:59:9F:A1:B2:C3:00:11\nversion:        1.2.3.4\n",
		"ls -l /x":  "total 0\nlrwxrwxrwx 1 root root 0 Jan  1 10:00 enxb8599fa1b2c3 -> ../x\n",
	})
	get := func(key string) string {
		if text, ok := e.Files[key]; ok {
			return strings.TrimSpace(text)
		}
		return e.Commands[key].Stdout
	}
	for key, want := range map[string]string{
		"/etc/hostname":                               "host1",
		"/sys/class/infiniband/mlx5_0/node_desc":      "host2 mlx5_0",
		"/sys/class/infiniband/mlx5_0/node_guid":      "b859:9f03:0000:0001",
		"/sys/class/infiniband/mlx5_0/ports/1/gids/0": "fe80:0000:0000:0000:ba59:9fff:fe00:0001",
		"/sys/class/infiniband/mlx5_0/ports/1/gids/1": "0000:0000:0000:0000:0000:ffff:c612:0011",
		"/sys/class/infiniband/mlx5_0/ports/1/gids/2": "0000:0000:0000:0000:0000:0000:0000:0000",
		"/sys/class/net/eth0/address":                 "b8:59:9f:00:00:01",
		"/sys/class/net/ib0/address":                  "00:00:10:29:fe:80:00:00:00:00:00:00:b8:59:9f:03:00:00:00:01",
		"/sys/class/net/eth0/broadcast":               "ff:ff:ff:ff:ff:ff",
		"/sys/class/dmi/id/product_serial":            "XXXXXX0001",
		"/sys/bus/pci/devices/0000:06:00.0/uevent":    "PCI_SLOT_NAME=0000:06:00.0\nMODALIAS=pci:v000015B3d00001017sv000015B3sd00000023bc02sc00i00",
		"ip addr":   "2: eth0: <UP> mtu 1500\n    link/ether b8:59:9f:00:00:01 brd ff:ff:ff:ff:ff:ff\n    inet 198.18.0.17/24 brd 198.18.0.255 scope global eth0\n    inet6 fe80::ba59:9fff:fe00:1/64 scope link\n    inet 127.0.0.1/8 scope host lo\n    inet6 2001:db8:0:1::17/64 scope global\n",
		"ibstat":    "\tNode GUID: 0xb8599f0300000001\n",
		"lspci -vv": "06:00.0 Ethernet controller\n\tCapabilities: [48] Vital Product Data\n\t\t[SN] Serial number: XXXXXXXX0002\n\tDevice Serial Number b8-59-9f-03-00-00-00-01\n",
		"rpm -qa":   "kmod-4.1.7.10-1\nmlnx-ofa_kernel-5.4-OFED.5.4.3.1.0.1.x86_64\nlibfoo-1.2.3.4\n",
		"uname -a":  "Linux host2 5.4.17-2136.314.6.3.el7uek.x86_64 #2 SMP x86_64 GNU/Linux\n",
		"dmesg":     "Linux version 4.4.0.1\nmlx5_core 0000:06:00.0: firmware version: 16.35.2000\nIPv4: host 198.18.0.18 bad netmask 255.255.255.0\n[ffffffffc0a81234] x\n",
		"modinfo x": "sig_key:        B8:59:9F:A1:B2:C3:00:11\nversion:        1.2.3.4\n",
		"ls -l /x":  "total 0\nlrwxrwxrwx 1 root root 0 Jan  1 10:00 enxb8599f000001 -> ../x\n",
	} {
		if diff := cmp.Diff(want, get(key)); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
}

// TestCredentialsAreNeverRecorded holds with and without --no-redact.
func TestCredentialsAreNeverRecorded(t *testing.T) {
	const secret = "hunter2secret"
	for _, keep := range []bool{false, true} {
		e := redacted(t, keep, map[string]string{
			"/etc/apt/sources.list.d/doca.list": "deb https://user:" + secret + "@mirror.example.com/doca ./\ndeb [signed-by=/usr/share/keyrings/x.gpg] https://" + secret + "@mirror.example.com x\n",
			"/etc/apt/auth.conf.d/x.conf":       "machine mirror.example.com login me password " + secret + "\n",
			"/etc/apt/apt.conf.d/proxy":         "Acquire::http::Proxy \"http://me:" + secret + "@proxy:3128\";\n",
			"/etc/yum.conf":                     "[main]\nproxy_password=" + secret + "\nproxy_username = me\n",
			"/etc/yum.repos.d/x.repo":           "baseurl=https://me:" + secret + "@mirror.example.com/\npassword = " + secret + "\ngpgkey=file:///etc/pki/x\n",
			"/proc/cmdline":                     "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro password=" + secret + " inst.token=" + secret + " secret=" + secret + " key=" + secret + " luks.key=" + secret + " quiet\n",
			"/etc/pem":                          "-----BEGIN RSA PRIVATE KEY-----\n" + secret + "\n" + secret + "\n-----END RSA PRIVATE KEY-----\nafter\n",
		}, map[string]string{
			"dmesg":                               "Command line: ro token=" + secret + " quiet\n",
			"apt-config dump":                     "Acquire::https::Proxy \"https://me:" + secret + "@proxy\";\n",
			"cat /x":                              "Authorization: Bearer " + secret + "\n{\"api_key\": \"" + secret + "\", \"n\": 1}\n",
			"curl https://a:" + secret + "@b.c/d": "ok\n",
		})
		data, err := e.Marshal()
		must(t, err)
		if strings.Contains(string(data), secret) {
			t.Errorf("keep %v: a credential is recorded:\n%s", keep, data)
		}
		for _, kept := range []string{"BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro ", " quiet", "/doca ./", "gpgkey=file:///etc/pki/x", "signed-by=/usr/share/keyrings/x.gpg", "after"} {
			if !strings.Contains(string(data), kept) {
				t.Errorf("keep %v: %q is lost:\n%s", keep, kept, data)
			}
		}
	}
}

func TestNoRedactKeepsIdentity(t *testing.T) {
	const text = "link/ether b8:59:9f:a1:b2:c3 inet 10.1.2.17/24\n"
	e := redacted(t, true, nil, map[string]string{"ip addr": text})
	if got := e.Commands["ip addr"].Stdout; got != text {
		t.Errorf("got %q", got)
	}
}

func TestRedactUsers(t *testing.T) {
	e := redacted(t, false, map[string]string{"/etc/passwd": "root:x:0:0::/root:/bin/sh\ndaemon:x:1:1::/:/bin/false\nalice:x:1000:1000::/home/alice:/bin/sh\n"}, map[string]string{
		"id":          "uid=1000(alice) gid=1000(alice) groups=1000(alice),27(sudo)\n",
		"findmnt":     "/home/alice nfs 10.0.0.1:/export\n",
		"application": "cannot open /home/alice/x\n",
	})
	data, err := e.Marshal()
	must(t, err)
	if strings.Contains(string(data), "alice") || !strings.Contains(string(data), "27(sudo)") || !strings.Contains(string(data), "daemon:x:1:1") || !strings.Contains(string(data), "uid=1000(user1)") {
		t.Errorf("got\n%s", data)
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("ip addr", "inet6 fe80::1 b8:59:9f:a1:b2:c3:\n0xb8599f0300a1b2c3\n")
	f.Add("/proc/cmdline", "password=\"a b\" key='x\n")
	f.Add("dmesg", "-----BEGIN PRIVATE KEY-----\nx\ny")
	f.Fuzz(func(t *testing.T, source, text string) {
		once := func(text string) string {
			e := &host.Evidence{Commands: map[string]host.Answer{source: {Stdout: text}}}
			if err := host.Redact(e, false); err != nil {
				t.Fatal(err)
			}
			for _, a := range e.Commands {
				return a.Stdout
			}
			return ""
		}
		first := once(text)
		if strings.Count(first, "\n") != strings.Count(text, "\n") {
			t.Errorf("the number of lines changed: %q became %q", text, first)
		}
		if second := once(first); strings.Count(second, "\n") != strings.Count(text, "\n") {
			t.Errorf("a second time changes the lines: %q became %q", first, second)
		}
	})
}

func TestRedactAddressesOfEveryForm(t *testing.T) {
	e := redacted(t, false, map[string]string{
		"/proc/cmdline": "ro ip=10.20.30.40::10.20.30.1:255.255.255.0:nodex:eth0:none BOOTIF=01-de-ad-be-ef-12-34 mac=dead.beef.1234 root=UUID=0a1b-2c " +
			"ifname=eth0:de:ad:be:ef:12:34 nfsroot=nas7:/x inst.ks=http://ks.corp.example/k user=bob,vers=3\n",
		"/proc/net/route": "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n" +
			"eth0\t00000000\t011E140A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n" +
			"eth0\t001E140A\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n",
		"/proc/net/ipv6_route": "00000000000000000000000000000000 00 00000000000000000000000000000000 00 2a001450000000000000000000000001 00000400 00000001 00000000 00000003     eth0\n",
		"/proc/net/if_inet6":   "2a001450000000000000000000000017 02 40 00 80     eth0\nfe80000000000000dcadbefffeef1234 02 40 20 80     eth0\n",
		"/proc/net/tcp":        "  sl  local_address rem_address   st\n   0: 281E140A:0016 011E140A:C350 01 00000000:00000000 00:00000000 00000000\n",
		"/proc/net/tcp6":       "   0: 5014002A000000000000000017000000:0016 00000000000000000000000000000000:0000 0A\n",
		"/proc/net/fib_trie":   "  |-- 10.20.30.40\n",
	}, map[string]string{
		"ip addr": "    inet 10.20.30.40/24 scope host\n    inet6 2a00:1450::17/64\n    link/ether de:ad:be:ef:12:34\n    ::ffff:10.20.30.40 \n",
	})
	for key, want := range map[string]string{
		"/proc/cmdline": "ro ip=198.18.0.40::198.18.0.1:255.255.255.0:host1:eth0:none BOOTIF=01-de-ad-be-00-00-01 mac=dead.be00.0001 root=UUID=0a1b-2c " +
			"ifname=eth0:de:ad:be:00:00:01 nfsroot=site2.example:/x inst.ks=http://site1.example/k user=user1,vers=3\n",
		"/proc/net/route": "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n" +
			"eth0\t00000000\t010012C6\t0003\t0\t0\t100\t00000000\t0\t0\t0\n" +
			"eth0\t000012C6\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n",
		"/proc/net/ipv6_route": "00000000000000000000000000000000 00 00000000000000000000000000000000 00 20010db8000000010000000000000001 00000400 00000001 00000000 00000003     eth0\n",
		"/proc/net/if_inet6":   "20010db8000000010000000000000017 02 40 00 80     eth0\nfe80000000000000dcadbefffe000001 02 40 20 80     eth0\n",
		"/proc/net/tcp":        "  sl  local_address rem_address   st\n   0: 280012C6:0016 010012C6:C350 01 00000000:00000000 00:00000000 00000000\n",
		"/proc/net/fib_trie":   "  |-- 198.18.0.40\n",
	} {
		if diff := cmp.Diff(want, e.Files[key]); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	want := "    inet 198.18.0.40/24 scope host\n    inet6 2001:db8:0:1::17/64\n    link/ether de:ad:be:00:00:01\n    ::ffff:198.18.0.40 \n"
	if diff := cmp.Diff(want, e.Commands["ip addr"].Stdout); diff != "" {
		t.Errorf("ip addr: %s", diff)
	}
	if got := e.Files["/proc/net/tcp6"]; strings.Contains(got, "5014002A") || !strings.Contains(got, "B80D0120") {
		t.Errorf("tcp6: %s", got)
	}
}

func TestRedactRepositories(t *testing.T) {
	files := map[string]string{
		"/etc/apt/sources.list": "deb http://ftp.debian.org/debian bookworm main # ask joe\ndeb https://mirror.corp.example/debian bookworm main\n" +
			"deb http://packages:8080/x ./\n",
		"/etc/apt/sources.list.d/mirror.corp.example.sources": "# of joe\nTypes: deb\nURIs: https://mirror.corp.example/doca https://linux.mellanox.com/public/repo\nSuites: ./\n",
		"/etc/yum.repos.d/x.repo":                             "; joe\n[x]\nbaseurl=https://notlinux.mellanox.com.corp.example/\n",
	}
	e := redacted(t, false, files, map[string]string{"apt-cache policy": " 500 https://mirror.corp.example/debian bookworm/main\n     origin mirror.corp.example\n"})
	for key, want := range map[string]string{
		"/etc/apt/sources.list":                         "deb http://ftp.debian.org/debian bookworm main #\ndeb https://site1.example/debian bookworm main\ndeb http://site2.example:8080/x ./\n",
		"/etc/apt/sources.list.d/site1.example.sources": "#\nTypes: deb\nURIs: https://site1.example/doca https://linux.mellanox.com/public/repo\nSuites: ./\n",
		"/etc/yum.repos.d/x.repo":                       ";\n[x]\nbaseurl=https://site3.example/\n",
	} {
		if diff := cmp.Diff(want, e.Files[key]); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	if got := e.Commands["apt-cache policy"].Stdout; got != " 500 https://site1.example/debian bookworm/main\n     origin site1.example\n" {
		t.Errorf("apt-cache policy: %q", got)
	}
	first := e.Files["/etc/apt/sources.list"]
	must(t, host.Redact(e, false))
	if diff := cmp.Diff(first, e.Files["/etc/apt/sources.list"]); diff != "" {
		t.Errorf("redacted a second time: %s", diff)
	}
}

func TestRedactComments(t *testing.T) {
	files := map[string]string{
		"/etc/modprobe.d/x.conf":       "# user joe\n  # joe \\\n joe's\noptions mlx4_core x=1 # kept: kmod has no such comment\n\r\n",
		"/etc/modprobe.d/rdmactl.conf": "# Written by rdmactl.\n",
		"/etc/security/limits.conf":    "* soft memlock unlimited # joe\n",
		"/boot/config-6.1":             "# CONFIG_RDMA_RXE is not set\n",
	}
	want := map[string]string{
		"/etc/modprobe.d/x.conf":       "#\n# \\\n joe's\noptions mlx4_core x=1 # kept: kmod has no such comment\n\r\n",
		"/etc/modprobe.d/rdmactl.conf": "# Written by rdmactl.\n",
		"/etc/security/limits.conf":    "* soft memlock unlimited #\n",
		"/boot/config-6.1":             "# CONFIG_RDMA_RXE is not set\n",
	}
	if diff := cmp.Diff(want, redacted(t, false, files, nil).Files); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(files, redacted(t, true, files, nil).Files); diff != "" {
		t.Errorf("without redaction: %s", diff)
	}
}
