package main

import (
	"fmt"
	"io"

	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/spf13/cobra"
)

func newHistoryPruneCmd(g *globalOptions) *cobra.Command {
	var keep int
	var root string
	cmd := &cobra.Command{
		Use:   "prune --keep N",
		Short: "Forget old runs and what they kept for a rollback",
		Long: `Remove all but the newest N runs, with the packages and files that they kept. A run that is removed can not
be rolled back any more. One that is unfinished, could not be undone or awaits a reboot stays. Repositories that
were unpacked from bundles go as well, if no run that stays and no configured repository uses them. Nothing else
on the host is changed.` +
			exitStatus(0, fault.Failed, fault.Usage, fault.Stopped, fault.Locked),
		Example: "  sudo rdmactl history prune --keep 5",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if keep < 0 {
				return fault.New(fault.Usage, "usage", "say how many runs stay with --keep N, 0 for none", "cannot prune: --keep %d is no number of runs", keep)
			}
			if !cmd.Flags().Changed("keep") {
				return fault.New(fault.Usage, "usage", "say how many runs stay with --keep N", "cannot prune: no number of runs to keep was given")
			}
			t, err := openTarget(root)
			defer t.close()
			if err == nil {
				err = runHistoryPrune(t, keep, g)
			}
			return t.said(err)
		},
	}
	cmd.Flags().IntVar(&keep, "keep", 0, "how many of the newest runs stay, `N`")
	addRootFlag(cmd.Flags(), &root)
	return cmd
}

func runHistoryPrune(t *target, keep int, g *globalOptions) error {
	pruned, err := install.Prune(t.env(), keep)
	if err != nil {
		return err
	}
	return g.print([]answer{{value: pruned, table: func(w io.Writer) error {
		if len(pruned.Runs) == 0 {
			fmt.Fprintln(w, "nothing to remove")
		} else {
			fmt.Fprintf(w, "removed %d runs, %d MiB\n", len(pruned.Runs), pruned.Bytes>>20)
		}
		for _, id := range pruned.Kept {
			fmt.Fprintf(w, "run %s stays: something is still to be done with it, see `rdmactl history`\n", id)
		}
		return nil
	}}}, false)
}
