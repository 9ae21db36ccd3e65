package journal

import (
	"context"
	"errors"
	"time"
)

// ErrGone says that the process that worked on a run ended without ending the run.
var ErrGone = errors.New("the run's process is gone and the run has not ended")

// poll is how often a follower looks. graceBorn is how long a worker may take from its start to its
// lock, graceDead how long nobody may hold a lock that was held before the run counts as dead.
const (
	poll      = 100 * time.Millisecond
	graceBorn = 30 * time.Second
	graceDead = 2 * time.Second
)

// Follow calls fn for every entry after the first skip ones, those there and those to come, and
// returns when the last is run-ended. alive says whether a process works on the run.
func (s Store) Follow(ctx context.Context, id string, skip int, alive func() bool, fn func(Entry)) error {
	seen := skip
	deadSince := time.Time{}
	grace := graceBorn
	for {
		live := alive() // asked before reading, so that what was written last is not missed
		r, err := s.Open(id)
		if err != nil {
			return err
		}
		for ; seen < len(r.Entries); seen++ {
			fn(r.Entries[seen])
			deadSince, grace = time.Time{}, graceDead
		}
		if n := len(r.Entries); n > skip && r.Entries[n-1].Event == RunEnded {
			return nil
		}
		switch {
		case live:
			deadSince, grace = time.Time{}, graceDead
		case deadSince.IsZero():
			deadSince = time.Now()
		case time.Since(deadSince) > grace:
			return ErrGone
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(poll):
		}
	}
}
