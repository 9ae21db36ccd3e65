package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/spf13/cobra"
)

func newExplainCmd(g *globalOptions) *cobra.Command {
	return &cobra.Command{
		Use:     "explain [CODE]",
		GroupID: "around",
		Short:   "Say what a code of a plan, a verification or an error means, and what to do",
		Long:    "Say what a code in a plan, a verification or an error (the `code` of -o json) means, and what to do about it. Without\nCODE all are listed." + exitStatus(0, fault.Usage),
		Example: "  rdmactl explain no-rdma-hardware",
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			return runExplain(args, g)
		},
	}
}

func runExplain(args []string, g *globalOptions) error {
	codes := facts.Codes()
	if len(args) > 1 {
		return fault.New(fault.Usage, "usage", "give one code", "cannot explain %d codes at once", len(args))
	}
	if len(args) == 1 {
		c, ok := facts.LookupCode(strings.ToLower(args[0]))
		if !ok {
			return fault.New(fault.Usage, "unknown-code", "`rdmactl explain` lists the codes", "cannot explain %q: no such code", args[0])
		}
		codes = []facts.Code{c}
	}
	value := struct {
		Schema string       `json:"schema"`
		Codes  []facts.Code `json:"codes"`
	}{"rdmactl.codes/v1", codes}
	return g.print([]answer{{value: value, table: func(w io.Writer) error {
		for i, c := range codes {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%s\n  means: %s\n  to do: %s\n", c.Code, c.Summary, c.Remedy)
		}
		return nil
	}}}, false)
}
