package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/build"
	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// run is one execution, in the process that holds the lock.
type run struct {
	env     Env
	paths   Paths
	host    host.Writer    // env.Host with the log around it
	base    pkgmgr.Manager // of the host as it is configured
	pm      pkgmgr.Manager // with the plan's repositories beside the host's
	plan    plan.Plan
	order   order
	journal *journal.Run
	lock    *journal.Lock
	log     *os.File

	requests map[string]pkgmgr.Request // by step, from the preflight
	solution plan.Solution
	turns    []turn              // of the package manager, from the preflight
	old      []pkgmgr.OldPackage // kept by staging
	// packaging is the source whose packages the plan builds, unpacked by the preflight.
	packaging *build.Packaging
	baseline  string                   // verdict before the run, empty if not tested
	verify    string                   // verdict at the end
	scripts   map[string]scriptRemoval // of vendors' installers by step, from the preflight
	changed   bool
}

// openRun takes the lock for a run and opens its journal, plan and log.
func openRun(env Env, id string) (*run, error) {
	r := &run{env: env, paths: env.Paths.orDefault(), requests: map[string]pkgmgr.Request{}, scripts: map[string]scriptRemoval{}}
	lock, err := journal.Acquire(r.paths.Lock, journal.Holder{Run: id, PID: os.Getpid()})
	if err != nil {
		return nil, lockFault(err)
	}
	r.lock = lock
	if err := r.open(id); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *run) open(id string) error {
	var err error
	if r.journal, err = r.paths.store().Open(id); err != nil {
		return journalFault(err)
	}
	if r.plan, r.order, err = readRun(r.journal); err != nil {
		return err
	}
	if r.log, err = openLog(r.paths.logAt(id)); err != nil {
		return err
	}
	if r.env.Image != nil {
		if err := r.env.Image.ready(r.order, len(r.journal.Entries) > 0); err != nil {
			return err
		}
	}
	r.host = &logged{Writer: r.env.Host, log: r.log}
	if r.base, err = r.env.manager(r.host, r.plan, r.heard); err != nil {
		return err
	}
	r.pm = r.base
	if err := checkSteps(r.plan); err != nil {
		return err
	}
	r.changed = len(r.records()) > 0
	return nil
}

// readRun reads what a run keeps of its plan and its order.
func readRun(j *journal.Run) (plan.Plan, order, error) {
	var p plan.Plan
	var o order
	for _, f := range []struct {
		name string
		into any
	}{{"plan.json", &p}, {"request.json", &o}} {
		data, err := j.ReadFile(f.name)
		if err != nil {
			return p, o, journalFault(err)
		}
		if err := json.Unmarshal(data, f.into); err != nil {
			return p, o, fmt.Errorf("cannot read %s of run %s: %w", f.name, j.ID, err)
		}
	}
	return p, o, nil
}

// checkSteps refuses a plan whose steps cannot be told apart or become file names.
func checkSteps(p plan.Plan) error {
	seen := map[string]bool{}
	for _, s := range p.Steps {
		if s.ID == "" || strings.ContainsAny(s.ID, "/\x00") || strings.HasPrefix(s.ID, ".") || seen[s.ID] {
			return fmt.Errorf("cannot execute the plan: step id %q is empty, not a name, or used twice", s.ID)
		}
		seen[s.ID] = true
	}
	return nil
}

func (r *run) close() error {
	var errs []error
	if r.journal != nil {
		errs = append(errs, r.journal.Close())
	}
	if r.log != nil {
		errs = append(errs, r.log.Close())
	}
	if r.lock != nil {
		errs = append(errs, r.lock.Release())
	}
	return errors.Join(errs...)
}

func lockFault(err error) error {
	var held *journal.HeldError
	if errors.As(err, &held) {
		return fault.New(fault.Locked, "locked", "`rdmactl history --follow "+held.Holder.Run+"` shows it",
			"cannot start: run %s (pid %d) is at work", held.Holder.Run, held.Holder.PID)
	}
	if errors.Is(err, journal.ErrNotOurs) {
		return journalFault(err)
	}
	return err
}

func journalFault(err error) error {
	if errors.Is(err, journal.ErrNotOurs) {
		return fault.New(fault.Stopped, "journal-not-trusted", "look who made it; root executes what a journal says", "%w", err)
	}
	return err
}

// emit writes a journal entry; it is on the disk when emit returns.
func (r *run) emit(e journal.Entry) error {
	if r.env.hook != nil {
		r.env.hook("before", e)
	}
	if err := r.append(e); err != nil {
		return err
	}
	if r.env.hook != nil {
		r.env.hook("after", e)
	}
	return nil
}

func (r *run) note(format string, args ...any) error {
	return r.emit(journal.Entry{Event: journal.Note, Text: withoutSecrets(fmt.Sprintf(format, args...))})
}

// heard notes what the package manager has to say; a journal that cannot be written shows at the next entry.
func (r *run) heard(text string) {
	if err := r.note("%s", text); err != nil {
		fmt.Fprintf(r.log, "%s %v\n", stamp(), err)
	}
}

