package main

import (
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/bundle"
	"github.com/rdmactl/rdmactl/plan"
)

// What was asked for where a bundle was made is asked for where it is installed, and --hold can be added there.
func TestHoldFromABundle(t *testing.T) {
	file, _ := smallBundle(t)
	b, err := bundle.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var f facts.Facts
	f.Distro.ID, f.Distro.VersionID = facts.Is("debian", "test"), facts.Is("12", "test")
	f.Kernel.Arch, f.Kernel.Release = facts.Is("x86_64", "test"), facts.Is("6", "test")
	for _, c := range []struct{ made, typed, want bool }{{false, false, false}, {true, false, true}, {false, true, true}} {
		for i := range b.Manifest.Hosts {
			b.Manifest.Hosts[i].Request.Hold = c.made
		}
		u, allow, wish := bundleUse{opened: b}, false, wishOptions{hold: c.typed}
		if _, err := u.settle(f, &wish, nil, &allow); err != nil {
			t.Fatal(err)
		}
		if got := wish.request(host.Told{}, "").Hold; got != c.want {
			t.Errorf("%+v: the request says %v", c, got)
		}
	}
}

// What earlier runs hold reaches the planner.
func TestOwnHoldsAreAskedWith(t *testing.T) {
	wish := wishOptions{own: []plan.OwnHold{{Package: "libibverbs1", Run: "r"}}}
	if req := wish.request(host.Told{}, ""); len(req.Own) != 1 || req.Hold {
		t.Errorf("%+v", req)
	}
}
