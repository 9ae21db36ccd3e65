package rules

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// DeviceDropped is a card whose PCI id the distribution's kernel does not bind any more.
const DeviceDropped Code = "device-dropped"

// droppedDevices: Red Hat takes PCI ids out of drivers that still have them upstream.
func droppedDevices() Rule {
	return Rule{Name: "dropped-devices", Scope: Inbox, Source: "lists of devices that a distribution removed from its drivers", Judge: func(in Input) []Finding {
		if in.Matrix == nil || in.inContainer() || in.Profile.SoftRoCE != nil {
			return nil
		}
		return droppedBy(in)
	}}
}

// droppedByKernel is the same for rdma-core from source, which runs on the distribution's modules. A
// vendor's stack brings its own driver, and its hardware table decides.
func droppedByKernel() VendorRule {
	return VendorRule{Name: "dropped-by-kernel", Source: "lists of devices that a distribution removed from its drivers", Judge: func(h *vendorHost, c *Candidate) {
		if !h.vendor() {
			found := h.once("dropped-by-kernel", func() []Finding { return droppedBy(h.in) })
			c.refuse(Refusals(found)...)
			c.warn(Warnings(found)...)
		}
	}}
}

func droppedBy(in Input) []Finding {
	system := systemOf(in)
	kernel := kernelOf(in, system.id)
	id := system.id
	if slices.Contains(rebuilds(), id) {
		id = "rhel" // the same drivers; another kernel than the distribution's has them all
	}
	if kernel.kind == kernelOther || kernel.kind == kernelCandidate || isUEK(kernel.release) {
		return nil
	}
	var found []Finding
	for _, d := range ownCards(in) {
		for _, dropped := range in.Matrix.Matrix().Dropped {
			if !slices.Contains(dropped.Devices, d.Device) || !matrix.OnSystem(dropped.Distros, id, system.version) || bound(d) {
				continue
			}
			name := cardName(d.Candidates)
			if g, ok := d.Generation.Get(); ok {
				name = cardName([]string{g})
			}
			f := refuse(DeviceDropped, firstSource(dropped.Source, in.Facts.PCI.Source), "%s [%s:%s] at %s: %s; %s",
				orCard(name), d.Vendor, d.Device, printable(d.Address), strings.TrimSuffix(dropped.Text, "."), dropped.Remedy)
			found = append(found, f...)
		}
	}
	if len(ownCards(in)) > 0 {
		return found
	}
	for _, generation := range in.Cards {
		found = append(found, droppedGeneration(in, generation, id, system.version)...)
	}
	return found
}

// droppedGeneration is the same for a card that is stated: the lists are by PCI id, and a generation has several.
// One of which the distribution dropped all is refused, one of which it dropped some has a caveat.
func droppedGeneration(in Input, generation, id, version string) []Finding {
	card, known := in.Matrix.CardDriver(generation)
	if !known {
		return nil
	}
	var found []Finding
	for _, dropped := range in.Matrix.Matrix().Dropped {
		var gone []string
		for _, device := range card.Devices {
			if slices.Contains(dropped.Devices, device) {
				gone = append(gone, mellanox+":"+device)
			}
		}
		if len(gone) == 0 || !matrix.OnSystem(dropped.Distros, id, version) {
			continue
		}
		name, text := cardName([]string{generation}), strings.TrimSuffix(dropped.Text, ".")
		source := firstSource(dropped.Source, "--card")
		if len(gone) == len(card.Devices) {
			found = append(found, refuse(DeviceDropped, source, "%s (stated): %s; %s", name, text, dropped.Remedy)...)
			continue
		}
		found = append(found, warn(DeviceDropped, source, "%s (stated): %s; one with the id %s is not bound there, and of the other ids of %[1]s (%[4]s) no source tells. For such a card: %[5]s",
			name, text, strings.Join(gone, " or "), list(slices.DeleteFunc(slices.Clone(card.Devices), func(d string) bool { return slices.Contains(dropped.Devices, d) })), dropped.Remedy)...)
	}
	return found
}

// bound says that a driver serves the function, so that the id is there in spite of the list (a kmod of
// a third party).
func bound(d facts.PCIDevice) bool { return d.Driver.IsKnown() && d.Driver.Value != "" }

func orCard(name string) string {
	if name == "" {
		return "the card"
	}
	return name
}
