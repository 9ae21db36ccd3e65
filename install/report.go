package install

import (
	"errors"
	"slices"
	"time"

	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// Schema names the JSON form of a RunReport.
const Schema = "rdmactl.run/v1"

// The verdicts of a run.
const (
	VerdictDone        = "done"
	VerdictNothingToDo = "nothing-to-do"
	VerdictRefused     = "refused"
	VerdictStopped     = "stopped"
	VerdictFailed      = "failed"
	VerdictRolledBack  = "rolled-back"
	// VerdictInterrupted is of a run, or of a rollback of one, that a signal ended: what was done is undone or kept whole.
	VerdictInterrupted = "interrupted"
)

// RunReport is what a run came to, `install -o json` and `rollback -o json`.
type RunReport struct {
	Schema         string        `json:"schema"`
	RunID          string        `json:"run_id"`
	Verdict        string        `json:"verdict"`
	Root           string        `json:"root,omitempty"` // the image that was worked on; empty for the host itself
	DryRun         bool          `json:"dry_run"`        // it says what a run would do; nothing was done
	Changed        bool          `json:"changed"`        // the host differs from before the run
	RebootRequired bool          `json:"reboot_required"`
	Steps          []StepReport  `json:"steps"`
	Log            string        `json:"log"`
	Kept           []string      `json:"kept"` // files that an undo left as the administrator edited them
	Notes          []string      `json:"notes"`
	Verify         string        `json:"verify,omitempty"` // verdict of the verification
	Warnings       []plan.Reason `json:"warnings"`
	// Resolved is the package manager's answer to the plan's packages, of a dry run.
	Resolved *plan.Solution `json:"resolved,omitempty"`
}

// StepReport is one step of a run.
type StepReport struct {
	ID      string  `json:"id"`
	Status  string  `json:"status"` // done, skipped, failed, undone, pending, started
	Seconds float64 `json:"seconds"`
}

// NewReport is a report with a verdict and nothing else: its lists are empty, not nil, since JSON
// promises arrays.
func NewReport(verdict string) RunReport {
	return RunReport{Schema: Schema, Verdict: verdict, Steps: []StepReport{}, Kept: []string{}, Notes: []string{}, Warnings: []plan.Reason{}}
}

// reportOf derives a report from a journal.
func reportOf(id, log string, p plan.Plan, entries []journal.Entry) RunReport {
	r := NewReport("")
	r.RunID, r.Log = id, log
	r.Warnings = append(r.Warnings, p.Warnings...)
	status := map[string]StepReport{}
	for _, e := range entries {
		s := status[e.Step]
		switch e.Event {
		case journal.StepStarted:
			s.Status = "started"
		case journal.StepDone:
			s.Status, s.Seconds = e.Status, e.Seconds
		case journal.StepFailed:
			s.Status, s.Seconds = "failed", e.Seconds
		case journal.UndoDone:
			if s.Status != "failed" {
				s.Status = "undone"
			}
		case journal.Note:
			r.Notes = append(r.Notes, e.Text)
		case journal.RunEnded:
			r.Changed, r.RebootRequired, r.Verify = e.Changed, e.Reboot, e.Verify
			r.Verdict = verdictOf(e)
		}
		for _, k := range e.Kept {
			if !slices.Contains(r.Kept, k) {
				r.Kept = append(r.Kept, k)
			}
		}
		if e.Step != "" {
			status[e.Step] = s
		}
	}
	for _, step := range p.Steps {
		s := status[step.ID]
		s.ID = step.ID
		if s.Status == "" {
			s.Status = "pending"
		}
		r.Steps = append(r.Steps, s)
	}
	return r
}

func verdictOf(e journal.Entry) string {
	if (e.State == journal.Done || e.State == journal.AwaitingReboot) && e.Exit == int(fault.Stopped) {
		return VerdictStopped // a rollback that was not begun, or a run finished before its reboot
	}
	if e.Exit == int(fault.Interrupted) {
		return VerdictInterrupted
	}
	switch e.State {
	case journal.Done, journal.AwaitingReboot:
		if !e.Changed {
			return VerdictNothingToDo
		}
		return VerdictDone
	case journal.RolledBack:
		return VerdictRolledBack
	case journal.Stopped:
		if e.Exit == int(fault.Refused) {
			return VerdictRefused
		}
		return VerdictStopped
	case journal.Interrupted:
		return VerdictInterrupted
	}
	return VerdictFailed
}

// problemOf turns an error into what a journal keeps.
func problemOf(err error) *journal.Problem {
	var f *fault.Error
	if errors.As(err, &f) {
		return &journal.Problem{Kind: int(f.Kind), Code: f.Code, Message: err.Error(), Hint: f.Hint}
	}
	hint := causeHint(err)
	if hint != "" {
		hint += ", then run again"
	}
	return &journal.Problem{Kind: int(fault.Failed), Code: "failed", Message: err.Error(), Hint: hint}
}

// faultOf is the way back.
func faultOf(p *journal.Problem) error {
	if p == nil {
		return nil
	}
	return fault.New(fault.Kind(p.Kind), p.Code, p.Hint, "%s", p.Message)
}

// RunInfo is one line of the history.
type RunInfo struct {
	ID      string        `json:"id"`
	State   journal.State `json:"state"`
	Started time.Time     `json:"started"`
	Ended   time.Time     `json:"ended,omitzero"`
	Summary string        `json:"summary"`
	Changed bool          `json:"changed"`
	Reboot  bool          `json:"reboot_required"`
	Steps   int           `json:"steps"`
	Done    int           `json:"steps_done"`
	Verify  string        `json:"verify,omitempty"`
	Log     string        `json:"log"`
	Note    string        `json:"note,omitempty"`
}
