package profiles_test

import (
	"testing"

	"github.com/rdmactl/rdmactl/profiles"
)

// What apt-get would take for an order, a pattern, a task or a release is no name.
func TestCheckPackage(t *testing.T) {
	for _, name := range []string{"rdma-core", "g++", "libstdc++6", "libstdc++-14-dev", "libnl-3-200", "python3.11", "0ad", "libc++"} {
		if err := profiles.CheckPackage(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{
		"rdma-core-", "rdma-core+", "rdma-core+++", "rdma-core-+", "rdma-core-++", "rdma-core--", "g++-", "rdma-core.",
		"rdma-core^", "^rdma", "rdma*", "rdma.*", "rdm?", "rdma-core$", "[rdma", "rdma-core/stable", "rdma-core:arm64", "rdma-core=1",
		"", "r", "++", "Rdma", "rdma_core", "rdma core", "rdma-core\n", "./rdma.deb",
	} {
		if profiles.CheckPackage(name) == nil {
			t.Errorf("%q is taken for a package name", name)
		}
	}
}

// What dnf and zypper would take for a group, a pattern, a file, a capability or an order is no name.
func TestCheckRPM(t *testing.T) {
	for _, name := range []string{"rdma-core", "gcc-c++", "libmlx5-1", "python3-Cython", "java-1.8.0-openjdk", "MySQL-python", "compat_x", "389-ds"} {
		if err := profiles.CheckRPM(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{
		"", "@infiniband", "-rdma-core", "+rdma-core", "~rdma", "!rdma", "rdma*", "rdma?", "[r]", "/x.rpm", "./x.rpm", "rdma core",
		"rdma>=1", "rdma=1", "pattern:x", "rdma.x86_64", "rdma.noarch", "rdma-", "rdma+", "rdma.", "rdma_", "rdma\n", "rdma(x)", "http://x/y.rpm",
	} {
		if profiles.CheckRPM(name) == nil {
			t.Errorf("%q is taken for a package name", name)
		}
	}
}

func TestCheckPackageOf(t *testing.T) {
	for _, tc := range []struct {
		family, name string
		good         bool
	}{
		{"debian", "rdma-core", true},
		{"debian", "Rdma_core", false},
		{"rhel", "Rdma_core", true},
		{"suse", "python3-Cython", true},
		{"gentoo", "rdma-core", false},
	} {
		if err := profiles.CheckPackageOf(tc.family, tc.name); (err == nil) != tc.good {
			t.Errorf("%s %q: %v", tc.family, tc.name, err)
		}
	}
}
