package host

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// kept are the capabilities that a package's scripts have in an image: what container builds give them,
// which packages are made for, without MKNOD and NET_RAW. What is taken reaches the machine that the image is
// built on: SYS_MODULE, SYS_RAWIO and SYS_BOOT by their names; SYS_ADMIN by mounting devtmpfs, sysfs or
// another /proc; MKNOD by device nodes; DAC_READ_SEARCH by opening files of the image's file system by their
// handles (open_by_handle_at); NET_ADMIN since the network is shared; SYS_PTRACE by the helper in /proc/1;
// SYS_TIME, SYSLOG, SYS_RESOURCE and the rest by what they set for all.
func kept() []uintptr {
	return []uintptr{
		unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_KILL, unix.CAP_SETGID, unix.CAP_SETUID,
		unix.CAP_SETPCAP, unix.CAP_LINUX_IMMUTABLE, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT, unix.CAP_AUDIT_WRITE, unix.CAP_SETFCAP,
	}
}

// dropCapabilities takes from this thread, and from all that it starts, what an image's programs could do to
// the running machine. The helper itself keeps its own: so none of them may look at its files in /proc.
func dropCapabilities() error {
	keep := map[uintptr]bool{}
	for _, c := range kept() {
		keep[c] = true
	}
	for c := uintptr(0); c < 64; c++ {
		if keep[c] {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) && c > unix.CAP_AUDIT_READ {
			break // the last one that this kernel knows was before
		}
		if err != nil {
			return fmt.Errorf("the capability %d cannot be dropped: %w", c, err)
		}
	}
	// The bounding set bounds what a program file gives; ambient and inheritable ones pass by it.
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("the ambient capabilities cannot be dropped: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return fmt.Errorf("the capabilities cannot be read: %w", err)
	}
	sets[0].Inheritable, sets[1].Inheritable = 0, 0
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("the inheritable capabilities cannot be dropped: %w", err)
	}
	return nil
}

// hideHelper keeps the helper's own files in /proc, its program among them, from what it runs.
func hideHelper() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("the helper cannot be hidden: %w", err)
	}
	return nil
}

// withoutDevices makes device nodes in the image, and in what is mounted below it, of no effect: one of the
// build host's disk may have come with the image.
func withoutDevices(image int) error {
	err := unix.MountSetattr(image, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NODEV})
	if err == nil {
		return nil
	}
	if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("its device nodes cannot be disabled: %w", err)
	}
	// Before Linux 5.12, and below seccomp profiles that do not know the call: each mount by itself.
	name, err := os.Readlink(fdPath(image))
	if err != nil {
		return err
	}
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("the mounts cannot be read: %w", err)
	}
	for _, at := range mountsBelow(string(table), name) {
		fd, err := unix.Open(at, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			continue // another mount covers it
		}
		if err != nil {
			return fmt.Errorf("the mount %s cannot be opened: %w", at, err)
		}
		err = remountWithoutDevices(fd)
		closeFD(fd)
		if err != nil {
			return fmt.Errorf("the device nodes of %s cannot be disabled: %w", at, err)
		}
	}
	return nil
}

func remountWithoutDevices(fd int) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return err
	}
	flags := uintptr(unix.MS_BIND | unix.MS_REMOUNT | unix.MS_NODEV)
	for has, keep := range map[int64]uintptr{
		unix.ST_RDONLY: unix.MS_RDONLY, unix.ST_NOSUID: unix.MS_NOSUID, unix.ST_NOEXEC: unix.MS_NOEXEC,
		unix.ST_NOATIME: unix.MS_NOATIME, unix.ST_NODIRATIME: unix.MS_NODIRATIME, unix.ST_RELATIME: unix.MS_RELATIME,
	} {
		if int64(st.Flags)&has != 0 {
			flags |= keep
		}
	}
	return unix.Mount("", fdPath(fd), "", flags, "")
}

// mountsBelow are the mount points at and below a directory, from the text of /proc/self/mountinfo.
func mountsBelow(table, dir string) []string {
	var out []string
	for line := range strings.Lines(table) {
		// 36 35 98:0 /root /mnt/point rw,noatime - ext4 /dev/root rw
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		at := unescapeMount(f[4])
		if at == dir || strings.HasPrefix(at, strings.TrimSuffix(dir, "/")+"/") {
			out = append(out, at)
		}
	}
	return out
}

// unescapeMount reads the octal escapes of space, tab, newline and backslash.
func unescapeMount(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// protectProc makes read-only what under /proc sets the running kernel: a package's "sysctl -p"
// must not reach the machine that the image is built on.
func protectProc(t *tree) error {
	for _, p := range []string{
		"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/acpi", "/proc/asound", "/proc/driver", "/proc/dynamic_debug",
		"/proc/fs", "/proc/mtrr", "/proc/scsi", "/proc/tty",
	} {
		fd, err := t.open(p, unix.O_PATH, 0)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s cannot be opened: %w", p, err)
		}
		err = unix.Mount(fdPath(fd), fdPath(fd), "", unix.MS_BIND, "")
		closeFD(fd)
		if err != nil {
			return fmt.Errorf("%s cannot be protected: %w", p, err)
		}
		// Opened anew: the descriptor above is below the new mount.
		if fd, err = t.open(p, unix.O_PATH, 0); err != nil {
			return fmt.Errorf("%s cannot be opened: %w", p, err)
		}
		err = unix.Mount("", fdPath(fd), "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
		closeFD(fd)
		if err != nil {
			return fmt.Errorf("%s cannot be protected: %w", p, err)
		}
	}
	return nil
}
