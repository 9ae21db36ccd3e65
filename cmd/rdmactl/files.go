package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rdmactl/rdmactl/internal/fault"
)

// isFileName tells a file from a name: it has a slash or ends in .yaml.
func isFileName(name string) bool {
	return strings.Contains(name, "/") || strings.HasSuffix(name, ".yaml")
}

// readRegular reads a file that a person named, up to limit bytes. Devices and pipes are refused: they
// would block or never end.
func readRegular(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, cause(err)
	}
	return readOpened(f, limit)
}

// readBelow is readRegular for a file of a directory: a link that leads out of it is not followed, since whoever
// may write into the directory would choose what the reader's rights show.
func readBelow(dir, name string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, cause(err)
	}
	defer root.Close()
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		if info, lstatErr := root.Lstat(name); lstatErr == nil && info.Mode()&fs.ModeSymlink != 0 && leadsOut(err) {
			return nil, errors.New("a link that leads out of the directory, which is not followed")
		}
		return nil, cause(err)
	}
	return readOpened(f, limit)
}

// leadsOut tells the error of os.Root for a path outside from those of the system.
func leadsOut(err error) bool {
	var errno syscall.Errno
	return !errors.As(err, &errno)
}

// readOpened reads a file to its end and closes it.
func readOpened(f *os.File, limit int64) ([]byte, error) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, cause(err)
	}
	if info.IsDir() {
		return nil, errors.New("is a directory")
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	return readLimited(f, limit)
}

func readLimited(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, cause(err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("larger than %d MiB", limit>>20)
	}
	return data, nil
}

// readStdin reads stdin to its end, or until the command is interrupted.
func readStdin(ctx context.Context, in io.Reader, limit int64) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := readLimited(in, limit)
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, fault.New(fault.Interrupted, "interrupted", "", "interrupted while waiting for stdin")
	}
}

// maxSmall bounds profiles and plans in bytes.
const maxSmall = 4 << 20

// writePrivate writes a file of mode 0600 in the place of path, or to out for "-". Root may be saving
// into a directory that others write: only a regular file, and never what a link leads to, is replaced.
func writePrivate(path string, data []byte, out io.Writer) error {
	if path == "-" {
		_, err := out.Write(data)
		return err
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fault.New(fault.Usage, "cannot-write", "name a new file, or an ordinary one", "cannot write %s: it is %s", path, kindOf(info.Mode()))
	}
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	temp, err := os.CreateTemp(dir, "."+name+".*~") // 0600, and never one that exists
	if err != nil {
		return fault.New(fault.Failed, "cannot-write", "choose a directory that you may write", "cannot write %s: %w", path, cause(err))
	}
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return fault.New(fault.Failed, "cannot-write", "see that the disk has space", "cannot write %s: %w", path, errors.Join(cause(err), os.Remove(temp.Name())))
	}
	return nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "not a regular file"
}

// cause is an error without the operation and path that the message names already.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// yamlFiles are the *.yaml of a directory in the order of their names. A directory that may not be read has none that
// are known, which is no answer.
func yamlFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, cause(err)
	}
	var out []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".yaml") {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}
