package detect

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

const (
	distroLib = "/usr/lib/x86_64-linux-gnu/libibverbs.so.1"
	builtLib  = "/opt/rdma-core/65.0/lib/libibverbs.so.1"
)

// built65 is a Debian host with its own libibverbs and 65.0 built beside it, whose directory the loader knows.
func built65(change func(e *host.Evidence)) *host.Evidence {
	objdump := func(abi string) host.Answer {
		return host.Answer{Stdout: "file format elf64-x86-64\n1 0x0 0x0 IBVERBS_1.0\n2 0x0 0x0 IBVERBS_PRIVATE_" + abi + "\n"}
	}
	e := &host.Evidence{
		Files: map[string]string{
			"/etc/ld.so.conf":                    "include /etc/ld.so.conf.d/*.conf\n",
			"/etc/ld.so.conf.d/00-rdmactl.conf":  "/opt/rdma-core/65.0/lib\n",
			"/etc/ld.so.conf.d/x86_64-linux.con": "no\n",
		},
		Links: map[string]string{builtLib: "libibverbs.so.1.15.65.0"},
		Dirs: map[string][]string{
			"/opt/rdma-core": {"65.0"}, "/opt/rdma-core/65.0": {"bin", "etc", "lib", "libexec"},
			"/opt/rdma-core/65.0/lib":            {"libibverbs", "libibverbs.so.1", "libibverbs.so.1.15.65.0"},
			"/opt/rdma-core/65.0/lib/libibverbs": {"libmlx5-rdmav64.so", "librxe-rdmav64.so"},
			"/etc/ld.so.conf.d":                  {"00-rdmactl.conf"},
			"/usr/lib/x86_64-linux-gnu":          {"libibverbs", "libibverbs.so.1"},
			"/usr/lib/x86_64-linux-gnu/libibverbs": {
				"libmlx5-rdmav34.so",
			},
		},
		Commands: map[string]host.Answer{
			"uname -m": {Stdout: "x86_64\n"}, "objdump -p " + builtLib: objdump("64"), "objdump -p " + distroLib: objdump("34"),
			"stat -L -c %f %u %g %U %G %s %t %T %.9Y " + builtLib: {Stdout: "81a4 0 0 root root 130000 0 0 1764482400.000000000\n"},
			"ldconfig -p": {Stdout: "2 libs found in cache `/etc/ld.so.cache'\n\tlibibverbs.so.1 (libc6,x86-64) => " + builtLib + "\n\tlibibverbs.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libibverbs.so.1\n"},
		},
	}
	if change != nil {
		change(e)
	}
	return e
}

// builtLines are the copies in a line each.
func builtLines(f facts.Field[[]facts.BuiltLibrary]) []string {
	if f.IsAbsent() {
		return []string{"none"}
	}
	var out []string
	for _, l := range f.Or(nil) {
		names := []string{}
		for _, p := range l.Providers.Or(nil) {
			names = append(names, fmt.Sprint(p.Name, p.PrivateABI))
		}
		active := "unknown"
		if v, ok := l.Active.Get(); ok {
			active = fmt.Sprint(v)
		}
		out = append(out, fmt.Sprintf("%s %s abi %d %v active %s", l.Path, l.Version.Or("?"), l.PrivateABI.Or(0), names, active))
	}
	return out
}

