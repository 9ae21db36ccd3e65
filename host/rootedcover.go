package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// refuseAll is a policy-rc.d that answers 101, "action forbidden".
const refuseAll = "#!/bin/sh\nexit 101\n"

// cover mounts a text, from the /run of this namespace, over a file of the image.
func cover(t *tree, target, own, text string, mode uint32) error {
	source, err := t.open(own, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW, mode)
	if err != nil {
		return fmt.Errorf("%s cannot be made: %w", own, err)
	}
	file := os.NewFile(uintptr(source), own)
	_, err = io.WriteString(file, text)
	err = errors.Join(err, unix.Fchmod(source, mode), file.Close())
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", own, err)
	}
	from, err := t.open(own, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("%s cannot be opened: %w", own, err)
	}
	defer closeFD(from)
	to, err := t.open(target, unix.O_PATH, 0)
	if err != nil {
		return fmt.Errorf("%s cannot be opened: %w", target, err)
	}
	defer closeFD(to)
	if err := unix.Mount(fdPath(from), fdPath(to), "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("%s cannot be covered: %w", target, err)
	}
	return nil
}

const unameReal = "/run/rdmactl-uname-real"

// coverUname has uname tell another release. What else it tells is the machine's. While it is covered the
// package that holds it cannot be replaced; no RDMA stack brings coreutils.
func coverUname(t *tree, release string) error {
	var now unix.Utsname
	if err := unix.Uname(&now); err != nil {
		return fmt.Errorf("the running kernel is not told: %w", err)
	}
	program := "/usr/bin/uname"
	real, err := t.open(program, unix.O_PATH, 0)
	if errors.Is(err, unix.ENOENT) {
		program = "/bin/uname" // of a /usr that is not merged
		real, err = t.open(program, unix.O_PATH, 0)
	}
	if errors.Is(err, unix.ENOENT) {
		return nil // nothing of the image asks it
	}
	if err != nil {
		return fmt.Errorf("%s cannot be opened: %w", program, err)
	}
	defer closeFD(real)
	at, err := t.open(unameReal, unix.O_CREAT|unix.O_EXCL|unix.O_RDONLY|unix.O_NOFOLLOW, 0o755)
	if err != nil {
		return fmt.Errorf("%s cannot be made: %w", unameReal, err)
	}
	defer closeFD(at)
	if err := unix.Mount(fdPath(real), fdPath(at), "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("%s cannot be bound: %w", program, err)
	}
	running := unix.ByteSliceToString(now.Release[:])
	return cover(t, program, "/run/rdmactl-uname", fmt.Sprintf(unameScript, shellWord(running), shellWord(release), unameReal), 0o755)
}

// unameScript puts one release in the other's place.
const unameScript = `#!/bin/sh
running=%s
release=%s
said=$(%s "$@") || exit
case $said in
*"$running"*) said=${said%%%%"$running"*}$release${said#*"$running"} ;;
esac
printf '%%s\n' "$said"
`

func shellWord(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// coverResolver gives the command a copy of this machine's resolv.conf, since the network is this machine's.
// An image whose file leads to /run, as with systemd-resolved, finds it there.
func coverResolver(t *tree) error {
	text, err := os.ReadFile(resolverPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the name servers cannot be read: %w", err)
	}
	if target, err := t.Readlink(resolverPath); err == nil {
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(resolverPath), target)
		}
		target = path.Clean(target)
		if !strings.HasPrefix(target, "/run/") {
			return nil // the image's own way, whatever it is
		}
		if _, err := t.Stat("/run"); err != nil {
			return nil // nothing is mounted there
		}
		// Both are in the memory of this namespace.
		if err := t.MkdirAll(path.Dir(target), 0o755); err != nil {
			return fmt.Errorf("%s cannot be made: %w", path.Dir(target), err)
		}
		return t.WriteFile(target, text, 0o644)
	}
	switch info, err := t.Stat(resolverPath); {
	case err != nil:
		return fmt.Errorf("%s cannot be looked at: %w", resolverPath, err)
	case !info.Mode.IsRegular():
		return nil
	}
	return cover(t, resolverPath, "/run/rdmactl-resolv.conf", string(text), 0o644)
}
