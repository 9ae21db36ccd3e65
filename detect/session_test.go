package detect

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

const (
	ownEnviron   = "grep -az ^SSH_CONNECTION= /proc/self/environ"
	shellEnviron = "grep -az ^SSH_CONNECTION= /proc/901/environ"
	overManager  = "SSH_CONNECTION=203.0.113.7 50122 198.51.100.4 22\n"
)

// overSSH is a node with two networks, reached by ssh over that of the card, and rdmactl run by sudo.
func overSSH(change func(e *host.Evidence)) *host.Evidence {
	e := &host.Evidence{
		Files: map[string]string{
			"/proc/self/stat": "905 (rdmactl) R 903 905 901 34816\n",
			"/proc/903/stat":  "903 (sudo) S 901 903 901 34816\n",
			"/proc/901/stat":  "901 (a (b) bash) S 900 901 901 34816\n",
			"/proc/900/stat":  "900 (sshd-session) S 1 900 900 0\n",
			"/proc/1/stat":    "1 (systemd) S 0 1 1 0\n",
			"/proc/net/route": "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\neno1\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\n",
		},
		Links: map[string]string{
			"/sys/class/net/eno1/device":          "../../../0000:01:00.0",
			"/sys/class/net/eno1/device/driver":   "../../../../bus/pci/drivers/igb",
			"/sys/class/net/ens1f0/device":        "../../../0000:5e:00.0",
			"/sys/class/net/ens1f0/device/driver": "../../../../bus/pci/drivers/mlx5_core",
		},
		Dirs: map[string][]string{"/sys/class/net": {"bond0", "eno1", "ens1f0", "lo"}, "/sys/class/net/bond0": {"lower_ens1f0"}},
		Commands: map[string]host.Answer{
			ownEnviron: {}, "grep -az ^SSH_CONNECTION= /proc/903/environ": {}, shellEnviron: {Stdout: overManager},
			"grep -az ^SSH_CONNECTION= /proc/900/environ": {}, "grep -az ^SSH_CONNECTION= /proc/1/environ": {},
			"ip -br addr": {Stdout: "lo UNKNOWN 127.0.0.1/8 198.51.100.9/32 ::1/128\neno1 UP 192.0.2.4/24\nens1f0 UP 198.51.100.4/24 198.51.100.9/24 2001:db8::4/64 fe80::4/64\nbond0 UP 192.0.2.9/24\n"},
		},
		Context: &host.Context{Container: new(bool)},
	}
	if change != nil {
		change(e)
	}
	return e
}

