package sidebyside

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/internal/fault"
)

func buildOf(version string, abi int, providers ...int) Copy {
	prefix := "/opt/rdma-core/" + version
	c := Copy{
		Stack: "rdma-core", Version: version, Prefix: prefix, Library: prefix + "/lib/libibverbs.so.1", Format: "elf64-x86-64",
		DriverDir: prefix + "/etc/libibverbs.d", ProviderDir: prefix + "/lib/libibverbs", Drivers: []string{"mlx5"}, Programs: []string{prefix + "/bin"},
	}
	var list []facts.Provider
	for _, n := range append([]int{abi}, providers...) {
		list = append(list, facts.Provider{Name: "mlx5", Path: prefix + "/lib/libibverbs/libmlx5-rdmav.so", PrivateABI: n})
	}
	c.Facts = facts.BuiltLibrary{Prefix: prefix, Path: c.Library, Version: facts.Is(version, prefix), PrivateABI: facts.Is(abi, "objdump"), Providers: facts.Is(list, prefix)}
	return c
}

// host is a host with the distribution's library and two builds; isDefault is which of them programs get.
func hostWith(isDefault string) Copies {
	inbox := Copy{Stack: "inbox", Library: "/usr/lib64/libibverbs.so.1", Format: "elf64-x86-64"}
	inbox.Facts.PrivateABI = facts.Is(34, "objdump")
	inbox.Facts.Providers = facts.Is([]facts.Provider{{Name: "mlx5", PrivateABI: 34}}, "/usr/lib64/libibverbs")
	all := Copies{Inbox: &inbox, Builds: []Copy{buildOf("56.1", 34), buildOf("64.0", 64)}, Default: isDefault, Told: true}
	for _, b := range all.Builds {
		all.Userspace.Built = facts.Is(append(all.Userspace.Built.Value, b.Facts), "/opt/rdma-core")
	}
	return all
}

const inboxLibrary = "/usr/lib64/libibverbs.so.1"

func plainly(env []string) []string {
	out := slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, "RDMACTL_") })
	slices.Sort(out)
	return out
}

