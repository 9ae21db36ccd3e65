package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// WriteFile replaces a file atomically: at any time a reader, and the disk after a power cut, has
// the old text or the new one. A link at the path is replaced, not followed. A new file gets mode
// 0644 unless mode is given; an existing one keeps its owner, mode and extended attributes.
func (t *tree) WriteFile(p string, data []byte, mode fs.FileMode) error {
	if err := t.writeFile(p, data, mode); err != nil {
		return pathError("write", p, err)
	}
	return nil
}

func (t *tree) writeFile(p string, data []byte, mode fs.FileMode) (err error) {
	dir, base, err := t.parent(p, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer closeFD(dir)
	old, err := existing(dir, base)
	if err != nil {
		return err
	}
	if old != nil {
		defer closeFD(old.fd)
	}
	temp := tempName(base)
	fd, err := retry(func() (int, error) {
		return unix.Openat(dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	})
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), temp)
	renamed := false
	defer func() {
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
		if !renamed {
			err = errors.Join(err, unix.Unlinkat(dir, temp, 0))
		}
	}()
	if _, err := file.Write(data); err != nil {
		return err
	}
	if err := dress(fd, old, mode); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := unix.Renameat(dir, temp, dir, base); err != nil {
		return err
	}
	renamed = true
	return unix.Fsync(dir)
}

// oldFile is the regular file that is replaced.
type oldFile struct {
	fd     int // O_PATH
	stat   unix.Stat_t
	xattrs map[string][]byte
}

// existing looks at what is replaced: nil for nothing or a link, an error for what is no file.
func existing(dir int, base string) (*oldFile, error) {
	fd, err := retry(func() (int, error) { return unix.Openat(dir, base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0) })
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	old := &oldFile{fd: fd}
	if err = unix.Fstat(fd, &old.stat); err == nil {
		switch old.stat.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			old.xattrs, err = xattrs(fd)
		case unix.S_IFLNK:
			closeFD(fd)
			return nil, nil
		case unix.S_IFDIR:
			err = unix.EISDIR
		default:
			err = unix.EINVAL
		}
	}
	if err != nil {
		closeFD(fd)
		return nil, err
	}
	return old, nil
}

// dress gives a new file the owner, attributes and mode of the old one. The order matters: chown
// clears setuid bits and file capabilities, an ACL changes the group's bits.
func dress(fd int, old *oldFile, mode fs.FileMode) error {
	raw := rawPermissions(mode)
	if old == nil {
		if mode == 0 {
			raw = 0o644
		}
		return unix.Fchmod(fd, raw)
	}
	if mode == 0 {
		raw = old.stat.Mode & 0o7777
	}
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil {
		return err
	}
	if now.Uid != old.stat.Uid || now.Gid != old.stat.Gid {
		if err := unix.Fchown(fd, int(old.stat.Uid), int(old.stat.Gid)); err != nil {
			return fmt.Errorf("its owner cannot be kept: %w", err)
		}
	}
	have, err := xattrs(fd)
	if err != nil {
		return err
	}
	for _, name := range sortedKeys(old.xattrs) {
		// These are hashes of the old text, kept by the kernel.
		if name == "security.ima" || name == "security.evm" {
			continue
		}
		if value, ok := have[name]; ok && bytes.Equal(value, old.xattrs[name]) {
			continue
		}
		if err := unix.Fsetxattr(fd, name, old.xattrs[name], 0); err != nil {
			return fmt.Errorf("its attribute %s cannot be kept: %w", name, err)
		}
	}
	return unix.Fchmod(fd, raw)
}

// MkdirAll makes a directory and those above it. New ones get exactly the mode, whatever umask
// the caller's shell has.
func (t *tree) MkdirAll(p string, mode fs.FileMode) error {
	if !path.IsAbs(p) {
		return pathError("mkdir", p, unix.EINVAL)
	}
	clean := path.Clean(p)
	for i := 1; i <= len(clean) && clean != "/"; i++ {
		if i < len(clean) && clean[i] != '/' {
			continue
		}
		if err := t.mkdir(clean[:i], mode); err != nil {
			return pathError("mkdir", p, err)
		}
	}
	return nil
}

