package rules

import (
	"slices"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/internal/version"
)

// CardNewerThanKernel is a card whose PCI id came to Linux after the kernel of the host.
const CardNewerThanKernel Code = "card-newer-than-kernel"

// cardAge: a driver binds the ids that it knows. Distributions bring ids to older kernels, and so do stable
// releases, so that the number is a doubt and no proof; RHEL's and SUSE's tell nothing at all.
func cardAge() Rule {
	return Rule{Name: "card-age", Scope: Inbox, Source: "PCI ids in the mlx4 and mlx5 drivers of Linux by release, of the matrix", Judge: func(in Input) []Finding {
		family := in.Facts.Distro.Family.Or("")
		release, source := in.targetKernel()
		kernel, err := version.ParseKernel(release)
		if in.Matrix == nil || in.inContainer() || in.Profile.SoftRoCE != nil || err != nil || family == "rhel" || family == "suse" {
			return nil
		}
		var found []Finding
		for _, card := range hostCards(in) {
			if len(card.generations) != 1 {
				continue
			}
			served := func(d facts.PCIDevice) bool { return d.Generation.Or("") == card.generations[0] && bound(d) }
			if slices.ContainsFunc(ownCards(in), served) && !in.OtherKernel() {
				continue
			}
			d, known := in.Matrix.CardDriver(card.generations[0])
			first, err := version.ParseKernel(d.FirstKernel)
			if !known || err != nil || kernel.Compare(first) >= 0 {
				continue
			}
			text := ""
			if d.Note != "" {
				text = " (" + d.Note + ")"
			}
			found = append(found, warn(CardNewerThanKernel, firstSource(d.Source, source),
				"%s: Linux has its id in %s since %s%s, and the kernel is %s; unless the distribution brought the id to it, no driver binds the card", card.name, d.Driver, d.FirstKernel, text, release)...)
		}
		return found
	}}
}
