package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxFile bounds what ReadFile takes into memory. The largest text that detection reads is the
// dpkg status file with some 10 MiB.
const maxFile = 64 << 20

// tree is the files below one root. Each path is resolved as if the root were "/": neither links
// nor ".." lead out of it.
type tree struct {
	root *os.File // O_PATH of the root; nil for the process's own "/"
	// foreign are directories whose content is not the target's: those of the running kernel.
	foreign []string
	// walkOnly leaves openat2 out, as kernels before 5.6 and old seccomp profiles do.
	walkOnly bool
}

func openTree(root string) (*tree, error) {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot open root %s: %w", root, err)
	}
	return &tree{root: os.NewFile(uintptr(fd), root)}, nil
}

// relative turns an absolute path into one below the root.
func relative(p string) (string, error) {
	if !path.IsAbs(p) || strings.ContainsRune(p, 0) {
		return "", unix.EINVAL
	}
	if p = path.Clean(p)[1:]; p == "" {
		return ".", nil
	}
	return p, nil
}

// open opens a path below the root. The caller closes the descriptor.
func (t *tree) open(p string, flags int, perm uint32) (int, error) {
	rel, err := relative(p)
	if err != nil {
		return -1, err
	}
	flags |= unix.O_CLOEXEC
	if t.root == nil {
		return retry(func() (int, error) { return unix.Open("/"+rel, flags, perm) })
	}
	root := int(t.root.Fd())
	if !t.walkOnly {
		how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
		if flags&unix.O_CREAT != 0 {
			how.Mode = uint64(perm)
		}
		var fd int
		// EAGAIN says that something was renamed meanwhile, so that staying below the root could
		// not be proved.
		for range 64 {
			fd, err = retry(func() (int, error) { return unix.Openat2(root, rel, &how) })
			if !errors.Is(err, unix.EAGAIN) {
				break
			}
		}
		if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EAGAIN) {
			return fd, t.tell(rel, err)
		}
	}
	fd, at, err := walk(root, rel, flags, perm)
	if err != nil && t.isForeign(at) {
		return -1, ErrUnknown
	}
	return fd, err
}

// tell turns the absence of a file in a foreign directory into "not told".
func (t *tree) tell(rel string, err error) error {
	if err == nil || len(t.foreign) == 0 {
		return err
	}
	fd, at, walkErr := walk(int(t.root.Fd()), rel, unix.O_PATH|unix.O_CLOEXEC, 0)
	if walkErr == nil {
		closeFD(fd)
	}
	if t.isForeign(at) {
		return ErrUnknown
	}
	return err
}

func (t *tree) isForeign(at string) bool {
	return slices.ContainsFunc(t.foreign, func(dir string) bool { return at == dir || strings.HasPrefix(at, dir+"/") })
}

// openRead is open for questions about what is there: foreign directories are not told.
func (t *tree) openRead(p string, flags int) (int, error) {
	fd, err := t.open(p, flags, 0)
	if err != nil || len(t.foreign) == 0 {
		return fd, err
	}
	at, err := t.resolved(fd)
	if err == nil && t.isForeign(at) && !slices.Contains(t.foreign, path.Clean(p)) {
		err = ErrUnknown
	}
	if err != nil {
		closeFD(fd)
		return -1, err
	}
	return fd, nil
}

// resolved is the path of an open file below the root.
func (t *tree) resolved(fd int) (string, error) {
	full, err := os.Readlink(fdPath(fd))
	if err != nil {
		return "", err
	}
	root, err := os.Readlink(fdPath(int(t.root.Fd())))
	if err != nil {
		return "", err
	}
	if root == "/" {
		return full, nil
	}
	if full == root {
		return "/", nil
	}
	rel, ok := strings.CutPrefix(full, root+"/")
	if !ok {
		return "", fmt.Errorf("%s is not below %s: %w", full, root, unix.EXDEV)
	}
	return "/" + rel, nil
}

// parent opens the directory that holds a path's last name, which itself is not followed.
func (t *tree) parent(p string, flags int) (int, string, error) {
	dir, base := path.Split(path.Clean(p))
	if !path.IsAbs(p) || base == "" {
		return -1, "", unix.EINVAL
	}
	fd, err := t.open(dir, flags|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, "", err
	}
	if at, err := t.resolved(fd); len(t.foreign) > 0 && (err != nil || t.isForeign(at)) {
		closeFD(fd)
		if err == nil {
			err = ErrUnknown
		}
		return -1, "", err
	}
	return fd, base, nil
}

