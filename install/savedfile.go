package install

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/journal"
)

// savedFile is a file as it was, with its text in the run's directory.
type savedFile struct {
	Path   string            `json:"path"`
	Exists bool              `json:"exists"`
	Link   string            `json:"link,omitempty"` // target, of a symbolic link
	Mode   fs.FileMode       `json:"mode,omitempty"`
	UID    uint32            `json:"uid"`
	GID    uint32            `json:"gid"`
	Xattrs map[string][]byte `json:"xattrs,omitempty"` // SELinux label and ACLs among them
	Hash   string            `json:"sha256,omitempty"`
	Backup string            `json:"backup,omitempty"` // name in the run's directory
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// save keeps a file's text and metadata under name in the run's directory.
func save(w host.Writer, j *journal.Run, file, name string) (savedFile, error) {
	s, data, err := look(w, file)
	if err != nil {
		return s, err
	}
	if s.Exists && s.Link == "" {
		s.Backup = path.Join("backup", name)
		if err := j.WriteFile(s.Backup, data); err != nil {
			return s, err
		}
	}
	return s, nil
}

// look reads a file's text and metadata. What is neither file nor link is not ours to replace.
func look(w host.Writer, file string) (savedFile, []byte, error) {
	s := savedFile{Path: file}
	info, err := w.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil, nil
	}
	if err != nil {
		return s, nil, fmt.Errorf("cannot look at %s: %w", file, err)
	}
	s.Exists, s.UID, s.GID, s.Mode = true, info.UID, info.GID, info.Mode
	switch {
	case info.Mode&fs.ModeSymlink != 0:
		if s.Link, err = w.Readlink(file); err != nil {
			return s, nil, fmt.Errorf("cannot read link %s: %w", file, err)
		}
		return s, nil, nil
	case !info.Mode.IsRegular():
		return s, nil, fmt.Errorf("cannot replace %s: it is neither a file nor a link", file)
	}
	data, err := w.ReadFile(file)
	if err != nil {
		return s, nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	s.Hash = hashOf(data)
	if s.Xattrs, err = w.Xattrs(file); err != nil {
		return s, nil, fmt.Errorf("cannot read extended attributes of %s: %w", file, err)
	}
	return s, data, nil
}

// putBack makes a file as it was, or lays it at another path.
func putBack(w host.Writer, j *journal.Run, s savedFile, at string) error {
	if err := host.Tidy(w, at); err != nil { // of an attempt that was killed
		return err
	}
	if !s.Exists {
		if err := w.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove %s: %w", at, err)
		}
		return nil
	}
	if err := w.MkdirAll(path.Dir(at), 0o755); err != nil {
		return fmt.Errorf("cannot make %s: %w", path.Dir(at), err)
	}
	if s.Link != "" {
		if err := w.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot replace %s: %w", at, err)
		}
		if err := w.Symlink(s.Link, at); err != nil {
			return fmt.Errorf("cannot put back link %s: %w", at, err)
		}
		return nil
	}
	data, err := j.ReadFile(s.Backup)
	if err != nil {
		return err
	}
	if hashOf(data) != s.Hash {
		return fmt.Errorf("cannot put back %s: its backup %s is damaged", at, s.Backup)
	}
	if err := w.WriteFile(at, data, s.Mode.Perm()|s.Mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky)); err != nil {
		return fmt.Errorf("cannot put back %s: %w", at, err)
	}
	info, err := w.Lstat(at)
	if err != nil {
		return fmt.Errorf("cannot put back %s: %w", at, err)
	}
	if info.UID != s.UID || info.GID != s.GID {
		if err := w.Chown(at, s.UID, s.GID); err != nil {
			return fmt.Errorf("cannot put back the owner of %s: %w", at, err)
		}
	}
	for name, value := range s.Xattrs {
		if err := w.SetXattr(at, name, value); err != nil {
			return fmt.Errorf("cannot put back extended attribute %s of %s: %w", name, at, err)
		}
	}
	return nil
}