func TestEnterAndBack(t *testing.T) {
	const p56, p64 = "/opt/rdma-core/56.1", "/opt/rdma-core/64.0"
	tests := []struct {
		name, stack, isDefault string
		env, want              []string
		opts                   Options
	}{
		{"empty", "rdma-core@56.1", inboxLibrary, nil, []string{"LD_LIBRARY_PATH=" + p56 + "/lib", "PATH=" + p56 + "/bin"}, Options{}},
		{
			"own directories stay behind", "rdma-core@56.1", inboxLibrary,
			[]string{"LD_LIBRARY_PATH=/mine::/x", "PATH=/usr/bin"},
			[]string{"LD_LIBRARY_PATH=" + p56 + "/lib:/mine::/x", "PATH=" + p56 + "/bin:/usr/bin"},
			Options{},
		},
		{
			"an empty variable adds no working directory", "rdma-core@56.1", inboxLibrary,
			[]string{"LD_LIBRARY_PATH=", "PATH=/usr/bin"},
			[]string{"LD_LIBRARY_PATH=" + p56 + "/lib", "PATH=" + p56 + "/bin:/usr/bin"},
			Options{},
		},
		{
			"another build goes", "rdma-core@56.1", inboxLibrary,
			[]string{"LD_LIBRARY_PATH=" + p64 + "/lib/;/mine", "PATH=" + p64 + "/bin:/usr/bin", "LD_PRELOAD=" + p64 + "/lib/libx.so /mine/y.so"},
			[]string{"LD_LIBRARY_PATH=" + p56 + "/lib:/mine", "LD_PRELOAD=/mine/y.so", "PATH=" + p56 + "/bin:/usr/bin"},
			Options{},
		},
		{
			"drivers of another stack go", "rdma-core@64.0", inboxLibrary,
			[]string{"IBV_DRIVERS=hns", "RDMAV_DRIVERS=", "MLX5_SINGLE_THREADED=1"},
			[]string{"LD_LIBRARY_PATH=" + p64 + "/lib", "MLX5_SINGLE_THREADED=1", "PATH=" + p64 + "/bin"},
			Options{},
		},
		{
			"or stay when asked to", "rdma-core@64.0", inboxLibrary,
			[]string{"IBV_DRIVERS=hns"},
			[]string{"IBV_DRIVERS=hns", "LD_LIBRARY_PATH=" + p64 + "/lib", "PATH=" + p64 + "/bin"},
			Options{KeepDrivers: true},
		},
		{
			"a preloaded library of the stack goes", "rdma-core@56.1", inboxLibrary,
			[]string{"LD_PRELOAD=/usr/lib64/libibverbs.so.1:" + p56 + "/lib/librdmacm.so.1"},
			[]string{"LD_LIBRARY_PATH=" + p56 + "/lib", "LD_PRELOAD=" + p56 + "/lib/librdmacm.so.1", "PATH=" + p56 + "/bin"},
			Options{},
		},
		{"inbox is the default", "inbox", inboxLibrary, []string{"PATH=/usr/bin"}, []string{"PATH=/usr/bin"}, Options{}},
		{
			"inbox, and a build is the default", "inbox", p64 + "/lib/libibverbs.so.1",
			[]string{"PATH=" + p64 + "/bin:/usr/bin"},
			[]string{"LD_LIBRARY_PATH=/usr/lib64", "PATH=/usr/bin"},
			Options{},
		},
		{
			"inbox, and LD_LIBRARY_PATH leads elsewhere", "inbox", inboxLibrary,
			[]string{"LD_LIBRARY_PATH=/conda/lib"},
			[]string{"LD_LIBRARY_PATH=/usr/lib64:/conda/lib"},
			Options{Search: true},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			all := hostWith(test.isDefault)
			wish, err := ParseWish(test.stack)
			if err != nil {
				t.Fatal(err)
			}
			c, err := all.Choose(wish)
			if err != nil {
				t.Fatal(err)
			}
			got := Enter(test.env, c, all, test.opts)
			if diff := cmp.Diff(test.want, plainly(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if again := Enter(got, c, all, test.opts); cmp.Diff(plainly(got), plainly(again)) != "" {
				t.Errorf("a second time changes it (-first +second):\n%s", cmp.Diff(plainly(got), plainly(again)))
			}
			// Through another stack and back: as a person switches in one shell.
			through := Enter(got, all.Builds[1], all, Options{})
			if diff := cmp.Diff(plainly(got), plainly(Enter(through, c, all, test.opts))); diff != "" {
				t.Errorf("through another stack (-want +got):\n%s", diff)
			}
			if name, _ := environ(got).get(StackVariable); name != test.stack {
				t.Errorf("it says that it is %q", name)
			}
			back := Back(got)
			if diff := cmp.Diff(normal(test.env), normal(back)); diff != "" {
				t.Errorf("back (-want +got):\n%s", diff)
			}
		})
	}
}

// normal is an environment as Back gives it: an empty list is none, and lists are parted by colons. What was taken
// out comes back at the front.
func normal(env []string) []string {
	out := []string{}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if slices.Contains([]string{"LD_LIBRARY_PATH", "LD_PRELOAD", "PATH"}, name) {
			if value == "" {
				continue
			}
			elements := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(":; ", r) })
			slices.Sort(elements)
			v = name + "=" + strings.Join(elements, ":")
		}
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

