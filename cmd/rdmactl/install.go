package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type installOptions struct {
	wishOptions
	root            string
	kernel          string
	plan            string
	dryRun          bool
	yes             bool
	resume          bool
	allowRemove     []string
	allowUnknown    bool
	onVerifyFailure string
	rebootExitCode  bool
	bundle          bundleUse
	moduleKey       moduleKeyOptions
}

func (o *installOptions) addFlags(f *pflag.FlagSet) {
	o.wishOptions.addFlags(f)
	addRootFlag(f, &o.root)
	o.bundle.addFlags(f)
	o.moduleKey.addFlags(f)
	f.StringVar(&o.kernel, "kernel", "", "install for the kernel `RELEASE` of the image; needed where it has several")
	f.StringVar(&o.plan, "plan", "", "install only if the plan is still the one in `FILE` (from plan --out)")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be done, with the package manager's own answer, and change nothing")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask; needed without a terminal")
	f.BoolVar(&o.resume, "resume", false, "continue a run that was cut off")
	f.BoolVar(&o.allowUnknown, "allow-unknown", false, "take a stack that nothing documents for this host (see the plan's warning)")
	f.StringSliceVar(&o.allowRemove, "allow-remove", nil, "`PACKAGE` that may be removed (may be repeated)")
	f.BoolVar(&o.rebootExitCode, "reboot-exit-code", false, "exit 8 instead of 0 when a reboot is needed")
	f.StringVar(&o.onVerifyFailure, "on-verify-failure", "auto", "when the verification fails: rollback, keep, or auto (rollback if the host passed before)")
}

