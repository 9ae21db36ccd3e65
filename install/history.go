package install

import (
	"context"
	"errors"
	"io/fs"

	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/internal/fault"
)

// History returns all runs, the newest first. A run whose journal cannot be read is listed with the
// reason: one damaged run must not hide the others.
func History(paths Paths) ([]RunInfo, error) {
	paths = paths.orDefault()
	store := paths.store()
	ids, err := store.IDs()
	if err != nil {
		return nil, readable(err)
	}
	infos := []RunInfo{}
	for i := len(ids) - 1; i >= 0; i-- {
		infos = append(infos, infoOf(paths, ids[i]))
	}
	return infos, nil
}

// readable says that the runs are for root only, if that is why they could not be read.
func readable(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fault.New(fault.Stopped, "not-root", "run it with sudo", "cannot read the runs: %w", err)
	}
	return err
}

// settled reads the journal of a run, and says whether the run is at work. One that ends between the two is read again:
// without its last entry it would be taken for one that was cut off.
func settled(open func() (*journal.Run, error), alive func() bool) (j *journal.Run, live bool, err error) {
	if j, err = open(); err != nil {
		return nil, false, err
	}
	if live = alive(); live || len(j.Entries) > 0 && j.Entries[len(j.Entries)-1].Event == journal.RunEnded {
		return j, live, nil
	}
	j, err = open()
	return j, false, err
}

func infoOf(paths Paths, id string) RunInfo {
	info := RunInfo{ID: id, Log: paths.logFile(id)}
	j, live, err := settled(func() (*journal.Run, error) { return paths.store().Open(id) }, alive(paths, id))
	if err != nil {
		info.State, info.Note = journal.Failed, err.Error()
		return info
	}
	p, _, err := readRun(j)
	if err != nil {
		info.State, info.Note = journal.Failed, err.Error()
		return info
	}
	info.Summary, info.Steps = p.Summary, len(p.Steps)
	info.Done = len(recordsOf(j.Entries))
	info.Changed = info.Done > 0
	if len(j.Entries) > 0 {
		info.Started = j.Entries[0].Time
		last := j.Entries[len(j.Entries)-1]
		if last.Event == journal.RunEnded {
			info.Ended, info.Reboot, info.Verify = last.Time, last.Reboot, last.Verify
			if last.Problem != nil {
				info.Note = last.Problem.Message
			}
		}
	}
	if j.Torn > 0 {
		info.Note = "the last journal line is incomplete and ignored (power cut)"
	}
	info.State = journal.StateOf(j.Entries, live)
	if info.State == journal.Unfinished && len(j.Entries) == 0 {
		info.State, info.Note = journal.Stopped, "never begun"
	}
	return info
}

// alive returns a question: does a process work on the run now?
func alive(paths Paths, id string) func() bool {
	return func() bool {
		holder, held, err := journal.LockHolder(paths.Lock)
		return err == nil && held && holder.Run == id
	}
}

// Follow shows a run from its beginning until it has ended. An empty id is the latest run. Ending ctx
// ends only the showing. The report is empty, without its Schema, when the run was not followed to
// its end.
func Follow(ctx context.Context, paths Paths, id string, p Progress) (RunReport, error) {
	paths = paths.orDefault()
	if id == "" {
		var err error
		if id, err = latest(paths, func(*journal.Run) bool { return true }); err != nil {
			return RunReport{}, readable(err)
		}
		if id == "" {
			return RunReport{}, fault.New(fault.Usage, "no-such-run", "`rdmactl history` lists the runs", "cannot follow: there is no run to follow")
		}
	}
	if _, err := openNamed(paths, id, "follow"); err != nil {
		return RunReport{}, readable(err)
	}
	err := paths.store().Follow(ctx, id, 0, alive(paths, id), func(e journal.Entry) {
		if p != nil {
			p.Entry(e)
		}
	})
	switch {
	case errors.Is(err, journal.ErrGone):
		rep, _ := conclude(paths, id, 0, 0)
		return rep, fault.New(fault.Failed, "worker-died", "`rdmactl install --resume` continues it, `rdmactl rollback` undoes it", "run %s did not end: its process is gone", id)
	case errors.Is(err, context.Canceled):
		return RunReport{}, fault.New(fault.Interrupted, "interrupted", "the run itself goes on", "stopped following run %s", id)
	case err != nil:
		return RunReport{}, journalFault(err)
	}
	return conclude(paths, id, 0, 0)
}
