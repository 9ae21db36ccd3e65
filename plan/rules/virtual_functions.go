package rules

// OnlyVirtualFunctions says that the host has ConnectX functions and all of them are known to be virtual:
// a guest, whose cards and firmware belong to the machine below.
func OnlyVirtualFunctions(in Input) bool {
	// Asked for every release of a stack, so the cards are not copied.
	all, any := in.Facts.PCI.Or(nil), false
	for i := range all {
		if all[i].Vendor != mellanox || !all[i].RDMACapable {
			continue
		}
		if !all[i].VF.Or(false) {
			return false
		}
		any = true
	}
	return any && len(in.Cards) == 0
}