func TestBackKeepsWhatWasAdded(t *testing.T) {
	all := hostWith(inboxLibrary)
	in := environ(Enter([]string{"PATH=/usr/bin", "IBV_DRIVERS=old"}, all.Builds[0], all, Options{}))
	path, _ := in.get("PATH")
	in = in.with("PATH", "/venv/bin:"+path).with("IBV_DRIVERS", "new")
	if diff := cmp.Diff([]string{"IBV_DRIVERS=new", "PATH=/venv/bin:/usr/bin"}, plainly(Back(in))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A record that somebody spoiled takes nothing away.
	spoiled := in.with("RDMACTL_ENV", "{")
	if diff := cmp.Diff(plainly(spoiled), plainly(Back(spoiled))); diff != "" {
		t.Errorf("spoiled (-want +got):\n%s", diff)
	}
}

func TestParseWish(t *testing.T) {
	for text, want := range map[string]Wish{
		"inbox": {"inbox", ""}, "rdma-core": {"rdma-core", ""}, "rdma-core@56.1": {"rdma-core", "56.1"}, "rdma-core@v64": {"rdma-core", "64"},
		"rdma-core@/opt/rdma-core/mine": {"rdma-core", "/opt/rdma-core/mine"},
	} {
		if got, err := ParseWish(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "inbox@1", "rdma-core@", "rdma-core@x", "rdma-core@../56.1", "rdma-core@/a b", "rdma-core@56.1;id", "mlnx-ofed", "ofed@4.17", "RDMA-core"} {
		if got, err := ParseWish(text); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestCheck(t *testing.T) {
	const native = "elf64-x86-64"
	if err := buildOf("56.1", 34).Check(native); err != nil {
		t.Errorf("a whole build: %v", err)
	}
	if err := hostWith(inboxLibrary).Inbox.Check(native); err != nil {
		t.Errorf("the distribution's: %v", err)
	}
	for code, spoil := range map[string]func(*Copy){
		"other-architecture":    func(c *Copy) { c.Format = "elf64-littleaarch64" },
		"mixed-providers":       func(c *Copy) { *c = buildOf("56.1", 34, 64) },
		"no-private-abi":        func(c *Copy) { c.Facts.PrivateABI = facts.Failed[int]("objdump", errors.New("not an ELF file")) },
		"no-providers":          func(c *Copy) { c.Facts.Providers = facts.None[[]facts.Provider]("dir") },
		"providers-unknown":     func(c *Copy) { c.Facts.Providers = facts.Field[[]facts.Provider]{Source: "dir"} },
		"foreign-configuration": func(c *Copy) { c.DriverDir = "/etc/opt/rdma-core/libibverbs.d" },
		"no-drivers":            func(c *Copy) { c.Drivers = []string{"hns"} },
		"not-trusted":           func(c *Copy) { c.Untrusted = "somebody" },
	} {
		c := buildOf("56.1", 34)
		spoil(&c)
		var f *fault.Error
		if err := c.Check(native); !errors.As(err, &f) || f.Code != code || f.Kind != fault.Stopped || f.Hint == "" {
			t.Errorf("%s: %v", code, err)
		}
	}
	elsewhere := buildOf("56.1", 34)
	elsewhere.ProviderDir = "/usr/lib64/libibverbs"
	if elsewhere.Check(native) == nil {
		t.Error("providers of another directory are taken")
	}
}

// TestScriptIsEvaluatedByTheShell lets the shells that are here evaluate values that need quotes.
func TestScriptIsEvaluatedByTheShell(t *testing.T) {
	values := []string{"plain", "", `it's "x"`, "$HOME `id` $(id)", `back\slash \n \`, "!history !1", "a;b|c&d*?[x]{1,2}~#", "tab\there", "-n", "ünï"}
	ran := 0
	for _, shell := range Shells() {
		program, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		ran++
		for _, value := range values {
			script, err := Script([]Change{{Name: "GONE", Unset: true}, {Name: "X_VALUE", Value: value}}, shell)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, "-c", script+"env")
			cmd.Env = []string{"GONE=1", "PATH=/usr/bin:/bin", "HOME=/nowhere"}
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("%s cannot evaluate %q: %v\n%s", shell, value, err, script)
				continue
			}
			if lines := strings.Split(string(out), "\n"); !slices.Contains(lines, "X_VALUE="+value) || strings.Contains(string(out), "GONE=") {
				t.Errorf("%s: %q became\n%s", shell, value, out)
			}
		}
	}
	if ran == 0 {
		t.Skip("no shell is here")
	}
	if _, err := Script([]Change{{Name: "X", Value: "a\nb"}}, "csh"); err == nil {
		t.Error("csh is given a line break")
	}
	if _, err := Script(nil, "cmd.exe"); fault.KindOf(err) != fault.Usage {
		t.Errorf("an unknown shell: %v", err)
	}
	fish, err := Script([]Change{{Name: "PATH", Value: `/a:/it's`}}, "fish")
	if want := "set -gx PATH '/a' '/it\\'s';\n"; err != nil || fish != want {
		t.Errorf("fish: %q, %v, want %q", fish, err, want)
	}
}

func TestDropIn(t *testing.T) {
	all := hostWith(inboxLibrary)
	c := all.Builds[0]
	first := DropIn("slurmd.service", c, all, nil, Options{})
	for _, line := range []string{
		"[Service]\n", "Environment=\"LD_LIBRARY_PATH=/opt/rdma-core/56.1/lib\"\n", "Environment=\"PATH=/opt/rdma-core/56.1/bin:/usr/local/sbin:",
		"UnsetEnvironment=IBV_DRIVERS RDMAV_DRIVERS\n",
	} {
		if !strings.Contains(first, line) {
			t.Errorf("%q is not in\n%s", line, first)
		}
	}
	// The unit's own settings stay, with what is special to systemd quoted, and a second drop-in is the first.
	own := []string{`LD_LIBRARY_PATH=/opt/a"b\c%n`, "PATH=/sbin", "OTHER=1"}
	text := DropIn("x.service", c, all, own, Options{KeepDrivers: true})
	for _, line := range []string{`Environment="LD_LIBRARY_PATH=/opt/rdma-core/56.1/lib:/opt/a\"b\\c%%n"` + "\n", `Environment="PATH=/opt/rdma-core/56.1/bin:/sbin"` + "\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("%q is not in\n%s", line, text)
		}
	}
	if strings.Contains(text, "OTHER") || strings.Contains(text, "UnsetEnvironment") {
		t.Errorf("it sets more than it must:\n%s", text)
	}
	after := []string{`LD_LIBRARY_PATH=/opt/rdma-core/56.1/lib:/opt/a"b\c%n`, "PATH=/opt/rdma-core/56.1/bin:/sbin", "OTHER=1"}
	if again := DropIn("x.service", c, all, after, Options{KeepDrivers: true}); again != text {
		t.Errorf("once it is in place it becomes\n%s", again)
	}
	// From one build to the other.
	other := DropIn("x.service", all.Builds[1], all, after, Options{})
	if strings.Contains(other, "56.1") || !strings.Contains(other, "/opt/rdma-core/64.0/lib:/opt/a") {
		t.Errorf("the other build:\n%s", other)
	}
	// The distribution's, where a build is the default: twice the same.
	all = hostWith("/opt/rdma-core/64.0/lib/libibverbs.so.1")
	inbox := DropIn("x.service", *all.Inbox, all, nil, Options{})
	if !strings.Contains(inbox, `Environment="LD_LIBRARY_PATH=/usr/lib64"`) || inbox != DropIn("x.service", *all.Inbox, all, []string{"LD_LIBRARY_PATH=/usr/lib64"}, Options{}) {
		t.Errorf("the distribution's:\n%s", inbox)
	}
}

func TestUnit(t *testing.T) {
	for name, want := range map[string]string{"slurmd": "slurmd.service", "a@b.service": "a@b.service", "t@.service": "t@.service", `dev-x\x2d.service`: `dev-x\x2d.service`} {
		if got, err := Unit(name); err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"", ".service", "../x.service", "x.socket", "a b.service", "a/b.service", "-x", "a\n.service", strings.Repeat("a", 300)} {
		if got, err := Unit(name); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "A=b C=d": {"A=b", "C=d"}, `"A=b c" D=`: {"A=b c", "D="}, `"A=\"q\" \\" B`: {`A="q" \`, "B"}, `$'A=x\ty'`: {"A=x\ty"}, `""`: {""},
	} {
		if diff := cmp.Diff(want, Words(text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
