package facts

import (
	"strings"
	"testing"
)

func TestIsKernelRelease(t *testing.T) {
	for _, good := range []string{
		"2.6.32", "6.1.0-50-amd64", "4.18.0-553.el8_10.x86_64", "5.14.0-427.el9.x86_64+rt", "6.12.117+deb13-cloud-amd64",
		"5.4.17-2136.314.6.3.el7uek.x86_64", "6.13~rc3-amd64", "11.4-RELEASE",
	} {
		if !IsKernelRelease(good) {
			t.Errorf("%q is refused", good)
		}
	}
	for _, bad := range []string{"", ".", "..", "../../etc", "6.1/..", "6..1", "a b", "6.1\n", "-k", ".hidden", "6.1;reboot", "6.1\x00", "$(id)", strings.Repeat("6", 65)} {
		if IsKernelRelease(bad) {
			t.Errorf("%q is taken", bad)
		}
	}
}
