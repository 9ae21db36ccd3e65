package rules

import (
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/internal/version"
)

// CardNewerThanKernel is a card whose PCI id came to Linux after the kernel of the host.
const CardNewerThanKernel Code = "card-newer-than-kernel"

// cardAge: a driver binds the ids that it knows. Distributions bring ids to older kernels, and so do stable
// releases, so that the number is a doubt and no proof. RHEL's and SUSE's kernels keep a number for years while
// drivers move, so that theirs tells nothing but the question.
func cardAge() Rule {
	return Rule{Name: "card-age", Scope: Inbox, Source: "PCI ids in the mlx4 and mlx5 drivers of Linux by release, of the matrix", Judge: func(in Input) []Finding {
		if in.Matrix == nil || in.inContainer() || in.Profile.SoftRoCE != nil {
			return nil
		}
		return youngCards(in)
	}}
}

// cardAgeFromSource is the same for rdma-core from source, which runs on the distribution's modules.
func cardAgeFromSource() VendorRule {
	return VendorRule{Name: "card-age-from-source", Source: "PCI ids in the mlx4 and mlx5 drivers of Linux by release, of the matrix", Judge: func(h *vendorHost, c *Candidate) {
		if h.stack == "rdma-core" {
			c.warn(h.once("card-age", func() []Finding { return youngCards(h.in) })...)
		}
	}}
}

func youngCards(in Input) []Finding {
	release, source := in.targetKernel()
	kernel, err := version.ParseKernel(release)
	if err != nil {
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
		doubt := "unless the distribution brought the id to it, no driver binds the card"
		if family := in.Facts.Distro.Family.Or(""); family == "rhel" || family == "suse" {
			doubt = "such distributions bring ids to their kernels under the same number, and no source tells whether to this one: `modinfo " + d.Driver + "` there has the alias " + aliases(d.Devices) + " if so"
		}
		found = append(found, warn(CardNewerThanKernel, firstSource(d.Source, source),
			"%s: Linux has its id in %s since %s%s, and the kernel is %s; %s", card.name, d.Driver, d.FirstKernel, text, release, doubt)...)
	}
	return found
}

// aliases are PCI ids as modinfo prints them.
func aliases(devices []string) string {
	var out []string
	for _, d := range devices {
		out = append(out, "pci:v000015B3d0000"+strings.ToUpper(d)+"*")
	}
	return strings.Join(out, " or ")
}
