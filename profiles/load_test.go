package profiles_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/profiles"
)

func TestDefault(t *testing.T) {
	p, err := profiles.Load("")
	if err != nil || p.Name != profiles.Default {
		t.Errorf("got %q, %v", p.Name, err)
	}
	soft, err := profiles.Load("soft")
	if err != nil {
		t.Fatal(err)
	}
	if soft.SoftRoCE == nil || soft.SoftRoCE.Device != "rxe0" || soft.SoftRoCE.Netdev != "auto" {
		t.Errorf("soft_roce is %+v", soft.SoftRoCE)
	}
}

func TestUnknownProfile(t *testing.T) {
	for _, name := range []string{"lst", "../profiles/lts", "lts.yaml"} {
		_, err := profiles.Load(name)
		if fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: %v", name, err)
		}
	}
}

const good = `apiVersion: rdmactl/v1
kind: Profile
name: mine
summary: my own
prefer: [inbox]
hardware: optional
packages:
  debian:
    - {name: rdma-core, why: rules, releases: ["debian 12", "debian 13"]}
  rhel:
    - {name: gcc-c++, why: compiler, except: ["rhel 7"], optional: true, every_stack: true}
  suse:
    - {name: libmlx5-1, why: provider}
modules:
  load:
    - {name: rdma_rxe, why: software RDMA}
  softdeps:
    - {module: rdma_rxe, pre: [crc32_generic], why: checksum}
  options: {ib_core: "netns_mode=0"}
memlock: {groups: [rdma], units: [slurmd.service]}
udev: {umad_group: rdma}
soft_roce: {device: rxe0, netdev: br-lan}
branches: lts
vendor: {sets: {doca-ofed: [doca-roce, doca-ofed], mlnx-ofed: [mlnx-ofed-basic]}, user_space_only: true}
build:
  version: "64.0"
  prefix: /opt/rdma-core
  cmake: {NO_MAN_PAGES: "1", CMAKE_INSTALL_SYSCONFDIR: "{prefix}/etc"}
  packages:
    debian: [{name: cmake, why: build}]
asks:
  - {id: manager, kind: question, text: "who runs it?"}
`

