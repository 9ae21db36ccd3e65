package plan

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan/rules"
	"github.com/rdmactl/rdmactl/profiles"
)

// steps are the changes that this host still needs, in the order of execution. None means that the
// profile is in place.
func steps(in rules.Input, mode string) []Step {
	out := []Step{}
	out = append(out, packagesStep(in)...)
	out = append(out, fileSteps(in)...)
	out = append(out, atBootStep(in, mode, out)...)
	if now(in, mode) {
		out = append(out, udevStep(in, out)...)
		out = append(out, loadStep(in)...)
		out = append(out, bootServiceStep(in, true)...)
		out = append(out, servicesStep(in, out)...)
		if len(out) > 0 {
			out = append(out, verifyStep(in))
		}
	} else {
		out = append(out, bootServiceStep(in, false)...)
	}
	return out
}

func packagesStep(in rules.Input) []Step {
	missing := rules.MissingPackages(in)
	// A package that may be left out is no reason for a run of its own: no repository had it before.
	if !slices.ContainsFunc(missing, notOptional) {
		return nil
	}
	var changes []PackageChange
	for _, p := range missing {
		changes = append(changes, PackageChange{Name: p.Name, Action: "install", Why: p.Why, Optional: p.Optional})
	}
	return []Step{{
		ID: "packages", Kind: KindPackages, Summary: "install " + plural(len(changes), "package") + " with " + in.Facts.Packages.Manager.Or("apt"),
		Why:     missingUserSpace(in) + "the kernel's modules serve no program alone: it takes the library, a provider for the device and the tools",
		Changes: Changes{Packages: changes},
		Undo:    "remove the packages that this step added, and put their automatic/manual marks back",
		Root:    true, Network: true,
	}}
}

// missingUserSpace says that the host has no verbs library, where its packages are told.
func missingUserSpace(in rules.Input) string {
	if _, told := rules.InstalledPackages(in.Facts); !told || rules.PackageInstalled(in, "libibverbs1") || rules.PackageInstalled(in, "libibverbs") {
		return ""
	}
	return "the user space is missing, no verbs library is installed: "
}

// loadable are the modules that are loaded now and at each boot: all that are needed, and those
// optional ones that are known to exist and not kept out.
func loadable(in rules.Input) []rules.Module {
	return slices.DeleteFunc(slices.Clone(in.Modules), func(m rules.Module) bool {
		return m.Optional && (m.Blacklist != "" || m.State == rules.StateMissing || m.State == rules.StateUnknown)
	})
}

