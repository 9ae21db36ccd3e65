package rules

// OnlyVirtualFunctions says that the host has ConnectX functions and all of them are known to be virtual:
// a guest, whose cards and firmware belong to the machine below.
func OnlyVirtualFunctions(in Input) bool {
	cards := ownCards(in)
	for _, card := range cards {
		if !card.VF.Or(false) {
			return false
		}
	}
	return len(cards) > 0 && len(in.Cards) == 0
}
