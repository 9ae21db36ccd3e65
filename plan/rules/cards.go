package rules

import (
	"slices"
	"strings"
)

// Codes of stated cards.
const (
	CardStated       Code = "card-stated"
	CardContradicted Code = "card-contradicted"
)

// Generations are the cards that --card may state.
func Generations() []string {
	return []string{
		"connectx-1", "connectx-2", "connectx-3", "connectx-3-pro", "connect-ib", "connectx-4", "connectx-4-lx", "connectx-5",
		"connectx-5-ex", "connectx-6", "connectx-6-dx", "connectx-6-lx", "connectx-7", "connectx-8", "connectx-9", "connectx-10",
		"bluefield-1", "bluefield-2", "bluefield-3", "bluefield-3-lx", "bluefield-4", "innova-ipsec-en",
	}
}

// rdmaDriver is the RDMA half of a generation's driver: mlx4 serves up to ConnectX-3 Pro.
func rdmaDriver(generation string) string {
	if slices.Contains([]string{"connectx-1", "connectx-2", "connectx-3", "connectx-3-pro"}, generation) {
		return "mlx4_ib"
	}
	return "mlx5_ib"
}

func cards() Rule {
	return Rule{Name: "cards", Scope: Request, Source: "design: a stated card never overrules one that is seen", Judge: func(in Input) []Finding {
		if len(in.Cards) == 0 {
			return nil
		}
		var other []string
		seen := 0
		for _, one := range ownCards(in) {
			seen++
			generation, known := one.Generation.Get()
			matches := known && slices.Contains(in.Cards, generation)
			for _, candidate := range one.Candidates {
				matches = matches || (!known && slices.Contains(in.Cards, candidate))
			}
			if !known && len(one.Candidates) == 0 {
				matches = true // nothing told speaks against it
			}
			if !matches {
				name := generation
				if !known {
					name = strings.Join(one.Candidates, " or ")
				}
				other = append(other, name+" at "+one.Address)
			}
		}
		if len(other) > 0 {
			return refuse(CardContradicted, in.Facts.PCI.Source, "--card states %s, but this host has %s", strings.Join(in.Cards, ", "), list(other))
		}
		if seen > 0 {
			return nil
		}
		return warn(CardStated, "--card", "%s is stated and was not seen on this host", strings.Join(in.Cards, ", "))
	}}
}
