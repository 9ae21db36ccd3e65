package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/spf13/cobra"
)

func newProfilesCmd(g *globalOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "profiles",
		GroupID: "around",
		Short:   "List, show and check profiles",
		Long:    "A profile is an intent: which stacks may serve it, and which packages, modules and limits it sets up." + exitStatus(0, fault.Usage),
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List the profiles", Args: noArgs,
			Long: "List the profiles that are built in." + exitStatus(0, fault.Usage),
			RunE: func(*cobra.Command, []string) error { return runProfilesList(g) },
		},
		&cobra.Command{
			Use: "show NAME", Short: "Show one profile", Args: cobra.ArbitraryArgs,
			Long: "Show one profile, a built-in one or a file." + exitStatus(0, fault.Usage),
			RunE: func(_ *cobra.Command, args []string) error { return runProfilesShow(args, g) },
		},
		&cobra.Command{
			Use: "lint FILE...", Short: "Check profile files", Args: cobra.ArbitraryArgs,
			Long: "Check profile files; each fault is named with file, line and column." + exitStatus(0, fault.Usage),
			RunE: func(_ *cobra.Command, args []string) error { return runProfilesLint(args, g) },
		},
	)
	return cmd
}

// profilesSchema names the JSON form of a profileList.
const profilesSchema = "rdmactl.profiles/v1"

type profileList struct {
	Schema   string             `json:"schema"`
	Profiles []profiles.Profile `json:"profiles"`
}

func runProfilesList(g *globalOptions) error {
	names, err := profiles.List()
	if err != nil {
		return err
	}
	list := make([]profiles.Profile, 0, len(names))
	for _, name := range names {
		p, err := profiles.Load(name)
		if err != nil {
			return err
		}
		list = append(list, p)
	}
	return g.print([]answer{{value: profileList{profilesSchema, list}, table: func(w io.Writer) error {
		t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
		for _, p := range list {
			fmt.Fprintf(t, "%s\t%s\n", p.Name, p.Summary)
		}
		return t.Flush()
	}}}, false)
}

func runProfilesShow(args []string, g *globalOptions) error {
	if len(args) != 1 {
		return fault.New(fault.Usage, "usage", "`rdmactl profiles list` lists them", "cannot show a profile: give one name")
	}
	p, err := loadProfile(args[0])
	if err != nil {
		return err
	}
	a := answer{value: p}
	if g.format() == "table" { // a profile reads best as what it is
		return printYAML(g.out, a, false)
	}
	return g.print([]answer{a}, false)
}

func runProfilesLint(args []string, g *globalOptions) error {
	if len(args) == 0 {
		return fault.New(fault.Usage, "usage", "name the files", "cannot check profiles: no file was given")
	}
	sound := make([]profiles.Profile, 0, len(args))
	for _, file := range args {
		data, err := readRegular(file, maxSmall)
		if err != nil {
			return fault.New(fault.Usage, "faulty-profile", "name a profile file", "cannot read profile %s: %w", file, err)
		}
		p, err := profiles.LoadFile(file, data)
		if err != nil {
			return err
		}
		sound = append(sound, p)
	}
	return g.print([]answer{{value: profileList{profilesSchema, sound}, table: func(w io.Writer) error {
		for i, p := range sound {
			if _, err := fmt.Fprintf(w, "%s: profile %s is well-formed\n", args[i], p.Name); err != nil {
				return err
			}
		}
		return nil
	}}}, false)
}
