package vm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// reportEnv names the file that collects one line of JSON per scenario, so that several test
// processes can share it.
const reportEnv = "RDMACTL_VM_REPORT"

// record is a scenario's line in the report. Seconds are wall time.
type record struct {
	Test    string  `json:"test"`
	Suite   string  `json:"suite"`
	Status  string  `json:"status"` // pass, fail or skip
	Reason  string  `json:"reason,omitempty"`
	Retries int     `json:"retries,omitempty"`
	Prepare float64 `json:"prepare_seconds"` // root, disk and snapshot, when they were not cached
	Boot    float64 `json:"boot_seconds"`    // boots and snapshot loads together
	CPU     float64 `json:"cpu_seconds"`     // of real processors, that the machine's emulator took
	Total   float64 `json:"total_seconds"`
}

// scenario is a test that uses a machine, while it runs. It is the harness's log as well.
type scenario struct {
	t     testing.TB
	begin time.Time
	rec   record
}

func newScenario(t testing.TB, s Suite) *scenario {
	sc := &scenario{t: t, begin: time.Now(), rec: record{Test: t.Name(), Suite: s.Name}}
	t.Cleanup(sc.end)
	return sc
}

// Write shows progress at once, not when the test ends: a root takes a minute.
func (sc *scenario) Write(b []byte) (int, error) { return os.Stderr.Write(b) }

func (sc *scenario) skip(reason string) {
	sc.t.Helper()
	sc.rec.Reason = reason
	sc.t.Skip("machine not tested: " + reason)
}

func (sc *scenario) retried() { sc.rec.Retries++ }

func (sc *scenario) prepared() { sc.rec.Prepare = time.Since(sc.begin).Seconds() }

func (sc *scenario) booted(d time.Duration) { sc.rec.Boot += d.Seconds() }

func (sc *scenario) ran(q *qemu) { sc.rec.CPU += q.cpuTime().Seconds() }

func (sc *scenario) end() {
	sc.rec.Total = time.Since(sc.begin).Seconds()
	switch {
	case sc.t.Skipped():
		sc.rec.Status = "skip"
	case sc.t.Failed():
		sc.rec.Status = "fail"
	default:
		sc.rec.Status = "pass"
	}
	file := os.Getenv(reportEnv)
	if file == "" {
		return
	}
	if err := appendRecord(file, sc.rec); err != nil {
		sc.t.Errorf("cannot report the scenario: %v", err)
	}
}

func appendRecord(file string, r record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// Main runs the tests of a package that boots machines and prints the report of its scenarios:
//
//	func TestMain(m *testing.M) { os.Exit(vm.Main(m)) }
func Main(m *testing.M) int { return Report(m.Run) }

// Report is Main for a package that has more to do around its tests.
func Report(tests func() int) int {
	file := os.Getenv(reportEnv)
	if file == "" {
		dir, err := os.MkdirTemp("", "rdmactl-vm-")
		if err != nil {
			fmt.Fprintln(os.Stderr, "vm: cannot keep a report:", err)
			return 1
		}
		defer os.RemoveAll(dir)
		file = filepath.Join(dir, "report")
		if err := os.Setenv(reportEnv, file); err != nil {
			fmt.Fprintln(os.Stderr, "vm: cannot keep a report:", err)
			return 1
		}
	}
	code := tests()
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return code // no scenario was selected
	}
	if err == nil {
		err = printReport(os.Stderr, text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "vm: cannot print the report:", err)
		return max(code, 1)
	}
	return code
}

// printReport writes the table of scenarios and the counts.
func printReport(w io.Writer, text []byte) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "\n%-52s %-9s %-5s %8s %6s %7s %7s\n", "scenario", "suite", "", "prepare", "boot", "cpu", "total s")
	var count, skips, failed, retries int
	reasons := map[string]int{}
	var total, cpu float64
	dec := json.NewDecoder(bytes.NewReader(text))
	for {
		var r record
		err := dec.Decode(&r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		count++
		retries += r.Retries
		total += r.Total
		cpu += r.CPU
		switch r.Status {
		case "skip":
			skips++
			reasons[r.Reason]++
		case "fail":
			failed++
		}
		fmt.Fprintf(&b, "%-52s %-9s %-5s %8.1f %6.1f %7.1f %7.1f\n", r.Test, r.Suite, r.Status, r.Prepare, r.Boot, r.CPU, r.Total)
	}
	fmt.Fprintf(&b, "%d scenarios, %d failed, %d skipped, %d boots retried, %.0f s, %.0f s of processors\n", count, failed, skips, retries, total, cpu)
	for reason, n := range reasons {
		fmt.Fprintf(&b, "skipped %d: %s\n", n, reason)
	}
	_, err := w.Write(b.Bytes())
	return err
}
