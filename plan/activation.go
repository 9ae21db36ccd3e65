package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/plan/rules"
)

// Codes of how a stack's modules come into use.
const (
	ActivateAtReboot   rules.Code = "activate-at-reboot"
	ManagementOverRDMA rules.Code = "management-over-rdma"
)

// activation says how new modules take the place of those in memory: live, or at the next boot with the
// reasons for it. Unloading modules under the default route, a mounted file system or a program cuts the
// host off, and it does not come back by itself.
type activation struct {
	reboot  bool
	reasons []Reason
}

func activate(in rules.Input) activation {
	var a activation
	atBoot := func(code rules.Code, source, format string, args ...any) {
		a.reboot = true
		a.reasons = append(a.reasons, Reason{Code: string(code), Source: source, Text: fmt.Sprintf(format, args...)})
	}
	access := in.Facts.Access
	if drivers := strings.Split(access.DefaultRouteDriver.Or(""), ","); slices.ContainsFunc(drivers, isCardDriver) {
		atBoot(ManagementOverRDMA, access.DefaultRouteDriver.Source, "the default route runs over %s, whose driver is %s: unloading it cuts the host off and "+
			"it does not come back by itself, so the new modules are loaded at the next boot, in a maintenance window or with an out-of-band console at hand",
			access.DefaultRouteNetdev.Or("an interface"), strings.Join(drivers, " and "))
	} else if !access.DefaultRouteDriver.IsKnown() && !access.DefaultRouteNetdev.IsAbsent() && in.Running() {
		atBoot(ActivateAtReboot, access.DefaultRouteDriver.Source, "nothing tells which driver carries the default route, so nothing is unloaded on a running host; the new modules are loaded at the next boot")
	}
	if !in.Running() {
		atBoot(ActivateAtReboot, "", "the plan is for a kernel or system that does not run now; its modules are loaded when it boots")
	}
	if users := moduleUsers(in); len(users) > 0 {
		atBoot(ActivateAtReboot, in.Facts.Modules.Loaded.Source, "the RDMA modules in memory are in use by %s, so they are replaced at the next boot", strings.Join(users, ", "))
	}
	return a
}

func isCardDriver(name string) bool { return strings.HasPrefix(name, "mlx") }

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
