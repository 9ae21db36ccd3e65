package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// prunedPrefix marks a run that is on its way out. The name is no run id, so that a removal that was cut short
// leaves nothing that looks like a run.
const prunedPrefix = "pruned-"

// Remove removes a run with all that it kept, and returns how many bytes that were.
func (s Store) Remove(id string) (int64, error) {
	if !ValidID(id) {
		return 0, fmt.Errorf("cannot remove run %q: not a run id", id)
	}
	root, err := s.open()
	if err != nil {
		return 0, err
	}
	defer root.Close()
	if err := s.checkOwned(root, runsName); err != nil {
		return 0, err
	}
	freed, err := sizeOf(root, path.Join(runsName, id))
	if err != nil {
		return 0, fmt.Errorf("cannot remove run %s: %w", id, err)
	}
	if err := root.Rename(path.Join(runsName, id), path.Join(runsName, prunedPrefix+id)); err != nil {
		return 0, fmt.Errorf("cannot remove run %s: %w", id, err)
	}
	if err := s.syncDir(root, runsName); err != nil {
		return 0, err
	}
	return freed, s.sweep(root)
}

// Sweep removes what earlier removals that were cut short left.
func (s Store) Sweep() error {
	root, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return s.sweep(root)
}

func (s Store) sweep(root *os.Root) error {
	names, err := fs.ReadDir(root.FS(), runsName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the runs in %s: %w", s.runs(), err)
	}
	for _, n := range names {
		if id, ok := strings.CutPrefix(n.Name(), prunedPrefix); ok && ValidID(id) {
			if err := root.RemoveAll(path.Join(runsName, n.Name())); err != nil {
				return fmt.Errorf("cannot remove what is left of run %s: %w", id, err)
			}
		}
	}
	return s.syncDir(root, runsName)
}

// sizeOf sums the files below a directory, links and special files not among them.
func sizeOf(root *os.Root, dir string) (int64, error) {
	var sum int64
	err := fs.WalkDir(root.FS(), dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum += info.Size()
		return nil
	})
	return sum, err
}
