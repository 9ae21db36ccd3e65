package detect

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

const proxyEnviron = "grep -aiz _proxy= /proc/self/environ"

// proxyHost is a host whose configuration is told whole.
func proxyHost(id string, files map[string]string, environ string) *host.Evidence {
	e := &host.Evidence{
		Files: map[string]string{"/etc/os-release": "ID=" + id + "\n"},
		Dirs: map[string][]string{
			"/": {"etc", "proc"}, "/etc": {"os-release"}, "/etc/apt": {}, "/etc/apt/apt.conf.d": {}, "/etc/yum.repos.d": {}, "/etc/zypp": {}, "/etc/zypp/repos.d": {}, "/etc/sysconfig": {}, "/etc/dnf": {},
		},
		Commands: map[string]host.Answer{proxyEnviron: {Stdout: environ}},
	}
	for file, text := range files {
		e.Files[file] = text
		dir, name := file[:strings.LastIndexByte(file, '/')], file[strings.LastIndexByte(file, '/')+1:]
		e.Dirs[dir] = append(e.Dirs[dir], name)
	}
	return e
}

// settings are proxies in a line each.
func settings(f facts.Field[[]facts.Proxy]) []string {
	if f.IsAbsent() {
		return []string{"none"}
	}
	var out []string
	for _, p := range f.Or(nil) {
		line := fmt.Sprintf("%s %s", p.For, p.Scheme)
		if limit := p.Host + p.Repository; limit != "" {
			line += " [" + limit + "]"
		}
		if p.Direct {
			line += " direct"
		}
		for _, part := range []string{p.URL, p.Program, strings.Join(p.Except, ",")} {
			if part != "" {
				line += " " + part
			}
		}
		out = append(out, line+" ("+p.Source+")")
	}
	return out
}

