package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
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
		Long: "A profile is an intent: which stacks may serve it, and which packages, modules and limits it sets up. Profiles\n" +
			"of your own are files NAME.yaml in /etc/rdmactl/profiles.d; their format is in docs/profiles.md." + exitStatus(0, fault.Usage),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List the profiles", Args: noArgs,
			Long: "List the profiles that are built in and those of /etc/rdmactl/profiles.d." + exitStatus(0, fault.Usage),
			RunE: func(*cobra.Command, []string) error { return runProfilesList(g) },
		},
		&cobra.Command{
			Use: "show NAME", Short: "Show one profile", Args: cobra.ArbitraryArgs,
			Long: "Show one profile, by its name or its file, with what it takes over from the profile that it extends and where\n" +
				"each entry comes from. What is printed is itself a profile: save it, give it a name, change it." + exitStatus(0, fault.Usage),
			Example: "  rdmactl profiles show hpc\n  rdmactl profiles show hpc -o yaml > site.yaml",
			RunE:    func(_ *cobra.Command, args []string) error { return runProfilesShow(args, g) },
		},
		&cobra.Command{
			Use: "lint FILE...", Short: "Check profile files", Args: cobra.ArbitraryArgs,
			Long: "Check profile files; each fault in each of them is named with file, line and column." + exitStatus(0, fault.Usage),
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
	// From says by the profile's name where it was read: a path, or "built-in".
	From map[string]string `json:"from"`
}

func newProfileList(all []profiles.Resolved) profileList {
	list := profileList{Schema: profilesSchema, Profiles: []profiles.Profile{}, From: map[string]string{}}
	for _, p := range all {
		list.Profiles = append(list.Profiles, p.Profile)
		list.From[p.Name] = p.File
	}
	return list
}

func runProfilesList(g *globalOptions) error {
	library := newLibrary(g.etc)
	names, err := library.Names()
	if err != nil && len(names) == 0 {
		return err
	}
	faulty := faults{first: err}
	var all []profiles.Resolved
	for _, name := range names {
		p, err := library.Load(name)
		if err != nil {
			faulty.add(err)
			continue
		}
		all = append(all, p)
	}
	err = g.print([]answer{{value: newProfileList(all), table: func(w io.Writer) error {
		t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
		fmt.Fprintln(t, "NAME\tPREFERS\tFROM\tSUMMARY")
		for _, p := range all {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", p.Name, preference(p.Profile), p.File, p.Summary)
		}
		return t.Flush()
	}}}, false)
	return errors.Join(err, faulty.err())
}

// preference is the order of stacks in few words, with the branches where they are limited.
func preference(p profiles.Profile) string {
	stacks := make([]string, 0, len(p.Prefer))
	for _, stack := range p.Prefer {
		if p.Branches == "lts" && (stack == "doca-ofed" || stack == "mlnx-ofed") {
			stack += " lts"
		}
		stacks = append(stacks, stack)
	}
	return strings.Join(stacks, ", ")
}

func runProfilesShow(args []string, g *globalOptions) error {
	if len(args) != 1 {
		return fault.New(fault.Usage, "usage", "`rdmactl profiles list` lists them", "cannot show a profile: give one name")
	}
	p, err := openProfile(newLibrary(g.etc), args[0])
	if err != nil {
		return err
	}
	if g.format() == "json" {
		return g.print([]answer{{value: p.Profile}}, false)
	}
	_, err = g.out.Write(p.YAML()) // a profile reads best as what it is
	return err
}

func runProfilesLint(args []string, g *globalOptions) error {
	if len(args) == 0 {
		return fault.New(fault.Usage, "usage", "name the files", "cannot check profiles: no file was given")
	}
	library := newLibrary(g.etc)
	var faulty faults
	var sound []profiles.Resolved
	for _, file := range args {
		p, err := readProfile(library, file)
		if err != nil {
			faulty.add(err)
			continue
		}
		sound = append(sound, p)
	}
	if len(sound) == 0 {
		return faulty.err()
	}
	err := g.print([]answer{{value: newProfileList(sound), table: func(w io.Writer) error {
		for _, p := range sound {
			if _, err := fmt.Fprintf(w, "%s: profile %s is well-formed\n", p.File, p.Name); err != nil {
				return err
			}
		}
		return nil
	}}}, false)
	return errors.Join(err, faulty.err())
}

// faults joins what is wrong with several files into one fault; the first gives code and hint.
type faults struct {
	first error
	rest  []string
}

func (f *faults) add(err error) {
	if f.first == nil {
		f.first = err
		return
	}
	f.rest = append(f.rest, err.Error())
}

func (f *faults) err() error {
	var first *fault.Error
	if len(f.rest) == 0 || !errors.As(f.first, &first) {
		return f.first
	}
	return fault.New(first.Kind, first.Code, first.Hint, "%w\n%s", f.first, strings.Join(f.rest, "\n"))
}
