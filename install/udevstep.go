package install

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/udev"
)

// udevStep makes udevd read its rules again and apply them.
type udevStep struct {
	noUndo
	run *run
}

// check: udev cannot be asked what it has read, so the step is needed whenever something changed.
func (x *udevStep) check(_ context.Context, _ plan.Step, changed bool) (bool, error) {
	return !changed, nil
}

func (x *udevStep) prepare(context.Context, plan.Step) (any, error) { return struct{}{}, nil }

func (x *udevStep) do(ctx context.Context, s plan.Step, _ json.RawMessage) (any, string, error) {
	err := udev.Reload(ctx, x.run.host, s.Changes.Subsystems...)
	if noUdevd(err) {
		return nil, "udevd does not run here; the rules take effect at its next start", nil
	}
	return nil, "", err
}

// undo does nothing here: the rules' files are put back by other steps, and settle reloads after all
// of them.
func (x *udevStep) undo(context.Context, plan.Step, record) (undone, error) { return undone{}, nil }

func noUdevd(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && f.Code == udev.CodeNoUdevd
}
