package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/plan"
)

// PruneSchema names the JSON form of Pruned.
const PruneSchema = "rdmactl.prune/v1"

// Pruned is what a pruning removed.
type Pruned struct {
	Schema string   `json:"schema"`
	Runs   []string `json:"runs"`  // oldest first
	Bytes  int64    `json:"bytes"` // that they took, kept packages and files among them
	Kept   []string `json:"kept"`  // beyond the number, since something is still to be done with them
}

// Prune forgets all but the newest keep runs with what they kept for a rollback. A run that is unfinished, that
// could not be undone, or that awaits a reboot stays: it is still needed. So does one whose holds on packages stand:
// without its journal they would be taken for the administrator's.
func Prune(env Env, keep int) (Pruned, error) {
	out := Pruned{Schema: PruneSchema, Runs: []string{}, Kept: []string{}}
	paths := env.Paths.orDefault()
	if err := mayStart(env, paths); err != nil {
		return out, err
	}
	lock, err := journal.Acquire(paths.Lock, journal.Holder{Run: "prune", PID: os.Getpid()})
	if err != nil {
		return out, lockFault(err)
	}
	err = prune(env, paths, keep, &out)
	return out, errors.Join(err, lock.Release())
}

func prune(env Env, paths Paths, keep int, out *Pruned) error {
	store := paths.store()
	if err := store.Sweep(); err != nil {
		return err
	}
	ids, err := store.IDs()
	if err != nil {
		return err
	}
	holds, err := OwnHolds(paths)
	if err != nil {
		return err
	}
	for _, id := range ids[:max(0, len(ids)-keep)] {
		needed, err := stillNeeded(store, id)
		if err != nil {
			return err
		}
		if needed || slices.ContainsFunc(holds, func(h plan.OwnHold) bool { return h.Run == id }) {
			out.Kept = append(out.Kept, id)
			continue
		}
		freed, err := store.Remove(id)
		if err != nil {
			return err
		}
		if err := os.Remove(paths.logAt(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove the log of run %s: %w", id, err)
		}
		out.Runs = append(out.Runs, id)
		out.Bytes += freed
	}
	freed, err := pruneSources(env, store)
	out.Bytes += freed
	return err
}

// stillNeeded says that something is still to be done with a run.
func stillNeeded(store journal.Store, id string) (bool, error) {
	j, err := store.Open(id)
	if err != nil {
		return true, nil // what cannot be read is not ours to throw away; history says why
	}
	state := journal.StateOf(j.Entries, false)
	open := slices.Contains([]journal.State{journal.Unfinished, journal.Failed, journal.AwaitingReboot}, state) ||
		stateToFinish(j.Entries) == journal.AwaitingReboot
	return open && len(recordsOf(j.Entries)) > 0, nil
}
