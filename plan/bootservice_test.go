package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan"
)

// enterprise is a host of the RHEL family with a ConnectX-3.
func enterprise(id, version, kernel string, changes ...change) facts.Facts {
	all := append([]change{connectX3, func(f *facts.Facts) {
		f.Distro.ID, f.Distro.Family = facts.Is(id, "/etc/os-release"), facts.Is("rhel", "/etc/os-release")
		f.Distro.Codename, f.Distro.PrettyName = facts.None[string]("/etc/os-release"), facts.Is(id+" "+version, "/etc/os-release")
		f.Packages.Manager = facts.Is("yum", "/usr/bin/yum")
		f.Kernel.Flavour = facts.Field[string]{}
	}}, changes...)
	return host(version, kernel, "", all...)
}

func rdmaService(load, enabled, active string) change {
	return services(facts.Service{
		Name: "rdma.service", Load: facts.Is(load, "systemctl show"), Enabled: facts.Is(enabled, "systemctl is-enabled"), Active: facts.Is(active, "systemctl show"),
	})
}

// The service rdma is off after the installation on RHEL 7 before 7.4 and its rebuilds, and only there.
func TestBootService(t *testing.T) {
	const el73, el79 = "3.10.0-514.el7.x86_64", "3.10.0-1160.el7.x86_64"
	for name, tc := range map[string]struct {
		f    facts.Facts
		req  plan.Request
		want string // actions in order, empty for no step
		undo string
	}{
		"rhel 7.3":             {enterprise("rhel", "7.3", el73), plan.Request{}, "enable start", "stop and disable rdma.service"},
		"rhel 7.0":             {enterprise("rhel", "7.0", "3.10.0-123.el7.x86_64"), plan.Request{}, "enable start", ""},
		"oracle linux 7.3":     {enterprise("ol", "7.3", el73), plan.Request{}, "enable start", ""},
		"centos 7, of 7.3":     {enterprise("centos", "7", el73, func(f *facts.Facts) { f.Distro.PointRelease = facts.Is("7.3.1611", "/etc/redhat-release") }), plan.Request{}, "enable start", ""},
		"off and inactive":     {enterprise("rhel", "7.3", el73, rdmaService("loaded", "disabled", "inactive")), plan.Request{}, "enable start", ""},
		"started by udev":      {enterprise("rhel", "7.3", el73, rdmaService("loaded", "disabled", "active")), plan.Request{}, "enable", "disable rdma.service"},
		"enabled, not yet up":  {enterprise("rhel", "7.3", el73, rdmaService("loaded", "enabled", "inactive")), plan.Request{}, "start", "stop rdma.service"},
		"for a coming kernel":  {enterprise("rhel", "7.3", el73), plan.Request{Kernel: "3.10.0-514.26.2.el7.x86_64"}, "enable", ""},
		"not to come into use": {enterprise("rhel", "7.3", el73), plan.Request{Activate: plan.ActivateNone}, "enable", ""},

		"in place":                 {enterprise("rhel", "7.3", el73, rdmaService("loaded", "enabled", "active")), plan.Request{}, "", ""},
		"masked":                   {enterprise("rhel", "7.3", el73, rdmaService("masked", "masked", "inactive")), plan.Request{}, "", ""},
		"rhel 7.4":                 {enterprise("rhel", "7.4", "3.10.0-693.el7.x86_64"), plan.Request{}, "", ""},
		"rhel 7.9":                 {enterprise("rhel", "7.9", el79), plan.Request{}, "", ""},
		"centos 7, minor not told": {enterprise("centos", "7", el79), plan.Request{}, "", ""},
		"rhel 8.3":                 {enterprise("rhel", "8.3", "4.18.0-240.el8.x86_64"), plan.Request{}, "", ""},
		"rhel 6.9":                 {enterprise("rhel", "6.9", "2.6.32-696.el6.x86_64"), plan.Request{}, "", ""},
		"debian 12":                {bookworm(connectX3), plan.Request{}, "", ""},
		"without systemd":          {enterprise("rhel", "7.3", el73, func(f *facts.Facts) { f.Platform.Systemd = facts.Is(false, "/run") }), plan.Request{}, "", ""},
		"a root directory":         {enterprise("rhel", "7.3", el73, func(f *facts.Facts) { f.Origin = "root" }), plan.Request{}, "", ""},
		"rdma-core from source":    {enterprise("rhel", "7.3", el73), plan.Request{Stack: "rdma-core"}, "", ""},
	} {
		req := tc.req
		if req.Stack == "" {
			req.Stack = "inbox"
		}
		got := makePlan(t, tc.f, "inbox", req)
		if got.Verdict == plan.Refuse {
			t.Errorf("%s: %s", name, got.Summary)
			continue
		}
		i := slices.IndexFunc(got.Steps, func(s plan.Step) bool { return s.ID == "boot-service" })
		if tc.want == "" {
			if i >= 0 {
				t.Errorf("%s: there is a step %q", name, got.Steps[i].Summary)
			}
			continue
		}
		if i < 0 {
			t.Errorf("%s: no step among %v", name, stepIDs(got))
			continue
		}
		var actions []string
		for _, c := range got.Steps[i].Changes.Services {
			if c.Name != "rdma.service" {
				t.Errorf("%s: %s of %q", name, c.Action, c.Name)
			}
			actions = append(actions, c.Action)
		}
		if have := strings.Join(actions, " "); have != tc.want || !strings.HasPrefix(got.Steps[i].Undo, tc.undo) {
			t.Errorf("%s: %q, undone by %q", name, have, got.Steps[i].Undo)
		}
		if p := slices.Index(stepIDs(got), "packages"); p > i {
			t.Errorf("%s: the service comes before its package: %v", name, stepIDs(got))
		}
	}
}

