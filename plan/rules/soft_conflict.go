package rules

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
)

// SoftRoCEConflict is a device or interface that is taken.
const SoftRoCEConflict Code = "soft-roce-conflict"

// RDMADevice finds a device by name.
func RDMADevice(in Input, name string) (facts.RDMADevice, bool) {
	all := in.Facts.RDMA.Or(nil)
	i := slices.IndexFunc(all, func(d facts.RDMADevice) bool { return d.Name == name })
	if i < 0 {
		return facts.RDMADevice{}, false
	}
	return all[i], true
}

// Parent is the interface that a software device sits on.
func Parent(d facts.RDMADevice) (string, bool) {
	if name, ok := d.Parent.Get(); ok {
		return name, true
	}
	for _, port := range d.Ports.Or(nil) {
		if names := port.Netdevs.Or(nil); len(names) == 1 {
			return names[0], true
		}
	}
	return "", false
}

// isSoft is also true where the driver is not told and the name is that of Soft-RoCE devices.
func isSoft(d facts.RDMADevice) bool {
	if driver, ok := d.Driver.Get(); ok {
		return strings.HasPrefix(driver, "rdma_rxe") || driver == "rxe"
	}
	return strings.HasPrefix(d.Name, "rxe")
}

// SoftDevicePresent says that the profile's Soft-RoCE device exists on the chosen interface.
func SoftDevicePresent(in Input) bool {
	if in.Profile.SoftRoCE == nil {
		return false
	}
	d, ok := RDMADevice(in, in.Profile.SoftRoCE.Device)
	if !ok || !isSoft(d) {
		return false
	}
	parent, known := Parent(d)
	return !known || parent == in.Netdev.Name
}

func softConflict() Rule {
	return Rule{Name: "soft-conflict", Scope: Inbox, Source: "rdma_rxe: one device on an interface; RDMA device names are unique", Judge: func(in Input) []Finding {
		soft := in.Profile.SoftRoCE
		if soft == nil || in.Netdev.Name == "" || !in.Running() {
			return nil
		}
		source := in.Facts.RDMA.Source
		if d, ok := RDMADevice(in, soft.Device); ok && !SoftDevicePresent(in) {
			if parent, known := Parent(d); known && isSoft(d) {
				return refuse(SoftRoCEConflict, source, "%s exists already on %s, not on %s", soft.Device, printable(parent), in.Netdev.Name)
			}
			return refuse(SoftRoCEConflict, source, "an RDMA device named %s exists already and is not Soft-RoCE", soft.Device)
		}
		var names []string
		for _, d := range in.Facts.RDMA.Or(nil) {
			if parent, known := Parent(d); d.Name != soft.Device && isSoft(d) && known && parent == in.Netdev.Name {
				names = append(names, printable(d.Name))
			}
		}
		if len(names) > 0 {
			slices.Sort(names)
			return refuse(SoftRoCEConflict, source, "%s carries the Soft-RoCE device %s already, and takes only one", in.Netdev.Name, list(names))
		}
		return nil
	}}
}