func newInstallCmd(g *globalOptions) *cobra.Command {
	opts := &installOptions{wishOptions: wishOptions{etc: g.etc}}
	cmd := &cobra.Command{
		Use:     "install",
		GroupID: "main",
		Short:   "Install the planned stack as a transaction that can be rolled back",
		Long: `Make the plan, show it, and carry it out: everything is downloaded and verified before anything changes,
each step is written to a journal with what is needed to undo it, and the last step sends real verbs
traffic. The run goes on when the terminal or the ssh session is lost; "rdmactl history --follow" shows
it. A run that was cut off is continued with --resume or undone with "rdmactl rollback".

A second install of the same plan finds nothing to do and exits 0.

With --hold the package manager keeps the stack's packages at the version that the run leaves, so that an upgrade of
the host passes them over. What rdmactl holds it lifts itself when it changes the stack; what you hold stops it.

With --root the image below a directory is installed into, for chroots and diskless images: its package manager
runs in namespaces of its own, nothing on this host is loaded, started or changed, and what is installed comes
into use when the image boots. The image keeps the journal of its runs.` +
			exitStatus(0, fault.Failed, fault.Usage, fault.Refused, fault.Stopped, fault.Unhealthy, fault.RolledBack, fault.Locked, fault.Reboot, fault.Interrupted),
		Example: "  sudo rdmactl install --profile inbox\n  sudo rdmactl install --profile soft --yes   # Soft-RoCE, no card needed\n  sudo rdmactl install --root /srv/images/compute --profile inbox --yes\n  rdmactl install --profile soft --dry-run",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.resume {
				if err := resumeAlone(cmd.Flags()); err != nil {
					return err
				}
			}
			t, err := openTarget(opts.root)
			defer t.close()
			defer opts.bundle.close()
			if err == nil {
				err = opts.bundle.open(cmd.Context(), cmd.Flags(), &opts.wishOptions, g)
			}
			if err == nil {
				err = runInstall(cmd.Context(), *opts, t, g)
			}
			return t.said(err)
		},
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

func runInstall(ctx context.Context, opts installOptions, t *target, g *globalOptions) (err error) {
	defer func() { err = errors.Join(err, opts.drop()) }()
	if !slices.Contains([]string{"auto", "rollback", "keep"}, opts.onVerifyFailure) {
		return fault.New(fault.Usage, "usage", "it is auto, rollback or keep", "cannot use --on-verify-failure %q", opts.onVerifyFailure)
	}
	env := t.env()
	iopts := install.Options{
		OnVerifyFailure: opts.onVerifyFailure, AllowRemove: opts.allowRemove, Progress: g.progress(),
	}
	if opts.resume {
		id, err := install.Resumable(env)
		if err != nil {
			return err
		}
		if id != "" {
			if err := confirm(g, opts.yes, "Continue run "+id+"?"); err != nil {
				return err
			}
		}
		report, err := install.Resume(ctx, env, iopts)
		return opts.finish(g, t.shown(report), err)
	}

	var then *plan.Plan
	if opts.plan != "" {
		agreed, err := readPlan(opts.plan)
		if err != nil {
			return err
		}
		then = &agreed
		if opts.profile == "" && opts.stack == "" {
			opts.profile = agreed.Profile
		}
		opts.hold = opts.hold || plan.Holds(agreed)
	}
	if os.Geteuid() == 0 { // others cannot look
		if err := install.Ready(env); err != nil {
			return err
		}
	}
	if os.Geteuid() == 0 {
		if opts.own, err = install.OwnHolds(env.Paths); err != nil {
			return err
		}
	}
	if err := t.settle(&opts.wishOptions, opts.kernel); err != nil {
		return err
	}
	here, err := t.source(ctx, g)
	if err != nil {
		return err
	}
	known, err := opts.loadMatrix()
	if err != nil {
		return err
	}
	if known, err = opts.bundle.settle(here.facts, &opts.wishOptions, known, &opts.allowUnknown); err != nil {
		return err
	}
	if known, err = opts.supply(ctx, known); err != nil {
		return err
	}
	if err := opts.options(&iopts); err != nil {
		return err
	}
	if err := opts.moduleKey.options(opts.supplyOptions, &iopts); err != nil {
		return err
	}
	p, err := opts.make(here, known, opts.kernel)
	if err != nil {
		return err
	}
	if p, err = opts.bundle.plan(p, opts.root); err != nil {
		return opts.bundle.lacks(here.facts, err)
	}
	if then != nil {
		if diff := plan.Compare(*then, p); len(diff) > 0 {
			return fault.New(fault.Stopped, "plan-changed", "look at `rdmactl plan` and agree to the new plan",
				"cannot install plan %s: the plan for this host is another one now:\n  %s", opts.plan, strings.Join(diff, "\n  "))
		}
	}
	if err := opts.useless(p); err != nil {
		return err
	}
	if iopts.ModuleKey != nil {
		if p.Verdict == plan.Install {
			if err := iopts.ModuleKey.Needed(p); err != nil { // before the question, and before a dry run shows it
				return err
			}
		}
		p = plan.SignedWith(p)
	}
	unneeded, err := opts.unneeded(ctx, env, p)
	if err != nil {
		return err
	}
	if err := install.Allowed(p, opts.allowUnknown); err != nil {
		return err
	}
	if err := install.Consented(p, opts.acceptEOL); err != nil {
		return err
	}
	if err := install.Able(p); err != nil {
		return err
	}
	switch {
	case p.Verdict == plan.Refuse:
		notes := []string{}
		if opts.bundle.opened != nil {
			notes = append(notes, opts.bundle.differs(here.facts)+"; "+t.commands(bundleForThis))
		}
		return g.refuse(p, opts.dryRun, notes...)
	case opts.dryRun:
		out := g.out
		if g.format() != "table" {
			out = io.Discard // the report has it all
		}
		if err := plan.Render(out, p, g.color()); err != nil {
			return fmt.Errorf("cannot print: %w", err)
		}
		dry := t.dryEnv()
		done, err := opts.bundle.dryRun(ctx, env.Host, &dry, p, g)
		var report install.RunReport
		if err == nil {
			report, err = install.DryRun(ctx, dry, p, opts.allowRemove, out)
		}
		err = errors.Join(opts.bundle.lacks(here.facts, err), done())
		if g.format() == "table" {
			g.note(unneeded)
			return err
		}
		report.Notes = append(report.Notes, unneeded...)
		return g.finish(report, err)
	case p.Verdict == plan.Install:
		if err := install.Ready(env); err != nil { // before the question, not after
			return err
		}
		if err := g.offer(p, unneeded); err != nil {
			return err
		}
		if err := confirm(g, opts.yes, "Install this?"); err != nil {
			return err
		}
	}
	if opts.profile == "" && opts.stack == "" {
		opts.profile = p.Profile // the journal keeps what was meant, whoever said so
	}
	if iopts.Request, err = json.Marshal(opts.request(host.Told{}, t.settled)); err != nil {
		return fmt.Errorf("cannot keep the request: %w", err)
	}
	if t.image != nil && p.Verdict == plan.Install {
		if err := t.image.Prepare(); err != nil {
			return err
		}
		env = t.env()
	}
	if p.Verdict == plan.Install {
		if iopts.Offline, err = opts.bundle.unpack(ctx, env.Host, g); err != nil {
			return err
		}
	}
	report, err := install.Start(ctx, env, p, iopts)
	err = opts.bundle.lacks(here.facts, err)
	if err != nil && report.RunID == "" && iopts.Offline != nil { // no run that would remove it
		if left := install.RemoveOffline(env.Host, *iopts.Offline); left != nil {
			err = errors.Join(err, left)
		}
	}
	switch {
	case g.format() != "table":
		report.Notes = append(report.Notes, unneeded...)
	case p.Verdict != plan.Install: // else it was offered with them
		g.note(unneeded)
	}
	return opts.finish(g, g.unsaid(t.shown(report), p), err)
}

// offer shows a person what is about to be done. What to type next is what was typed.
func (g *globalOptions) offer(p plan.Plan, notes []string) error {
	if g.format() != "table" {
		return nil
	}
	p.Next = nil
	if err := plan.Render(g.err, p, g.color()); err != nil {
		return fmt.Errorf("cannot print: %w", err)
	}
	g.note(notes)
	return nil
}

// note tells a person what no answer depends on.
func (g *globalOptions) note(notes []string) {
	for _, note := range notes {
		fmt.Fprintf(g.err, "note: %s\n", note)
	}
}

// unsaid is a report for a person without the warnings that offer has shown.
func (g *globalOptions) unsaid(r install.RunReport, p plan.Plan) install.RunReport {
	if g.format() == "table" && p.Verdict == plan.Install {
		r.Warnings = slices.DeleteFunc(slices.Clone(r.Warnings), func(w plan.Reason) bool { return slices.Contains(p.Warnings, w) })
	}
	return r
}

// finish shows the report and, where that was asked for, says by the exit code that a reboot is needed.
func (o installOptions) finish(g *globalOptions, report install.RunReport, err error) error {
	if err := g.finish(report, err); err != nil {
		return err
	}
	if o.rebootExitCode && report.RebootRequired {
		return exitError{fault.Reboot}
	}
	return nil
}

// readPlan reads the plan that the user has seen. It is compared, never executed.
func readPlan(path string) (plan.Plan, error) {
	const hint = "write it anew with `rdmactl plan --out`"
	data, err := readRegular(path, maxSmall)
	if err != nil {
		return plan.Plan{}, fault.New(fault.Usage, "faulty-plan", "name a file written by `rdmactl plan --out`", "cannot read plan %s: %w", path, err)
	}
	var p plan.Plan
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return plan.Plan{}, fault.New(fault.Usage, "faulty-plan", hint, "cannot read plan %s:%s", path, jsonProblem(data, dec.InputOffset(), err))
	}
	if _, err := dec.Token(); err != io.EOF {
		return plan.Plan{}, fault.New(fault.Usage, "faulty-plan", hint, "cannot read plan %s:%s: more follows after the plan", path, position(data, dec.InputOffset()))
	}
	if p.Schema != plan.Schema {
		return plan.Plan{}, fault.New(fault.Usage, "faulty-plan", hint, "cannot read plan %s:1:1: schema is %s, not %q", path, plainWord(p.Schema), plan.Schema)
	}
	return p, nil
}