func TestLoadFile(t *testing.T) {
	p, err := profiles.LoadFile("mine.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	want := profiles.Profile{
		APIVersion: "rdmactl/v1", Kind: "Profile", Name: "mine", Summary: "my own",
		Prefer: []string{"inbox"}, Branches: "lts", Hardware: "optional",
		Packages: map[string][]profiles.Package{
			"debian": {{Name: "rdma-core", Why: "rules", Releases: []string{"debian 12", "debian 13"}}},
			"rhel":   {{Name: "gcc-c++", Why: "compiler", Except: []string{"rhel 7"}, Optional: true, EveryStack: true}},
			"suse":   {{Name: "libmlx5-1", Why: "provider"}},
		},
		Vendor: profiles.Vendor{
			Sets:          map[string][]string{"doca-ofed": {"doca-roce", "doca-ofed"}, "mlnx-ofed": {"mlnx-ofed-basic"}},
			UserSpaceOnly: true,
		},
		Build: &profiles.Build{
			Version: "64.0", Prefix: "/opt/rdma-core",
			CMake:    map[string]string{"NO_MAN_PAGES": "1", "CMAKE_INSTALL_SYSCONFDIR": "{prefix}/etc"},
			Packages: map[string][]profiles.Package{"debian": {{Name: "cmake", Why: "build"}}},
		},
		Modules: profiles.Modules{
			Load:     []profiles.Module{{Name: "rdma_rxe", Why: "software RDMA"}},
			Softdeps: []profiles.Softdep{{Module: "rdma_rxe", Pre: []string{"crc32_generic"}, Why: "checksum"}},
			Options:  map[string]string{"ib_core": "netns_mode=0"},
		},
		Memlock:  profiles.Memlock{Groups: []string{"rdma"}, Units: []string{"slurmd.service"}},
		Udev:     profiles.Udev{UmadGroup: "rdma"},
		SoftRoCE: &profiles.SoftRoCE{Device: "rxe0", Netdev: "br-lan"},
		Asks:     []profiles.Ask{{ID: "manager", Kind: "question", Text: "who runs it?"}},
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
}

// Each row spoils one thing in the good profile; nothing of it may reach a file that root reads.
func TestFaultyProfiles(t *testing.T) {
	for _, tc := range []struct{ old, bad, position, says string }{
		{"prefer: [inbox]", "prefer: [inbxo]", "mine.yaml:5:10", "inbxo"},
		{"prefer: [inbox]", "prefer: []", "mine.yaml:5:1", "at least one stack"},
		{"prefer: [inbox]", "prefer: [inbox, inbox]", "mine.yaml:5:1", "twice"},
		{"prefer: [inbox]", "\"prefer\" :\n  - inbox\n  - inbox", "mine.yaml:5:1", "twice"},
		{"prefer: [inbox]\n", "", "mine.yaml:1:1", "at least one stack"},
		{"hardware: optional", "hardware: maybe", "mine.yaml:6:11", "maybe"},
		{"hardware: optional", "colour: red", "mine.yaml:6:1", "unknown key"},
		{"summary: my own\n", "", "mine.yaml:1:1", `"summary" is missing`},
		{"summary: my own", "summary: \"my\\nown\"", "mine.yaml:4:10", "printable"},
		{"kind: Profile", "kind: Evidence", "mine.yaml:2:7", "Evidence"},
		{"apiVersion: rdmactl/v1", "apiVersion: rdmactl/v2", "mine.yaml:1:13", "rdmactl/v2"},
		{"name: rdma-core", "name: \"rdma-core=1\"", "mine.yaml:9:14", "package name"},
		{"name: rdma-core", "name: \"rdma-core-\"", "mine.yaml:9:14", "package name"},
		{"name: rdma-core", "name: \"rdma-core+\"", "mine.yaml:9:14", "package name"},
		{"name: rdma-core", "name: \"-oDebug::pkg\"", "mine.yaml:9:14", "package name"},
		{`"debian 12"`, `"12"`, "mine.yaml:9:48", "release"},
		{"  debian:", "  gentoo:", "mine.yaml:8:3", "gentoo"},
		{"why: software RDMA", "why: \"x\\ninstall ib_core /bin/sh\"", "mine.yaml:16:29", "printable"},
		{"name: rdma_rxe", "name: \"rdma_rxe\\ninstall x /bin/sh\"", "mine.yaml:16:14", "module name"},
		{"name: rdma_rxe", "name: \"rdma rxe\"", "mine.yaml:16:14", "module name"},
		{"name: rdma_rxe", "name: ../rdma_rxe", "mine.yaml:16:14", "module name"},
		{"name: rdma_rxe", "name: -r", "mine.yaml:16:14", "module name"},
		{"name: rdma_rxe", "name: ib_core", "mine.yaml:22:12", "needs the module rdma_rxe"},
		{"pre: [crc32_generic]", "pre: [\"a\\nb\"]", "mine.yaml:18:32", "module name"},
		{"pre: [crc32_generic]", "pre: []", "mine.yaml:18:7", "at least one module"},
		{"netns_mode=0", "netns_mode", "mine.yaml:19:22", "module option"},
		{"netns_mode=0", "a=b\\ninstall c /bin/sh", "mine.yaml:19:22", "module option"},
		{"groups: [rdma]", "groups: [\"rdma\\n* - memlock unlimited\"]", "mine.yaml:20:20", "group name"},
		{"groups: [rdma]", "groups: [\"@rdma\"]", "mine.yaml:20:20", "group name"},
		{"units: [slurmd.service]", "units: [/etc/systemd/system/slurmd.service]", "mine.yaml:20:35", "unit name"},
		{"units: [slurmd.service]", "units: [../slurmd.service]", "mine.yaml:20:35", "unit name"},
		{"units: [slurmd.service]", "units: [slurmd]", "mine.yaml:20:35", "unit name"},
		{"umad_group: rdma", "umad_group: 'rdma\", MODE=\"0666'", "mine.yaml:21:20", "group name"},
		{"device: rxe0", "device: \"rxe0;id\"", "mine.yaml:22:21", "RDMA device name"},
		{"netdev: br-lan", "netdev: \"a b\"", "mine.yaml:22:35", "interface name"},
		{"netdev: br-lan", "netdev: abcdefghijklmnop", "mine.yaml:22:35", "interface name"},
		{"name: gcc-c++", "name: \"@infiniband\"", "mine.yaml:11:14", "package name"},
		{"name: gcc-c++", "name: gcc.x86_64", "mine.yaml:11:14", "architecture"},
		{"name: gcc-c++", "name: \"gcc-\"", "mine.yaml:11:14", "package name"},
		{"name: gcc-c++", "name: /tmp/x.rpm", "mine.yaml:11:14", "package name"},
		{"name: libmlx5-1", "name: \"lib*\"", "mine.yaml:13:14", "package name"},
		{"name: rdma-core", "name: Rdma_core", "mine.yaml:9:14", "package name"},
		{`except: ["rhel 7"]`, `except: ["rhel =7"]`, "mine.yaml:11:47", "release"},
		{`"debian 13"`, `"debian >=trixie"`, "mine.yaml:9:61", "release"},
		{"    - {name: libmlx5-1, why: provider}", "    - {name: a1, why: x}\n    - {name: a1, why: y}", "mine.yaml:14:7", "twice"},
		{"    - {name: libmlx5-1, why: provider}", "    - {name: a1, why: x, releases: [sles]}\n    - {name: a1, why: y, releases: [sles]}", "mine.yaml:14:7", "twice"},
		{"branches: lts", "branches: newest", "mine.yaml:23:11", "newest"},
		{"doca-roce, doca-ofed", "doca-rocy", "mine.yaml:24:29", "doca-rocy"},
		{"doca-roce, doca-ofed", "doca-roce, doca-roce", "mine.yaml:24:17", "twice"},
		{"[mlnx-ofed-basic]", "[doca-ofed]", "mine.yaml:24:64", "doca-ofed"},
		{"mlnx-ofed: [", "inbox: [", "mine.yaml:24:52", "inbox"},
		{`version: "64.0"`, "version: 64.0", "mine.yaml:26:12", "quote it"},
		{`version: "64.0"`, "version: v64", "mine.yaml:26:12", "version of rdma-core"},
		{"version: \"64.0\"\n  ", "", "mine.yaml:26:3", `"version" is missing`},
		{"prefix: /opt/rdma-core", "prefix: /usr", "mine.yaml:27:11", "prefix"},
		{"prefix: /opt/rdma-core", "prefix: /opt", "mine.yaml:27:11", "prefix"},
		{"prefix: /opt/rdma-core", "prefix: /opt/../usr", "mine.yaml:27:11", "prefix"},
		{"prefix: /opt/rdma-core", "prefix: \"/opt/{prefix}\"", "mine.yaml:27:11", "prefix"},
		{"NO_MAN_PAGES:", "NO_VALGRIND:", "mine.yaml:28:11", "ENABLE_VALGRIND"},
		{"NO_MAN_PAGES:", "CMAKE_C_COMPILER_LAUNCHER:", "mine.yaml:28:11", "not one of"},
		{"NO_MAN_PAGES:", "CMAKE_INSTALL_PREFIX:", "mine.yaml:28:11", "not one of"},
		{"{prefix}/etc", "{prefix}/../etc", "mine.yaml:28:56", "cmake option"},
		{"{prefix}/etc", "/etc;id", "mine.yaml:28:56", "cmake option"},
		{"name: cmake", "name: \"cmake=3\"", "mine.yaml:30:21", "package name"},
		{"kind: question", "kind: riddle", "mine.yaml:32:25", "riddle"},
		{"who runs it?", "who\\nruns it?", "mine.yaml:32:41", "printable"},
		{"id: manager, ", "", "mine.yaml:32:5", `"id" is missing`},
		{"id: manager", "id: \"a b\"", "mine.yaml:32:10", "an id"},
		{"asks:", "omit: {asks: []}\nasks:", "mine.yaml:31:1", "extends another"},
		{"asks:", "extends: nothing\nasks:", "mine.yaml:31:10", `no profile "nothing"`},
		{"asks:", "extends: ../lts\nasks:", "mine.yaml:31:10", "profile name"},
		{"asks:", "extends: mine\nasks:", "mine.yaml:31:10", "mine extends mine"},
		{"text: \"who runs it?\"}", "text: \"who runs it?\"}\n---\n{}", "mine.yaml:34:1", "second document"},
	} {
		text := strings.Replace(good, tc.old, tc.bad, 1)
		if text == good {
			t.Errorf("%q is not in the good profile", tc.old)
			continue
		}
		_, err := profiles.LoadFile("mine.yaml", []byte(text))
		if err == nil {
			t.Errorf("%q was accepted", tc.bad)
			continue
		}
		if fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: exit code %d", tc.bad, fault.KindOf(err))
		}
		if !strings.Contains(err.Error(), tc.position+": ") || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%q: no %q and %q in: %v", tc.bad, tc.position, tc.says, err)
		}
	}
}

