package profiles_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/profiles"
)

// release is one of each kind that the lists have conditions on.
type release struct{ family, name string }

func releases() []release {
	return []release{
		{"debian", "debian 11"},
		{"debian", "debian 13"},
		{"debian", "debian forky"},
		{"debian", "ubuntu 22.04"},
		{"debian", "ubuntu 24.04"},
		{"rhel", "rhel 7.3"},
		{"rhel", "centos 7"},
		{"rhel", "rhel 8.10"},
		{"rhel", "rocky 9.4"},
		{"rhel", "rhel 10.0"},
		{"suse", "sles 12.5"},
		{"suse", "sles 15.6"},
		{"suse", "opensuse-leap 15.6"},
	}
}

func load(t *testing.T, name string) profiles.Profile {
	t.Helper()
	p, err := profiles.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func names(list []profiles.Package) []string {
	var out []string
	for _, one := range list {
		out = append(out, one.Name)
	}
	return out
}

func modules(p profiles.Profile) []string {
	var out []string
	for _, m := range p.Modules.Load {
		out = append(out, m.Name)
	}
	return out
}

func TestEmbedded(t *testing.T) {
	all, err := profiles.List()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"edge", "hpc", "inbox", "kubernetes", "latest", "lts", "roce", "soft", "storage"}, all); diff != "" {
		t.Fatal(diff)
	}
	// What makes a device usable, by family: glue, library, provider.
	needed := map[string][]string{
		"debian": {"rdma-core", "libibverbs1", "ibverbs-providers", "iproute2"},
		"rhel":   {"libibverbs", "iproute"},
		"suse":   {"rdma-core", "libibverbs1", "libibverbs", "libmlx5-1", "iproute2"},
	}
	for _, name := range all {
		p := load(t, name)
		if p.Name != name {
			t.Errorf("%s.yaml is named %q", name, p.Name)
		}
		if p.Memlock.Everyone || p.Udev.UmadGroup != "" {
			t.Errorf("profile %s widens permissions by default", name)
		}
		for _, on := range releases() {
			packages := names(p.PackagesFor(on.family, on.name, "inbox"))
			for _, want := range needed[on.family] {
				if !slices.Contains(packages, want) {
					t.Errorf("profile %s on %s lacks package %s", name, on.name, want)
				}
			}
			// Debian's packages of these start a subnet manager, or log in to targets, when installed.
			for _, bad := range []string{"opensm", "srptools"} {
				if slices.Contains(packages, bad) {
					t.Errorf("profile %s on %s installs %s", name, on.name, bad)
				}
			}
			if len(slices.Compact(slices.Sorted(slices.Values(packages)))) != len(packages) {
				t.Errorf("profile %s on %s names a package twice: %v", name, on.name, packages)
			}
			for _, one := range p.PackagesFor(on.family, on.name, "doca-ofed") {
				if strings.Contains(one.Name, "verbs") || strings.Contains(one.Name, "rdma") || strings.Contains(one.Name, "mlx") || strings.Contains(one.Name, "ucx") {
					t.Errorf("profile %s on %s mixes %s into doca-ofed", name, on.name, one.Name)
				}
			}
		}
	}
}

// TestIntents holds what makes each profile that profile.
func TestIntents(t *testing.T) {
	for _, tc := range []struct {
		name, branches, hardware string
		prefer, has, lacks       []string // has and lacks: modules
	}{
		{"lts", "lts", "needed", []string{"doca-ofed", "mlnx-ofed", "inbox"}, []string{"mlx5_ib", "ib_umad"}, []string{"rdma_rxe"}},
		{"latest", "all", "needed", []string{"doca-ofed", "mlnx-ofed", "inbox"}, []string{"mlx5_ib"}, nil},
		{"inbox", "all", "optional", []string{"inbox"}, []string{"mlx5_ib"}, []string{"rdma_rxe"}},
		{"edge", "all", "optional", []string{"rdma-core", "inbox"}, []string{"mlx5_ib"}, nil},
		{"soft", "all", "optional", []string{"inbox"}, []string{"rdma_rxe"}, []string{"mlx5_ib", "ib_umad"}},
		{"hpc", "lts", "needed", []string{"doca-ofed", "mlnx-ofed", "inbox"}, []string{"ib_ipoib", "ib_umad"}, []string{"ib_iser"}},
		{"storage", "all", "needed", []string{"inbox"}, []string{"nvme_rdma", "nvmet_rdma", "ib_iser", "ib_srp", "rpcrdma"}, nil},
		{"roce", "lts", "needed", []string{"doca-ofed", "mlnx-ofed", "inbox"}, []string{"mlx5_ib", "rdma_ucm"}, []string{"ib_ipoib", "ib_umad"}},
		{"kubernetes", "all", "needed", []string{"inbox"}, []string{"ib_uverbs", "rdma_ucm", "ib_umad"}, []string{"ib_ipoib"}},
	} {
		p := load(t, tc.name)
		if p.Branches != tc.branches || p.Hardware != tc.hardware || !slices.Equal(p.Prefer, tc.prefer) {
			t.Errorf("%s: %s, hardware %s, %v", tc.name, p.Branches, p.Hardware, p.Prefer)
		}
		for _, m := range tc.has {
			if !slices.Contains(modules(p), m) {
				t.Errorf("%s does not load %s", tc.name, m)
			}
		}
		for _, m := range tc.lacks {
			if slices.Contains(modules(p), m) {
				t.Errorf("%s loads %s", tc.name, m)
			}
		}
	}
	hpc := load(t, "hpc")
	if !slices.ContainsFunc(hpc.Asks, func(a profiles.Ask) bool { return a.Kind == "question" && strings.Contains(a.Text, "subnet manager") }) {
		t.Error("hpc does not ask for the subnet manager")
	}
	if slices.ContainsFunc(hpc.Modules.Load, func(m profiles.Module) bool { return m.Name == "ib_ipoib" && m.Optional }) {
		t.Error("hpc can do without IPoIB")
	}
	if sets := load(t, "roce").Vendor.SetsFor("doca-ofed"); sets[0] != "doca-roce" {
		t.Errorf("roce asks for %v", sets)
	}
	kubernetes := load(t, "kubernetes")
	if len(kubernetes.Memlock.Groups) > 0 || !slices.Contains(kubernetes.Memlock.Units, "kubelet.service") {
		t.Errorf("kubernetes limits %+v", kubernetes.Memlock)
	}
	for _, on := range releases() {
		for _, tool := range names(kubernetes.PackagesFor(on.family, on.name, "inbox")) {
			if strings.Contains(tool, "utils") || tool == "perftest" {
				t.Errorf("kubernetes installs %s on %s", tool, on.name)
			}
		}
	}
}

