package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// maxLinks is the kernel's own bound for links in one path.
const maxLinks = 40

// Replay is a Reader of an Evidence. It tells what the evidence tells and nothing more:
//   - a file, listing, link or node that stands there, or that a listed cat, ls, stat or readlink
//     printed, is told as such;
//   - a path is absent (fs.ErrNotExist) if a listing of a directory above it lacks its name, or a
//     listed command on exactly this path or one above it says so;
//   - anything else is ErrUnknown. A listing is never made up from the paths that happen to be there.
type Replay struct {
	evidence *Evidence
	listings map[string]listing // of dirs and of ls commands
	stats    map[string]lsEntry // of "ls -l", by path
	implied  map[string]bool    // directories above some path that is there
	asked    map[string]bool    // paths that some command was run on
	above    map[string]bool    // links, and paths that were listed or asked for: what speaks of paths below it
}

// NewReplay makes a Reader of e, which must not change afterwards.
func NewReplay(e *Evidence) *Replay {
	r := &Replay{evidence: e, listings: map[string]listing{}, stats: map[string]lsEntry{}, implied: map[string]bool{}, asked: map[string]bool{}}
	for key, answer := range e.Commands {
		r.addLs(key, answer)
		for i := range len(key) - 1 {
			if key[i] == ' ' && key[i+1] == '/' {
				r.asked[key[i+1:]] = true
			}
		}
	}
	for dir, names := range e.Dirs {
		names = append([]string{}, names...) // never nil: listed and empty
		slices.Sort(names)
		r.listings[dir] = listing{names: slices.Compact(names), hidden: true}
	}
	r.addGiven()
	r.imply(sortedKeys(e.Files))
	r.imply(sortedKeys(e.Links))
	r.imply(sortedKeys(e.Nodes))
	for dir, l := range r.listings {
		r.implied[dir] = true
		if len(l.names) > 0 {
			r.imply([]string{path.Join(dir, l.names[0])})
		} else {
			r.imply([]string{dir})
		}
	}
	r.above = make(map[string]bool, len(e.Links)+len(r.listings)+len(r.stats)+len(r.asked))
	addKeys(r.above, e.Links)
	addKeys(r.above, r.listings)
	addKeys(r.above, r.stats)
	addKeys(r.above, r.asked)
	return r
}

// addGiven adds to a listing what stands below the directory all the same: in evidence that was typed by hand a file
// is given, and the listing above it is not brought up to date.
func (r *Replay) addGiven() {
	for file := range r.evidence.Files {
		dir, name := path.Dir(file), path.Base(file)
		l, listed := r.listings[dir]
		if !listed {
			continue
		}
		if at, found := slices.BinarySearch(l.names, name); !found {
			l.names = slices.Insert(l.names, at, name)
			r.listings[dir] = l
		}
	}
}

func addKeys[V any](to map[string]bool, from map[string]V) {
	for key := range from {
		to[key] = true
	}
}

func (r *Replay) imply(paths []string) {
	for _, p := range paths {
		for p != "/" && p != "." {
			p = path.Dir(p)
			if r.implied[p] {
				break
			}
			r.implied[p] = true
		}
	}
}

// Evidence returns what is replayed.
func (r *Replay) Evidence() *Evidence { return r.evidence }

// Peers returns readers of the further hosts of the evidence.
func (r *Replay) Peers() []*Replay {
	peers := make([]*Replay, len(r.evidence.Peers))
	for i, p := range r.evidence.Peers {
		peers[i] = NewReplay(p)
	}
	return peers
}

// Inferred says that a key such as "commands.uname -r" or "files./etc/os-release" was concluded by
// the evidence's author and does not stand literally in the report.
func (r *Replay) Inferred(key string) bool { return slices.Contains(r.evidence.Inferred, key) }

// Truncated says that the text of a file was cut: what is missing there is not known to be absent.
func (r *Replay) Truncated(path string) bool { return slices.Contains(r.evidence.Truncated, path) }

// ReadFile returns a recorded file, or what a recorded cat printed.
func (r *Replay) ReadFile(p string) ([]byte, error) {
	return lookup(r, "read", p, true, r.readFile)
}

// ReadDir returns a recorded listing, sorted.
func (r *Replay) ReadDir(p string) ([]string, error) {
	return lookup(r, "readdir", p, true, r.readDir)
}

// Readlink returns a recorded target.
func (r *Replay) Readlink(p string) (string, error) {
	return lookup(r, "readlink", p, false, r.readlink)
}

// Stat tells what is known of a file behind links. Of a name that only a listing shows, the type
// is not told: its mode is fs.ModeIrregular and its size -1. A file of which only the text is known
// has no permission bits, and a size of -1 if it was cut; a directory has size -1. UID and GID of a
// node that was typed by hand are not told: its Owner and Group are, and UID is right for "root".
func (r *Replay) Stat(p string) (FileInfo, error) {
	return lookup(r, "stat", p, true, func(p string) (FileInfo, error) { return r.stat(p, true) })
}

// Lstat is Stat of the link itself.
func (r *Replay) Lstat(p string) (FileInfo, error) {
	return lookup(r, "lstat", p, false, func(p string) (FileInfo, error) { return r.stat(p, false) })
}

// Now is the time of recording, zero when not told.
func (r *Replay) Now() time.Time {
	at, err := time.Parse(time.RFC3339, r.evidence.RecordedAt)
	if err != nil {
		return time.Time{} // ParseEvidence refused any text that is not a time: none was given
	}
	return at
}

