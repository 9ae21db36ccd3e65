package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// RootedChild is the other half of a Rooted's commands. It is the first process of new mount, pid,
// ipc and uts namespaces, makes them ready, enters the image and runs the command. It takes nothing
// from args: the root is file descriptor 3, the request is read from 4, trouble is told on 5.
// It returns the exit code of the process.
func RootedChild(args []string) int {
	for fd := 3; fd <= 5; fd++ {
		unix.CloseOnExec(fd)
	}
	told := os.NewFile(5, "answer")
	code, err := rootedChild(args)
	if err != nil {
		if _, writeErr := fmt.Fprint(told, err); writeErr != nil {
			fmt.Fprintln(os.Stderr, "rdmactl:", err)
		}
		return exitNoRun
	}
	return code
}

func rootedChild(args []string) (int, error) {
	if len(args) != 0 {
		return 0, errors.New("this command is started by rdmactl itself and takes no arguments")
	}
	// It mounts over its own root: started by hand, that would be the host's.
	if os.Getpid() != 1 {
		return 0, errors.New("this command is started by rdmactl itself, in namespaces of its own")
	}
	data, err := io.ReadAll(io.LimitReader(os.NewFile(4, "request"), 128<<10))
	if err != nil {
		return 0, fmt.Errorf("the request cannot be read: %w", err)
	}
	var request imageRequest
	if err := json.Unmarshal(data, &request); err != nil {
		return 0, fmt.Errorf("the request cannot be read: %w", err)
	}
	if len(request.Argv) == 0 {
		return 0, errors.New("the request names no command")
	}
	// Capabilities belong to the thread; the command is forked from this one.
	runtime.LockOSThread()
	if err := enterImage(3, request); err != nil {
		return 0, err
	}
	// A directory of this machine, from which dots lead on: nothing below may find it in /proc.
	closeFD(3)
	if err := hideHelper(); err != nil {
		return 0, err
	}
	if err := dropCapabilities(); err != nil {
		return 0, err
	}
	return runAsInit(request)
}

// runAsInit runs the command and passes signals on. The command itself must not be process 1 of
// its namespace: the kernel keeps SIGTERM from a process 1 that has no handler for it.
func runAsInit(request imageRequest) (int, error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	cmd := &exec.Cmd{
		Path: request.Argv[0], Args: request.Argv, Env: request.Env, Dir: "/",
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		// A session of its own, as the signal to the helper's group reaches only the helper then.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("%s cannot be started: %w", request.Argv[0], err)
	}
	go func() {
		for s := range signals {
			if number, ok := s.(syscall.Signal); ok {
				signalGroup(-cmd.Process.Pid, number)
			}
		}
	}()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// enterImage makes the image the root of this process. Every mount goes through a descriptor that
// was resolved inside the image, so that a link in it cannot direct a mount to the host's files.
func enterImage(root int, request imageRequest) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("the mounts cannot be made private: %w", err)
	}
	image, err := bindRoot(root)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(image), "image")
	defer closeFile(file)
	if err := withoutDevices(image); err != nil {
		return err
	}
	t := &tree{root: file}
	const safe = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	for _, m := range []struct {
		path, kind, data string
		flags            uintptr
	}{
		{"/proc", "proc", "", safe},
		{"/sys", "tmpfs", "mode=0555,size=4k", safe | unix.MS_RDONLY},
		// /run may hold sockets of the host's services, when the image was prepared with bind mounts.
		{"/run", "tmpfs", "mode=0755,size=16m", unix.MS_NOSUID | unix.MS_NODEV},
		{"/dev", "tmpfs", "mode=0755,size=1m", unix.MS_NOSUID | unix.MS_NOEXEC},
	} {
		if err := mountInside(t, m.path, m.kind, m.data, m.flags); err != nil {
			return err
		}
	}
	if err := fillDev(t); err != nil {
		return err
	}
	if err := protectProc(t); err != nil {
		return err
	}
	if request.Policy {
		if err := cover(t, policyPath, "/run/rdmactl-policy-rc.d", refuseAll, 0o755); err != nil {
			return err
		}
	}
	if request.Resolver {
		if err := coverResolver(t); err != nil {
			return err
		}
	}
	if request.Apart != "" {
		for _, p := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
			if err := bindInside(t, request.Apart, p); err != nil {
				return err
			}
		}
	}
	if request.Kernel != "" {
		if err := coverUname(t, request.Kernel); err != nil {
			return err
		}
	}
	return pivot(image)
}