func TestLoginSession(t *testing.T) {
	connection := func(text string) func(*host.Evidence) {
		return func(e *host.Evidence) {
			e.Commands[shellEnviron] = host.Answer{Stdout: "SSH_CONNECTION=" + text + "\n"}
		}
	}
	without := func(e *host.Evidence) { e.Commands[shellEnviron] = host.Answer{} }
	tests := []struct {
		name           string
		change         func(*host.Evidence)
		netdev, driver string // "none" is absent, empty is unknown
		why            string
	}{
		{"the card, below sudo", nil, "ens1f0", "mlx5_core", ""},
		{"its own environment first", func(e *host.Evidence) {
			e.Commands[ownEnviron] = host.Answer{Stdout: "SSH_CONNECTION=192.0.2.200 1 192.0.2.4 22\n"}
		}, "eno1", "igb", ""},
		{"the other network", connection("192.0.2.200 50122 192.0.2.4 22"), "eno1", "igb", ""},
		{"IPv6", connection("2001:db8::99 50122 2001:db8::4 22"), "ens1f0", "mlx5_core", ""},
		{"IPv4 of a socket for both", connection("::ffff:203.0.113.7 5 ::ffff:198.51.100.4 22"), "ens1f0", "mlx5_core", ""},
		{"link-local", connection("fe80::9%ens1f0 50122 fe80::4%ens1f0 22"), "ens1f0", "mlx5_core", ""},
		{"an address that loopback has too", connection("203.0.113.7 5 198.51.100.9 22"), "ens1f0", "mlx5_core", ""},
		{"through a bond", connection("192.0.2.200 5 192.0.2.9 22"), "bond0", "mlx5_core", ""},
		{"an interface that is not there", connection("fe80::9%ens9 50122 fe80::4%ens9 22"), "", "", "not listed"},
		{"an address of nobody", connection("203.0.113.7 5 203.0.113.80 22"), "", "", "no interface has the local address"},
		{"from the host itself", connection("127.0.0.1 5 127.0.0.1 22"), "", "", "comes from this host itself"},
		{"no addresses", connection("x y z"), "", "", "not two addresses"},
		{"a name for an address", connection("a 1 b 22"), "", "", "not two addresses"},
		{"sshd without a connection", without, "", "", "sshd-session is above this process"},
		{"a console", func(e *host.Evidence) {
			without(e)
			e.Files["/proc/900/stat"] = "900 (login) S 1 900 900 0\n"
		}, "none", "none", ""},
		{"a shell of tmux", func(e *host.Evidence) {
			without(e)
			e.Files["/proc/900/stat"] = "900 (tmux: server) S 1 900 900 0\n"
		}, "", "", "whoever is attached"},
		{"a container", func(e *host.Evidence) {
			without(e)
			e.Files["/proc/900/stat"] = "900 (login) S 1 900 900 0\n"
			*e.Context.Container = true
		}, "", "", "container"},
		{"entered from outside", func(e *host.Evidence) {
			without(e)
			e.Files["/proc/900/stat"] = "900 (x) S 0 900 900 0\n"
		}, "", "", "came in from outside"},
		{"a process that is gone", func(e *host.Evidence) {
			delete(e.Files, "/proc/901/stat")
			e.Commands["ls -d /proc/901/stat"] = host.Answer{Stderr: "ls: cannot access '/proc/901/stat': No such file or directory\n", Exit: 2}
		}, "", "", ""},
		{"addresses that are not told", func(e *host.Evidence) { delete(e.Commands, "ip -br addr") }, "", "", "nothing tells which interface"},
		{"nothing told of processes", func(e *host.Evidence) { delete(e.Files, "/proc/self/stat") }, "", "", ""},
		{"processes in a circle", func(e *host.Evidence) {
			without(e)
			e.Files["/proc/900/stat"] = "900 (x) S 903 900 900 0\n"
		}, "", "", "more than 64"},
		{"typed from a ticket", func(e *host.Evidence) {
			delete(e.Files, "/proc/self/stat")
			e.Commands["echo $SSH_CONNECTION"] = host.Answer{Stdout: "192.0.2.200 50122 192.0.2.4 22\n"}
		}, "eno1", "igb", ""},
		{"typed as env", func(e *host.Evidence) {
			delete(e.Files, "/proc/self/stat")
			e.Commands["env"] = host.Answer{Stdout: "HOME=/root\nSSH_CONNECTION=192.0.2.200 50122 198.51.100.4 22\n"}
		}, "ens1f0", "mlx5_core", ""},
	}
	for _, test := range tests {
		a := detected(t, overSSH(test.change)).Access
		for what, got := range map[string]struct {
			f    facts.Field[string]
			want string
		}{"netdev": {a.SessionNetdev, test.netdev}, "driver": {a.SessionDriver, test.driver}} {
			text := got.f.Or("")
			if got.f.IsAbsent() {
				text = "none"
			}
			if text != got.want || !strings.Contains(got.f.Error, test.why) {
				t.Errorf("%s: %s %+v, want %q %q", test.name, what, got.f, got.want, test.why)
			}
		}
	}
}

