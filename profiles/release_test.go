package profiles_test

import (
	"testing"

	"github.com/rdmactl/rdmactl/profiles"
)

func TestReleaseConditions(t *testing.T) {
	for _, tc := range []struct {
		condition, release string
		meets              bool
	}{
		{"debian 13", "debian 13", true},
		{"debian 13", "debian 12", false},
		{"debian 1", "debian 13", false},
		{"debian 13", "ubuntu 13", false},
		{"rhel 7", "rhel 7.9", true},
		{"rhel 7", "rhel 7", true},
		{"rhel 7.9", "rhel 7", false},
		{"rhel 1", "rhel 10.0", false},
		{"fedora", "fedora 41", true},
		{"fedora", "rhel 9.4", false},
		{"debian", "debian ", true},
		{"debian 13", "debian ", false},
		{"debian >=13", "debian ", false},
		{"debian <13", "debian ", false},
		{"debian >=13", "debian 13", true},
		{"debian >=13", "debian 9", false},
		{"debian <13", "debian 9", true},
		{"debian forky", "debian forky", true},
		{"debian >=13", "debian forky", true},
		{"debian <13", "debian forky", false},
		{"ubuntu >=24.04", "ubuntu 24.04", true},
		{"ubuntu >=24.04", "ubuntu 25.10", true},
		{"ubuntu >=24.04", "ubuntu 22.10", false},
		{"rhel <7.4", "rhel 7.3", true},
		{"rhel <7.4", "rhel 7.10", false},
		{"rhel >=9", "rhel 9.0", true},
		{"rhel >=9.0", "rhel 9", true},
		{"rhel >=9.1", "rhel 9", false},
		{"rhel <9.1", "rhel 9", true},
		{"rhel >=8.08", "rhel 8.8", true},
	} {
		if err := profiles.CheckRelease(tc.condition); err != nil {
			t.Error(err)
		}
		p := profiles.Package{Name: "x", Releases: []string{"none", tc.condition}}
		if p.On(tc.release) != tc.meets {
			t.Errorf("%q for %q is %v", tc.condition, tc.release, !tc.meets)
		}
		p = profiles.Package{Name: "x", Except: []string{"none", tc.condition}}
		if p.On(tc.release) == tc.meets {
			t.Errorf("except %q for %q is %v", tc.condition, tc.release, tc.meets)
		}
	}
	for _, bad := range []string{"", "12", "debian  12", "debian 12 13", "debian >12", "debian <=12", "debian >=", "debian >=trixie", "debian >=12.", "Debian 12", "debian 12\n"} {
		if profiles.CheckRelease(bad) == nil {
			t.Errorf("%q is taken for a release", bad)
		}
	}
}
