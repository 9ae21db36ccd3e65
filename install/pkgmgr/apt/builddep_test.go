package apt

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUnmetNeeds reads what apt 2.6 prints for build dependencies that no repository has.
func TestUnmetNeeds(t *testing.T) {
	const said = `Note, using directory '/needs' to get the build dependencies
The following packages have unmet dependencies:
 builddeps:/needs : Depends: dpkg-dev (>= 1.22.5) but 1.21.23 is to be installed
                    Depends: pandoc but it is not installable
Some other line
                    Depends: nothing of it
`
	if diff := cmp.Diff([]string{"Depends: dpkg-dev (>= 1.22.5) but 1.21.23 is to be installed", "Depends: pandoc but it is not installable"}, unmetNeeds(said)); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "E: Unable to lock\n", "Inst cmake (3.25.1-1 Debian:12 [amd64])\n"} {
		if got := unmetNeeds(text); got != nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
