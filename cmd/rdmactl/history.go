package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type historyOptions struct {
	follow bool
	root   string
}

func (o *historyOptions) addFlags(f *pflag.FlagSet) {
	addRootFlag(f, &o.root)
	f.BoolVarP(&o.follow, "follow", "f", false, "show a run, the latest or the one named, until it has ended")
}

func newHistoryCmd(g *globalOptions) *cobra.Command {
	opts := &historyOptions{}
	cmd := &cobra.Command{
		Use:     "history [RUN]",
		GroupID: "main",
		Short:   "List the runs, or follow one",
		Long: `List the runs on this host, newest first, with how each ended. With --follow the steps of a run are shown
as they happen, also for a run whose terminal is gone. The exit code is then the one that the run's own command ended
with, also for a run that has ended long ago: 0 for one that is done or was rolled back on demand, 4 for one that was
stopped, 6 for one that failed and was rolled back. Without --follow it says nothing about the runs.` +
			exitStatus(0, fault.Failed, fault.Usage, fault.Refused, fault.Stopped, fault.Unhealthy, fault.RolledBack, fault.Interrupted),
		Example: "  rdmactl history\n  rdmactl history --follow",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := openTarget(opts.root)
			defer t.close()
			if err == nil {
				err = runHistory(cmd.Context(), *opts, args, t, g)
			}
			return t.said(err)
		},
	}
	opts.addFlags(cmd.Flags())
	cmd.AddCommand(newHistoryPruneCmd(g))
	return cmd
}

func runHistory(ctx context.Context, opts historyOptions, args []string, t *target, g *globalOptions) error {
	var id string
	switch {
	case len(args) == 1:
		id = args[0]
	case len(args) > 1:
		return fault.New(fault.Usage, "usage", "give one run", "cannot show %d runs at once", len(args))
	}
	if opts.follow {
		report, err := install.Follow(ctx, t.env().Paths, id, g.progress())
		return g.finish(t.shown(report), ofRun(report, err))
	}
	runs, err := install.History(t.env().Paths)
	if err != nil {
		return err
	}
	if id != "" {
		runs = only(runs, id)
		if len(runs) == 0 {
			return fault.New(fault.Usage, "no-such-run", "`rdmactl history` lists the runs", "cannot show run %s: there is no such run", id)
		}
	}
	value := struct {
		Schema string            `json:"schema"`
		Runs   []install.RunInfo `json:"runs"`
	}{"rdmactl.history/v1", runs}
	if value.Runs == nil {
		value.Runs = []install.RunInfo{}
	}
	return g.print([]answer{{value: value, table: func(w io.Writer) error { return renderHistory(w, runs) }}}, false)
}

// ofRun says that what went wrong did so in the run that was followed, and not in the following. The exit code stays
// the run's.
func ofRun(report install.RunReport, err error) error {
	var f *fault.Error
	if report.RunID == "" || !errors.As(err, &f) || strings.Contains(f.Msg, report.RunID) {
		return err
	}
	return fault.New(f.Kind, f.Code, f.Hint, "run %s: %w", report.RunID, err)
}

func only(runs []install.RunInfo, id string) []install.RunInfo {
	for _, r := range runs {
		if r.ID == id {
			return []install.RunInfo{r}
		}
	}
	return nil
}

func renderHistory(w io.Writer, runs []install.RunInfo) error {
	if len(runs) == 0 {
		_, err := fmt.Fprintln(w, "no runs on this host")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "RUN\tSTATE\tSTARTED\tSTEPS\tWHAT")
	for _, r := range runs {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\n", r.ID, r.State, r.Started.Local().Format(time.DateTime), r.Steps, r.Summary)
		if r.Note != "" {
			fmt.Fprintf(t, "\t\t\t\t%s\n", r.Note)
		}
	}
	return t.Flush()
}
