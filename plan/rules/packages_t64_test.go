package rules

import (
	"slices"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
)

// From Debian 13 and Ubuntu 24.04 on some libraries have names that end in t64; they are meant by the name without.
func TestNameMeets(t *testing.T) {
	for _, tc := range []struct {
		name, entry string
		want        bool
	}{
		{"librdmacm1t64", "librdmacm1", true},
		{"librdmacm1t64:amd64", "librdmacm1", true},
		{"libibnetdisc5t64", "libibnetdisc5*", true},
		{"librdmacm1", "librdmacm1", true},
		{"librdmacm1", "librdmacm1t64", false},
		{"librdmacm2t64", "librdmacm1", false},
		{"mlnx-ofed-all", "mlnx-ofed-*", true},
		{"rdma-core", "mlnx-ofed-*", false},
	} {
		if got := NameMeets(tc.name, tc.entry); got != tc.want {
			t.Errorf("%s by %s: %v", tc.name, tc.entry, got)
		}
	}
}

// A package of a version is installed when that version is.
func TestPackageInstalled(t *testing.T) {
	in := Input{Facts: facts.Facts{Packages: facts.Packages{Installed: facts.Is([]facts.Package{
		{Name: "kernel-devel", Version: "4.18.0-348.el8.0.2", Arch: "x86_64"}, {Name: "libibverbs1:amd64", Version: "50.0-2build2"},
	}, "rpm -qa")}}}
	for name, want := range map[string]bool{
		"kernel-devel-4.18.0-348.el8.0.2.x86_64": true, "kernel-devel-4.18.0-348.el8.0.2": true, "kernel-devel": true, "libibverbs1": true,
		"kernel-devel-4.18.0-348.el8.x86_64": false, "kernel-devel-4.18.0-348.el8.0.2.aarch64": false, "kernel": false, "libibverbs": false,
	} {
		if got := PackageInstalled(in, name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A host whose cards are another maker's loads their driver, and not that of cards that it has not.
func TestModulesOfForeignCards(t *testing.T) {
	bcm := facts.PCIDevice{Address: "0000:5e:00.0", Vendor: "14e4", Device: "1750", RDMACapable: true, WantsRDMADriver: "bnxt_re"}
	cx5 := mellanoxCard("0000:3b:00.0", "1017", "connectx-5")
	for _, tc := range []struct {
		changes  []change
		mlx, bcm string // "no", "optional", "needed"
	}{
		{[]change{pci(bcm)}, "no", "needed"},
		{[]change{pci(bcm, cx5)}, "needed", "optional"},
		{[]change{pci(cx5)}, "needed", "no"},
		{[]change{pci(virtio)}, "needed", "no"},
		{[]change{pci(bcm), stating("connectx-6")}, "needed", "optional"},
	} {
		in := inputFor(t, "inbox", tc.changes...)
		how := func(name string) string {
			i := slices.IndexFunc(in.Modules, func(m Module) bool { return m.Name == name })
			switch {
			case i < 0:
				return "no"
			case in.Modules[i].Optional:
				return "optional"
			}
			return "needed"
		}
		if mlx, bcm := how("mlx5_ib"), how("bnxt_re"); mlx != tc.mlx || bcm != tc.bcm {
			t.Errorf("mlx5_ib %s, want %s; bnxt_re %s, want %s", mlx, tc.mlx, bcm, tc.bcm)
		}
	}
}
