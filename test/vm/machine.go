package vm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/test/vm/internal/wire"
)

// Machine is a running (or powered off) test machine. Its methods end the test when the harness
// itself fails, so they belong on the test's goroutine; what a command does wrong is in its Result.
type Machine struct {
	t        testing.TB
	suite    Suite
	img      image
	dir      string // the machine's own: disk, serial.log, qemu.log
	q        *qemu  // nil while the power is off
	bootID   string
	scenario *scenario
}

// Boot returns a machine of the suite that has booted and is idle: loaded from a snapshot, or made
// first. The root of the suite, its disk and the snapshot are made when they are not in the cache.
func Boot(t testing.TB, s Suite) *Machine {
	t.Helper()
	return boot(t, s, nil, true)
}

// BootChanged returns such a machine whose root was changed before it became a disk.
func BootChanged(t testing.TB, s Suite, change Change) *Machine {
	t.Helper()
	return boot(t, s, &change, true)
}

// ColdBoot returns a machine that really booted, from the suite's disk, for scenarios about booting.
func ColdBoot(t testing.TB, s Suite) *Machine {
	t.Helper()
	return boot(t, s, nil, false)
}

// Need skips a scenario, and counts it, if there is a reason why it cannot run beside those of Boot.
func Need(t testing.TB, s Suite, why string) {
	t.Helper()
	if why != "" {
		newScenario(t, s).skip(why)
	}
}

func boot(t testing.TB, s Suite, change *Change, warm bool) *Machine {
	t.Helper()
	sc := newScenario(t, s)
	reason, err := ready(sc)
	if err != nil {
		t.Fatal(err)
	}
	if reason != "" {
		sc.skip(reason)
	}
	c, err := openCache(sc)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.machine(t, s, change, sc, warm)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (c *cache) machine(t testing.TB, s Suite, change *Change, sc *scenario, warm bool) (*Machine, error) {
	if change != nil {
		if err := change.settle(c); err != nil {
			return nil, err
		}
	}
	img, name, err := c.image(s, change)
	if err != nil {
		return nil, err
	}
	var saved string
	if warm {
		if saved, err = c.snapshot(s, img, name, sc.retried); err != nil {
			return nil, err
		}
	}
	dir, err := c.runDir()
	if err != nil {
		return nil, err
	}
	m := &Machine{t: t, suite: s, img: img, dir: dir, scenario: sc}
	t.Cleanup(m.end)
	disk, load := m.disk(), ""
	if warm {
		load = booted
		err = copyDisk(saved, disk)
	} else {
		err = overlay(img.disk, disk)
	}
	if err != nil {
		return nil, err
	}
	sc.prepared()
	if err := m.powerOn(load); err != nil {
		return nil, err
	}
	return m, nil
}

// runDir makes a directory for one machine and removes those that a killed run left behind.
func (c *cache) runDir() (string, error) {
	runs := filepath.Join(c.dir, "run")
	if err := os.MkdirAll(runs, 0o700); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(runs)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		var pid int
		if _, err := fmt.Sscanf(e.Name(), "%d-", &pid); err != nil {
			continue
		}
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); errors.Is(err, os.ErrNotExist) {
			if err := os.RemoveAll(filepath.Join(runs, e.Name())); err != nil {
				return "", err
			}
		}
	}
	return os.MkdirTemp(runs, fmt.Sprintf("%d-", os.Getpid()))
}

func (m *Machine) disk() string   { return filepath.Join(m.dir, "disk.qcow2") }
func (m *Machine) serial() string { return filepath.Join(m.dir, "serial.log") }

