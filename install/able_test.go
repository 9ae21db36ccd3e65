package install

import (
	"errors"
	"testing"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

func TestAble(t *testing.T) {
	withPackages := []plan.Step{{ID: "packages", Kind: plan.KindPackages}}
	files := []plan.Step{{ID: "memlock", Kind: plan.KindFiles}}
	for name, tc := range map[string]struct {
		plan    plan.Plan
		manager string
		code    string
	}{
		"inbox with apt":          {plan.Plan{Verdict: plan.Install, Chosen: &plan.Choice{Stack: "inbox"}, Steps: withPackages}, "apt", ""},
		"inbox with dnf":          {plan.Plan{Verdict: plan.Install, Chosen: &plan.Choice{Stack: "inbox"}, Steps: withPackages}, "dnf", ""},
		"inbox with apk":          {plan.Plan{Verdict: plan.Install, Chosen: &plan.Choice{Stack: "inbox"}, Steps: withPackages}, "apk", "manager-not-supported"},
		"only files with apk":     {plan.Plan{Verdict: plan.Install, Chosen: &plan.Choice{Stack: "inbox"}, Steps: files}, "apk", ""},
		"a vendor stack with apt": {plan.Plan{Verdict: plan.Install, Chosen: &plan.Choice{Stack: "doca-ofed", Version: "3.2.3"}, Steps: withPackages}, "apt", ""},
		"a vendor stack with dnf": {plan.Plan{Verdict: plan.Install, Chosen: &plan.Choice{Stack: "doca-ofed", Version: "3.2.3"}, Steps: withPackages}, "dnf", ""},
		"a vendor's script":       {plan.Plan{Verdict: plan.Install, Chosen: &plan.Choice{Stack: "ofed", Version: "4.17-1", Method: "vendor-script"}, Steps: withPackages}, "apt", "stack-not-installable"},
		"modules built by one":    {plan.Plan{Verdict: plan.Install, Chosen: &plan.Choice{Stack: "mlnx-ofed", Version: "24.10-1.1.4.0", Modules: "built"}, Steps: withPackages}, "apt", "stack-not-installable"},
		"built from source":       {plan.Plan{Verdict: plan.Install, Chosen: &plan.Choice{Stack: "rdma-core", Version: "64.0", Method: "source"}, Steps: withPackages}, "apt", ""},
		"a vendor stack in place": {plan.Plan{Verdict: plan.NothingToDo, Chosen: &plan.Choice{Stack: "doca-ofed"}}, "apt", ""},
	} {
		tc.plan.Manager = tc.manager
		err := Able(tc.plan)
		var code string
		if f := (*fault.Error)(nil); errors.As(err, &f) {
			code = f.Code
			if f.Kind != fault.Stopped || f.Hint == "" {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if code != tc.code {
			t.Errorf("%s: code %q, want %q", name, code, tc.code)
		}
	}
}

func TestConsented(t *testing.T) {
	old := plan.Plan{Verdict: plan.Install, Chosen: &plan.Choice{Stack: "ofed", Version: "4.17-1"}, Steps: []plan.Step{{ID: "vendor-script", Kind: plan.KindVendorScript}}}
	var f *fault.Error
	if err := Consented(old, false); !errors.As(err, &f) || f.Kind != fault.Stopped || f.Code != "not-maintained" || f.Hint == "" {
		t.Errorf("a stack that nobody maintains was let through: %v", err)
	}
	living := old
	living.Chosen = &plan.Choice{Stack: "mlnx-ofed", Version: "24.10-2.1.8.0"}
	for _, err := range []error{Consented(old, true), Consented(living, false), Consented(plan.Plan{Verdict: plan.NothingToDo, Chosen: old.Chosen}, false)} {
		if err != nil {
			t.Error(err)
		}
	}
}

func TestAllowed(t *testing.T) {
	unknown := plan.Plan{Verdict: plan.Install, Chosen: &plan.Choice{Stack: "mlnx-ofed", Version: "24.10-4.1.4.0", Status: plan.Unknown}, Steps: []plan.Step{{ID: "repository", Kind: plan.KindRepository}}}
	var f *fault.Error
	if err := Allowed(unknown, false); !errors.As(err, &f) || f.Kind != fault.Stopped || f.Code != "unknown-combination" || f.Hint == "" {
		t.Errorf("an unknown combination was let through: %v", err)
	}
	unknown.Steps = []plan.Step{{ID: "packages", Kind: plan.KindPackages}}
	if err := Allowed(unknown, false); !errors.As(err, &f) {
		t.Errorf("packages of an unknown combination were let through: %v", err)
	}
	stays := unknown
	stays.Steps = []plan.Step{{ID: "memlock", Kind: plan.KindFiles}}
	documented := unknown
	documented.Chosen = &plan.Choice{Stack: "mlnx-ofed", Status: plan.Supported}
	inbox := unknown
	inbox.Chosen = &plan.Choice{Stack: "inbox", Status: plan.Unknown}
	for name, err := range map[string]error{"with the switch": Allowed(unknown, true), "documented": Allowed(documented, false), "one that stays": Allowed(stays, false), "inbox": Allowed(inbox, false)} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
