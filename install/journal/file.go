package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// ReadFile reads a file of the run's directory, if the owner of the store alone may write it.
func (r *Run) ReadFile(name string) ([]byte, error) {
	root, err := r.store.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return r.readFile(root, name)
}

// below is the name of a file below the store, if it is in the run's directory.
func (r *Run) below(name string) (string, error) {
	if !fs.ValidPath(name) || name == "." {
		return "", fmt.Errorf("cannot use %s: outside of the run's directory", filepath.Join(r.Dir, name))
	}
	return path.Join(r.in, name), nil
}

// open opens a file of the run's directory, without waiting for the other end of what is none.
func (r *Run) open(root *os.Root, name string, flags int) (*os.File, error) {
	in, err := r.below(name)
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(in, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = checkInfo(filepath.Join(r.Dir, name), info, false)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (r *Run) readFile(root *os.Root, name string) ([]byte, error) {
	full := filepath.Join(r.Dir, name)
	f, err := r.open(root, name, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", full, err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", full, err)
	}
	return data, nil
}

// WriteFile writes a new file into the run's directory, on the disk when it returns.
func (r *Run) WriteFile(name string, data []byte) error {
	root, err := r.store.open()
	if err != nil {
		return err
	}
	defer root.Close()
	in, err := r.below(name)
	if err != nil {
		return err
	}
	dir := path.Dir(in)
	if dir != r.in {
		if err := root.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("cannot write %s: %w", filepath.Join(r.Dir, name), err)
		}
		if err := r.store.syncDir(root, r.in); err != nil {
			return err
		}
	}
	if err := r.writeSynced(root, name, data); err != nil {
		return err
	}
	return r.store.syncDir(root, dir)
}

// Output opens a file of the run's directory for appending.
func (r *Run) Output(name string) (*os.File, error) {
	root, err := r.store.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := r.open(root, name, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", filepath.Join(r.Dir, name), err)
	}
	return f, nil
}

// Remove removes a file of the run's directory. One that is not there is no error.
func (r *Run) Remove(name string) error {
	root, err := r.store.open()
	if err != nil {
		return err
	}
	defer root.Close()
	in, err := r.below(name)
	if err != nil {
		return err
	}
	if err := root.Remove(in); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove %s: %w", filepath.Join(r.Dir, name), err)
	}
	return nil
}

func (r *Run) writeSynced(root *os.Root, name string, data []byte) error {
	in, full := path.Join(r.in, name), filepath.Join(r.Dir, name)
	tmp := in + ".new"
	if err := root.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write %s: %w", full, err)
	}
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", full, err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = root.Rename(tmp, in)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", full, err)
	}
	return nil
}
