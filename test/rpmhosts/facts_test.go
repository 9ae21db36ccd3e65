package rpmhosts

import (
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// field is a fact as detect prints it.
type field[T any] struct {
	State string `json:"state"`
	Value T      `json:"value"`
}

// pack is a package among the facts.
type pack struct{ Name, Version, Origin string }

// TestFacts reads a host that does not run, before and after installation.
func TestFacts(t *testing.T) {
	each(t, func(t *testing.T, s system) {
		type facts struct {
			Distro struct {
				ID     field[string] `json:"id"`
				Family field[string] `json:"family"`
			} `json:"distro"`
			Kernel struct {
				Release field[string] `json:"release"`
			} `json:"kernel"`
			Packages struct {
				Manager   field[string] `json:"manager"`
				Database  field[string] `json:"database"`
				Installed field[[]pack] `json:"installed"`
				Vendor    field[string] `json:"vendor_stack"`
			} `json:"packages"`
		}
		im := newImage(t, s, good)
		read := func() facts {
			return rootlab.Decode[facts](t, lab.Rdmactl(t, 0, "detect", "--root", im.Dir, "--kernel", im.kernel, "-o", "json"))
		}
		f := read()
		if f.Distro.ID.Value == "" || !strings.Contains(s.release, "ID=\""+f.Distro.ID.Value+"\"") || f.Kernel.Release.Value != im.kernel {
			t.Errorf("distribution %+v, kernel %+v", f.Distro, f.Kernel)
		}
		if f.Packages.Manager.Value != s.manager || f.Packages.Database.Value != "ok" || f.Packages.Vendor.State != "absent" {
			t.Errorf("packages: %+v", f.Packages)
		}
		if list := f.Packages.Installed.Value; len(list) != 1 || list[0].Name != s.kernel || list[0].Origin != "inbox" {
			t.Errorf("installed are %+v", list)
		}
		im.installs(t)
		now := im.packages(t)
		found := map[string]pack{}
		for _, p := range read().Packages.Installed.Value {
			found[p.Name] = p
		}
		for _, name := range s.want {
			if p := found[name]; p.Origin != "inbox" || p.Version == "" || !strings.HasSuffix(now[name], p.Version) {
				t.Errorf("%s is %s, and %+v among the facts", name, now[name], p)
			}
		}
	})
}
