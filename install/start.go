package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// Start executes a plan: run directory, worker, and then it follows the worker's journal until the
// run has ended. The report is filled in either way; the error is a *fault.Error with the exit code.
// When ctx is cancelled, the worker is asked to stop and its end is waited for.
func Start(ctx context.Context, env Env, p plan.Plan, opts Options) (RunReport, error) {
	rep := NewReport(VerdictStopped)
	rep.Warnings = append(rep.Warnings, p.Warnings...)
	switch p.Verdict {
	case plan.NothingToDo:
		if env.isRoot() {
			// A run that died just before its end also leaves nothing to do, but it is to be closed.
			if other, err := blocking(env.Paths.orDefault(), ""); err != nil {
				return rep, err
			} else if other != "" && !alive(env.Paths.orDefault(), other)() {
				return rep, unfinishedFault(other)
			}
		}
		rep.Verdict = VerdictNothingToDo
		if env.isRoot() {
			return awaited(env, rep)
		}
		return rep, nil
	case plan.Install:
	default:
		rep.Verdict = VerdictRefused
		code := "refused"
		if len(p.Reasons) > 0 {
			code = p.Reasons[0].Code
		}
		return rep, fault.New(fault.Refused, code, "`rdmactl plan` shows why for every stack", "cannot install: %s", p.Summary)
	}
	if err := checkSteps(p); err != nil {
		return rep, fault.New(fault.Usage, "plan-faulty", "", "%w", err)
	}
	paths := env.Paths.orDefault()
	if err := Ready(env); err != nil {
		return rep, err
	}
	planned, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return rep, fmt.Errorf("cannot store the plan: %w", err)
	}
	ordered, err := json.Marshal(opts.order())
	if err != nil {
		return rep, fmt.Errorf("cannot store the request: %w", err)
	}
	j, err := paths.store().Create(env.Host.Now(), planned, ordered)
	if err != nil {
		return rep, journalFault(err)
	}
	return drive(ctx, env, j, doApply, opts.Foreground, opts.Progress)
}

// awaited adds to a report of nothing to do what a run that awaits a reboot still needs.
func awaited(env Env, rep RunReport) (RunReport, error) {
	id, rebooted, err := awaiting(env)
	switch {
	case err != nil:
		return rep, err
	case id != "" && rebooted:
		rep.Notes = append(rep.Notes, "run "+id+" has not been verified since the reboot: `rdmactl install --resume` does it")
	case id != "":
		rep.RebootRequired = true
		rep.Notes = append(rep.Notes, "what run "+id+" installed comes into use at the next boot")
	}
	return rep, nil
}

// Resume continues the run that did not end, or verifies and closes one that awaited a reboot.
func Resume(ctx context.Context, env Env, opts Options) (RunReport, error) {
	rep := NewReport(VerdictStopped)
	paths := env.Paths.orDefault()
	id, err := Resumable(env)
	if err != nil {
		return rep, err
	}
	if id == "" {
		return rep, fault.New(fault.Stopped, "nothing-to-resume", "`rdmactl history` lists the runs", "cannot resume: no run is unfinished")
	}
	j, err := paths.store().Open(id)
	if err != nil {
		return rep, journalFault(err)
	}
	do := doResume
	switch {
	case stateToFinish(j.Entries) == journal.AwaitingReboot:
		do = doFinish
	case undoing(j.Entries):
		do = doRollback // it was on its way back
	}
	return drive(ctx, env, j, do, opts.Foreground, opts.Progress)
}

// Resumable returns the run that Resume would continue, empty if there is none. Ask before a person
// is asked for consent. The error says why none could be continued now: not root, or another run is
// at work.
func Resumable(env Env) (id string, err error) {
	paths := env.Paths.orDefault()
	if err := mayStart(env, paths); err != nil {
		return "", err
	}
	id, err = pending(paths)
	if err != nil || id != "" {
		return id, err
	}
	id, rebooted, err := awaiting(env)
	if err == nil && id != "" && !rebooted {
		return "", notRebooted(id)
	}
	return id, err
}

// pending returns the run that died, empty if there is none. One that died before it changed anything
// is past as soon as a later run changed the host.
func pending(paths Paths) (string, error) {
	unfinished := func(j *journal.Run) bool {
		return len(j.Entries) > 0 && journal.StateOf(j.Entries, false) == journal.Unfinished
	}
	isUnfinished := false
	id, err := latest(paths, func(j *journal.Run) bool {
		isUnfinished = unfinished(j)
		return isUnfinished || slices.ContainsFunc(j.Entries, func(e journal.Entry) bool { return e.Event == journal.StepStarted })
	})
	if err != nil || !isUnfinished {
		return "", err
	}
	return id, nil
}

