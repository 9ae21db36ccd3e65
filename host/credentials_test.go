package host_test

import (
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/host"
)

func TestCleanCommandLine(t *testing.T) {
	for in, want := range map[string]string{
		"netroot=iscsi:u:NETPW@10.0.0.1::3260:1:iqn.x": "netroot=REDACTED@10.0.0.1::3260:1:iqn.x",
		"netroot=iscsi:u:NE/TPW@10.0.0.1::3260":        "netroot=REDACTED@10.0.0.1::3260",
		"proxy=me:PW@proxy:3128":                       "proxy=REDACTED@proxy:3128",
		"root=//u:PW@srv/x ro":                         "root=//REDACTED@srv/x ro",
		"ks=http://u:P/W@srv/x":                        "ks=http://REDACTED@srv/x",
		"inst.vncpassword=VNC1,2":                      "inst.vncpassword=REDACTED",
		"sshpw=SSHPW quiet":                            "sshpw=REDACTED quiet",
		"cifspass=CIF1":                                "cifspass=REDACTED",
		"auth=AUTHX":                                   "auth=REDACTED",
		"bearer=BEAR":                                  "bearer=REDACTED",
		"ks=https://h/k?sig=SIGX&v=1":                  "ks=https://h/k?sig=REDACTED&v=1",
		"ks=https://h/k?a=1&X-Amz-Signature=AMZ ro":    "ks=https://h/k?a=1&X-Amz-Signature=REDACTED ro",
		"X-Amz-Signature=AMZ":                          "X-Amz-Signature=REDACTED",
		"rd.znet_pw=A1":                                "rd.znet_pw=REDACTED",
		"wifi.psk=PSKK":                                "wifi.psk=REDACTED",
		"cifsopts=user=bob,pass=PW2,vers=3.0":          "cifsopts=user=bob,pass=REDACTED,vers=3.0",
		"user=bob,pass=PW2":                            "user=bob,pass=REDACTED",
		"root=//srv/x,username=u3,password=PW3":        "root=//srv/x,username=u3,password=REDACTED",
		"hashed=$6$salt$HASHH ro":                      "hashed=REDACTED ro",
		`luks.passphrase="two WORDSPW" ro`:             `luks.passphrase=REDACTED ro`,
		`"luks.passphrase=two WORDSPW" ro`:             `"luks.passphrase=REDACTED" ro`,
		`luks.passphrase="not closed`:                  `luks.passphrase=REDACTED`,
		"passwd/root-password=PRESEED":                 "passwd/root-password=REDACTED",
		"passwd/root-password-crypted=PRESEED":         "passwd/root-password-crypted=REDACTED",
		"systemd.set_credential=x:CRED":                "systemd.set_credential=REDACTED",
		"rd.iscsi.in.password=X1 key=K2 API_TOKEN=T3":  "rd.iscsi.in.password=REDACTED key=REDACTED API_TOKEN=REDACTED",
		"accessKey=K1 wepkey2=K3":                      "accessKey=REDACTED wepkey2=REDACTED",
		// Harmless.
		"password= module.sig_enforce=1":            "",
		`password="" quiet`:                         "",
		"BOOT_IMAGE=(hd0,gpt2)/vmlinuz-6.1.0 quiet": "",
		"keymap=de vconsole.keymap=us rd.vconsole.keymap=de keyboard=pc keyboardtype=pc KEYTABLE=us keytable=us": "",
		"mitigations=auto author=joe authselect=x authors=y":                                                     "",
		"iommu.passthrough=1 bypass=1 nompass=":                                                                  "",
		"ib_core.pkey=0x8001 pkey=0xffff":                                                                        "",
		"auth=none sig=11 rd.auth=no":                                                                            "",
		"crashkernel=512M-2G:64M,2G-:128M@16M memmap=4G!4G":                                                      "",
		"root=zfs:pool@snap root=UUID=0a1b-2c":                                                                   "",
		"console=ttyS0,115200n8 ip=10.0.0.1::10.0.0.2:255.255.255.0:host:eth0:none":                              "",
		"token-timeout=10 pwm=3 powersave=1 sign=2":                                                              "",
		"inst.ks=http://host:8080/a@b systemd.wants=a@b.service":                                                 "",
		"inst.repo=https://h/r  two":                                                                             "",
	} {
		if want == "" {
			want = in
		}
		got := host.CleanCredentials("/proc/cmdline", in)
		if got != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", in, got, want)
		}
		if again := host.CleanCredentials("/proc/cmdline", got); again != got {
			t.Errorf("%s\nbecomes the second time %s", got, again)
		}
		// The kernel's log quotes its command line, and nothing more is left there.
		const before = "[    0.000000] Command line: "
		if got := host.CleanCredentials("dmesg", before+in); got != before+want {
			t.Errorf("in dmesg: %s\nwant      %s", got, before+want)
		}
	}
}

