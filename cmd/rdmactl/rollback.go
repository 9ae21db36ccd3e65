package main

import (
	"context"

	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/spf13/cobra"
)

func newRollbackCmd(g *globalOptions) *cobra.Command {
	var root string
	cmd := &cobra.Command{
		Use:     "rollback [RUN]",
		GroupID: "main",
		Short:   "Undo a run: packages, files, modules and services as they were before",
		Long: `Undo the latest run, or the one named. A file that was edited since is kept and named; what the file was
before is laid beside it as NAME.rdmactl-old. Packages that others installed since and that need what
would go stop the rollback before anything changes. The command is its own consent: nothing is asked.` +
			exitStatus(0, fault.Failed, fault.Usage, fault.Stopped, fault.Locked, fault.Interrupted),
		Example: "  sudo rdmactl rollback\n  sudo rdmactl rollback 20261130T061541Z-4f2a",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := openTarget(root)
			defer t.close()
			if err == nil {
				err = runRollback(cmd.Context(), args, t, g)
			}
			return t.said(err)
		},
	}
	addRootFlag(cmd.Flags(), &root)
	return cmd
}

func runRollback(ctx context.Context, args []string, t *target, g *globalOptions) error {
	opts := install.RollbackOptions{Progress: g.progress()}
	switch len(args) {
	case 0:
	case 1:
		opts.Run = args[0]
	default:
		return fault.New(fault.Usage, "usage", "`rdmactl history` lists the runs", "cannot roll back %d runs at once", len(args))
	}
	report, err := install.Rollback(ctx, t.env(), opts)
	return g.finish(t.shown(report), err)
}
