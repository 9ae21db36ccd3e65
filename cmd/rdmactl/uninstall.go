package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/install/build"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type uninstallOptions struct {
	etc             string // where profiles of one's own are, see streams
	root            string
	kernel          string
	toProfile       string
	dryRun          bool
	yes             bool
	allowRemove     []string
	onVerifyFailure string
}

func (o *uninstallOptions) addFlags(f *pflag.FlagSet) {
	addRootFlag(f, &o.root)
	f.StringVar(&o.kernel, "kernel", "", "the kernel `RELEASE` of the image; needed where it has several")
	f.StringVar(&o.toProfile, "to-profile", "inbox", "what the host is set up for afterwards, on the distribution's stack: `NAME` of a profile, or none for nothing")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be done, with the package manager's own answer, and change nothing")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask; needed without a terminal")
	f.StringSliceVar(&o.allowRemove, "allow-remove", nil, "`PACKAGE` of others that may be removed (may be repeated)")
	f.StringVar(&o.onVerifyFailure, "on-verify-failure", "auto", "when the verification fails: rollback, keep, or auto (rollback if the host passed before)")
}

func newUninstallCmd(g *globalOptions) *cobra.Command {
	opts := &uninstallOptions{etc: g.etc}
	cmd := &cobra.Command{
		Use:     "uninstall",
		GroupID: "main",
		Short:   "Take a vendor's stack or a build away and leave the distribution's own",
		Long: `Take away what is on the host beside the distribution's own stack, whoever installed it: the packages of
MLNX_OFED or DOCA-OFED, also of an installation that was cut off, and builds of rdma-core that rdmactl made. Of each
package that goes the distribution's version takes the place, however low its number is, or none where the
distribution has none. Packages of others that depend on what goes stop the command before anything changes.

All that comes and all that goes is kept first, so "rdmactl rollback" gives back the host as it was. Where rdmactl
itself installed the stack in its last run, "rdmactl rollback" of that run is the shorter way.` +
			exitStatus(0, fault.Failed, fault.Usage, fault.Refused, fault.Stopped, fault.Unhealthy, fault.RolledBack, fault.Locked, fault.Interrupted),
		Example: "  rdmactl uninstall --dry-run\n  sudo rdmactl uninstall\n  sudo rdmactl uninstall --to-profile none --yes\n  sudo rdmactl uninstall --root /srv/images/compute --yes",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := openTarget(opts.root)
			defer t.close()
			if err == nil {
				err = runUninstall(cmd.Context(), *opts, t, g)
			}
			return t.said(err)
		},
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

func runUninstall(ctx context.Context, opts uninstallOptions, t *target, g *globalOptions) error {
	if !slices.Contains([]string{"auto", "rollback", "keep"}, opts.onVerifyFailure) {
		return fault.New(fault.Usage, "usage", "it is auto, rollback or keep", "cannot use --on-verify-failure %q", opts.onVerifyFailure)
	}
	env := t.env()
	if os.Geteuid() == 0 { // others cannot look
		if err := install.Ready(env); err != nil {
			return err
		}
	}
	p, err := opts.plan(ctx, env, t, g)
	if err != nil {
		return err
	}
	if err := install.Able(p); err != nil {
		return err
	}
	notes := shorterWay(p, env, opts.root)
	unknown, err := notInstalled(ctx, env, p, opts.allowRemove)
	if err != nil {
		return err
	}
	notes = append(notes, unknown...)
	switch {
	case p.Verdict == plan.Refuse:
		return g.refuse(p, opts.dryRun)
	case opts.dryRun:
		return opts.show(ctx, p, notes, t, g)
	case p.Verdict == plan.Install:
		if err := install.Ready(env); err != nil { // before the question, not after
			return err
		}
		if err := g.offer(p, notes); err != nil {
			return err
		}
		if err := confirm(g, opts.yes, "Take this away?"); err != nil {
			return err
		}
		if t.image != nil {
			if err := t.image.Prepare(); err != nil {
				return err
			}
			env = t.env()
		}
	}
	request, err := json.Marshal(map[string]string{"command": "uninstall", "to_profile": opts.toProfile})
	if err != nil {
		return fmt.Errorf("cannot keep the request: %w", err)
	}
	report, err := install.Start(ctx, env, p, install.Options{
		OnVerifyFailure: opts.onVerifyFailure, AllowRemove: opts.allowRemove, Request: request, Progress: g.progress(),
	})
	if report.Verdict == install.VerdictNothingToDo {
		report.Notes = append(report.Notes, p.Summary)
	}
	return g.finish(g.unsaid(t.shown(report), p), err)
}

// plan reads the host and plans.
func (o uninstallOptions) plan(ctx context.Context, env install.Env, t *target, g *globalOptions) (plan.Plan, error) {
	wish := wishOptions{etc: o.etc, stack: "inbox", profile: o.toProfile}
	nothing := o.toProfile == plan.NoProfile
	if nothing {
		wish.profile = "inbox"
	}
	if os.Geteuid() == 0 {
		var err error
		if wish.own, err = install.OwnHolds(env.Paths); err != nil {
			return plan.Plan{}, err
		}
	}
	if err := t.settle(&wish, o.kernel); err != nil {
		return plan.Plan{}, err
	}
	here, err := t.source(ctx, g)
	if err != nil {
		return plan.Plan{}, err
	}
	if here.facts.Distro.ID.IsAbsent() || here.facts.Distro.ID.IsUnknown() {
		return plan.Plan{}, fault.New(fault.Stopped, "distribution-not-told", "name the directory of a root file system with --root; /etc/os-release says what it is",
			"cannot tell what is to be uninstalled: nothing says which distribution this is")
	}
	known, err := wish.loadMatrix()
	if err != nil {
		return plan.Plan{}, err
	}
	req, profile, err := wish.wish(here, o.kernel)
	if err != nil {
		return plan.Plan{}, err
	}
	if nothing {
		req.Profile, profile = plan.NoProfile, plan.Nothing()
	}
	if !slices.Contains(profile.Prefer, "inbox") || profile.SoftRoCE != nil {
		return plan.Plan{}, fault.New(fault.Usage, "usage", "name a profile for the distribution's stack, such as inbox, or none",
			"cannot uninstall to profile %s: it is not one for the distribution's own stack", plainWord(profile.Name))
	}
	profile.Prefer = []string{"inbox"}
	builds, err := ownBuilds(env, here.facts.Userspace.Built)
	if err != nil {
		return plan.Plan{}, err
	}
	if err := unitsOf(here, builds); err != nil {
		return plan.Plan{}, err
	}
	return plan.Uninstall(here.facts, profile, known, req, builds)
}

// ownBuilds are the builds of rdma-core that have a manifest of rdmactl: nobody else's are removed.
func ownBuilds(env install.Env, all facts.Field[[]facts.BuiltLibrary]) ([]facts.BuiltLibrary, error) {
	if len(all.Or(nil)) == 0 {
		return nil, nil
	}
	h, err := buildHostOf(env)
	if err != nil {
		return nil, err
	}
	var out []facts.BuiltLibrary
	for _, one := range all.Value {
		placed, err := build.Read(h, one.Prefix)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fault.New(fault.Stopped, "build-not-intact", "look at what is in there, and remove it by hand if it is to go", "cannot uninstall the build in %s: %w", one.Prefix, err)
		case placed.Manifest.Prefix == one.Prefix:
			out = append(out, one)
		}
	}
	return out, nil
}