// begin writes the entry that opens an attempt.
func (r *run) begin(event journal.Event) error {
	return r.emit(journal.Entry{Event: event, PID: os.Getpid(), Boot: r.bootID(), Tool: r.env.Tool, Of: len(r.plan.Steps), Text: r.plan.Summary})
}

// records collects what the journal has of each step that started and is not undone.
func (r *run) records() map[string]record { return recordsOf(r.journal.Entries) }

func recordsOf(entries []journal.Entry) map[string]record {
	all := map[string]record{}
	for _, e := range entries {
		switch e.Event {
		case journal.StepStarted:
			if _, ok := all[e.Step]; !ok {
				// The first one: a second attempt finds a host that the first has changed.
				all[e.Step] = record{undo: e.Undo}
			}
		case journal.StepDone:
			if rec, ok := all[e.Step]; ok && e.Left != nil {
				rec.left = e.Left
				all[e.Step] = rec
			}
		case journal.UndoStarted:
			if rec, ok := all[e.Step]; ok && e.Left != nil {
				rec.kept = append(rec.kept, e.Left)
				all[e.Step] = rec
			}
		case journal.UndoDone:
			delete(all, e.Step)
		}
	}
	return all
}

// end closes the attempt. problem may be nil.
func (r *run) end(state journal.State, exit fault.Kind, problem error) error {
	if state != journal.Unfinished && state != journal.Failed {
		if err := r.unseal(context.Background()); err != nil {
			r.heard(err.Error())
		}
	}
	if state != journal.Unfinished {
		r.release()
	}
	e := journal.Entry{Event: journal.RunEnded, State: state, Exit: int(exit), Changed: r.changed, Verify: r.verify}
	switch state {
	case journal.AwaitingReboot:
		e.Reboot = r.changed
	case journal.RolledBack:
		e.Reboot = r.inMemory()
	}
	if problem != nil {
		e.Problem = problemOf(problem)
		e.Problem.Kind = int(exit)
	}
	return r.emit(e)
}

// apply executes the plan from where the journal says it stands. Its outcome is in the journal; the
// error says only that the journal itself could not be written.
func (r *run) apply(ctx context.Context, resume bool) error {
	event := journal.RunStarted
	if resume {
		event = journal.RunResumed
	}
	if err := r.begin(event); err != nil {
		return err
	}
	if err := r.ready(ctx, resume); err != nil {
		return r.stopped(ctx, err)
	}
	for i, s := range r.plan.Steps {
		if ctx.Err() != nil {
			return r.interrupted()
		}
		if err := r.step(ctx, i, s); err != nil {
			var broken *journalBroken
			if errors.As(err, &broken) {
				return broken.err
			}
			return r.failed(s, err)
		}
	}
	if ctx.Err() != nil {
		return r.interrupted()
	}
	if err := r.noteKeys(); err != nil {
		return err
	}
	exit := fault.Kind(0)
	var problem error
	if r.verify == verifyFail {
		exit, problem = fault.Unhealthy, keptFailing()
	}
	if r.plan.Reboot && r.changed {
		return r.end(journal.AwaitingReboot, exit, problem)
	}
	return r.end(journal.Done, exit, problem)
}

