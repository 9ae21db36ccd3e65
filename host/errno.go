package host

import (
	"errors"
	"strings"
	"syscall"
)

// errnos are the errors that reading files gives, sysfs attributes of a device that is resetting
// or does not support the request among them. Programs print them as the C library words them,
// which differs from Go's wording only in the first letter.
func errnos() []syscall.Errno {
	return []syscall.Errno{
		syscall.ENOENT, syscall.EACCES, syscall.EPERM, syscall.ENOTDIR, syscall.EISDIR, syscall.EINVAL, syscall.EIO,
		syscall.ELOOP, syscall.ENODEV, syscall.ENXIO, syscall.EOPNOTSUPP, syscall.EBUSY, syscall.ENODATA, syscall.EAGAIN,
		syscall.ENAMETOOLONG, syscall.ETIMEDOUT, syscall.ENOSYS, syscall.ENOMEM, syscall.EFBIG, syscall.ESTALE,
		syscall.ENOTCONN, syscall.EROFS, syscall.ESRCH, syscall.ERANGE, syscall.ENETDOWN, syscall.EHOSTDOWN,
	}
}

// errnoText words an errno as strerror(3) does.
func errnoText(e syscall.Errno) string {
	switch e {
	case syscall.EIO:
		return "Input/output error"
	case syscall.EOPNOTSUPP:
		return "Operation not supported"
	case syscall.EXDEV:
		return "Invalid cross-device link"
	}
	text := e.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// errnoOf finds the errno that a program printed as the end of a line of stderr.
func errnoOf(stderr string) (syscall.Errno, bool) {
	for line := range strings.Lines(stderr) {
		line = strings.TrimRight(line, "\r\n .")
		for _, e := range errnos() {
			if strings.HasSuffix(line, errnoText(e)) {
				return e, true
			}
		}
	}
	return 0, false
}

// knownErrno returns err's errno if a replay can tell it back.
func knownErrno(err error) (syscall.Errno, bool) {
	var e syscall.Errno
	if !errors.As(err, &e) {
		return 0, false
	}
	for _, known := range errnos() {
		if e == known {
			return e, true
		}
	}
	return 0, false
}
