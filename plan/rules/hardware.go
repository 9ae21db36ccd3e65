package rules

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

// Codes of the hardware.
const (
	NoRDMAHardware  Code = "no-rdma-hardware"
	HardwareUnknown Code = "hardware-unknown"
	ForeignHardware Code = "foreign-hardware"
)

// mellanox is the PCI vendor of all ConnectX and BlueField functions. Firmware also reports the
// IEEE number 02c9, which is not a PCI id.
const mellanox = "15b3"

// cardsOf are the PCI functions that can do RDMA, those of Mellanox or those of all others, by address.
func cardsOf(in Input, own bool) []facts.PCIDevice {
	var out []facts.PCIDevice
	all := in.Facts.PCI.Or(nil)
	for i := range all {
		if all[i].RDMACapable && own == (all[i].Vendor == mellanox) {
			out = append(out, all[i])
		}
	}
	slices.SortStableFunc(out, func(a, b facts.PCIDevice) int { return strings.Compare(a.Address, b.Address) })
	return out
}

func ownCards(in Input) []facts.PCIDevice     { return cardsOf(in, true) }
func foreignCards(in Input) []facts.PCIDevice { return cardsOf(in, false) }

// CardsOf are the generations of the cards of this stack's vendor, seen or stated, sorted and each once.
func CardsOf(in Input) []string {
	out := slices.Clone(in.Cards)
	for _, card := range ownCards(in) {
		if g, ok := card.Generation.Get(); ok {
			out = append(out, g)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// hardwareDevices are RDMA devices that sit on a PCI function, seen although PCI may not be told.
func hardwareDevices(in Input) []facts.RDMADevice {
	return slices.DeleteFunc(slices.Clone(in.Facts.RDMA.Or(nil)), func(d facts.RDMADevice) bool {
		driver := d.Driver.Or("")
		return strings.HasPrefix(driver, "rdma_rxe") || driver == "siw" || !(d.PCI.IsKnown() || strings.HasPrefix(driver, "mlx") ||
			strings.HasPrefix(d.Name, "mlx"))
	})
}

// HasDevice says whether an RDMA device will exist without software emulation.
func HasDevice(in Input) bool {
	return len(ownCards(in)) > 0 || len(foreignCards(in)) > 0 || len(hardwareDevices(in)) > 0
}

func hardware() Rule {
	return Rule{Name: "hardware", Scope: Request, Source: "design section 4; drivers of drivers/infiniband/hw", Judge: func(in Input) []Finding {
		if in.inContainer() || in.Profile.Hardware != "needed" || len(in.Cards) > 0 || len(ownCards(in)) > 0 || len(hardwareDevices(in)) > 0 {
			return nil
		}
		if foreign := foreignCards(in); len(foreign) > 0 {
			return foreignHardware(in, foreign)
		}
		pci := in.Facts.PCI
		if pci.IsUnknown() && in.Named {
			// The user chose; a ticket without lspci is no reason to answer nothing.
			return warn(HardwareUnknown, pci.Source, "nothing tells which PCI devices this host has, so nothing says that the stack serves its card")
		}
		if pci.IsUnknown() {
			found := refuse(HardwareUnknown, pci.Source, "nothing tells which PCI devices this host has, so nothing can be chosen for its card")
			found[0].Looked = looked(in)
			return found
		}
		found := refuse(NoRDMAHardware, pci.Source, "no card that can do RDMA: looked at %s", count(len(pci.Value), "network function"))
		found[0].Looked = looked(in)
		return found
	}}
}

func foreignHardware(in Input, cards []facts.PCIDevice) []Finding {
	var found []Finding
	said := map[string]bool{}
	for _, card := range cards {
		id := card.Vendor + ":" + card.Device
		if said[id] {
			continue
		}
		said[id] = true
		needs := "the distribution's own stack"
		if card.WantsRDMADriver != "" {
			needs += ": kernel module " + card.WantsRDMADriver
		}
		if card.WantsProvider != "" {
			needs += ", provider " + card.WantsProvider
			if name := providerPackage(in, card.WantsProvider); name != "" {
				needs += " of " + name
			}
		}
		if traces := foreignTraces(in); len(traces) > 0 {
			needs += ". " + traces[0].stack + " is on this host (" + traces[0].text + "), and its ib_core keeps the card's driver from loading: " +
				"uninstall it, go back to the kernel's own ib_core and build the driver anew"
		}
		name := card.Description.Or("an RDMA card")
		found = append(found, Finding{
			Code: ForeignHardware, Effect: Refuse, Source: in.Facts.PCI.Source, Looked: looked(in),
			Text: fmt.Sprintf("%s [%s] at %s is another vendor's RDMA card, and no ConnectX or BlueField is there; stacks of ConnectX cards do not serve it and may break it. "+
				"It needs %s (--profile inbox)", name, id, card.Address, needs),
		})
	}
	return found
}

// providerPackage is the package that has a user-space driver: RHEL's libibverbs has them all, as has
// SUSE's but for a few with packages of their own.
func providerPackage(in Input, provider string) string {
	switch in.Facts.Distro.Family.Or("") {
	case "debian":
		return "ibverbs-providers"
	case "rhel":
		return "libibverbs"
	case "suse":
		if slices.Contains([]string{"efa", "hns", "mana", "ionic", "mlx4", "mlx5"}, provider) {
			return "lib" + provider + "1"
		}
		return "libibverbs"
	}
	return ""
}

// looked says what was examined for a card, line by line.
func looked(in Input) []string {
	f := in.Facts
	var lines []string
	switch all, ok := f.PCI.Get(); {
	case ok:
		kinds := map[string]int{}
		for _, d := range all {
			kinds[d.Vendor+":"+d.Device]++
		}
		var ids []string
		for id, n := range kinds {
			if n > 1 {
				id = fmt.Sprintf("%s x%d", id, n)
			}
			ids = append(ids, id)
		}
		sort.Strings(ids)
		line := fmt.Sprintf("%s: %s", named(f.PCI.Source, "PCI"), count(len(all), "network function"))
		if len(ids) > 0 {
			line += " (" + list(ids) + ")"
		}
		lines = append(lines, line)
	case f.PCI.IsAbsent():
		lines = append(lines, named(f.PCI.Source, "PCI")+": this machine has no PCI bus")
	default:
		lines = append(lines, "PCI: not told"+because(f.PCI.Error))
	}
	switch devices, ok := f.RDMA.Get(); {
	case ok && len(devices) > 0:
		var names []string
		for _, d := range devices {
			names = append(names, d.Name)
		}
		sort.Strings(names)
		lines = append(lines, fmt.Sprintf("%s: %s (%s)", named(f.RDMA.Source, "RDMA devices"), count(len(devices), "RDMA device"), list(names)))
	case ok || f.RDMA.IsAbsent():
		lines = append(lines, named(f.RDMA.Source, "RDMA devices")+": no RDMA device")
	default:
		lines = append(lines, "RDMA devices: not told"+because(f.RDMA.Error))
	}
	if kind, ok := f.Platform.Virtualization.Get(); ok && kind != "none" && kind != "" {
		lines = append(lines, fmt.Sprintf("%s: a %s guest; it sees a card only if a function is passed through to it",
			named(f.Platform.Virtualization.Source, "virtualization"), kind))
	}
	return lines
}

func named(source, fallback string) string {
	if source == "" {
		return fallback
	}
	return source
}

func because(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
