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
	"runtime"
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
	kernel     string   // release that uname tells in the image, empty for this machine's
}

// NewRooted makes a Writer for the image in directory root.
func NewRooted(root string) (*Rooted, error) { return NewRootedAs(root, root) }

// NewRootedAs is NewRooted for a directory that people know by another name, such as one that is held open
// and found as /proc/self/fd/N.
func NewRootedAs(root, name string) (*Rooted, error) {
	t, err := openTree(root)
	if err != nil {
		return nil, fault.New(fault.Usage, "no-root", "give a directory that holds a root file system", "%w", err)
	}
	t.foreign = []string{"/proc", "/sys", "/dev"}
	return &Rooted{
		tree: t, name: name, searchPath: defaultPath, deadline: queryDeadline,
		helper: []string{"/proc/self/exe", ImageExecCommand},
	}, nil
}

// UseKernel makes uname tell the release of the image's kernel. Scripts ask it for which kernel to build and
// to index modules, and the running one is this machine's. Programs that ask the kernel themselves are not
// deceived.
func (r *Rooted) UseKernel(release string) { r.kernel = release }

// Directory is the image's directory, opened with O_PATH.
func (r *Rooted) Directory() *os.File { return r.root }

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
// a minimal /dev, empty /sys and /run, a policy-rc.d that lets no service start, no other device nodes,
// and no capability that reaches the running machine (see kept). The network is this machine's, and so
// is the resolv.conf that package managers see. All of it ends with this process.
func (r *Rooted) Run(ctx context.Context, c Command) (Result, error) {
	return r.inside(ctx, c, false)
}

// imageRequest is what the helper gets on its file descriptor 4.
type imageRequest struct {
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	// Policy says that /usr/sbin/policy-rc.d exists and is to be covered, Resolver the same of
	// /etc/resolv.conf.
	Policy   bool `json:"policy"`
	Resolver bool `json:"resolver"`
	// Kernel is the release that uname tells.
	Kernel string `json:"kernel"`
	// Apart is that of the Command.
	Apart string `json:"apart,omitempty"`
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
	// systemctl (239 and newer) then reads and makes links instead of asking a manager for it.
	request.Env = append(request.Env, "SYSTEMD_OFFLINE=1")
	if !query {
		request.Kernel = r.kernel
		request.Env = append(request.Env, "DEBIAN_FRONTEND=noninteractive")
		release, held, err := r.holdPolicy()
		if err != nil {
			return fail(err)
		}
		request.Policy = held
		defer release()
	}
	if !query && downloads(c.Argv) {
		release, held, err := r.hold(resolverPath)
		if err != nil {
			return fail(err)
		}
		request.Resolver = held
		defer release()
	}
	space := uintptr(unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS)
	if request.Apart = c.Apart; c.Apart != "" {
		space |= unix.CLONE_NEWNET
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
		ExtraFiles: []*os.File{r.root, asked, told}, // 3, 4, 5
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags: space,
			// Whoever continues a run whose process was killed must be alone in the image.
			Pdeathsig: unix.SIGKILL,
		},
	}
	// The signal comes when the thread ends that started the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
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

// asksRunningHost says that a command's answer is about the machine it runs on, not the image.
func asksRunningHost(argv []string) bool {
	program, args := path.Base(argv[0]), argv[1:]
	switch program {
	case "dpkg", "dpkg-query", "rpm", "apt-cache", "apt-config", "apt-mark", "update-alternatives", "dpkg-divert",
		"getent", "objdump", "readelf", "ofed_info", "id", "ldconfig", "gcc", "cc", "make", "ld", "cmake", "ninja", "meson",
		"dnf", "yum", "zypper", "apt", "apt-get", "dkms", "python3", "perl", "tar", "zstd", "xz", "kmod",
		// The file systems of the image are those of its namespace.
		"df":
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
