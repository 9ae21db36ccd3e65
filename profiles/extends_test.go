package profiles_test

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/profiles"
)

// directory is a directory of profiles in memory.
type directory map[string]string

func (d directory) Names() ([]string, error) { return slices.Sorted(maps.Keys(d)), nil }

func (d directory) Read(name string) (string, []byte, error) {
	data, ok := d[name]
	if !ok {
		return "", nil, fs.ErrNotExist
	}
	return "/etc/rdmactl/profiles.d/" + name + ".yaml", []byte(data), nil
}

func head(name, rest string) string {
	return "apiVersion: rdmactl/v1\nkind: Profile\nname: " + name + "\nsummary: of " + name + "\n" + rest
}

func TestExtends(t *testing.T) {
	own := directory{
		"base": head("base", `prefer: [inbox]
hardware: needed
packages:
  debian:
    - {name: aa, why: of base}
    - {name: bb, why: of base}
    - {name: cc, why: of base}
modules:
  load:
    - {name: ib-core, why: of base}
    - {name: ib_umad, why: of base}
  options: {ib_core: "netns_mode=0", ib_umad: "a=b"}
memlock: {groups: [rdma], units: [a.service, b.service], everyone: true}
vendor: {sets: {doca-ofed: [doca-ofed], mlnx-ofed: [mlnx-ofed-all]}, user_space_only: true}
asks:
  - {id: one, kind: remark, text: of base}
  - {id: two, kind: remark, text: of base}
`),
		"top": head("top", `extends: base
omit: {packages: [cc], modules: [ib_umad], units: [a.service], asks: [two]}
branches: lts
packages:
  debian:
    - {name: dd, why: of top}
    - {name: aa, why: of top, releases: ["debian 12"]}
    - {name: aa, why: of top too, releases: ["debian 13"]}
  rhel:
    - {name: aa, why: of top}
modules:
  load:
    - {name: rdma_ucm, why: of top}
    - {name: ib_core, why: of top}
  options: {ib-core: "netns_mode=1"}
memlock: {groups: [rdma, hpc], everyone: false}
vendor: {sets: {doca-ofed: [doca-roce]}}
asks:
  - {id: three, kind: question, text: of top}
`),
	}
	p, err := profiles.Library{Own: own}.Load("top")
	if err != nil {
		t.Fatal(err)
	}
	want := profiles.Profile{
		APIVersion: "rdmactl/v1", Kind: "Profile", Name: "top", Summary: "of top",
		Prefer: []string{"inbox"}, Branches: "lts", Hardware: "needed",
		Packages: map[string][]profiles.Package{
			"debian": {
				{Name: "aa", Why: "of top", Releases: []string{"debian 12"}},
				{Name: "aa", Why: "of top too", Releases: []string{"debian 13"}},
				{Name: "bb", Why: "of base"},
				{Name: "dd", Why: "of top"},
			},
			"rhel": {{Name: "aa", Why: "of top"}},
		},
		Vendor: profiles.Vendor{Sets: map[string][]string{"doca-ofed": {"doca-roce"}, "mlnx-ofed": {"mlnx-ofed-all"}}, UserSpaceOnly: true},
		Modules: profiles.Modules{
			Load:    []profiles.Module{{Name: "ib_core", Why: "of top"}, {Name: "rdma_ucm", Why: "of top"}},
			Options: map[string]string{"ib-core": "netns_mode=1", "ib_umad": "a=b"},
		},
		Memlock: profiles.Memlock{Groups: []string{"rdma", "hpc"}, Units: []string{"b.service"}},
		Asks:    []profiles.Ask{{ID: "one", Kind: "remark", Text: "of base"}, {ID: "three", Kind: "question", Text: "of top"}},
	}
	if diff := cmp.Diff(want, p.Profile); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"base", "top"}, p.Chain); diff != "" {
		t.Error(diff)
	}
	for key, from := range map[string]string{
		"prefer": "base", "hardware": "base", "branches": "top", "packages/debian/aa": "top", "packages/debian/bb": "base",
		"modules/ib_core": "top", "options/ib_umad": "base", "memlock/units/b.service": "base", "vendor/sets/mlnx-ofed": "base", "asks/one": "base",
	} {
		if p.Origins[key] != from {
			t.Errorf("%s is from %q, want %q", key, p.Origins[key], from)
		}
	}
	// The base itself is as it was.
	base, err := profiles.Library{Own: own}.Load("base")
	if err != nil || len(base.Packages["debian"]) != 3 || base.Branches != "all" || !base.Memlock.Everyone {
		t.Errorf("base is %+v, %v", base.Profile, err)
	}
}

