package install

import (
	"context"
	"errors"
	"fmt"

	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/internal/fault"
)

// What a worker does with its run.
const (
	doApply    = "apply"
	doResume   = "resume"
	doRollback = "rollback"
	doFinish   = "finish"
)

// Worker works on a run in this process and returns its exit code. It prints nothing: what it has to
// say is in the journal. When ctx is cancelled the current step is finished, then the run is undone.
// It is what the hidden command `rdmactl install-worker --run ID --do WHAT` calls.
func Worker(ctx context.Context, env Env, id, do string) (code int) {
	r, err := openRun(env, id)
	if err != nil {
		return refuse(env, id, err)
	}
	defer func() {
		if err := r.close(); err != nil && code == 0 {
			code = int(fault.Failed)
		}
	}()
	return r.work(ctx, do)
}

func (r *run) work(ctx context.Context, do string) int {
	if other, err := blocking(r.paths, r.journal.ID); err != nil || other != "" {
		if err == nil {
			err = unfinishedFault(other)
		}
		if do == doApply {
			return r.refuse(err)
		}
	}
	var err error
	switch do {
	case doApply, doResume:
		err = r.apply(ctx, do == doResume)
	case doRollback:
		err = r.rollback(ctx)
	case doFinish:
		err = r.finish(ctx)
	default:
		return r.refuse(fault.New(fault.Usage, "usage", "", "cannot work on run %s: unknown work %q", r.journal.ID, do))
	}
	if err != nil {
		// The journal cannot be written; the log is the only place left to say so.
		fmt.Fprintf(r.log, "%s the run cannot go on: %v\n", stamp(), err)
		return int(fault.Failed)
	}
	last := r.journal.Entries[len(r.journal.Entries)-1]
	ours := []string{exeName, envName}
	if last.State == journal.AwaitingReboot {
		ours = []string{envName} // the program is run once more, after the boot
	}
	for _, name := range ours {
		if err := r.journal.Remove(name); err != nil {
			fmt.Fprintf(r.log, "%s %v\n", stamp(), err)
		}
	}
	return last.Exit
}

// refuse ends a run that was never begun.
func (r *run) refuse(cause error) int {
	kind := stoppedKind(cause)
	if err := r.end(journal.Stopped, kind, cause); err != nil {
		fmt.Fprintf(r.log, "%s the run cannot go on: %v\n", stamp(), err)
		return int(fault.Failed)
	}
	return int(kind)
}

// refuse writes into the journal of a run whose lock another run has, so that its front-end can say
// so. A run that was begun before is left as it is.
func refuse(env Env, id string, cause error) int {
	kind := fault.KindOf(cause)
	j, err := env.Paths.orDefault().store().Open(id)
	if err != nil || len(j.Entries) > 0 {
		return int(kind)
	}
	p := problemOf(cause)
	p.Kind = int(kind)
	if err := errors.Join(j.Append(journal.Entry{Event: journal.RunEnded, State: journal.Stopped, Exit: int(kind), Problem: p}), j.Close()); err != nil {
		return int(fault.Failed)
	}
	return int(kind)
}
