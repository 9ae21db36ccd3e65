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
		for _, kept := range []string{"BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro ", " quiet", "mirror.example.com/doca ./", "gpgkey=file:///etc/pki/x", "signed-by=/usr/share/keyrings/x.gpg", "after"} {
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
