package rootlab

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Tree describes each file below a directory, by its path there, by what a change shows in; or each package of a
// database.
type Tree map[string]string

// View is what of a root's files a Tree has.
type View struct {
	Dirs []string // below the root; empty for all of it
	Skip []string // patterns of path.Match, for paths below the root
	// Omit says that a path below the root is left out like those of Skip; nil for none.
	Omit func(path string) bool
	// Dated says that a file is described by its size and time, not by its content; nil for none.
	Dated func(path string) bool
	// Known is the text of a regular file below the root that was looked at before and cannot have changed since,
	// empty for one that has to be read; nil for none.
	Known func(path string) string
	// Attributes has extended attributes, access control lists among them, described too.
	Attributes bool
}

// TreeOf reads the files below root. Directories that are left out are so with all below them.
func TreeOf(t testing.TB, root string, v View) Tree {
	t.Helper()
	dirs := v.Dirs
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	out := Tree{}
	for _, dir := range dirs {
		must(t, filepath.WalkDir(filepath.Join(root, dir), func(p string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // gone meanwhile
			}
			if err != nil {
				return err
			}
			rel := "/" + strings.TrimPrefix(strings.TrimPrefix(p, root), "/")
			if v.omits(rel) {
				if d.IsDir() {
					return filepath.SkipDir
				}
				return nil
			}
			what, err := v.describe(p, rel)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			out[rel] = what
			return err
		}))
	}
	if len(out) == 0 {
		t.Fatalf("there is nothing below %s to look at", root)
	}
	return out
}

func (v View) omits(rel string) bool {
	return v.Omit != nil && v.Omit(rel) ||
		slices.ContainsFunc(v.Skip, func(pattern string) bool { hit, err := path.Match(pattern, rel); return err == nil && hit })
}

func (v View) describe(p, rel string) (string, error) {
	if v.Known != nil {
		if what := v.Known(rel); what != "" {
			return what, nil
		}
	}
	what, err := describe(p, v.Dated != nil && v.Dated(rel))
	if err != nil || !v.Attributes {
		return what, err
	}
	more, err := attributes(p)
	return what + more, err
}

// attributes are the extended attributes of a file, in the order of their names.
func attributes(p string) (string, error) {
	names := make([]byte, 64<<10)
	n, err := unix.Llistxattr(p, names)
	if errors.Is(err, unix.ENOTSUP) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var out []string
	for name := range strings.SplitSeq(strings.TrimRight(string(names[:n]), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		value := make([]byte, 64<<10)
		n, err := unix.Lgetxattr(p, name, value)
		if err != nil {
			return "", err
		}
		out = append(out, fmt.Sprintf(" %s=%x", name, value[:n]))
	}
	slices.Sort(out)
	return strings.Join(out, ""), nil
}

func describe(p string, dated bool) (string, error) {
	info, err := os.Lstat(p)
	if err != nil {
		return "", err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", fmt.Errorf("no owner of %s", p)
	}
	what := fmt.Sprintf("%v %d:%d", info.Mode(), st.Uid, st.Gid)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(p)
		return what + " -> " + target, err
	case info.Mode().IsRegular() && dated:
		return fmt.Sprintf("%s %d bytes of %v", what, info.Size(), info.ModTime()), nil
	case info.Mode().IsRegular():
		data, err := os.ReadFile(p)
		if err != nil {
			return "", err
		}
		sum := sha256.Sum256(data)
		return what + " " + hex.EncodeToString(sum[:]), nil
	}
	return what, nil
}

// Changed lists what differs.
func (before Tree) Changed(after Tree) []string {
	var out []string
	for p, what := range after {
		switch was, ok := before[p]; {
		case !ok:
			out = append(out, "+ "+p+" "+what)
		case was != what:
			out = append(out, "~ "+p+" "+was+" => "+what)
		}
	}
	for p, what := range before {
		if _, ok := after[p]; !ok {
			out = append(out, "- "+p+" "+what)
		}
	}
	slices.Sort(out)
	return out
}
