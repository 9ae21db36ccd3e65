package rules

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRowsOfTheSystem compares the rows that are found for a host with a search through all rows.
func TestRowsOfTheSystem(t *testing.T) {
	index := embeddedIndex(t)
	with, without := 0, 0
	for _, host := range []change{
		system("rhel", "9.4", "rhel", "5.14.0-427.13.1.el9_4.x86_64"),
		system("rocky", "8.10", "rhel", "4.18.0-553.el8_10.x86_64"),
		system("rocky", "9", "rhel", "5.14.0-427.13.1.el9_4.x86_64"),
		system("ol", "8.6", "rhel", "5.4.17-2136.307.3.1.el8uek.x86_64"),
		system("ubuntu", "22.04", "debian", "5.15.0-101-generic"),
		system("debian", "12", "debian", "6.1.0-18-amd64"),
		system("sles", "15.5", "suse", "5.14.21-150500.53-default"),
		system("gentoo", "2.15", "gentoo", "6.6.1-gentoo"),
		system("", "", "", ""),
	} {
		in := vendorInput(t, index, host)
		for _, stack := range []string{"mlnx-ofed", "doca-ofed", "ofed", "rdma-core"} {
			h := newVendorHost(in, stack)
			for at, r := range index.Releases(stack) {
				var want []systemMatch
				for i := range r.Rows {
					if official, minor, ok := h.system.matches(&r.Rows[i]); ok {
						want = append(want, systemMatch{&r.Rows[i], official, minor})
					}
				}
				got := h.rowsFor(at)
				if diff := cmp.Diff(want, append([]systemMatch(nil), got...), cmp.AllowUnexported(systemMatch{})); diff != "" {
					t.Errorf("%s: %s %s:\n%s", h.system.name, stack, r.Version, diff)
				}
				if len(got) > 0 {
					with++
				} else {
					without++
				}
			}
		}
	}
	if with == 0 || without == 0 {
		t.Errorf("%d releases have rows, %d have none", with, without)
	}
}

// TestFindingsAreKeptApart: lists side by side do not run into one another.
func TestFindingsAreKeptApart(t *testing.T) {
	var s findingStore
	room := []Finding{{Text: "a"}, {Text: "b"}}
	first := s.keep(room)
	room = append(room[:0], Finding{Text: "c"})
	second := s.keep(room)
	grown := append(first, Finding{Text: "d"})
	many := make([]Finding, 200)
	many[199].Text = "e"
	third := s.keep(many)
	texts := func(list []Finding) (out []string) {
		for _, f := range list {
			out = append(out, f.Text)
		}
		return out
	}
	for _, tt := range []struct{ got, want []string }{
		{texts(first), []string{"a", "b"}},
		{texts(second), []string{"c"}},
		{texts(grown), []string{"a", "b", "d"}},
		{texts(third)[198:], []string{"", "e"}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Error(diff)
		}
	}
	if got := s.keep(room[:0]); got != nil {
		t.Errorf("an empty list is kept as %v", got)
	}
}

// TestCandidatesShareNothing: what is appended to one candidate's lists does not reach another's.
func TestCandidatesShareNothing(t *testing.T) {
	in := vendorInput(t, embeddedIndex(t))
	all, want := Candidates(in, "doca-ofed"), Candidates(in, "doca-ofed")
	for i := range all {
		_ = append(all[i].Reasons, Finding{Text: "of another"})
		_ = append(all[i].Warnings, Finding{Text: "of another"})
		_ = append(all[i].Refusals, Finding{Text: "of another"})
	}
	for i := range all {
		for _, pair := range [][2][]Finding{{want[i].Reasons, all[i].Reasons}, {want[i].Warnings, all[i].Warnings}, {want[i].Refusals, all[i].Refusals}} {
			if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
				t.Errorf("%s: %s", all[i].Release.Version, diff)
			}
		}
	}
}
