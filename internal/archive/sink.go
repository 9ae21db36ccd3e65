package archive

import (
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

// kind is what a Sink made at a path.
type kind int

const (
	aDir kind = iota + 1
	aFile
	aLink
)

// Sink makes the files of a source below a directory, and refuses those that no source has. It knows all
// that it made; the directory is empty at the start and no one else's.
type Sink struct {
	root   *os.Root
	limits Limits
	files  int
	bytes  int64
	made   map[string]kind
	sum    hash.Hash // of everything that was made, in its order
}

// NewSink makes files below root, an empty directory, and no more than the limits.
func NewSink(root *os.Root, limits Limits) *Sink {
	return &Sink{root: root, limits: limits, made: map[string]kind{".": aDir}, sum: sha256.New()}
}

// Digest is the SHA-256 of names, kinds and contents in the order in which they came.
func (s *Sink) Digest() string { return hex.EncodeToString(s.sum.Sum(nil)) }

// TooMuch is the error of more bytes than the limits allow.
func (s *Sink) TooMuch() error {
	return stop("hostile-source", HintHostile, "it has more than %d MiB of files", s.limits.Bytes>>20)
}

// Count counts one entry, and fails when it is one too many.
func (s *Sink) Count() error {
	if s.files++; s.files > s.limits.Files {
		return stop("hostile-source", HintHostile, "it has more than %d files", s.limits.Files)
	}
	return nil
}

// Relative gives a path of a source in its clean form.
func Relative(name string) (string, error) {
	if len(name) > maxPath || strings.Count(name, "/") > maxDepth {
		return "", stop("hostile-source", HintHostile, "the path %q is too long or too deep", Clip(name))
	}
	for _, r := range name {
		if r < 0x20 || r == 0x7f || r == 0xfffd {
			return "", stop("hostile-source", HintHostile, "the path %q has characters that no path of a source has", Clip(name))
		}
	}
	if strings.HasPrefix(name, "/") {
		return "", stop("hostile-source", HintHostile, "the path %q is absolute", Clip(name))
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", stop("hostile-source", HintHostile, "the path %q leads out of the source", Clip(name))
		}
	}
	return path.Clean("./" + name), nil
}

// enter checks a new entry and makes the directories above it.
func (s *Sink) enter(name string) (string, error) {
	if err := s.Count(); err != nil {
		return "", err
	}
	name, err := Relative(name)
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

func (s *Sink) mkdir(name string) error {
	switch s.made[name] {
	case aDir:
		return nil
	case 0:
	default:
		return stop("hostile-source", HintHostile, "%q is a file or link, and a directory as well", Clip(name))
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
func (s *Sink) fresh(name string) (string, error) {
	name, err := s.enter(name)
	if err != nil {
		return "", err
	}
	if s.made[name] != 0 {
		return "", stop("hostile-source", HintHostile, "it has %q twice", Clip(name))
	}
	return name, nil
}

// Dir makes a directory, unless it is there already.
func (s *Sink) Dir(name string) error {
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

// File makes a file of size bytes from r.
func (s *Sink) File(name string, run bool, size int64, r io.Reader) error {
	name, err := s.fresh(name)
	if err != nil {
		return err
	}
	if size < 0 || size > s.limits.Bytes-s.bytes {
		return s.TooMuch()
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

// Symlink makes a link that stays inside. Its target may go up only at its start: there the way up is
// through directories, since nothing is made below a link, while further on it could be through another
// link and lead out.
func (s *Sink) Symlink(name, target string) error {
	name, err := s.fresh(name)
	if err != nil {
		return err
	}
	if !StaysInside(name, target) {
		return stop("hostile-source", HintHostile, "%q is a link to %q, out of the source", Clip(name), Clip(target))
	}
	if err := s.root.Symlink(target, name); err != nil {
		return err
	}
	s.made[name] = aLink
	s.note("link", name, target)
	return nil
}

// StaysInside says that a link named name with that target leads nowhere out of the tree; see Sink.Symlink.
func StaysInside(name, target string) bool {
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

// Hardlink makes a second name of a file that is already there.
func (s *Sink) Hardlink(name, target string) error {
	name, err := s.fresh(name)
	if err != nil {
		return err
	}
	old, err := Relative(target)
	if err != nil {
		return err
	}
	if s.made[old] != aFile {
		return stop("hostile-source", HintHostile, "%q is another name of %q, which is no file before it", Clip(name), Clip(target))
	}
	if err := s.root.Link(old, name); err != nil {
		return err
	}
	s.made[name] = aFile
	s.note("hardlink", name, old)
	return nil
}

func (s *Sink) note(what, name, content string) {
	fmt.Fprintf(s.sum, "%s\x00%s\x00%s\x00", what, name, content)
}
