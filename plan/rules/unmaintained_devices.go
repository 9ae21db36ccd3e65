package rules

import (
	"slices"
	"strings"
)

// DeviceUnmaintained is a card that the distribution's kernel binds and does not maintain.
const DeviceUnmaintained Code = "device-unmaintained"

// unmaintainedDevices: Red Hat's kernel has lists of PCI ids beside its drivers: those that it disables
// (see droppedDevices) and those that it still binds and calls unmaintained.
func unmaintainedDevices() Rule {
	const source = "https://gitlab.com/cki-project/kernel-ark/-/merge_requests/3097"
	return Rule{Name: "unmaintained-devices", Scope: Inbox, Source: source, Judge: func(in Input) []Finding {
		system := systemOf(in)
		kernel := kernelOf(in, system.id)
		rhel := system.id == "rhel" || slices.Contains(rebuilds(), system.id)
		if !rhel || majorOf(system.version) != "10" || in.inContainer() || in.Profile.SoftRoCE != nil ||
			kernel.kind == kernelOther || kernel.kind == kernelCandidate || isUEK(kernel.release) {
			return nil
		}
		var cards []string
		for _, d := range ownCards(in) {
			if d.Device == "a2dc" {
				cards = append(cards, "BlueField-3 [15b3:a2dc] at "+printable(d.Address))
			}
		}
		if len(cards) == 0 && slices.Contains(in.Cards, "bluefield-3") {
			cards = append(cards, "BlueField-3 (stated)")
		}
		if len(cards) == 0 {
			return nil
		}
		return warn(DeviceUnmaintained, source, "%s: the kernel of RHEL 10 marks this card as unmaintained (disabled before): its driver binds it, and Red Hat neither tests nor fixes it there; "+
			"DOCA-OFED, if a release fits, brings a driver that its maker supports", strings.Join(cards, ", "))
	}}
}