// undoing says whether a run died while it was being undone.
func undoing(entries []journal.Entry) bool {
	back := false
	for _, e := range entries {
		switch e.Event {
		case journal.RunStarted, journal.RunResumed:
			back = false
		case journal.RollbackStarted, journal.UndoStarted, journal.StepFailed:
			back = true
		}
	}
	return back
}

// RollbackOptions say which run goes back.
type RollbackOptions struct {
	Run        string // id; empty is the latest that changed something
	Foreground bool
	Progress   Progress
}

// Rollback takes a run back, finished or not. A run that is taken back already changes nothing and is
// no error. The report is empty, without its Schema, when the rollback could not begin.
func Rollback(ctx context.Context, env Env, opts RollbackOptions) (RunReport, error) {
	paths := env.Paths.orDefault()
	if err := mayStart(env, paths); err != nil {
		return RunReport{}, err
	}
	id := opts.Run
	if id == "" {
		var err error
		if id, err = latest(paths, func(j *journal.Run) bool { return len(recordsOf(j.Entries)) > 0 }); err != nil {
			return RunReport{}, err
		}
		if id == "" {
			if id, err = pending(paths); err != nil {
				return RunReport{}, err
			}
		}
		if id == "" {
			rep := NewReport(VerdictNothingToDo)
			rep.Notes = append(rep.Notes, "there is no run to roll back")
			return rep, nil
		}
	}
	j, err := openNamed(paths, id, "roll back")
	if err != nil {
		return RunReport{}, err
	}
	state := journal.StateOf(j.Entries, false)
	if len(recordsOf(j.Entries)) == 0 && (state != journal.Unfinished || len(j.Entries) == 0) {
		p, _, err := readRun(j)
		if err != nil {
			return RunReport{}, err
		}
		rep := reportOf(id, paths.logFile(id), p, j.Entries)
		rep.Verdict = VerdictNothingToDo
		rep.Notes = append(rep.Notes, fmt.Sprintf("run %s is %s: nothing of it is left to roll back", id, state))
		return rep, nil
	}
	if newer, err := newerThan(paths, id); err != nil {
		return RunReport{}, err
	} else if newer != "" {
		return RunReport{}, fault.New(fault.Stopped, "newer-run", "roll back "+newer+" first", "cannot roll back run %s: the later run %s stands on it", id, newer)
	}
	return drive(ctx, env, j, doRollback, opts.Foreground, opts.Progress)
}

// openNamed opens a run that a person named; what is what was to be done with it.
func openNamed(paths Paths, id, what string) (*journal.Run, error) {
	const hint = "`rdmactl history` lists the runs"
	if !journal.ValidID(id) {
		return nil, fault.New(fault.Usage, "usage", hint, "cannot %s %q: not a run id", what, id)
	}
	ids, err := paths.store().IDs()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(ids, id) {
		return nil, fault.New(fault.Usage, "no-such-run", hint, "cannot %s run %s: there is no such run", what, id)
	}
	j, err := paths.store().Open(id)
	if err != nil {
		return nil, journalFault(err)
	}
	return j, nil
}

// newerThan finds a later run that still has something to undo: it stands on the host as the earlier
// one left it.
func newerThan(paths Paths, id string) (string, error) {
	newer, err := latest(paths, func(j *journal.Run) bool { return len(recordsOf(j.Entries)) > 0 })
	if err != nil || newer <= id {
		return "", err
	}
	return newer, nil
}

// Ready says whether a run could start: for root only, while no other is at work (fault.Locked) and
// none has left the host half-way (fault.Stopped). Ask before planning: the facts of a host that is
// being changed, packages half installed among them, make a plan that misleads.
func Ready(env Env) error {
	paths := env.Paths.orDefault()
	if err := mayStart(env, paths); err != nil {
		return err
	}
	other, err := blocking(paths, "")
	if err != nil {
		return err
	}
	if other != "" {
		return unfinishedFault(other)
	}
	return nil
}

// mayStart stops before anything: not root, or another run at work.
func mayStart(env Env, paths Paths) error {
	if !env.isRoot() {
		return notRoot()
	}
	holder, held, err := journal.LockHolder(paths.Lock)
	if err != nil {
		return lockFault(err)
	}
	if held {
		return lockFault(&journal.HeldError{Holder: holder})
	}
	return nil
}

