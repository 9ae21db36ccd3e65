package matrix

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/internal/fault"
)

func load(t *testing.T, file, text string) *Matrix {
	t.Helper()
	m, err := Load(file, []byte(header+text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const mergeBase = `branches:
  - {stack: mlnx-ofed, name: "30.10", lts: true, versions: [">= 30.10, < 30.11"], start: "2030-10", source: [here]}
releases:
  - {stack: mlnx-ofed, version: "30.10-1.2.3.4", branch: "30.10", lts: "unknown", cards: [connectx-7], source: [here]}
cards:
  - {stack: mlnx-ofed, card: connectx-11, allowed: [">= 30.10"], text: from 30.10 on, source: [here]}
kernels:
  - {id: rhel, version_id: "11.0", kind: ga, kernel: "7.0.0-1.el11", source: here}
holdings:
  - {stack: mlnx-ofed, version: "30.10-1.2.3.4", id: rhel, version_id: "9.4", arch: x86_64, kernels: ["5.14.0-427"], origin: /srv/mirror, date: "2030-11-30T10:00:00Z"}
`

func TestMergeAdds(t *testing.T) {
	base := load(t, "base.yaml", mergeBase)
	before := encode(base)
	got, err := Merge(base, load(t, "more.yaml", `releases:
  - {stack: mlnx-ofed, version: "30.10.1.2.3.4", branch: "30.10", lts: "yes", date: "2030-10-31", cards: [connectx-7, connectx-8], rows: [{evidence: documented-table, id: rhel, version_id: "9.6"}], source: [there]}
  - {stack: mlnx-ofed, version: "30.10-2.0.0.0", branch: "30.10", lts: "yes", source: [there]}
kernels:
  - {id: rhel, version_id: "11.0", kind: ga, kernel: "7.0.0-1.el11", source: here}
  - {id: rhel, version_id: "11.0", kind: hwe, kernel: "7.2.0", source: there}
holdings:
  - {stack: mlnx-ofed, version: "30.10-1.2.3.4", id: rhel, version_id: "9.4", arch: x86_64, kernels: ["5.14.0-500"], origin: /srv/mirror, date: "2030-12-01T10:00:00Z"}
  - {stack: mlnx-ofed, version: "30.10-1.2.3.4", id: rhel, version_id: "9.4", arch: x86_64, kernels: ["5.14.0-427"], origin: /srv/other, date: "2030-12-01T10:00:00Z"}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := load(t, "want.yaml", `branches:
  - {stack: mlnx-ofed, name: "30.10", lts: true, versions: [">= 30.10, < 30.11"], start: "2030-10", source: [here]}
releases:
  - {stack: mlnx-ofed, version: "30.10-1.2.3.4", branch: "30.10", lts: "yes", date: "2030-10-31", cards: [connectx-7, connectx-8], rows: [{evidence: documented-table, id: rhel, version_id: "9.6"}], source: [here, there]}
  - {stack: mlnx-ofed, version: "30.10-2.0.0.0", branch: "30.10", lts: "yes", source: [there]}
cards:
  - {stack: mlnx-ofed, card: connectx-11, allowed: [">= 30.10"], text: from 30.10 on, source: [here]}
kernels:
  - {id: rhel, version_id: "11.0", kind: ga, kernel: "7.0.0-1.el11", source: here}
  - {id: rhel, version_id: "11.0", kind: hwe, kernel: "7.2.0", source: there}
holdings:
  - {stack: mlnx-ofed, version: "30.10-1.2.3.4", id: rhel, version_id: "9.4", arch: x86_64, kernels: ["5.14.0-500"], origin: /srv/mirror, date: "2030-12-01T10:00:00Z"}
  - {stack: mlnx-ofed, version: "30.10-1.2.3.4", id: rhel, version_id: "9.4", arch: x86_64, kernels: ["5.14.0-427"], origin: /srv/other, date: "2030-12-01T10:00:00Z"}
`)
	if diff := cmp.Diff(want, got, noPlaces()); diff != "" {
		t.Error(diff)
	}
	if string(before) != string(encode(base)) {
		t.Error("Merge changed what it was given")
	}
}

func TestMergeWithNothing(t *testing.T) {
	base := load(t, "base.yaml", mergeBase)
	if got, err := Merge(base); err != nil || got != base {
		t.Errorf("%p %v", got, err)
	}
}

func TestMergeFaults(t *testing.T) {
	for _, tt := range []struct{ name, more, want string }{
		{
			"no contradiction",
			"releases:\n  - {stack: mlnx-ofed, version: \"30.10-2.0.0.0\", branch: \"30.10\", lts: \"yes\", date: \"2031-01\", source: [there]}\n" +
				"  - {stack: mlnx-ofed, version: \"30.10-1.2.3.4\", branch: \"30.10\", lts: \"unknown\", cards_sure: carried, source: [there]}\n",
			"",
		},
		{
			"another start",
			"branches:\n  - {stack: mlnx-ofed, name: \"30.10\", lts: true, versions: [\">= 30.10, < 30.11\"], start: \"2030-11\", source: [there]}\n",
			"more.yaml:4:5: branch mlnx-ofed 30.10: start 2030-11 contradicts 2030-10 of base.yaml:4:5",
		},
		{
			"LTS or not",
			"branches:\n  - {stack: mlnx-ofed, name: \"30.10\", lts: false, versions: [\">= 30.10, < 30.11\"], source: [there]}\n",
			"more.yaml:4:5: branch mlnx-ofed 30.10: lts false contradicts true of base.yaml:4:5",
		},
		{
			"another rule",
			"cards:\n  - {stack: mlnx-ofed, card: connectx-11, allowed: [\">= 20\"], text: earlier, source: [there]}\n",
			"more.yaml:4:5: rule for connectx-11 with mlnx-ofed contradicts the one of base.yaml:8:5",
		},
		{
			"another model of a row",
			"releases:\n  - {stack: mlnx-ofed, version: \"30.10-3.0.0.0\", branch: \"30.10\", lts: \"yes\", source: [there], rows: [{evidence: documented-table, id: rhel, version_id: \"9.4\", model: primary}, {evidence: documented-table, id: rhel, version_id: \"9.4\", model: community}]}\n",
			"more.yaml:4:5: release mlnx-ofed 30.10-3.0.0.0 has rhel 9.4 with the models primary and community",
		},
		{
			"another first kernel",
			"kernels:\n  - {id: rhel, version_id: \"11.0\", kind: ga, kernel: \"7.0.0-2.el11\", source: there}\n",
			"more.yaml:4:5: ga kernel of rhel 11.0 contradicts the one of base.yaml:10:5",
		},
		{
			"no such branch",
			"releases:\n  - {stack: mlnx-ofed, version: \"31.1-1.0.0.0\", branch: \"31.1\", lts: \"no\", source: [there]}\n",
			"more.yaml:4:5: release mlnx-ofed 31.1-1.0.0.0 is of branch 31.1, which no file has; mlnx-ofed has 30.10",
		},
		{
			"branch of another stack",
			"releases:\n  - {stack: doca-ofed, version: \"30.10.1\", branch: \"30.10\", lts: \"no\", source: [there]}\n",
			"more.yaml:4:5: release doca-ofed 30.10.1 is of branch 30.10, which no file has; doca-ofed has ",
		},
		{
			"outside of its branch",
			"releases:\n  - {stack: mlnx-ofed, version: \"31.1-1.0.0.0\", branch: \"30.10\", lts: \"no\", source: [there]}\n",
			"more.yaml:4:5: release mlnx-ofed 31.1-1.0.0.0 does not meet the versions of its branch 30.10",
		},
		{
			"recommends what is not",
			"cards:\n  - {stack: mlnx-ofed, card: connectx-12, allowed: [\">= 20\"], recommended: \"20.1\", text: old, source: [there]}\n",
			"more.yaml:4:5: rule for connectx-12 recommends branch 20.1, which no file has; mlnx-ofed has 30.10",
		},
		{
			"another constraint and an end",
			"branches:\n  - {stack: mlnx-ofed, name: \"30.10\", lts: true, versions: [\">= 30\"], end_stated: \"2033-11\", source: [there]}\n",
			"",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Merge(load(t, "base.yaml", mergeBase), load(t, "more.yaml", tt.more))
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || err.Error() != tt.want {
				t.Errorf("got\n%v\nwant\n%s", err, tt.want)
			}
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("kind %v", fault.KindOf(err))
			}
		})
	}
}

// TestMergeNamesBuiltIn: the built-in matrix has no file to name.
func TestMergeNamesBuiltIn(t *testing.T) {
	base, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	_, err = Merge(base, load(t, "mine.yaml", "releases:\n  - {stack: mlnx-ofed, version: \"24.10-4.1.4.0\", branch: \"24.10\", lts: \"no\", date: \"2020-01\", source: [me]}\n"))
	want := "mine.yaml:4:5: release mlnx-ofed 24.10-4.1.4.0: lts no contradicts yes of the built-in matrix\n" +
		"mine.yaml:4:5: release mlnx-ofed 24.10-4.1.4.0: date 2020-01 contradicts 2026-01-15 of the built-in matrix"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}
