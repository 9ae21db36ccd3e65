package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rdmactl/rdmactl/internal/strictyaml"
)

// maxRecorded is the text of one file that an evidence keeps, in bytes.
const maxRecorded = 64 << 10

// Recorder is a Reader that writes down what another one answered. It asks each question once and
// answers it the same from then on, so that what it served is what a replay will serve.
type Recorder struct {
	reader Reader
	now    time.Time

	mu      sync.Mutex
	files   map[string]answered[[]byte]
	dirs    map[string]answered[[]string]
	links   map[string]answered[string]
	stats   map[string]answered[FileInfo]
	lstats  map[string]answered[FileInfo]
	queries map[string]answered[Result]
	derived map[string]answered[Result]
	// binary names the file that a derived text was made from, by command.
	binary map[string]string
}

// answered is an answer or the error that was given instead.
type answered[T any] struct {
	value T
	err   error
}

// NewRecorder makes a Recorder over r.
func NewRecorder(r Reader) *Recorder {
	return &Recorder{
		reader: r,
		now:    r.Now().Truncate(time.Second), // what RFC 3339 keeps
		files:  map[string]answered[[]byte]{}, dirs: map[string]answered[[]string]{}, links: map[string]answered[string]{},
		stats: map[string]answered[FileInfo]{}, lstats: map[string]answered[FileInfo]{},
		queries: map[string]answered[Result]{}, derived: map[string]answered[Result]{}, binary: map[string]string{},
	}
}

// once asks a question if it was not asked before. The lock is not held while it is asked, since
// a command may take seconds; the first of two answers stays.
func once[T any](r *Recorder, m map[string]answered[T], key string, ask func() (T, error)) (T, error) {
	r.mu.Lock()
	old, ok := m[key]
	r.mu.Unlock()
	if ok {
		return old.value, old.err
	}
	value, err := ask()
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := m[key]; ok {
		return old.value, old.err
	}
	m[key] = answered[T]{value, err}
	return value, err
}

// errBinary is what a recorder says about a file that no evidence can hold.
var errBinary = errors.New("it holds NUL bytes and is no text")

// ReadFile returns the whole text; the evidence keeps its first 64 KiB. A binary file is an error.
func (r *Recorder) ReadFile(p string) ([]byte, error) {
	data, err := once(r, r.files, path.Clean(p), func() ([]byte, error) {
		data, err := r.reader.ReadFile(p)
		if err == nil && bytes.IndexByte(data, 0) >= 0 {
			return nil, pathError("read", p, errBinary)
		}
		return data, err
	})
	return slices.Clone(data), err
}

// ReadDir records a listing.
func (r *Recorder) ReadDir(p string) ([]string, error) {
	names, err := once(r, r.dirs, path.Clean(p), func() ([]string, error) { return r.reader.ReadDir(p) })
	return slices.Clone(names), err
}

// Readlink records a link.
func (r *Recorder) Readlink(p string) (string, error) {
	return once(r, r.links, path.Clean(p), func() (string, error) { return r.reader.Readlink(p) })
}

// Stat records what stat(1) would print, and device nodes as such.
func (r *Recorder) Stat(p string) (FileInfo, error) {
	return once(r, r.stats, path.Clean(p), func() (FileInfo, error) { return r.reader.Stat(p) })
}

// Lstat records the same of a link itself.
func (r *Recorder) Lstat(p string) (FileInfo, error) {
	return once(r, r.lstats, path.Clean(p), func() (FileInfo, error) { return r.reader.Lstat(p) })
}

// Now is the time at which the recording began.
func (r *Recorder) Now() time.Time { return r.now }

// Told is the reader's.
func (r *Recorder) Told() Told { return r.reader.Told() }

// Query records a command's answer. A context that ended is the caller's matter: it is not recorded.
func (r *Recorder) Query(ctx context.Context, argv ...string) (Result, error) {
	argv = slices.Clone(argv)
	key := commandKey(argv)
	if old, ok := r.asked(r.queries, key); ok {
		return old.value, old.err
	}
	result, err := r.reader.Query(ctx, argv...)
	result = withoutNUL(result)
	if err != nil && ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return result, err
	}
	return once(r, r.queries, key, func() (Result, error) { return result, err })
}

// Derive records the text under argv.
func (r *Recorder) Derive(ctx context.Context, p string, argv []string, decode Decoder) (Result, error) {
	argv = slices.Clone(argv)
	key := commandKey(argv)
	if old, ok := r.asked(r.derived, key); ok {
		return old.value, old.err
	}
	result, err := r.reader.Derive(ctx, p, argv, decode)
	result = withoutNUL(result)
	r.mu.Lock()
	r.binary[key] = path.Clean(p)
	r.mu.Unlock()
	return once(r, r.derived, key, func() (Result, error) { return result, err })
}

