package detect

import (
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

func TestPackageRelations(t *testing.T) {
	const told = "Package: udev\nStatus: install ok installed\nEssential: no\nArchitecture: amd64\nVersion: 252\nProvides: \nDepends: libc6 (>= 2.34)\n\n"
	var apt, dnf facts.Facts
	apt.Packages.Manager, dnf.Packages.Manager = facts.Is("apt", "test"), facts.Is("dnf", "test")
	question := "dpkg-query -W -f " + dpkgRelations
	recorded := func(answer string) *host.Evidence {
		return &host.Evidence{Commands: map[string]host.Answer{question: {Stdout: answer}}}
	}
	got := PackageRelations(t.Context(), host.NewReplay(recorded(told)), apt)
	if text, ok := got.Get(); !ok || strings.Contains(text, "Provides") || !strings.Contains(text, "Depends: libc6 (>= 2.34)\n\n") {
		t.Errorf("%+v", got)
	}
	for name, one := range map[string]struct {
		e *host.Evidence
		f facts.Facts
	}{
		"not asked": {&host.Evidence{}, apt}, "nothing": {recorded(""), apt}, "another manager": {recorded(told), dnf}, "no manager": {recorded(told), facts.Facts{}},
	} {
		if got := PackageRelations(t.Context(), host.NewReplay(one.e), one.f); !got.IsUnknown() || got.Error == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
