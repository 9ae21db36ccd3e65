package vm

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/test/vm/internal/wire"
)

// Limit is a resource limit in bytes.
type Limit = wire.Limit

// Unlimited is the value of a limit that limits nothing.
const Unlimited = math.MaxUint64

// Memlock returns the same soft and hard limit of n bytes, for Cmd.Memlock.
func Memlock(n uint64) *Limit { return &Limit{Soft: n, Hard: n} }

// Cmd is a command on the machine.
type Cmd struct {
	Argv  []string
	Env   []string // added to a small environment, "NAME=value"
	Dir   string   // default: the user's home
	Stdin string   // empty is /dev/null; with PTY it is typed
	// User is who runs it; empty is root, "user" is the ordinary user (1000).
	User string
	// Login runs it through su, so that PAM sets the limits of /etc/security/limits.d as it does
	// for a login.
	Login bool
	// Memlock is RLIMIT_MEMLOCK; nil is what systemd gives a service. It does not go with Login.
	Memlock *Limit
	// PTY gives the command a terminal; stdout and stderr come together as Stdout, lines end in
	// CR LF.
	PTY bool
	// Timeout kills the command's process group; 0 is ten minutes.
	Timeout time.Duration
}

// Result is how a command ended and what it wrote: up to 2 MiB of each stream, the end of it.
type Result struct {
	Argv           []string
	Exit           int // exit status; -1 when a signal ended it, 127 when there is no such program
	Signal         int // 0 when it ended by itself
	TimedOut       bool
	Stdout, Stderr string
	Seconds        float64
	PeakKiB        int64 // largest resident size of the process and those it waited for
}

// String is the result for a test's log.
func (r Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "$ %s\n", strings.Join(r.Argv, " "))
	b.WriteString(r.Stdout)
	b.WriteString(r.Stderr)
	fmt.Fprintf(&b, "[exit %d", r.Exit)
	if r.Signal != 0 {
		fmt.Fprintf(&b, ", signal %d", r.Signal)
	}
	if r.TimedOut {
		b.WriteString(", timed out")
	}
	fmt.Fprintf(&b, ", %.1f s]", r.Seconds)
	return b.String()
}

func (c Cmd) wire() (*wire.Exec, error) {
	if len(c.Argv) == 0 {
		return nil, errors.New("a command without a program")
	}
	e := &wire.Exec{
		Argv: c.Argv, Env: c.Env, Dir: c.Dir, User: c.User, PTY: c.PTY,
		Limits: wire.Limits{Memlock: c.Memlock}, TimeoutMS: c.timeout().Milliseconds(),
	}
	if c.Login {
		if c.Memlock != nil {
			return nil, errors.New("a login's memlock limit is PAM's to set")
		}
		user := c.User
		if user == "" {
			user = "root"
		}
		e.User = "" // root runs su
		e.Argv = append([]string{"su", "-s", "/bin/sh", "-c", `exec "$0" "$@"`, "--", user}, c.Argv...)
	}
	return e, nil
}

func (c Cmd) timeout() time.Duration {
	if c.Timeout == 0 {
		return 10 * time.Minute
	}
	return c.Timeout
}

// grace is how much longer than a command the harness waits for its answer.
const grace = 30 * time.Second

func (c *client) start(cmd Cmd) (uint64, error) {
	e, err := cmd.wire()
	if err != nil {
		return 0, err
	}
	resp, _, err := c.call(wire.Request{Op: "start", Exec: e}, []byte(cmd.Stdin), grace)
	return resp.Proc, err
}

// wait returns the result, and whether the process has ended, after at most limit.
func (c *client) wait(proc uint64, argv []string, limit time.Duration) (Result, bool, error) {
	resp, body, err := c.call(wire.Request{Op: "wait", Proc: proc, WaitMS: limit.Milliseconds()}, nil, limit+grace)
	if err != nil {
		return Result{Argv: argv}, false, err
	}
	if resp.Stdout+resp.Stderr != len(body) {
		return Result{Argv: argv}, false, errors.New("the agent's answer has another size than it says")
	}
	return Result{
		Argv: argv, Exit: resp.Exit, Signal: resp.Signal, TimedOut: resp.Timeout, Seconds: resp.Seconds, PeakKiB: resp.PeakKiB,
		Stdout: string(body[:resp.Stdout]), Stderr: string(body[resp.Stdout:]),
	}, resp.Done, nil
}

func (c *client) run(cmd Cmd) (Result, error) {
	proc, err := c.start(cmd)
	if err != nil {
		return Result{Argv: cmd.Argv}, err
	}
	r, done, err := c.wait(proc, cmd.Argv, cmd.timeout()+grace)
	if err == nil && !done {
		err = fmt.Errorf("%s did not end although it was killed", cmd.Argv[0])
	}
	return r, err
}
