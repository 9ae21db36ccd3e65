package vm_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/test/vm"
)

// onPath is where the machines have the program under test.
const onPath = "/usr/local/bin/rdmactl"

// buildOnce builds the program as it is released, one time for all scenarios.
var buildOnce = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs(filepath.Join("..", "..", "bin"))
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "rdmactl")
	cmd := exec.Command("go", "build", "-trimpath", "-o", file, "../../cmd/rdmactl")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return file, nil
})

// bootWith returns a booted machine that has rdmactl and no RDMA package.
func bootWith(t *testing.T, s vm.Suite) *vm.Machine {
	t.Helper()
	m := vm.Boot(t, s)
	file, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	m.Put(file, onPath, 0o755)
	return m
}

// rdmactl runs the program as root and checks the exit code.
func rdmactl(t *testing.T, m *vm.Machine, exit int, args ...string) vm.Result {
	t.Helper()
	r := m.Run(append([]string{onPath}, args...)...)
	if r.Exit != exit {
		t.Errorf("exit %d, want %d:\n%s", r.Exit, exit, r)
	}
	return r
}

// rdmactlAs does the same as the ordinary user, with a memlock limit (nil: a service's).
func rdmactlAs(t *testing.T, m *vm.Machine, memlock *vm.Limit, exit int, args ...string) vm.Result {
	t.Helper()
	r := m.Exec(vm.Cmd{Argv: append([]string{onPath}, args...), User: "user", Memlock: memlock})
	if r.Exit != exit {
		t.Errorf("exit %d, want %d:\n%s", r.Exit, exit, r)
	}
	return r
}

// says checks that a result's output holds each text.
func says(t *testing.T, r vm.Result, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.Stdout+r.Stderr, text) {
			t.Errorf("%q is not said:\n%s", text, r)
		}
	}
}

// decode reads a result's stdout as JSON.
func decode[T any](t *testing.T, r vm.Result) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(r.Stdout), &v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, r)
	}
	return v
}

// runReport is what the scenarios read of rdmactl.run/v1.
type runReport struct {
	RunID   string   `json:"run_id"`
	Verdict string   `json:"verdict"`
	Changed bool     `json:"changed"`
	Kept    []string `json:"kept"`
	Verify  string   `json:"verify"`
	// RebootRequired says that the run comes into use at the next boot.
	RebootRequired bool `json:"reboot_required"`

	Log   string `json:"log"`
	Steps []struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	} `json:"steps"`
}

// verifyReport is what they read of rdmactl.verify/v1.
type verifyReport struct {
	Verdict string `json:"verdict"`
	Checks  []struct {
		Name, Layer, Status, Detail, Code, Remedy string
	} `json:"checks"`
	Devices []struct {
		Device string `json:"device"`
		GID    struct {
			Index int    `json:"index"`
			Type  string `json:"type"`
		} `json:"gid"`
		Tests []struct {
			Op        string `json:"op"`
			Size      int    `json:"size"`
			Status    string `json:"status"`
			LatencyUS *struct {
				P50 *float64 `json:"p50"`
			} `json:"latency_us"`
			BandwidthGbps *float64 `json:"bandwidth_gbps"`
		} `json:"tests"`
	} `json:"devices"`
}

// codes are the codes of a verification's checks.
func (v verifyReport) codes() []string {
	var out []string
	for _, c := range v.Checks {
		if c.Code != "" {
			out = append(out, c.Code)
		}
	}
	return out
}

// wantVerify runs verify and checks verdict, exit code and the code of the layer that ends the chain.
func wantVerify(t *testing.T, r vm.Result, verdict, code string) {
	t.Helper()
	v := decode[verifyReport](t, r)
	if v.Verdict != verdict {
		t.Errorf("verdict %s, want %s:\n%s", v.Verdict, verdict, r)
	}
	if code == "" {
		return
	}
	for _, c := range v.Checks {
		if c.Code == code {
			if c.Remedy == "" {
				t.Errorf("%s has no remedy", code)
			}
			return
		}
	}
	t.Errorf("codes %v, want %s:\n%s", v.codes(), code, r)
}

// guardedTrees are what a rollback restores.
func guardedTrees() []string { return []string{"/etc", "/usr", "/lib/modules"} }

// manifest describes the guarded trees without what the list of exceptions names and the program
// under test itself.
func manifest(m *vm.Machine) vm.Manifest {
	except := []string{onPath}
	for _, e := range install.Exceptions() {
		except = append(except, e.Path)
	}
	return m.Manifest(guardedTrees(), except)
}

// sameTrees checks that the host is as before, packages and trees.
func sameHost(t *testing.T, m *vm.Machine, packages map[string]string, before vm.Manifest) {
	t.Helper()
	if diff := packageDiff(packages, packagesOf(m)); len(diff) > 0 {
		t.Errorf("the package set is not as before: %q", diff)
	}
	if diff := vm.Diff(before, manifest(m)); len(diff) > 0 {
		t.Errorf("the trees are not as before:\n%s", strings.Join(diff, "\n"))
	}
}

// packagesOf is the package set by plain names: dpkg adds the architecture of multi-arch packages.
func packagesOf(m *vm.Machine) map[string]string {
	out := map[string]string{}
	for name, version := range m.Packages() {
		name, _, _ = strings.Cut(name, ":")
		out[name] = version
	}
	return out
}

// packageDiff lists "name version" with + or -.
func packageDiff(before, after map[string]string) []string {
	var out []string
	for name, v := range after {
		if before[name] != v {
			out = append(out, "+"+name+" "+v)
		}
	}
	for name, v := range before {
		if _, ok := after[name]; !ok {
			out = append(out, "-"+name+" "+v)
		}
	}
	slices.Sort(out)
	return out
}

// runState reads the state of the latest run.
func runState(t *testing.T, m *vm.Machine) string {
	t.Helper()
	h := decode[struct {
		Runs []struct {
			ID    string `json:"id"`
			State string `json:"state"`
		} `json:"runs"`
	}](t, m.Run(onPath, "history", "-o", "json"))
	if len(h.Runs) == 0 {
		return ""
	}
	return h.Runs[0].State
}

// eventually polls until cond holds.
func eventually(t *testing.T, what string, limit time.Duration, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
		if cond() {
			return
		}
	}
	t.Fatalf("%s: not within %s", what, limit)
}

// inPackages waits until a run of the machine is in the middle of its packages: dpkg has unpacked the
// first of them.
func inPackages(t *testing.T, m *vm.Machine) {
	t.Helper()
	eventually(t, "dpkg at work", 4*time.Minute, func() bool {
		return m.Run("sh", "-c", "grep -q 'status unpacked' /var/log/dpkg.log && pgrep -x dpkg").Exit == 0
	})
}
