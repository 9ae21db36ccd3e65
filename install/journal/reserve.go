package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const reserveName = "reserve"

// Reserve keeps room on the run's file system that others cannot fill, in a file that Release removes. A file system
// that gives none beforehand (ZFS, NFS before 4.2) is no error.
func (r *Run) Reserve(bytes int64) error {
	root, err := r.store.open()
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := r.open(root, reserveName, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("cannot reserve room in %s: %w", r.Dir, err)
	}
	err = syscall.Fallocate(int(f.Fd()), 0, 0, bytes)
	if errors.Is(err, syscall.EOPNOTSUPP) {
		err = nil
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("cannot reserve room in %s: %w", r.Dir, err)
	}
	return nil
}

// Release gives back what was reserved, and says whether there was something.
func (r *Run) Release() (bool, error) {
	root, err := r.store.open()
	if err != nil {
		return false, err
	}
	defer root.Close()
	in, err := r.below(reserveName)
	if err != nil {
		return false, err
	}
	err = root.Remove(in)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot remove %s: %w", filepath.Join(r.Dir, reserveName), err)
	}
	return true, nil
}