// powerOn boots, or loads the named snapshot, and waits until the machine is usable.
func (m *Machine) powerOn(snapshot string) error {
	begin := time.Now()
	q, err := bootWithRetry(m.scenario.retried, func() (*qemu, error) {
		return start(m.img, m.suite.processors(), m.disk(), m.serial(), snapshot)
	})
	if err != nil {
		return fmt.Errorf("%w\nserial console:\n%s\nqemu:\n%s", err, fileTail(m.serial(), 30),
			fileTail(filepath.Join(m.dir, "qemu.log"), 10))
	}
	m.q = q
	if m.bootID, err = q.ctl.hello("", bootLimit); err != nil {
		return err
	}
	// A loaded machine's clock stands where the snapshot was made.
	if _, _, err := q.ctl.call(wire.Request{Op: "clock", UnixNano: time.Now().UnixNano()}, nil, grace); err != nil {
		return err
	}
	if snapshot == "" {
		if _, err := settle(q.ctl); err != nil {
			return err
		}
	}
	m.scenario.booted(time.Since(begin))
	return nil
}

// end cuts the power and removes the disk. A failed test's logs are shown first.
func (m *Machine) end() {
	if m.t.Failed() {
		m.t.Logf("serial console of %s, its end:\n%s", m.suite, fileTail(m.serial(), 40))
		if m.q != nil {
			r, err := m.q.ctl.run(Cmd{Argv: []string{"journalctl", "--boot", "--no-pager", "--lines=80"}, Timeout: grace})
			if err == nil {
				m.t.Logf("journal of %s, its end:\n%s", m.suite, r.Stdout)
			}
		}
	}
	m.off()
	if err := os.RemoveAll(m.dir); err != nil {
		m.t.Errorf("cannot remove the machine's directory: %v", err)
	}
}

// Suite says which release the machine runs.
func (m *Machine) Suite() Suite { return m.suite }

// PowerCut ends the machine at once, as a pulled plug does. What it had synced is on its disk.
func (m *Machine) PowerCut() {
	m.t.Helper()
	m.on()
	m.off()
}

func (m *Machine) off() {
	if m.q == nil {
		return
	}
	m.q.kill()
	m.scenario.ran(m.q)
	m.q = nil
}

// PowerOn boots a machine after PowerCut and waits until it has booted.
func (m *Machine) PowerOn() {
	m.t.Helper()
	if m.q != nil {
		m.t.Fatal("the machine is on already")
	}
	if err := m.powerOn(""); err != nil {
		m.t.Fatal(err)
	}
}

// Reboot restarts the machine in an orderly way and waits until it has booted.
func (m *Machine) Reboot() {
	m.t.Helper()
	m.on()
	begin := time.Now()
	if _, err := m.q.ctl.start(Cmd{Argv: []string{"systemctl", "reboot"}}); err != nil {
		m.t.Fatal(err)
	}
	id, err := m.q.ctl.hello(m.bootID, bootLimit+2*time.Minute)
	if err != nil {
		m.t.Fatalf("cannot reboot: %v\nserial console:\n%s", err, fileTail(m.serial(), 40))
	}
	m.bootID = id
	if _, err := settle(m.q.ctl); err != nil {
		m.t.Fatal(err)
	}
	m.scenario.booted(time.Since(begin))
	m.slow(time.Since(begin).Seconds(), "reboot")
}

// Twin returns a second machine that is off, with a copy of this one's disk; this one must be off too.
func (m *Machine) Twin(t testing.TB) *Machine {
	t.Helper()
	if m.q != nil {
		t.Fatal("only a machine that is off can have a twin")
	}
	sc := newScenario(t, m.suite)
	dir, err := os.MkdirTemp(filepath.Dir(m.dir), fmt.Sprintf("%d-", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	twin := &Machine{t: t, suite: m.suite, img: m.img, dir: dir, scenario: sc}
	t.Cleanup(twin.end)
	if err := copyDisk(m.disk(), twin.disk()); err != nil {
		t.Fatal(err)
	}
	return twin
}

// Monitor runs a command of qemu's monitor, such as "set_link net0 off", and returns its output.
func (m *Machine) Monitor(line string) string {
	m.t.Helper()
	m.on()
	text, err := m.q.monitor(line, time.Minute)
	if err != nil {
		m.t.Fatal(err)
	}
	return text
}

func (m *Machine) on() {
	m.t.Helper()
	if m.q == nil {
		m.t.Fatal("the machine is off")
	}
}
