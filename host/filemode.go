package host

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// fileMode turns st_mode into Go's mode.
func fileMode(raw uint32) fs.FileMode {
	mode := fs.FileMode(raw & 0o777)
	switch raw & syscall.S_IFMT {
	case syscall.S_IFDIR:
		mode |= fs.ModeDir
	case syscall.S_IFLNK:
		mode |= fs.ModeSymlink
	case syscall.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case syscall.S_IFSOCK:
		mode |= fs.ModeSocket
	case syscall.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case syscall.S_IFBLK:
		mode |= fs.ModeDevice
	}
	if raw&syscall.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if raw&syscall.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if raw&syscall.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}

// rawMode is the reverse of fileMode.
func rawMode(mode fs.FileMode) uint32 {
	raw := rawPermissions(mode)
	switch {
	case mode&fs.ModeDir != 0:
		raw |= syscall.S_IFDIR
	case mode&fs.ModeSymlink != 0:
		raw |= syscall.S_IFLNK
	case mode&fs.ModeNamedPipe != 0:
		raw |= syscall.S_IFIFO
	case mode&fs.ModeSocket != 0:
		raw |= syscall.S_IFSOCK
	case mode&fs.ModeCharDevice != 0:
		raw |= syscall.S_IFCHR
	case mode&fs.ModeDevice != 0:
		raw |= syscall.S_IFBLK
	default:
		raw |= syscall.S_IFREG
	}
	return raw
}

// rawPermissions is the part of a mode that chmod sets.
func rawPermissions(mode fs.FileMode) uint32 {
	raw := uint32(mode.Perm())
	if mode&fs.ModeSetuid != 0 {
		raw |= syscall.S_ISUID
	}
	if mode&fs.ModeSetgid != 0 {
		raw |= syscall.S_ISGID
	}
	if mode&fs.ModeSticky != 0 {
		raw |= syscall.S_ISVTX
	}
	return raw
}

// statLine prints a file the way "stat -c" does with statFormat.
func statLine(info FileInfo) string {
	name := func(s string) string {
		if s == "" {
			return "UNKNOWN"
		}
		return s
	}
	return fmt.Sprintf("%x %d %d %s %s %d %x %x %d.%09d\n", rawMode(info.Mode), info.UID, info.GID,
		name(info.Owner), name(info.Group), info.Size, info.Major, info.Minor, info.ModTime.Unix(), info.ModTime.Nanosecond())
}

// parseStatLine is the reverse of statLine.
func parseStatLine(line string) (FileInfo, bool) {
	f := strings.Fields(line)
	if len(f) != 9 {
		return FileInfo{}, false
	}
	ok := true
	num := func(s string, base, bits int) uint64 {
		v, err := strconv.ParseUint(s, base, bits)
		ok = ok && err == nil
		return v
	}
	name := func(s string) string {
		if s == "UNKNOWN" {
			return ""
		}
		return s
	}
	info := FileInfo{
		Mode: fileMode(uint32(num(f[0], 16, 32))), UID: uint32(num(f[1], 10, 32)), GID: uint32(num(f[2], 10, 32)),
		Owner: name(f[3]), Group: name(f[4]), Size: int64(num(f[5], 10, 63)),
		Major: uint32(num(f[6], 16, 32)), Minor: uint32(num(f[7], 16, 32)),
	}
	seconds, nanos, _ := strings.Cut(f[8], ".")
	sec, err := strconv.ParseInt(seconds, 10, 64)
	ok = ok && err == nil
	var nsec uint64
	if nanos != "" {
		nsec = num(nanos, 10, 32)
	}
	info.ModTime = time.Unix(sec, int64(nsec)).UTC()
	return info, ok
}

// mode reads the permission bits of a node, written in octal.
func (n Node) mode() (fs.FileMode, error) {
	raw, err := strconv.ParseUint(n.Mode, 8, 12)
	if err != nil {
		return 0, fmt.Errorf("mode must be octal such as \"0600\", not %q", n.Mode)
	}
	return fileMode(uint32(raw)), nil
}
