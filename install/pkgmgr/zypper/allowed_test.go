package zypper

import (
	"testing"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// TestSolverIsReadOnly has every command of a solver, which plan --resolve asks through a Reader.
func TestSolverIsReadOnly(t *testing.T) {
	s := NewSolver(nil)
	db := pkgmgr.Database{}
	for _, p := range []pkgmgr.Package{
		{Name: "ethtool", Arch: "x86_64", Version: "6.2-1", Status: pkgmgr.Installed},
		{Name: "kernel-default-devel-6.4.0-1", Base: "kernel-default-devel", Arch: "x86_64", Version: "6.4.0-1", Status: pkgmgr.Installed},
	} {
		db[p.Key()] = p
	}
	commands := [][]string{s.command("repos"), s.command("search", search([]string{"rdma-core", "libmlx5-1"})...)}
	orders := 0
	for _, req := range []pkgmgr.Request{
		{Install: []pkgmgr.Want{{Name: "rdma-core", Version: "44.0-150600.2"}, {Name: "perftest:x86_64", Version: "1:4.5+0.17~rc1-1"}}},
		{Install: []pkgmgr.Want{{Name: "ethtool", Version: "6.1-1"}}, Remove: []string{"kernel-default-devel-6.4.0-1"}},
		{Remove: []string{"ethtool", "kernel-default-devel-6.4.0-1"}},
		{Install: []pkgmgr.Want{{Name: "ethtool", Version: "6.1-1"}}, Remove: []string{"kernel-default-devel-6.4.0-1"}, Purge: true},
	} {
		verb, rest, err := s.order(req, db)
		if err != nil || verb == "" {
			t.Fatalf("%v: %q, %v", req, verb, err)
		}
		orders++
		commands = append(commands, s.simulated(verb, rest))
		// The twin is not only told of.
		if argv := s.command(verb, rest...); host.Allowed(argv) == nil {
			t.Errorf("%q is allowed", argv)
		}
	}
	for _, argv := range commands {
		if err := host.Allowed(argv); err != nil {
			t.Error(err)
		}
	}
	if orders != 4 {
		t.Errorf("%d orders were looked at", orders)
	}
}
