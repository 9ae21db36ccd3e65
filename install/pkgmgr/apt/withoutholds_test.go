package apt

import (
	"testing"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

func TestWithoutHolds(t *testing.T) {
	status := "Package: a\nStatus: hold ok installed\nArchitecture: amd64\nDescription: x\n Status: hold ok installed\n\n" +
		"Package: a\nStatus: hold ok installed\nArchitecture: arm64\n\nPackage: b\nStatus: hold ok installed\nArchitecture: all\n\nPackage: c\nStatus: install ok installed\nArchitecture: amd64\n"
	want := "Package: a\nStatus: install ok installed\nArchitecture: amd64\nDescription: x\n Status: hold ok installed\n\n" +
		"Package: a\nStatus: hold ok installed\nArchitecture: arm64\n\nPackage: b\nStatus: install ok installed\nArchitecture: all\n\nPackage: c\nStatus: install ok installed\nArchitecture: amd64\n"
	if got := withoutHolds(status, []pkgmgr.Hold{{Name: "a:amd64"}, {Name: "b"}, {Name: "c"}, {Name: "d"}}); got != want {
		t.Errorf("%q", got)
	}
	if got := withoutHolds(status, nil); got != status {
		t.Errorf("without holds: %q", got)
	}
}
