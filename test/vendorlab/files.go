package vendorlab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// errNone says that no file matches a pattern.
var errNone = errors.New("there is none")

// unlink gives a file content of its own, which other links to it do not share.
func unlink(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return replace(path, data)
}

// replace writes a new file in path's place: what was there may be linked from elsewhere.
func replace(path string, data []byte) error {
	mode := os.FileMode(0o644)
	if fi, err := os.Lstat(path); err == nil {
		mode = fi.Mode().Perm()
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return put(path, data, mode)
}

// put writes a file and the directories above it.
func put(path string, data []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, data, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

func removeAll(dir string, names ...string) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, os.RemoveAll(filepath.Join(dir, name)))
	}
	return errors.Join(errs...)
}

// only is the one file that a pattern matches.
func only(pattern string) (string, error) {
	found, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fmt.Errorf("cannot find %s: %w", pattern, errNone)
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%d files match %s, not one", len(found), pattern)
	}
	return found[0], nil
}

// walkFiles goes through all that is no directory; link is the target of a symbolic link.
func walkFiles(tree string, each func(path, link string) error) error {
	return filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if d.Type()&fs.ModeSymlink == 0 {
			return each(path, "")
		}
		link, err := os.Readlink(path)
		if err != nil {
			return err
		}
		return each(path, link)
	})
}
