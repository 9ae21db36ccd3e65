package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/profiles/matrix"
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
		{"the cloud kernel, which lacks it", []change{debian("6.1.0-50-cloud-amd64"), untold}, StateMissing},
		{"the cloud kernel of another architecture", []change{debian("6.1.0-50-cloud-arm64"), untold}, StateUnknown},
		{"the cloud kernel of another line", []change{debian("6.12.0-50-cloud-amd64"), untold}, StateUnknown},
		{"a coming cloud kernel", []change{debian("6.1.0-50-amd64"), untold, kernelAsked("6.1.0-60-cloud-amd64")}, StateMissing},
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

// A flavour of the kernel for clouds lacks modules, or has them in a package that the plan adds.
func TestModulesOfAFlavour(t *testing.T) {
	index := embeddedIndex(t)
	untold := on(func(f *facts.Facts) { f.Kernel.Config = facts.Field[map[string]string]{} })
	gone := on(func(f *facts.Facts) {
		f.Modules.OnDisk = []facts.DiskModule{{Name: "rdma_rxe", Path: facts.None[string]("modinfo rdma_rxe")}}
	})
	have := func(name string) change { return user(name, "6.8.0", "inbox") }
	ubuntu := func(version, kernel string) change { return system("ubuntu", version, "debian", kernel) }
	for _, tc := range []struct {
		name    string
		changes []change
		want    ModuleState
		adds    string
		finding string // the code, with ! where it refuses
		text    string
	}{
		{"Debian's for clouds", []change{system("debian", "12", "debian", "6.1.0-57-cloud-amd64"), untold}, StateMissing, "", "module-missing!", "linux-image-amd64"},
		{"Debian's generic one", []change{system("debian", "12", "debian", "6.1.0-57-amd64"), untold}, StateOnDisk, "", "", ""},
		{"Debian's for clouds on another architecture", []change{system("debian", "12", "debian", "6.1.0-57-cloud-arm64"), untold}, StateUnknown, "", "module-missing", "linux-image-arm64"},
		{"Ubuntu's for AWS", []change{ubuntu("24.04", "6.8.0-1021-aws"), untold}, StateInPackage, "linux-modules-extra-6.8.0-1021-aws", "", ""},
		{"the module is looked for and not there", []change{ubuntu("24.04", "6.8.0-1021-aws"), untold, gone}, StateInPackage, "linux-modules-extra-6.8.0-1021-aws", "", ""},
		{"the package is installed", []change{ubuntu("24.04", "6.8.0-1021-aws"), untold, have("linux-modules-extra-6.8.0-1021-aws")}, StateOnDisk, "", "", ""},
		{"the package of another kernel is installed", []change{ubuntu("24.04", "6.8.0-1021-aws"), untold, have("linux-modules-extra-6.8.0-1020-aws")}, StateInPackage, "linux-modules-extra-6.8.0-1021-aws", "", ""},
		{"a coming kernel", []change{ubuntu("24.04", "6.8.0-31-generic"), untold, kernelAsked("6.8.0-1030-aws")}, StateInPackage, "linux-modules-extra-6.8.0-1030-aws", "", ""},
		{"Ubuntu's for Azure", []change{ubuntu("24.04", "6.8.0-1018-azure"), untold}, StateMissing, "", "module-missing!", "linux-image-generic"},
		{"Ubuntu's for Azure of another line", []change{ubuntu("24.04", "6.17.0-1018-azure"), untold}, StateUnknown, "", "module-missing", "linux-modules-extra-6.17.0-1018-azure"},
		{"Ubuntu's for AWS of a release that nobody looked at", []change{ubuntu("22.04", "6.8.0-1021-aws"), untold}, StateUnknown, "", "module-missing", "linux-modules-extra-6.8.0-1021-aws"},
		{"Ubuntu's generic one", []change{ubuntu("24.04", "6.8.0-31-generic"), untold}, StateUnknown, "", "", ""},
	} {
		in := inputFor(t, "soft", append(tc.changes, known(index))...)
		i := slices.IndexFunc(in.Modules, func(m Module) bool { return m.Name == "rdma_rxe" })
		if i < 0 {
			t.Fatalf("%s: the profile does not ask for rdma_rxe", tc.name)
		}
		if m := in.Modules[i]; m.State != tc.want {
			t.Errorf("%s: rdma_rxe is %s (%s), want %s", tc.name, m.State, m.Source, tc.want)
		}
		added := ""
		for _, p := range in.Packages {
			if strings.HasPrefix(p.Name, "linux-modules-extra-") {
				added += p.Name
			}
		}
		if added != tc.adds {
			t.Errorf("%s: adds %q, want %q", tc.name, added, tc.adds)
		}
		code, text := "", ""
		for _, f := range missingModules().Judge(in) {
			code, text = string(f.Code), f.Text
			if f.Effect == Refuse {
				code += "!"
			}
		}
		if code != tc.finding || !strings.Contains(text, tc.text) {
			t.Errorf("%s: found %q %q, want %q with %q", tc.name, code, text, tc.finding, tc.text)
		}
	}
}

// inputFor is what rules judge of the host of judge.
func inputFor(t *testing.T, profile string, changes ...change) Input {
	t.Helper()
	var in Input
	judge(t, Rule{Judge: func(got Input) []Finding { in = got; return nil }}, profile, changes...)
	return in
}

func known(index *matrix.Index) change { return func(_ *facts.Facts, a *Asked) { a.Matrix = index } }
