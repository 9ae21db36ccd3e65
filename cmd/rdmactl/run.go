package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/internal/sidebyside"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// stackOptions say which of the stacks that stand side by side is meant.
type stackOptions struct {
	stack       string
	keepDrivers bool
}

func (o *stackOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.stack, "stack", "", "one `STACK`: rdma-core@VERSION, rdma-core (the newest build) or inbox")
	f.BoolVar(&o.keepDrivers, "keep-drivers", false, "leave IBV_DRIVERS and RDMAV_DRIVERS as they are")
}

// side is a stack that is there, whole and fit for this host's programs.
type side struct {
	copy sidebyside.Copy
	all  sidebyside.Copies
	made bool // by rdmactl
}

// choose finds and checks the stack.
func (o stackOptions) choose(ctx context.Context, g *globalOptions) (side, error) {
	if o.stack == "" {
		return side{}, fault.New(fault.Usage, "usage", "`rdmactl use` shows which stacks are there", "cannot choose a stack: add --stack")
	}
	wish, err := sidebyside.ParseWish(o.stack)
	if err != nil {
		return side{}, err
	}
	live := host.NewLive()
	all, err := sidebyside.Look(ctx, g.verbosely(live), nil)
	if err != nil {
		return side{}, err
	}
	return chosen(live, all, wish, sidebyside.Native())
}

// options are the choices about an environment.
func (o stackOptions) options(env []string, all sidebyside.Copies) sidebyside.Options {
	return sidebyside.Options{KeepDrivers: o.keepDrivers, Search: sidebyside.Elsewhere(host.NewLive(), env, all)}
}

type runOptions struct{ stackOptions }

func newRunCmd(g *globalOptions) *cobra.Command {
	opts := &runOptions{}
	cmd := &cobra.Command{
		Use:     "run --stack STACK -- COMMAND [ARGS]",
		GroupID: "around",
		Short:   "Run a program with one stack's own library and providers",
		Long: `Run a program with the library, the providers and the driver configuration of one stack, and with the
stack's own programs first in PATH. Nothing on the host is changed and no root is needed; the default of all other
programs stays what it is.

The program takes the place of rdmactl: signals, terminal and exit code are its own. What it starts has the same
environment. "rdmactl run --stack rdma-core@65.0 -- rdmactl verify" sends verbs traffic through that build.

With --stack inbox a program gets the distribution's own library although a build is the default. The loader is then
told the distribution's directory, which also wins over libraries that the program brings along by RUNPATH.

A build that is not there, not whole, of another architecture or mixed with another one is refused, and so is a
program that gains rights (set-user-id, file capabilities): the loader drops LD_LIBRARY_PATH for it.` +
			exitStatus(fault.Failed, fault.Usage, fault.Stopped) + "\n  any  of the program, once it runs",
		Example: "  rdmactl run --stack rdma-core@65.0 -- ibv_devinfo\n  rdmactl run --stack inbox -- ib_write_bw -d mlx5_0",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRun(cmd.Context(), *opts, args, g)
		},
	}
	opts.addFlags(cmd)
	cmd.Flags().SetInterspersed(false) // what follows the program is the program's
	return cmd
}

func runRun(ctx context.Context, opts runOptions, args []string, g *globalOptions) error {
	if len(args) == 0 {
		return fault.New(fault.Usage, "usage", "see `rdmactl run --help`", "cannot run a program: name one after --")
	}
	side, err := opts.choose(ctx, g)
	if err != nil {
		return err
	}
	before := os.Environ()
	env := sidebyside.Enter(before, side.copy, side.all, opts.options(before, side.all))
	live := host.NewLive()
	by := caller()
	file, err := sidebyside.Find(live, args[0], env, by)
	if err != nil {
		return err
	}
	if err := sidebyside.CheckProgram(ctx, live, file, side.copy, by); err != nil {
		return err
	}
	if g.verbose {
		fmt.Fprintf(g.err, "run %s with %s (%s)\n", file, side.copy.Name(), side.copy.Library)
	}
	// Signals that were ignored when this program began, as nohup and shells do for what runs behind, are so again.
	signal.Reset()
	err = syscall.Exec(file, args, env)
	if errors.Is(err, syscall.ENOEXEC) { // a script without its first line, which execvp(3) gives to the shell
		err = syscall.Exec("/bin/sh", append([]string{"sh", file}, args[1:]...), env)
	}
	return fault.New(fault.Stopped, "cannot-run", "", "cannot run %s: %w", file, err)
}

// caller is who starts a program here.
func caller() sidebyside.Caller {
	dir, err := os.Getwd()
	if err != nil {
		dir = "/" // a directory that is gone; only relative names need it
	}
	return sidebyside.Caller{
		UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Dir: dir,
		NoSUID: func(file string) bool {
			var st unix.Statfs_t
			return unix.Statfs(file, &st) == nil && st.Flags&unix.ST_NOSUID != 0
		},
	}
}
