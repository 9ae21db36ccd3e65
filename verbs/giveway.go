package verbs

import (
	"time"

	"golang.org/x/sys/unix"
)

// giveWay offers the CPU to others once a wait is long. A device in software (rxe, siw) does its work
// in kernel threads of this same host: where a spinning poller keeps them from a CPU, a message takes
// whole time slices. A device in hardware answers long before.
func giveWay(waited time.Duration) {
	const long = 50 * time.Microsecond
	if waited > long {
		// It cannot fail: sched_yield(2) has no errors on Linux.
		_, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
}
