package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/internal/fault"
)

// exitError ends a command with a code after its answer is already on stdout.
type exitError struct{ kind fault.Kind }

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e.kind)) }

// exitText is one line of the exit status table of the command line contract.
func exitText(k fault.Kind) string {
	switch k {
	case 0:
		return "done, nothing to do, or healthy"
	case fault.Failed:
		return "failed; the message says whether anything changed"
	case fault.Usage:
		return "usage, or a faulty profile, plan or evidence file"
	case fault.Refused:
		return "refused: no stack can serve this host as asked"
	case fault.Stopped:
		return "stopped for safety or a failed precondition; nothing changed"
	case fault.Unhealthy:
		return "verification is fail or not-testable"
	case fault.RolledBack:
		return "a step or the verification failed and the host was rolled back"
	case fault.Locked:
		return "another run holds the lock"
	case fault.Reboot:
		return "done, and a reboot is needed (only with --reboot-exit-code)"
	case fault.Changes:
		return "the plan has changes (only with --detailed-exitcode)"
	case fault.Interrupted:
		return "interrupted; the current step was undone or finished"
	}
	return "unknown"
}

func allExits() []fault.Kind {
	return []fault.Kind{
		0, fault.Failed, fault.Usage, fault.Refused, fault.Stopped, fault.Unhealthy, fault.RolledBack, fault.Locked,
		fault.Reboot, fault.Changes, fault.Interrupted,
	}
}

// exitStatus is the EXIT STATUS block that ends each command's help.
func exitStatus(kinds ...fault.Kind) string {
	slices.Sort(kinds)
	var b strings.Builder
	b.WriteString("\n\nEXIT STATUS\n")
	for _, k := range kinds {
		fmt.Fprintf(&b, "  %3d  %s\n", int(k), exitText(k))
	}
	return strings.TrimRight(b.String(), "\n")
}

// report prints an error for a person, or as one JSON object in JSON mode, and returns the exit code.
func report(g *globalOptions, args []string, err error) int {
	if err == nil {
		return 0
	}
	var done exitError
	if errors.As(err, &done) {
		return int(done.kind)
	}
	var f *fault.Error
	if !errors.As(err, &f) {
		f = &fault.Error{Kind: fault.Failed, Code: "failed", Msg: err.Error()}
	}
	msg := err.Error()
	if wantsJSON(g, args) {
		line, mErr := json.Marshal(struct {
			Code    string `json:"code"`
			Message string `json:"message"`
			Hint    string `json:"hint"`
			Exit    int    `json:"exit"`
		}{f.Code, msg, f.Hint, int(f.Kind)})
		if mErr == nil {
			fmt.Fprintf(g.err, "%s\n", line)
			return int(f.Kind)
		}
	}
	fmt.Fprintf(g.err, "rdmactl: %s\n", msg)
	if f.Hint != "" {
		fmt.Fprintf(g.err, "hint: %s\n", f.Hint)
	}
	return int(f.Kind)
}

// wantsJSON says whether errors are JSON: also when the command line was too broken to be parsed.
func wantsJSON(g *globalOptions, args []string) bool {
	return g.format() == "json" || slices.Contains(args, "--json") || slices.Contains(args, "-ojson") ||
		slices.Contains(args, "--output=json")
}
