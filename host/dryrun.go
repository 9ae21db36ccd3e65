package host

import (
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"
	"syscall"
	"time"
)

// Action is one thing that a DryRun was asked to do and did not.
type Action struct {
	// Kind is run, write, mkdir, remove, rename, symlink, chown, chmod or setxattr.
	Kind     string
	Path     string
	To       string // new name of rename, target of symlink
	Command  *Command
	Data     []byte      // of write and setxattr
	Mode     fs.FileMode // of write, mkdir and chmod
	UID, GID uint32      // of chown
	Name     string      // of setxattr
}

// DryRun is a Writer that does nothing and writes down what it was asked for. Its own writes lie
// over what it reads, so that later questions are answered as if they had been done; commands are
// answered as if they had succeeded and printed nothing, and change no answers.
type DryRun struct {
	Reader
	actions []Action
	over    map[string]*overlaid
}

// overlaid is what stands at a path instead of the reader's; the zero value stands for nothing there.
type overlaid struct {
	kind   fs.FileMode // 0 for a file, fs.ModeDir, fs.ModeSymlink
	there  bool
	data   []byte
	target string
	info   FileInfo
	xattrs map[string][]byte
	// moved is the path that the reader knows a renamed directory's content by.
	moved string
}

// NewDryRun makes a DryRun over r.
func NewDryRun(r Reader) *DryRun { return &DryRun{Reader: r, over: map[string]*overlaid{}} }

// Actions returns what was asked for, in order.
func (d *DryRun) Actions() []Action { return slices.Clone(d.actions) }

func (d *DryRun) act(a Action) { d.actions = append(d.actions, a) }

// Run writes the command down and answers with success.
func (d *DryRun) Run(ctx context.Context, c Command) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, &commandError{c.Argv, err}
	}
	c.Argv, c.Env, c.Stdin = slices.Clone(c.Argv), slices.Clone(c.Env), slices.Clone(c.Stdin)
	d.act(Action{Kind: "run", Command: &c})
	return Result{Argv: c.Argv}, nil
}

// real follows the links in a path, the last one too if follow is set.
func (d *DryRun) real(p string, follow bool) (string, error) {
	if !path.IsAbs(p) {
		return "", syscall.EINVAL
	}
	p = path.Clean(p)
	for links, i := 0, 1; i <= len(p); i++ {
		if i < len(p) && p[i] != '/' || i == len(p) && !follow {
			continue
		}
		target, err := d.link(p[:i])
		if err != nil || target == "" {
			continue // no link: what it is instead is found by the question itself
		}
		if links++; links > maxLinks {
			return "", syscall.ELOOP
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(p[:i]), target)
		}
		p, i = path.Join(target, p[i:]), 0
	}
	return p, nil
}

func (d *DryRun) link(p string) (string, error) {
	if o, under, ok := d.at(p); ok {
		if o == nil {
			return d.Reader.Readlink(under)
		}
		if !o.there {
			return "", fs.ErrNotExist
		}
		return o.target, nil
	}
	return d.Reader.Readlink(p)
}

// at finds what lies over p: an entry of its own, or a directory above it that is gone, new or
// moved. For a moved directory it returns the path that the reader knows.
func (d *DryRun) at(p string) (o *overlaid, under string, ok bool) {
	if o, ok := d.over[p]; ok {
		return o, "", true
	}
	for dir := path.Dir(p); ; dir = path.Dir(dir) {
		if o, ok := d.over[dir]; ok {
			if o.there && o.moved != "" {
				return nil, path.Join(o.moved, p[len(dir):]), true
			}
			return &overlaid{}, "", true
		}
		if dir == "/" {
			return nil, p, false
		}
	}
}

