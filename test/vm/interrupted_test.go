package vm_test

import (
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/test/vm"
)

// TestLostTerminal closes the terminal that started an install in the middle of it: the run finishes
// all the same, and history --follow shows it.
func TestLostTerminal(t *testing.T) {
	t.Parallel()
	m := bootWith(t, vm.Trixie())
	session := m.Start(vm.Cmd{Argv: []string{onPath, "install", "--profile", "soft", "--yes"}, PTY: true})
	inPackages(t, m)
	session.Hangup()
	if r, done := session.Wait(30 * time.Second); !done {
		t.Errorf("the front end lives on without its terminal: %s", r)
	}
	if state := runState(t, m); state != "running" {
		t.Errorf("state %q after the terminal was lost", state)
	}
	says(t, rdmactl(t, m, 7, "install", "--profile", "soft", "--yes"), "hint: ")
	says(t, rdmactl(t, m, 0, "history", "--follow"), "packages", "verify")
	if state := runState(t, m); state != "done" {
		t.Errorf("state %q", state)
	}
	wantVerify(t, rdmactl(t, m, 0, "verify", "--quick", "-o", "json"), "pass", "")
}

// TestPowerCut pulls the plug while packages are being installed. The next boot finds the run, refuses
// another, and either way out leads to a whole host.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	m := bootWith(t, vm.Bookworm())
	packages, before := packagesOf(m), manifest(m)
	m.Start(vm.Cmd{Argv: []string{onPath, "install", "--profile", "soft", "--yes"}})
	inPackages(t, m)
	m.PowerCut()

	cut := func(t *testing.T) *vm.Machine {
		t.Parallel()
		m := m.Twin(t)
		m.PowerOn()
		if state := runState(t, m); state != "unfinished" {
			t.Errorf("state %q after the power cut", state)
		}
		says(t, rdmactl(t, m, 4, "install", "--profile", "soft", "--yes"), "--resume", "rollback")
		return m
	}
	t.Run("rollback", func(t *testing.T) {
		m := cut(t)
		rdmactl(t, m, 0, "rollback")
		sameHost(t, m, packages, before)
	})
	t.Run("resume", func(t *testing.T) {
		m := cut(t)
		if r := rdmactl(t, m, 0, "install", "--resume", "--yes"); r.Exit != 0 {
			t.Fatal(r)
		}
		wantVerify(t, rdmactl(t, m, 0, "verify", "--quick", "-o", "json"), "pass", "")
		again := decode[runReport](t, rdmactl(t, m, 0, "install", "--profile", "soft", "--yes", "-o", "json"))
		if again.Verdict != "nothing-to-do" {
			t.Errorf("after the resumed run: %+v", again)
		}
		rdmactl(t, m, 0, "rollback")
		sameHost(t, m, packages, before)
	})
}

// TestInterrupt sends Ctrl-C during an install: the host is as before, exit 130.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	m := bootWith(t, vm.Bookworm())
	packages, before := packagesOf(m), manifest(m)
	p := m.Start(vm.Cmd{Argv: []string{onPath, "install", "--profile", "soft", "--yes"}})
	inPackages(t, m)
	p.Signal(2)
	r, done := p.Wait(5 * time.Minute)
	if !done || r.Exit != 130 {
		t.Fatalf("done %v, exit %d, want 130:\n%s", done, r.Exit, r)
	}
	sameHost(t, m, packages, before)
}
