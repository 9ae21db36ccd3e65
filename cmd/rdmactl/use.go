package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/install/build"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/sidebyside"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/spf13/cobra"
)

type useOptions struct {
	root            string
	unit            string
	keepDrivers     bool
	yes             bool
	dryRun          bool
	onVerifyFailure string
}

func newUseCmd(g *globalOptions) *cobra.Command {
	opts := &useOptions{}
	cmd := &cobra.Command{
		Use:     "use [rdma-core[@VERSION] | inbox]",
		GroupID: "around",
		Short:   "Show or switch the stack that programs get by default",
		Long: `Without an argument, show which verbs libraries are on the host and which one programs get by default: what
the loader's cache (ldconfig -p) has decides.

With one, switch the default to a build of rdma-core that is there, or back to the distribution's own, as a
transaction: the loader's configuration and the PATH of those who log in are written, traffic is sent, and
"rdmactl rollback" undoes it. What runs keeps what it has loaded until it is started again.

With --unit one service is switched, by a drop-in of systemd, and the default stays. The service is not restarted.` +
			exitStatus(0, fault.Failed, fault.Usage, fault.Stopped, fault.Unhealthy, fault.RolledBack, fault.Locked, fault.Interrupted),
		Example: "  rdmactl use\n  sudo rdmactl use rdma-core@65.0\n  sudo rdmactl use inbox --yes\n  sudo rdmactl use rdma-core@65.0 --unit slurmd.service",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := openTarget(opts.root)
			defer t.close()
			if err == nil {
				err = runUse(cmd.Context(), *opts, args, t, g)
			}
			return t.said(err)
		},
	}
	f := cmd.Flags()
	addRootFlag(f, &opts.root)
	f.StringVar(&opts.unit, "unit", "", "switch this `SERVICE` alone, by a systemd drop-in")
	f.BoolVar(&opts.keepDrivers, "keep-drivers", false, "with --unit, leave IBV_DRIVERS and RDMAV_DRIVERS as they are")
	f.BoolVar(&opts.dryRun, "dry-run", false, "show what would be done and change nothing")
	f.BoolVarP(&opts.yes, "yes", "y", false, "do not ask; needed without a terminal")
	f.StringVar(&opts.onVerifyFailure, "on-verify-failure", "auto", "when the verification fails: rollback, keep, or auto (rollback if the host passed before)")
	return cmd
}

func runUse(ctx context.Context, opts useOptions, args []string, t *target, g *globalOptions) error {
	switch {
	case !slices.Contains([]string{"auto", "rollback", "keep"}, opts.onVerifyFailure):
		return fault.New(fault.Usage, "usage", "it is auto, rollback or keep", "cannot use --on-verify-failure %q", opts.onVerifyFailure)
	case len(args) > 1:
		return fault.New(fault.Usage, "usage", "name one stack", "cannot use %d stacks at once", len(args))
	case len(args) == 0 && (opts.unit != "" || opts.yes || opts.dryRun):
		return fault.New(fault.Usage, "usage", "name rdma-core@VERSION or inbox; `rdmactl use` alone shows what is there", "cannot switch the stack: none is named")
	}
	var wish sidebyside.Wish
	var err error
	if len(args) == 1 {
		if wish, err = sidebyside.ParseWish(args[0]); err != nil {
			return err
		}
	}
	env := t.env()
	h, err := buildHostOf(env)
	if err != nil {
		return err
	}
	if len(args) == 1 && os.Geteuid() == 0 && !opts.dryRun {
		if err := install.Ready(env); err != nil {
			return err
		}
	}
	here, err := t.source(ctx, g)
	if err != nil {
		return err
	}
	all, err := sidebyside.Look(ctx, here.reader, &here.facts.Userspace)
	if err != nil {
		return err
	}
	native := sidebyside.Native()
	if t.image != nil {
		native = "" // an image may be of another machine's kind
	}
	if len(args) == 0 {
		return g.one(showUse(here, h, all, native))
	}
	p, err := opts.plan(ctx, wish, h, here, all, native, g)
	if err != nil {
		return err
	}
	return opts.carryOut(ctx, wish, p, t, g)
}

// useHost is what use works on.
type useHost interface {
	build.Host
	sidebyside.ProgramHost
}

func buildHostOf(env install.Env) (useHost, error) {
	h, ok := env.Host.(useHost)
	if !ok {
		return nil, errors.New("cannot look into builds on this kind of host")
	}
	return h, nil
}

