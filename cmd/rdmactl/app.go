package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/spf13/cobra"
)

// streams are the process' ends: data goes to out, everything else to err.
type streams struct {
	in       io.Reader
	out      io.Writer
	err      io.Writer
	terminal bool   // out is a terminal
	ask      bool   // in is a terminal, so a question can be answered
	noColor  bool   // NO_COLOR
	etc      string // the directory of rdmactl's configuration; empty: none is read
}

// globalOptions are the flags that mean the same in every command.
type globalOptions struct {
	streams
	output  string // table, json or yaml
	json    bool
	plain   bool // --no-color
	verbose bool
	lines   bool // answers are printed as those of several hosts, see sourceOptions.each
}

func (g *globalOptions) color() bool { return g.terminal && !g.noColor && !g.plain }

// format settles -o and --json.
func (g *globalOptions) format() string {
	if g.json {
		return "json"
	}
	return g.output
}

// run is the whole program with its exit code.
func run(ctx context.Context, args []string, std streams) int {
	g := &globalOptions{streams: std}
	out := &errorKeeper{w: std.out}
	if _, isFile := std.out.(*os.File); isFile {
		g.out = out
	}
	root := newRootCmd(g)
	root.SetArgs(args)
	root.SetIn(std.in)
	root.SetOut(g.out)
	root.SetErr(std.err)
	_, err := root.ExecuteContextC(ctx)
	if out.err != nil {
		err = fault.New(fault.Failed, "cannot-write", "see where the output goes", "cannot write to stdout: %w", cause(out.err))
	}
	return report(g, args, usageError(root, err))
}

func newRootCmd(g *globalOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rdmactl",
		Short: "From a ConnectX card in the host to RDMA that works, with the measurement",
		Long: `rdmactl detects kernel, distribution and hardware, plans an RDMA stack for them, installs it as a
transaction that can be rolled back, and verifies it with verbs traffic on the real device.

Start with "rdmactl plan": it needs no root and changes nothing.` + exitStatus(allExits()...),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			if g.json && cmd.Flags().Changed("output") && g.output != "json" {
				return fault.New(fault.Usage, "usage", "give one of them", "cannot print two formats: --json and -o %s were both given", g.output)
			}
			if err := notEmpty(cmd, args); err != nil {
				return err
			}
			switch g.format() {
			case "table", "json", "yaml":
				return nil
			}
			return fault.New(fault.Usage, "usage", "the formats are table, json and yaml",
				"cannot print as %q: unknown output format", g.output)
		},
	}
	cmd.DisableAutoGenTag = true
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fault.New(fault.Usage, "usage", "see `"+c.CommandPath()+" --help`", "cannot read the command line: %s", flagError(err))
	})
	flags := cmd.PersistentFlags()
	flags.StringVarP(&g.output, "output", "o", "table", "print as `FORMAT`: table, json or yaml")
	flags.BoolVar(&g.json, "json", false, "short for -o json")
	flags.BoolVar(&g.plain, "no-color", false, "no colour (also: NO_COLOR in the environment)")
	flags.BoolVarP(&g.verbose, "verbose", "v", false, "say on stderr which commands the host is asked")
	cmd.AddGroup(
		&cobra.Group{ID: "main", Title: "The main job:"},
		&cobra.Group{ID: "around", Title: "Around it:"},
	)
	cmd.AddCommand(
		newDetectCmd(g), newPlanCmd(g), newInstallCmd(g), newVerifyCmd(g), newRollbackCmd(g), newUninstallCmd(g), newHistoryCmd(g),
		newRunCmd(g), newEnvCmd(g), newUseCmd(g), newBundleCmd(g),
		newExplainCmd(g), newProfilesCmd(g), newMatrixCmd(g), newVersionCmd(g), newCompletionCmd(g),
	)
	cmd.SetHelpCommandGroupID("around")
	return cmd
}

// noArgs refuses arguments with a usage fault.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fault.New(fault.Usage, "usage", "see `"+cmd.CommandPath()+" --help`",
			"cannot read the command line: unexpected argument %q", args[0])
	}
	return nil
}

// errorKeeper remembers the first error of a writer, so that no answer is lost without a word.
type errorKeeper struct {
	w   io.Writer
	err error
}

func (k *errorKeeper) Write(p []byte) (int, error) {
	n, err := k.w.Write(p)
	if k.err == nil {
		k.err = err
	}
	return n, err
}

// flagError words pflag's errors without the functions of the standard library that found them.
func flagError(err error) string {
	text, _, found := strings.Cut(err.Error(), ": strconv.")
	if found {
		text += ": not a number"
	}
	return text
}

// usageError turns cobra's own complaints (unknown command) into usage faults.
func usageError(root *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	if strings.HasPrefix(err.Error(), "unknown command") {
		hint := "see `rdmactl --help`"
		if parts := strings.Split(err.Error(), `"`); len(parts) > 1 {
			root.SuggestionsMinimumDistance = 2
			if close := root.SuggestionsFor(parts[1]); len(close) > 0 {
				hint = "did you mean `rdmactl " + close[0] + "`? " + hint
			}
		}
		return fault.New(fault.Usage, "usage", hint, "cannot read the command line: %w", err)
	}
	return err
}
