package matrix

import (
	"strings"
	"testing"
)

// TestCostsBelongToTheirRelease: what was measured of one release is not told of another.
func TestCostsBelongToTheirRelease(t *testing.T) {
	x := builtIn(t)
	of := func(version string) (exact, others int) {
		r, ok := x.Find("rdma-core", version)
		if !ok {
			t.Fatalf("no release %s", version)
		}
		a, b := x.Costs("rdma-core", x.VersionOf(r))
		return len(a), len(b)
	}
	if exact, others := of("64.0"); exact != 1 || others != 1 {
		t.Errorf("64.0: %d of it, %d of others", exact, others)
	}
	if exact, others := of("60.0"); exact != 0 || others != 2 {
		t.Errorf("60.0: %d of it, %d of others", exact, others)
	}
	for _, k := range x.Matrix().Costs {
		if k.Stack == "doca-ofed" {
			t.Errorf("%s: no source was seen that tells a cost of DOCA-OFED", k.ID)
		}
	}
}

// TestFaultyCosts: an entry says what it is of, and says it once.
func TestFaultyCosts(t *testing.T) {
	const head = "apiVersion: rdmactl/v1\nkind: Matrix\ncosts:\n"
	const sound = `  - {id: a, stack: rdma-core, versions: ["= 1.0"], minutes: 3, disk_mb: 4, disk: installed, on: "1 core", source: [seen]}` + "\n"
	if _, err := Load("costs.yaml", []byte(head+sound)); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ old, with, want string }{
		{"minutes: 3", "minutes: -3", "-3 is no time"},
		{"disk_mb: 4", "disk_mb: -4", "-4 is not a size"},
		{"minutes: 3, disk_mb: 4, disk: installed, ", "", "neither minutes nor disk_mb"},
		{"disk: installed", "disk: perhaps", `"perhaps" is not one of installed, required`},
		{"disk: installed, ", "", "disk_mb and disk belong together"},
		{"minutes: 3", "up_to: true", "up_to: it has no minutes"},
		{`on: "1 core", `, "", `key "on" is missing`},
		{"= 1.0", "1.0 or so", "cannot read version constraint"},
		{", source: [seen]", "", `key "source" is missing`},
		{sound, sound + sound, "cost a is already given"},
	} {
		text := head + strings.Replace(sound, tc.old, tc.with, 1)
		if _, err := Load("costs.yaml", []byte(text)); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "up_to: ", ""), strings.TrimPrefix(tc.want, "up_to: ")) {
			t.Errorf("%s: %v, want %q", tc.with, err, tc.want)
		}
	}
}
