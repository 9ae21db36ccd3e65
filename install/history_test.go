package install

import (
	"testing"

	"github.com/rdmactl/rdmactl/install/journal"
)

// A run that ends while the history is read is not taken for one that was cut off.
func TestHistoryOfARunThatEnds(t *testing.T) {
	going := []journal.Entry{{Event: journal.RunStarted}}
	ended := append(going, journal.Entry{Event: journal.RunEnded, State: journal.Done})
	for name, c := range map[string]struct {
		first, second []journal.Entry
		live          bool
		state         journal.State
		reads         int
	}{
		"at work":                {going, ended, true, journal.Running, 1},
		"ended":                  {ended, ended, false, journal.Done, 1},
		"ended after it is read": {going, ended, false, journal.Done, 2},
		"cut off":                {going, going, false, journal.Unfinished, 2},
	} {
		reads := 0
		j, live, err := settled(func() (*journal.Run, error) {
			if reads++; reads == 1 {
				return &journal.Run{Entries: c.first}, nil
			}
			return &journal.Run{Entries: c.second}, nil
		}, func() bool { return c.live })
		if err != nil {
			t.Fatal(err)
		}
		if state := journal.StateOf(j.Entries, live); state != c.state || reads != c.reads {
			t.Errorf("%s: state %s after %d reads, want %s after %d", name, state, reads, c.state, c.reads)
		}
	}
}
