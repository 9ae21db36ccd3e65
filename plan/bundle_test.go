package plan_test

import (
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/plan"
)

func TestPlaceOfABundle(t *testing.T) {
	sum := strings.Repeat("a", 64)
	for _, c := range []struct{ folder, repository, want string }{
		{"MLNX/DEBS", "MLNX/DEBS", "repository"},
		{"MLNX/DEBS", "MLNX/DEBS/MLNX_LIBS", "repository/MLNX_LIBS"},
		{"usr/share/doca-host-2.9.2/repo", "usr/share/doca-host-2.9.2/repo", "repository"},
		{".", ".", "repository"},
		{".", "repo", "repository/repo"},
		{"repo", "repo", "repository"},
	} {
		b := plan.BundleChange{SHA256: sum, Folder: c.folder, Repository: c.repository}
		if got := b.Place(); got != plan.SourcesDir+"/"+sum+"/"+c.want {
			t.Errorf("%+v: %s", c, got)
		}
		b.OwnIndex = true // is another repository of the same file
		if got := b.Place(); got != plan.SourcesDir+"/"+sum+"-indexed/"+c.want {
			t.Errorf("%+v with an index of our own: %s", c, got)
		}
	}
	r := plan.RepositoryChange{URL: "/x"}
	if r.Origin() != "/x" {
		t.Errorf("%s", r.Origin())
	}
	if r.Bundle = (&plan.BundleChange{File: "/srv/b.tgz"}); r.Origin() != "/srv/b.tgz" {
		t.Errorf("%s", r.Origin())
	}
}
