package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// kind is what a sink made at a path.
type kind int

const (
	aDir kind = iota + 1
	aFile
	aLink
)

// sink makes the files of a source below a directory, and refuses those that no source has. It knows all
// that it made; the directory is empty at the start and no one else's.
type sink struct {
	root   *os.Root
	limits Limits
	files  int
	bytes  int64
	made   map[string]kind
	sum    hash.Hash // of everything that was made, in its order
}

func newSink(root *os.Root, limits Limits) *sink {
	return &sink{root: root, limits: limits, made: map[string]kind{".": aDir}, sum: sha256.New()}
}

// digest is the SHA-256 of names, kinds and contents in the order in which they came.
func (s *sink) digest() string { return hex.EncodeToString(s.sum.Sum(nil)) }

func (s *sink) tooMuch() error {
	return stop("hostile-source", hintHostile, "it has more than %d MiB of files", s.limits.Bytes>>20)
}

func (s *sink) count() error {
	if s.files++; s.files > s.limits.Files {
		return stop("hostile-source", hintHostile, "it has more than %d files", s.limits.Files)
	}
	return nil
}

// relative gives a path of a source in its clean form.
func relative(name string) (string, error) {
	if len(name) > maxPath || strings.Count(name, "/") > maxDepth {
		return "", stop("hostile-source", hintHostile, "the path %q is too long or too deep", clip(name))
	}
	for _, r := range name {
		if r < 0x20 || r == 0x7f || r == 0xfffd {
			return "", stop("hostile-source", hintHostile, "the path %q has characters that no path of a source has", clip(name))
		}
	}
	if strings.HasPrefix(name, "/") {
		return "", stop("hostile-source", hintHostile, "the path %q is absolute", clip(name))
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", stop("hostile-source", hintHostile, "the path %q leads out of the source", clip(name))
		}
	}
	return path.Clean("./" + name), nil
}

// enter checks a new entry and makes the directories above it.
func (s *sink) enter(name string) (string, error) {
	if err := s.count(); err != nil {
		return "", err
	}
	name, err := relative(name)
	if err != nil {
		return "", err
	}
	if name == "." {
		return name, nil
	}
	for i, c := range name {
		if c != '/' {
			continue
		}
		if err := s.mkdir(name[:i]); err != nil {
			return "", err
		}
	}
	return name, nil
}

func (s *sink) mkdir(name string) error {
	switch s.made[name] {
	case aDir:
		return nil
	case 0:
	default:
		return stop("hostile-source", hintHostile, "%q is a file or link, and a directory as well", clip(name))
	}
	if err := s.root.Mkdir(name, 0o700); err != nil {
		return err
	}
	if err := s.root.Chmod(name, perm); err != nil { // whatever umask the caller's shell has
		return err
	}
	s.made[name] = aDir
	return nil
}

// fresh is enter for what must not be there yet.
func (s *sink) fresh(name string) (string, error) {
	name, err := s.enter(name)
	if err != nil {
		return "", err
	}
	if s.made[name] != 0 {
		return "", stop("hostile-source", hintHostile, "it has %q twice", clip(name))
	}
	return name, nil
}

func (s *sink) dir(name string) error {
	name, err := s.enter(name)
	if err != nil {
		return err
	}
	if err := s.mkdir(name); err != nil {
		return err
	}
	s.note("dir", name, "")
	return nil
}

// file makes a file of size bytes from r.
func (s *sink) file(name string, run bool, size int64, r io.Reader) error {
	name, err := s.fresh(name)
	if err != nil {
		return err
	}
	if size < 0 || size > s.limits.Bytes-s.bytes {
		return s.tooMuch()
	}
	mode := fs.FileMode(plain)
	if run {
		mode = perm
	}
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	s.made[name] = aFile
	content := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, content), io.LimitReader(r, size))
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err != nil {
		return err
	}
	s.bytes += n
	s.note(fmt.Sprintf("file %o", mode), name, hex.EncodeToString(content.Sum(nil)))
	return nil
}

// symlink makes a link that stays inside. Its target may go up only at its start: there the way up is
// through directories, since nothing is made below a link, while further on it could be through another
// link and lead out.
func (s *sink) symlink(name, target string) error {
	name, err := s.fresh(name)
	if err != nil {
		return err
	}
	if !staysInside(name, target) {
		return stop("hostile-source", hintHostile, "%q is a link to %q, out of the source", clip(name), clip(target))
	}
	if err := s.root.Symlink(target, name); err != nil {
		return err
	}
	s.made[name] = aLink
	s.note("link", name, target)
	return nil
}

func staysInside(name, target string) bool {
	if target == "" || len(target) > maxPath || strings.HasPrefix(target, "/") || strings.ContainsRune(target, 0) {
		return false
	}
	depth, down := strings.Count(name, "/"), false
	for part := range strings.SplitSeq(target, "/") {
		switch {
		case part == ".." && down:
			return false
		case part == "..":
			depth--
		case part != "" && part != ".":
			down = true
		}
	}
	return depth >= 0
}

// hardlink makes a second name of a file that is already there.
func (s *sink) hardlink(name, target string) error {
	name, err := s.fresh(name)
	if err != nil {
		return err
	}
	old, err := relative(target)
	if err != nil {
		return err
	}
	if s.made[old] != aFile {
		return stop("hostile-source", hintHostile, "%q is another name of %q, which is no file before it", clip(name), clip(target))
	}
	if err := s.root.Link(old, name); err != nil {
		return err
	}
	s.made[name] = aFile
	s.note("hardlink", name, old)
	return nil
}

func (s *sink) note(what, name, content string) {
	fmt.Fprintf(s.sum, "%s\x00%s\x00%s\x00", what, name, content)
}

// directory takes a whole directory but for .git, in the order of names. look, if set, judges each
// file before it is read.
func (s *sink) directory(ctx context.Context, from *os.Root, at string, look func(name string, info fs.FileInfo) error) error {
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
		if err := s.one(ctx, from, path.Join(at, name), look); err != nil {
			return err
		}
	}
	return nil
}

func (s *sink) one(ctx context.Context, from *os.Root, name string, look func(string, fs.FileInfo) error) error {
	info, err := from.Lstat(name)
	if err != nil {
		return err
	}
	switch info.Mode().Type() {
	case fs.ModeDir:
		if err := s.dir(name); err != nil {
			return err
		}
		return s.directory(ctx, from, name, look)
	case fs.ModeSymlink:
		target, err := from.Readlink(name)
		if err != nil {
			return err
		}
		return s.symlink(name, target)
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
			err = s.file(name, info.Mode()&0o111 != 0, info.Size(), f)
		}
		return errors.Join(err, f.Close())
	}
	return stop("hostile-source", hintHostile, "%q is neither a file nor a directory nor a link", clip(name))
}