func TestProxies(t *testing.T) {
	const conf, part = "/etc/apt/apt.conf", "/etc/apt/apt.conf.d/"
	tests := []struct {
		name    string
		id      string
		files   map[string]string
		environ string
		want    []string
	}{
		{"none", "debian", nil, "", []string{"none"}},
		{"one line", "debian", map[string]string{part + "80proxy": `Acquire::http::Proxy "http://proxy.example:3128/";` + "\n"}, "", []string{"apt http http://proxy.example:3128 (" + part + "80proxy)"}},
		{"a password", "debian", map[string]string{part + "80proxy": `Acquire::https::proxy "http://me:p@ss:w/rd@proxy.example:3128";` + "\n"}, "", []string{"apt https http://proxy.example:3128 (" + part + "80proxy)"}},
		{"nested, with comments", "debian", map[string]string{conf: "// Acquire::ftp::Proxy \"http://no\";\n/* Acquire { */\nAcquire {\n  # old\n  http { Proxy \"http://a:1\"; Proxy::mirror.example \"DIRECT\"; };\n  HTTPS::Proxy \"false\"; Retries \"3\";\n}\n"}, "", []string{
			"apt http http://a:1 (" + conf + ")", "apt http [mirror.example] direct (" + conf + ")", "apt https direct (" + conf + ")",
		}},
		{"a later file wins", "debian", map[string]string{part + "10a": `Acquire::http::Proxy "http://a:1";`, part + "20b.conf": `Acquire::http::Proxy "http://b:1";`}, "", []string{"apt http http://b:1 (" + part + "20b.conf)"}},
		{"apt.conf is the last", "debian", map[string]string{conf: `Acquire::http::Proxy "http://main:1";`, part + "99z": `Acquire::http::Proxy "http://b:1";`}, "", []string{"apt http http://main:1 (" + conf + ")"}},
		{"lifted", "debian", map[string]string{part + "10a": `Acquire::http::Proxy "http://a:1";`, part + "20b": `Acquire::http::Proxy "";`}, "", []string{"none"}},
		{"cleared", "debian", map[string]string{part + "10a": `Acquire::http::Proxy "http://a:1"; Acquire::https::Proxy "http://a:2";`, part + "20b": "#clear Acquire::http;\n"}, "", []string{"apt https http://a:2 (" + part + "10a)"}},
		{"names that apt does not read", "debian", map[string]string{part + "a.conf.bak": `Acquire::http::Proxy "http://a:1";`, part + "b~": `Acquire::http::Proxy "http://a:1";`, part + "c.dpkg-old": `Acquire::http::Proxy "http://a:1";`}, "", []string{"none"}},
		{"a program", "ubuntu", map[string]string{part + "auto": `Acquire::http::Proxy-Auto-Detect "/usr/bin/auto-apt-proxy";`}, "", []string{"apt http /usr/bin/auto-apt-proxy (" + part + "auto)"}},
		{"something else of apt", "debian", map[string]string{part + "x": `Acquire::http::Timeout "3"; APT::Proxy "http://a:1"; Acquire::http "x"`}, "", []string{"none"}},
		{"files of dnf on Debian", "debian", map[string]string{"/etc/dnf/dnf.conf": "[main]\nproxy=http://a:1\n"}, "", []string{"none"}},
		{"dnf", "rocky", map[string]string{
			"/etc/dnf/dnf.conf":           "[main]\nproxy=http://proxy.example:8080\nproxy_username=me\nproxy_password=hunter2\n",
			"/etc/yum.repos.d/lab.repo":   "[lab]\nproxy=_none_\n[off]\nenabled=0\nproxy=http://off:1\n[cloud]\nproxy=socks5h://me:pw@s.example:1080\n[plain]\nbaseurl=http://x\n",
			"/etc/apt/apt.conf.d/80proxy": `Acquire::http::Proxy "http://a:1";`,
		}, "", []string{
			"dnf all http://proxy.example:8080 (/etc/dnf/dnf.conf)", "dnf all [lab] direct (/etc/yum.repos.d/lab.repo)", "dnf all [cloud] socks5h://s.example:1080 (/etc/yum.repos.d/lab.repo)",
		}},
		{"yum", "centos", map[string]string{"/etc/yum.conf": "[main]\nproxy = http://proxy.example:8080/\n"}, "", []string{"yum all http://proxy.example:8080 (/etc/yum.conf)"}},
		{"SUSE", "sles", map[string]string{"/etc/sysconfig/proxy": "PROXY_ENABLED=\"yes\"\nHTTP_PROXY=\"http://me:pw@p.example:3128\"\n# HTTPS_PROXY=\"http://no\"\nHTTPS_PROXY=\"\"\nNO_PROXY=\"localhost, .corp.example\"\n"}, "", []string{
			"zypper http http://p.example:3128 (/etc/sysconfig/proxy)", "zypper all localhost,.corp.example (/etc/sysconfig/proxy)",
		}},
		{"SUSE, switched off", "sles", map[string]string{"/etc/sysconfig/proxy": "PROXY_ENABLED=\"no\"\nHTTP_PROXY=\"http://p.example:3128\"\n"}, "", []string{"none"}},
		{"environment", "debian", nil, "http_proxy=http://proxyuser:hunter2@p.example:3128\nHTTP_PROXY=http://p.example:3128\nno_proxy=localhost,10.0.0.0/8\nmy_proxy=x\nHTTPS_PROXY=\n", []string{
			"environment http http://p.example:3128 (http_proxy of /proc/self/environ)", "environment all localhost,10.0.0.0/8 (no_proxy of /proc/self/environ)",
		}},
	}
	for _, test := range tests {
		f := detected(t, proxyHost(test.id, test.files, test.environ)).Packages.Proxies
		if diff := cmp.Diff(test.want, settings(f)); diff != "" {
			t.Errorf("%s (%s): %s", test.name, f.State, diff)
		}
	}
}

// Silence is not the absence of a proxy, and neither is a file that may not be read.
func TestProxiesNotTold(t *testing.T) {
	silent := proxyHost("debian", nil, "")
	delete(silent.Commands, proxyEnviron)
	if f := detected(t, silent).Packages.Proxies; !f.IsUnknown() || f.Error != "" {
		t.Errorf("without the environment: %+v", f)
	}
	const file = "/etc/apt/apt.conf.d/80proxy"
	closed := proxyHost("debian", map[string]string{file: ""}, "")
	delete(closed.Files, file)
	closed.Commands["cat "+file] = host.Answer{Stderr: "cat: " + file + ": Permission denied\n", Exit: 1}
	p := detected(t, closed).Packages
	if !p.Proxies.IsUnknown() || p.Proxies.Error == "" || p.Unread[file] == "" {
		t.Errorf("a closed file: %+v, %v", p.Proxies, p.Unread)
	}
	typed := proxyHost("debian", nil, "")
	delete(typed.Commands, proxyEnviron)
	typed.Commands["env"] = host.Answer{Stdout: "HOME=/root\nhttps_proxy=http://p.example:1\n"}
	if f := detected(t, typed).Packages.Proxies; len(f.Value) != 1 || f.Value[0].URL != "http://p.example:1" {
		t.Errorf("typed as env: %+v", f)
	}
}

