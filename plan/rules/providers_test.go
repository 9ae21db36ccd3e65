package rules

import (
	"testing"

	"github.com/rdmactl/rdmactl/facts"
)

// TestProvidersGoWithTheirLibrary has SUSE's packages of one provider each, and what is no such package.
func TestProvidersGoWithTheirLibrary(t *testing.T) {
	for _, tt := range []struct {
		family, name, origin string
		want                 bool
	}{
		{"suse", "libefa1", "inbox", true},
		{"suse", "libmlx4-1", "inbox", true},
		{"suse", "libefa1", "unknown", false}, // another's, which tells of itself what it needs
		{"suse", "libfabric1", "inbox", false},
		{"rhel", "libefa1", "inbox", false},
	} {
		var in Input
		in.Facts.Distro.Family = facts.Is(tt.family, "os-release")
		if got := boundToLibrary(in, facts.Package{Name: tt.name, Origin: tt.origin}); got != tt.want {
			t.Errorf("%s of %s on %s: %v", tt.name, tt.origin, tt.family, got)
		}
	}
}
