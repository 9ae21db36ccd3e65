package holdings

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// tree is a source's files by slash-separated paths below its root. No path leads out of it.
type tree interface {
	// open opens a regular file; the error is fs.ErrNotExist when it is not there.
	open(ctx context.Context, name string) (io.ReadCloser, error)
	// list gives the names in a folder, sorted; errNoList when the source cannot tell.
	list(name string) ([]string, error)
	// size gives the bytes of a regular file; errNoList when only opening would tell.
	size(name string) (int64, error)
}

// errNoList says that a source gives files only by their name, as the web does.
var errNoList = errors.New("the source has no list of its files")

// read reads a whole file of at most most bytes.
func read(ctx context.Context, t tree, name string, most int64) ([]byte, error) {
	f, err := t.open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(limit(ctx, f, most, name))
}

// readAny reads the first of several files that is there.
func readAny(ctx context.Context, t tree, most int64, names ...string) ([]byte, string, error) {
	for _, name := range names {
		data, err := read(ctx, t, name, most)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return data, name, err
		}
	}
	return nil, "", fs.ErrNotExist
}

// dirTree is a folder of this host. A link that leads out of it is an error of os.Root.
type dirTree struct{ root *os.Root }

func (t dirTree) open(_ context.Context, name string) (io.ReadCloser, error) {
	f, err := t.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, outside(name, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = refuse("name a repository or bundle", "%s is not a regular file", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (t dirTree) list(name string) ([]string, error) {
	f, err := t.root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, outside(name, err)
	}
	defer f.Close()
	names, err := f.Readdirnames(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(names) > maxEntries {
		return nil, refuse(hintHostile, "%s has more than %d files", name, maxEntries)
	}
	slices.Sort(names)
	return names, nil
}

func (t dirTree) size(name string) (int64, error) {
	info, err := t.root.Stat(name)
	if err != nil {
		return 0, outside(name, err)
	}
	if !info.Mode().IsRegular() {
		return 0, refuse(hintHostile, "%s is not a regular file", name)
	}
	return info.Size(), nil
}

// outside words os.Root's refusal of a link that leads out.
func outside(name string, err error) error {
	if strings.Contains(err.Error(), "path escapes from parent") {
		return refuse(hintHostile, "%s leads out of the source", name)
	}
	return err
}

// memTree holds the files of an archive that matter: indexes, keys and version files whole, of
// packages the size, of rpm packages also the headers.
type memTree struct{ files map[string]memFile }

type memFile struct {
	data   []byte // the start of the file, or all of it
	size   int64  // of the whole file
	target string // of a link, resolved against the root
	// content is the file where it can be read at any time, as in an image; data is nil then.
	content *io.SectionReader
}

func (t memTree) find(name string) (memFile, error) {
	name = path.Clean(name)
	for range 8 {
		f, ok := t.files[name]
		if !ok {
			return t.throughFolder(name)
		}
		if f.target == "" {
			return f, nil
		}
		name = f.target
	}
	return memFile{}, refuse(hintHostile, "%s is a link to itself", name)
}

// throughFolder follows a link in one of the folders of a path.
func (t memTree) throughFolder(name string) (memFile, error) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if f, ok := t.files[dir]; ok && f.target != "" {
			if g, ok := t.files[path.Join(f.target, strings.TrimPrefix(name, dir+"/"))]; ok && g.target == "" {
				return g, nil
			}
		}
	}
	return memFile{}, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (t memTree) open(_ context.Context, name string) (io.ReadCloser, error) {
	f, err := t.find(name)
	if err != nil {
		return nil, err
	}
	if f.content != nil {
		return section{io.NewSectionReader(f.content, 0, f.content.Size())}, nil
	}
	return io.NopCloser(bytes.NewReader(f.data)), nil
}

// section is a part of an open file as a file of its own.
type section struct{ *io.SectionReader }

func (section) Close() error { return nil }

func (t memTree) list(name string) ([]string, error) {
	name = path.Clean(name)
	seen := map[string]bool{}
	for file := range t.files {
		rest := file
		if name != "." {
			var ok bool
			if rest, ok = strings.CutPrefix(file, name+"/"); !ok {
				continue
			}
		}
		first, _, _ := strings.Cut(rest, "/")
		seen[first] = true
	}
	if len(seen) == 0 {
		return nil, &fs.PathError{Op: "list", Path: name, Err: fs.ErrNotExist}
	}
	names := make([]string, 0, len(seen))
	for n := range seen {
		names = append(names, n)
	}
	slices.Sort(names)
	return names, nil
}

func (t memTree) size(name string) (int64, error) {
	f, err := t.find(name)
	return f.size, err
}

// subTree is a folder of a tree.
type subTree struct {
	tree
	dir string
}

func sub(t tree, dir string) tree {
	if dir == "." || dir == "" {
		return t
	}
	return subTree{t, dir}
}

func (t subTree) open(ctx context.Context, name string) (io.ReadCloser, error) {
	return t.tree.open(ctx, path.Join(t.dir, name))
}
func (t subTree) list(name string) ([]string, error) { return t.tree.list(path.Join(t.dir, name)) }
func (t subTree) size(name string) (int64, error)    { return t.tree.size(path.Join(t.dir, name)) }

func exists(ctx context.Context, t tree, name string) (bool, error) {
	f, err := t.open(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}