func (t *tree) mkdir(p string, mode fs.FileMode) error {
	fd, err := t.open(p, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err == nil {
		closeFD(fd)
		return nil
	}
	if !errors.Is(err, unix.ENOENT) {
		return err
	}
	dir, base, err := t.parent(p, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer closeFD(dir)
	if err := unix.Mkdirat(dir, base, 0o700); err != nil {
		return err
	}
	fd, err = retry(func() (int, error) {
		return unix.Openat(dir, base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return err
	}
	defer closeFD(fd)
	if err := unix.Fchmod(fd, rawPermissions(mode)); err != nil {
		return err
	}
	return unix.Fsync(dir)
}

// Remove removes a file, a link or an empty directory.
func (t *tree) Remove(p string) error {
	dir, base, err := t.parent(p, unix.O_RDONLY)
	if err != nil {
		return pathError("remove", p, err)
	}
	defer closeFD(dir)
	err = unix.Unlinkat(dir, base, 0)
	if errors.Is(err, unix.EISDIR) {
		err = unix.Unlinkat(dir, base, unix.AT_REMOVEDIR)
	}
	if err == nil {
		err = unix.Fsync(dir)
	}
	if err != nil {
		return pathError("remove", p, err)
	}
	return nil
}

// Rename renames a file; what stands at the new name is replaced.
func (t *tree) Rename(from, to string) error {
	source, sourceBase, err := t.parent(from, unix.O_RDONLY)
	if err != nil {
		return pathError("rename", from, err)
	}
	defer closeFD(source)
	target, targetBase, err := t.parent(to, unix.O_RDONLY)
	if err != nil {
		return pathError("rename", to, err)
	}
	defer closeFD(target)
	if err := unix.Renameat(source, sourceBase, target, targetBase); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	if err := unix.Fsync(target); err != nil {
		return pathError("rename", to, err)
	}
	if err := unix.Fsync(source); err != nil {
		return pathError("rename", from, err)
	}
	return nil
}

// Symlink makes a link; the target is written as given.
func (t *tree) Symlink(target, p string) error {
	dir, base, err := t.parent(p, unix.O_RDONLY)
	if err != nil {
		return pathError("symlink", p, err)
	}
	defer closeFD(dir)
	if err = unix.Symlinkat(target, dir, base); err == nil {
		err = unix.Fsync(dir)
	}
	if err != nil {
		return pathError("symlink", p, err)
	}
	return nil
}

// Chown changes the owner of a file; a link is followed within the root.
func (t *tree) Chown(p string, uid, gid uint32) error {
	return t.withPath("chown", p, func(fd int) error {
		return unix.Fchownat(fd, "", int(uid), int(gid), unix.AT_EMPTY_PATH)
	})
}

// Chmod changes the permission bits of a file.
func (t *tree) Chmod(p string, mode fs.FileMode) error {
	return t.withPath("chmod", p, func(fd int) error { return unix.Chmod(fdPath(fd), rawPermissions(mode)) })
}

// SetXattr sets one extended attribute of a file.
func (t *tree) SetXattr(p, name string, value []byte) error {
	return t.withPath("setxattr", p, func(fd int) error { return unix.Setxattr(fdPath(fd), name, value, 0) })
}

// Xattrs returns the extended attributes of a file.
func (t *tree) Xattrs(p string) (map[string][]byte, error) {
	var all map[string][]byte
	err := t.withPath("listxattr", p, func(fd int) (err error) {
		all, err = xattrs(fd)
		return err
	})
	return all, err
}

// withPath gives an O_PATH descriptor, which opens nothing, to an operation on a path.
func (t *tree) withPath(op, p string, do func(fd int) error) error {
	fd, err := t.openRead(p, unix.O_PATH)
	if err != nil {
		return pathError(op, p, err)
	}
	defer closeFD(fd)
	if err := do(fd); err != nil {
		return pathError(op, p, err)
	}
	return nil
}

// xattrs reads the attributes through /proc, which works for O_PATH descriptors as well. File
// systems without attributes have none.
func xattrs(fd int) (map[string][]byte, error) {
	all := map[string][]byte{}
	list, err := grow(func(buf []byte) (int, error) { return unix.Listxattr(fdPath(fd), buf) })
	if errors.Is(err, unix.ENOTSUP) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(string(list), "\x00") {
		if name == "" {
			continue
		}
		value, err := grow(func(buf []byte) (int, error) { return unix.Getxattr(fdPath(fd), name, buf) })
		if errors.Is(err, unix.ENODATA) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		all[name] = value
	}
	return all, nil
}

// grow calls with a larger buffer until the answer fits; the kernel's bound is 64 KiB.
func grow(call func([]byte) (int, error)) ([]byte, error) {
	for size := 1 << 10; ; size <<= 2 {
		buf := make([]byte, size)
		n, err := call(buf)
		if errors.Is(err, unix.ERANGE) && size < 1<<20 {
			continue
		}
		if err != nil {
			return nil, err
		}
		return buf[:n], nil
	}
}
