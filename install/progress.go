package install

import (
	"fmt"
	"io"
	"strings"

	"github.com/rdmactl/rdmactl/install/journal"
)

// Progress shows a run's entries as they come. It is used by install, rollback and history --follow.
type Progress interface {
	Entry(e journal.Entry)
}

// plainProgress prints a line for what ended, for logs and pipes.
type plainProgress struct{ out io.Writer }

// NewPlain returns a Progress of plain lines.
func NewPlain(out io.Writer) Progress { return &plainProgress{out} }

// Entry prints what a person wants to know of an entry.
func (p *plainProgress) Entry(e journal.Entry) {
	if line := lineOf(e); line != "" {
		fmt.Fprint(p.out, wrapped(line, "    "))
	}
}

// terminalProgress keeps one line for what goes on and replaces it when that ends.
type terminalProgress struct {
	out  io.Writer
	open bool
}

// NewTerminal returns a Progress for a terminal.
func NewTerminal(out io.Writer) Progress { return &terminalProgress{out: out} }

// narrow is a width that every terminal has. A line that goes on in the next one could not be cleared.
const narrow = 79

// clearLine is carriage return and "erase in line" of ECMA-48.
const clearLine = "\r\x1b[2K"

// Entry prints or replaces a line.
func (p *terminalProgress) Entry(e journal.Entry) {
	line, temporary := lineOf(e), false
	switch e.Event {
	case journal.PreflightStarted:
		line, temporary = "preflight ...", true
	case journal.StageStarted:
		line, temporary = "stage: downloading ...", true
	case journal.StepStarted, journal.UndoStarted:
		line, temporary = shortened(lineOf(e), narrow-4)+" ...", true
	}
	if line == "" {
		return
	}
	if p.open {
		fmt.Fprint(p.out, clearLine)
	}
	p.open = temporary
	if temporary {
		fmt.Fprint(p.out, line)
		return
	}
	fmt.Fprint(p.out, wrapped(line, "    "))
}

// lineOf is an entry in one line, empty for what only the journal needs.
func lineOf(e journal.Entry) string {
	step := fmt.Sprintf("step %d/%d %s: %s", e.N, e.Of, e.Kind, e.Text)
	switch e.Event {
	case journal.RunStarted:
		return "run started: " + e.Text
	case journal.RunResumed:
		return "run resumed: " + e.Text
	case journal.FinishStarted:
		return "verifying after the reboot"
	case journal.RollbackStarted:
		return "rollback started"
	case journal.PreflightDone:
		line := "preflight done: " + e.Text
		if e.Verify != "" {
			line += "; verification before the run: " + e.Verify
		}
		return line
	case journal.Staged:
		return "stage done: " + e.Text
	case journal.Repaired:
		return "repaired: " + e.Text
	case journal.StepStarted:
		return step
	case journal.StepDone:
		if e.Status == "skipped" {
			return fmt.Sprintf("step %d/%d %s [skipped: %s]", e.N, e.Of, e.Kind, e.Text)
		}
		return strings.TrimSuffix(step, ": ") + fmt.Sprintf(" [done %.1fs]", e.Seconds)
	case journal.StepFailed:
		return fmt.Sprintf("step %d/%d %s [failed %.1fs]: %s", e.N, e.Of, e.Kind, e.Seconds, problemText(e))
	case journal.UndoStarted:
		return fmt.Sprintf("undo %d/%d %s", e.N, e.Of, e.Kind)
	case journal.UndoDone:
		line := fmt.Sprintf("undo %d/%d %s [done %.1fs]", e.N, e.Of, e.Kind, e.Seconds)
		if len(e.Kept) > 0 {
			line += " kept: " + strings.Join(e.Kept, ", ")
		}
		return line
	case journal.UndoFailed:
		return fmt.Sprintf("undo %d/%d %s [failed]: %s", e.N, e.Of, e.Kind, problemText(e))
	case journal.Note:
		return "note: " + e.Text
	case journal.RunEnded:
		return "run ended: " + string(e.State)
	}
	return ""
}

func problemText(e journal.Entry) string {
	if e.Problem == nil {
		return ""
	}
	return e.Problem.Message
}
