package dnf

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

func TestOffered(t *testing.T) {
	offers, err := parseOffers("libibverbs\t0\t48.0\t1.el9\tx86_64\tappstream\nlibibverbs\t0\t2410mlnx54\t1.2410068\tx86_64\tdoca\nlibibverbs\t0\t46.0\t1.el9\tx86_64\tappstream\nlibibverbs-utils\t0\t48.0\t1.el9\tx86_64\tappstream\n")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]pkgmgr.Offer{"libibverbs": {
		{Version: "2410mlnx54-1.2410068", Repository: "doca"}, {Version: "48.0-1.el9", Repository: "appstream"}, {Version: "46.0-1.el9", Repository: "appstream"},
	}}
	if diff := cmp.Diff(want, offered([]string{"libibverbs", "ofed-scripts"}, offers)); diff != "" {
		t.Error(diff)
	}
	if got := offered([]string{"libibverbs:i686"}, offers); len(got["libibverbs:i686"]) != 0 {
		t.Errorf("of another architecture: %v", got)
	}
}

// What is looked away from is said with each command.
func TestWithout(t *testing.T) {
	m := &Manager{}
	if slices.ContainsFunc(m.options(dnf4), func(o string) bool { return o == "--disablerepo=doca" }) {
		t.Error("it is looked away from unasked")
	}
	m.without = []string{"doca"}
	for _, d := range []dialect{dnf4, dnf5, yum3} {
		if !slices.Contains(m.options(d), "--disablerepo=doca") {
			t.Errorf("%s: %q", d.program(), m.options(d))
		}
	}
}
