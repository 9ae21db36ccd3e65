package verbs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// RunOptions say how the worker is run.
type RunOptions struct {
	// Executable is this program; /proc/self/exe when empty, which stays right when the file was
	// replaced meanwhile.
	Executable string
	// Args are the arguments that make Executable call Worker.
	Args []string
	// Deadline after which the worker is killed; by default two minutes for a quick request and ten
	// for any other, enough for a host with many ports.
	Deadline time.Duration
	// Env is added to this process's environment, such as LD_LIBRARY_PATH=DIR.
	Env []string
}

const (
	quickDeadline   = 2 * time.Minute
	defaultDeadline = 10 * time.Minute
	maxReportBytes  = 16 << 20
	maxStderrBytes  = 256 << 10
	maxEvidence     = 20 // lines
	// reapTime is how long a killed worker may take to go. One that is stuck in a driver does not
	// go at all.
	reapTime = 5 * time.Second
	// startUpTime is how long a healthy but slow host may take until the first device is opened:
	// modules are loaded on the way. Who gives less has not shown that anything hangs.
	startUpTime = 10 * time.Second
)

// Run tests this host in a child process and returns the child's report, or one that says how the
// child died. The error is for a worker that could not be started, a request that is not valid and a
// cancelled context.
func Run(ctx context.Context, opts RunOptions, q Request) (Report, error) {
	if opts.Executable == "" {
		opts.Executable = "/proc/self/exe"
	}
	if len(opts.Args) == 0 {
		return Report{}, errors.New("cannot start verbs worker: no argument selects it")
	}
	if opts.Deadline <= 0 {
		opts.Deadline = defaultDeadline
		if q.Quick {
			opts.Deadline = quickDeadline
		}
	}
	if q.TimeLimit == 0 {
		q.TimeLimit = opts.Deadline.Seconds() * 0.7
	}
	if err := q.Validate(); err != nil {
		return Report{}, err
	}
	request, err := json.Marshal(q)
	if err != nil {
		return Report{}, fmt.Errorf("cannot encode request: %w", err)
	}
	c, err := startChild(opts, request)
	if err != nil {
		return Report{}, err
	}
	timer := time.NewTimer(opts.Deadline)
	defer timer.Stop()
	timedOut := false
	select {
	case <-c.ended:
	case <-timer.C:
		timedOut = true
	case <-ctx.Done():
	}
	if !c.kill() {
		report := c.died(fmt.Sprintf("the worker (process %d) cannot be killed: it is stuck in the kernel", c.pid), CodeTimeout)
		return report, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return Report{}, fmt.Errorf("cannot finish verification: %w", context.Cause(ctx))
	}
	if timedOut && opts.Deadline < startUpTime && c.stage().startUp() {
		return c.tooShort(opts.Deadline), nil
	}
	if timedOut {
		return c.died(fmt.Sprintf("no result within %s", opts.Deadline), CodeTimeout), nil
	}
	return c.report(), nil
}

// child is a worker process.
type child struct {
	pid      int
	ended    chan struct{} // closed when the process and its pipes are done
	stdout   *bounded
	stderr   *bounded
	progress *progress
	err      error // of Wait; valid after ended
	state    *os.ProcessState
}

// startChild starts the worker in a process group of its own, so that it can be killed with all that a
// provider may have started, and so that it dies with this process.
func startChild(opts RunOptions, request []byte) (*child, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot start verbs worker: %w", err)
	}
	c := &child{
		ended:    make(chan struct{}),
		stdout:   &bounded{limit: maxReportBytes},
		stderr:   &bounded{limit: maxStderrBytes},
		progress: &progress{last: progressRecord{Stage: StageStart}},
	}
	cmd := exec.Command(opts.Executable, opts.Args...)
	cmd.Stdin = bytes.NewReader(request)
	cmd.Stdout, cmd.Stderr = c.stdout, c.stderr
	cmd.ExtraFiles = []*os.File{write} // becomes ProgressFD
	// libibverbs tells which providers it could not load only when it is asked to.
	cmd.Env = append(append(os.Environ(), "LC_ALL=C", "IBV_SHOW_WARNINGS=1", "GOTRACEBACK=single"), opts.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = reapTime

	started := make(chan error, 1)
	go func() {
		// The kernel sends the death signal when the thread that forked ends, so this one must
		// live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		_ = write.Close() // the child's end; only reading from it matters here
		if err != nil {
			_ = read.Close()
			started <- err
			return
		}
		c.pid = cmd.Process.Pid
		started <- nil
		collected := make(chan struct{})
		go func() {
			defer close(collected)
			c.progress.read(read)
		}()
		c.err = cmd.Wait()
		c.state = cmd.ProcessState
		// A process that the provider left behind may still hold the pipe.
		select {
		case <-collected:
		case <-time.After(reapTime):
		}
		_ = read.Close()
		close(c.ended)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("cannot start verbs worker %s: %w", opts.Executable, err)
	}
	return c, nil
}

