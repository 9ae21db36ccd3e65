package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	// maxOutput bounds each of stdout and stderr that is kept in memory.
	maxOutput = 16 << 20
	// queryDeadline is for a program that waits for a device that does not answer.
	queryDeadline = 20 * time.Second
	// killDelay is how long a cancelled command may take to end by itself.
	killDelay = 10 * time.Second
)

// process is one command, ready to be started.
type process struct {
	argv   []string // as the caller named it
	cmd    *exec.Cmd
	output io.Writer // gets both streams while they come, may be nil
	strict bool      // more than maxOutput is an error, else the start is dropped
	gentle bool      // SIGTERM and killDelay before SIGKILL
	// started, if set, is called once the child holds its descriptors.
	started func()
}

// run starts a process in a session of its own, so that it and its children can be ended together
// and none of them can ask on the terminal, and waits for it.
func (p *process) run(ctx context.Context) (Result, error) {
	fail := func(err error) (Result, error) { return Result{}, &commandError{p.argv, err} }
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	tee := &sharedWriter{w: p.output}
	full := make(chan struct{}, 2) // one for each stream
	stdout, stderr := &keep{tee: tee}, &keep{tee: tee}
	if p.strict {
		stdout.overflow, stderr.overflow = full, full
	}
	p.cmd.Stdout, p.cmd.Stderr = stdout, stderr
	if p.cmd.SysProcAttr == nil {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	p.cmd.SysProcAttr.Setsid = true
	begin := time.Now()
	if err := p.cmd.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, syscall.ENOENT) {
			err = fmt.Errorf("%w (%w)", ErrNotInstalled, err)
		}
		return fail(err)
	}
	if p.started != nil {
		p.started()
	}
	group := -p.cmd.Process.Pid
	// done ends the watcher; ended says that it will signal no more, since after Wait the number
	// of the group may be another's.
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-done:
			return
		case <-ctx.Done():
		case <-full:
		}
		if p.gentle {
			signalGroup(group, syscall.SIGTERM)
			timer := time.NewTimer(killDelay)
			defer timer.Stop()
			select {
			case <-done:
				return
			case <-timer.C:
			}
		}
		signalGroup(group, syscall.SIGKILL)
	}()
	// A child that left the group may hold the pipes open; the answer does not wait for it.
	p.cmd.WaitDelay = time.Second
	err := p.cmd.Wait()
	close(done)
	<-ended
	result := Result{Argv: p.argv, Stdout: stdout.String(), Stderr: stderr.String(), Duration: time.Since(begin)}
	switch {
	case ctx.Err() != nil:
		return result, &commandError{p.argv, ctx.Err()}
	case p.strict && (stdout.full || stderr.full):
		return fail(fmt.Errorf("it printed more than %d MiB: %w", maxOutput>>20, syscall.EFBIG))
	case tee.err != nil:
		return result, &commandError{p.argv, fmt.Errorf("its output cannot be written down: %w", tee.err)}
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return result, &commandError{p.argv, err}
	}
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	result.Exit = p.cmd.ProcessState.ExitCode()
	if ok && status.Signaled() {
		result.Exit = 128 + int(status.Signal()) // as a shell counts
	}
	return result, nil
}

// signalGroup sends a signal to a process group. The only error besides programming faults is that
// the group has ended.
func signalGroup(group int, sig syscall.Signal) { _ = syscall.Kill(group, sig) }

// keep holds the last maxOutput bytes of a stream.
type keep struct {
	buf      bytes.Buffer
	tee      *sharedWriter
	full     bool            // something was dropped
	overflow chan<- struct{} // is told once when full, may be nil
}

func (k *keep) Write(p []byte) (int, error) {
	k.tee.write(p)
	k.buf.Write(p)
	if k.buf.Len() > maxOutput {
		if !k.full && k.overflow != nil {
			k.overflow <- struct{}{}
		}
		k.full = true
		k.buf.Next(k.buf.Len() - maxOutput)
	}
	return len(p), nil
}

func (k *keep) String() string { return k.buf.String() }

// sharedWriter lets both streams of a command go to one writer. A failing writer does not stop the
// command: half an installation would be worse than half a log.
type sharedWriter struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

func (s *sharedWriter) write(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil || s.err != nil {
		return
	}
	_, s.err = s.w.Write(p)
}

// environment is what a command sees: a fixed path and language, what the caller adds, and nothing
// of the user's shell but the proxies.
func environment(searchPath string, proxies bool, extra []string) []string {
	env := []string{"PATH=" + searchPath, "LC_ALL=C"}
	if proxies {
		for _, name := range []string{"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"} {
			for _, n := range []string{name, strings.ToUpper(name)} {
				if value, ok := os.LookupEnv(n); ok {
					env = append(env, n+"="+value)
				}
			}
		}
	}
	return append(env, extra...)
}

// setStdin gives a command its input; without any it reads the null device.
func setStdin(cmd *exec.Cmd, input []byte) {
	if input != nil {
		cmd.Stdin = bytes.NewReader(input)
	}
}
