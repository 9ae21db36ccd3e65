package install

import (
	"context"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// offering is a solver that knows what repositories have.
type offering struct {
	pkgmgr.Solver
	offers map[string][]pkgmgr.Offer
}

func (o offering) Versions(context.Context, []string) (map[string][]pkgmgr.Offer, error) {
	return o.offers, nil
}

func TestOwnRelease(t *testing.T) {
	const url = "https://me:secret@mirror.example.com/mlnx_ofed/all/rhel9.4/x86_64/"
	p := plan.Plan{Steps: []plan.Step{
		{ID: "packages", Kind: plan.KindPackages},
		{ID: "repository", Kind: plan.KindRepository, Changes: plan.Changes{Repository: &plan.RepositoryChange{
			URL: url, File: "/etc/yum.repos.d/rdmactl-mlnx-ofed.repo", Packages: map[string][]string{
				"mlnx-ofed-all": {"24.10-1.1.4.0.rhel9.4"}, "perftest": {"24.10-1"}, "kmod": {"1-1", "1-2"},
			},
		}}},
	}}
	solver := offering{offers: map[string][]pkgmgr.Offer{
		"mlnx-ofed-all": {{Version: "24.10-2.1.8.0.rhel9.4", Repository: "rdmactl-mlnx-ofed"}, {Version: "24.10-1.1.4.0.rhel9.4", Repository: "rdmactl-mlnx-ofed"}},
		"perftest":      {{Version: "25.1-1.el9", Repository: "appstream"}, {Version: "24.10-1", Repository: "rdmactl-mlnx-ofed"}},
		"kmod":          {{Version: "2-1", Repository: strings.TrimSuffix(url, "/")}}, // as apt tells it
	}}
	for name, one := range map[string]struct {
		actions []plan.ResolvedPackage
		says    string
	}{
		"its own":            {[]plan.ResolvedPackage{{Name: "mlnx-ofed-all", Version: "24.10-1.1.4.0.rhel9.4", Action: "install"}, {Name: "kmod", Version: "1-2", Action: "upgrade"}}, ""},
		"what goes":          {[]plan.ResolvedPackage{{Name: "kmod", From: "0-1", Action: "remove"}}, ""},
		"the distribution's": {[]plan.ResolvedPackage{{Name: "perftest", Version: "25.1-1.el9", Action: "install"}, {Name: "bash", Version: "5-1", Action: "install"}}, ""},
		"a newer release":    {[]plan.ResolvedPackage{{Name: "mlnx-ofed-all", Version: "24.10-2.1.8.0.rhel9.4", Action: "install"}}, "mlnx-ofed-all 24.10-2.1.8.0.rhel9.4, not 24.10-1.1.4.0.rhel9.4"},
		"by its address":     {[]plan.ResolvedPackage{{Name: "kmod", Version: "2-1", Action: "install"}}, "kmod 2-1, not 1-1 or 1-2"},
		"of nobody":          {[]plan.ResolvedPackage{{Name: "perftest", Version: "9-9", Action: "install"}}, "perftest 9-9, not 24.10-1"},
	} {
		err := ownRelease(t.Context(), solver, p, plan.Solution{Actions: one.actions})
		switch {
		case one.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case one.says != "" && (fault.KindOf(err) != fault.Stopped || !strings.Contains(err.Error(), one.says) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%s: %v, want %q", name, err, one.says)
		}
	}
}
