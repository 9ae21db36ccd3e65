package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/web"
	"github.com/rdmactl/rdmactl/plan"
)

// Resolve asks the package manager for its own answer to a plan's packages. It needs no root, and it
// reads the repositories as they were last updated. The reasons name optional packages that no
// repository has.
func Resolve(ctx context.Context, r host.Reader, p plan.Plan) (plan.Solution, []plan.Reason, error) {
	solver, err := solverOf(p.Manager, r)
	if err != nil {
		return plan.Solution{Manager: p.Manager, Actions: []plan.ResolvedPackage{}}, nil, err
	}
	return resolve(ctx, solver, p)
}

func resolve(ctx context.Context, solver pkgmgr.Solver, p plan.Plan) (plan.Solution, []plan.Reason, error) {
	none := plan.Solution{Manager: solver.Name(), Actions: []plan.ResolvedPackage{}}
	db, err := solver.Installed(ctx)
	if err != nil {
		return none, nil, managerFault("cannot read the package database", err)
	}
	if err := canHold(solver, p); err != nil {
		return none, nil, err
	}
	if !needsPackages(p, db) {
		return none, nil, nil
	}
	if slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.ID == plan.ReleaseStep }) {
		return none, []plan.Reason{{Code: "not-resolved", Source: solver.Name(), Text: "holds that an earlier run set are in the way of an answer; `install` asks the package manager " +
			"what the host without them gets, before anything changes"}}, nil
	}
	for _, s := range p.Steps {
		if s.Kind == plan.KindRepository && s.Changes.Repository != nil {
			return none, []plan.Reason{{Code: "not-resolved", Source: solver.Name(), Text: "the exact packages come from " + web.Public(s.Changes.Repository.Origin()) +
				", which this host does not have yet; `install` asks the package manager about it before anything changes"}}, nil
		}
	}
	requests, left, err := requestsOf(ctx, solver, p, db)
	if errors.Is(err, errNoLists) { // a run would read them
		return none, []plan.Reason{{Code: "not-resolved", Source: solver.Name(), Text: "the list of no repository has been read here; `install` reads them " +
			"and asks the package manager before anything changes, and stops where no repository is configured that has the packages"}}, nil
	}
	if err != nil {
		return none, nil, err
	}
	if len(turns(p, requests)) > 1 {
		return none, append(left, plan.Reason{Code: "not-resolved", Source: solver.Name(), Text: "the old release is removed in a transaction of its own; `install` asks the package manager " +
			"what the host without it gets, before anything changes"}), nil
	}
	if s, ok := takesBuilt(p); ok {
		left = append(left, plan.Reason{Code: "not-resolved", Source: solver.Name(), Text: fmt.Sprintf("the %d packages of step %s are built first, and so is not known what else they need; `install` asks the package manager "+
			"before it changes any of them", len(s.Changes.Packages), s.ID)})
	}
	if m, ok := solver.(pkgmgr.Unmeeting); ok && restoring(p) {
		unmet, err := m.Unmet(ctx)
		if err != nil {
			return none, left, managerFault("cannot ask whether dependencies are met", err)
		}
		if unmet {
			return none, append(left, plan.Reason{Code: "not-resolved", Source: solver.Name(), Text: "dependencies are unmet on this host, so " + solver.Name() + " solves nothing beside them; `install` asks it " +
				"for the host without what goes, before anything changes"}), nil
		}
	}
	sol, err := solver.Solve(ctx, joint(p, requests))
	if restoring(p) && errors.Is(err, host.ErrNotAllowed) {
		return none, append(left, plan.Reason{Code: "not-resolved", Source: solver.Name(), Text: solver.Name() + " takes installations and removals in one transaction through its shell alone, which nothing that only " +
			"looks may start; `install` asks it before anything changes"}), nil
	}
	if err != nil {
		return none, left, managerFault("cannot solve for the plan's packages", err)
	}
	return sol, left, nil
}