// kill ends the whole process group and says whether the worker is gone.
func (c *child) kill() bool {
	select {
	case <-c.ended: // its number may belong to another process by now
		return true
	default:
	}
	// ESRCH: it ended this moment. Any other error shows below, as a worker that stays.
	_ = syscall.Kill(-c.pid, syscall.SIGKILL)
	select {
	case <-c.ended:
		return true
	case <-time.After(3 * reapTime): // Wait and the progress pipe have their own delays
		return false
	}
}

// report returns what the worker found, or how it died.
func (c *child) report() Report {
	if name := c.signal(); name != "" {
		return c.died("ended by "+name, CodeProviderCrashed)
	}
	if c.err != nil {
		return c.died(c.err.Error(), CodeWorkerFailed)
	}
	if c.stdout.overflowed() {
		return c.died(fmt.Sprintf("it wrote more than %d bytes", maxReportBytes), CodeWorkerFailed)
	}
	var r Report
	if err := json.Unmarshal(lastLine(c.stdout.bytes()), &r); err != nil {
		return c.died("its report cannot be read: "+err.Error(), CodeWorkerFailed)
	}
	if r.Schema != Schema {
		return c.died(fmt.Sprintf("its report has schema %q", r.Schema), CodeWorkerFailed)
	}
	c.attachWarnings(&r)
	return r
}

// signal is the signal that ended the worker, empty if none did. A Go program catches the signal of a
// crash in C, prints it at the start of a line and exits with 2; a crash in Go itself prints
// "panic:" and the signal in brackets, and is not the provider's.
func (c *child) signal() string {
	if c.state == nil {
		return ""
	}
	if ws, ok := c.state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	if c.state.ExitCode() != 2 {
		return ""
	}
	return regexp.MustCompile(`(?m)^SIG(SEGV|ABRT|BUS|FPE|ILL|TRAP|SYS)\b.*$`).FindString(c.stderr.text())
}

func (c *child) stage() Stage {
	last, _ := c.progress.state()
	return last.Stage
}

// tooShort makes the report of a worker that had no time to begin.
func (c *child) tooShort(deadline time.Duration) Report {
	_, r := c.progress.state()
	check := failed(checkWorker, CodeTimeLimit, fmt.Sprintf("the time given, %s, was too short: no device was opened yet (stage %s)", deadline, c.stage()))
	check.Status = NotTestable
	check.Evidence = firstLines(c.stderr.text(), maxEvidence)
	r.Checks = append(r.Checks, check)
	r.Verdict = verdict(r.Checks)
	return r
}

// died makes the report of a worker that gave none: all it had settled, and where it was.
func (c *child) died(how string, code Code) Report {
	last, r := c.progress.state()
	where := string(last.Stage)
	if last.Device != "" {
		where += " of " + last.Device
	}
	if last.Port != 0 {
		where += fmt.Sprintf(" port %d", last.Port)
	}
	check := failed(checkWorker, code, fmt.Sprintf("the verbs worker died in stage %s: %s", where, how)).on(last.Device, last.Port)
	if code == CodeTimeout {
		check.Detail = fmt.Sprintf("the verbs worker hung in stage %s: %s", where, how)
	}
	check.Evidence = firstLines(c.stderr.text(), maxEvidence)
	r.Checks = append(r.Checks, check)
	r.Verdict = verdict(r.Checks)
	return r
}

// attachWarnings makes libibverbs' own words the evidence of the check that they explain best.
func (c *child) attachWarnings(r *Report) {
	lines := firstLines(c.stderr.text(), maxEvidence)
	if len(lines) == 0 || len(r.Checks) == 0 {
		return
	}
	best := 0
	for i, check := range r.Checks {
		if check.Status != Pass {
			best = i
			break
		}
	}
	for i, check := range r.Checks {
		if check.Code == CodeProviderMissing {
			best = i
			break
		}
	}
	r.Checks[best].Evidence = append(r.Checks[best].Evidence, lines...)
}

// lastLine is the worker's report. Lines before it are a provider's that prints to stdout.
func lastLine(b []byte) []byte {
	b = bytes.TrimRight(b, "\n")
	return b[bytes.LastIndexByte(b, '\n')+1:]
}

func firstLines(text string, n int) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if len(out) == n {
			break
		}
		out = append(out, line)
	}
	return out
}

// bounded keeps the first bytes of a stream and lets the rest go, so that a writer never blocks and
// never fills memory.
type bounded struct {
	mu    sync.Mutex
	buf   []byte
	limit int
	over  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	room := min(len(p), b.limit-len(b.buf))
	b.buf = append(b.buf, p[:room]...)
	b.over = b.over || room < len(p)
	return len(p), nil
}

func (b *bounded) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.buf)
}

func (b *bounded) text() string { return strings.ToValidUTF8(string(b.bytes()), "?") }

func (b *bounded) overflowed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over
}
