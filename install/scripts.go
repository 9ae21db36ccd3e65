package install

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/plan"
)

// A vendor's packages change files that no package owns, as their scripts run: limits.conf, ib_ipoib.conf, and
// directories that the package manager removes when it finds them empty. The package manager does not put those
// back. So what is below /etc is kept before such a transaction, and compared after it is taken back.

// keptFile is one file below /etc before a transaction.
type keptFile struct {
	Path   string            `json:"path"`
	Mode   fs.FileMode       `json:"mode"`
	UID    uint32            `json:"uid"`
	GID    uint32            `json:"gid"`
	Link   string            `json:"link,omitempty"`
	Xattrs map[string][]byte `json:"xattrs,omitempty"`
	Hash   string            `json:"sha256,omitempty"`
	Data   []byte            `json:"data,omitempty"` // nil for directories, links, and files over keptLimit
}

const (
	keptLimit = 1 << 20  // bytes of one file; larger ones are told apart and not put back
	keptTotal = 64 << 20 // bytes of all
	etcDir    = "/etc"
)

// emptied are directories outside of /etc that belong to the system, and go when the last package that has
// files there goes.
func emptied() []string { return []string{"/opt", "/usr/local", "/srv", "/var/opt"} }

// runsScripts says that packages come from a repository that the plan adds, or that a vendor's go. In a bundle a
// vendor's packages are beside the distribution's.
func (r *run) runsScripts() bool {
	bundled := r.order.Offline != nil && r.plan.Chosen != nil && r.plan.Chosen.Stack != "inbox"
	return bundled || restoring(r.plan) || slices.ContainsFunc(r.plan.Steps, func(s plan.Step) bool { return s.Kind == plan.KindRepository || s.ID == plan.RemovalStep })
}

