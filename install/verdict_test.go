package install

import (
	"testing"

	"github.com/rdmactl/rdmactl/install/journal"
)

// TestVerdictWords: a report and the history call the end of a run alike.
func TestVerdictWords(t *testing.T) {
	for _, tt := range []struct {
		state   journal.State
		exit    int
		changed bool
		want    string
	}{
		{journal.Interrupted, 130, false, string(journal.Interrupted)},
		{journal.Stopped, 4, false, string(journal.Stopped)},
		{journal.RolledBack, 6, false, string(journal.RolledBack)},
		{journal.RolledBack, 0, false, string(journal.RolledBack)},
		{journal.Failed, 1, true, string(journal.Failed)},
		{journal.Done, 0, true, string(journal.Done)},
		{journal.Done, 0, false, VerdictNothingToDo},
		{journal.Done, 130, true, VerdictInterrupted}, // a rollback that was interrupted before anything changed
		{journal.Done, 4, true, VerdictStopped},       // one that was not begun
		{journal.AwaitingReboot, 0, true, VerdictDone},
	} {
		if got := verdictOf(journal.Entry{State: tt.state, Exit: tt.exit, Changed: tt.changed}); got != tt.want {
			t.Errorf("%s with exit %d is %s, want %s", tt.state, tt.exit, got, tt.want)
		}
	}
}