// ofedInfoOnly has its packages told by an excerpt, so that nobody knows what else there is.
func ofedInfoOnly(f *facts.Facts) { f.Packages.Excerpt = true }

// A user space of two origins is said whatever the plan is: of a refusal, too.
func TestMixedUserSpaceIsSaid(t *testing.T) {
	half := installed(
		facts.Package{Name: "libibverbs1", Version: "44.0-2", Status: "install ok installed", Origin: "inbox"},
		facts.Package{Name: "ibverbs-utils", Version: "2410mlnx54-1.2410068", Status: "install ok installed", Origin: "mlnx-ofed"},
	)
	whole := installed(
		facts.Package{Name: "libibverbs1", Version: "2410mlnx54-1.2410068", Status: "install ok installed", Origin: "mlnx-ofed"},
		facts.Package{Name: "ibverbs-utils", Version: "2410mlnx54-1.2410068", Status: "install ok installed", Origin: "mlnx-ofed"},
	)
	for name, tc := range map[string]struct {
		f       facts.Facts
		stack   string
		verdict plan.Verdict
		said    bool
	}{
		"refused":             {bookworm(connectX5, half, ofedInfoOnly), "inbox", plan.Refuse, true},
		"refused, all of one": {bookworm(connectX5, whole, ofedInfoOnly), "inbox", plan.Refuse, false},
		"given back":          {bookworm(connectX5, half), "inbox", plan.Install, true},
		"planned":             {bookworm(connectX5, half), "mlnx-ofed", plan.Install, true},
		"planned, all of one": {bookworm(connectX5, whole), "mlnx-ofed", plan.Install, false},
	} {
		got := makePlan(t, tc.f, "latest", plan.Request{Stack: tc.stack})
		if got.Verdict != tc.verdict || slices.Contains(codes(got.Warnings), "user-space-mixed") != tc.said {
			t.Errorf("%s: %s with warnings %q", name, got.Verdict, codes(got.Warnings))
		}
		if tc.verdict == plan.Install && tc.said && tc.stack != "inbox" {
			// The step that the warning promises: the distribution's half is replaced.
			change := slices.IndexFunc(step(t, got, "packages").Changes.Packages, func(c plan.PackageChange) bool { return c.Name == "libibverbs1" && c.Action == "replace" })
			if change < 0 {
				t.Errorf("%s: libibverbs1 of the distribution stays: %v", name, step(t, got, "packages").Changes.Packages)
			}
		}
	}
}
