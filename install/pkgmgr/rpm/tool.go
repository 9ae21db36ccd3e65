package rpm

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// Tool runs the commands of one manager on one host.
type Tool struct {
	Host host.Reader
	// Writer is nil for a solver, which has only the read-only commands of a Reader.
	Writer host.Writer
	// Env are further variables of what Writer runs.
	Env []string
}

// A solver on a small or emulated machine needs more than a Reader's usual deadline.
const askLimit = 5 * time.Minute

// Query runs a command that changes nothing, whatever it ends with.
func (t Tool) Query(ctx context.Context, stdin string, argv ...string) (host.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	var res host.Result
	var err error
	switch {
	case t.Writer != nil:
		res, err = t.Writer.Run(ctx, host.Command{Argv: argv, Stdin: []byte(stdin), Env: t.Env})
	case stdin != "":
		err = fmt.Errorf("it needs input, which a read-only command cannot have: %w", host.ErrNotAllowed)
	default:
		res, err = t.Host.Query(ctx, argv...)
	}
	if err != nil {
		return res, fmt.Errorf("cannot run %s: %w", argv[0], err)
	}
	return res, nil
}

// Ask runs a command that changes nothing and has to end with 0.
func (t Tool) Ask(ctx context.Context, argv ...string) (string, error) {
	res, err := t.Query(ctx, "", argv...)
	if err != nil {
		return "", err
	}
	if res.Exit != 0 {
		return "", Failure(res)
	}
	return res.Stdout, nil
}

// Run executes a changing command that has to end with 0.
func (t Tool) Run(ctx context.Context, stdin string, argv ...string) (host.Result, error) {
	res, err := t.Writer.Run(ctx, host.Command{Argv: argv, Stdin: []byte(stdin), Env: t.Env})
	if err != nil {
		return res, fmt.Errorf("cannot run %s: %w", argv[0], err)
	}
	if res.Exit != 0 {
		return res, Failure(res)
	}
	return res, nil
}

// Failure is the error of a command that ended with another code than 0. One that speaks of a
// signature or a checksum is a *pkgmgr.SignatureError.
func Failure(res host.Result) error {
	lines := ErrorLines(res.Stderr, res.Stdout)
	if bad := SignatureLines(res.Stderr + "\n" + res.Stdout); len(bad) > 0 {
		return &pkgmgr.SignatureError{Lines: bad}
	}
	return &pkgmgr.CommandError{Command: verb(res.Argv), Exit: res.Exit, Lines: lines}
}

// verb is a program and its first word, such as "dnf install".
func verb(argv []string) string {
	for _, w := range argv[1:] {
		if !strings.HasPrefix(w, "-") {
			return argv[0] + " " + w
		}
	}
	return argv[0]
}

// ErrorLines picks the first lines of an output that say what failed: from the first error on, as
// dnf's resolver explains itself in indented lines behind it.
func ErrorLines(stderr, stdout string) []string {
	lines := []string{}
	for _, text := range []string{stderr, stdout} {
		found := false
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n\r ")
			low := strings.ToLower(strings.TrimSpace(line))
			switch {
			case strings.HasPrefix(low, "error"), strings.HasPrefix(low, "problem"), strings.Contains(low, "scriptlet failed"),
				strings.HasPrefix(low, "failed to resolve"), strings.HasPrefix(low, "no match for argument"), strings.HasPrefix(low, "nothing provides"):
				found = true
			case !found || !strings.HasPrefix(line, " "):
				found = false
				continue
			}
			if line = strings.TrimSpace(line); len(strings.TrimPrefix(line, "Error:")) > 0 {
				lines = append(lines, pkgmgr.WithoutCredentials(line))
			}
		}
	}
	if len(lines) == 0 {
		for line := range strings.Lines(stderr) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "Unable to detect release version") {
				lines = append(lines, pkgmgr.WithoutCredentials(line))
			}
		}
	}
	return lines[:min(len(lines), 5)]
}