func TestReportsEverythingAtOnce(t *testing.T) {
	text := strings.NewReplacer("prefer: [inbox]", "prefer: [x]", "hardware: optional", "hardware: y").Replace(good)
	_, err := profiles.LoadFile("mine.yaml", []byte(text))
	var f *fault.Error
	if !errors.As(err, &f) || strings.Count(err.Error(), "mine.yaml:") != 2 {
		t.Errorf("got %v", err)
	}
}

func FuzzProfile(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("apiVersion: rdmactl/v1"))
	f.Add([]byte("{}"))
	f.Add([]byte(head("mine", "extends: hpc\nomit: {packages: [perftest], modules: [ib_umad]}\nbuild: {version: newest, prefix: /opt/x}\n")))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := profiles.Library{}.LoadFile("f.yaml", data)
		if err != nil {
			return
		}
		for _, m := range p.Modules.Load {
			if profiles.CheckModule(m.Name) != nil || strings.ContainsAny(m.Why, "\r\n") {
				t.Errorf("module %+v was accepted", m)
			}
		}
		for _, u := range p.Memlock.Units {
			if profiles.CheckUnit(u) != nil {
				t.Errorf("unit %q was accepted", u)
			}
		}
		for family, list := range p.Packages {
			for _, one := range list {
				if profiles.CheckPackageOf(family, one.Name) != nil || strings.ContainsAny(one.Why, "\r\n") {
					t.Errorf("package %+v was accepted", one)
				}
			}
		}
		if p.Build != nil {
			for _, option := range p.Build.Options("64.0") {
				if strings.ContainsAny(option, " \t\r\n;$`'\"\\") || strings.Contains(option, "..") {
					t.Errorf("option %q was accepted", option)
				}
			}
		}
		again, err := profiles.LoadFile("again.yaml", p.YAML())
		if err != nil {
			t.Fatalf("what is shown is no profile: %v\n%s", err, p.YAML())
		}
		if diff := cmp.Diff(p.Profile, again); diff != "" {
			t.Errorf("what is shown is another profile: %s", diff)
		}
	})
}