// unitsOf stops for services that have one of the builds as their own: they would not start again without it.
func unitsOf(here source, builds []facts.BuiltLibrary) error {
	var units []string
	for file := range here.facts.Managed.Or(nil) {
		unit := strings.TrimSuffix(path.Base(path.Dir(file)), ".d")
		if file != plan.UnitDropIn(unit) {
			continue
		}
		text, err := here.reader.ReadFile(file)
		if err != nil {
			return fmt.Errorf("cannot read %s: %w", file, err)
		}
		if slices.ContainsFunc(builds, func(b facts.BuiltLibrary) bool { return strings.Contains(string(text), b.Prefix+"/") }) {
			units = append(units, unit)
		}
	}
	if len(units) == 0 {
		return nil
	}
	slices.Sort(units)
	return fault.New(fault.Stopped, "build-in-use", "`rdmactl use inbox --unit "+units[0]+"` gives it the distribution's library",
		"cannot uninstall the build: it is what %s is set to use by a drop-in", strings.Join(units, ", "))
}

// shorterWay says that the run which brought the stack can be taken back instead.
func shorterWay(p plan.Plan, env install.Env, root string) []string {
	if p.Verdict != plan.Install {
		return nil
	}
	id, err := install.Installer(env.Paths, []string{"mlnx-ofed", "doca-ofed", "ofed", "rdma-core"})
	if err != nil || id == "" {
		return nil // runs are for root to read, and this is a hint only
	}
	back := "rdmactl rollback"
	if root != "" {
		back += " --root " + root
	}
	return []string{"run " + id + " has installed a stack here and is the last one: `" + back + "` gives back exactly what was before it"}
}

// show is the dry run.
func (o uninstallOptions) show(ctx context.Context, p plan.Plan, notes []string, t *target, g *globalOptions) error {
	out := g.out
	if g.format() != "table" {
		out = io.Discard // the report has it all
	}
	if err := plan.Render(out, p, g.color()); err != nil {
		return fmt.Errorf("cannot print: %w", err)
	}
	for _, note := range notes {
		fmt.Fprintf(out, "note: %s\n", note)
	}
	report, err := install.DryRun(ctx, t.dryEnv(), p, o.allowRemove, out)
	if g.format() == "table" {
		return err
	}
	report.Notes = append(report.Notes, notes...)
	return g.finish(report, err)
}