// ReadFile reads what was last written, or the reader's file.
func (d *DryRun) ReadFile(p string) ([]byte, error) {
	at, err := d.real(p, true)
	if err != nil {
		return nil, pathError("read", p, err)
	}
	o, under, ok := d.at(at)
	switch {
	case !ok || o == nil:
		return d.Reader.ReadFile(under)
	case !o.there:
		err = fs.ErrNotExist
	case o.kind == fs.ModeDir:
		err = syscall.EISDIR
	case o.moved != "":
		return d.Reader.ReadFile(o.moved)
	default:
		return slices.Clone(o.data), nil
	}
	return nil, pathError("read", p, err)
}

// ReadDir lists what the reader has, without what was removed and with what was added.
func (d *DryRun) ReadDir(p string) ([]string, error) {
	at, err := d.real(p, true)
	if err != nil {
		return nil, pathError("readdir", p, err)
	}
	var names []string
	o, under, ok := d.at(at)
	switch {
	case ok && o != nil && !o.there:
		return nil, pathError("readdir", p, fs.ErrNotExist)
	case ok && o != nil && o.kind != fs.ModeDir:
		return nil, pathError("readdir", p, syscall.ENOTDIR)
	case ok && o != nil && o.moved == "":
		// made by this dry run
	default:
		if ok && o != nil {
			under = o.moved
		}
		if names, err = d.Reader.ReadDir(under); err != nil {
			return nil, err
		}
	}
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	for q, o := range d.over {
		if path.Dir(q) == at && q != at {
			if delete(set, path.Base(q)); o.there {
				set[path.Base(q)] = true
			}
		}
	}
	return sortedKeys(set), nil
}

// Readlink returns a link's target.
func (d *DryRun) Readlink(p string) (string, error) {
	at, err := d.real(p, false)
	if err != nil {
		return "", pathError("readlink", p, err)
	}
	o, under, ok := d.at(at)
	switch {
	case !ok || o == nil:
		return d.Reader.Readlink(under)
	case !o.there:
		err = fs.ErrNotExist
	case o.kind != fs.ModeSymlink:
		err = syscall.EINVAL
	default:
		return o.target, nil
	}
	return "", pathError("readlink", p, err)
}

// Stat follows links.
func (d *DryRun) Stat(p string) (FileInfo, error) { return d.stat("stat", p, true) }

// Lstat does not.
func (d *DryRun) Lstat(p string) (FileInfo, error) { return d.stat("lstat", p, false) }

func (d *DryRun) stat(op, p string, follow bool) (FileInfo, error) {
	at, err := d.real(p, follow)
	if err != nil {
		return FileInfo{}, pathError(op, p, err)
	}
	o, under, ok := d.at(at)
	if !ok || o == nil {
		if follow {
			return d.Reader.Stat(under)
		}
		return d.Reader.Lstat(under)
	}
	if !o.there {
		return FileInfo{}, pathError(op, p, fs.ErrNotExist)
	}
	return o.info, nil
}

// Derive decodes what the reader has; a file that this dry run wrote is not told, since it is text.
func (d *DryRun) Derive(ctx context.Context, p string, argv []string, decode Decoder) (Result, error) {
	at, err := d.real(p, true)
	if err != nil {
		return Result{}, pathError("read", p, err)
	}
	o, under, ok := d.at(at)
	switch {
	case !ok || o == nil:
		return d.Reader.Derive(ctx, under, argv, decode)
	case !o.there:
		return Result{}, pathError("read", p, fs.ErrNotExist)
	case o.moved != "":
		return d.Reader.Derive(ctx, o.moved, argv, decode)
	}
	return Result{}, pathError("read", p, ErrUnknown)
}

// parent checks that a new name has a directory to stand in. A source that does not tell whether
// there is one does not stop a dry run.
func (d *DryRun) parent(p string) (string, error) {
	at, err := d.real(p, false)
	if err != nil {
		return "", err
	}
	info, err := d.Stat(path.Dir(at))
	if known(err) {
		return "", inner(err)
	}
	if err == nil && info.Mode&(fs.ModeDir|fs.ModeIrregular) == 0 {
		return "", syscall.ENOTDIR
	}
	return at, nil
}

