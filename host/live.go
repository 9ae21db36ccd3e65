package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Live reads and changes the host that this process runs on.
type Live struct {
	*tree
	searchPath string
	deadline   time.Duration
}

// LiveOption changes a Live for tests.
type LiveOption func(*Live)

// WithPath replaces the directories in which programs are looked for, colon-separated.
func WithPath(searchPath string) LiveOption { return func(l *Live) { l.searchPath = searchPath } }

// WithQueryDeadline replaces the 20 seconds after which a query without a deadline is ended.
func WithQueryDeadline(d time.Duration) LiveOption { return func(l *Live) { l.deadline = d } }

// NewLive makes a Writer for the root "/".
func NewLive(options ...LiveOption) *Live {
	l := &Live{tree: &tree{}, searchPath: defaultPath, deadline: queryDeadline}
	for _, option := range options {
		option(l)
	}
	return l
}

// Now is the host's clock.
func (l *Live) Now() time.Time { return time.Now() }

// Told says that the reader stands on the host itself, and as which user.
func (l *Live) Told() Told {
	uid := os.Geteuid()
	return Told{Kind: "live", UID: &uid}
}

// Query runs a command of the read-only list. Without a deadline of its own it ends after 20 s, and
// an answer above 16 MiB is an error.
func (l *Live) Query(ctx context.Context, argv ...string) (Result, error) {
	if err := Allowed(argv); err != nil {
		return Result{}, err
	}
	if _, has := ctx.Deadline(); !has {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.deadline)
		defer cancel()
	}
	cmd, err := l.command(argv)
	if err != nil {
		return Result{}, err
	}
	cmd.Env = environment(l.searchPath, false, nil)
	result, err := (&process{argv: argv, cmd: cmd, strict: true}).run(ctx)
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// Derive reads a binary file.
func (l *Live) Derive(_ context.Context, path string, argv []string, decode Decoder) (Result, error) {
	return l.derive(path, argv, decode)
}

// Run executes a command that may change the host. When ctx ends, it and its children get SIGTERM,
// and SIGKILL after 10 s; the result then holds what was printed until then. Of each stream the
// last 16 MiB are kept.
func (l *Live) Run(ctx context.Context, c Command) (Result, error) {
	cmd, err := l.command(c.Argv)
	if err != nil {
		return Result{}, err
	}
	if c.Apart != "" {
		return Result{}, &commandError{c.Argv, errors.New("only a command of an image can be set apart")}
	}
	cmd.Env = environment(l.searchPath, true, c.Env)
	setStdin(cmd, c.Stdin)
	return (&process{argv: c.Argv, cmd: cmd, output: c.Output, gentle: true}).run(ctx)
}

// command finds the program; exec's own search would use this process's PATH.
func (l *Live) command(argv []string) (*exec.Cmd, error) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, &commandError{argv, fmt.Errorf("the command is empty")}
	}
	program := argv[0]
	if !strings.Contains(program, "/") {
		program = ""
		for _, dir := range filepath.SplitList(l.searchPath) {
			candidate := filepath.Join(dir, argv[0])
			if st, err := os.Stat(candidate); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 && filepath.IsAbs(candidate) {
				program = candidate
				break
			}
		}
	}
	if program == "" {
		return nil, &commandError{argv, ErrNotInstalled}
	}
	return &exec.Cmd{Path: program, Args: argv, Dir: "/"}, nil
}