// blocking returns a run, other than id, that left the host half-way.
func blocking(paths Paths, id string) (string, error) {
	return latest(paths, func(j *journal.Run) bool {
		if j.ID == id || len(recordsOf(j.Entries)) == 0 {
			return false
		}
		state := journal.StateOf(j.Entries, false)
		return state == journal.Unfinished || state == journal.Failed
	})
}

func unfinishedFault(id string) error {
	return fault.New(fault.Stopped, "unfinished-run", "`rdmactl install --resume` continues it, `rdmactl rollback` undoes it",
		"cannot install: run %s is unfinished", id)
}

// latest returns the newest run that a condition holds for, empty if there is none.
func latest(paths Paths, is func(*journal.Run) bool) (string, error) {
	store := paths.store()
	ids, err := store.IDs()
	if err != nil {
		return "", journalFault(err)
	}
	for i := len(ids) - 1; i >= 0; i-- {
		j, err := store.Open(ids[i])
		if err != nil {
			return "", journalFault(err)
		}
		if is(j) {
			return ids[i], nil
		}
	}
	return "", nil
}

// drive has a worker do its work and follows it.
func drive(ctx context.Context, env Env, j *journal.Run, do string, foreground bool, progress Progress) (RunReport, error) {
	paths := env.Paths.orDefault()
	skip := len(j.Entries)
	if foreground {
		code := Worker(ctx, env, j.ID, do)
		if err := show(paths, j.ID, skip, progress); err != nil {
			return RunReport{}, err
		}
		return conclude(paths, j.ID, skip, code)
	}
	if err := detach(env, j, do); err != nil {
		return RunReport{}, err
	}
	err := followRun(context.WithoutCancel(ctx), ctx.Done(), paths, j.ID, skip, progress)
	if errors.Is(err, journal.ErrGone) {
		p, _, rerr := readRun(j)
		if rerr != nil {
			return RunReport{}, rerr
		}
		rep := NewReport(VerdictFailed)
		if again, oerr := paths.store().Open(j.ID); oerr == nil {
			rep = reportOf(j.ID, paths.logFile(j.ID), p, again.Entries)
		}
		rep.Verdict = VerdictFailed
		hint := "`rdmactl install --resume` continues it, `rdmactl rollback` undoes it; log: " + paths.logFile(j.ID)
		if isFull(j.Dir) {
			return rep, fault.New(fault.Failed, "worker-died", "make room there, then "+hint,
				"run %s did not end: no space is left on the file system of its journal", j.ID)
		}
		return rep, fault.New(fault.Failed, "worker-died", hint, "run %s did not end: its process is gone", j.ID)
	}
	if err != nil {
		return RunReport{}, err
	}
	return conclude(paths, j.ID, skip, 0)
}

// isFull says that hardly a journal entry can be written in a directory any more.
func isFull(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Bavail*uint64(st.Bsize) < 64<<10
}

// show gives the entries of a run that has ended to progress.
func show(paths Paths, id string, skip int, progress Progress) error {
	if progress == nil {
		return nil
	}
	j, err := paths.store().Open(id)
	if err != nil {
		return journalFault(err)
	}
	for _, e := range j.Entries[min(skip, len(j.Entries)):] {
		progress.Entry(e)
	}
	return nil
}

// conclude turns the journal's last word into report and error.
func conclude(paths Paths, id string, skip, code int) (RunReport, error) {
	j, err := paths.store().Open(id)
	if err != nil {
		return RunReport{}, journalFault(err)
	}
	p, _, err := readRun(j)
	if err != nil {
		return RunReport{}, err
	}
	rep := reportOf(id, paths.logFile(id), p, j.Entries)
	if n := len(j.Entries); n > skip && j.Entries[n-1].Event == journal.RunEnded {
		last := j.Entries[n-1]
		if last.Exit == 0 {
			return rep, nil
		}
		if last.Problem == nil {
			return rep, fault.New(fault.Kind(last.Exit), "failed", "log: "+rep.Log, "run %s ended with %d", id, last.Exit)
		}
		return rep, faultOf(last.Problem)
	}
	rep.Verdict = VerdictFailed
	if code == int(fault.Locked) {
		return rep, fault.New(fault.Locked, "locked", "", "cannot work on run %s: another run is at work", id)
	}
	return rep, fault.New(fault.Failed, "run-not-ended", "log: "+rep.Log, "run %s did not end", id)
}
