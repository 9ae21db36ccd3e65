package rules

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// Module is a module that the profile or a card asks for, with what is known of it.
type Module struct {
	Name     string
	Why      string
	Optional bool
	State    ModuleState
	Source   string // of State
	// Package is what has the module, of StateInPackage.
	Package string
	// Note is what the matrix says of a kernel that lacks it.
	Note string
	// Blacklist is the file and line, or kernel argument, that keeps the module out.
	Blacklist string
}

// ModuleState is what is known of a module for the target kernel.
type ModuleState string

// The states.
const (
	StateUnknown ModuleState = "unknown"
	StateMissing ModuleState = "missing" // the kernel has no such module
	StateOnDisk  ModuleState = "on disk"
	// StateInPackage is a module of a package that is not installed.
	StateInPackage ModuleState = "in a package"
	StateLoaded    ModuleState = "loaded" // or built in
)

// option is the kernel option of a module, without CONFIG_.
func option(module string) string {
	switch module {
	case "ib_core":
		return "INFINIBAND"
	case "ib_uverbs", "rdma_ucm":
		return "INFINIBAND_USER_ACCESS"
	case "ib_umad":
		return "INFINIBAND_USER_MAD"
	case "mlx4_core":
		return "MLX4_CORE"
	case "mlx4_en":
		return "MLX4_EN"
	case "mlx4_ib":
		return "MLX4_INFINIBAND"
	case "mlx5_core":
		return "MLX5_CORE"
	case "mlx5_ib":
		return "MLX5_INFINIBAND"
	case "rdma_rxe":
		return "RDMA_RXE"
	case "siw":
		return "RDMA_SIW"
	case "ib_ipoib":
		return "INFINIBAND_IPOIB"
	case "ib_iser":
		return "INFINIBAND_ISER"
	case "ib_isert":
		return "INFINIBAND_ISERT"
	case "ib_srp":
		return "INFINIBAND_SRP"
	case "ib_srpt":
		return "INFINIBAND_SRPT"
	case "rpcrdma":
		return "SUNRPC_XPRT_RDMA"
	case "nvme_rdma":
		return "NVME_RDMA"
	case "nvmet_rdma":
		return "NVME_TARGET_RDMA"
	case "irdma":
		return "INFINIBAND_IRDMA"
	case "bnxt_re":
		return "INFINIBAND_BNXT_RE"
	case "mana_ib":
		return "MANA_INFINIBAND"
	case "efa":
		return "INFINIBAND_EFA"
	case "erdma":
		return "INFINIBAND_ERDMA"
	}
	return ""
}

// wantedModules are the profile's modules, then those that the cards need and the profile does not
// name.
func wantedModules(in Input) []Module {
	var out []Module
	add := func(name, why string, optional bool) {
		name = profiles.ModuleKey(name)
		if profiles.CheckModule(name) != nil || slices.ContainsFunc(out, func(m Module) bool { return m.Name == name }) {
			return
		}
		m := Module{Name: name, Why: why, Optional: optional}
		m.State, m.Source = moduleState(in, name)
		if m.State == StateMissing || m.State == StateUnknown {
			m.ofFlavour(in)
		}
		m.Blacklist = blacklist(in, name)
		out = append(out, m)
	}
	foreign := onlyForeign(in)
	for _, m := range in.Profile.Modules.Load {
		if foreign && slices.Contains([]string{"mlx4_ib", "mlx5_ib"}, profiles.ModuleKey(m.Name)) {
			continue // the cards that are there need another driver
		}
		add(m.Name, m.Why, m.Optional)
	}
	// A software device needs no card's driver, and a profile that wants nothing loads none.
	if in.Profile.SoftRoCE == nil && len(in.Profile.Modules.Load)+len(in.Profile.Packages) > 0 {
		for _, card := range append(ownCards(in), foreignCards(in)...) {
			if card.WantsRDMADriver != "" {
				name := card.Generation.Or(card.Vendor + ":" + card.Device)
				// Another vendor's driver may be missing from the kernel (efa is not in Debian's) without
				// harm to a ConnectX card beside it.
				add(card.WantsRDMADriver, "RDMA on "+printable(name), card.Vendor != mellanox && !foreign)
			}
		}
		for _, generation := range in.Cards {
			add(rdmaDriver(generation), "RDMA on "+generation, false)
		}
	}
	return out
}

// onlyForeign says that the host's RDMA cards are all other vendors', and that none of Mellanox is stated or seen in
// another way. A host without any card is made ready for one of Mellanox.
func onlyForeign(in Input) bool {
	driven := func(d facts.PCIDevice) bool {
		return profiles.CheckModule(profiles.ModuleKey(d.WantsRDMADriver)) == nil
	}
	return in.Profile.SoftRoCE == nil && slices.ContainsFunc(foreignCards(in), driven) && len(ownCards(in)) == 0 && len(in.Cards) == 0 &&
		!slices.ContainsFunc(hardwareDevices(in), func(d facts.RDMADevice) bool { return strings.HasPrefix(d.Driver.Or(d.Name), "mlx") })
}

// printable keeps text of evidence to one line before it becomes a comment in a file of root.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}

