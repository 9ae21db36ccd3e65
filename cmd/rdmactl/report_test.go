package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// TestWarningsAreShownOnce: what a plan was shown with is not said again at its end, and not of a run that has not done
// what they are about.
func TestWarningsAreShownOnce(t *testing.T) {
	early, late := plan.Reason{Code: "early", Text: "known beforehand"}, plan.Reason{Code: "late", Text: "found on the way"}
	p := plan.Plan{Verdict: plan.Install, Warnings: []plan.Reason{early}, Next: []plan.Hint{{Command: "sudo rdmactl install --profile inbox"}}}
	report := install.NewReport(install.VerdictDone)
	report.Warnings = []plan.Reason{early, late}
	var out, err bytes.Buffer
	g := &globalOptions{streams: streams{out: &out, err: &err}, output: "table"}
	if e := g.offer(p, []string{"a note"}); e != nil {
		t.Fatal(e)
	}
	if !strings.Contains(err.String(), "known beforehand") || !strings.Contains(err.String(), "note: a note") || strings.Contains(err.String(), "rdmactl install") {
		t.Errorf("before: %s", err.String())
	}
	if e := g.finish(g.unsaid(report, p), nil); e != nil {
		t.Fatal(e)
	}
	if strings.Contains(out.String(), "known beforehand") || !strings.Contains(out.String(), "found on the way") {
		t.Errorf("after: %s", out.String())
	}
	if len(report.Warnings) != 2 {
		t.Error("the report itself has lost one")
	}

	p.Verdict = plan.NothingToDo // was not shown before
	out.Reset()
	if e := g.finish(g.unsaid(report, p), nil); e != nil || !strings.Contains(out.String(), "known beforehand") {
		t.Errorf("%v: %s", e, out.String())
	}
	for _, verdict := range []string{install.VerdictRolledBack, install.VerdictStopped, install.VerdictInterrupted} {
		report.Verdict = verdict
		out.Reset()
		if e := g.finish(report, nil); e != nil || strings.Contains(out.String(), "warning") || !strings.Contains(out.String(), verdict) {
			t.Errorf("%s: %v: %s", verdict, e, out.String())
		}
	}
	out.Reset()
	report.Verdict, g.output = install.VerdictDone, "json"
	if e := g.finish(g.unsaid(report, p), nil); e != nil || !strings.Contains(out.String(), "known beforehand") {
		t.Errorf("data has all: %v: %s", e, out.String())
	}
}

// TestFollowedRun: the exit code is the run's, and the message says that it is the run that ended so.
func TestFollowedRun(t *testing.T) {
	report := install.NewReport(install.VerdictStopped)
	report.RunID = "20261130T061541Z-4f2a"
	cause := fault.New(fault.Stopped, "no-space", "make room there", "cannot install: / has 1 MiB free")
	err := ofRun(report, cause)
	if fault.KindOf(err) != fault.Stopped || err.Error() != "run 20261130T061541Z-4f2a: cannot install: / has 1 MiB free" {
		t.Errorf("%v", err)
	}
	if again := ofRun(report, err); again.Error() != err.Error() {
		t.Errorf("said twice: %v", again)
	}
	if err := ofRun(install.RunReport{}, cause); err != error(cause) {
		t.Errorf("of no run: %v", err)
	}
	if err := ofRun(report, nil); err != nil {
		t.Errorf("of a run that is done: %v", err)
	}
}
