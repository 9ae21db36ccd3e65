package rules

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/profiles"
)

// Service is a unit of the distribution that the stack inbox depends on.
type Service struct {
	Unit string // empty: there is none
	// Enabled and Active are true only where that is known.
	Enabled, Active bool
	Why             string
}

// BootService is the service that loads the RDMA modules of RHEL 7 before 7.4 and of its rebuilds. It comes with
// the package rdma and is off by default: udev starts it when a driver's module appears, so not for a card whose
// driver was loaded before the package came. From 7.4 on rdma-core loads modules by udev rules and units that
// need no enabling. A unit that is masked is the administrator's wish.
//
// https://docs.redhat.com/en/documentation/red_hat_enterprise_linux/7/html/networking_guide/sec-configuring_the_base_rdma_subsystem
func BootService(in Input) Service {
	if running, ok := in.Facts.Platform.Systemd.Get(); ok && !running || in.Facts.Platform.Systemd.IsAbsent() {
		return Service{}
	}
	minor, ok := strings.CutPrefix(PackageRelease(in), "rhel 7.")
	n, err := strconv.Atoi(minor)
	if !ok || err != nil || n >= 4 || !slices.ContainsFunc(in.Packages, func(p profiles.Package) bool { return p.Name == "rdma" }) {
		return Service{}
	}
	s := Service{
		Unit: "rdma.service",
		Why: "it loads the RDMA modules and is off after the installation of the package rdma: udev starts it when a card's driver appears, " +
			"not for a driver that is loaded already; enabled, it runs after each boot",
	}
	if _, told := InstalledPackages(in.Facts); told && !PackageInstalled(in, "rdma") {
		s.Why = "the service is missing with its package; " + s.Why
	}
	if i := slices.IndexFunc(in.Facts.Services, func(f facts.Service) bool { return f.Name == s.Unit || f.Name+".service" == s.Unit }); i >= 0 {
		told := in.Facts.Services[i]
		if told.Load.Or("") == "masked" || told.Enabled.Or("") == "masked" {
			return Service{}
		}
		s.Enabled, s.Active = told.Enabled.Or("") == "enabled", told.Active.Or("") == "active"
	}
	return s
}
