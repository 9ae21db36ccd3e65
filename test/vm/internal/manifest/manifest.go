// Package manifest describes a file tree by what a rollback must restore: path, type, mode, owner
// and content or link target. Times, inode numbers and directory sizes are left out.
package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Manifest maps an absolute path to its description, such as "file 0644 0:0 <sha256>".
type Manifest map[string]string

// Walk describes everything below the roots that exist. A path is left out with everything below
// it when it is, or matches as a path.Match pattern, an entry of except. The hash of a file that
// known knows is taken from there; the zero Known knows none.
func Walk(roots, except []string, known Known) (Manifest, error) {
	m := Manifest{}
	left := newExceptions(except)
	for _, root := range roots {
		if left.below(root) {
			continue
		}
		realRoot, err := filepath.EvalSymlinks(root)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot describe the tree %s: %w", root, err)
		}
		err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // gone while we walked, or a root that does not exist
			}
			if err != nil {
				return err
			}
			if left.match(p) {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			text, err := describe(p, realRoot+p[len(root):], known)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			m[p] = text
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("cannot describe the tree %s: %w", root, err)
		}
	}
	return m, nil
}

// exceptions are names and patterns of what is left out. Most are names: a map keeps an emulated
// machine from matching each of its files against each of them.
type exceptions struct {
	names    map[string]bool
	patterns []string
}

func newExceptions(list []string) exceptions {
	e := exceptions{names: map[string]bool{}}
	for _, one := range list {
		if strings.ContainsAny(one, `*?[\`) {
			e.patterns = append(e.patterns, one)
		} else {
			e.names[one] = true
		}
	}
	return e
}

// match says whether p itself is left out; a walk does not come below what is.
func (e exceptions) match(p string) bool {
	if e.names[p] {
		return true
	}
	for _, pattern := range e.patterns {
		if ok, err := path.Match(pattern, p); err == nil && ok {
			return true
		}
	}
	return false
}

// below says whether p or a directory above it is left out.
func (e exceptions) below(p string) bool {
	for ; p != "/" && p != "."; p = path.Dir(p) {
		if e.match(p) {
			return true
		}
	}
	return false
}

func describe(p, real string, known Known) (string, error) {
	fi, err := os.Lstat(p)
	if err != nil {
		return "", err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return "", fmt.Errorf("no owner known for %s", p)
	}
	owner := fmt.Sprintf("%04o %d:%d", st.Mode&0o7777, st.Uid, st.Gid)
	switch mode := fi.Mode(); {
	case mode.IsRegular():
		sum, err := known.sum(p, real, fi)
		return "file " + owner + " " + sum, err
	case mode.IsDir():
		return "dir " + owner, nil
	case mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(p)
		// A link's mode means nothing on Linux.
		return fmt.Sprintf("link %d:%d %s", st.Uid, st.Gid, target), err
	case mode&fs.ModeDevice != 0:
		return fmt.Sprintf("device %s %d", owner, st.Rdev), nil
	}
	return "other " + owner, nil
}

func hash(p string) (string, error) {
	f, err := os.Open(p)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Diff lists what differs, one line each, sorted by path: "+ path what" appeared, "- path what"
// went, "~ path before -> after" changed.
func Diff(before, after Manifest) []string {
	var out []string
	for p, was := range before {
		switch is, ok := after[p]; {
		case !ok:
			out = append(out, "- "+p+" "+was)
		case is != was:
			out = append(out, "~ "+p+" "+was+" -> "+is)
		}
	}
	for p, is := range after {
		if _, ok := before[p]; !ok {
			out = append(out, "+ "+p+" "+is)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
	return out
}

// Bytes writes a manifest as path, NUL, description, NUL, sorted by path: the form Parse reads.
func (m Manifest) Bytes() []byte {
	paths := make([]string, 0, len(m))
	for p := range m {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	var b []byte
	for _, p := range paths {
		b = append(b, p...)
		b = append(b, 0)
		b = append(b, m[p]...)
		b = append(b, 0)
	}
	return b
}

// Parse reads what Bytes wrote.
func Parse(b []byte) (Manifest, error) {
	m := Manifest{}
	if len(b) == 0 {
		return m, nil
	}
	fields := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	if len(fields)%2 != 0 {
		return nil, errors.New("cannot read a manifest: it ends in the middle of an entry")
	}
	for i := 0; i < len(fields); i += 2 {
		m[fields[i]] = fields[i+1]
	}
	return m, nil
}
