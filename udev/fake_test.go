package udev

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/host"
)

// fakeHost is a host in maps. A path that is not in them is absent, or unknown with silent set.
type fakeHost struct {
	host.Writer // what a test does not expect panics

	t      *testing.T
	files  map[string]string
	links  map[string]string
	nodes  map[string]host.FileInfo
	denied map[string]bool
	silent bool
	run    func(line string) (host.Result, error)
	ran    []string
}

func (f *fakeHost) missing(p string) error {
	err := fs.ErrNotExist
	if f.silent {
		err = host.ErrUnknown
	}
	return &fs.PathError{Op: "open", Path: p, Err: err}
}

func (f *fakeHost) ReadFile(p string) ([]byte, error) {
	if f.denied[p] {
		return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrPermission}
	}
	if text, ok := f.files[p]; ok {
		return []byte(text), nil
	}
	return nil, f.missing(p)
}

func (f *fakeHost) ReadDir(dir string) ([]string, error) {
	var names []string
	for p := range f.nodes {
		if path.Dir(p) == dir {
			names = append(names, path.Base(p))
		}
	}
	if names == nil {
		return nil, f.missing(dir)
	}
	slices.Sort(names)
	return names, nil
}

func (f *fakeHost) Readlink(p string) (string, error) {
	if target, ok := f.links[p]; ok {
		return target, nil
	}
	return "", f.missing(p)
}

func (f *fakeHost) Stat(p string) (host.FileInfo, error) {
	if f.denied[p] {
		return host.FileInfo{}, &fs.PathError{Op: "stat", Path: p, Err: fs.ErrPermission}
	}
	if info, ok := f.nodes[p]; ok {
		return info, nil
	}
	return host.FileInfo{}, f.missing(p)
}

func (f *fakeHost) Lstat(p string) (host.FileInfo, error) { return f.Stat(p) }

func (f *fakeHost) Run(_ context.Context, cmd host.Command) (host.Result, error) {
	line := strings.Join(cmd.Argv, " ")
	f.ran = append(f.ran, line)
	if f.run == nil {
		f.t.Fatalf("unexpected command %q", line)
	}
	return f.run(line)
}
