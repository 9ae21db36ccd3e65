package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/verbs"
	"golang.org/x/term"
)

// The hidden commands: rdmactl re-executes itself for what must not happen in the process that a
// person started.
const (
	verbsWorker   = "verbs-worker"   // loads libibverbs; a crashing provider takes down only it
	installWorker = "install-worker" // carries a run on when the terminal is lost
	imageExec     = host.ImageExecCommand
)

// runHidden enters a hidden command, if args name one.
func runHidden(args []string, std streams) (int, bool) {
	if len(args) == 0 {
		return 0, false
	}
	switch args[0] {
	case verbsWorker:
		return verbs.Worker(host.NewLive(), std.in, std.out, os.NewFile(verbs.ProgressFD, "progress")), true
	case imageExec:
		return host.RootedChild(args[1:]), true
	case installWorker:
		var id, do, root string
		for i := 1; i+1 < len(args); i += 2 {
			switch args[i] {
			case "--run":
				id = args[i+1]
			case "--do":
				do = args[i+1]
			case "--root":
				root = args[i+1]
			}
		}
		if want := map[bool]int{false: 5, true: 7}[root != ""]; len(args) != want || id == "" || do == "" {
			fmt.Fprintf(std.err, "rdmactl: %s is started by rdmactl itself\n", installWorker)
			return 2, true
		}
		signal.Ignore(syscall.SIGHUP)
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if root != "" {
			im, err := install.OpenGivenImage(root)
			if err != nil {
				fmt.Fprintf(std.err, "rdmactl: %v\n", err)
				return int(fault.KindOf(err)), true
			}
			return install.Worker(ctx, imageEnv(im), id, do), true
		}
		return install.Worker(ctx, newEnv(host.NewLive()), id, do), true
	}
	return 0, false
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