// jsonProblem is "line:column: what is wrong"; read is how far the decoder came.
func jsonProblem(data []byte, read int64, err error) string {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return position(data, syntax.Offset) + ": " + syntax.Error()
	case errors.As(err, &typ):
		return fmt.Sprintf("%s: %s cannot be a %s", position(data, typ.Offset), plainWord(typ.Field), kindWord(typ.Value))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return position(data, int64(len(data))) + ": the file ends before the plan does"
	}
	return position(data, read) + ": " + plainProblem(err)
}

// position is "line:column" of an offset, both from 1.
func position(data []byte, offset int64) string {
	before := data[:min(max(offset, 0), int64(len(data)))]
	line := bytes.Count(before, []byte("\n")) + 1
	return fmt.Sprintf("%d:%d", line, len(before)-bytes.LastIndexByte(before, '\n'))
}

// refuse shows a refused plan: for a person on stderr (on stdout if a dry run asked for it), as data a
// run report with the reasons.
func (g *globalOptions) refuse(p plan.Plan, dryRun bool, notes ...string) error {
	kind := plan.Fault(p).Kind
	if g.format() == "table" {
		out := g.err
		if dryRun {
			out = g.out
		}
		if err := plan.Render(out, p, g.color()); err != nil {
			return fmt.Errorf("cannot print: %w", err)
		}
		for _, note := range notes {
			fmt.Fprintf(out, "note: %s\n", note)
		}
		return exitError{kind}
	}
	report := install.NewReport(install.VerdictRefused)
	report.DryRun = dryRun
	report.Warnings = append(report.Warnings, p.Reasons...)
	report.Notes = append(report.Notes, notes...)
	if err := g.print([]answer{{value: report}}, false); err != nil {
		return err
	}
	return exitError{kind}
}

