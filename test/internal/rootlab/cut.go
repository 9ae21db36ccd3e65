package rootlab

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Worker is the process that works on the root's run, 0 while there is none.
func (r Root) Worker() int {
	data, err := os.ReadFile(r.Path("var/lib/rdmactl/lock"))
	var holder struct {
		PID int `json:"pid"`
	}
	if err != nil || json.Unmarshal(data, &holder) != nil {
		return 0
	}
	return holder.PID
}

// Journal is the text of the root's only journal.
func (r Root) Journal() string {
	files, err := filepath.Glob(r.Path("var/lib/rdmactl/runs/*/journal.jsonl"))
	if err != nil || len(files) != 1 {
		return ""
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		return ""
	}
	return string(data)
}

// AtOnce is the point at which there is a worker. The front-end may end before the run has begun for it, so how it ends
// is not checked there.
const AtOnce = "at once"

// KilledAt kills the worker of a run with SIGKILL at a named point, and checks how the front-end ends. fresh makes a
// root and the command of its run; at says that the run in that root is at the point. A run that had ended when the
// signal came is tried again in another root.
func KilledAt(t testing.TB, point string, fresh func() (Root, *exec.Cmd), at func() bool) {
	t.Helper()
	const tries = 4
	for n := range tries {
		root, cmd := fresh()
		must(t, cmd.Start())
		pid := 0
		Eventually(t, point, func() bool {
			if p := root.Worker(); p != 0 {
				pid = p
			}
			return pid != 0 && at()
		})
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
		err := cmd.Wait()
		if err == nil {
			t.Logf("the run had ended before it was killed (%d of %d tries)", n+1, tries)
			continue
		}
		var ended *exec.ExitError
		if point != AtOnce && (!errors.As(err, &ended) || ended.ExitCode() != 1) {
			t.Errorf("the front-end ended with %v, want exit 1", err)
		}
		return
	}
	t.Fatalf("no run of %d could be killed at this point", tries)
}
