// Command agent runs inside a test machine as root and does what the harness asks for over a
// virtio-serial port: run processes, move files, describe trees, set the clock. It is part of the
// test harness only; nothing of the product knows it.
package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == childVerb:
		err = child(os.Args[2])
	case len(os.Args) == 2 && os.Args[1] == "serve":
		go serveRepositories()
		err = serve()
	default:
		err = fmt.Errorf("usage: %s serve", os.Args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		time.Sleep(time.Second) // the unit restarts us at once
		os.Exit(125)
	}
}