// chosen finds and checks a stack among those that are there.
func chosen(h build.Host, all sidebyside.Copies, wish sidebyside.Wish, native string) (side, error) {
	c, err := all.Choose(wish)
	if err != nil {
		return side{}, err
	}
	if err := c.Check(native); err != nil {
		return side{}, err
	}
	made, err := sidebyside.Intact(h, c)
	return side{c, all, made}, err
}

// plan makes the plan of the switch.
func (o useOptions) plan(ctx context.Context, wish sidebyside.Wish, h useHost, here source, all sidebyside.Copies, native string, g *globalOptions) (plan.Plan, error) {
	if o.unit != "" {
		return o.planUnit(ctx, wish, h, here.facts, all, native, g)
	}
	if wish.Stack == "inbox" && all.Inbox == nil {
		return plan.Use(here.facts, wish.Stack, "") // it may be in place, although there is nothing
	}
	side, err := chosen(h, all, wish, native)
	if err != nil {
		return plan.Plan{}, err
	}
	if wish.Stack != "inbox" && !side.made {
		return plan.Plan{}, fault.New(fault.Stopped, "not-built-by-rdmactl",
			"`rdmactl run` and `rdmactl env` can use it; to make it the default name "+side.copy.Dir()+" in a file of /etc/ld.so.conf.d that comes first, and run ldconfig",
			"cannot make %s the default: %s has no manifest of rdmactl, so what belongs to it is not known", side.copy.Name(), side.copy.Prefix)
	}
	version := wish.Version
	if side.copy.Prefix != "" {
		version = side.copy.Prefix // exactly the one that was checked
	}
	return plan.Use(here.facts, wish.Stack, version)
}

func (o useOptions) planUnit(ctx context.Context, wish sidebyside.Wish, h useHost, f facts.Facts, all sidebyside.Copies, native string, g *globalOptions) (plan.Plan, error) {
	unit, err := sidebyside.Unit(o.unit)
	if err != nil {
		return plan.Plan{}, err
	}
	if wish.Stack == "inbox" && (all.Inbox == nil || all.IsDefault(*all.Inbox)) {
		return plan.UseUnit(f, "inbox", unit, "") // the default is what is wished for
	}
	side, err := chosen(h, all, wish, native)
	if err != nil {
		return plan.Plan{}, err
	}
	made, err := unitDropIn(ctx, h, side, unit, o.keepDrivers, g)
	if err != nil {
		return plan.Plan{}, err
	}
	return plan.UseUnit(f, side.copy.Name(), unit, made.Content)
}

// carryOut runs the plan as install does.
func (o useOptions) carryOut(ctx context.Context, wish sidebyside.Wish, p plan.Plan, t *target, g *globalOptions) error {
	env := t.env()
	switch {
	case o.dryRun:
		out := g.out
		if g.format() != "table" {
			out = io.Discard // the report has it all
		}
		if err := plan.RenderUse(out, p, g.color()); err != nil {
			return err
		}
		if p.Verdict == plan.NothingToDo && g.format() == "table" {
			return nil // it is said
		}
		report, err := install.DryRun(ctx, t.dryEnv(), p, nil, out)
		if g.format() == "table" {
			return err
		}
		return g.finish(report, err)
	case p.Verdict == plan.Install:
		if err := install.Ready(env); err != nil { // before the question, not after
			return err
		}
		if g.format() == "table" {
			if err := plan.RenderUse(g.err, p, g.color()); err != nil {
				return err
			}
		}
		if err := confirm(g, o.yes, "Do this?"); err != nil {
			return err
		}
		if t.image != nil {
			if err := t.image.Prepare(); err != nil {
				return err
			}
			env = t.env()
		}
	}
	request, err := json.Marshal(map[string]string{"command": "use", "stack": wish.Stack, "version": wish.Version, "unit": o.unit})
	if err != nil {
		return fmt.Errorf("cannot keep the request: %w", err)
	}
	report, err := install.Start(ctx, env, p, install.Options{OnVerifyFailure: o.onVerifyFailure, Request: request, Progress: g.progress()})
	if report.Verdict == install.VerdictNothingToDo {
		report.Notes = append(report.Notes, p.Summary)
	}
	if err == nil && report.Verdict != install.VerdictNothingToDo {
		report.Notes = append(report.Notes, keeps(p))
	}
	return g.finish(t.shown(report), err)
}

// keeps says what a switch does not do.
func keeps(p plan.Plan) string {
	if len(p.Next) > 0 {
		return p.Next[0].Text + ": `" + p.Next[0].Command + "`"
	}
	return "programs and services that run keep what they have loaded until they are started again, and shells keep their PATH"
}
