package build

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// openRegular opens a file and makes sure of the open one: a pipe would block, a device could act.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", name)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// readAll reads a file of at most most bytes.
func readAll(root *os.Root, name string, most int64) ([]byte, error) {
	f, info, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	if info.Size() > most {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", name, info.Size(), most)
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// sumOf is the SHA-256 of a file, and its size.
func sumOf(root *os.Root, name string) (string, int64, error) {
	f, _, err := openRegular(root, name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close() // it was only read
	h := sha256.New()
	n, err := io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), n, err
}

// emptyDir makes an empty directory at a name, whatever was there.
func emptyDir(root *os.Root, name string, mode fs.FileMode) (*os.Root, error) {
	if err := discard(root, name); err != nil {
		return nil, err
	}
	if err := root.Mkdir(name, 0o700); err != nil {
		return nil, err
	}
	if err := root.Chmod(name, mode); err != nil {
		return nil, err
	}
	return root.OpenRoot(name)
}

func sortedNames(d *os.File) ([]string, error) {
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// syncDir makes a directory's names outlast a power cut.
func syncDir(root *os.Root, name string) error {
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func exists(root *os.Root, name string) (bool, error) {
	_, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// notDir says that a path goes through something that is no directory.
func notDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// discard takes a name away with all below it. It is moved aside first: when a run was killed, its compilers
// may still be at work and add files while others are removed. What cannot go now goes the next time.
func discard(root *os.Root, name string) error {
	const aside = "old-"
	err := root.Rename(name, aside+strings.ToLower(rand.Text()[:12]))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	names, err := sortedNames(d)
	if err = errors.Join(err, d.Close()); err != nil {
		return err
	}
	for _, old := range names {
		if !strings.HasPrefix(old, aside) {
			continue
		}
		if err := root.RemoveAll(old); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
			return err
		}
	}
	return nil
}
