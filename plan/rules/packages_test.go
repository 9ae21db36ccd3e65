package rules

import (
	"slices"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
)

func TestPackageRelease(t *testing.T) {
	for _, tc := range []struct{ id, version, point, kernel, want, has, lacks string }{
		{"centos", "7", "7.9.2009", "3.10.0-1160.el7.x86_64", "rhel 7.9", "rdma-core", "libmlx5"},
		{"centos", "7", "7.3.1611", "3.10.0-514.el7.x86_64", "rhel 7.3", "libmlx5", "rdma-core"},
		{"centos", "7", "", "3.10.0-1160.el7.x86_64", "rhel 7.999", "rdma-core", "libmlx5"},
		{"rhel", "7", "7.2", "3.10.0-327.el7.x86_64", "rhel 7.2", "libmlx5", "rdma-core"},
		{"rhel", "7.3", "", "3.10.0-514.el7.x86_64", "rhel 7.3", "libmlx5", "rdma-core"},
		{"rhel", "7.6", "", "4.14.0-115.el7a.aarch64", "rhel 7.6", "rdma-core", "libmlx5"},
		{"rocky", "9.4", "", "5.14.0-427.13.1.el9_4.x86_64", "rhel 9.4", "rdma-core", "libmlx5"},
		{"azurelinux", "3.0", "", "6.6.57.1-1.azl3", "azurelinux 3.0", "rdma-core", "libmlx5"},
		{"alinux", "3", "", "5.10.134-16.al8.x86_64", "alinux 3", "rdma-core", "libmlx5"},
		{"photon", "5.0", "", "6.1.10-1.ph5", "photon 5.0", "rdma-core", "libmlx5"},
		{"amzn", "2023", "", "6.1.10-1.amzn2023.x86_64", "amzn 2023", "rdma-core", "libmlx5"},
		{"fedora", "6", "", "6.17.1-300.fc43.x86_64", "fedora 6", "rdma-core", "libmlx5"},
	} {
		in := vendorInput(t, smallIndex(t), system(tc.id, tc.version, "rhel", tc.kernel), on(func(f *facts.Facts) {
			f.Distro.PointRelease = facts.Is(tc.point, "/etc/redhat-release")
		}))
		var names []string
		for _, p := range in.Packages {
			names = append(names, p.Name)
		}
		if got := PackageRelease(in); got != tc.want || !slices.Contains(names, tc.has) || slices.Contains(names, tc.lacks) {
			t.Errorf("%s %s (%s): %q with %v, want %q, %s and not %s", tc.id, tc.version, tc.point, got, names, tc.want, tc.has, tc.lacks)
		}
	}
}
