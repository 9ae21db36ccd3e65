package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan"
)

// session is a login session over an interface; route keeps the default route elsewhere.
func session(netdev, driver string) change {
	return func(f *facts.Facts) {
		f.Access.SessionNetdev = facts.Is(netdev, "/proc/901/environ")
		f.Access.SessionDriver = facts.Is(driver, "/sys/class/net/"+netdev+"/device/driver")
	}
}

func console(f *facts.Facts) {
	f.Access.SessionNetdev = facts.None[string]("the processes above this one")
	f.Access.SessionDriver = facts.None[string]("the processes above this one")
}

// The modules under the session that the plan is made in are never replaced while the host runs.
func TestModulesUnderTheLoginSessionStay(t *testing.T) {
	unknown := func(why string) change {
		return func(f *facts.Facts) {
			f.Access.SessionNetdev = facts.Field[string]{Source: "/proc/900/stat", Error: why}
		}
	}
	drivers := func(list ...facts.Netdev) change { return netdevs(list...) }
	with := func(name, driver string) facts.Netdev {
		d := netdev(name, "up")
		d.Driver = facts.Is(driver, "/sys/class/net/"+name+"/device/driver")
		return d
	}
	tests := []struct {
		name    string
		changes []change
		reboot  bool
		code    string
	}{
		{"at a console", []change{console}, false, ""},
		{"over the card", []change{session("ens1f0", "mlx5_core")}, true, "login-over-rdma"},
		{"over the card's InfiniBand", []change{session("ib0", "mlx5_core[ib_ipoib]")}, true, "login-over-rdma"},
		{"over a bond with one leg on the card", []change{session("bond0", "igb,mlx4_en")}, true, "login-over-rdma"},
		{"over another card", []change{session("eno1", "igb")}, false, ""},
		{"over the default route's interface", []change{session("ens3", "virtio_net")}, false, ""},
		{"over an interface of unknown kind", []change{session("vxlan7", "x"), func(f *facts.Facts) {
			f.Access.SessionDriver = facts.Field[string]{Source: "/sys/class/net/vxlan7"}
		}}, true, "activate-at-reboot"},
		{"over one without hardware", []change{session("dummy0", "x"), func(f *facts.Facts) {
			f.Access.SessionDriver = facts.None[string]("/sys/class/net/dummy0")
		}}, true, "activate-at-reboot"},
		{"nothing told", nil, true, "activate-at-reboot"},
		{"sshd without a connection", []change{unknown("sshd is above this process")}, true, "activate-at-reboot"},
		{"nothing told, and no interface is on the card", []change{unknown(""), drivers(with("ens3", "virtio_net"))}, false, ""},
		{"nothing told, and one is", []change{unknown(""), drivers(with("ens3", "virtio_net"), with("ib0", "mlx5_core"))}, true, "activate-at-reboot"},
		{"nothing told of interfaces either", []change{unknown(""), func(f *facts.Facts) { f.Netdevs = facts.Field[[]facts.Netdev]{} }}, true, "activate-at-reboot"},
	}
	for _, test := range tests {
		f := jammy(test.changes...)
		reasons := plan.AtBoot(f)
		if got := codes(reasons); len(got) > 1 || (len(got) == 1) != test.reboot || (len(got) == 1 && got[0] != test.code) {
			t.Errorf("%s: %v, want %q", test.name, reasons, test.code)
		}
		if !test.reboot {
			continue
		}
		if strings.Contains(reasons[0].Source+reasons[0].Text, "/proc/") {
			t.Errorf("%s: a process is in the plan, which would not be the same twice: %v", test.name, reasons[0])
		}
		// What is found is what the plan and its step say.
		p := makePlan(t, f, "lts", plan.Request{Stack: "doca-ofed", Date: "2026-11-30"})
		if s := step(t, p, "activate"); !s.Reboot || !p.Reboot || len(reasons) == 0 || s.Why != reasons[0].Text || !slices.Contains(p.Warnings, reasons[0]) {
			t.Errorf("%s: reboot %v, of the plan %v, %q, %v", test.name, s.Reboot, p.Reboot, s.Why, p.Warnings)
		}
	}
}

// One interface that carries both is spoken of once.
func TestSessionOverTheDefaultRoute(t *testing.T) {
	p := makePlan(t, jammy(session("ens3", "mlx5_core"), func(f *facts.Facts) {
		f.Access.DefaultRouteDriver = facts.Is("mlx5_core", "/sys/class/net/ens3")
	}), "lts", plan.Request{Stack: "doca-ofed", Date: "2026-11-30"})
	if got := codes(p.Warnings); !slices.Contains(got, "management-over-rdma") || slices.Contains(got, "login-over-rdma") || !p.Reboot {
		t.Errorf("%v, reboot %v", got, p.Reboot)
	}
}
