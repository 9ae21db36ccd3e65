package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openPTY makes a terminal. Closing the master hangs up the session that the slave controls, as
// the end of an ssh connection does.
func openPTY() (master, slave *os.File, err error) {
	// Non-blocking, so that a Close ends a Read that waits for output.
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open a terminal: %w", err)
	}
	master = os.NewFile(uintptr(fd), "ptmx")
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, fmt.Errorf("cannot unlock a terminal: %w", err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot number a terminal: %w", err)
	}
	name := fmt.Sprintf("/dev/pts/%d", n)
	slave, err = os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open %s: %w", name, err)
	}
	return master, slave, nil
}
