package build

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/rdmactl/rdmactl/internal/archive"
)

// takeDirectory takes a whole directory but for .git, in the order of names. look, if set, judges each
// file before it is read.
func takeDirectory(ctx context.Context, s *archive.Sink, from *os.Root, at string, look func(name string, info fs.FileInfo) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, err := from.Open(at)
	if err != nil {
		return err
	}
	info, err := d.Stat()
	if err == nil && look != nil {
		err = look(at, info)
	}
	var names []string
	if err == nil {
		names, err = sortedNames(d)
	}
	if err = errors.Join(err, d.Close()); err != nil {
		return err
	}
	for _, name := range names {
		if name == ".git" {
			continue
		}
		if err := takeOne(ctx, s, from, path.Join(at, name), look); err != nil {
			return err
		}
	}
	return nil
}

func takeOne(ctx context.Context, s *archive.Sink, from *os.Root, name string, look func(string, fs.FileInfo) error) error {
	info, err := from.Lstat(name)
	if err != nil {
		return err
	}
	switch info.Mode().Type() {
	case fs.ModeDir:
		if err := s.Dir(name); err != nil {
			return err
		}
		return takeDirectory(ctx, s, from, name, look)
	case fs.ModeSymlink:
		target, err := from.Readlink(name)
		if err != nil {
			return err
		}
		return s.Symlink(name, target)
	case 0:
		f, info, err := openRegular(from, name)
		if err != nil {
			return err
		}
		if look != nil {
			err = look(name, info)
		}
		if err == nil && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
			err = stop("hostile-source", hintHostile, "%q would run as another user (set-user-id or set-group-id)", clip(name))
		}
		if err == nil {
			err = s.File(name, info.Mode()&0o111 != 0, info.Size(), f)
		}
		return errors.Join(err, f.Close())
	}
	return stop("hostile-source", hintHostile, "%q is neither a file nor a directory nor a link", clip(name))
}