// regular opens a regular file for reading. Anything else is not opened: a named pipe would block,
// and opening a device can have an effect.
func (t *tree) regular(p string) (*os.File, error) {
	fd, err := t.openRead(p, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer closeFD(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		return nil, unix.EISDIR
	default:
		return nil, unix.EINVAL
	}
	file, err := retry(func() (int, error) {
		return unix.Open(fdPath(fd), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(file), p), nil
}

// ReadFile returns the text of a regular file of at most 64 MiB.
func (t *tree) ReadFile(p string) ([]byte, error) {
	f, err := t.regular(p)
	if err != nil {
		return nil, pathError("read", p, err)
	}
	defer closeFile(f)
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, pathError("read", p, err)
	}
	if len(data) > maxFile {
		return nil, pathError("read", p, unix.EFBIG)
	}
	return data, nil
}

// ReadDir returns the names in a directory, sorted.
func (t *tree) ReadDir(p string) ([]string, error) {
	fd, err := t.openRead(p, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, pathError("readdir", p, err)
	}
	if slices.Contains(t.foreign, path.Clean(p)) {
		closeFD(fd)
		return nil, pathError("readdir", p, ErrUnknown)
	}
	dir := os.NewFile(uintptr(fd), p)
	defer closeFile(dir)
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, pathError("readdir", p, err)
	}
	slices.Sort(names)
	if names == nil {
		names = []string{}
	}
	return names, nil
}

// Readlink returns a link's target as it is written.
func (t *tree) Readlink(p string) (string, error) {
	fd, err := t.openRead(p, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return "", pathError("readlink", p, err)
	}
	defer closeFD(fd)
	target, err := readlinkFD(fd)
	if errors.Is(err, unix.ENOENT) {
		err = unix.EINVAL // what the kernel says for an open file that is no link
	}
	if err != nil {
		return "", pathError("readlink", p, err)
	}
	return target, nil
}

// Stat describes a file behind links.
func (t *tree) Stat(p string) (FileInfo, error) { return t.stat("stat", p, unix.O_PATH) }

// Lstat describes a file, or the link itself.
func (t *tree) Lstat(p string) (FileInfo, error) {
	return t.stat("lstat", p, unix.O_PATH|unix.O_NOFOLLOW)
}

func (t *tree) stat(op, p string, flags int) (FileInfo, error) {
	fd, err := t.openRead(p, flags)
	if err != nil {
		return FileInfo{}, pathError(op, p, err)
	}
	defer closeFD(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return FileInfo{}, pathError(op, p, err)
	}
	info := statInfo(&st)
	info.Owner, info.Group = t.nameOf("/etc/passwd", st.Uid), t.nameOf("/etc/group", st.Gid)
	return info, nil
}

// derive opens a regular file for decode.
func (t *tree) derive(p string, argv []string, decode Decoder) (Result, error) {
	f, err := t.regular(p)
	if err != nil {
		return Result{}, pathError("read", p, err)
	}
	defer closeFile(f)
	st, err := f.Stat()
	if err != nil {
		return Result{}, pathError("read", p, err)
	}
	text, err := decode(f, st.Size())
	if err != nil {
		return Result{}, fmt.Errorf("cannot decode %s: %w", p, err)
	}
	return Result{Argv: argv, Stdout: text}, nil
}

// nameOf looks a number up in passwd or group of this root. Each line starts name:x:number.
func (t *tree) nameOf(file string, id uint32) string {
	if id == 0 {
		return "root" // needs no file, and images without one still have root
	}
	data, err := t.ReadFile(file)
	if err != nil {
		return "" // the source has only numbers
	}
	want := strconv.FormatUint(uint64(id), 10)
	for line := range strings.Lines(string(data)) {
		if f := strings.SplitN(line, ":", 4); len(f) == 4 && f[2] == want {
			return f[0]
		}
	}
	return ""
}

func pathError(op, p string, err error) error {
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return &fs.PathError{Op: op, Path: p, Err: err}
}

func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// closeFD and closeFile close what was only read: there is nothing left that could get lost.
func closeFD(fd int)        { _ = unix.Close(fd) }
func closeFile(f io.Closer) { _ = f.Close() }

func retry(call func() (int, error)) (int, error) {
	for {
		fd, err := call()
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

func readlinkFD(fd int) (string, error) { return readlinkAt(fd, "") }

func readlinkAt(fd int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

func statInfo(st *unix.Stat_t) FileInfo {
	info := FileInfo{Mode: fileMode(st.Mode), UID: st.Uid, GID: st.Gid, Size: st.Size}
	if kind := st.Mode & syscall.S_IFMT; kind == syscall.S_IFCHR || kind == syscall.S_IFBLK {
		info.Major, info.Minor = unix.Major(st.Rdev), unix.Minor(st.Rdev)
	}
	info.ModTime = timeOf(st.Mtim)
	return info
}