// withoutNUL keeps what was printed recordable.
func withoutNUL(result Result) Result {
	result.Stdout, result.Stderr = strings.ReplaceAll(result.Stdout, "\x00", "\uFFFD"), strings.ReplaceAll(result.Stderr, "\x00", "\uFFFD")
	return result
}

func (r *Recorder) asked(m map[string]answered[Result], key string) (answered[Result], bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, ok := m[key]
	return old, ok
}

// RecordOptions say how a recording is written down.
type RecordOptions struct {
	// NoRedact keeps addresses, identifiers and names. Credentials are left out all the same.
	NoRedact bool
	Title    string
	// RecordedAt is the day that the evidence stands for; zero is the recorder's own.
	RecordedAt time.Time
	// Container and ContainerRuntime are what detection found; nil and empty are not told.
	Container        *bool
	ContainerRuntime string
}

// Evidence writes down what was served so far. It is mode 0600 material even when redacted.
func (r *Recorder) Evidence(opts RecordOptions) (*Evidence, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	told := r.reader.Told()
	e := &Evidence{
		APIVersion: EvidenceAPIVersion, Kind: EvidenceKind, Title: opts.Title, Request: told.Request,
		Files: map[string]string{}, Links: map[string]string{}, Dirs: map[string][]string{},
		Nodes: map[string]Node{}, Commands: map[string]Answer{},
	}
	if e.Title == "" {
		e.Title = told.Title
	}
	at := opts.RecordedAt
	if at.IsZero() {
		at = r.now
	}
	if !at.IsZero() {
		e.RecordedAt = at.UTC().Format(time.RFC3339)
	}
	e.Context = contextOf(told, opts)
	for key, a := range r.queries {
		addCommand(e, key, a)
	}
	for key, a := range r.derived {
		if _, asked := r.files[r.binary[key]]; errors.Is(a.err, fs.ErrNotExist) && !asked {
			r.addFailure(e, r.binary[key], catKey(r.binary[key]), "cat", a.err)
			continue
		}
		addCommand(e, key, a)
	}
	r.addFiles(e)
	r.markUnknown(e)
	if err := Redact(e, opts.NoRedact); err != nil {
		return nil, err
	}
	if problems := e.check(strictyaml.Place{}, true); len(problems) > 0 {
		return nil, fmt.Errorf("cannot record the host: %w", problems)
	}
	return e, nil
}

func contextOf(told Told, opts RecordOptions) *Context {
	c := &Context{Container: told.Container, ContainerRuntime: told.ContainerRuntime, UID: told.UID, Image: told.IsImage()}
	if opts.Container != nil {
		c.Container = opts.Container
	}
	if opts.ContainerRuntime != "" {
		c.ContainerRuntime = opts.ContainerRuntime
	}
	if *c == (Context{}) {
		return nil
	}
	return c
}

func (r *Recorder) addFiles(e *Evidence) {
	for p, a := range r.files {
		if a.err != nil {
			r.addFailure(e, p, catKey(p), "cat", a.err)
			continue
		}
		text := string(a.value)
		if len(text) > maxRecorded {
			text = cut(text)
			e.Truncated = append(e.Truncated, p)
		}
		e.Files[p] = text
	}
	slices.Sort(e.Truncated)
	for p, a := range r.dirs {
		if a.err != nil {
			r.addFailure(e, p, lsKey(p), "ls", a.err)
			continue
		}
		e.Dirs[p] = slices.Clone(a.value)
	}
	for p, a := range r.links {
		if a.err != nil {
			r.addFailure(e, p, readlinkKey(p), "readlink", a.err)
			continue
		}
		e.Links[p] = a.value
	}
	for p, a := range r.stats {
		r.addStat(e, p, statKey(p), a)
	}
	for p, a := range r.lstats {
		r.addStat(e, p, lstatKey(p), a)
	}
}

// cut keeps whole lines.
func cut(text string) string {
	text = text[:maxRecorded]
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[:i+1]
	}
	return text
}

func (r *Recorder) addStat(e *Evidence, p, key string, a answered[FileInfo]) {
	if a.err != nil {
		r.addFailure(e, p, key, "stat", a.err)
		return
	}
	info := a.value
	if info.Mode&fs.ModeDevice != 0 {
		e.Nodes[p] = Node{Mode: fmt.Sprintf("%04o", rawPermissions(info.Mode)), Owner: info.Owner, Group: info.Group, Major: info.Major, Minor: info.Minor}
	}
	if info.Size >= 0 && info.Mode&fs.ModeIrregular == 0 {
		e.Commands[key] = Answer{Stdout: statLine(info)}
	}
}

