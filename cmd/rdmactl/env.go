package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/sidebyside"
	"github.com/spf13/cobra"
)

type envOptions struct {
	stackOptions
	shell string
	unset bool
	unit  string
}

const environmentSchema = "rdmactl.env/v1"

// environment is the JSON form of what env prints.
type environment struct {
	Schema string `json:"schema"`
	// Stack is as --stack names it, empty with --unset.
	Stack      string   `json:"stack"`
	Version    string   `json:"version"`
	Prefix     string   `json:"prefix"` // of a build; empty for the distribution's own
	Library    string   `json:"library"`
	PrivateABI int      `json:"private_abi"` // 0 for a library that has none, and with --unset
	Providers  []string `json:"providers"`
	// Set and Unset are the variables that differ from the environment of the call.
	Set   map[string]string `json:"set"`
	Unset []string          `json:"unset"`
}

func newEnvCmd(g *globalOptions) *cobra.Command {
	opts := &envOptions{}
	cmd := &cobra.Command{
		Use:     "env --stack STACK | --unset",
		GroupID: "around",
		Short:   "Print the environment that gives a shell or a service one stack's own library",
		Long: `Print what a shell evaluates so that all it starts gets the library, the providers and the programs of one
stack, as "rdmactl run" does for one program. It can be evaluated again for another stack; --unset goes back and
leaves alone what was added to PATH since.

With --unit the drop-in is printed that gives a service its own stack; "rdmactl use STACK --unit NAME" installs it.` +
			exitStatus(0, fault.Failed, fault.Usage, fault.Stopped),
		Example: "  eval \"$(rdmactl env --stack rdma-core@65.0)\"\n  eval \"$(rdmactl env --unset)\"\n  rdmactl env --shell fish --stack inbox | source\n" +
			"  eval `rdmactl env --shell csh --stack inbox`\n  rdmactl env --unit slurmd --stack rdma-core@65.0",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runEnv(cmd.Context(), *opts, g)
		},
	}
	opts.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&opts.shell, "shell", "sh", "the `SHELL` that evaluates it: sh, bash, dash, ksh, zsh, fish, csh or tcsh")
	f.BoolVar(&opts.unset, "unset", false, "go back to the environment before")
	f.StringVar(&opts.unit, "unit", "", "print the systemd drop-in for this `SERVICE` instead")
	return cmd
}

func runEnv(ctx context.Context, opts envOptions, g *globalOptions) error {
	if opts.unset && (opts.stack != "" || opts.unit != "") {
		return fault.New(fault.Usage, "usage", "give --unset alone", "cannot go back and to a stack at once")
	}
	if _, err := sidebyside.Script(nil, opts.shell); err != nil {
		return err
	}
	before := os.Environ()
	if opts.unset {
		return printEnvironment(g, environment{}, sidebyside.Changes(before, sidebyside.Back(before)), opts.shell)
	}
	side, err := opts.choose(ctx, g)
	if err != nil {
		return err
	}
	if opts.unit != "" {
		return runEnvUnit(ctx, opts, side, g)
	}
	after := sidebyside.Enter(before, side.copy, side.all, opts.options(before, side.all))
	c := side.copy
	doc := environment{Stack: c.Name(), Version: c.Version, Prefix: c.Prefix, Library: c.Library, PrivateABI: c.Facts.PrivateABI.Or(0), Providers: c.Providers()}
	return printEnvironment(g, doc, sidebyside.Changes(before, after), opts.shell)
}

func printEnvironment(g *globalOptions, doc environment, changes []sidebyside.Change, shell string) error {
	script, err := sidebyside.Script(changes, shell)
	if err != nil {
		return err
	}
	doc.Schema, doc.Set, doc.Unset = environmentSchema, map[string]string{}, []string{}
	if doc.Providers == nil {
		doc.Providers = []string{}
	}
	for _, c := range changes {
		if c.Unset {
			doc.Unset = append(doc.Unset, c.Name)
		} else {
			doc.Set[c.Name] = c.Value
		}
	}
	return g.one(answer{value: doc, table: func(w io.Writer) error {
		_, err := io.WriteString(w, script)
		return err
	}})
}

const unitSchema = "rdmactl.unit/v1"

// dropIn is the JSON form of a drop-in.
type dropIn struct {
	Schema  string `json:"schema"`
	Unit    string `json:"unit"`
	Stack   string `json:"stack"`
	File    string `json:"file"` // where systemd finds it
	Content string `json:"content"`
}

func runEnvUnit(ctx context.Context, opts envOptions, side side, g *globalOptions) error {
	unit, err := sidebyside.Unit(opts.unit)
	if err != nil {
		return err
	}
	made, err := unitDropIn(ctx, host.NewLive(), side, unit, opts.keepDrivers, g)
	if err != nil {
		return err
	}
	return g.one(answer{value: made, table: func(w io.Writer) error {
		_, err := fmt.Fprint(w, made.Content)
		return err
	}})
}