// WriteFile overlays a file.
func (d *DryRun) WriteFile(p string, data []byte, mode fs.FileMode) error {
	at, err := d.parent(p)
	if err != nil {
		return pathError("write", p, err)
	}
	o := &overlaid{there: true, data: slices.Clone(data), info: FileInfo{Mode: 0o644, Owner: "root", Group: "root"}}
	if o.data == nil {
		o.data = []byte{}
	}
	if old, err := d.Lstat(at); err == nil && old.Mode.IsRegular() {
		o.info = old
		o.xattrs = d.xattrsOf(at)
	} else if err == nil && old.Mode.IsDir() {
		return pathError("write", p, syscall.EISDIR)
	}
	if mode != 0 {
		o.info.Mode = mode
	}
	o.info.Size, o.info.ModTime = int64(len(data)), d.Now()
	d.over[at] = o
	d.act(Action{Kind: "write", Path: p, Data: slices.Clone(data), Mode: mode})
	return nil
}

// MkdirAll overlays directories.
func (d *DryRun) MkdirAll(p string, mode fs.FileMode) error {
	at, err := d.real(p, true)
	if err != nil {
		return pathError("mkdir", p, err)
	}
	var missing []string
	for dir := at; ; dir = path.Dir(dir) {
		info, err := d.Stat(dir)
		if err == nil && info.Mode&(fs.ModeDir|fs.ModeIrregular) == 0 {
			return pathError("mkdir", p, syscall.ENOTDIR)
		}
		if err == nil || dir == "/" {
			break
		}
		missing = append(missing, dir)
	}
	if len(missing) == 0 {
		return nil
	}
	for _, dir := range missing {
		d.over[dir] = &overlaid{there: true, kind: fs.ModeDir, data: []byte{}, info: FileInfo{
			Mode: fs.ModeDir | mode.Perm(), Owner: "root", Group: "root", Size: -1, ModTime: d.Now(),
		}}
	}
	d.act(Action{Kind: "mkdir", Path: p, Mode: mode})
	return nil
}

// Remove overlays absence.
func (d *DryRun) Remove(p string) error {
	at, err := d.real(p, false)
	if err != nil {
		return pathError("remove", p, err)
	}
	info, err := d.Lstat(at)
	if known(err) {
		return pathError("remove", p, inner(err))
	}
	if err == nil && info.Mode.IsDir() {
		if names, err := d.ReadDir(at); err == nil && len(names) > 0 {
			return pathError("remove", p, syscall.ENOTEMPTY)
		}
	}
	d.over[at] = &overlaid{}
	d.act(Action{Kind: "remove", Path: p})
	return nil
}

// Rename overlays the new name with what stood at the old one.
func (d *DryRun) Rename(from, to string) error {
	source, err := d.real(from, false)
	if err != nil {
		return pathError("rename", from, err)
	}
	info, err := d.Lstat(source)
	if known(err) {
		return pathError("rename", from, inner(err))
	}
	target, err := d.parent(to)
	if err != nil {
		return pathError("rename", to, err)
	}
	moved := map[string]*overlaid{}
	if o, under, ok := d.at(source); ok && o != nil {
		moved[target] = o
	} else {
		moved[target] = &overlaid{there: true, kind: info.Mode.Type() & (fs.ModeDir | fs.ModeSymlink), info: info, moved: under, xattrs: d.xattrsOf(source)}
		if info.Mode&fs.ModeSymlink != 0 {
			link, err := d.Reader.Readlink(under)
			if err != nil {
				return err
			}
			moved[target].target = link
		}
	}
	for q, o := range d.over {
		if len(q) > len(source) && q[:len(source)+1] == source+"/" {
			moved[target+q[len(source):]] = o
			delete(d.over, q)
		}
	}
	maps.Copy(d.over, moved)
	d.over[source] = &overlaid{}
	d.act(Action{Kind: "rename", Path: from, To: to})
	return nil
}

