package rules

import (
	"fmt"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

func TestExplore(t *testing.T) {
	m, err := matrix.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	x, err := matrix.NewIndex(m)
	if err != nil {
		t.Fatal(err)
	}
	type h struct{ id, ver, fam, kernel, arch, card, stack, method, version string }
	for _, c := range []h{
		{"ubuntu", "18.04", "debian", "5.14.0-rc5", "x86_64", "connectx-3", "mlnx-ofed", "", ""},
		{"ubuntu", "18.04", "debian", "4.15.0-20-generic", "x86_64", "connectx-3", "mlnx-ofed", "", ""},
		{"ubuntu", "20.04", "debian", "5.14.0-rc5", "x86_64", "connectx-5", "mlnx-ofed", "", "5.4"},
		{"ubuntu", "24.04", "debian", "6.8.0-90-generic", "x86_64", "connectx-7", "doca-ofed", "", ""},
		{"ubuntu", "24.04", "debian", "6.11.0-1003-nvidia-64k", "aarch64", "connectx-7", "doca-ofed", "container", ""},
		{"rocky", "8.5", "rhel", "4.18.0-348.el8.0.2.x86_64", "x86_64", "connectx-6", "mlnx-ofed", "", ""},
		{"rhel", "9.4", "rhel", "5.14.0-427.13.1.el9_4.x86_64", "x86_64", "connectx-6-dx", "mlnx-ofed", "", ""},
		{"rhel", "9.4", "rhel", "5.14.0-427.13.1.el9_4.x86_64", "x86_64", "connectx-6-dx", "doca-ofed", "", ""},
		{"rhel", "9.8", "rhel", "5.14.0-687.24.1.el9_8.x86_64", "x86_64", "connectx-7", "doca-ofed", "", ""},
		{"debian", "12", "debian", "6.1.0-50-amd64", "x86_64", "connectx-6-dx", "mlnx-ofed", "", ""},
		{"debian", "12", "debian", "6.1.0-50-amd64", "x86_64", "connectx-6-dx", "rdma-core", "", ""},
		{"rhel", "7.6", "rhel", "3.10.0-957.el7.x86_64", "x86_64", "connectx-5", "ofed", "", "5.8"},
		{"rhel", "7.6", "rhel", "3.10.0-957.el7.x86_64", "x86_64", "connectx-5", "ofed", "", ""},
	} {
		p, err := profiles.Load("lts")
		if err != nil {
			t.Fatal(err)
		}
		f := facts.Facts{Origin: "live",
			Distro: facts.Distro{ID: facts.Is(c.id, "/etc/os-release"), VersionID: facts.Is(c.ver, "/etc/os-release"), Family: facts.Is(c.fam, "os")},
			Kernel: facts.Kernel{Release: facts.Is(c.kernel, "uname -r"), Arch: facts.Is(c.arch, "uname -m"), Running: true},
			PCI:    facts.Is([]facts.PCIDevice{{Address: "0000:3b:00.0", Vendor: "15b3", Device: "1017", RDMACapable: true, Generation: facts.Is(c.card, "ids")}}, "lspci"),
		}
		in := NewInput(f, p, Asked{Matrix: x, Day: "2026-11-30", Method: c.method, Version: c.version, Named: true})
		fmt.Printf("=== %+v\n", c)
		for _, cand := range Candidates(in, c.stack) {
			fmt.Printf("%-18s %-11s %-10s %-8s %s", cand.Release.Version, cand.Status, cand.Method, cand.Modules, cand.Label)
			for _, x := range cand.Refusals {
				fmt.Printf("\n     !%s: %s", x.Code, x.Text)
			}
			for _, x := range cand.Reasons {
				fmt.Printf("\n     +%s: %s", x.Code, x.Text)
			}
			for _, x := range cand.Warnings {
				fmt.Printf("\n     ~%s: %s", x.Code, x.Text)
			}
			fmt.Println()
		}
	}
}
