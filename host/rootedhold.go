package host

import (
	"errors"
	"io/fs"
	"path"
	"slices"

	"golang.org/x/sys/unix"
)

const (
	// policyPath is asked by Debian's invoke-rc.d and deb-systemd-invoke before they start a service.
	policyPath = "/usr/sbin/policy-rc.d"
	// resolverPath names the name servers. Those of an image are of the place where it will run.
	resolverPath = "/etc/resolv.conf"
)

// placeholder is the text of a file that stands where the helper mounts one. It says nothing to a resolver,
// and it is not executable. A process that was killed leaves it behind, and the next one knows it by this.
const placeholder = "# rdmactl mounts a file here while it runs a command in this image; remove this one\n"

// holdPolicy makes sure that there is a file to mount the helper's policy on, in images that ask for it.
func (r *Rooted) holdPolicy() (release func(), held bool, err error) {
	if _, err := r.Lstat("/var/lib/dpkg"); errors.Is(err, fs.ErrNotExist) {
		return func() {}, false, nil
	}
	return r.hold(policyPath)
}

// hold makes sure that there is something to mount a file on. Where the image has nothing a placeholder
// stands there while the command runs: a file that only exists in the namespace cannot be made without
// covering its directory, where packages put their files.
func (r *Rooted) hold(p string) (release func(), held bool, err error) {
	nothing := func() {}
	dir, base, err := r.parent(p, unix.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nothing, false, nil
	}
	if err != nil {
		return nothing, false, pathError("write", p, err)
	}
	fd, err := unix.Openat(dir, base, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if errors.Is(err, unix.EEXIST) {
		if isPlaceholder(dir, base) {
			return func() { removePlaceholder(dir, base) }, true, nil
		}
		closeFD(dir)
		return nothing, true, nil
	}
	if err == nil {
		_, err = unix.Write(fd, []byte(placeholder))
		err = errors.Join(err, unix.Fchmod(fd, 0o644), unix.Close(fd))
	}
	if err != nil {
		removePlaceholder(dir, base)
		return nothing, false, pathError("write", p, err)
	}
	return func() { removePlaceholder(dir, base) }, true, nil
}

// RemovePlaceholders removes what a process that was killed left to mount files on. Nothing may run in the
// image meanwhile.
func (r *Rooted) RemovePlaceholders() error {
	for _, p := range []string{policyPath, resolverPath} {
		dir, base, err := r.parent(p, unix.O_RDONLY)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return pathError("remove", p, err)
		}
		removePlaceholder(dir, base)
	}
	return nil
}

// removePlaceholder removes it unless a package put its own file there meanwhile, and closes dir.
func removePlaceholder(dir int, base string) {
	if isPlaceholder(dir, base) {
		_ = unix.Unlinkat(dir, base, 0) // what stays says itself what it is
	}
	closeFD(dir)
}

func isPlaceholder(dir int, base string) bool {
	fd, err := unix.Openat(dir, base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer closeFD(fd)
	var st unix.Stat_t
	text := make([]byte, len(placeholder)+1)
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&0o111 != 0 {
		return false
	}
	n, err := unix.Read(fd, text)
	// A process that was killed at once leaves it empty.
	return err == nil && (n == 0 || string(text[:n]) == placeholder)
}

// downloads says that a command may ask the network: a package manager that was not told to do without.
func downloads(argv []string) bool {
	return slices.Contains([]string{"apt-get", "apt", "dnf", "yum", "zypper", "env"}, path.Base(argv[0])) && !slices.Contains(argv, "--no-download")
}