func moduleState(in Input, name string) (ModuleState, string) {
	m := in.Facts.Modules
	otherKernel := in.OtherKernel()
	if loaded, ok := m.Loaded.Get(); ok && in.Running() {
		if slices.ContainsFunc(loaded, func(l facts.LoadedModule) bool { return profiles.ModuleKey(l.Name) == name }) {
			return StateLoaded, m.Loaded.Source
		}
	}
	if otherKernel {
		return shipped(in, name)
	}
	for _, disk := range m.OnDisk {
		if profiles.ModuleKey(disk.Name) != name {
			continue
		}
		switch {
		case disk.Builtin:
			return StateLoaded, disk.Path.Source
		case disk.Path.IsKnown():
			return StateOnDisk, disk.Path.Source
		case disk.Path.IsAbsent():
			return StateMissing, disk.Path.Source
		}
	}
	config := in.Facts.Kernel.Config
	switch config.Or(nil)[option(name)] {
	case "y":
		return StateLoaded, config.Source
	case "m":
		return StateOnDisk, config.Source
	case "n":
		return StateMissing, config.Source
	}
	return shipped(in, name)
}

// ipoibOfEL7: the kernel of EL 7 is one package, and the rdma.conf of its rdma-core loads IPoIB. From EL 8 on
// modules are spread over several packages, and nobody looked which has it.
const ipoibOfEL7 = "/etc/rdma/rdma.conf of rdma-core v12 to v31 on RHEL (IPOIB_LOAD); https://github.com/openlogic/AzureBuildCentOS/issues/92"

// shipped is what the matrix tells of a module where the host does not: the generic kernel of a
// distribution's release, of the line that was looked at, has what its packages were seen to have.
func shipped(in Input, name string) (ModuleState, string) {
	if in.Matrix == nil || in.inContainer() {
		return StateUnknown, ""
	}
	s := systemOf(in)
	kernel := kernelOf(in, s.id)
	if name == "ib_ipoib" && kernel.kind == kernelDistro && majorOf(s.version) == "7" && (s.id == "rhel" || slices.Contains(rebuilds(), s.id)) {
		return StateOnDisk, ipoibOfEL7
	}
	release, ok := in.Matrix.Inbox(s.rowID(), s.rowVersion(), "")
	if !ok || kernel.kind != kernelDistro || release.Sure != "measured" {
		return StateUnknown, ""
	}
	if fit := kernel.fit(release.Kernel, s.rowID()); fit != fitExact && fit != fitErrata {
		return StateUnknown, ""
	}
	if slices.ContainsFunc(release.Present, func(m string) bool { return profiles.ModuleKey(m) == name }) {
		return StateOnDisk, firstSource(release.Source, "the compatibility matrix")
	}
	return StateUnknown, ""
}

// ofFlavour fills in what the matrix tells of a module in a flavour of the distribution's kernel (Debian's for
// clouds, Ubuntu's for Azure and AWS), of the line of the release. A module that was not found on the host may be
// in a package that is not installed.
func (m *Module) ofFlavour(in Input) {
	row := flavourRow(in)
	if row == nil {
		return
	}
	has := func(list []string) bool {
		return slices.ContainsFunc(list, func(one string) bool { return profiles.ModuleKey(one) == m.Name })
	}
	source := firstSource(row.Source, "the compatibility matrix")
	switch release, _ := in.targetKernel(); {
	case has(row.Extra) && row.ExtraPackage != "" && profiles.CheckPackage(strings.ReplaceAll(row.ExtraPackage, "{kernel}", release)) == nil:
		m.Package, m.Source = strings.ReplaceAll(row.ExtraPackage, "{kernel}", release), source
		installed, _ := InstalledPackages(in.Facts)
		there := slices.ContainsFunc(installed, func(p facts.Package) bool { return sameName(p.Name, m.Package) })
		switch {
		case !there:
			m.State = StateInPackage
		case m.State == StateUnknown:
			m.State = StateOnDisk
		}
	case m.State == StateMissing:
	case has(row.Present) && row.Sure == "measured":
		m.State, m.Source = StateOnDisk, source
	case has(row.Absent):
		m.State, m.Source = StateMissing, source
		if row.Sure != "measured" {
			m.Note = row.Note // the report that says so
		}
	}
}

// flavourRow is what is documented of the flavour of the target kernel, nil for a generic kernel, another line of
// kernels and whatever nobody looked at.
func flavourRow(in Input) *matrix.InboxRelease {
	if in.Matrix == nil || in.inContainer() {
		return nil
	}
	s := systemOf(in)
	kernel := kernelOf(in, s.id)
	if kernel.kind != kernelFlavour {
		return nil
	}
	row, ok := in.Matrix.Inbox(s.rowID(), s.rowVersion(), kernel.flavour)
	if !ok {
		return nil
	}
	line := row.Kernel
	if generic, ok := in.Matrix.Inbox(s.rowID(), s.rowVersion(), ""); ok && line == "" {
		line = generic.Kernel
	}
	kernel.kind, kernel.flavour = kernelDistro, "" // a flavour has the numbers of its release's line
	if fit := kernel.fit(line, s.rowID()); fit != fitExact && fit != fitErrata {
		return nil
	}
	return row
}

func blacklist(in Input, name string) string {
	for key, where := range in.Facts.Modules.Blacklisted.Or(nil) {
		if profiles.ModuleKey(key) == name {
			return where
		}
	}
	return ""
}
