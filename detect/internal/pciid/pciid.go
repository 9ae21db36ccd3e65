// Package pciid says what a PCI function with RDMA is: the generation of a Mellanox or NVIDIA
// function, the modules and the provider that serve a function of any vendor. The table is
// ids.yaml, one source for each group.
package pciid

import "strings"

// Mellanox is the vendor id of Mellanox Technologies, today NVIDIA Networking. RDMA devices tell the
// vendor as 0x02c9 (the OUI), which is no PCI id.
const Mellanox = "15b3"

// Role is what a function is.
type Role string

// The roles.
const (
	NIC Role = "nic"
	// FlashRecovery is a card whose firmware does not start: it shows an id of its own and no driver
	// binds to it.
	FlashRecovery Role = "flash-recovery"
	// Auxiliary functions sit beside a NIC (DMA, switch, management) and are none.
	Auxiliary Role = "auxiliary"
)

// Function is what is known of one vendor and device id.
type Function struct {
	Vendor, Device string // four lower-case hex digits
	Name           string // as pci.ids has it
	Role           Role
	// Generations has one entry when the id tells the generation, more when it is shared, none for
	// other vendors.
	Generations []string
	VF          bool
	// LinkLayers are "infiniband" and "ethernet", empty when not documented.
	LinkLayers []string
	// PCIeGeneration is the highest that the chip speaks, 0 when not documented.
	PCIeGeneration int
	// Driver and RDMADriver are kernel modules, Provider is the user-space one. Empty where no
	// kernel has a driver for the id.
	Driver, RDMADriver, Provider string
}

// Table is the table: its questions are answered by code that is generated from ids.yaml, so that nothing
// is read or built for a host.
type Table struct{}

// Load returns the table.
func Load() (*Table, error) { return &Table{}, nil }

// Lookup returns the function with a vendor and device id.
func (t *Table) Lookup(vendor, device string) (Function, bool) {
	return byID(vendor, device)
}

// ByName returns the function that lspci without -n prints as "Mellanox Technologies NAME".
func (t *Table) ByName(vendor, name string) (Function, bool) {
	device, ok := byName(nameKey(vendor, name))
	if !ok {
		return Function{}, false
	}
	return byID(vendor, device)
}

// ByFirmware returns the generation of a Mellanox firmware version such as 22.38.1900: from
// ConnectX-4 on, its first number is the generation's own, on virtual functions too.
func (t *Table) ByFirmware(version string) (string, bool) {
	major, _, ok := strings.Cut(version, ".")
	if !ok {
		return "", false
	}
	return byFirmware(major)
}

// Generations are the names of all generations.
func (t *Table) Generations() []string { return generations() }

func nameKey(vendor, name string) string { return vendor + " " + strings.ToLower(name) }