// addFailure writes down why a question about a path had no answer. That nothing is there at all
// is said for every question, as by ls; anything else only for the question that was asked, since
// a file that cannot be read can still be listed.
func (r *Recorder) addFailure(e *Evidence, p, key, program string, err error) {
	switch errno, ok := knownErrno(err); {
	case errors.Is(err, ErrUnknown):
		return
	case errors.Is(err, fs.ErrNotExist):
		if l, known := r.lstats[p]; !known || errors.Is(l.err, fs.ErrNotExist) {
			if _, lerr := r.reader.Lstat(p); errors.Is(lerr, fs.ErrNotExist) {
				e.Commands[absenceKey(p)] = Answer{Stderr: fmt.Sprintf("ls: cannot access '%s': %s\n", p, errnoText(syscall.ENOENT)), Exit: 2}
				return
			}
		}
		r.addRefusal(e, key, Answer{Stderr: fmt.Sprintf("%s: %s: %s\n", program, p, errnoText(syscall.ENOENT)), Exit: 1})
	case ok:
		r.addRefusal(e, key, Answer{Stderr: fmt.Sprintf("%s: %s: %s\n", program, p, errnoText(errno)), Exit: 1})
	case errors.Is(err, fs.ErrPermission):
		r.addRefusal(e, key, Answer{Stderr: fmt.Sprintf("%s: %s: %s\n", program, p, errnoText(syscall.EACCES)), Exit: 1})
	default:
		r.addRefusal(e, key, Answer{Stderr: markPrefix + oneLine(err) + "\n", Exit: exitNoRun})
	}
}

// addRefusal writes down a refusal in the words of a program, or, where that very command was run
// and answered for itself, beside it.
func (r *Recorder) addRefusal(e *Evidence, key string, a Answer) {
	if _, taken := r.queries[key]; taken {
		key = ownKey(key)
	}
	e.Commands[key] = a
}

func addCommand(e *Evidence, key string, a answered[Result]) {
	switch program, _, _ := strings.Cut(key, " "); {
	case a.err == nil:
		e.Commands[key] = Answer{Stdout: a.value.Stdout, Stderr: a.value.Stderr, Exit: a.value.Exit}
	case errors.Is(a.err, ErrNotInstalled):
		e.Commands[key] = Answer{Stderr: "sh: " + program + ": command not found\n", Exit: exitMissing}
	case errors.Is(a.err, context.DeadlineExceeded):
		e.Commands[key] = Answer{Stderr: markPrefix + "no answer in time\n", Exit: exitTimeout}
	case errors.Is(a.err, ErrUnknown), errors.Is(a.err, ErrNotAllowed):
		// a replay says so by itself
	default:
		cause := a.err
		var ce *commandError
		if errors.As(cause, &ce) {
			cause = ce.err
		}
		text := oneLine(cause)
		if errno, ok := knownErrno(cause); ok {
			text = errnoText(errno)
		}
		e.Commands[key] = Answer{Stderr: markPrefix + text + "\n", Exit: exitNoRun}
	}
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// markUnknown notes what was not told where the rest of the evidence would make it look absent:
// an image's listing of "/" without proc says nothing about the machine's /proc.
func (r *Recorder) markUnknown(e *Evidence) {
	replay := NewReplay(e)
	mark := Answer{Stderr: markPrefix + ErrUnknown.Error() + "\n", Exit: exitNoRun}
	note := func(p, key string, err error, again func(string) error) {
		if errors.Is(err, ErrUnknown) && !errors.Is(again(p), ErrUnknown) {
			r.addRefusal(e, key, mark)
		}
	}
	for key, a := range r.derived {
		note(key, key, a.err, func(string) error {
			_, err := replay.Derive(context.Background(), r.binary[key], strings.Split(key, " "), nil)
			return err
		})
	}
	for p, a := range r.files {
		note(p, catKey(p), a.err, func(p string) error { _, err := replay.ReadFile(p); return err })
	}
	for p, a := range r.dirs {
		note(p, lsKey(p), a.err, func(p string) error { _, err := replay.ReadDir(p); return err })
	}
	for p, a := range r.links {
		note(p, readlinkKey(p), a.err, func(p string) error { _, err := replay.Readlink(p); return err })
	}
	for p, a := range r.stats {
		note(p, statKey(p), a.err, func(p string) error { _, err := replay.Stat(p); return err })
	}
	for p, a := range r.lstats {
		note(p, lstatKey(p), a.err, func(p string) error { _, err := replay.Lstat(p); return err })
	}
}
