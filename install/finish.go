package install

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// Links come up, and a subnet manager answers, some time after a boot.
const (
	settleLimit = 2 * time.Minute
	settlePause = 5 * time.Second
)

// finish verifies a run after the boot that brought it into use, and closes it. Its outcome is in the
// journal.
func (r *run) finish(ctx context.Context) error {
	before := stateToFinish(r.journal.Entries)
	booted := bootOf(r.journal.Entries)
	if before != journal.AwaitingReboot {
		return r.end(before, fault.Stopped, fault.New(fault.Stopped, "nothing-to-finish", "`rdmactl history` lists the runs",
			"cannot finish run %s: it is %s and awaits no reboot", r.journal.ID, before))
	}
	r.changed = true
	if now := r.bootID(); booted != "" && now == booted {
		return r.end(before, fault.Stopped, notRebooted(r.journal.ID))
	}
	if err := r.begin(journal.FinishStarted); err != nil {
		return err
	}
	if err := r.takeBaseline(ctx); err != nil {
		return r.end(before, stoppedKind(err), err)
	}
	text, verr := r.settled(ctx)
	if ctx.Err() != nil {
		return r.end(before, fault.Interrupted, fault.New(fault.Interrupted, "interrupted", "", "interrupted before run %s was verified", r.journal.ID))
	}
	if verr != nil {
		return r.failedAfterBoot(verr)
	}
	if err := r.note("verification after the reboot: %s", text); err != nil {
		return err
	}
	for _, s := range r.plan.Steps {
		if s.Kind != plan.KindActivate {
			continue
		}
		if err := (&activateStep{run: r}).unwatch(); err != nil {
			if err := r.note("%v", err); err != nil {
				return err
			}
		}
	}
	if r.verify == verifyFail {
		return r.end(journal.Done, fault.Unhealthy, keptFailing())
	}
	return r.end(journal.Done, 0, nil)
}

// keptFailing is the fault of a run whose stack stays although its verification fails.
func keptFailing() error {
	return fault.New(fault.Unhealthy, "verify-failed", "`rdmactl verify` shows each check", "the new stack is installed and kept, and the verification fails")
}

func notRebooted(id string) error {
	return fault.New(fault.Stopped, "not-rebooted", "reboot when it suits; rdmactl never does", "cannot finish run %s: the host has not been rebooted since", id)
}

// failedAfterBoot takes the run back after its verification failed. What is in memory was loaded at this
// boot, so it takes another to be rid of it.
func (r *run) failedAfterBoot(cause error) error {
	if err := r.undoAll(context.Background()); err != nil {
		var broken *journalBroken
		if errors.As(err, &broken) {
			return broken.err
		}
		return r.end(journal.Failed, fault.Failed, rollbackFailed(r, problemOf(cause).Message+"; and the run", err))
	}
	return r.end(journal.RolledBack, fault.RolledBack, fault.New(fault.RolledBack, problemOf(cause).Code, "reboot once more: the modules in memory are still those of the run; log: "+r.paths.logFile(r.journal.ID),
		"%s; the host was rolled back", problemOf(cause).Message))
}

// settled verifies, again and again while the outcome may be only that links are not up yet.
func (r *run) settled(ctx context.Context) (string, error) {
	limit, pause := settleLimit, settlePause
	if r.env.settle > 0 {
		limit, pause = r.env.settle, r.env.settle/10
	}
	deadline := time.Now().Add(limit)
	step := &verifyStep{run: r}
	for {
		_, text, err := step.do(ctx, plan.Step{}, json.RawMessage(nil))
		good := r.verify == verifyPass || r.verify == verifyWarn || r.env.Verify == nil
		if good || time.Now().After(deadline) {
			return text, err
		}
		select {
		case <-ctx.Done():
			return text, err
		case <-time.After(pause):
		}
	}
}

// bootID is the kernel's name for this boot, empty where nothing tells it.
func (r *run) bootID() string { return bootID(r.host) }

func bootID(h host.Reader) string {
	data, err := h.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// inMemory says that the modules in memory are those of the run: it replaced modules on disk, and the host has been
// booted since.
func (r *run) inMemory() bool {
	boot := bootOf(r.journal.Entries)
	replaced := slices.ContainsFunc(r.plan.Steps, func(s plan.Step) bool { return s.Kind == plan.KindInitramfs })
	return r.plan.Reboot && replaced && boot != "" && boot != r.bootID()
}

// bootOf is the boot in which a run was last carried out.
func bootOf(entries []journal.Entry) string {
	boot := ""
	for _, e := range entries {
		if e.Event == journal.RunStarted || e.Event == journal.RunResumed {
			boot = e.Boot
		}
	}
	return boot
}

// stateToFinish is the state of a run without an attempt to finish it that died.
func stateToFinish(entries []journal.Entry) journal.State {
	for len(entries) > 0 {
		last := entries[len(entries)-1]
		switch last.Event {
		case journal.FinishStarted, journal.Note:
			entries = entries[:len(entries)-1]
			continue
		}
		break
	}
	return journal.StateOf(entries, false)
}

// awaiting is the latest run that awaits a reboot, empty if there is none, and whether the reboot has been.
func awaiting(env Env) (id string, rebooted bool, err error) {
	id, err = latest(env.Paths.orDefault(), func(j *journal.Run) bool {
		if stateToFinish(j.Entries) != journal.AwaitingReboot {
			return false
		}
		boot := bootOf(j.Entries)
		rebooted = boot == "" || boot != bootID(env.Host)
		return true
	})
	return id, rebooted, err
}