// Symlink overlays a link.
func (d *DryRun) Symlink(target, p string) error {
	at, err := d.parent(p)
	if err != nil {
		return pathError("symlink", p, err)
	}
	if _, err := d.Lstat(at); err == nil {
		return pathError("symlink", p, fs.ErrExist)
	}
	d.over[at] = &overlaid{there: true, kind: fs.ModeSymlink, target: target, info: FileInfo{
		Mode: fs.ModeSymlink | 0o777, Owner: "root", Group: "root", Size: int64(len(target)), ModTime: d.Now(),
	}}
	d.act(Action{Kind: "symlink", Path: p, To: target})
	return nil
}

// Chown overlays an owner. Names are then not told.
func (d *DryRun) Chown(p string, uid, gid uint32) error {
	err := d.change("chown", p, func(o *overlaid) {
		o.info.UID, o.info.GID, o.info.Owner, o.info.Group = uid, gid, "", ""
	})
	if err == nil {
		d.act(Action{Kind: "chown", Path: p, UID: uid, GID: gid})
	}
	return err
}

// Chmod overlays permission bits.
func (d *DryRun) Chmod(p string, mode fs.FileMode) error {
	const bits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	err := d.change("chmod", p, func(o *overlaid) { o.info.Mode = o.info.Mode&^bits | mode&bits })
	if err == nil {
		d.act(Action{Kind: "chmod", Path: p, Mode: mode})
	}
	return err
}

// SetXattr overlays an extended attribute.
func (d *DryRun) SetXattr(p, name string, value []byte) error {
	err := d.change("setxattr", p, func(o *overlaid) {
		if o.xattrs == nil {
			o.xattrs = map[string][]byte{}
		}
		o.xattrs[name] = slices.Clone(value)
	})
	if err == nil {
		d.act(Action{Kind: "setxattr", Path: p, Name: name, Data: slices.Clone(value)})
	}
	return err
}

// Xattrs returns the attributes of a file; ErrUnknown where the reader is no Writer and cannot tell.
func (d *DryRun) Xattrs(p string) (map[string][]byte, error) {
	at, err := d.real(p, true)
	if err != nil {
		return nil, pathError("listxattr", p, err)
	}
	o, under, ok := d.at(at)
	if ok && o != nil {
		if !o.there {
			return nil, pathError("listxattr", p, fs.ErrNotExist)
		}
		return maps.Clone(o.xattrs), nil
	}
	w, isWriter := d.Reader.(Writer)
	if !isWriter {
		return nil, pathError("listxattr", p, ErrUnknown)
	}
	return w.Xattrs(under)
}

func (d *DryRun) xattrsOf(p string) map[string][]byte {
	all, err := d.Xattrs(p)
	if err != nil {
		return nil // not told: the overlay starts without
	}
	return all
}

// change overlays the attributes of what stands at a path.
func (d *DryRun) change(op, p string, do func(*overlaid)) error {
	at, err := d.real(p, true)
	if err != nil {
		return pathError(op, p, err)
	}
	if o, ok := d.over[at]; ok {
		if !o.there {
			return pathError(op, p, fs.ErrNotExist)
		}
		do(o)
		return nil
	}
	info, err := d.Stat(at)
	if known(err) {
		return pathError(op, p, inner(err))
	}
	_, under, _ := d.at(at)
	o := &overlaid{there: true, kind: info.Mode.Type() & fs.ModeDir, info: info, moved: under, xattrs: d.xattrsOf(at)}
	do(o)
	d.over[at] = o
	return nil
}

// Now is the reader's clock.
func (d *DryRun) Now() time.Time { return d.Reader.Now() }

// known is an error that is more than "not told".
func known(err error) bool { return err != nil && !isUnknown(err) }
