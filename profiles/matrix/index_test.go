package matrix

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/internal/version"
)

func builtIn(t testing.TB) *Index {
	t.Helper()
	m, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	x, err := NewIndex(m)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func stackVersionOf(t testing.TB, text string) version.StackVersion {
	t.Helper()
	v, err := version.ParseStack(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func kernelOf(t testing.TB, text string) version.KernelRelease {
	t.Helper()
	k, err := version.ParseKernel(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestReleasesNewestFirst(t *testing.T) {
	x := builtIn(t)
	for stack, want := range map[string][]string{
		"mlnx-ofed": {"25.01-0.6.0.0", "24.10-4.1.4.0", "24.10-3.2.5.0", "24.10-2.1.8.0", "24.10-1.1.4.0.105", "24.10-1.1.4.0"},
		"doca-ofed": {"3.5.0", "3.4.1", "3.4.0", "3.3.0", "3.2.3"},
		"rdma-core": {"66.0", "65.0", "64.0"},
		"ofed":      {"4.17-1", "4.17", "4.8-2", "4.8", "1.5.4"},
		"inbox":     nil,
	} {
		var got []string
		for _, r := range x.Releases(stack) {
			got = append(got, r.Version)
		}
		if diff := cmp.Diff(want, got[:min(len(got), len(want))]); diff != "" {
			t.Errorf("%s: %s", stack, diff)
		}
	}
	all := x.Releases("mlnx-ofed")
	for i := 1; i < len(all); i++ {
		if x.VersionOf(all[i-1]).Compare(x.VersionOf(all[i])) < 0 {
			t.Errorf("%s stands before %s", all[i-1].Version, all[i].Version)
		}
	}
}

func TestFindTakesBothSpellings(t *testing.T) {
	x := builtIn(t)
	for _, text := range []string{"23.10-2.1.3.1.201", "23.10-2.1.3.1-201", "23.10.2.1.3.1.201"} {
		if r, ok := x.Find("mlnx-ofed", text); !ok || r.Version != "23.10-2.1.3.1.201" {
			t.Errorf("%s: %v %v", text, r, ok)
		}
	}
	for _, text := range []string{"23.10", "23.10-2.1.3.1.202", ""} {
		if r, ok := x.Find("mlnx-ofed", text); ok {
			t.Errorf("%s: %s", text, r.Version)
		}
	}
	if _, ok := x.Find("doca-ofed", "23.10-2.1.3.1.201"); ok {
		t.Error("a release was found with another stack")
	}
}

func TestBranches(t *testing.T) {
	x := builtIn(t)
	if b, ok := x.Branch("doca-ofed", "2.9"); !ok || !b.LTS || b.EndComputed != "2027-10" || b.EndStated != "" {
		t.Errorf("%+v", b)
	}
	if _, ok := x.Branch("doca-ofed", "24.10"); ok {
		t.Error("a branch was found with another stack")
	}
	// 2.10 is newer than 2.9.
	names := []string{}
	for _, b := range x.Branches("doca-ofed") {
		names = append(names, b.Name)
	}
	if slices.Index(names, "2.10") != slices.Index(names, "2.9")-1 {
		t.Errorf("%v", names)
	}
	if b, ok := x.BranchOf("mlnx-ofed", stackVersionOf(t, "5.8-9.9.9.9")); !ok || b.Name != "5.8" {
		t.Errorf("%v %v", b, ok)
	}
	if b, ok := x.BranchOf("mlnx-ofed", stackVersionOf(t, "6.0-1.0.0.0")); ok {
		t.Errorf("%v", b)
	}
	if b, _ := x.Branch("doca-ofed", "1.5"); b.NeverChosen == "" {
		t.Error("1.5 may be chosen")
	}
}

func TestApplies(t *testing.T) {
	x := builtIn(t)
	for _, tc := range []struct {
		stack, version, id, versionID, kernel string
		want                                  []string
	}{
		{"mlnx-ofed", "5.4-3.1.0.0", "ubuntu", "20.04", "5.14.0-rc5", []string{"ofed54-3100-kernel-5.14"}},
		{"mlnx-ofed", "5.4-3.7.5.0", "ubuntu", "20.04", "5.14.0-rc5", []string{"ofed54-3750-kernel-5.14"}},
		{"mlnx-ofed", "5.4-3.1.0.0", "ubuntu", "20.04", "5.4.0-26-generic", nil},
		{"mlnx-ofed", "4.9-7.1.0.0", "ubuntu", "20.04", "5.14.0-rc5", []string{"ofed49-kernel-5.6"}},
		{"mlnx-ofed", "4.9-7.1.0.0", "rhel", "8.4", "4.18.0-305.el8.x86_64", nil},
		{"doca-ofed", "3.2.2", "rhel", "9.8", "5.14.0-687.24.1.el9_8.x86_64", []string{"el98-ofed-25.10"}},
		{"doca-ofed", "3.2.2", "rhel", "9.8", "5.14.0-687.12.1.el9_8.x86_64", []string{"el98-687.12.1"}},
		{"doca-ofed", "3.2.3", "rhel", "9.8", "5.14.0-687.25.1.el9_8.x86_64", []string{"el98-ofed-25.10-3.2.3"}},
		{"doca-ofed", "3.2.2", "rhel", "9.6", "5.14.0-570.12.1.el9_6.x86_64", nil},
		{"doca-ofed", "3.2.1", "ubuntu", "24.04", "6.17.0-1018-nvidia", []string{"ubuntu-6.17.0-1018"}},
		{"doca-ofed", "3.2.1", "debian", "13", "6.17.0-1018-nvidia", nil},
		{"doca-ofed", "3.0.0", "debian", "13", "6.17.2-1-pve", []string{"proxmox-9-kernel-6.17"}},
		{"doca-ofed", "2.10.0", "ubuntu", "24.04", "6.11.0-1007-nvidia-64k", []string{"nvme-kernel-6.11-ofed-25.01"}},
	} {
		var got []string
		for _, b := range x.Builds(tc.stack) {
			if x.Applies(b, stackVersionOf(t, tc.version), tc.id, tc.versionID, kernelOf(t, tc.kernel)) {
				got = append(got, b.ID)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s %s on %s %s %s: %s", tc.stack, tc.version, tc.id, tc.versionID, tc.kernel, diff)
		}
	}
}

func TestAppliesExcept(t *testing.T) {
	x := builtIn(t)
	b := Build{Except: []string{"5.14.0-1"}}
	if v := (version.StackVersion{}); x.Applies(b, v, "", "", kernelOf(t, "5.14.0-1")) || !x.Applies(b, v, "", "", kernelOf(t, "5.14.0-2")) {
		t.Error("a kernel that is known to differ is not left out")
	}
}

func TestOnSystem(t *testing.T) {
	for _, tc := range []struct {
		list          string
		id, versionID string
		want          bool
	}{
		{"rhel", "rhel", "9.4", true},
		{"rhel 9.4", "rhel", "9.4", true},
		{"rhel 9", "rhel", "9.4", true},
		{"rhel 9", "rhel", "9", true},
		{"rhel 9", "rhel", "90.1", false},
		{"rhel 9.4", "rhel", "9.40", false},
		{"rhel 9.4", "rocky", "9.4", false},
		{"rhel 9.4", "rhel", "", false},
	} {
		if got := OnSystem([]string{tc.list}, tc.id, tc.versionID); got != tc.want {
			t.Errorf("%q has %s %s: %v", tc.list, tc.id, tc.versionID, got)
		}
	}
}

func TestMeets(t *testing.T) {
	x := builtIn(t)
	v := stackVersionOf(t, "5.4-3.5.8.0")
	for _, tc := range []struct {
		constraints []string
		want        bool
	}{
		{nil, false},
		{[]string{">= 5.4-3.5.8.0, < 5.5"}, true},
		{[]string{"< 5", ">= 5.4"}, true},
		{[]string{"< 5", ">= 99.99.99"}, false}, // not of the matrix
		{[]string{"not a constraint"}, false},
	} {
		if got := x.Meets(tc.constraints, v); got != tc.want {
			t.Errorf("%v: %v", tc.constraints, got)
		}
	}
}

func TestRowsOfReleaseAndBranch(t *testing.T) {
	x := builtIn(t)
	r, _ := x.Find("mlnx-ofed", "24.04-0.6.6.0")
	kinds := map[Evidence]int{}
	for _, row := range x.Rows(r, "rhel") {
		kinds[row.Evidence]++
	}
	if kinds[ThirdParty] != 1 {
		t.Errorf("the branch's row is missing: %v", kinds)
	}
	// A RHEL row that names CentOS counts for it and not for Rocky.
	r, _ = x.Find("mlnx-ofed", "5.2-2.2.3.0")
	if len(x.Rows(r, "centos")) == 0 || len(x.Rows(r, "rocky")) != 0 {
		t.Errorf("%d rows of centos, %d of rocky", len(x.Rows(r, "centos")), len(x.Rows(r, "rocky")))
	}
}

func TestWholeFor(t *testing.T) {
	x := builtIn(t)
	for _, tc := range []struct {
		version, id string
		want        bool
	}{
		{"5.9-0.5.6.0.113", "anything", true},
		{"5.7-1.0.2.0", "debian", true},
		{"5.7-1.0.2.0", "rhel", false},
		{"5.7-1.0.2.0", "openeuler", false},
		{"5.4-3.4.0.0", "ol", false},
		{"24.10-0.7.0.0", "debian", false},
	} {
		r, ok := x.Find("mlnx-ofed", tc.version)
		if !ok || r.WholeFor(tc.id) != tc.want {
			t.Errorf("%s whole for %s is not %v", tc.version, tc.id, tc.want)
		}
	}
}

func TestLayouts(t *testing.T) {
	x := builtIn(t)
	for _, tc := range []struct{ stack, version, family, label string }{
		{"doca-ofed", "3.1.0", "rhel", "id+minor"},
		{"doca-ofed", "3.2.0", "rhel", "id+major"},
		{"doca-ofed", "3.2.0", "debian", "id+minor"},
		{"mlnx-ofed", "24.10-4.1.4.0", "suse", "id+minor"},
		{"ofed", "4.17-1", "rhel", ""},
	} {
		l, ok := x.Layout(tc.stack, stackVersionOf(t, tc.version), tc.family)
		if !ok || l.Label != tc.label {
			t.Errorf("%+v: %v %v", tc, l, ok)
		}
	}
	if old, _ := x.Layout("mlnx-ofed", stackVersionOf(t, "4.9-7.1.0.0"), "debian"); !slices.Contains(old.Modules, "mlx4_core") {
		t.Error("4.9 replaces mlx4_core")
	}
	if l, _ := x.Layout("mlnx-ofed", stackVersionOf(t, "5.8-7.0.6.1"), "debian"); slices.Contains(l.Modules, "mlx4_core") {
		t.Error("5.8 has no mlx4_core")
	}
	if _, ok := x.Layout("rdma-core", stackVersionOf(t, "64.0"), "debian"); ok {
		t.Error("rdma-core has a layout")
	}
}

func TestKMPLabels(t *testing.T) {
	x := builtIn(t)
	for _, tc := range []struct {
		label, kernel string
		want          bool
	}{
		{"rhel8.6", "4.18.0-372.9.1.el8.x86_64", true},
		{"rhel8.6", "4.18.0-372.9.1.custom", false},
		{"rhel7.6alternate", "4.14.0-115.el7a.aarch64", true},
		{"rhel7.6", "3.10.0-957.el7.x86_64", true},
		{"ol7.4", "4.1.12-94.3.9.el7uek.x86_64", true},
		{"ol7.6", "4.14.35-1818.3.3.el7uek.x86_64", false},
	} {
		k, ok := x.KMP(tc.label)
		if !ok {
			t.Errorf("%s is not known", tc.label)
			continue
		}
		if got := k.Kernel != "" && x.Named([]string{k.Kernel}, tc.kernel); got != tc.want {
			t.Errorf("%s on %s: %v", tc.kernel, tc.label, got)
		}
	}
	if k, ok := x.KMP("rhel9.4"); !ok || !k.NotChecked {
		t.Errorf("rhel9.4: %+v", k)
	}
	if _, ok := x.KMP("ubuntu22.04"); ok {
		t.Error("KMP on Ubuntu")
	}
}

func TestSystemsOfTheIndex(t *testing.T) {
	x := builtIn(t)
	if k, ok := x.GAKernel("rhel", "9.4"); !ok || k.Kernel != "5.14.0-427.13.1.el9_4" {
		t.Errorf("%+v", k)
	}
	if _, ok := x.GAKernel("ol", "8.6"); ok {
		t.Error("what vendor tables print for Oracle Linux is no GA kernel")
	}
	generic, _ := x.Inbox("debian", "12", "")
	cloud, ok := x.Inbox("debian", "12", "cloud-amd64")
	if !ok || !slices.Contains(generic.Present, "rdma_rxe") || !slices.Contains(cloud.Absent, "rdma_rxe") {
		t.Errorf("%+v\n%+v", generic, cloud)
	}
	if d, ok := x.CardDriver("connectx-8"); !ok || d.FirstKernel != "5.17" {
		t.Errorf("%+v", d)
	}
	if _, ok := x.CardDriver("connectx-77"); ok {
		t.Error("a card of no kind is known")
	}
}

func TestNewIndexRefuses(t *testing.T) {
	for name, m := range map[string]*Matrix{
		"version":    {Releases: []Release{{Stack: "mlnx-ofed", Version: "latest"}}},
		"constraint": {Cards: []CardRule{{Allowed: []string{"=> 5"}}}},
		"expression": {Builds: []Build{{KernelNames: []string{"("}}}},
		"KMP":        {KMP: []KMP{{Label: "x", Kernel: "("}}},
		"branch":     {Branches: []Branch{{Name: "1", Versions: []string{"one"}}}},
		"layout":     {Layouts: []Layout{{Versions: []string{"one"}}}},
	} {
		if _, err := NewIndex(m); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestIndexIsShared is for the race detector: many hosts are planned at the same time.
func TestIndexIsShared(t *testing.T) {
	x := builtIn(t)
	v, k := stackVersionOf(t, "5.4-3.1.0.0"), kernelOf(t, "5.14.0-1.el9.x86_64")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for _, r := range x.Releases("mlnx-ofed") {
				x.Rows(r, "rhel")
				x.Meets([]string{">= 5.1", "> 7.7.7"}, x.VersionOf(r))
			}
			for _, b := range x.Builds("mlnx-ofed") {
				x.Applies(b, v, "rhel", "9.4", k)
			}
			x.Layout("mlnx-ofed", v, "rhel")
			x.KMP("rhel8.4")
		})
	}
	all.Wait()
}