// Told returns the evidence's context, request and title.
func (r *Replay) Told() Told {
	told := Told{Kind: "evidence", Title: r.evidence.Title, Request: r.evidence.Request}
	if c := r.evidence.Context; c != nil {
		told.UID, told.Container, told.ContainerRuntime = c.UID, c.Container, c.ContainerRuntime
		told.Image = c.Image
	}
	return told
}

// Query returns a recorded answer. Nothing is run.
func (r *Replay) Query(_ context.Context, argv ...string) (Result, error) {
	answer, ok := r.evidence.Commands[commandKey(argv)]
	if !ok {
		if err := Allowed(argv); err != nil {
			return Result{}, err
		}
		return Result{}, &commandError{argv, ErrUnknown}
	}
	return result(argv, answer)
}

// Derive returns the text recorded under argv.
func (r *Replay) Derive(_ context.Context, p string, argv []string, _ Decoder) (Result, error) {
	answer, ok := r.evidence.Commands[commandKey(argv)]
	if ok {
		return result(argv, answer)
	}
	_, err := lookup(r, "read", p, true, func(p string) (string, error) {
		if _, err := r.readFile(p); err != nil {
			return "", err
		}
		return "", ErrUnknown
	})
	return Result{}, err
}

// result turns an answer into a Result, or into the error that it stands for.
func result(argv []string, a Answer) (Result, error) {
	switch {
	case a.Exit == exitMissing && strings.Contains(a.Stderr+a.Stdout, "command not found"):
		return Result{}, &commandError{argv, ErrNotInstalled}
	case a.Exit == exitTimeout && strings.HasPrefix(a.Stderr, markPrefix):
		return Result{}, &commandError{argv, context.DeadlineExceeded}
	case a.Exit == exitNoRun && strings.HasPrefix(a.Stderr, markPrefix):
		return Result{}, &commandError{argv, markedError(a.Stderr)}
	}
	return Result{Argv: argv, Stdout: a.Stdout, Stderr: a.Stderr, Exit: a.Exit}, nil
}

// markedError turns a recorder's note back into the error it was written for.
func markedError(stderr string) error {
	text := strings.TrimSuffix(strings.TrimPrefix(stderr, markPrefix), "\n")
	for _, known := range []error{ErrUnknown, ErrNotAllowed} {
		if text == known.Error() {
			return known
		}
	}
	if errno, ok := errnoOf(stderr); ok {
		return fmt.Errorf("%s (%w)", text, errno)
	}
	return errors.New(text)
}

// errElsewhere says that a path as it is written is not told; a link in it or what is known above
// it may still answer.
var errElsewhere = errors.New("not told at this path")

// lookup answers one question about a path: as it is written, then with its links followed, and
// last from what is known to be absent.
func lookup[T any](r *Replay, op, p string, follow bool, direct func(string) (T, error)) (T, error) {
	var zero T
	fail := func(err error) (T, error) { return zero, &fs.PathError{Op: op, Path: p, Err: err} }
	if !path.IsAbs(p) {
		return fail(syscall.EINVAL)
	}
	at := p
	if !isClean(p) {
		at = path.Clean(p)
	}
	if !r.tells(at) {
		return fail(ErrUnknown) // as most of what is asked about a ticket
	}
	for range maxLinks {
		value, err := direct(at)
		if err == nil {
			return value, nil
		}
		if !errors.Is(err, errElsewhere) {
			return fail(err)
		}
		next, linked := r.follow(at, follow)
		if !linked {
			if r.absent(at) {
				return fail(fs.ErrNotExist)
			}
			return fail(ErrUnknown)
		}
		at = next
	}
	return fail(syscall.ELOOP)
}

// tells says that some part of the evidence may answer a question about p: it is about p itself, or about a
// directory above it that is a link, was listed, or was asked for.
func (r *Replay) tells(p string) bool {
	if r.shown(p) {
		return true
	}
	for len(p) > 1 {
		if r.above[p] {
			return true
		}
		p = p[:strings.LastIndexByte(p, '/')] // of a clean path, so "" at last
	}
	return r.above["/"]
}

// isClean says that path.Clean would leave an absolute path as it is, as nearly all are that are asked for:
// to look is many times as fast as to clean.
func isClean(p string) bool {
	for i := 0; i < len(p); i++ {
		if p[i] != '/' {
			continue
		}
		rest := p[i+1:]
		switch {
		case rest == "":
			return i == 0
		case rest[0] == '/', rest == ".", rest == "..", strings.HasPrefix(rest, "./"), strings.HasPrefix(rest, "../"):
			return false
		}
	}
	return true
}

// follow replaces the first link in a path by its target.
func (r *Replay) follow(p string, last bool) (string, bool) {
	for i := 1; i <= len(p); i++ {
		if i < len(p) && p[i] != '/' || i == len(p) && !last {
			continue
		}
		target, ok := r.target(p[:i])
		if !ok {
			continue
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(p[:i]), target)
		}
		return path.Join(target, p[i:]), true
	}
	return p, false
}

// absent says that p is known not to be there.
func (r *Replay) absent(p string) bool {
	for ; p != "/"; p = path.Dir(p) {
		if r.there(p) {
			return false
		}
		if errno, ok := r.refused(p); ok && errno == syscall.ENOENT {
			return true
		}
		dir, name := path.Split(p)
		if l, ok := r.listings[path.Clean(dir)]; ok && l.lacks(name) {
			return true
		}
	}
	return false
}

// there says that some part of the evidence shows p.
func (r *Replay) there(p string) bool {
	if r.implied[p] {
		return true
	}
	_, err := r.stat(p, false)
	return err == nil
}