// TestRenamedPackages: the same part under the name that the release has.
func TestRenamedPackages(t *testing.T) {
	for _, tc := range []struct{ profile, family, release, has, lacks string }{
		{"hpc", "debian", "debian 12", "librdmacm1", "librdmacm1t64"},
		{"hpc", "debian", "debian 13", "librdmacm1t64", "librdmacm1"},
		{"hpc", "debian", "debian forky", "librdmacm1t64", "librdmacm1"},
		{"hpc", "debian", "ubuntu 22.04", "librdmacm1", "librdmacm1t64"},
		{"hpc", "debian", "ubuntu 24.04", "librdmacm1t64", "librdmacm1"},
		{"hpc", "debian", "ubuntu 26.04", "librdmacm1t64", "librdmacm1"},
		{"hpc", "debian", "ubuntu 18.04", "librdmacm1", "libucx0"},
		{"lts", "rhel", "rhel 7.3", "rdma", "rdma-core"},
		{"lts", "rhel", "rhel 7.9", "rdma-core", "rdma"},
		{"lts", "rhel", "centos 7", "rdma-core", "libmlx5"},
		{"lts", "rhel", "rhel 9.4", "libibverbs", "libibverbs1"},
		{"lts", "suse", "sles 15.4", "libmlx5-1", "ibverbs-providers"},
	} {
		packages := names(load(t, tc.profile).PackagesFor(tc.family, tc.release, "inbox"))
		if !slices.Contains(packages, tc.has) || slices.Contains(packages, tc.lacks) {
			t.Errorf("%s on %s: %v, want %s and not %s", tc.profile, tc.release, packages, tc.has, tc.lacks)
		}
	}
	build := load(t, "edge").Build
	for _, tc := range []struct{ release, has, lacks string }{
		{"rhel 9.4", "ninja-build", "make"},
		{"centos 7", "make", "ninja-build"},
		{"amzn 2", "pkgconfig", "pkgconf-pkg-config"},
		{"amzn 2023", "pkgconf-pkg-config", "pkgconfig"},
	} {
		packages := names(build.PackagesFor("rhel", tc.release))
		if !slices.Contains(packages, tc.has) || slices.Contains(packages, tc.lacks) {
			t.Errorf("build on %s: %v, want %s and not %s", tc.release, packages, tc.has, tc.lacks)
		}
	}
}

func TestBuildOptions(t *testing.T) {
	b := load(t, "edge").Build
	options := b.Options("64.0")
	for _, want := range []string{
		"-DCMAKE_INSTALL_PREFIX=/opt/rdma-core/64.0", "-DCMAKE_INSTALL_SYSCONFDIR=/opt/rdma-core/64.0/etc", "-DCMAKE_INSTALL_RUNDIR=/run",
		"-DNO_MAN_PAGES=1", "-DSYSUSERS_DIR=/opt/rdma-core/64.0/lib/sysusers.d",
	} {
		if !slices.Contains(options, want) {
			t.Errorf("no %s in %v", want, options)
		}
	}
	if !slices.IsSorted(options) || strings.Contains(strings.Join(options, " "), "{") {
		t.Errorf("not in order or not filled in: %v", options)
	}
	other := profiles.Build{Prefix: "/opt/other", CMake: map[string]string{"CMAKE_INSTALL_SYSCONFDIR": "{prefix}/etc"}}
	if diff := cmp.Diff([]string{"-DCMAKE_INSTALL_PREFIX=/opt/other", "-DCMAKE_INSTALL_SYSCONFDIR=/opt/other/etc"}, other.Options("1.0")); diff != "" {
		t.Error(diff)
	}
}

// BenchmarkLoad: a plan loads its profile once.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := profiles.Load("lts"); err != nil {
			b.Fatal(err)
		}
	}
}
