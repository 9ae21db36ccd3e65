package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rdmactl/rdmactl/plan"
)

// The unit that closes a run after the boot that brings it into use, and what has systemd start it. The
// second is a drop-in, not a link below multi-user.target.wants, so that both are plain files.
const (
	finishUnit     = "rdmactl-finish.service"
	finishUnitPath = "/etc/systemd/system/" + finishUnit
	finishWantPath = "/etc/systemd/system/multi-user.target.d/50-rdmactl-finish.conf"
)

// activateStep leaves what is installed to the next boot, and has systemd verify it then.
type activateStep struct {
	noUndo
	run *run
}

// files are what the step writes: nothing where systemd does not run, as in an image.
func (x *activateStep) files(s plan.Step) (plan.Step, error) {
	s.Changes = plan.Changes{}
	up, err := x.run.systemd()
	if err != nil || !up {
		return s, err
	}
	// The worker runs as the run's own copy of the program, or as the installed one where programs cannot
	// run from there.
	exe, err := os.Executable()
	if err != nil {
		return s, fmt.Errorf("cannot tell which program verifies after the reboot: %w", err)
	}
	// Type=simple: a oneshot unit that multi-user.target wants would hold it back until it has ended, and
	// whoever waits for the boot with it. rdma-hw.target is rdma-core's; without it the ordering is void.
	unit := fmt.Sprintf(`# Written by rdmactl for run %[1]s and removed when that is closed.
[Unit]
Description=rdmactl verifies run %[1]s after the reboot
After=rdma-hw.target network.target systemd-modules-load.service
ConditionPathExists=%[2]s

[Service]
Type=simple
ExecStart=%[2]s%[3]sStandardInput=null
`, x.run.journal.ID, exe, x.arguments())
	s.Changes.Files = []plan.FileChange{
		{Path: finishUnitPath, Action: "write", Mode: "0644", Content: unit},
		{Path: finishWantPath, Action: "write", Mode: "0644", Content: "# Written by rdmactl, see " + finishUnit + ".\n[Unit]\nWants=" + finishUnit + "\n"},
	}
	return s, nil
}

// arguments are what the unit runs the program with, and how it is known again.
func (x *activateStep) arguments() string {
	return " install-worker --run " + x.run.journal.ID + " --do " + doFinish + "\n"
}

func (x *activateStep) inner() *filesStep { return &filesStep{run: x.run} }

func (x *activateStep) check(_ context.Context, s plan.Step, changed bool) (bool, error) {
	if !s.Reboot {
		return false, fmt.Errorf("cannot execute step %s: modules are not replaced in memory by this version", s.ID)
	}
	return !changed, nil
}

func (x *activateStep) prepare(ctx context.Context, s plan.Step) (any, error) {
	s, err := x.files(s)
	if err != nil {
		return nil, err
	}
	return x.inner().prepare(ctx, s)
}

func (x *activateStep) do(ctx context.Context, s plan.Step, undo json.RawMessage) (any, string, error) {
	s, err := x.files(s)
	if err != nil {
		return nil, "", err
	}
	if _, _, err := x.inner().do(ctx, s, undo); err != nil {
		return nil, "", err
	}
	if len(s.Changes.Files) == 0 {
		return nil, "at the next boot; `rdmactl install --resume` verifies it then", nil
	}
	return nil, "at the next boot; " + finishUnit + " verifies it then", nil
}

func (x *activateStep) beforeUndo(ctx context.Context, s plan.Step, rec record) (any, error) {
	return x.inner().beforeUndo(ctx, s, rec)
}

func (x *activateStep) undo(ctx context.Context, s plan.Step, rec record) (undone, error) {
	return x.inner().undo(ctx, s, rec)
}

// unwatch removes the unit of a run that is closed; that of another run stays.
func (x *activateStep) unwatch() error {
	now, err := x.run.host.ReadFile(finishUnitPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", finishUnitPath, err)
	}
	if !strings.Contains(string(now), x.arguments()) {
		return nil
	}
	// First what has it started, so that a cut between the two leaves nothing that systemd acts on.
	for _, file := range []string{finishWantPath, finishUnitPath} {
		if err := x.run.host.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove %s: %w", file, err)
		}
	}
	dir := filepath.Dir(finishWantPath)
	names, err := x.run.host.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("cannot look into %s: %w", dir, err)
	}
	if len(names) == 0 {
		if err := x.run.host.Remove(dir); err != nil {
			return fmt.Errorf("cannot remove directory %s: %w", dir, err)
		}
	}
	return nil
}
