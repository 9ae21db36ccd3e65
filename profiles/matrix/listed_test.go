package matrix

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSystemRowsAreAllRows compares the index with a search through all rows.
func TestSystemRowsAreAllRows(t *testing.T) {
	x := builtIn(t)
	found := 0
	for _, stack := range []string{"mlnx-ofed", "doca-ofed", "ofed", "rdma-core", "inbox"} {
		for _, id := range []string{"rhel", "rocky", "almalinux", "centos", "ol", "ubuntu", "debian", "sles", "openeuler", "kernel_org", "gentoo", ""} {
			for _, like := range []string{"", "rhel"} {
				var want []SystemRow
				for at, r := range x.Releases(stack) {
					for i := range r.Rows {
						row := &r.Rows[i]
						names := func(id string) bool { return row.ID == id || slices.Contains(row.Covers, id) }
						if names(id) || like != "" && names(like) {
							want = append(want, SystemRow{Release: at, Position: i, Row: row})
						}
					}
				}
				if got := x.SystemRows(stack, id, like); !slices.Equal(got, want) {
					t.Errorf("%s for %q like %q: %d rows, want %d", stack, id, like, len(got), len(want))
				}
				found += len(want)
			}
		}
		if rows := x.SystemRows(stack, "gentoo", ""); len(rows) > 0 {
			t.Errorf("%s has rows for a system that no table has: %+v", stack, rows[0].Row)
		}
	}
	if found == 0 {
		t.Error("no row was found")
	}
}

// TestSystemRowsOnce: a row that names an id twice, or is of both systems, is there once, between its
// neighbours.
func TestSystemRowsOnce(t *testing.T) {
	x, err := NewIndex(&Matrix{Releases: []Release{
		{Stack: "doca-ofed", Version: "1.0", Rows: []Row{
			{ID: "ubuntu"}, {ID: "rhel", Covers: []string{"rocky", "rhel", "rocky"}}, {ID: "rocky"}, {ID: "rhel"}, {ID: "ol", Covers: []string{"rocky"}},
		}},
		{Stack: "doca-ofed", Version: "2.0", Rows: []Row{{ID: "rhel"}, {ID: "rocky"}}},
		{Stack: "mlnx-ofed", Version: "1.0", Rows: []Row{{ID: "rocky"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	at := func(stack, id, like string) [][2]int {
		var out [][2]int
		for _, r := range x.SystemRows(stack, id, like) {
			out = append(out, [2]int{r.Release, r.Position})
		}
		return out
	}
	for _, tt := range []struct {
		stack, id, like string
		want            [][2]int
	}{
		{"doca-ofed", "rocky", "", [][2]int{{0, 1}, {1, 1}, {1, 2}, {1, 4}}},
		{"doca-ofed", "rocky", "rhel", [][2]int{{0, 0}, {0, 1}, {1, 1}, {1, 2}, {1, 3}, {1, 4}}},
		{"doca-ofed", "rhel", "rhel", [][2]int{{0, 0}, {1, 1}, {1, 3}}},
		{"doca-ofed", "scientific", "rhel", [][2]int{{0, 0}, {1, 1}, {1, 3}}},
		{"doca-ofed", "scientific", "", nil},
		{"mlnx-ofed", "rocky", "rhel", [][2]int{{0, 0}}},
		{"mlnx-ofed", "rhel", "", nil},
	} {
		if diff := cmp.Diff(tt.want, at(tt.stack, tt.id, tt.like)); diff != "" {
			t.Errorf("%s %s like %q:\n%s", tt.stack, tt.id, tt.like, diff)
		}
	}
}

// TestListedSaysWhatTheQuestionsSay: what is worked out beforehand is what the index answers.
func TestListedSaysWhatTheQuestionsSay(t *testing.T) {
	x := builtIn(t)
	layouts, none, branches := 0, 0, 0
	for _, stack := range []string{"mlnx-ofed", "doca-ofed", "ofed", "rdma-core"} {
		list, releases := x.Listed(stack), x.Releases(stack)
		if len(list) != len(releases) || len(list) == 0 {
			t.Fatalf("%s: %d of %d releases", stack, len(list), len(releases))
		}
		for i := range list {
			l := &list[i]
			if l.Release != releases[i] || l.Version.Compare(x.VersionOf(releases[i])) != 0 {
				t.Errorf("%s: release %d is %s", stack, i, l.Release.Version)
			}
			branch, ok := x.Branch(stack, l.Release.Branch)
			if l.Branch != branch || ok != (l.Branch != nil) {
				t.Errorf("%s %s has the branch %v", stack, l.Release.Version, l.Branch)
			}
			if ok {
				branches++
			}
			for _, family := range []string{"", "debian", "rhel", "suse", "arch"} {
				want, ok := x.Layout(stack, l.Version, family)
				if got := l.Layout(family); got != want || ok != (got != nil) {
					t.Errorf("%s %s for %q: %v, want %v", stack, l.Release.Version, family, got, want)
				}
				if ok {
					layouts++
				} else {
					none++
				}
			}
		}
	}
	if x.Listed("inbox") != nil || branches == 0 || layouts == 0 || none == 0 {
		t.Errorf("%d branches, %d layouts, %d times none", branches, layouts, none)
	}
}