// ready is what happens before the first change: repair after a crash, preflight, stage.
func (r *run) ready(ctx context.Context, resume bool) error {
	if resume {
		if err := r.restage(ctx); err != nil {
			return err
		}
		if err := r.takeBackScripts(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		if err := r.repair(ctx); err != nil {
			return err
		}
	}
	if err := r.preflight(ctx); err != nil {
		return err
	}
	if err := r.stage(ctx); err != nil {
		return err
	}
	return r.reserve()
}

// repair finishes a transaction of the package manager that a crash cut short.
func (r *run) repair(ctx context.Context) error {
	if !r.touchesPackages() {
		return nil
	}
	if err := r.waitForManager(ctx); err != nil {
		return managerFault("cannot use the package manager", err)
	}
	text, err := r.pm.Repair(context.WithoutCancel(ctx))
	if err != nil {
		if db, derr := r.pm.Installed(ctx); derr == nil && brokenGoes(r.plan, db) {
			return r.note("packages that go are not whole: %v", err)
		}
		return fault.New(fault.Stopped, "package-manager-broken", "repair the package manager, then run `rdmactl install --resume` or `rdmactl rollback`",
			"cannot repair the package database: %w", err)
	}
	if text == "" {
		return nil
	}
	return r.emit(journal.Entry{Event: journal.Repaired, Text: text})
}

func (r *run) touchesPackages() bool {
	for _, s := range r.plan.Steps {
		if s.Kind == plan.KindPackages || s.Kind == plan.KindVendorScript {
			return true
		}
	}
	return false
}

func (r *run) lockWait() time.Duration {
	return time.Duration(r.order.LockWaitSeconds * float64(time.Second))
}

// stopped ends an attempt that changed nothing.
func (r *run) stopped(ctx context.Context, cause error) error {
	state := journal.Stopped
	if len(r.records()) > 0 {
		state = journal.Unfinished // of an earlier attempt
	} else if err := errors.Join(r.untrust(context.WithoutCancel(ctx)), r.forgetBuilds()); err != nil {
		if err := r.note("%v", err); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		if state == journal.Stopped {
			state = journal.Interrupted
		}
		return r.end(state, fault.Interrupted, fault.New(fault.Interrupted, "interrupted", "", "interrupted before anything changed"))
	}
	kind := fault.Stopped
	var f *fault.Error
	if errors.As(cause, &f) {
		kind = f.Kind
	}
	return r.end(state, kind, cause)
}

// journalBroken says that the journal cannot be written: nothing more may be done then.
type journalBroken struct{ err error }

func (e *journalBroken) Error() string { return e.err.Error() }

// step executes one step unless the host already is as it wants.
func (r *run) step(ctx context.Context, i int, s plan.Step) error {
	// What is begun is finished: a signal ends the run between steps.
	ctx = context.WithoutCancel(ctx)
	started := time.Now()
	e := journal.Entry{Step: s.ID, Kind: string(s.Kind), N: i + 1, Of: len(r.plan.Steps), Text: s.Summary}
	ex, err := r.executorOf(s)
	if err != nil {
		return err
	}
	rec, recorded := r.records()[s.ID]
	already, err := ex.check(ctx, s, r.changed)
	if err != nil {
		return err
	}
	if already && (!recorded || rec.left != nil || s.Kind == plan.KindPackages || s.Kind == plan.KindFiles) {
		e.Event, e.Status, e.Text = journal.StepDone, "skipped", "already"
		if recorded {
			e.Status, e.Left = "done", rec.left
			if e.Left == nil {
				e.Left = json.RawMessage("{}")
			}
		}
		return r.must(e)
	}
	e.Event = journal.StepStarted
	if !recorded {
		undo, err := ex.prepare(ctx, s)
		if err != nil {
			return err
		}
		if rec.undo, err = encode(undo); err != nil {
			return err
		}
		e.Undo = rec.undo
	}
	if err := r.must(e); err != nil {
		return err
	}
	if s.Kind != plan.KindVerify && s.Kind != plan.KindUdev {
		r.changed = true
	}
	left, text, err := ex.do(ctx, s, rec.undo)
	e.Seconds, e.Undo = time.Since(started).Seconds(), nil
	if err != nil {
		e.Event, e.Problem = journal.StepFailed, problemOf(err)
		if jerr := r.must(e); jerr != nil {
			return jerr
		}
		return err
	}
	if left == nil {
		left = struct{}{}
	}
	if e.Left, err = encode(left); err != nil {
		return err
	}
	e.Event, e.Status, e.Text, e.Verify = journal.StepDone, "done", text, ""
	if s.Kind == plan.KindVerify {
		e.Verify = r.verify
	}
	return r.must(e)
}

func (r *run) must(e journal.Entry) error {
	if err := r.emit(e); err != nil {
		return &journalBroken{err}
	}
	return nil
}

// failed undoes the whole run after a step failed.
func (r *run) failed(s plan.Step, cause error) error {
	log := r.paths.logFile(r.journal.ID)
	if len(r.records()) == 0 {
		return r.stopped(context.Background(), cause)
	}
	p := problemOf(cause)
	if err := r.undoAll(context.Background()); err != nil {
		var broken *journalBroken
		if errors.As(err, &broken) {
			return broken.err
		}
		return r.end(journal.Failed, fault.Failed, rollbackFailed(r, p.Message+"; and the run", err))
	}
	return r.end(journal.RolledBack, fault.RolledBack, fault.New(fault.RolledBack, p.Code, strings.TrimPrefix(p.Hint+"; log: "+log, "; "),
		"%s (step %s); the host was rolled back", p.Message, s.ID))
}

// rollbackFailed is the fault of a run that stays half-way; what ends with its subject.
func rollbackFailed(r *run, what string, cause error) error {
	hint := causeHint(cause)
	if hint == "" {
		hint = "put right what it says"
	}
	return fault.New(fault.Failed, "rollback-failed", hint+", then `rdmactl rollback`; log: "+r.paths.logFile(r.journal.ID),
		"%s could not be undone whole: %v", what, cause)
}

// interrupted undoes the whole run after a signal.
func (r *run) interrupted() error {
	if len(r.records()) == 0 {
		return r.end(journal.Interrupted, fault.Interrupted, fault.New(fault.Interrupted, "interrupted", "", "interrupted before anything changed"))
	}
	if err := r.undoAll(context.Background()); err != nil {
		var broken *journalBroken
		if errors.As(err, &broken) {
			return broken.err
		}
		return r.end(journal.Failed, fault.Failed, rollbackFailed(r, "interrupted, and the run", err))
	}
	return r.end(journal.Interrupted, fault.Interrupted, fault.New(fault.Interrupted, "interrupted", "", "interrupted; what was done is undone"))
}
