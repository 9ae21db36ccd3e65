package journal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Store is the directory under which all runs are kept, /var/lib/rdmactl on a host. Of an image it may be a
// directory that is held open, as /proc/self/fd/N. No link below it leads out of it: an image's scripts are
// root in the image and may put links there.
type Store struct {
	Dir string
}

// idPattern is the form of a run id: UTC time to the second, then four random hex digits. Ids sort by
// time.
func idPattern() *regexp.Regexp { return regexp.MustCompile(`^\d{8}T\d{6}Z-[0-9a-f]{4}$`) }

// ValidID says whether id has the form of a run id, and so cannot lead out of the store.
func ValidID(id string) bool { return idPattern().MatchString(id) }

const runsName = "runs"

func (s Store) runs() string { return filepath.Join(s.Dir, runsName) }

// RunDir is the directory of a run.
func (s Store) RunDir(id string) string { return filepath.Join(s.runs(), id) }

// open opens the store, if it is ours alone.
func (s Store) open() (*os.Root, error) {
	if err := checkOwned(s.Dir); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("cannot use %s: %w", s.Dir, err)
	}
	return root, nil
}

// Create makes a new run with its plan and request, both on the disk when it returns.
func (s Store) Create(now time.Time, plan, request []byte) (*Run, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make run directory %s: %w", s.Dir, err)
	}
	root, err := s.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := root.Mkdir(runsName, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("cannot make run directory %s: %w", s.runs(), err)
	}
	if err := s.checkOwned(root, runsName); err != nil {
		return nil, err
	}
	id, err := s.newID(now)
	if err != nil {
		return nil, err
	}
	r := s.run(id)
	if err := root.Mkdir(r.in, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make run directory %s: %w", r.Dir, err)
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{"plan.json", plan}, {"request.json", request}, {journalName, nil}} {
		if err := r.writeSynced(root, f.name, f.data); err != nil {
			return nil, err
		}
	}
	for _, d := range []string{r.in, runsName, "."} {
		if err := s.syncDir(root, d); err != nil {
			return nil, err
		}
	}
	return s.Open(id)
}

const stampForm = "20060102T150405Z"

// newID makes an id that sorts after all others, also within one second and after the clock was set
// back: the order of the runs is the order in which they can be undone.
func (s Store) newID(now time.Time) (string, error) {
	var random [2]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", fmt.Errorf("cannot make a run id: %w", err)
	}
	suffix := int(random[0])<<8 | int(random[1])
	ids, err := s.IDs()
	if err != nil {
		return "", err
	}
	stamp := now.UTC().Truncate(time.Second)
	if len(ids) > 0 {
		text, last, _ := strings.Cut(ids[len(ids)-1], "-")
		latest, err := time.Parse(stampForm, text)
		if err != nil {
			return "", fmt.Errorf("cannot make a run id after %s: %w", ids[len(ids)-1], err)
		}
		used, err := strconv.ParseUint(last, 16, 16)
		if err != nil {
			return "", fmt.Errorf("cannot make a run id after %s: %w", ids[len(ids)-1], err)
		}
		if !stamp.After(latest) {
			stamp = latest
			if suffix = int(used) + 1 + suffix%16; suffix > 0xffff {
				stamp, suffix = latest.Add(time.Second), suffix&0xffff
			}
		}
	}
	return fmt.Sprintf("%s-%04x", stamp.Format(stampForm), suffix), nil
}

// IDs returns the ids of all runs, oldest first. A store that does not exist has none.
func (s Store) IDs() ([]string, error) {
	root, err := os.OpenRoot(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the runs in %s: %w", s.runs(), err)
	}
	defer root.Close()
	if info, err := root.Lstat(runsName); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("cannot use %s: not a directory: %w", s.runs(), ErrNotOurs)
	}
	names, err := fs.ReadDir(root.FS(), runsName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the runs in %s: %w", s.runs(), err)
	}
	ids := []string{}
	for _, n := range names {
		if n.IsDir() && ValidID(n.Name()) {
			ids = append(ids, n.Name())
		}
	}
	sort.Strings(ids)
	return ids, nil
}

func (s Store) run(id string) *Run {
	return &Run{ID: id, Dir: s.RunDir(id), store: s, in: path.Join(runsName, id)}
}

// Open reads a run and makes it ready for Append.
func (s Store) Open(id string) (*Run, error) {
	if !ValidID(id) {
		return nil, fmt.Errorf("cannot open run %q: not a run id", id)
	}
	root, err := s.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	r := s.run(id)
	for _, dir := range []string{runsName, r.in} {
		if err := s.checkOwned(root, dir); err != nil {
			return nil, err
		}
	}
	data, err := r.readFile(root, journalName)
	if err != nil {
		return nil, err
	}
	r.Entries, r.Torn, err = Parse(data)
	if err != nil {
		return nil, fmt.Errorf("cannot read journal %s: %w", filepath.Join(r.Dir, journalName), err)
	}
	r.size = int64(len(data)) - int64(r.Torn)
	return r, nil
}

// checkOwned refuses a directory that is not ours alone: root executes what a journal says.
func checkOwned(dir string) error {
	at := dir
	if held(dir) {
		at += "/." // the directory itself, not the link by which /proc shows it
	}
	info, err := os.Lstat(at)
	if err != nil {
		return fmt.Errorf("cannot use %s: %w", dir, err)
	}
	return checkInfo(dir, info, true)
}

// held says that a path is a directory which this process holds open.
func held(dir string) bool {
	number, ok := strings.CutPrefix(dir, "/proc/self/fd/")
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// checkOwned does the same for a directory of the store.
func (s Store) checkOwned(root *os.Root, name string) error {
	full := filepath.Join(s.Dir, name)
	info, err := root.Lstat(name)
	if err != nil {
		return fmt.Errorf("cannot use %s: %w", full, err)
	}
	return checkInfo(full, info, true)
}

// ErrNotOurs says that someone else owns or may write a journal or backup.
var ErrNotOurs = errors.New("not owned by root alone")

func checkInfo(path string, info fs.FileInfo, dir bool) error {
	switch {
	case dir && !info.IsDir():
		return fmt.Errorf("cannot use %s: not a directory: %w", path, ErrNotOurs)
	case !dir && !info.Mode().IsRegular():
		return fmt.Errorf("cannot use %s: not a regular file: %w", path, ErrNotOurs)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("cannot use %s: others may write it (mode %04o): %w", path, info.Mode().Perm(), ErrNotOurs)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("cannot use %s: owned by another user: %w", path, ErrNotOurs)
	}
	if !dir && st.Nlink != 1 {
		return fmt.Errorf("cannot use %s: it has %d names: %w", path, st.Nlink, ErrNotOurs)
	}
	return nil
}

func (s Store) syncDir(root *os.Root, name string) error {
	d, err := root.Open(name)
	if err == nil {
		err = d.Sync()
		if cerr := d.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		return fmt.Errorf("cannot sync %s: %w", filepath.Join(s.Dir, name), err)
	}
	return nil
}