func TestCleanTexts(t *testing.T) {
	for _, tt := range []struct{ source, in, want string }{
		{"/etc/yum.conf", "password = a,b;c d\nproxy_password=x,y\r\nkeepcache=1\n", "password = REDACTED\nproxy_password=REDACTED\r\nkeepcache=1\n"},
		{"/etc/yum.repos.d/x.repo", "gpgkey=file:///k\nsslclientkey=/etc/k.pem\ngpgcheck=1\n", ""},
		{"/etc/yum.repos.d/x.repo", "baseurl=https://h/x?sig=ABCD&a=1\n", "baseurl=https://h/x?sig=REDACTED&a=1\n"},
		{"/etc/apt/apt.conf", "Acquire::http::Proxy \"me:PW@proxy:3128\";\n", "Acquire::http::Proxy \"REDACTED@proxy:3128\";\n"},
		{"/etc/x", "{\"secret\": \"a\\\"b\", \"n\": 1}\n", "{\"secret\": REDACTED, \"n\": 1}\n"},
		{"/etc/x", "opt token=\"not closed x\n", "opt token=REDACTED\n"},
		{"/etc/apt/sources.list", "deb [signed-by=/k.gpg] https://h/d ./\n", ""},
		{"dpkg -l", "ii  libsecret-1-0:amd64 0.20 amd64\nii ssh-askpass:arm64 1\n", ""},
		{"rpm -q --requires x", "libsecret = 0.20\nlibsecret-devel = 1\n", ""},
		{"modinfo x", "sig_id: PKCS#7\nsig_key: 01:02\nsig_hashalgo: sha256\nsignature: AA\nparm: key:Key (int)\n", ""},
		{"/boot/config-6", "CONFIG_MODULE_SIG_KEY=\"certs/x.pem\"\nCONFIG_KEYS=y\nCONFIG_MODULE_SIG=y\n", ""},
		{"ip -d link", "ib0.8001: pkey 0x8001 pkey=0x8001 key 5\n", ""},
		{"dmesg", "audit: type=1701 uid=0 sig=11 res=1\nit's key=(null) on\n", ""},
		{"ps", "x --password 'a b' --token \"c d\" y\n", "x --password REDACTED --token REDACTED y\n"},
	} {
		want := tt.want
		if want == "" {
			want = tt.in
		}
		got := host.CleanCredentials(tt.source, tt.in)
		if got != want {
			t.Errorf("%s: %q\nbecomes %q\nwant    %q", tt.source, tt.in, got, want)
		}
		if again := host.CleanCredentials(tt.source, got); again != got {
			t.Errorf("%s: %q\nbecomes the second time %q", tt.source, got, again)
		}
	}
}

// TestSavedAndShownAreTheSame holds what a recording keeps of a command line against what is shown.
func TestSavedAndShownAreTheSame(t *testing.T) {
	const line = `ro user=bob,pass=PW2 luks.passphrase="two WORDSPW" wifi.psk=PSKK netroot=iscsi:u:NETPW@10.0.0.1 quiet` + "\n"
	e := redacted(t, true, map[string]string{"/proc/cmdline": line}, nil)
	if got, want := e.Files["/proc/cmdline"], host.CleanCredentials("/proc/cmdline", line); got != want || strings.Contains(got, "PW") {
		t.Errorf("saved %q, shown %q", got, want)
	}
}