// bindRoot makes the image a mount of its own, which pivot_root wants, and opens that. The root's
// descriptor is of the caller's mount namespace, where nothing can be mounted from here: the
// directory is opened anew by its name and must still be the same.
func bindRoot(root int) (int, error) {
	name, err := os.Readlink(fdPath(root))
	if err != nil {
		return -1, err
	}
	below, err := openSame(name, root)
	if err != nil {
		return -1, err
	}
	defer closeFD(below)
	if err := unix.Mount(fdPath(below), fdPath(below), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return -1, fmt.Errorf("it cannot be bound: %w", err)
	}
	return openSame(name, root)
}

// openSame opens a directory that must be the one that a descriptor holds.
func openSame(name string, same int) (int, error) {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("%s cannot be opened: %w", name, err)
	}
	var was, is unix.Stat_t
	err = errors.Join(unix.Fstat(same, &was), unix.Fstat(fd, &is))
	if err == nil && (was.Dev != is.Dev || was.Ino != is.Ino) {
		err = fmt.Errorf("%s was replaced meanwhile", name)
	}
	if err != nil {
		closeFD(fd)
		return -1, err
	}
	return fd, nil
}

// mountInside mounts on a directory of the image; a directory that is missing needs no mount.
func mountInside(t *tree, p, kind, data string, flags uintptr) error {
	fd, err := t.open(p, unix.O_PATH|unix.O_DIRECTORY, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s cannot be opened: %w", p, err)
	}
	defer closeFD(fd)
	if err := unix.Mount(kind, fdPath(fd), kind, flags, data); err != nil {
		return fmt.Errorf("%s cannot be mounted: %w", p, err)
	}
	return nil
}

// bindInside puts a directory of the image into the place of another one; where that is missing, nobody can write to it.
func bindInside(t *tree, from, at string) error {
	own, err := t.open(from, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return fmt.Errorf("%s cannot be opened: %w", from, err)
	}
	defer closeFD(own)
	fd, err := t.open(at, unix.O_PATH|unix.O_DIRECTORY, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s cannot be opened: %w", at, err)
	}
	defer closeFD(fd)
	if err := unix.Mount(fdPath(own), fdPath(fd), "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("%s cannot be put in the place of %s: %w", from, at, err)
	}
	return nil
}

// fillDev binds the harmless devices from the host's /dev, which works where mknod is not allowed.
func fillDev(t *tree) error {
	dev, err := t.open("/dev", unix.O_PATH|unix.O_DIRECTORY, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("/dev cannot be opened: %w", err)
	}
	defer closeFD(dev)
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		fd, err := unix.Openat(dev, name, unix.O_CREAT|unix.O_EXCL|unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o666)
		if err != nil {
			return fmt.Errorf("/dev/%s cannot be made: %w", name, err)
		}
		err = unix.Mount("/dev/"+name, fdPath(fd), "", unix.MS_BIND, "")
		closeFD(fd)
		if err != nil {
			return fmt.Errorf("/dev/%s cannot be bound: %w", name, err)
		}
	}
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		if err := unix.Symlinkat(target, dev, name); err != nil {
			return fmt.Errorf("/dev/%s cannot be made: %w", name, err)
		}
	}
	for _, name := range []string{"shm", "pts"} {
		if err := unix.Mkdirat(dev, name, 0o1777); err != nil {
			return fmt.Errorf("/dev/%s cannot be made: %w", name, err)
		}
	}
	// Package managers ask for a pseudo terminal for dpkg's output.
	if err := mountInside(t, "/dev/pts", "devpts", "newinstance,ptmxmode=0666,mode=0620", unix.MS_NOSUID|unix.MS_NOEXEC); err != nil {
		return err
	}
	if err := unix.Symlinkat("pts/ptmx", dev, "ptmx"); err != nil {
		return fmt.Errorf("/dev/ptmx cannot be made: %w", err)
	}
	return nil
}

// pivot makes the image "/" and lets go of the host's files. On a root in an initramfs, where
// pivot_root does not work, the image is moved and entered by chroot.
func pivot(image int) error {
	if err := unix.Fchdir(image); err != nil {
		return fmt.Errorf("it cannot be entered: %w", err)
	}
	err := unix.PivotRoot(".", ".")
	if errors.Is(err, unix.EINVAL) {
		if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
			return fmt.Errorf("it cannot be made the root: %w", err)
		}
		if err := unix.Chroot("."); err != nil {
			return fmt.Errorf("it cannot be made the root: %w", err)
		}
		return unix.Chdir("/")
	}
	if err != nil {
		return fmt.Errorf("it cannot be made the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("the host's files cannot be let go: %w", err)
	}
	return unix.Chdir("/")
}
