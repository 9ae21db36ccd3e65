package install

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/apt"
	"github.com/rdmactl/rdmactl/plan"
)

// Resolve asks the package manager for its own answer to a plan's packages. It needs no root, and it
// reads the repositories as they were last updated. The reasons name optional packages that no
// repository has.
func Resolve(ctx context.Context, r host.Reader, p plan.Plan) (plan.Solution, []plan.Reason, error) {
	return resolve(ctx, apt.NewSolver(r), p)
}

func resolve(ctx context.Context, solver pkgmgr.Solver, p plan.Plan) (plan.Solution, []plan.Reason, error) {
	none := plan.Solution{Manager: solver.Name(), Actions: []plan.ResolvedPackage{}}
	db, err := solver.Installed(ctx)
	if err != nil {
		return none, nil, managerFault("cannot read the package database", err)
	}
	if !needsPackages(p, db) {
		return none, nil, nil
	}
	requests, left, err := requestsOf(ctx, solver, p, db)
	if err != nil {
		return none, nil, err
	}
	sol, err := solver.Solve(ctx, joint(p, requests))
	if err != nil {
		return none, left, managerFault("cannot solve for the plan's packages", err)
	}
	return sol, left, nil
}

// DryRun prints what a run would do, with the package manager's own answer, and changes nothing.
func DryRun(ctx context.Context, env Env, p plan.Plan, out io.Writer) (RunReport, error) {
	rep := newReport()
	rep.Warnings = append(rep.Warnings, p.Warnings...)
	rep.Verdict = VerdictDone
	if p.Verdict == plan.NothingToDo {
		rep.Verdict = VerdictNothingToDo
		return rep, nil
	}
	var solver pkgmgr.Solver = apt.NewSolver(env.Host)
	if env.Manager != nil {
		solver = env.Manager
	}
	sol, left, err := resolve(ctx, solver, p)
	if err != nil {
		rep.Verdict = VerdictStopped
		return rep, err
	}
	rep.Warnings = append(rep.Warnings, left...)
	if err := unannounced(p, sol, nil); err != nil {
		rep.Verdict = VerdictStopped
		return rep, err
	}
	rest := sol
	for i, s := range p.Steps {
		rep.Steps = append(rep.Steps, StepReport{ID: s.ID, Status: "pending"})
		fmt.Fprintf(out, "step %d/%d %s: %s\n", i+1, len(p.Steps), s.Kind, s.Summary)
		for _, line := range actionsOf(s, rest) {
			fmt.Fprintf(out, "  %s\n", line)
		}
		if s.Kind == plan.KindPackages {
			// One answer for all of the plan's packages, shown with the first step that asks for some.
			rest = plan.Solution{Manager: sol.Manager, DownloadBytes: -1, InstalledBytes: -1}
		}
	}
	for _, w := range left {
		fmt.Fprintf(out, "warning: %s\n", w.Text)
	}
	fmt.Fprintln(out, "nothing was changed")
	return rep, nil
}

// actionsOf are a step's changes, one line each.
func actionsOf(s plan.Step, sol plan.Solution) []string {
	lines := []string{}
	if s.Kind == plan.KindPackages {
		for _, a := range sol.Actions {
			from := ""
			if a.From != "" {
				from = " (from " + a.From + ")"
			}
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s:%s %s%s %s", a.Action, a.Name, a.Arch, a.Version, from, a.Origin)))
		}
		if sol.DownloadBytes >= 0 && sol.InstalledBytes >= 0 {
			lines = append(lines, fmt.Sprintf("download %d bytes, install %d bytes", sol.DownloadBytes, sol.InstalledBytes))
		}
	}
	for _, c := range s.Changes.Files {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Action, c.Path, c.Mode)))
		if c.Action != "remove" {
			for line := range strings.Lines(c.Content) {
				lines = append(lines, "  | "+strings.TrimRight(line, "\n"))
			}
		}
	}
	for _, c := range s.Changes.Modules {
		optional := ""
		if c.Optional {
			optional = " (if this kernel has it)"
		}
		lines = append(lines, "modprobe "+c.Name+optional)
	}
	for _, c := range s.Changes.Services {
		lines = append(lines, strings.TrimSpace("systemctl "+c.Action+" "+c.Name))
	}
	if s.Kind == plan.KindUdev {
		lines = append(lines, "udevadm control --reload, trigger "+strings.Join(s.Changes.Subsystems, " "))
	}
	return lines
}