// The password of a proxy is in no fact, in no answer and in no evidence; the answer of the evidence is that of
// the host.
func TestProxyCredentialsAreNowhere(t *testing.T) {
	files := map[string]string{
		"/etc/apt/apt.conf.d/80proxy": "Acquire::http::Proxy \"http://proxyuser:hunter2@proxy.corp.example:3128/\";\n",
		"/etc/sysconfig/proxy":        "HTTP_PROXY=\"http://proxyuser:hunter2@proxy.corp.example:3128\"\nNO_PROXY=\"node7,.corp.example\"\n",
		"/etc/dnf/dnf.conf":           "[main]\nproxy=http://proxyuser:hunter2@proxy.corp.example:3128\nproxy_password=hunter2\n",
	}
	for _, id := range []string{"debian", "rocky", "sles"} {
		e := proxyHost(id, files, "")
		live := secretReader{Reader: host.NewReplay(e)}
		recorder := host.NewRecorder(live)
		f := Host(t.Context(), recorder)
		saved, err := recorder.Evidence(host.RecordOptions{})
		if err != nil {
			t.Fatal(err)
		}
		kept, err := recorder.Evidence(host.RecordOptions{NoRedact: true})
		if err != nil {
			t.Fatal(err)
		}
		again := detected(t, saved)
		var table bytes.Buffer
		if err := Render(&table, f, false); err != nil {
			t.Fatal(err)
		}
		text, err := saved.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		plain, err := kept.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string]string{"facts": strings.Join(lines(t, f), "\n"), "table": table.String(), "evidence": string(text), "evidence with names": string(plain)} {
			if strings.Contains(text, "hunter2") || strings.Contains(text, "proxyuser") {
				t.Errorf("%s: the %s have the password", id, what)
			}
		}
		if bytes.Contains(text, []byte("corp.example")) || bytes.Contains(text, []byte("node7")) || !bytes.Contains(plain, []byte("corp.example")) {
			t.Errorf("%s: names of hosts are wrong in the evidence:\n%s", id, text)
		}
		// The same settings, with other names.
		if got, want := len(again.Packages.Proxies.Value), len(f.Packages.Proxies.Value); got != want || want < 3 {
			t.Errorf("%s: %d settings, replayed %d", id, want, got)
		}
		if first := f.Packages.Proxies.Value[0].URL; first != "http://proxy.corp.example:3128" || !strings.HasPrefix(again.Packages.Proxies.Value[0].URL, "http://site") || !strings.HasSuffix(again.Packages.Proxies.Value[0].URL, ".example:3128") {
			t.Errorf("%s: %q, replayed %q", id, first, again.Packages.Proxies.Value[0].URL)
		}
	}
}

func FuzzProxies(f *testing.F) {
	for _, text := range []string{`Acquire { http { Proxy "http://a:b@c:1"; }; }`, "#clear Acquire::http;", "/* x", "\"", "}}{{;;", "Acquire::http::Proxy::h \"DIRECT\";", "HTTP_PROXY='x@y'"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set := map[string]facts.Proxy{}
		for _, s := range parseAptConf(text) {
			applyAptProxy(set, s, "f")
		}
		for _, p := range append(parseSysconfigProxy(text, "f"), rpmProxy("dnf", "", text, "f")) {
			set[p.URL] = p
		}
		for _, p := range set {
			if strings.Contains(p.URL, "@") {
				t.Errorf("%q has user information", p.URL)
			}
		}
		if address := proxyAddress(text); strings.ContainsAny(address, "@ \n") {
			t.Errorf("%q", address)
		}
	})
}
