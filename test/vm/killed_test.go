package vm_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/test/vm"
)

// killAt starts an install and kills its worker when the journal says that a step of a kind has begun.
const killAt = `runs=/var/lib/rdmactl/runs; had=$(ls $runs 2>/dev/null | wc -l)
` + onPath + ` install --profile soft --yes >/tmp/install.out 2>&1 &
for i in $(seq 4000); do
	[ $(ls $runs 2>/dev/null | wc -l) -gt $had ] && journal=$runs/$(ls $runs | tail -n 1)/journal.jsonl && break
done
for i in $(seq 8000); do grep -q "\"event\":\"step-started\".*\"kind\":\"$1\"" $journal 2>/dev/null && break; done
kill -9 $(sed -n 's/.*"event":"run-started".*"pid":\([0-9]*\).*/\1/p' $journal)
wait; cat /tmp/install.out`

// TestKilledWhileActivating kills a run in each kind of step that a running host alone has, with the kernel's own
// modules, udev and systemd, and takes one of the two ways on from there, in turn; with RDMACTL_ROOTS_ALL=1 both. Those of
// package managers are in test/faults.
func TestKilledWhileActivating(t *testing.T) {
	t.Parallel()
	m := bootWith(t, vm.Bookworm())
	r := m.Exec(vm.Cmd{Argv: []string{"sh", "-c", "apt-get update -q && apt-get install -q -y --no-install-recommends " +
		"rdma-core libibverbs1 ibverbs-providers ibverbs-utils rdmacm-utils infiniband-diags perftest iproute2 ethtool"}, Env: []string{"DEBIAN_FRONTEND=noninteractive"}})
	if r.Exit != 0 {
		t.Fatal(r)
	}
	planned := []string{}
	for _, s := range decode[struct {
		Steps []struct{ Kind string }
	}](t, rdmactl(t, m, 0, "plan", "--profile", "soft", "-o", "json")).Steps {
		planned = append(planned, s.Kind)
	}
	packages, before := packagesOf(m), manifest(m)
	tried, cut, back := 0, 0, 0
	for i, kind := range []string{"modules", "udev", "services", "verify"} {
		if !slices.Contains(planned, kind) {
			t.Fatalf("the plan has steps of the kinds %v, not of %s", planned, kind)
		}
		for j, way := range []string{"rollback", "resume"} {
			if os.Getenv("RDMACTL_ROOTS_ALL") != "1" && (i+j)%2 != 0 {
				continue
			}
			tried++
			r := m.Exec(vm.Cmd{Argv: []string{"sh", "-c", killAt, "sh", kind}, Timeout: 4 * time.Minute})
			state := runState(t, m)
			t.Logf("%s, %s: %s", kind, way, state)
			if state == "unfinished" {
				cut++
				says(t, rdmactl(t, m, 4, "install", "--profile", "soft", "--yes"), "--resume", "rollback")
			} else if state != "done" { // it was faster than the kill
				t.Errorf("state %q after the kill:\n%s", state, r)
			}
			if way == "resume" {
				if state == "unfinished" {
					rdmactl(t, m, 0, "install", "--resume", "--yes")
				}
				wantVerify(t, rdmactl(t, m, 0, "verify", "--quick", "-o", "json"), "pass", "")
			}
			if rdmactl(t, m, 0, "rollback").Exit == 0 {
				back++
			}
			if r := m.Run("ls", "/sys/class/infiniband"); r.Stdout != "" {
				t.Errorf("%s, %s: devices are left: %s", kind, way, r.Stdout)
			}
		}
	}
	sameHost(t, m, packages, before)
	t.Logf("%d points tried, %d runs cut off, %d came back", tried, cut, back)
	if cut < tried/2 {
		t.Errorf("only %d of %d runs were cut off", cut, tried)
	}
}
