package install

import (
	"slices"

	"github.com/rdmactl/rdmactl/install/journal"
)

// Installer returns the newest run with something to undo, if it brought one of these stacks; an empty id says that it
// did not, or that there is no run. It can be rolled back, since no later run stands on it.
func Installer(paths Paths, stacks []string) (id string, err error) {
	paths = paths.orDefault()
	id, err = latest(paths, func(j *journal.Run) bool { return len(recordsOf(j.Entries)) > 0 })
	if err != nil || id == "" {
		return "", readable(err)
	}
	j, err := paths.store().Open(id)
	if err != nil {
		return "", journalFault(err)
	}
	p, _, err := readRun(j)
	if err != nil {
		return "", err
	}
	if p.Chosen == nil || !slices.Contains(stacks, p.Chosen.Stack) || !bringsStack(p) {
		return "", nil
	}
	return id, nil
}
