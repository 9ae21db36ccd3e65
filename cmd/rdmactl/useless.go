package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// notEmpty refuses flags and arguments that are given and empty: mostly variables of a script that were never set.
// What a command runs as another program's arguments is none of this one's matter.
func notEmpty(cmd *cobra.Command, args []string) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		empty := false
		switch v := f.Value.(type) {
		case pflag.SliceValue:
			list := v.GetSlice()
			empty = len(list) == 0 || slices.Contains(list, "")
		default:
			empty = v.Type() == "string" && v.String() == ""
		}
		if empty && err == nil {
			err = fault.New(fault.Usage, "usage", "give it a value, or leave it away", "cannot use --%s: it is empty", f.Name)
		}
	})
	if err == nil && cmd.Name() != "run" && slices.Contains(args, "") {
		err = fault.New(fault.Usage, "usage", "give it a value, or leave it away", "cannot read the command line: an argument is empty")
	}
	return err
}

// resumeAlone refuses flags beside --resume that would not count: the run has its plan, and is not a dry one.
func resumeAlone(f *pflag.FlagSet) error {
	with := []string{"resume", "root", "yes", "on-verify-failure", "allow-remove", "reboot-exit-code", "output", "json", "no-color", "verbose"}
	var err error
	f.Visit(func(one *pflag.Flag) {
		switch {
		case err != nil || slices.Contains(with, one.Name):
		case one.Name == "dry-run":
			err = fault.New(fault.Usage, "usage", "`rdmactl history` shows the run; leave --dry-run away to continue it", "cannot resume without changing anything: --dry-run was given")
		default:
			err = fault.New(fault.Usage, "usage", "give --resume alone: the run has its plan", "cannot resume with another wish: --%s was given", one.Name)
		}
	})
	return err
}

// takesNothing refuses a source that the stack does not take anything from. The distribution's own packages come from
// the repositories that the host has configured.
func (o *wishOptions) takesNothing() error {
	if o.source == "" {
		return nil
	}
	const hint = "leave --source away, or name the stack that comes from it with --stack; repositories of the distribution are the host's own to configure"
	if o.stack == "inbox" {
		return fault.New(fault.Usage, "usage", hint, "cannot use --source %s: stack inbox is the distribution's own packages", o.source)
	}
	if o.stack != "" || o.profile == "" {
		return nil
	}
	p, err := openProfile(newLibrary(o.etc), o.profile)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(p.Prefer, func(stack string) bool { return stack != "inbox" }) {
		return fault.New(fault.Usage, "usage", hint, "cannot use --source %s: profile %s is for the distribution's own packages", o.source, p.Name)
	}
	return nil
}

// useless refuses a key that nothing is verified with. A vendor's stack may come from the vendor's own address without
// --source, and a host that has all of it already is told so whatever is given: the second run of a command is as good
// as the first.
func (o *wishOptions) useless(p plan.Plan) error {
	if len(o.keys) == 0 || o.source != "" || p.Verdict != plan.Install {
		return nil
	}
	if slices.ContainsFunc(p.Steps, func(s plan.Step) bool {
		return s.Changes.Repository != nil || s.Changes.Build != nil || s.Kind == plan.KindVendorScript
	}) {
		return nil
	}
	return fault.New(fault.Usage, "usage", "name what it proves with --source, or leave --key away",
		"cannot use --key %s: nothing of the plan comes from a source that it could verify", strings.Join(o.keys, ", "))
}

// unneeded are flags of an install that change nothing although they may stay, one note each: a script gives them
// always.
func (o *installOptions) unneeded(ctx context.Context, env install.Env, p plan.Plan) ([]string, error) {
	var notes []string
	if p.Verdict == plan.NothingToDo {
		for _, one := range []struct {
			flag  string
			given bool
		}{{"--module-key", o.moduleKey.key != ""}, {"--key", len(o.keys) > 0}, {"--allow-remove", len(o.allowRemove) > 0}} {
			if one.given {
				notes = append(notes, one.flag+" is not needed: there is nothing to do")
			}
		}
		return notes, nil
	}
	unknown, err := notInstalled(ctx, env, p, o.allowRemove)
	return append(notes, unknown...), err
}

// notInstalled warns of packages that may be removed and are not there, such as those that are misspelt.
func notInstalled(ctx context.Context, env install.Env, p plan.Plan, names []string) ([]string, error) {
	if len(names) == 0 || p.Verdict != plan.Install {
		return nil, nil
	}
	unknown, err := install.NotInstalled(ctx, env, p, names)
	if err != nil || len(unknown) == 0 {
		return nil, err
	}
	return []string{fmt.Sprintf("--allow-remove %s: no package of that name is installed", strings.Join(unknown, ","))}, nil
}
