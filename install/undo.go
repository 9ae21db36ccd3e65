package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/udev"
)

// undoAll takes back every step that started, the last first. It can be cut short and called again.
func (r *run) undoAll(ctx context.Context) error {
	r.release()
	records := r.records()
	if err := r.restage(ctx); err != nil {
		if err := r.mustNote("%v", err); err != nil {
			return err
		}
	}
	if err := r.mendForUndo(ctx, records); err != nil {
		return err
	}
	for i, s := range slices.Backward(r.plan.Steps) {
		rec, ok := records[s.ID]
		if !ok {
			continue
		}
		if err := r.undoStep(ctx, i, s, rec); err != nil {
			return err
		}
	}
	if err := r.untrust(ctx); err != nil {
		if err := r.mustNote("%v", err); err != nil {
			return err
		}
	}
	if err := r.reload(ctx); err != nil {
		return err
	}
	r.changed = false
	return nil
}

// mendForUndo has the package manager finish what was cut short in the middle, as far as it can: a
// package whose script fails cannot be configured, but it can be removed.
func (r *run) mendForUndo(ctx context.Context, records map[string]record) error {
	for _, s := range r.plan.Steps {
		if _, ok := records[s.ID]; !ok || s.Kind != plan.KindPackages {
			continue
		}
		if err := r.waitForManager(ctx); err != nil {
			return managerFault("cannot use the package manager", err)
		}
		text, err := r.pm.Repair(ctx)
		switch {
		case err != nil:
			return r.mustNote("the package database could not be repaired before the undo: %v", err)
		case text != "":
			return r.must(journal.Entry{Event: journal.Repaired, Text: text})
		}
		return nil
	}
	return nil
}

func (r *run) mustNote(format string, args ...any) error {
	if err := r.note(format, args...); err != nil {
		return &journalBroken{err}
	}
	return nil
}

func (r *run) undoStep(ctx context.Context, i int, s plan.Step, rec record) error {
	started := time.Now()
	e := journal.Entry{Event: journal.UndoStarted, Step: s.ID, Kind: string(s.Kind), N: i + 1, Of: len(r.plan.Steps), Text: s.Undo}
	fail := func(err error) error {
		var broken *journalBroken
		if errors.As(err, &broken) {
			return err
		}
		e.Event, e.Left, e.Problem, e.Seconds = journal.UndoFailed, nil, problemOf(err), time.Since(started).Seconds()
		if jerr := r.must(e); jerr != nil {
			return jerr
		}
		return fmt.Errorf("cannot undo step %s: %w", s.ID, err)
	}
	ex, err := r.executorOf(s)
	if err != nil {
		return fail(err)
	}
	if err := ex.stopper(ctx, s, rec); err != nil {
		return fail(err)
	}
	saved, err := ex.beforeUndo(ctx, s, rec)
	if err != nil {
		return fail(err)
	}
	if e.Left, err = encode(saved); err != nil {
		return fail(err)
	}
	if err := r.must(e); err != nil {
		return err
	}
	if e.Left != nil {
		rec.kept = append(rec.kept, e.Left)
	}
	out, err := ex.undo(ctx, s, rec)
	if err != nil {
		return fail(err)
	}
	for _, n := range out.notes {
		if err := r.mustNote("%s", n); err != nil {
			return err
		}
	}
	e.Event, e.Left, e.Kept, e.Seconds = journal.UndoDone, nil, out.kept, time.Since(started).Seconds()
	return r.must(e)
}

// reload has udevd and systemd read their files again after those were put back. What was undone
// already does not depend on it, so that a failure is only noted.
func (r *run) reload(ctx context.Context) error {
	started := map[string]bool{}
	for _, e := range r.journal.Entries {
		if e.Event == journal.StepStarted {
			started[e.Step] = true
		}
	}
	for _, s := range r.plan.Steps {
		if !started[s.ID] {
			continue
		}
		switch s.Kind {
		case plan.KindUdev:
			if err := udev.Reload(ctx, r.host, s.Changes.Subsystems...); err != nil && !noUdevd(err) {
				if err := r.mustNote("%v", err); err != nil {
					return err
				}
			}
		case plan.KindServices, plan.KindActivate:
			up, err := r.systemd()
			if err == nil && up {
				err = (&servicesStep{run: r}).systemctl(ctx, "daemon-reload")
			}
			if err != nil {
				if err := r.mustNote("%v", err); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// rollback takes back a run that ended or died. Its outcome is in the journal.
func (r *run) rollback(ctx context.Context) error {
	before := journal.Unfinished
	if n := len(r.journal.Entries); n > 0 {
		before = journal.StateOf(r.journal.Entries, false)
	}
	if err := r.begin(journal.RollbackStarted); err != nil {
		return err
	}
	if before == journal.Done || before == journal.AwaitingReboot {
		// Of a run that is whole, nothing is touched unless all of it can be taken back.
		if err := r.stoppers(ctx); err != nil {
			return r.end(before, stoppedKind(err), err)
		}
	}
	if ctx.Err() != nil {
		return r.end(before, fault.Interrupted, fault.New(fault.Interrupted, "interrupted", "", "interrupted before anything changed"))
	}
	if err := r.undoAll(context.WithoutCancel(ctx)); err != nil {
		var broken *journalBroken
		if errors.As(err, &broken) {
			return broken.err
		}
		return r.end(journal.Failed, fault.Failed, fault.New(fault.Failed, "rollback-failed", "put right what it says, then run `rdmactl rollback` again; log: "+r.paths.logFile(r.journal.ID), "%v", err))
	}
	return r.end(journal.RolledBack, 0, nil)
}

func (r *run) stoppers(ctx context.Context) error {
	records := r.records()
	for _, s := range slices.Backward(r.plan.Steps) {
		rec, ok := records[s.ID]
		if !ok {
			continue
		}
		ex, err := r.executorOf(s)
		if err != nil {
			return err
		}
		if err := ex.stopper(ctx, s, rec); err != nil {
			return managerFault("cannot roll back", err)
		}
	}
	return nil
}

func stoppedKind(err error) fault.Kind {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Kind
	}
	return fault.Stopped
}
