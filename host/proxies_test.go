package host_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Settings of proxies need no scheme before a host, and the two ends of an ssh connection are addresses.
func TestRedactEnvironment(t *testing.T) {
	const environ, ssh = "grep -aiz _proxy= /proc/self/environ", "grep -az ^SSH_CONNECTION= /proc/12/environ"
	e := redacted(t, false, map[string]string{
		"/etc/sysconfig/proxy": "PROXY_ENABLED=\"yes\"\nHTTP_PROXY=\"http://cache.corp.example:3128\"\nNO_PROXY=\"localhost, node7, .corp.example, 10.1.2.9, 10.1.2.0/24\"\n",
		"/etc/dnf/dnf.conf":    "[main]\ngpgcheck=1\nproxy=cache.corp.example:3128\n",
	}, map[string]string{
		environ:                "https_proxy=cache.corp.example:3128\nall_proxy=socks5h://cache:1080\nno_proxy=localhost,*.corp.example,10.1.2.0/24,debian.org\n",
		ssh:                    "SSH_CONNECTION=10.1.2.9 50122 10.1.2.17 22\n",
		"echo $SSH_CONNECTION": "2a00:1450::9 50122 fe80::ba59:9fff:fea1:b2c3%eth0 22\n",
		"ip -br addr":          "eth0 UP 10.1.2.17/24 fe80::ba59:9fff:fea1:b2c3/64\n",
		"printenv":             "HOME=/home/alice\nhttp_proxy=http://me:hunter2@cache.corp.example:3128\n",
	})
	want := map[string]string{
		environ:                "https_proxy=site1.example:3128\nall_proxy=socks5h://site4.example:1080\nno_proxy=localhost,*.site3.example,198.18.0.0/24,debian.org\n",
		ssh:                    "SSH_CONNECTION=198.18.0.9 50122 198.18.0.17 22\n",
		"echo $SSH_CONNECTION": "2001:db8:0:1::9 50122 fe80::ba59:9fff:fe00:1%eth0 22\n",
		"ip -br addr":          "eth0 UP 198.18.0.17/24 fe80::ba59:9fff:fe00:1/64\n",
	}
	for key, text := range want {
		if diff := cmp.Diff(text, e.Commands[key].Stdout); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	all := e.Files["/etc/sysconfig/proxy"] + e.Files["/etc/dnf/dnf.conf"] + e.Commands["printenv"].Stdout
	for _, secret := range []string{"corp", "node7", "10.1.2.", "hunter2", "alice"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q is in\n%s", secret, all)
		}
	}
	for _, kept := range []string{"PROXY_ENABLED=\"yes\"", "gpgcheck=1", "localhost"} {
		if !strings.Contains(all, kept) {
			t.Errorf("%q is gone from\n%s", kept, all)
		}
	}
}
