package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rdmactl/rdmactl/host"
)

// openLog opens a run's log for appending. Only root reads it: output of commands may hold secrets.
func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("cannot make log directory: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open log: %w", err)
	}
	if err := plainFile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot use log %s: %w", path, err), f.Close())
	}
	return f, nil
}

// plainFile refuses what is not a file of one name: in an image anything may stand there.
func plainFile(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Nlink != 1 {
		return errors.New("it has other names")
	}
	return nil
}

// logged is a Writer that logs each command with its output, exit code and time.
type logged struct {
	host.Writer
	mu  sync.Mutex
	log io.Writer
}

// Run logs a command that may change the host, its output as it comes.
func (l *logged) Run(ctx context.Context, cmd host.Command) (host.Result, error) {
	l.printf("%s $ %s\n", stamp(), strings.Join(cmd.Argv, " "))
	out := &lineLog{l: l, next: cmd.Output}
	cmd.Output = out
	res, err := l.Writer.Run(ctx, cmd)
	out.flush()
	if !out.any {
		l.block(res.Stdout)
		l.block(res.Stderr)
	}
	l.ended(res, err)
	return res, err
}

// Query logs a read-only command.
func (l *logged) Query(ctx context.Context, argv ...string) (host.Result, error) {
	res, err := l.Writer.Query(ctx, argv...)
	l.printf("%s ? %s\n", stamp(), strings.Join(argv, " "))
	l.block(shorten(res.Stdout))
	l.block(res.Stderr)
	l.ended(res, err)
	return res, err
}

// DryRun says whether the Writer below only records.
func (l *logged) DryRun() bool {
	d, ok := l.Writer.(interface{ DryRun() bool })
	return ok && d.DryRun()
}

func (l *logged) ended(res host.Result, err error) {
	if err != nil {
		l.printf("%s = cannot run: %v\n", stamp(), err)
		return
	}
	l.printf("%s = exit %d after %.2fs\n", stamp(), res.Exit, res.Duration.Seconds())
}

func (l *logged) block(text string) {
	for line := range strings.Lines(text) {
		l.printf("  %s\n", strings.TrimRight(line, "\r\n"))
	}
}

func (l *logged) printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := withoutSecrets(fmt.Sprintf(format, args...))
	// A full log file system must not stop a run half-way; the journal is what counts.
	_, _ = io.WriteString(l.log, line)
}

func stamp() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

// shorten keeps the log readable: the package database alone has thousands of lines.
func shorten(text string) string {
	const keep = 40
	lines := strings.SplitAfterN(text, "\n", keep+1)
	if len(lines) <= keep || lines[keep] == "" {
		return text
	}
	return strings.Join(lines[:keep], "") + fmt.Sprintf("... %d more lines\n", strings.Count(lines[keep], "\n"))
}

// withoutSecrets takes user and password out of URLs.
func withoutSecrets(line string) string {
	return regexp.MustCompile(`://[^/@\s]+@`).ReplaceAllString(line, "://***@")
}

// lineLog passes on what a command prints, and logs it line by line.
type lineLog struct {
	l    *logged
	next io.Writer
	mu   sync.Mutex
	rest []byte
	any  bool
}

// Write takes a piece of output.
func (w *lineLog) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.any = w.any || len(p) > 0
	w.rest = append(w.rest, p...)
	for {
		i := bytes.IndexAny(w.rest, "\r\n")
		if i < 0 {
			break
		}
		if i > 0 {
			w.l.printf("  %s\n", w.rest[:i])
		}
		w.rest = w.rest[i+1:]
	}
	if w.next != nil {
		return w.next.Write(p)
	}
	return len(p), nil
}

func (w *lineLog) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) > 0 {
		w.l.printf("  %s\n", w.rest)
		w.rest = nil
	}
}