// DryRun prints what a run would do, with the package manager's own answer, and changes nothing. The
// verdict is VerdictDone when a run would change the host.
//
// allowed are packages that may go although the plan does not name them, as Options.AllowRemove.
func DryRun(ctx context.Context, env Env, p plan.Plan, allowed []string, out io.Writer) (RunReport, error) {
	rep := NewReport(VerdictStopped)
	rep.DryRun = true
	rep.Warnings = append(rep.Warnings, p.Warnings...)
	if p.Verdict == plan.NothingToDo {
		rep.Verdict = VerdictNothingToDo
		return rep, nil
	}
	for _, s := range p.Steps {
		rep.Steps = append(rep.Steps, StepReport{ID: s.ID, Status: "pending"})
		if s.Kind == plan.KindBuild && s.Changes.Build != nil {
			if err := sourceNamed(*s.Changes.Build); err != nil {
				return rep, err
			}
		}
	}
	var solver pkgmgr.Solver = env.Manager
	if env.Manager == nil {
		var err error
		if solver, err = solverOf(p.Manager, env.Host); err != nil {
			return rep, err
		}
	}
	if err := sourcesUsable(env.Host, p); err != nil {
		return rep, err
	}
	sol, left, err := resolve(ctx, solver, p)
	if err != nil {
		return rep, err
	}
	rep.Resolved = &sol
	rep.Warnings = append(rep.Warnings, left...)
	if err := unannounced(p, sol, allowed); err != nil {
		return rep, err
	}
	for _, s := range p.Steps {
		if s.Kind != plan.KindVendorScript || s.Changes.Script == nil {
			continue
		}
		if _, err := removalOf(ctx, solver, s, allowed); err != nil && !errors.Is(err, host.ErrNotAllowed) {
			return rep, err
		}
	}
	if _, err := io.WriteString(out, dryRunText(p, sol, left)); err != nil {
		return rep, fmt.Errorf("cannot print: %w", err)
	}
	rep.Verdict = VerdictNothingToDo
	if wouldChange(p, sol) {
		rep.Verdict = VerdictDone
	}
	return rep, nil
}

// sourcesUsable refuses a source that a run would refuse, as far as it can be told without unpacking it.
func sourcesUsable(h host.Reader, p plan.Plan) error {
	for _, s := range p.Steps {
		c := s.Changes.Repository
		if s.Kind != plan.KindRepository || c == nil {
			continue
		}
		if c.Bundle != nil {
			if err := proven(s); err != nil {
				return err
			}
		}
		if err := reachable(h, *c); err != nil {
			return err
		}
	}
	return nil
}

// wouldChange says whether a run has anything to do, as far as it can be told beforehand: a step of
// packages has nothing when they are all installed, verification changes nothing.
func wouldChange(p plan.Plan, sol plan.Solution) bool {
	return len(sol.Actions) > 0 || slices.ContainsFunc(p.Steps, func(s plan.Step) bool {
		return s.Kind != plan.KindPackages && s.Kind != plan.KindVerify
	})
}

// dryRunText is a dry run for a person.
func dryRunText(p plan.Plan, sol plan.Solution, left []plan.Reason) string {
	var out strings.Builder
	rest := sol
	for i, s := range p.Steps {
		out.WriteString(wrapped(fmt.Sprintf("step %d/%d %s: %s", i+1, len(p.Steps), s.Kind, s.Summary), "    "))
		for _, line := range actionsOf(s, rest) {
			fmt.Fprintf(&out, "  %s\n", line)
		}
		if s.Kind == plan.KindPackages {
			// One answer for all of the plan's packages, shown with the first step that asks for some.
			rest = plan.Solution{Manager: sol.Manager, DownloadBytes: -1, InstalledBytes: -1}
		}
	}
	for _, w := range left {
		out.WriteString(wrapped("warning: "+w.Text, "    "))
	}
	out.WriteString("nothing was changed\n")
	return out.String()
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
		if text := sizes(sol); text != "" && len(sol.Actions) > 0 {
			lines = append(lines, text)
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
	if c := s.Changes.Hold; c != nil {
		for _, h := range c.Packages {
			lines = append(lines, strings.TrimSpace(c.Action+" "+h.Name+" "+h.Version))
		}
		if c.Brought {
			lines = append(lines, c.Action+" every other package of the vendor's stack that is there by then")
		}
	}
	for _, tree := range s.Changes.Trees {
		lines = append(lines, "remove "+tree+" (where it is there and no package owns it)")
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
	if s.Changes.Script != nil {
		for _, c := range s.Changes.Packages {
			lines = append(lines, map[string]string{"replace": "remove ", "exclude": "keep out "}[c.Action]+c.Name)
		}
		lines = append(lines, "run "+s.Changes.Script.Command())
	}
	if s.Kind == plan.KindUdev {
		lines = append(lines, "udevadm control --reload, trigger "+strings.Join(s.Changes.Subsystems, " "))
	}
	return lines
}

// sizes are the package manager's figures, as far as it told them: -1 is not told.
func sizes(sol plan.Solution) string {
	words := []string{}
	if sol.DownloadBytes >= 0 {
		words = append(words, "download "+BytesText(sol.DownloadBytes))
	}
	switch {
	case sol.InstalledBytes >= 0:
		words = append(words, BytesText(sol.InstalledBytes)+" installed")
	case sol.InstalledBytes < -1:
		words = append(words, BytesText(-sol.InstalledBytes)+" freed")
	}
	return strings.Join(words, ", ")
}

// BytesText is a number of bytes for a person, with two digits at least: 2.7 MiB, 19 MiB.
func BytesText(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	unit, f := "KiB", float64(n)/(1<<10)
	for _, next := range []string{"MiB", "GiB"} {
		if f < 1023.5 {
			break
		}
		unit, f = next, f/(1<<10)
	}
	if f < 9.95 {
		return fmt.Sprintf("%.1f %s", f, unit)
	}
	return fmt.Sprintf("%.0f %s", f, unit)
}
