package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan/rules"
)

// Codes of how a stack's modules come into use.
const (
	ActivateAtReboot   rules.Code = "activate-at-reboot"
	ManagementOverRDMA rules.Code = "management-over-rdma"
	LoginOverRDMA      rules.Code = "login-over-rdma"
)

// activation says how new modules take the place of those in memory: live, or at the next boot with the
// reasons for it. Unloading modules under the default route, the login session, a mounted file system or a
// program cuts the host off, and it does not come back by itself.
type activation struct {
	reboot  bool
	reasons []Reason
}

// atBoot adds a reason.
func (a *activation) atBoot(code rules.Code, source, format string, args ...any) {
	a.reboot = true
	a.reasons = append(a.reasons, Reason{Code: string(code), Source: source, Text: fmt.Sprintf(format, args...)})
}

func activate(in rules.Input) activation {
	var a activation
	a.defaultRoute(in)
	a.loginSession(in)
	if !in.Running() {
		a.atBoot(ActivateAtReboot, "", "the plan is for a kernel or system that does not run now; its modules are loaded when it boots")
	}
	if users := moduleUsers(in); len(users) > 0 {
		a.atBoot(ActivateAtReboot, in.Facts.Modules.Loaded.Source, "the RDMA modules in memory are in use by %s, so they are replaced at the next boot", strings.Join(users, ", "))
	}
	return a
}

func (a *activation) defaultRoute(in rules.Input) {
	access := in.Facts.Access
	if drivers := strings.Split(access.DefaultRouteDriver.Or(""), ","); slices.ContainsFunc(drivers, isCardDriver) {
		a.atBoot(ManagementOverRDMA, access.DefaultRouteDriver.Source, "the default route runs over %s, whose driver is %s: unloading it cuts the host off and "+
			"it does not come back by itself, so the new modules are loaded at the next boot, in a maintenance window or with an out-of-band console at hand",
			access.DefaultRouteNetdev.Or("an interface"), strings.Join(drivers, " and "))
	} else if !access.DefaultRouteDriver.IsKnown() && !access.DefaultRouteNetdev.IsAbsent() && in.Running() {
		a.atBoot(ActivateAtReboot, access.DefaultRouteDriver.Source, "nothing tells which driver carries the default route, so nothing is unloaded on a running host; the new modules are loaded at the next boot")
	}
}

// loginSession keeps the drivers under the session that the plan is made in. Often it does not come in over the
// default route: a cluster's nodes are reached over a network of their own.
func (a *activation) loginSession(in rules.Input) {
	access := in.Facts.Access
	name, known := access.SessionNetdev.Get()
	drivers := strings.Split(access.SessionDriver.Or(""), ",")
	switch {
	case !in.Running(), access.SessionNetdev.IsAbsent():
	case known && name == access.DefaultRouteNetdev.Or(""):
		// What is to be said of it was said of the default route.
	case slices.ContainsFunc(drivers, isCardDriver):
		a.atBoot(LoginOverRDMA, access.SessionDriver.Source, "this login session comes in over %s, whose driver is %s: unloading it ends the session and may cut the host off, "+
			"so the new modules are loaded at the next boot, in a maintenance window or with an out-of-band console at hand",
			printable(name), strings.Join(drivers, " and "))
	case access.SessionDriver.IsKnown():
	case known && !a.reboot:
		a.atBoot(ActivateAtReboot, access.SessionDriver.Source, "nothing tells which driver is under %s, over which this login session comes in, so nothing is unloaded; the new modules are loaded at the next boot",
			printable(name))
	case !known && !a.reboot && cardMayCarry(in.Facts.Netdevs):
		// The facts say why, with numbers of processes: a plan is the same each time it is made.
		a.atBoot(ActivateAtReboot, "SSH_CONNECTION of the processes above rdmactl", "nothing tells over which interface the administrator is logged in, and a card of this host may carry it, so nothing is unloaded; the new modules are loaded at the next boot")
	}
}

// cardMayCarry says that some interface stands on a card whose driver would be replaced, or that it is not
// known that none does.
func cardMayCarry(netdevs facts.Field[[]facts.Netdev]) bool {
	if !netdevs.IsKnown() {
		return !netdevs.IsAbsent()
	}
	return slices.ContainsFunc(netdevs.Value, func(d facts.Netdev) bool {
		driver, known := d.Driver.Get()
		return isCardDriver(driver) || !known && !d.Driver.IsAbsent() && !d.Virtual.Or(false)
	})
}

// isCardDriver says that an interface has a driver that a stack replaces: mlx4_en, mlx5_core, and IPoIB as
// ethtool names it.
func isCardDriver(name string) bool {
	return strings.HasPrefix(name, "mlx") || strings.Contains(name, "ib_ipoib")
}

// moduleUsers are the upper layers that hold the modules in memory: file systems and block devices over
// RDMA. A module with references is in use; without, it only is loaded.
func moduleUsers(in rules.Input) []string {
	var out []string
	for _, m := range in.Facts.Modules.Loaded.Or(nil) {
		if m.Refs > 0 && slices.Contains([]string{"nvme_rdma", "rpcrdma", "xprtrdma", "ko2iblnd", "ib_iser", "ib_srp", "rds_rdma", "nvmet_rdma", "ib_isert", "ib_srpt"}, m.Name) {
			out = append(out, m.Name)
		}
	}
	slices.Sort(out)
	return out
}