func TestBuiltLibraries(t *testing.T) {
	const one = builtLib + " 65.0 abi 64 [mlx564 rxe64] active "
	noCache := func(e *host.Evidence) { delete(e.Commands, "ldconfig -p") }
	tests := []struct {
		name   string
		change func(*host.Evidence)
		want   []string
	}{
		{"active", nil, []string{one + "true"}},
		{"active by ld.so.conf alone", noCache, []string{one + "true"}},
		{"not in ld.so.conf", func(e *host.Evidence) {
			e.Dirs["/etc/ld.so.conf.d"] = []string{}
			delete(e.Files, "/etc/ld.so.conf.d/00-rdmactl.conf")
			noCache(e)
		}, []string{one + "false"}},
		{"behind the distribution's", func(e *host.Evidence) {
			e.Files["/etc/ld.so.conf.d/00-rdmactl.conf"] = "/usr/lib/x86_64-linux-gnu\n/opt/rdma-core/65.0/lib\n"
			noCache(e)
		}, []string{one + "false"}},
		{"ldconfig was not run", func(e *host.Evidence) {
			e.Commands["ldconfig -p"] = host.Answer{Stdout: "\tlibibverbs.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libibverbs.so.1\n"}
		}, []string{one + "false"}},
		{"a 32-bit copy is first", func(e *host.Evidence) {
			e.Commands["ldconfig -p"] = host.Answer{Stdout: "\tlibibverbs.so.1 (libc6) => /usr/lib/i386-linux-gnu/libibverbs.so.1\n\tlibibverbs.so.1 (libc6,x86-64) => " + builtLib + "\n"}
		}, []string{one + "true"}},
		{"nothing told of the loader", func(e *host.Evidence) {
			e.Files = map[string]string{}
			delete(e.Dirs, "/etc/ld.so.conf.d")
			noCache(e)
		}, []string{one + "unknown"}},
		{"by a link to the version in use", func(e *host.Evidence) {
			e.Dirs["/opt/rdma-core"] = []string{"65.0", "current"}
			e.Links["/opt/rdma-core/current"] = "65.0"
			e.Files["/etc/ld.so.conf.d/00-rdmactl.conf"] = "/opt/rdma-core/current/lib\n"
			e.Commands["ldconfig -p"] = host.Answer{Stdout: "\tlibibverbs.so.1 (libc6,x86-64) => /opt/rdma-core/current/lib/libibverbs.so.1\n"}
		}, []string{one + "true"}},
		{"another version in the directory", func(e *host.Evidence) { e.Links[builtLib] = "libibverbs.so.1.14.56.1" }, []string{
			builtLib + " 56.1 abi 64 [mlx564 rxe64] active true",
		}},
		{"by the name of the directory", func(e *host.Evidence) {
			delete(e.Links, builtLib)
		}, []string{one + "true"}},
		{"Debian's directory", func(e *host.Evidence) {
			const moved = "/opt/rdma-core/65.0/lib/x86_64-linux-gnu"
			e.Dirs["/opt/rdma-core/65.0/lib"] = []string{"x86_64-linux-gnu"}
			e.Dirs[moved], e.Dirs[moved+"/libibverbs"] = e.Dirs["/opt/rdma-core/65.0/lib/libibverbs"], []string{"libmlx5-rdmav64.so"}
			e.Dirs[moved] = []string{"libibverbs", "libibverbs.so.1"}
			e.Commands["objdump -p "+moved+"/libibverbs.so.1"] = e.Commands["objdump -p "+builtLib]
			delete(e.Commands, "stat -L -c %f %u %g %U %G %s %t %T %.9Y "+builtLib)
			delete(e.Links, builtLib)
			noCache(e)
		}, []string{"/opt/rdma-core/65.0/lib/x86_64-linux-gnu/libibverbs.so.1 65.0 abi 64 [mlx564] active false"}},
		{"an empty directory", func(e *host.Evidence) {
			e.Dirs["/opt/rdma-core"] = []string{}
			noCache(e)
		}, []string{"none"}},
		{"a build without a library", func(e *host.Evidence) {
			e.Dirs["/opt/rdma-core/65.0"] = []string{"bin"}
			e.Files["/etc/ld.so.conf.d/00-rdmactl.conf"] = ""
			noCache(e)
		}, []string{"none"}},
		{"a file beside them", func(e *host.Evidence) {
			e.Dirs["/opt/rdma-core"] = []string{"65.0", "README"}
			e.Files["/opt/rdma-core/README"] = "x\n"
		}, []string{one + "true"}},
	}
	for _, test := range tests {
		f := detected(t, built65(test.change)).Userspace.Built
		if diff := cmp.Diff(test.want, builtLines(f)); diff != "" {
			t.Errorf("%s (%s, %s): %s", test.name, f.State, f.Error, diff)
		}
	}
	if f := detected(t, &host.Evidence{}).Userspace.Built; !f.IsUnknown() {
		t.Errorf("nothing is told and got %+v", f)
	}
	var table bytes.Buffer
	if err := Render(&table, detected(t, built65(nil)), false); err != nil {
		t.Fatal(err)
	}
	if want := "Built libraries     " + builtLib + ", rdma-core 65.0, private ABI 64, what\n"; !strings.Contains(table.String(), want) {
		t.Errorf("the table is\n%s", table.String())
	}
}

// A program that the loader starts gets the copy that is called active, and the other where it is not: both are
// asked, with real libraries, in a directory of their own.
func TestActiveIsWhatTheLoaderTakes(t *testing.T) {
	if _, err := exec.LookPath("ldconfig"); err != nil {
		t.Skip("ldconfig is not there to compare with")
	}
	library := firstLibrary(t)
	for _, order := range []struct {
		conf   string
		active bool
	}{{"/opt/rdma-core/65.0/lib\n/usr/lib/first\n", true}, {"/usr/lib/first\n/opt/rdma-core/65.0/lib\n", false}, {"/usr/lib/first\n", false}} {
		root := t.TempDir()
		for dir, abi := range map[string]string{"/opt/rdma-core/65.0/lib": "64", "/usr/lib/first": "34"} {
			if err := os.MkdirAll(filepath.Join(root, dir, "libibverbs"), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(root, dir, "libibverbs.so.1"), library)
			write(t, filepath.Join(root, dir, "libibverbs", "libmlx5-rdmav"+abi+".so"), nil)
		}
		if err := os.MkdirAll(filepath.Join(root, "etc"), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, "etc/ld.so.conf"), []byte(order.conf))
		r, err := host.NewRooted(root)
		if err != nil {
			t.Fatal(err)
		}
		got := Host(t.Context(), r).Userspace.Built.Or(nil)
		if len(got) != 1 || !got[0].Active.IsKnown() || got[0].Active.Value != order.active {
			t.Errorf("%q: %+v", order.conf, got)
			continue
		}
		out, err := exec.Command("ldconfig", "-N", "-X", "-v", "-r", root).CombinedOutput()
		if err != nil && len(out) == 0 {
			t.Skipf("ldconfig: %v", err)
		}
		first := ""
		for line := range strings.Lines(string(out)) {
			if dir, ok := strings.CutSuffix(strings.SplitN(strings.TrimSpace(line), " ", 2)[0], ":"); ok && strings.HasPrefix(dir, "/") {
				if (dir == "/opt/rdma-core/65.0/lib" || dir == "/usr/lib/first") && first == "" {
					first = dir
				}
			}
		}
		if want := map[bool]string{true: "/opt/rdma-core/65.0/lib", false: "/usr/lib/first"}[order.active]; first != want {
			t.Errorf("%q: ldconfig takes %q first, want %q\n%s", order.conf, first, want, out)
		}
	}
}

// firstLibrary is a shared library of this machine.
func firstLibrary(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/private-abi-99.so")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
