package install

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rdmactl/rdmactl/plan"
)

// executor knows one kind of step. All of its methods can be called again after a crash at any point.
type executor interface {
	// check says that the host already is as the step wants it. changed says that the run changed
	// something before this step.
	check(ctx context.Context, s plan.Step, changed bool) (bool, error)
	// prepare gathers what is needed to undo the step; it is journalled before do.
	prepare(ctx context.Context, s plan.Step) (any, error)
	// do makes the change. left is what is known only afterwards; text is for a person, such as a
	// reason why there was nothing to do.
	do(ctx context.Context, s plan.Step, undo json.RawMessage) (left any, text string, err error)
	// beforeUndo gathers what an undo would lose; it is journalled before undo.
	beforeUndo(ctx context.Context, s plan.Step, rec record) (any, error)
	// undo takes the step back.
	undo(ctx context.Context, s plan.Step, rec record) (undone, error)
	// stopper returns an error if the step cannot be taken back now without harm to others.
	stopper(ctx context.Context, s plan.Step, rec record) error
}

// record is what the journal has of a step.
type record struct {
	undo json.RawMessage   // of step-started
	left json.RawMessage   // of step-done, nil if the step did not end
	kept []json.RawMessage // of undo-started, of every attempt
}

// undone is what an undo has to report.
type undone struct {
	kept  []string // files left as the administrator edited them
	notes []string
}

// noUndo is embedded by executors that have nothing to gather, to save or to stop for.
type noUndo struct{}

func (noUndo) beforeUndo(context.Context, plan.Step, record) (any, error) { return nil, nil }
func (noUndo) stopper(context.Context, plan.Step, record) error           { return nil }

func decode(data json.RawMessage, into any) error {
	if len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("cannot read the journal's undo record: %w", err)
	}
	return nil
}

func encode(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("cannot write an undo record: %w", err)
	}
	return data, nil
}

// executorOf returns the executor of a step's kind.
func (r *run) executorOf(s plan.Step) (executor, error) {
	switch s.Kind {
	case plan.KindPackages:
		if s.Changes.BuiltBy != "" {
			return &builtPackagesStep{packagesStep{run: r}}, nil
		}
		return &packagesStep{run: r}, nil
	case plan.KindFiles:
		return &filesStep{run: r}, nil
	case plan.KindModules:
		return &modulesStep{run: r}, nil
	case plan.KindUdev:
		return &udevStep{run: r}, nil
	case plan.KindServices:
		return &servicesStep{run: r}, nil
	case plan.KindBuild:
		if s.Changes.Build != nil && s.Changes.Build.Packages != "" {
			return &packageBuildStep{buildStep: buildStep{run: r}}, nil
		}
		return &buildStep{run: r}, nil
	case plan.KindUse:
		return &useStep{run: r}, nil
	case plan.KindRepository:
		return &repositoryStep{run: r}, nil
	case plan.KindInitramfs:
		return &initramfsStep{run: r}, nil
	case plan.KindRemove:
		if s.Changes.BroughtBy != "" {
			return &toolsAwayStep{run: r}, nil
		}
		return &removeStep{run: r}, nil
	case plan.KindHold:
		return &holdStep{run: r}, nil
	case plan.KindActivate:
		return &activateStep{run: r}, nil
	case plan.KindVendorScript:
		return &vendorScriptStep{run: r}, nil
	case plan.KindVerify:
		return &verifyStep{run: r}, nil
	}
	return nil, fmt.Errorf("cannot execute step %s: unknown kind %q", s.ID, s.Kind)
}
