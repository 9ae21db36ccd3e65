package rules

import (
	"slices"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
)

// Every generation that the matrix has PCI ids of can be stated, and none that it never heard of.
func TestGenerations(t *testing.T) {
	index := embeddedIndex(t)
	known := map[string]bool{}
	for _, d := range index.Matrix().CardDrivers {
		known[d.Card] = true
		if !slices.Contains(Generations(), d.Card) {
			t.Errorf("%s cannot be stated", d.Card)
		}
	}
	for _, r := range index.Matrix().Releases {
		for _, card := range r.Cards {
			known[card] = true
		}
	}
	for _, card := range Generations() {
		if !known[card] {
			t.Errorf("%s is stated and nothing has it", card)
		}
	}
}

// Generations that no release serves are refused by each or left unknown, never documented.
func TestGenerationsWithoutAStack(t *testing.T) {
	index := embeddedIndex(t)
	for _, tc := range []struct {
		card string
		ok   bool
	}{{"connectx-1", false}, {"connectx-10", false}, {"bluefield-3-lx", false}, {"connectx-6-dx", true}} {
		in := vendorInput(t, index, pci(), func(_ *facts.Facts, a *Asked) { a.Cards = []string{tc.card} })
		documented := false
		for _, stack := range []string{"mlnx-ofed", "doca-ofed"} {
			for _, c := range Candidates(in, stack) {
				documented = documented || c.Status == Supported || c.Status == Community
			}
		}
		if documented != tc.ok {
			t.Errorf("%s: documented is %v", tc.card, documented)
		}
	}
}

// What package managers call an architecture is the same one.
func TestArchitectureNames(t *testing.T) {
	index := smallIndex(t)
	for name, want := range map[string]string{"amd64": "x86_64", "arm64": "aarch64", "AMD64": "x86_64", "ppc64el": "ppc64le", "x86_64": "x86_64", "s390x": "s390x"} {
		in := vendorInput(t, index, arch(name))
		if got := in.Facts.Kernel.Arch.Or(""); got != want {
			t.Errorf("%s is read as %s, want %s", name, got, want)
		}
		if c := candidate(t, in, "mlnx-ofed", "24.10-1.1.4.0"); (c.Status == Supported) != (want == "x86_64") {
			t.Errorf("%s: %s", name, c.Status)
		}
	}
}
