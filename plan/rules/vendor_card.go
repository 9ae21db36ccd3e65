package rules

import (
	"slices"

	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// Codes of cards and releases.
const (
	CardNotServed  Code = "card-not-served"
	CardListUnseen Code = "card-list-unseen"
	CardElsewhere  Code = "card-served-elsewhere"
)

// cardServed: every card of the host must be served. What the matrix's rules say of a generation comes
// before a release's own table. The driver's table of PCI ids takes no part: it has ids (BlueField-3,
// ConnectX-8) of cards that the release does not support.
func cardServed() VendorRule {
	return VendorRule{Name: "card-served", Source: "hardware tables of the releases; rules of the matrix by generation", Judge: func(h *vendorHost, c *Candidate) {
		for i := range h.cards {
			card := &h.cards[i]
			yes, no := 0, 0
			var why Finding
			for _, g := range card.generations {
				switch served, said := h.serves(card, g, c.Release); served {
				case answerYes:
					yes++
				case answerNo:
					no++
					why = said
				case answerUnknown:
				}
			}
			switch {
			case len(card.generations) > 0 && no == len(card.generations):
				c.refuse(why)
				return
			case len(card.generations) > 0 && yes == len(card.generations):
			default:
				h.doubts = append(h.doubts, h.unseenCard(card, yes, no))
			}
		}
	}}
}

type answer int

const (
	answerUnknown answer = iota
	answerYes
	answerNo
)

// serves says whether a release serves a generation, and why not.
func (h *vendorHost) serves(card *hostCard, generation string, r *matrix.Release) (answer, Finding) {
	if list := card.rules[generation]; len(list) > 0 {
		for i := range list {
			if !h.matrix.Meets(list[i].Allowed, h.version) || len(list[i].Arch) > 0 && !slices.Contains(list[i].Arch, h.arch) {
				continue
			}
			if branch := list[i].Recommended; branch != "" && branch != r.Branch && !Names(h.in.Version, r) {
				return answerNo, h.say(cause{rule: "elsewhere", of: card.name, and: generation}, func() Finding {
					return Finding{
						Code: CardElsewhere, Effect: Refuse, Source: firstSource(list[i].Source, card.source),
						Text: card.name + " is served by the branch " + branch + " of " + h.stack + ", which is the one for it; another is taken only when its version is named (" + list[i].Text + ")",
					}
				})
			}
			return answerYes, Finding{}
		}
		return answerNo, h.say(cause{rule: "card rule", of: card.name, and: generation}, func() Finding {
			return Finding{Code: CardNotServed, Effect: Refuse, Text: card.name + ": " + list[0].Text + h.otherCardsFine(card), Source: firstSource(list[0].Source, card.source)}
		})
	}
	switch {
	case slices.Contains(r.Cards, generation):
		return answerYes, Finding{}
	case len(r.Cards) > 0:
		found := h.say(cause{rule: "card list", of: card.name, and: generation}, func() Finding {
			return Finding{
				Code: CardNotServed, Effect: Refuse,
				Text: card.name + " is not in the release's table of supported hardware" + h.otherCardsFine(card),
			}
		})
		found.Source = firstSource(r.Source, card.source)
		return answerNo, found
	case h.stack == "rdma-core":
		return h.provides(card, r)
	case r.FirmwareSure == "bundled" && r.Firmware[generation] != "":
		return answerYes, Finding{}
	}
	if !h.everListed(generation) {
		return answerNo, h.say(cause{rule: "never", of: card.name, and: generation}, func() Finding {
			return Finding{
				Code: CardNotServed, Effect: Refuse, Source: firstSource(r.Source, card.source),
				Text: card.name + " is in no hardware table of " + h.stack + " that was seen, of any release" + h.otherCardsFine(card),
			}
		})
	}
	return answerUnknown, Finding{}
}

// everListed says whether any release of the stack has a generation in its table.
func (h *vendorHost) everListed(generation string) bool {
	listed, done := h.listed[generation]
	if !done {
		tables := false
		for _, r := range h.matrix.Releases(h.stack) {
			tables = tables || len(r.Cards) > 0
			if slices.Contains(r.Cards, generation) {
				listed = true
				break
			}
		}
		listed = listed || !tables
		h.listed[generation] = listed
	}
	return listed
}

// otherCardsFine tells that it takes one card of several to exclude a release.
func (h *vendorHost) otherCardsFine(card *hostCard) string {
	if len(h.cards) < 2 {
		return ""
	}
	var others []string
	for i := range h.cards {
		if &h.cards[i] != card {
			others = append(others, h.cards[i].name)
		}
	}
	return "; a stack must serve all cards of the host, also " + list(others)
}

func (h *vendorHost) unseenCard(card *hostCard, yes, no int) Finding {
	return h.say(cause{rule: "unseen", of: card.name, n: yes, m: no}, func() Finding {
		text := "no hardware table of this release was seen, so nothing says that it serves " + card.name
		switch {
		case len(card.generations) == 0:
			text = "nothing tells the generation of " + card.name + ", so nothing says whether the release serves it"
		case yes > 0 || no > 0:
			text = card.name + ": the generation is not known, and the release serves only some of those that it may be"
		}
		return Finding{Code: CardListUnseen, Effect: Warn, Text: text, Source: card.source}
	})
}

// provides: rdma-core has one user-space driver for all cards of a kernel driver.
func (h *vendorHost) provides(card *hostCard, r *matrix.Release) (answer, Finding) {
	provider := "mlx5"
	if card.driver == "mlx4_core" {
		provider = "mlx4"
	}
	if len(r.Providers) == 0 || slices.Contains(r.Providers, provider) {
		return answerYes, Finding{}
	}
	return answerNo, h.say(cause{rule: "provider", of: card.name}, func() Finding {
		return Finding{
			Code: CardNotServed, Effect: Refuse, Source: firstSource(r.Source, card.source),
			Text: card.name + " needs the provider " + provider + ", which the release does not have",
		}
	})
}
