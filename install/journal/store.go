package journal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Store is the directory under which all runs are kept, /var/lib/rdmactl on a host.
type Store struct {
	Dir string
}

// idPattern is the form of a run id: UTC time to the second, then four random hex digits. Ids sort by
// time.
func idPattern() *regexp.Regexp { return regexp.MustCompile(`^\d{8}T\d{6}Z-[0-9a-f]{4}$`) }

// ValidID says whether id has the form of a run id, and so cannot lead out of the store.
func ValidID(id string) bool { return idPattern().MatchString(id) }

func (s Store) runs() string { return filepath.Join(s.Dir, "runs") }

// RunDir is the directory of a run.
func (s Store) RunDir(id string) string { return filepath.Join(s.runs(), id) }

// Create makes a new run with its plan and request, both on the disk when it returns.
func (s Store) Create(now time.Time, plan, request []byte) (*Run, error) {
	for _, dir := range []string{s.Dir, s.runs()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("cannot make run directory %s: %w", dir, err)
		}
		if err := checkOwned(dir, true); err != nil {
			return nil, err
		}
	}
	id, err := s.newID(now)
	if err != nil {
		return nil, err
	}
	dir := s.RunDir(id)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make run directory %s: %w", dir, err)
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{"plan.json", plan}, {"request.json", request}, {journalName, nil}} {
		if err := writeSynced(filepath.Join(dir, f.name), f.data); err != nil {
			return nil, err
		}
	}
	for _, d := range []string{dir, s.runs(), s.Dir} {
		if err := syncDir(d); err != nil {
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
	names, err := os.ReadDir(s.runs())
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

// Open reads a run and makes it ready for Append.
func (s Store) Open(id string) (*Run, error) {
	if !ValidID(id) {
		return nil, fmt.Errorf("cannot open run %q: not a run id", id)
	}
	for _, dir := range []string{s.Dir, s.runs(), s.RunDir(id)} {
		if err := checkOwned(dir, true); err != nil {
			return nil, err
		}
	}
	r := &Run{ID: id, Dir: s.RunDir(id)}
	data, err := r.ReadFile(journalName)
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

// ReadFile reads a file of the run's directory, if the owner of the store alone may write it.
func (r *Run) ReadFile(name string) ([]byte, error) {
	path := filepath.Join(r.Dir, name)
	if rel, err := filepath.Rel(r.Dir, path); err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return nil, fmt.Errorf("cannot read %s: outside of the run's directory", path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	if err := checkInfo(path, info, false); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return data, nil
}

// WriteFile writes a new file into the run's directory, on the disk when it returns.
func (r *Run) WriteFile(name string, data []byte) error {
	path := filepath.Join(r.Dir, name)
	dir := filepath.Dir(path)
	if dir != r.Dir {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("cannot write %s: %w", path, err)
		}
		if err := syncDir(r.Dir); err != nil {
			return err
		}
	}
	if err := writeSynced(path, data); err != nil {
		return err
	}
	return syncDir(dir)
}

// checkOwned refuses a file or directory that is not ours alone: root executes what a journal says.
func checkOwned(path string, dir bool) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("cannot use %s: %w", path, err)
	}
	return checkInfo(path, info, dir)
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

func writeSynced(path string, data []byte) error {
	tmp := path + ".new"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot sync %s: %w", path, err)
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("cannot sync %s: %w", path, err)
	}
	return nil
}