// A recording serves the same session under another address, and no variable but the one.
func TestLoginSessionIsRecorded(t *testing.T) {
	live := secretReader{Reader: host.NewReplay(overSSH(nil))}
	recorder := host.NewRecorder(live)
	before := Host(t.Context(), recorder).Access
	e, err := recorder.Evidence(host.RecordOptions{Container: new(bool)})
	if err != nil {
		t.Fatal(err)
	}
	after := detected(t, e).Access
	if before.SessionNetdev.Or("") != "ens1f0" || after.SessionNetdev != before.SessionNetdev || after.SessionDriver != before.SessionDriver || !slices.Equal(after.SessionHardware.Value, []string{"ens1f0"}) {
		t.Errorf("live %+v, replayed %+v", before, after)
	}
	text, err := e.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"198.51.100.", "203.0.113.", "hunter2", "API_TOKEN", "HOME=", "LS_COLORS"} {
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("the evidence has %q", secret)
		}
	}
	if !bytes.Contains(text, []byte("SSH_CONNECTION=")) {
		t.Error("the evidence has no connection: the test sees nothing")
	}
}

// secretReader has whole environments, with more in them than is anybody's business.
type secretReader struct{ host.Reader }

func (r secretReader) Derive(ctx context.Context, file string, argv []string, decode host.Decoder) (host.Result, error) {
	if !strings.HasSuffix(file, "/environ") {
		return r.Reader.Derive(ctx, file, argv, decode)
	}
	text := "HOME=/root\x00API_TOKEN=hunter2\x00LS_COLORS=x\x00https_proxy=http://proxyuser:hunter2@proxy.corp.example:3128/\x00no_proxy=.corp.example,198.51.100.0/24\x00"
	if file == "/proc/901/environ" {
		text += strings.TrimSpace(overManager) + "\x00"
	}
	out, err := decode(strings.NewReader(text), 0)
	return host.Result{Argv: argv, Stdout: out}, err
}

// Of an environment that may not be read nothing is known, and of a process that may not be seen neither.
func TestForeignEnvironment(t *testing.T) {
	e := overSSH(func(e *host.Evidence) {
		e.Commands[shellEnviron] = host.Answer{Stderr: "grep: /proc/901/environ: Permission denied\n", Exit: 2}
	})
	r := deniedReader{Reader: host.NewReplay(e), file: "/proc/901/environ"}
	if a := Host(t.Context(), r).Access; !a.SessionNetdev.IsUnknown() || !strings.Contains(a.SessionNetdev.Error, "sshd") {
		t.Errorf("got %+v", a.SessionNetdev)
	}
	// The twin: without sshd above, whose shell it was does not matter.
	files := maps.Clone(e.Files)
	files["/proc/900/stat"] = "900 (login) S 1 900 900 0\n"
	e.Files = files
	r.Reader = host.NewReplay(e)
	if a := Host(t.Context(), r).Access; !a.SessionNetdev.IsAbsent() {
		t.Errorf("got %+v", a.SessionNetdev)
	}
}

type deniedReader struct {
	host.Reader
	file string
}

func (r deniedReader) Derive(ctx context.Context, file string, argv []string, decode host.Decoder) (host.Result, error) {
	if file == r.file {
		return host.Result{}, &fs.PathError{Op: "open", Path: file, Err: fs.ErrPermission}
	}
	return r.Reader.Derive(ctx, file, argv, decode)
}

func FuzzParseStat(f *testing.F) {
	for _, text := range []string{"905 (rdmactl) R 903 905", "1 (systemd) S 0", "7 (a) b) S 3", ") (", "", "x (y) S 1", "1 (y) S -1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseStat(text)
		if err == nil && p.parent < 0 {
			t.Errorf("parent %d", p.parent)
		}
	})
}

func TestThisProcessIsRead(t *testing.T) {
	t.Parallel()
	r := host.NewLive()
	p := probe{ctx: t.Context(), r: r, told: r.Told()}
	stat := parsed(p.attr("/proc/self/stat"), parseStat)
	if got, ok := stat.Get(); !ok || got.pid < 1 || got.name == "" {
		t.Errorf("got %+v", stat)
	}
	// The whole environment of this process is some kilobytes: the reader has no size to go by.
	n := 0
	_, err := r.Derive(t.Context(), "/proc/self/environ", []string{"env"}, func(f io.ReaderAt, _ int64) (string, error) {
		data, err := io.ReadAll(io.NewSectionReader(f, 0, maxEnviron))
		n = len(data)
		return "", err
	})
	if err != nil || n == 0 {
		t.Errorf("read %d bytes, %v", n, err)
	}
}