// lookAtEtc reads all that is below /etc, in order of paths, but for what install.Exceptions names. With data it
// has the texts as well.
func lookAtEtc(r host.Writer, withData bool) ([]keptFile, error) {
	var out []keptFile
	total := 0
	var walk func(dir string) error
	one := func(name string) error {
		f, err := lookAtKept(r, name, withData)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone since it was listed
		}
		if err != nil {
			return err
		}
		if total += len(f.Data); total > keptTotal {
			f.Data = nil
		}
		out = append(out, f)
		if f.Mode.IsDir() {
			return walk(name)
		}
		return nil
	}
	walk = func(dir string) error {
		names, err := r.ReadDir(dir)
		if err != nil {
			return fmt.Errorf("cannot look into %s: %w", dir, err)
		}
		for _, n := range names {
			if name := path.Join(dir, n); !excepted(name) {
				if err := one(name); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := walk(etcDir); err != nil {
		return nil, err
	}
	for _, dir := range emptied() {
		f, err := lookAtKept(r, dir, false)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func excepted(name string) bool {
	return slices.ContainsFunc(Exceptions(), func(e Exception) bool {
		ok, err := path.Match(e.Path, name)
		return err == nil && ok
	})
}

func lookAtKept(r host.Writer, name string, withData bool) (keptFile, error) {
	info, err := r.Lstat(name)
	if err != nil {
		return keptFile{}, fmt.Errorf("cannot look at %s: %w", name, err)
	}
	f := keptFile{Path: name, Mode: info.Mode, UID: info.UID, GID: info.GID}
	switch {
	case info.Mode&fs.ModeSymlink != 0:
		f.Link, err = r.Readlink(name)
	case info.Mode.IsRegular():
		var data []byte
		if data, err = r.ReadFile(name); err != nil {
			break
		}
		f.Hash = hashOf(data)
		if withData && len(data) <= keptLimit {
			f.Data = data
			f.Xattrs, err = r.Xattrs(name)
		}
	}
	if err != nil {
		return f, fmt.Errorf("cannot read %s: %w", name, err)
	}
	return f, nil
}

// sameKept says that a file is as it was; times do not count.
func sameKept(a, b keptFile) bool {
	return a.Mode == b.Mode && a.UID == b.UID && a.GID == b.GID && a.Link == b.Link && a.Hash == b.Hash
}

// changedEtc are the files that differ between two looks, as they are in the second; Mode 0 is one that is gone.
func changedEtc(before, after []keptFile) []keptFile {
	was := map[string]keptFile{}
	for _, f := range before {
		was[f.Path] = f
	}
	out := []keptFile{}
	for _, f := range after {
		old, there := was[f.Path]
		delete(was, f.Path)
		if !there || !sameKept(old, f) {
			f.Data, f.Xattrs = nil, nil
			out = append(out, f)
		}
	}
	for _, f := range before {
		if _, gone := was[f.Path]; gone {
			out = append(out, keptFile{Path: f.Path})
		}
	}
	return out
}

func packKept(files []keptFile) ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if err := errors.Join(json.NewEncoder(z).Encode(files), z.Close()); err != nil {
		return nil, fmt.Errorf("cannot keep the files below %s: %w", etcDir, err)
	}
	return out.Bytes(), nil
}

func unpackKept(data []byte) ([]keptFile, error) {
	var files []keptFile
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(z, 4*keptTotal)).Decode(&files)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the kept files of %s: %w", etcDir, err)
	}
	return files, nil
}

// putBackScripted makes what scripts changed as it was before the transaction: with the installation, and with its
// undo, whose scripts run as well. left is what the transaction left other than it was, found is what was other
// than it was just before the undo. Where the two differ someone else was at work, and that is kept.
func putBackScripted(w host.Writer, before, left, found []keptFile) (undone, error) {
	var out undone
	after, err := lookAtEtc(w, false)
	if err != nil {
		return out, err
	}
	was, ours, theirs, now := byPath(before), byPath(left), byPath(found), byPath(after)
	changed := changedEtc(before, after)
	// Directories that come back are made before what is in them, and those that go are removed after it.
	slices.SortFunc(changed, func(a, b keptFile) int { return strings.Compare(a.Path, b.Path) })
	var dirs []string
	for _, c := range changed {
		then, changedThen := theirs[c.Path]
		if _, byRun := ours[c.Path]; !byRun && changedThen && sameKept(then, c) {
			continue // neither the run nor its undo had to do with it
		}
		if !sameState(ours, theirs, c.Path) {
			out.kept = append(out.kept, c.Path)
			out.notes = append(out.notes, c.Path+" was changed after the run and is kept")
			continue
		}
		old, existed := was[c.Path]
		current, here := now[c.Path]
		switch {
		case !existed && current.Mode.IsDir():
			dirs = append(dirs, c.Path)
		case !existed:
			if err := w.Remove(c.Path); err != nil {
				return out, fmt.Errorf("cannot remove %s: %w", c.Path, err)
			}
		default:
			if err := putBackKept(w, old, !here); err != nil {
				return out, err
			}
		}
	}
	for _, dir := range slices.Backward(dirs) {
		names, err := w.ReadDir(dir)
		if err != nil {
			return out, fmt.Errorf("cannot look into %s: %w", dir, err)
		}
		if len(names) > 0 {
			continue // someone put something there
		}
		if err := w.Remove(dir); err != nil {
			return out, fmt.Errorf("cannot remove directory %s: %w", dir, err)
		}
	}
	return out, nil
}

func byPath(files []keptFile) map[string]keptFile {
	out := map[string]keptFile{}
	for _, f := range files {
		out[f.Path] = f
	}
	return out
}

// sameState says that a path was just before the undo what the transaction left it as: in neither, it was as
// before the run at both times.
func sameState(left, found map[string]keptFile, name string) bool {
	a, changedByRun := left[name]
	b, changedThen := found[name]
	return changedByRun == changedThen && sameKept(a, b)
}

func putBackKept(w host.Writer, f keptFile, gone bool) error {
	fail := func(err error) error { return fmt.Errorf("cannot put back %s: %w", f.Path, err) }
	if err := host.Tidy(w, f.Path); err != nil { // of an undo that was killed
		return fail(err)
	}
	special := f.Mode & (fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
	switch {
	case f.Mode&fs.ModeSymlink != 0:
		if !gone {
			if err := w.Remove(f.Path); err != nil {
				return fail(err)
			}
		}
		if err := w.Symlink(f.Link, f.Path); err != nil {
			return fail(err)
		}
		return nil
	case f.Mode.IsDir():
		if err := w.MkdirAll(f.Path, f.Mode.Perm()); err != nil {
			return fail(err)
		}
	case f.Mode.IsRegular() && (f.Data != nil || f.Hash == hashOf(nil)):
		if err := w.WriteFile(f.Path, f.Data, f.Mode.Perm()|special); err != nil {
			return fail(err)
		}
	default:
		return fail(errors.New("what it was is not kept, since it is too large or no file"))
	}
	if err := w.Chown(f.Path, f.UID, f.GID); err != nil {
		return fail(err)
	}
	if err := w.Chmod(f.Path, f.Mode.Perm()|special); err != nil {
		return fail(err)
	}
	for name, value := range f.Xattrs {
		if err := w.SetXattr(f.Path, name, value); err != nil {
			return fail(err)
		}
	}
	return nil
}