func TestFaultyExtends(t *testing.T) {
	const hardware = "prefer: [inbox]\nhardware: needed\n"
	deep := directory{}
	for i := range 9 {
		deep[fmt.Sprintf("p%d", i)] = head(fmt.Sprintf("p%d", i), fmt.Sprintf("extends: p%d\n", i+1))
	}
	deep["p9"] = head("p9", hardware)
	for _, tc := range []struct {
		name string
		own  directory
		load string
		says []string
	}{
		{"itself", directory{"a": head("a", "extends: a\n")}, "a", []string{"a.yaml:5:10: ", "a extends a"}},
		{"circle", directory{"a": head("a", "extends: b\n"), "b": head("b", "extends: a\n")}, "a", []string{"b.yaml:5:10: ", "a extends b extends a"}},
		{"depth", deep, "p0", []string{"p7.yaml:5:10: ", "more than 8"}},
		{"no base", directory{"a": head("a", "extends: lst\n")}, "a", []string{"a.yaml:5:10: ", `no profile "lst"`, "lts"}},
		{"faulty base", directory{"a": head("a", "extends: b\n"), "b": head("b", "prefer: [x]\n")}, "a", []string{"b.yaml:5:10: "}},
		{"other name", directory{"a": head("b", hardware)}, "a", []string{"a.yaml:3:7: ", "b.yaml"}},
		{"of a built-in", directory{"lts": head("lts", hardware)}, "lts", []string{"built in", "/etc/rdmactl/profiles.d/lts.yaml"}},
		{"base of a built-in's name", directory{"a": head("a", "extends: lts\n"), "lts": head("lts", hardware)}, "a", []string{"built in"}},
		{"no such package", directory{"a": head("a", "extends: inbox\nomit: {packages: [perftest, perftets]}\n")}, "a", []string{"a.yaml:6:29: ", "perftets"}},
		{"no such module", directory{"a": head("a", "extends: inbox\nomit: {modules: [rdma_rxe]}\n")}, "a", []string{"a.yaml:6:18: ", "rdma_rxe"}},
		{"no such group", directory{"a": head("a", "extends: inbox\nomit: {groups: [hpc]}\n")}, "a", []string{"a.yaml:6:17: ", "hpc"}},
		{"no such unit", directory{"a": head("a", "extends: inbox\nomit: {units: [x.service]}\n")}, "a", []string{"a.yaml:6:16: ", "x.service"}},
		{"no such ask", directory{"a": head("a", "extends: inbox\nomit: {asks: [x]}\n")}, "a", []string{"a.yaml:6:15: ", `"x"`}},
		{"rxe omitted", directory{"a": head("a", "extends: soft\nomit: {modules: [rdma_rxe]}\n")}, "a", []string{"a.yaml:6:8: ", "needs the module rdma_rxe"}},
		{"no stack", directory{"a": head("a", "extends: lts\nprefer: []\n")}, "a", []string{"a.yaml:6:1: ", "at least one stack"}},
		{"no hardware", directory{"a": head("a", "prefer: [inbox]\n")}, "a", []string{"a.yaml:1:1: ", `"hardware" is missing`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := profiles.Library{Own: tc.own}.Load(tc.load)
			if fault.KindOf(err) != fault.Usage {
				t.Fatalf("got %v", err)
			}
			for _, say := range tc.says {
				if !strings.Contains(err.Error(), say) {
					t.Errorf("no %q in: %v", say, err)
				}
			}
		})
	}
	// One less is sound.
	delete(deep, "p9")
	deep["p7"] = head("p7", hardware)
	if _, err := (profiles.Library{Own: deep}).Load("p0"); err != nil {
		t.Error(err)
	}
}

func TestLibrary(t *testing.T) {
	library := profiles.Library{Own: directory{"site": head("site", "extends: lts\n")}}
	all, err := library.Names()
	if err != nil || !slices.Contains(all, "site") || !slices.Contains(all, "lts") || !slices.IsSorted(all) {
		t.Errorf("%v, %v", all, err)
	}
	for name, file := range map[string]string{"": profiles.BuiltIn, "lts": profiles.BuiltIn, "site": "/etc/rdmactl/profiles.d/site.yaml"} {
		p, err := library.Load(name)
		if err != nil || p.File != file {
			t.Errorf("%q: %q, %v", name, p.File, err)
		}
	}
	for _, name := range []string{"sites", "../site", "/etc/passwd"} {
		if _, err := library.Load(name); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "none of this name") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
