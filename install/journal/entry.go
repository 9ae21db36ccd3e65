// Package journal keeps what a run did and what is needed to undo it.
//
// A run is a directory <state>/runs/<run-id> (0700) that holds plan.json, request.json, backups and
// journal.jsonl, one entry a line. An entry is on the disk, file and directory, before Append
// returns, so that after a power cut the journal is never behind the host. A journal is used only if
// the user who runs the tool (root) owns it and nobody else may write it.
package journal

import (
	"encoding/json"
	"time"
)

// Event says what an entry records.
type Event string

// The events of a run, in the order in which a run has them.
const (
	RunStarted       Event = "run-started"
	RunResumed       Event = "run-resumed"
	RollbackStarted  Event = "rollback-started"
	FinishStarted    Event = "finish-started" // of a run that awaited the reboot
	PreflightStarted Event = "preflight-started"
	PreflightDone    Event = "preflight-done"
	StageStarted     Event = "stage-started"
	Staged           Event = "staged"
	Repaired         Event = "repaired"
	StepStarted      Event = "step-started"
	StepDone         Event = "step-done"
	StepFailed       Event = "step-failed"
	UndoStarted      Event = "undo-started"
	UndoDone         Event = "undo-done"
	UndoFailed       Event = "undo-failed"
	Note             Event = "note"
	RunEnded         Event = "run-ended"
)

// State is where a run stands.
type State string

// The states of a run. Unfinished means that no live process works on it and it never ended: a power
// cut or a kill. It is resumed or rolled back, never guessed at.
const (
	Running     State = "running"
	Done        State = "done"
	Stopped     State = "stopped" // in preflight or stage, nothing changed
	Failed      State = "failed"  // and could not be undone whole
	RolledBack  State = "rolled-back"
	Interrupted State = "interrupted" // by a signal; what was done is undone
	Unfinished  State = "unfinished"
	// AwaitingReboot is a run that did all it can before the next boot; it is closed after it.
	AwaitingReboot State = "awaiting-reboot"
)

// Entry is one line of a journal.
type Entry struct {
	Seq   int       `json:"seq"` // from 1, without gaps
	Time  time.Time `json:"time"`
	Event Event     `json:"event"`
	Step  string    `json:"step,omitempty"`
	Kind  string    `json:"kind,omitempty"` // of the step
	N     int       `json:"n,omitempty"`    // the step's number, from 1
	Of    int       `json:"of,omitempty"`   // number of steps
	Text  string    `json:"text,omitempty"` // for a person
	// Status of a step that ended: done or skipped.
	Status  string  `json:"status,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	// Undo is what is needed to take the step back, written before the step changes anything.
	Undo json.RawMessage `json:"undo,omitempty"`
	// Left is what the step left behind, as far as it is known only afterwards.
	Left json.RawMessage `json:"left,omitempty"`
	// Problem says why something failed.
	Problem *Problem `json:"problem,omitempty"`
	// Kept are files that an undo left as the administrator edited them.
	Kept []string `json:"kept,omitempty"`
	// Of run-started, run-resumed, rollback-started and finish-started.
	PID  int    `json:"pid,omitempty"`
	Boot string `json:"boot,omitempty"` // kernel's boot_id
	Tool string `json:"tool,omitempty"` // version
	// Of run-ended.
	State   State `json:"state,omitempty"`
	Exit    int   `json:"exit,omitempty"`
	Changed bool  `json:"changed,omitempty"`
	Reboot  bool  `json:"reboot,omitempty"`
	// Verify is the verdict of the verification, Result any data for the report.
	Verify string          `json:"verify,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// Problem is a fault as a journal keeps it.
type Problem struct {
	Kind    int    `json:"kind"` // exit code
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// StateOf derives the state of a run from its entries; live says that a process holds the lock for it.
func StateOf(entries []Entry, live bool) State {
	if n := len(entries); n > 0 && entries[n-1].Event == RunEnded {
		return entries[n-1].State
	}
	if live {
		return Running
	}
	return Unfinished
}
