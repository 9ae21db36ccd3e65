package rules

import (
	"slices"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
)

// A module that nothing on the host tells of is there when the packages of its kernel were seen to have it.
func TestModulesOfTheDistribution(t *testing.T) {
	index := embeddedIndex(t)
	untold := on(func(f *facts.Facts) { f.Kernel.Config = facts.Field[map[string]string]{} })
	debian := func(kernel string) change { return system("debian", "12", "debian", kernel) }
	for _, tc := range []struct {
		name    string
		changes []change
		want    ModuleState
	}{
		{"the generic kernel of the release", []change{debian("6.1.0-50-amd64"), untold}, StateOnDisk},
		{"a coming one of the same line", []change{debian("6.1.0-50-amd64"), untold, kernelAsked("6.1.0-60-amd64")}, StateOnDisk},
		{"a kernel of backports", []change{debian("6.12.9+bpo-amd64"), untold}, StateUnknown},
		{"the cloud kernel, which lacks it", []change{debian("6.1.0-50-cloud-amd64"), untold}, StateUnknown},
		{"a kernel of one's own", []change{debian("6.1.50"), untold}, StateUnknown},
		{"the host says no", []change{debian("6.1.0-50-amd64"), option3("INFINIBAND_IPOIB", "n")}, StateMissing},
		{"the one kernel package of EL 7", []change{system("centos", "7", "rhel", "3.10.0-1062.12.1.el7.x86_64"), untold}, StateOnDisk},
		{"a third party's kernel on EL 7", []change{system("centos", "7", "rhel", "5.4.278-1.el7.elrepo.x86_64"), untold}, StateUnknown},
		{"packages that nobody looked into", []change{system("rhel", "9.4", "rhel", "5.14.0-427.13.1.el9_4.x86_64"), untold}, StateUnknown},
	} {
		in := vendorInput(t, index, append(tc.changes, pci(cx3VF))...)
		i := slices.IndexFunc(in.Modules, func(m Module) bool { return m.Name == "ib_ipoib" })
		if i < 0 {
			t.Fatalf("%s: the profile does not ask for ib_ipoib", tc.name)
		}
		m := in.Modules[i]
		if m.State != tc.want || tc.want == StateOnDisk && m.Source == "" {
			t.Errorf("%s: ib_ipoib is %s (%s), want %s", tc.name, m.State, m.Source, tc.want)
		}
		if !slices.ContainsFunc(in.Modules, func(m Module) bool { return m.Name == "mlx4_ib" && !m.Optional }) {
			t.Errorf("%s: the virtual function's mlx4_ib is not asked for", tc.name)
		}
	}
}
