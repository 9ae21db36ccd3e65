package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/plan"
)

// filesStep writes and removes files of our own, through Writer's atomic WriteFile.
type filesStep struct{ run *run }

// fileUndo is one file before the step, and what the step makes of it.
type fileUndo struct {
	Before savedFile   `json:"before"`
	Remove bool        `json:"remove,omitempty"` // the step removes it
	Hash   string      `json:"left_sha256,omitempty"`
	Mode   fs.FileMode `json:"left_mode,omitempty"`
}

type filesUndo struct {
	Files []fileUndo `json:"files"`
	Dirs  []string   `json:"dirs,omitempty"` // that the step makes, outermost first
}

// fileMode reads a plan's octal mode; 0 keeps the mode of an existing file.
func fileMode(text string) (fs.FileMode, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 8, 12)
	if err != nil || n > 0o777 {
		return 0, fmt.Errorf("cannot use file mode %q: not three octal digits", text)
	}
	return fs.FileMode(n), nil
}

func checkPath(file string) error {
	if !path.IsAbs(file) || path.Clean(file) != file || file == "/" {
		return fmt.Errorf("cannot write %q: not a clean absolute path", file)
	}
	return nil
}

func (x *filesStep) check(_ context.Context, s plan.Step, _ bool) (bool, error) {
	for _, c := range s.Changes.Files {
		if err := checkPath(c.Path); err != nil {
			return false, err
		}
		now, _, err := look(x.run.host, c.Path)
		if err != nil {
			return false, err
		}
		if c.Action == "remove" {
			if now.Exists {
				return false, nil
			}
			continue
		}
		mode, err := fileMode(c.Mode)
		if err != nil {
			return false, err
		}
		if now.Hash != hashOf([]byte(c.Content)) || (mode != 0 && now.Mode.Perm() != mode) {
			return false, nil
		}
	}
	return true, nil
}

func (x *filesStep) prepare(_ context.Context, s plan.Step) (any, error) {
	u := filesUndo{Files: []fileUndo{}}
	seen := map[string]bool{}
	for i, c := range s.Changes.Files {
		if err := checkPath(c.Path); err != nil {
			return nil, err
		}
		if c.Action != "write" && c.Action != "remove" {
			return nil, fmt.Errorf("cannot change %s: unknown action %q", c.Path, c.Action)
		}
		before, err := save(x.run.host, x.run.journal, c.Path, fmt.Sprintf("%s-%d", s.ID, i))
		if err != nil {
			return nil, err
		}
		f := fileUndo{Before: before, Remove: c.Action == "remove"}
		if !f.Remove {
			if f.Mode, err = fileMode(c.Mode); err != nil {
				return nil, err
			}
			if f.Mode == 0 {
				f.Mode = 0o644
				if before.Exists && before.Link == "" {
					f.Mode = before.Mode.Perm()
				}
			}
			f.Hash = hashOf([]byte(c.Content))
			dirs, err := missingDirs(x.run.host, path.Dir(c.Path))
			if err != nil {
				return nil, err
			}
			for _, d := range dirs {
				if !seen[d] {
					seen[d] = true
					u.Dirs = append(u.Dirs, d)
				}
			}
		}
		u.Files = append(u.Files, f)
	}
	return u, nil
}

// missingDirs returns dir and its parents as far as they do not exist, outermost first.
func missingDirs(r host.Reader, dir string) ([]string, error) {
	missing := []string{}
	for dir != "/" {
		_, err := r.Stat(dir)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot look at %s: %w", dir, err)
		}
		missing = append([]string{dir}, missing...)
		dir = path.Dir(dir)
	}
	return missing, nil
}

func (x *filesStep) do(_ context.Context, s plan.Step, undo json.RawMessage) (any, string, error) {
	var u filesUndo
	if err := decode(undo, &u); err != nil {
		return nil, "", err
	}
	if len(u.Files) != len(s.Changes.Files) {
		return nil, "", fmt.Errorf("cannot execute step %s: the journal holds %d files for %d", s.ID, len(u.Files), len(s.Changes.Files))
	}
	for i, c := range s.Changes.Files {
		if err := host.Tidy(x.run.host, c.Path); err != nil { // of an attempt that was killed
			return nil, "", err
		}
		if c.Action == "remove" {
			if err := x.run.host.Remove(c.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, "", fmt.Errorf("cannot remove %s: %w", c.Path, err)
			}
			continue
		}
		if err := x.run.host.MkdirAll(path.Dir(c.Path), 0o755); err != nil {
			return nil, "", fmt.Errorf("cannot make %s: %w", path.Dir(c.Path), err)
		}
		if u.Files[i].Before.Link != "" {
			// The link is replaced, what it leads to is left alone.
			if err := x.run.host.Remove(c.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, "", fmt.Errorf("cannot replace link %s: %w", c.Path, err)
			}
		}
		if err := x.run.host.WriteFile(c.Path, []byte(c.Content), u.Files[i].Mode); err != nil {
			return nil, "", fmt.Errorf("cannot write %s: %w", c.Path, err)
		}
	}
	return nil, "", nil
}

