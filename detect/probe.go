package detect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// probe is what every question needs.
type probe struct {
	ctx  context.Context
	r    host.Reader
	told host.Told
	// kernelAsked is the release that the facts shall be about, empty for the running one.
	kernelAsked string
}

// evidence says that the host is a recorded one. Only then may the text of programs that would load
// ib_core on a live host be asked for, and texts that a person may have pasted.
func (p probe) evidence() bool { return p.told.Kind == "evidence" }

// field makes a field of what a reading gave: absence and silence are told apart from failure.
func field[T any](value T, source string, err error) facts.Field[T] {
	switch {
	case err == nil:
		return facts.Is(value, source)
	case errors.Is(err, fs.ErrNotExist):
		return facts.None[T](source)
	case errors.Is(err, host.ErrUnknown):
		return facts.Field[T]{State: facts.Unknown, Source: source}
	}
	return facts.Failed[T](source, err)
}

// unknown makes an unknown field with a reason.
func unknown[T any](source, format string, args ...any) facts.Field[T] {
	return facts.Failed[T](source, fmt.Errorf(format, args...))
}

// text reads a file.
func (p probe) text(path string) (string, error) {
	data, err := p.r.ReadFile(path)
	return string(data), err
}

// attr reads a file of one value, such as a sysfs attribute. An empty file has no value.
func (p probe) attr(path string) facts.Field[string] {
	text, err := p.text(path)
	text = strings.TrimSpace(text)
	if err == nil && text == "" {
		return facts.None[string](path)
	}
	return field(text, path, err)
}

// parsed turns the text of a field into a value; what cannot be read is unknown with the reason.
func parsed[T any](f facts.Field[string], parse func(string) (T, error)) facts.Field[T] {
	text, ok := f.Get()
	if !ok {
		return facts.Field[T]{State: f.State, Source: f.Source, Error: f.Error}
	}
	value, err := parse(text)
	if err != nil {
		return facts.Failed[T](f.Source, err)
	}
	return facts.Is(value, f.Source)
}

// number reads decimal digits, or hexadecimal ones with 0x, that fit an int32.
func number(s string) (int, error) {
	n, err := strconv.ParseInt(s, 0, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return int(n), nil
}

// yesNo reads a boolean as the kernel prints module parameters.
func yesNo(s string) (bool, error) {
	switch s {
	case "Y", "1":
		return true, nil
	case "N", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither Y nor N", s)
}

// linkBase returns the last element of a link's target: what a sysfs link names.
func (p probe) linkBase(path string) facts.Field[string] {
	target, err := p.r.Readlink(path)
	if err == nil {
		target = target[strings.LastIndexByte(target, '/')+1:]
	}
	return field(target, path, err)
}

// run asks a program. A program that fails is an error with its first line of complaint.
func (p probe) run(argv ...string) (string, error) {
	res, err := p.r.Query(p.ctx, argv...)
	if err != nil {
		return "", err
	}
	if res.Exit != 0 {
		why, _, _ := strings.Cut(strings.TrimSpace(res.Stderr), "\n")
		if why == "" {
			why = "no message"
		}
		return res.Stdout, &exitError{argv[0], res.Exit, why}
	}
	return res.Stdout, nil
}

// firstTold returns the text of the first of some command lines that the source tells and that
// printed something. Only evidence is asked.
func (p probe) firstTold(lines ...string) (text, source string) {
	if !p.evidence() {
		return "", ""
	}
	commands := p.commands()
	for _, line := range lines {
		if _, told := commands[line]; commands != nil && !told {
			continue // asking would only make an error
		}
		res, err := p.r.Query(p.ctx, strings.Fields(line)...)
		if err == nil && strings.TrimSpace(res.Stdout) != "" {
			return res.Stdout, line
		}
	}
	return "", ""
}

// recorded returns the first command line of evidence, in their order, that begins with prefix.
func (p probe) recorded(prefix string) string {
	if lines := p.recordedAll(prefix); len(lines) > 0 {
		return lines[0]
	}
	return ""
}

// recordedAll returns the command lines of evidence that begin with one of some prefixes, sorted. It finds questions
// whose list of names depends on the release that recorded them.
func (p probe) recordedAll(prefixes ...string) []string {
	var lines []string
	for line := range p.commands() {
		for _, prefix := range prefixes {
			if strings.HasPrefix(line, prefix) {
				lines = append(lines, line)
				break
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// commands are the recorded commands of evidence, nil of another source and of a reader that only poses as
// evidence.
func (p probe) commands() map[string]host.Answer {
	replay, ok := p.r.(interface{ Evidence() *host.Evidence })
	if !ok || !p.evidence() || replay.Evidence() == nil {
		return nil
	}
	return replay.Evidence().Commands
}

// answers returns what the recorded commands printed that begin with one of some prefixes, each with its
// command line as the only word of Argv. Only evidence is asked.
func (p probe) answers(prefixes ...string) []host.Result {
	var out []host.Result
	for _, line := range p.recordedAll(prefixes...) {
		if res, err := p.r.Query(p.ctx, strings.Split(line, " ")...); err == nil {
			res.Argv = []string{line}
			out = append(out, res)
		}
	}
	return out
}

// exitError is a program that ran and failed.
type exitError struct {
	program string
	code    int
	why     string
}

func (e *exitError) Error() string {
	return fmt.Sprintf("%s ended with exit code %d: %s", e.program, e.code, e.why)
}

// list makes a field of a list: an empty one means that there is none.
func list[T any](values []T, source string) facts.Field[[]T] {
	if len(values) == 0 {
		return facts.None[[]T](source)
	}
	return facts.Is(values, source)
}

// fill sets a field that is not known from a second source.
func fill[T any](to *facts.Field[T], from facts.Field[T]) {
	if to.IsUnknown() && !from.IsUnknown() {
		*to = from
	}
}

func (p probe) hostName() facts.Field[string] {
	name := p.attr("/proc/sys/kernel/hostname")
	if name.IsUnknown() || p.told.IsImage() {
		fill(&name, p.attr("/etc/hostname"))
	}
	if name.IsUnknown() {
		if text, from := p.firstTold("hostname", "uname -n"); text != "" {
			return facts.Is(strings.TrimSpace(text), from)
		}
	}
	return name
}
