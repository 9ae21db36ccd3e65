package install

import (
	"errors"
	"syscall"

	"github.com/rdmactl/rdmactl/install/journal"
)

// reserved is the room that a run keeps for its own way back: dpkg writes its whole database anew for each change (1 to
// 10 MB on a large host), and the journal is a few KB.
const reserved = 16 << 20

// reserve keeps that room from the first change on. Where that cannot be, the run goes on without, as the preflight
// saw room enough.
func (r *run) reserve() error {
	if err := r.journal.Reserve(reserved); err != nil {
		return r.note("%v", err)
	}
	return nil
}

// release gives the room to the undo, or back to the host.
func (r *run) release() {
	if _, err := r.journal.Release(); err != nil {
		r.heard(err.Error())
	}
}

// append writes a journal entry, if need be in the room that was reserved.
func (r *run) append(e journal.Entry) error {
	err := r.journal.Append(e)
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	if there, rerr := r.journal.Release(); rerr != nil || !there {
		return errors.Join(err, rerr)
	}
	return r.journal.Append(e)
}
