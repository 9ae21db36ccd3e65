// Command rdmactl takes a Linux host from "there is a ConnectX card in it" to "RDMA works, here is the
// measurement": it detects, plans, installs as a transaction, verifies and rolls back.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

func main() { os.Exit(start("/etc/rdmactl")) }

// start is the process with its configuration in etc, and gives the exit code.
func start(etc string) int {
	std := streams{
		in:       os.Stdin,
		out:      os.Stdout,
		err:      os.Stderr,
		terminal: term.IsTerminal(int(os.Stdout.Fd())),
		ask:      term.IsTerminal(int(os.Stdin.Fd())),
		noColor:  os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb",
		etc:      etc,
	}
	// A hidden worker is entered before cobra: it takes its orders from stdin or a journal and
	// handles signals itself.
	if code, ok := runHidden(os.Args[1:], std); ok {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process whatever it does
	code := run(ctx, os.Args[1:], std)
	stop()
	return code
}
