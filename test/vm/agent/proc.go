package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdmactl/rdmactl/test/vm/internal/wire"
)

// proc is a started process. Its output goes to files, not pipes: a daemon that keeps them open
// then does not keep us waiting.
type proc struct {
	cmd            *exec.Cmd
	stdout, stderr string // paths
	master         *os.File
	copied         chan struct{} // closed when the terminal's output is written out
	started        time.Time
	done           chan struct{}
	timedOut       atomic.Bool

	// Valid after done.
	state   *os.ProcessState
	seconds float64
	err     error
}

func (a *agent) start(r wire.Request, stdin []byte) (wire.Response, []byte, error) {
	if r.Exec == nil || len(r.Exec.Argv) == 0 {
		return wire.Response{}, nil, errors.New("no command")
	}
	a.mu.Lock()
	a.last++
	id := a.last
	a.mu.Unlock()
	base := filepath.Join(a.spool, "proc-"+strconv.FormatUint(id, 10))
	p := &proc{stdout: base + ".out", stderr: base + ".err", done: make(chan struct{})}
	if err := p.run(r.Exec, stdin); err != nil {
		return wire.Response{}, nil, err
	}
	a.mu.Lock()
	a.procs[id] = p
	a.mu.Unlock()
	return wire.Response{Proc: id}, nil, nil
}

func (p *proc) run(e *wire.Exec, stdin []byte) error {
	spec, err := json.Marshal(e)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(p.stdout, os.O_CREATE|os.O_TRUNC|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	errs, err := os.OpenFile(p.stderr, os.O_CREATE|os.O_TRUNC|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return errors.Join(err, out.Close())
	}
	p.cmd = exec.Command(self, childVerb, string(spec))
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	opened := []io.Closer{errs}
	if e.PTY {
		master, slave, err := openPTY()
		if err != nil {
			return errors.Join(err, out.Close(), errs.Close())
		}
		opened = append(opened, slave)
		p.master = master
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
		p.cmd.SysProcAttr.Setctty = true
		p.copied = make(chan struct{})
		go func() {
			defer close(p.copied)
			// Ends with EIO when the last process closes the terminal; that is no failure.
			_, _ = io.Copy(out, master)
			_ = out.Close()
		}()
	} else {
		opened = append(opened, out)
		p.cmd.Stdout, p.cmd.Stderr = out, errs
		if len(stdin) > 0 {
			// A pipe: programs may be told apart by what their input is.
			p.cmd.Stdin = bytes.NewReader(stdin)
		}
	}
	p.cmd.WaitDelay = 2 * time.Second
	p.started = time.Now()
	err = p.cmd.Start()
	for _, f := range opened {
		_ = f.Close() // the child has its own
	}
	if err != nil {
		return err
	}
	if e.TimeoutMS > 0 {
		time.AfterFunc(millis(e.TimeoutMS), func() {
			select {
			case <-p.done:
			default:
				p.timedOut.Store(true)
				_ = unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL)
			}
		})
	}
	go p.reap(len(stdin) > 0 && p.master != nil, stdin)
	return nil
}

func (p *proc) reap(typed bool, stdin []byte) {
	if typed {
		_, _ = p.master.Write(stdin) // typed at the terminal
	}
	err := p.cmd.Wait()
	p.seconds = time.Since(p.started).Seconds()
	p.state = p.cmd.ProcessState
	if p.state == nil {
		p.err = err
	}
	if p.copied != nil {
		select {
		case <-p.copied:
		case <-time.After(time.Second): // something still holds the terminal
		}
	}
	close(p.done)
}

func (a *agent) find(id uint64) (*proc, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p, ok := a.procs[id]; ok {
		return p, nil
	}
	return nil, fmt.Errorf("no process %d", id)
}

// wait answers after the process ended, or after WaitMS with what it wrote so far.
func (a *agent) wait(r wire.Request) (wire.Response, []byte, error) {
	p, err := a.find(r.Proc)
	if err != nil {
		return wire.Response{}, nil, err
	}
	resp := wire.Response{Proc: r.Proc}
	select {
	case <-p.done:
		if p.err != nil {
			return resp, nil, p.err
		}
		resp.Done, resp.Seconds, resp.Timeout = true, p.seconds, p.timedOut.Load()
		resp.Exit = p.state.ExitCode()
		if ws, ok := p.state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			resp.Signal = int(ws.Signal())
		}
		if usage, ok := p.state.SysUsage().(*syscall.Rusage); ok {
			resp.PeakKiB = usage.Maxrss
		}
	case <-time.After(millis(r.WaitMS)):
		resp.Seconds = time.Since(p.started).Seconds()
	}
	out, err := tail(p.stdout, wire.MaxBody/2)
	if err != nil {
		return resp, nil, err
	}
	errs, err := tail(p.stderr, wire.MaxBody/2)
	if err != nil {
		return resp, nil, err
	}
	resp.Stdout, resp.Stderr = len(out), len(errs)
	return resp, append(out, errs...), nil
}

// tail returns the last limit bytes of a file; the harness says so when that cut something.
func tail(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, fi.Size()-limit)
	return io.ReadAll(io.NewSectionReader(f, from, limit))
}

func (a *agent) signal(r wire.Request) (wire.Response, []byte, error) {
	p, err := a.find(r.Proc)
	if err != nil {
		return wire.Response{}, nil, err
	}
	if r.Op == "hangup" {
		if p.master == nil {
			return wire.Response{}, nil, errors.New("the process has no terminal")
		}
		return wire.Response{}, nil, p.master.Close()
	}
	return wire.Response{}, nil, unix.Kill(-p.cmd.Process.Pid, unix.Signal(r.Signal))
}
