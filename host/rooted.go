package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdmactl/rdmactl/internal/fault"
)

// ImageExecCommand is the hidden command by which a Rooted starts its own program again to run
// something inside the image; the program then calls RootedChild.
const ImageExecCommand = "image-exec"

// Rooted reads and changes an image: a root file system that is not running. The kernel, devices
// and services that this machine happens to have are not the image's, so questions about them are
// ErrUnknown.
type Rooted struct {
	*tree
	name       string
	searchPath string
	deadline   time.Duration
	helper     []string // program and arguments that lead to RootedChild
}

// NewRooted makes a Writer for the image in directory root.
func NewRooted(root string) (*Rooted, error) {
	t, err := openTree(root)
	if err != nil {
		return nil, fault.New(fault.Usage, "no-root", "give a directory that holds a root file system", "%w", err)
	}
	t.foreign = []string{"/proc", "/sys", "/dev"}
	return &Rooted{
		tree: t, name: root, searchPath: defaultPath, deadline: queryDeadline,
		helper: []string{"/proc/self/exe", ImageExecCommand},
	}, nil
}

// Close gives the image's directory free.
func (r *Rooted) Close() error { return r.root.Close() }

// Now is this machine's clock: an image has none.
func (r *Rooted) Now() time.Time { return time.Now() }

// Told names the root. The reader's user is told, since file permissions were judged with it.
func (r *Rooted) Told() Told {
	uid := os.Geteuid()
	return Told{Kind: "root", Root: r.name, UID: &uid}
}

// Derive reads a binary file of the image.
func (r *Rooted) Derive(_ context.Context, path string, argv []string, decode Decoder) (Result, error) {
	return r.derive(path, argv, decode)
}

// Query runs a command of the read-only list inside the image. One that asks the running kernel,
// its devices or services is ErrUnknown.
func (r *Rooted) Query(ctx context.Context, argv ...string) (Result, error) {
	if err := Allowed(argv); err != nil {
		return Result{}, err
	}
	if asksRunningHost(argv) {
		return Result{}, &commandError{argv, ErrUnknown}
	}
	if _, has := ctx.Deadline(); !has {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.deadline)
		defer cancel()
	}
	result, err := r.inside(ctx, Command{Argv: argv}, true)
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// Run executes a command inside the image: in mount, pid, ipc and uts namespaces of its own, with
// a minimal /dev, empty /sys and /run, a policy-rc.d that lets no service start, and without the
// capabilities to load modules, reboot, reach hardware or make device nodes.
func (r *Rooted) Run(ctx context.Context, c Command) (Result, error) {
	return r.inside(ctx, c, false)
}

// imageRequest is what the helper gets on its file descriptor 4.
type imageRequest struct {
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	// Policy says that /usr/sbin/policy-rc.d exists and is to be covered.
	Policy bool `json:"policy"`
}

func (r *Rooted) inside(ctx context.Context, c Command, query bool) (Result, error) {
	fail := func(err error) (Result, error) { return Result{}, &commandError{c.Argv, err} }
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return fail(errors.New("the command is empty"))
	}
	program, err := r.program(c.Argv[0])
	if err != nil {
		return fail(err)
	}
	if os.Geteuid() != 0 {
		return fail(fault.New(fault.Stopped, "needs-root", "run it as root: commands of an image run in namespaces of their own",
			"running inside the image %s needs root: %w", r.name, fs.ErrPermission))
	}
	request := imageRequest{Argv: append([]string{program}, c.Argv[1:]...), Env: environment(r.searchPath, !query, c.Env)}
	if !query {
		request.Env = append(request.Env, "DEBIAN_FRONTEND=noninteractive")
		release, held, err := r.holdPolicy()
		if err != nil {
			return fail(err)
		}
		request.Policy = held
		defer release()
	}
	asked, err := pipeOf(request)
	if err != nil {
		return fail(err)
	}
	defer closeFile(asked)
	answer, told, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	defer closeFile(answer)
	cmd := &exec.Cmd{
		Path: r.helper[0], Args: r.helper, Dir: "/", Env: request.Env,
		ExtraFiles:  []*os.File{r.root, asked, told}, // 3, 4, 5
		SysProcAttr: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS},
	}
	setStdin(cmd, c.Stdin)
	// The helper's own trouble comes on a pipe, apart from what the command prints.
	trouble := make(chan string, 1)
	go func() {
		text, err := io.ReadAll(io.LimitReader(answer, 64<<10))
		if err != nil {
			text = []byte(err.Error())
		}
		trouble <- string(text)
	}()
	run := &process{argv: c.Argv, cmd: cmd, output: c.Output, strict: query, gentle: !query, started: func() { closeFile(told) }}
	result, err := run.run(ctx)
	closeFile(told)
	if text := <-trouble; text != "" && ctx.Err() == nil {
		return fail(fmt.Errorf("the image %s cannot be entered: %s", r.name, text))
	}
	return result, err
}

