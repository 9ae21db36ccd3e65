package host

import (
	"errors"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// walk opens rel below root without openat2. It takes one component at a time and reads links
// itself, so that neither they nor ".." lead above root. It also returns how far it resolved, as
// a path below root, which names where something is missing.
func walk(root int, rel string, flags int, perm uint32) (fd int, at string, err error) {
	type step struct {
		fd   int
		name string
	}
	var stack []step // directories between root and here
	defer func() {
		for _, s := range stack {
			closeFD(s.fd)
		}
	}()
	here := func() int {
		if len(stack) == 0 {
			return root
		}
		return stack[len(stack)-1].fd
	}
	where := func(name string) string {
		var b strings.Builder
		for _, s := range stack {
			b.WriteString("/" + s.name)
		}
		return path.Clean(b.String() + "/" + name)
	}
	todo := strings.Split(rel, "/")
	links := 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		last := len(todo) == 0 || len(todo) == 1 && todo[0] == ""
		switch name {
		case "", ".":
			continue
		case "..":
			if len(stack) > 0 {
				closeFD(stack[len(stack)-1].fd)
				stack = stack[:len(stack)-1]
			}
			continue
		}
		if last && flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL {
			fd, err = retry(func() (int, error) { return unix.Openat(here(), name, flags|unix.O_NOFOLLOW, perm) })
			return fd, where(name), err
		}
		next, err := retry(func() (int, error) {
			return unix.Openat(here(), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		})
		if err != nil {
			if last && flags&unix.O_CREAT != 0 && errors.Is(err, unix.ENOENT) {
				fd, err = retry(func() (int, error) { return unix.Openat(here(), name, flags|unix.O_NOFOLLOW, perm) })
				return fd, where(name), err
			}
			return -1, where(name), err
		}
		var st unix.Stat_t
		if err := unix.Fstat(next, &st); err != nil {
			closeFD(next)
			return -1, where(name), err
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFLNK:
			if last && flags&unix.O_NOFOLLOW != 0 {
				if flags&unix.O_PATH != 0 && flags&unix.O_DIRECTORY == 0 {
					return next, where(name), nil
				}
				closeFD(next)
				return -1, where(name), unix.ELOOP
			}
			target, err := readlinkFD(next)
			closeFD(next)
			if err != nil {
				return -1, where(name), err
			}
			if links++; links > maxLinks {
				return -1, where(name), unix.ELOOP
			}
			if path.IsAbs(target) {
				for _, s := range stack {
					closeFD(s.fd)
				}
				stack = nil
			}
			todo = append(strings.Split(target, "/"), todo...)
		case unix.S_IFDIR:
			stack = append(stack, step{next, name})
		default:
			if !last || len(todo) == 1 || flags&unix.O_DIRECTORY != 0 {
				closeFD(next)
				return -1, where(name), unix.ENOTDIR
			}
			fd, err := reopen(next, flags)
			return fd, where(name), err
		}
	}
	// It ends at a directory, maybe after links and "..".
	if flags&unix.O_CREAT != 0 {
		return -1, where(""), unix.EISDIR
	}
	fd, err = retry(func() (int, error) { return unix.Openat(here(), ".", flags&^unix.O_NOFOLLOW, 0) })
	return fd, where(""), err
}

// reopen opens what an O_PATH descriptor holds with the flags asked for, and closes the latter
// unless it is what was asked for.
func reopen(fd, flags int) (int, error) {
	if flags&unix.O_PATH != 0 {
		return fd, nil
	}
	defer closeFD(fd)
	return retry(func() (int, error) { return unix.Open(fdPath(fd), flags&^unix.O_NOFOLLOW, 0) })
}

func timeOf(ts unix.Timespec) time.Time { return time.Unix(ts.Unix()).UTC() }
