package kmod

import (
	"bytes"
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/host"
)

// fakeHost is a host in maps. A path that is not in them is absent, or unknown with silent set (as in
// an evidence document). Derive decodes files when live, and serves commands when silent.
type fakeHost struct {
	host.Writer // what a test does not expect panics

	t            *testing.T
	files        map[string]string
	links        map[string]string
	commands     map[string]host.Result
	silent       bool
	notInstalled bool
	denied       map[string]bool
	dryRun       bool
	run          func(argv []string) host.Result
	ran          []string
	asked        []string
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
	if f.denied[dir] {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: fs.ErrPermission}
	}
	var names []string
	for _, m := range []map[string]string{f.files, f.links} {
		for p := range m {
			if path.Dir(p) == dir && !slices.Contains(names, path.Base(p)) {
				names = append(names, path.Base(p))
			}
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
	if _, ok := f.files[p]; ok {
		return "", &fs.PathError{Op: "readlink", Path: p, Err: fs.ErrInvalid}
	}
	return "", f.missing(p)
}

func (f *fakeHost) Stat(p string) (host.FileInfo, error) {
	for name := range f.files {
		if name == p || strings.HasPrefix(name, p+"/") {
			return host.FileInfo{}, nil
		}
	}
	return host.FileInfo{}, f.missing(p)
}

func (f *fakeHost) Now() time.Time   { return time.Unix(0, 0) }
func (f *fakeHost) Told() host.Told  { return host.Told{} }
func (f *fakeHost) DryRun() bool     { return f.dryRun }
func (f *fakeHost) note(argv string) { f.asked = append(f.asked, argv) }

func (f *fakeHost) Query(_ context.Context, argv ...string) (host.Result, error) {
	line := strings.Join(argv, " ")
	f.note(line)
	res, ok := f.commands[line]
	switch {
	case f.notInstalled:
		return host.Result{}, host.ErrNotInstalled
	case !ok:
		return host.Result{}, host.ErrUnknown
	}
	res.Argv = argv
	return res, nil
}

func (f *fakeHost) Derive(ctx context.Context, p string, argv []string, decode host.Decoder) (host.Result, error) {
	if f.silent {
		return f.Query(ctx, argv...)
	}
	f.note(strings.Join(argv, " "))
	data, err := f.ReadFile(p)
	if err != nil {
		return host.Result{}, err
	}
	text, err := decode(bytes.NewReader(data), int64(len(data)))
	return host.Result{Argv: argv, Stdout: text}, err
}

func (f *fakeHost) Run(_ context.Context, cmd host.Command) (host.Result, error) {
	f.ran = append(f.ran, strings.Join(cmd.Argv, " "))
	if f.run == nil {
		f.t.Fatalf("unexpected command %q", cmd.Argv)
	}
	return f.run(cmd.Argv), nil
}