// pipeOf gives a value to a child as JSON on a pipe; requests are far below the pipe's 64 KiB.
func pipeOf(v any) (*os.File, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(data) > 60<<10 {
		return nil, fmt.Errorf("the command line is too long: %w", syscall.E2BIG)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer closeFile(write)
	if _, err := write.Write(data); err != nil {
		closeFile(read)
		return nil, err
	}
	return read, nil
}

// program finds an executable of the image.
func (r *Rooted) program(name string) (string, error) {
	candidates := []string{name}
	if !strings.Contains(name, "/") {
		candidates = nil
		for dir := range strings.SplitSeq(r.searchPath, ":") {
			candidates = append(candidates, path.Join(dir, name))
		}
	}
	for _, candidate := range candidates {
		info, err := r.Stat(candidate)
		if err == nil && info.Mode.IsRegular() && info.Mode&0o111 != 0 {
			return candidate, nil
		}
	}
	return "", ErrNotInstalled
}

// policyPath is asked by Debian's invoke-rc.d and deb-systemd-invoke before they start a service.
const policyPath = "/usr/sbin/policy-rc.d"

// holdPolicy makes sure that there is a file to mount the helper's policy on. Where the image has
// none an empty one stands there while the command runs: a file that only exists in the namespace
// cannot be made without covering all of /usr/sbin, where packages put their files.
func (r *Rooted) holdPolicy() (release func(), held bool, err error) {
	nothing := func() {}
	if _, err := r.Lstat("/var/lib/dpkg"); errors.Is(err, fs.ErrNotExist) {
		return nothing, false, nil
	}
	dir, base, err := r.parent(policyPath, unix.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nothing, false, nil
	}
	if err != nil {
		return nothing, false, pathError("write", policyPath, err)
	}
	fd, err := unix.Openat(dir, base, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if errors.Is(err, unix.EEXIST) {
		closeFD(dir)
		return nothing, true, nil
	}
	if err != nil {
		closeFD(dir)
		return nothing, false, pathError("write", policyPath, err)
	}
	var made unix.Stat_t
	err = unix.Fstat(fd, &made)
	closeFD(fd)
	if err != nil {
		closeFD(dir)
		return nothing, false, pathError("write", policyPath, err)
	}
	return func() {
		defer closeFD(dir)
		// A package may have put its own file there meanwhile; that one stays.
		var now unix.Stat_t
		if unix.Fstatat(dir, base, &now, unix.AT_SYMLINK_NOFOLLOW) == nil && now.Ino == made.Ino && now.Size == 0 {
			_ = unix.Unlinkat(dir, base, 0) // an empty file that is not executable changes nothing
		}
	}, true, nil
}

// asksRunningHost says that a command's answer is about the machine it runs on, not the image.
func asksRunningHost(argv []string) bool {
	program, args := path.Base(argv[0]), argv[1:]
	switch program {
	case "dpkg", "dpkg-query", "rpm", "apt-cache", "apt-config", "apt-mark", "update-alternatives", "dpkg-divert",
		"getent", "objdump", "readelf", "ofed_info", "id", "ldconfig", "gcc", "cc", "make", "ld", "cmake", "ninja", "meson",
		"dnf", "yum", "zypper", "apt", "apt-get", "dkms", "python3", "perl", "tar", "zstd", "xz", "kmod":
		return false
	case "systemctl":
		// These read unit files, the others ask the running manager.
		for _, a := range args {
			if !strings.HasPrefix(a, "-") {
				return a != "is-enabled" && a != "list-unit-files" && a != "cat" && a != "get-default"
			}
		}
		return true
	case "modinfo", "lsinitrd":
		// Without a kernel release or a path they ask uname.
		for _, a := range args {
			if a == "-k" || a == "--kver" || strings.HasPrefix(a, "--kver=") || strings.HasPrefix(a, "/") {
				return false
			}
		}
		return len(args) != 1 || args[0] != "--version"
	case "lsinitramfs":
		return false
	case "cat", "ls", "stat", "grep", "test", "readlink", "file":
		for _, a := range args {
			a = path.Clean(a)
			for _, dir := range []string{"/proc", "/sys", "/dev", "/run"} {
				if a == dir || strings.HasPrefix(a, dir+"/") {
					return true
				}
			}
		}
		return false
	default:
		return true
	}
}