func (x *filesStep) stopper(context.Context, plan.Step, record) error { return nil }

// filesFate is what beforeUndo decided about each file, so that an undo that is cut short and tried
// again does not take its own work for an administrator's.
type filesFate struct {
	Fates []string `json:"fates"`
}

const (
	fateBack   = "back"   // it is what the run left: make it as it was
	fateAsIs   = "as-is"  // it already is as it was
	fateEdited = "edited" // someone changed it: keep it, lay the old text beside it
)

func (x *filesStep) beforeUndo(_ context.Context, _ plan.Step, rec record) (any, error) {
	if len(rec.kept) > 0 {
		return nil, nil
	}
	var u filesUndo
	if err := decode(rec.undo, &u); err != nil {
		return nil, err
	}
	fate := filesFate{Fates: []string{}}
	for _, f := range u.Files {
		how, err := x.fate(f)
		if err != nil {
			return nil, err
		}
		fate.Fates = append(fate.Fates, how)
	}
	return fate, nil
}

// fate is the three-way comparison: as it was, as the run left it, as it is.
func (x *filesStep) fate(f fileUndo) (string, error) {
	info, err := x.run.host.Lstat(f.Before.Path)
	if err == nil && !info.Mode.IsRegular() && info.Mode&fs.ModeSymlink == 0 {
		return fateEdited, nil // someone put a directory or device there
	}
	now, _, err := look(x.run.host, f.Before.Path)
	if err != nil {
		return "", err
	}
	left := savedFile{}
	if !f.Remove {
		left = savedFile{Exists: true, Hash: f.Hash, Mode: f.Mode}
	}
	switch {
	case same(now, f.Before) && now.UID == f.Before.UID && now.GID == f.Before.GID:
		return fateAsIs, nil
	case same(now, left), !now.Exists && f.Before.Link != "":
		// A link is removed before the file is written, so absence may be our own doing there.
		return fateBack, nil
	}
	return fateEdited, nil
}

func same(a, b savedFile) bool {
	if !a.Exists || !b.Exists {
		return a.Exists == b.Exists
	}
	return a.Link == b.Link && a.Hash == b.Hash && (a.Link != "" || a.Mode.Perm() == b.Mode.Perm())
}

func (x *filesStep) undo(_ context.Context, _ plan.Step, rec record) (undone, error) {
	out := undone{}
	var u filesUndo
	if err := decode(rec.undo, &u); err != nil {
		return out, err
	}
	var fate filesFate
	if len(rec.kept) > 0 {
		if err := decode(rec.kept[0], &fate); err != nil {
			return out, err
		}
	}
	if len(fate.Fates) != len(u.Files) {
		return out, fmt.Errorf("cannot undo: the journal decides about %d files of %d", len(fate.Fates), len(u.Files))
	}
	for i, f := range u.Files {
		file := f.Before.Path
		if err := host.Tidy(x.run.host, file); err != nil { // of a run that was killed
			return out, err
		}
		switch fate.Fates[i] {
		case fateBack:
			if err := putBack(x.run.host, x.run.journal, f.Before, file); err != nil {
				return out, err
			}
		case fateEdited:
			out.kept = append(out.kept, file)
			if f.Before.Exists {
				if err := putBack(x.run.host, x.run.journal, f.Before, file+".rdmactl-old"); err != nil {
					return out, err
				}
				out.notes = append(out.notes, fmt.Sprintf("%s was changed after the run and is kept; its text from before the run is in %s.rdmactl-old", file, file))
			} else {
				out.notes = append(out.notes, fmt.Sprintf("%s was changed after the run and is kept", file))
			}
		}
	}
	for i := len(u.Dirs) - 1; i >= 0; i-- {
		names, err := x.run.host.ReadDir(u.Dirs[i])
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return out, fmt.Errorf("cannot look into %s: %w", u.Dirs[i], err)
		}
		if len(names) > 0 {
			continue // someone else put something there
		}
		if err := x.run.host.Remove(u.Dirs[i]); err != nil {
			return out, fmt.Errorf("cannot remove directory %s: %w", u.Dirs[i], err)
		}
	}
	return out, nil
}
