package apt_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/plan"
)

// What apt itself would take for an order or a pattern never reaches it as one.
func TestRealNamesAreOnlyNames(t *testing.T) {
	ctx := context.Background()
	r, m := stocked(t)
	r.deb("cc++", "1.0", "", "")
	r.publish()
	if _, err := m.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	apply(t, m, "gamma=1.0", "cc++=1.0")
	before := versions(t, m)
	if before["cc++"] != "1.0" {
		t.Errorf("a package named after C++ was not installed: %v", before)
	}
	for _, tt := range []struct{ name, apt string }{
		{"gamma-", "Remv gamma"},
		{"alpha+", "Inst alpha"},
		{"alph.", "Inst alpha"},
		{"al.ha", "Inst alpha"},
		{"^alph", "Inst alpha"},
		{"alph*", "Inst alpha"},
		{"alpha/stable", "Inst alpha"},
	} {
		raw, err := r.exec([]string{"apt-get", "-s", "install", tt.name}, nil)
		if err != nil {
			t.Fatal(err)
		}
		// Which patterns apt takes differs by version; orders it takes in each.
		if order := strings.HasSuffix(tt.name, "-") || strings.HasSuffix(tt.name, "+"); order && !strings.Contains(raw.Stdout, tt.apt) {
			t.Errorf("apt-get install %s does not show %q, this test shows nothing:\n%s%s", tt.name, tt.apt, raw.Stdout, raw.Stderr)
		}
		if sol, err := m.Solve(ctx, request(tt.name+"=1.0")); err == nil {
			t.Errorf("%s was solved: %v", tt.name, sol.Actions)
		}
		if sol, err := m.Solve(ctx, request(tt.name)); err == nil {
			t.Errorf("%s without a version was solved: %v", tt.name, sol.Actions)
		}
		for _, action := range []string{"install", "upgrade"} {
			p := plan.Plan{Schema: plan.Schema, Verdict: plan.Install, Steps: []plan.Step{{
				ID: "packages", Kind: plan.KindPackages,
				Changes: plan.Changes{Packages: []plan.PackageChange{{Name: tt.name, Action: action}}},
			}}}
			if sol, _, err := install.Resolve(ctx, r, p); err == nil {
				t.Errorf("a plan to %s %s resolves to %v", action, tt.name, sol.Actions)
			}
		}
	}
	if diff := cmp.Diff(before, versions(t, m)); diff != "" {
		t.Errorf("packages changed:\n%s", diff)
	}
}

// A solution is about the packages that were asked for, or it is none.
func TestRealPatternIsNoAnswer(t *testing.T) {
	ctx := context.Background()
	r, m := stocked(t)
	raw, err := r.exec([]string{"apt-get", "-s", "install", "al.ha=1.0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("apt itself: exit %d\n%s%s", raw.Exit, raw.Stdout, raw.Stderr)
	if sol, err := m.Solve(ctx, request("al.ha=1.0")); err == nil {
		t.Errorf("solved: %v", sol.Actions)
	}
	if _, err := m.Solve(ctx, request("alpha=1.0")); err != nil {
		t.Error(err)
	}
}