func loadStep(in rules.Input) []Step {
	var changes []ModuleChange
	var names []string
	for _, m := range loadable(in) {
		if m.State != rules.StateLoaded {
			changes = append(changes, ModuleChange{Name: m.Name, Why: m.Why, Optional: m.Optional})
			names = append(names, m.Name)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return []Step{{
		ID: "load-modules", Kind: KindModules, Summary: "load " + strings.Join(names, ", "),
		Why:     "the modules serve from now on, not only after the next boot; nothing is unloaded",
		Changes: Changes{Modules: changes},
		Undo:    "unload those of these modules that nothing uses; others stay until the next boot",
		Root:    true,
	}}
}

// udevStep makes udev read new rules. Rules for network interfaces are not triggered: a changed
// interface event on a working host can run anything that the administrator hung there.
func udevStep(in rules.Input, before []Step) []Step {
	i := slices.IndexFunc(before, func(s Step) bool { return s.ID == "udev-rules" })
	if i < 0 {
		return nil
	}
	var subsystems []string
	if slices.ContainsFunc(before[i].Changes.Files, func(f FileChange) bool { return f.Path == umadRulesPath }) {
		subsystems = []string{"infiniband_mad"}
	}
	return []Step{{
		ID: "udev-reload", Kind: KindUdev, Summary: "make udev read the new rules",
		Why:     "udev reads rules once; interfaces and devices that appear from now on follow the new ones",
		Changes: Changes{Subsystems: subsystems},
		Undo:    "make udev read its rules again after they are put back",
		Root:    true,
	}}
}

// bootServiceStep enables the distribution's own service that loads the RDMA modules, where it has one that is
// off after the installation, and starts it where modules are loaded now. A root directory has no systemd to ask.
func bootServiceStep(in rules.Input, start bool) []Step {
	service := rules.BootService(in)
	if service.Unit == "" || in.Facts.Origin == "root" {
		return nil
	}
	var changes []ServiceChange
	var verbs, undo []string
	if !service.Enabled {
		changes = append(changes, ServiceChange{Name: service.Unit, Action: "enable"})
		verbs, undo = append(verbs, "enable"), append(undo, "disable")
	}
	if !service.Active && start {
		changes = append(changes, ServiceChange{Name: service.Unit, Action: "start"})
		verbs, undo = append(verbs, "start"), append([]string{"stop"}, undo...)
	}
	if len(changes) == 0 {
		return nil
	}
	return []Step{{
		ID: "boot-service", Kind: KindServices, Summary: strings.Join(verbs, " and ") + " " + service.Unit, Why: service.Why,
		Changes: Changes{Services: changes},
		Undo:    strings.Join(undo, " and ") + " " + service.Unit + ", where this step changed it; modules that it loaded stay",
		Root:    true,
	}}
}

func servicesStep(in rules.Input, before []Step) []Step {
	if systemd, ok := in.Facts.Platform.Systemd.Get(); (ok && !systemd) || in.Facts.Platform.Systemd.IsAbsent() {
		return nil
	}
	var changes []ServiceChange
	because := []string{}
	start := in.Profile.SoftRoCE != nil && !rules.SoftDevicePresent(in)
	for _, s := range before {
		for _, f := range s.Changes.Files {
			if strings.HasPrefix(f.Path, unitDir) {
				changes = []ServiceChange{{Action: "daemon-reload"}}
			}
		}
	}
	if len(changes) > 0 {
		because = append(because, "systemd reads changed units only when told")
	}
	summary := "make systemd read the changed units"
	undo := "make systemd read its units again after they are put back"
	if start {
		unit := softUnit(in.Profile.SoftRoCE.Device)
		changes = []ServiceChange{{Action: "daemon-reload"}, {Name: unit, Action: "start"}}
		because = append(because, unit+" makes the device "+in.Profile.SoftRoCE.Device+" on "+in.Netdev.Name)
		summary = "start " + unit
		undo = "stop " + unit + ", which deletes the device, and make systemd read its units again"
	}
	if len(changes) == 0 {
		return nil
	}
	return []Step{{
		ID: "services", Kind: KindServices, Summary: summary, Why: strings.Join(because, "; "),
		Changes: Changes{Services: changes}, Undo: undo, Root: true,
	}}
}

func verifyStep(in rules.Input) Step {
	return Step{
		ID: "verify", Kind: KindVerify, Summary: "send and compare real data through the verbs of each active port",
		Why:  "only traffic proves that kernel, library, provider and device work together",
		Undo: "nothing to undo",
	}
}

// memlockUnits are the profile's units that are present and limited.
func memlockUnits(in rules.Input) []string {
	managed := in.Facts.Managed.Or(nil)
	var out []string
	for _, unit := range in.Profile.Memlock.Units {
		i := slices.IndexFunc(in.Facts.Services, func(s facts.Service) bool { return serviceName(s.Name) == unit })
		if i < 0 || in.Facts.Services[i].Load.Or("") != "loaded" {
			continue
		}
		_, ours := managed[dropInPath(unit)]
		if in.Facts.Services[i].Memlock.Or("") == "infinity" && !ours {
			continue // unlimited by the unit itself or by the administrator
		}
		out = append(out, unit)
	}
	return out
}

func serviceName(name string) string {
	if strings.Contains(name, ".") {
		return name
	}
	return name + ".service"
}

func notOptional(p profiles.Package) bool { return !p.Optional }