// finish prints the report of a run and passes its fault on.
func (g *globalOptions) finish(report install.RunReport, err error) error {
	if report.Schema != "" {
		if pErr := g.print([]answer{{value: report, table: func(w io.Writer) error { renderRun(w, report); return nil }}}, false); pErr != nil {
			return errors.Join(err, pErr)
		}
	}
	return err
}

// renderRun is the end of a run for a person.
func renderRun(w io.Writer, r install.RunReport) {
	switch {
	case r.DryRun:
		fmt.Fprintln(w, "dry run: nothing was changed")
	case r.Verdict == install.VerdictNothingToDo && len(r.Notes) > 0:
		// The notes say it.
	case r.Verdict == install.VerdictNothingToDo:
		fmt.Fprintln(w, "nothing to do: the host is as planned")
	case r.RunID == "":
		fmt.Fprintln(w, r.Verdict)
	default:
		fmt.Fprintf(w, "run %s: %s\n", r.RunID, r.Verdict)
	}
	if r.Verify != "" {
		fmt.Fprintf(w, "verification: %s\n", r.Verify)
	}
	if slices.Contains([]string{install.VerdictDone, install.VerdictNothingToDo}, r.Verdict) { // else what they are about has not come
		for _, warning := range r.Warnings {
			fmt.Fprintf(w, "warning: %s (%s)\n", warning.Text, warning.Code)
		}
	}
	for _, note := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", note)
	}
	for _, path := range r.Kept {
		fmt.Fprintf(w, "kept: %s was edited since; it stays as it is\n", path)
	}
	if r.RebootRequired {
		fmt.Fprintln(w, "a reboot is required before it serves; rdmactl never starts one")
	}
	if r.Log != "" {
		fmt.Fprintf(w, "log: %s\n", r.Log)
	}
	switch {
	case r.Verdict == "done" && r.Changed && r.RebootRequired:
		fmt.Fprintln(w, "next: reboot when it suits; `rdmactl history` then shows the verification, `rdmactl rollback` undoes the run")
	case r.Verdict == "done" && r.Changed && r.Root != "":
		fmt.Fprintf(w, "next: it comes into use when the image boots; `rdmactl rollback --root %s` undoes it\n", r.Root)
	case r.Verdict == "done" && r.Changed:
		fmt.Fprintln(w, "next: `rdmactl verify` measures it, `rdmactl rollback` undoes it")
	}
}

// confirm asks before a change. Without a terminal the answer must be given beforehand.
func confirm(g *globalOptions, yes bool, question string) error {
	if yes {
		return nil
	}
	if !g.ask {
		return fault.New(fault.Stopped, "not-confirmed", "add --yes", "cannot ask for confirmation: stdin is not a terminal; nothing was changed")
	}
	fmt.Fprintf(g.err, "%s [y/N] ", question)
	line, err := bufio.NewReader(g.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("cannot read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return fault.New(fault.Stopped, "not-confirmed", "answer y, or add --yes", "stopped: not confirmed; nothing was changed")
}

// progress shows a run while it happens, on stderr. In JSON mode stderr is for the one error object, so
// it is silent there unless -v asks for it.
func (g *globalOptions) progress() install.Progress {
	if g.format() == "json" && !g.verbose {
		return nil
	}
	if f, ok := g.err.(*os.File); ok && g.color() && isTerminal(f) {
		return install.NewTerminal(g.err)
	}
	return install.NewPlain(g.err)
}
