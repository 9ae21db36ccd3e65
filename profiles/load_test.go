package profiles_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/profiles"
)

func TestEmbedded(t *testing.T) {
	names, err := profiles.List()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"inbox", "lts", "soft"}, names); diff != "" {
		t.Fatal(diff)
	}
	for _, name := range names {
		p, err := profiles.Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.Name != name {
			t.Errorf("%s.yaml is named %q", name, p.Name)
		}
		var packages []string
		for _, one := range p.Packages["debian"] {
			packages = append(packages, one.Name)
		}
		for _, want := range []string{"rdma-core", "libibverbs1", "ibverbs-providers", "ibverbs-utils", "rdmacm-utils", "iproute2"} {
			if !slices.Contains(packages, want) {
				t.Errorf("profile %s lacks package %s", name, want)
			}
		}
		// Its postinst starts a subnet manager, a second one on most fabrics.
		if slices.Contains(packages, "opensm") {
			t.Errorf("profile %s installs opensm", name)
		}
		if p.Memlock.Everyone || p.Udev.UmadGroup != "" {
			t.Errorf("profile %s widens permissions by default", name)
		}
	}
}

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
modules:
  load:
    - {name: rdma_rxe, why: software RDMA}
  softdeps:
    - {module: rdma_rxe, pre: [crc32_generic], why: checksum}
  options: {ib_core: "netns_mode=0"}
memlock: {groups: [rdma], units: [slurmd.service]}
udev: {umad_group: rdma}
soft_roce: {device: rxe0, netdev: br-lan}
`

func TestLoadFile(t *testing.T) {
	p, err := profiles.LoadFile("mine.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	want := profiles.Profile{
		APIVersion: "rdmactl/v1", Kind: "Profile", Name: "mine", Summary: "my own",
		Prefer: []string{"inbox"}, Hardware: "optional",
		Packages: map[string][]profiles.Package{"debian": {{
			Name: "rdma-core", Why: "rules", Releases: []string{"debian 12", "debian 13"},
		}}},
		Modules: profiles.Modules{
			Load:     []profiles.Module{{Name: "rdma_rxe", Why: "software RDMA"}},
			Softdeps: []profiles.Softdep{{Module: "rdma_rxe", Pre: []string{"crc32_generic"}, Why: "checksum"}},
			Options:  map[string]string{"ib_core": "netns_mode=0"},
		},
		Memlock:  profiles.Memlock{Groups: []string{"rdma"}, Units: []string{"slurmd.service"}},
		Udev:     profiles.Udev{UmadGroup: "rdma"},
		SoftRoCE: &profiles.SoftRoCE{Device: "rxe0", Netdev: "br-lan"},
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
		{"why: software RDMA", "why: \"x\\ninstall ib_core /bin/sh\"", "mine.yaml:12:29", "printable"},
		{"name: rdma_rxe", "name: \"rdma_rxe\\ninstall x /bin/sh\"", "mine.yaml:12:14", "module name"},
		{"name: rdma_rxe", "name: \"rdma rxe\"", "mine.yaml:12:14", "module name"},
		{"name: rdma_rxe", "name: ../rdma_rxe", "mine.yaml:12:14", "module name"},
		{"name: rdma_rxe", "name: -r", "mine.yaml:12:14", "module name"},
		{"name: rdma_rxe", "name: ib_core", "mine.yaml:18:12", "needs the module rdma_rxe"},
		{"pre: [crc32_generic]", "pre: [\"a\\nb\"]", "mine.yaml:14:32", "module name"},
		{"pre: [crc32_generic]", "pre: []", "mine.yaml:14:7", "at least one module"},
		{"netns_mode=0", "netns_mode", "mine.yaml:15:22", "module option"},
		{"netns_mode=0", "a=b\\ninstall c /bin/sh", "mine.yaml:15:22", "module option"},
		{"groups: [rdma]", "groups: [\"rdma\\n* - memlock unlimited\"]", "mine.yaml:16:20", "group name"},
		{"groups: [rdma]", "groups: [\"@rdma\"]", "mine.yaml:16:20", "group name"},
		{"units: [slurmd.service]", "units: [/etc/systemd/system/slurmd.service]", "mine.yaml:16:35", "unit name"},
		{"units: [slurmd.service]", "units: [../slurmd.service]", "mine.yaml:16:35", "unit name"},
		{"units: [slurmd.service]", "units: [slurmd]", "mine.yaml:16:35", "unit name"},
		{"umad_group: rdma", "umad_group: 'rdma\", MODE=\"0666'", "mine.yaml:17:20", "group name"},
		{"device: rxe0", "device: \"rxe0;id\"", "mine.yaml:18:21", "RDMA device name"},
		{"netdev: br-lan", "netdev: \"a b\"", "mine.yaml:18:35", "interface name"},
		{"netdev: br-lan", "netdev: abcdefghijklmnop", "mine.yaml:18:35", "interface name"},
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

// What apt-get would take for an order, a pattern, a task or a release is no name.
func TestCheckPackage(t *testing.T) {
	for _, name := range []string{"rdma-core", "g++", "libstdc++6", "libstdc++-14-dev", "libnl-3-200", "python3.11", "0ad", "libc++"} {
		if err := profiles.CheckPackage(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{
		"rdma-core-", "rdma-core+", "rdma-core+++", "rdma-core-+", "rdma-core-++", "rdma-core--", "g++-", "rdma-core.",
		"rdma-core^", "^rdma", "rdma*", "rdma.*", "rdm?", "rdma-core$", "[rdma", "rdma-core/stable", "rdma-core:arm64", "rdma-core=1",
		"", "r", "++", "Rdma", "rdma_core", "rdma core", "rdma-core\n", "./rdma.deb",
	} {
		if profiles.CheckPackage(name) == nil {
			t.Errorf("%q is taken for a package name", name)
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
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := profiles.LoadFile("f.yaml", data)
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
	})
}
