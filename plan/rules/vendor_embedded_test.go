package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

func embeddedIndex(t testing.TB) *matrix.Index {
	t.Helper()
	m, err := matrix.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	x, err := matrix.NewIndex(m)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func card(generation string) change { return pci(mellanoxCard("0000:3b:00.0", "1017", generation)) }

// What the built-in matrix comes down to on hosts that experts have judged in public reports.
func TestBuiltInMatrix(t *testing.T) {
	index := embeddedIndex(t)
	ofed := func(stack string) func(c Candidate) bool {
		return func(c Candidate) bool { return c.Release.Stack == stack && len(c.Refusals) == 0 }
	}
	// ConnectX-3 on 5.14: 4.9 ends below kernel 5.6, and newer branches have no ConnectX-3.
	in := vendorInput(t, index, system("ubuntu", "18.04", "debian", "5.14.0-rc5"), pci(cx3))
	for _, stack := range []string{"mlnx-ofed", "doca-ofed"} {
		if all := Candidates(in, stack); len(all) < 20 || slices.ContainsFunc(all, ofed(stack)) {
			t.Errorf("%s: %d candidates, and one is left for ConnectX-3 on kernel 5.14", stack, len(all))
		}
	}
	// The twin: the distribution's kernel.
	in = vendorInput(t, index, ubuntu18, pci(cx3))
	for _, c := range Candidates(in, "mlnx-ofed") {
		if open := len(c.Refusals) == 0; open != (c.Release.Branch == "4.9") {
			t.Errorf("ConnectX-3 on Ubuntu 18.04 and %s: open is %v: %v", c.Release.Version, open, c.Refusals)
		}
	}

	// 5.4 on 5.14: the newest point release builds, an older one does not.
	in = vendorInput(t, index, system("ubuntu", "20.04", "debian", "5.14.0-rc5"), card("connectx-5"), versionAsked("5.4"))
	if c := candidate(t, in, "mlnx-ofed", "5.4-3.7.5.0"); c.Status != Unknown || c.Modules != ModulesBuilt {
		t.Errorf("5.4-3.7.5.0: %s, %s, %v", c.Status, c.Modules, c.Refusals)
	}
	if c := candidate(t, in, "mlnx-ofed", "5.4-3.1.0.0"); len(c.Refusals) == 0 || c.Refusals[0].Code != KernelBreaksBuild {
		t.Errorf("5.4-3.1.0.0: %s, %v", c.Status, c.Refusals)
	}

	// Drivers that are built in exclude every release.
	in = vendorInput(t, index, system("ubuntu", "16.04", "debian", "4.15.0-1041-azure"), pci(cx3VF), on(func(f *facts.Facts) {
		f.Kernel.Config = facts.Is(map[string]string{"MLX4_CORE": "y", "MLX5_CORE": "y"}, "/boot/config")
	}))
	for _, stack := range []string{"mlnx-ofed", "doca-ofed"} {
		for _, c := range Candidates(in, stack) {
			if len(c.Refusals) == 0 || c.Refusals[0].Code != DriversBuiltIn || !strings.Contains(c.Refusals[0].Text, "CONFIG_MLX4_CORE and CONFIG_MLX5_CORE are built into") {
				t.Errorf("%s: %v", c.Release.Version, c.Refusals)
			}
		}
	}

	// A board's kernel without headers.
	in = vendorInput(t, index, system("ubuntu", "20.04", "debian", "5.10.35"), arch("aarch64"), card("connectx-4-lx"), on(func(f *facts.Facts) {
		f.Kernel.Headers = facts.None[string]("ls /lib/modules/5.10.35/build")
	}))
	if slices.ContainsFunc(Candidates(in, "mlnx-ofed"), ofed("mlnx-ofed")) {
		t.Error("a release is left for a kernel without headers")
	}

	// The driver container of DOCA 2.10 predates 6.11, and its optional package fails there.
	in = vendorInput(t, index, system("ubuntu", "24.04", "debian", "6.11.0-1003-nvidia-64k"), arch("aarch64"), card("connectx-7"), method("container"), versionAsked("25.1.0"))
	c := candidate(t, in, "doca-ofed", "2.10.0")
	if !Names("25.1.0", c.Release) || !slices.ContainsFunc(c.Refusals, func(f Finding) bool { return f.Code == OptionalBuildFails && strings.Contains(f.Text, "mlnx-nvme") }) ||
		!slices.ContainsFunc(c.Refusals, func(f Finding) bool { return f.Code == KernelNotCovered && strings.Contains(f.Text, "nvidia-64k") }) {
		t.Errorf("DOCA 2.10.0 in a container: %v", c.Refusals)
	}

	// Rocky 8.5 is RHEL 8.5 without the vendor's word, and modules are built.
	in = vendorInput(t, index, system("rocky", "8.5", "rhel", "4.18.0-348.el8.0.2.x86_64"), card("connectx-6"))
	c = candidate(t, in, "mlnx-ofed", "5.5-1.0.3.2")
	if c.Status != Unknown || c.Label != "rhel8.5" || c.Modules != ModulesBuilt || c.Evidence == "" {
		t.Errorf("Rocky 8.5: %s %s %s %q %v", c.Status, c.Label, c.Modules, c.Evidence, c.Refusals)
	}

	// ConnectX-2 is served by no vendor stack.
	in = vendorInput(t, index, system("centos", "8", "rhel", "4.18.0-305.el8.x86_64"), pci(cx2))
	for _, stack := range []string{"mlnx-ofed", "doca-ofed"} {
		if slices.ContainsFunc(Candidates(in, stack), ofed(stack)) {
			t.Errorf("a release of %s is left for ConnectX-2", stack)
		}
	}

	// RHEL 9.4 with its first kernel is documented.
	in = vendorInput(t, index)
	if c := candidate(t, in, "mlnx-ofed", "23.10-2.1.3.1.201"); c.Status != Supported || c.Modules != ModulesPrebuilt {
		t.Errorf("RHEL 9.4: %s %s %v", c.Status, c.Modules, c.Reasons)
	}
	// BlueField-3 is DOCA's alone, whatever ids the drivers carry.
	in = vendorInput(t, index, card("bluefield-3"))
	if slices.ContainsFunc(Candidates(in, "mlnx-ofed"), ofed("mlnx-ofed")) || !slices.ContainsFunc(Candidates(in, "doca-ofed"), ofed("doca-ofed")) {
		t.Error("BlueField-3 is not DOCA's alone")
	}
}

// Every finding about a release says something and names its source.
func TestFindingsAreWhole(t *testing.T) {
	index := embeddedIndex(t)
	for _, changes := range [][]change{
		nil,
		{ubuntu22, secureBootOn, pci(cx6, efa)},
		{ubuntu18, pci(cx3VF), ofedInfo("MLNX_OFED_LINUX-4.9-4.1.7.0")},
		{system("rocky", "9.8", "rhel", "5.14.0-687.24.1.el9_8.x86_64"), card("connectx-7")},
		{system("sles", "15.5", "suse", "5.14.21-150500.55.7-default"), card("connectx-6")},
		{on(func(f *facts.Facts) { *f = facts.Facts{} })},
	} {
		in := vendorInput(t, index, changes...)
		for _, stack := range []string{"mlnx-ofed", "doca-ofed", "rdma-core", "ofed"} {
			for _, c := range Candidates(in, stack) {
				if len(c.Refusals)+len(c.Reasons) == 0 {
					t.Errorf("%s %s is %s without a reason", stack, c.Release.Version, c.Status)
				}
				for _, f := range slices.Concat(c.Refusals, c.Reasons, c.Warnings) {
					if _, known := facts.LookupCode(string(f.Code)); !known || f.Text == "" || f.Source == "" {
						t.Errorf("%s %s: %+v", stack, c.Release.Version, f)
					}
				}
				if len(c.Refusals) == 0 && (c.Method == "" || c.Modules == "") {
					t.Errorf("%s %s has the method %q and modules %q", stack, c.Release.Version, c.Method, c.Modules)
				}
			}
		}
	}
}

func BenchmarkCandidates(b *testing.B) {
	index := embeddedIndex(b)
	for name, changes := range map[string][]change{
		"rhel-cx6dx": nil,
		"ubuntu-cx3": {system("ubuntu", "18.04", "debian", "5.14.0-rc5"), pci(cx3)},
		"rocky-cx7":  {system("rocky", "9.8", "rhel", "5.14.0-687.24.1.el9_8.x86_64"), card("connectx-7"), secureBootOn},
	} {
		b.Run(name, func(b *testing.B) {
			in := vendorInput(b, index, changes...)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n = 0
				for _, stack := range []string{"doca-ofed", "mlnx-ofed", "rdma-core", "ofed"} {
					n += len(Candidates(in, stack))
				}
			}
			b.ReportMetric(float64(n), "releases/host")
		})
	}
}
