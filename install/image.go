package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/internal/fault"
)

// Image is a root file system that does not run: a chroot or the tree of a diskless image. The journal, the
// log and the lock of its runs are inside it, so that it knows its history wherever it is taken; they are
// reached through directories that are opened inside the image and held open, so that no link in it leads to
// the build host's files. Its worker is a session of its own: nothing of the build host, its systemd and its
// /run included, is used.
type Image struct {
	name string
	host *host.Rooted
	// state and log are nil while the image has no such directory.
	state, log *os.File
}

// Where an image keeps the state of its runs and their logs.
const (
	imageState = "/var/lib/rdmactl"
	imageLog   = "/var/log/rdmactl"
)

// ImageFD is the descriptor at which a worker is given the directory of its image.
const ImageFD = 3

// OpenImage opens the image in a directory, to be asked about. The root of the running host is none.
func OpenImage(dir string) (*Image, error) {
	name, err := filepath.Abs(dir)
	if err != nil {
		return nil, fault.New(fault.Usage, "no-root", "give the directory's full path", "cannot open the image %s: %w", dir, err)
	}
	return openImage(name, name)
}

// OpenGivenImage opens the image whose directory this worker was given as ImageFD, with its runs; name is what
// it is called.
func OpenGivenImage(name string) (*Image, error) {
	im, err := openImage("/proc/self/fd/"+strconv.Itoa(ImageFD), name)
	if err != nil {
		return nil, err
	}
	if err := im.OpenRuns(); err != nil {
		return nil, errors.Join(err, im.Close())
	}
	return im, nil
}

func openImage(at, name string) (*Image, error) {
	h, err := host.NewRootedAs(at, name)
	if err != nil {
		return nil, err
	}
	im := &Image{name: name, host: h}
	info, err := h.Directory().Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot look at the image %s: %w", name, err), im.Close())
	}
	own, err := os.Stat("/")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot look at /: %w", err), im.Close())
	}
	if os.SameFile(info, own) {
		return nil, errors.Join(fault.New(fault.Usage, "root-is-this-host", "leave --root away to work on this host",
			"cannot take %s for an image: it is the root of the running host", name), im.Close())
	}
	return im, nil
}

// OpenRuns opens what the image knows of its runs, which only root may see. A tree in which others than root
// rule is refused: its programs are run as root.
func (im *Image) OpenRuns() error {
	if os.Geteuid() != 0 {
		return fault.New(fault.Stopped, "not-root", "run it with sudo: an image keeps the journals of its runs, which are root's to read", "cannot use the image %s: not root", im.name)
	}
	info, err := im.host.Directory().Stat()
	if err != nil {
		return fmt.Errorf("cannot look at the image %s: %w", im.name, err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	const code, hint = "root-not-trusted", "its programs would run as root: unpack the image as root, then `chown root:root` and `chmod go-w` that directory"
	switch {
	case !ok || st.Uid != 0:
		return fault.New(fault.Stopped, code, hint, "cannot use the image %s: root does not own its directory", im.name)
	case info.Mode().Perm()&0o022 != 0:
		return fault.New(fault.Stopped, code, hint, "cannot use the image %s: others may write its directory (mode %04o)", im.name, info.Mode().Perm())
	}
	return im.openState()
}

// Host reads and changes the image.
func (im *Image) Host() *host.Rooted { return im.host }

// Close gives the image's directories free.
func (im *Image) Close() error {
	errs := []error{im.host.Close()}
	for _, f := range []*os.File{im.state, im.log} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// openState opens the directories of the image's runs, as far as they are there.
func (im *Image) openState() error {
	var err error
	if im.state, err = im.hold(im.state, imageState); err != nil {
		return err
	}
	im.log, err = im.hold(im.log, imageLog)
	return err
}

// hold opens a directory of the image that is not open yet; one that is not there is none.
func (im *Image) hold(have *os.File, dir string) (*os.File, error) {
	if have != nil {
		return have, nil
	}
	root, err := im.host.OpenDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, im.faulty(dir, err)
	}
	defer root.Close()
	f, err := root.Open(".")
	if err != nil {
		return nil, im.faulty(dir, err)
	}
	return f, nil
}

func (im *Image) faulty(dir string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fault.New(fault.Stopped, "not-root", "run it with sudo, or as a user who may read the image", "cannot use %s of the image %s: %w", dir, im.name, err)
	}
	return fault.New(fault.Stopped, "image-faulty", "look what stands there in the image", "cannot use %s of the image %s: %w", dir, im.name, err)
}

// Prepare makes the directories of the image's runs where they are missing.
func (im *Image) Prepare() error {
	for _, d := range []struct {
		dir  string
		mode fs.FileMode
	}{{filepath.Dir(imageState), 0o755}, {imageState, 0o700}, {filepath.Dir(imageLog), 0o755}, {imageLog, 0o755}} {
		if err := im.host.MkdirAll(d.dir, d.mode); err != nil {
			return im.faulty(d.dir, err)
		}
	}
	return im.openState()
}

// Paths are where the runs of the image are. While it has had none they name nothing that exists.
func (im *Image) Paths() Paths {
	const none = "/proc/self/fd/none"
	p := Paths{State: none, Log: none, Inside: imageState, Shown: filepath.Join(im.name, imageLog)}
	if im.state != nil {
		p.State = heldPath(im.state)
	}
	if im.log != nil {
		p.Log = heldPath(im.log)
	}
	p.Lock = filepath.Join(p.State, "lock")
	return p
}

// Said names files of the image's runs in a text as people find them; this process and its worker know them
// by the directories that they hold.
func (im *Image) Said(text string) string {
	for _, d := range []struct {
		held *os.File
		dir  string
	}{{im.state, imageState}, {im.log, imageLog}} {
		if d.held != nil {
			text = regexp.MustCompile(heldPath(d.held)+`\b`).ReplaceAllString(text, escaped(filepath.Join(im.name, d.dir)))
		}
	}
	text = regexp.MustCompile(`/proc/self/fd/[0-9]+/(runs|lock)\b`).ReplaceAllString(text, escaped(filepath.Join(im.name, imageState))+"/$1")
	return regexp.MustCompile(`/proc/self/fd/[0-9]+(/[0-9]{8}T[0-9]{6}Z-[0-9a-f]{4}\.log)`).ReplaceAllString(text, escaped(filepath.Join(im.name, imageLog))+"$1")
}

// escaped is a text that stands for itself in a replacement.
func escaped(text string) string { return strings.ReplaceAll(text, "$", "$$") }

func heldPath(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// Kernel settles the kernel that is planned for: the one that is asked for, else the only one of the image.
// Empty is an image without a kernel, which is no fault unless modules are to be installed.
func (im *Image) Kernel(asked string) (string, error) {
	names, err := im.host.ReadDir("/lib/modules")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", im.faulty("/lib/modules", err)
	}
	kernels := []string{}
	for _, name := range names {
		if info, err := im.host.Stat("/lib/modules/" + name); err == nil && info.Mode.IsDir() {
			kernels = append(kernels, name)
		}
	}
	return ChooseKernel(im.name, kernels, asked)
}

// ChooseKernel settles which of its kernels the image with that name is planned for: the one that is asked for, else
// the only one. Empty is for an image without any.
func ChooseKernel(image string, kernels []string, asked string) (string, error) {
	switch {
	case asked != "" && (len(kernels) == 0 || slices.Contains(kernels, asked)):
		return asked, nil
	case asked != "":
		return "", fault.New(fault.Usage, "kernel-not-in-image", "install that kernel in the image, or name one that it has",
			"cannot use --kernel %s: the image %s has %s", asked, image, strings.Join(kernels, ", "))
	case len(kernels) > 1:
		return "", fault.New(fault.Usage, "kernel-not-named", "name one with --kernel",
			"cannot tell which kernel the image %s will run: it has %s", image, strings.Join(kernels, ", "))
	case len(kernels) == 1:
		return kernels[0], nil
	}
	return "", nil
}

// start starts a worker in a session of its own, which the end of a terminal does not reach. It runs the very
// file that this process runs, whatever becomes of its name; nothing that is executed here lies in the image.
func (im *Image) start(j *journal.Run, do string) error {
	out, err := j.Output("worker.out")
	if err != nil {
		return fmt.Errorf("cannot start the worker: %w", err)
	}
	defer out.Close()
	cmd := exec.Command("/proc/self/exe", workerArguments(j.ID, do, im.name)...)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = out, out
	cmd.ExtraFiles = []*os.File{im.host.Directory()} // ImageFD
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start the worker: %w", err)
	}
	go func() { _ = cmd.Wait() }() // its outcome is in the journal
	return nil
}

func workerArguments(id, do, root string) []string {
	args := []string{"install-worker", "--run", id, "--do", do}
	if root != "" {
		args = append(args, "--root", root)
	}
	return args
}

// ready makes the image ready for a run, or for another attempt at one.
func (im *Image) ready(o order, again bool) error {
	var asked struct{ Kernel string }
	if len(o.Request) > 0 {
		if err := json.Unmarshal(o.Request, &asked); err != nil {
			return fmt.Errorf("cannot read for which kernel the run is: %w", err)
		}
	}
	im.host.UseKernel(asked.Kernel)
	if again {
		return im.tidy()
	}
	return nil
}

// tidy removes what a run that was killed left beside its journal, and its package manager in /tmp and /var/tmp: on a host
// the next boot does, an image would be delivered with it.
func (im *Image) tidy() error {
	if err := im.host.RemovePlaceholders(); err != nil {
		return err
	}
	for _, left := range leavings() {
		if err := im.clear(left.dir, left.patterns); err != nil {
			return err
		}
	}
	return nil
}

// leaving is what a package manager that was killed leaves in a directory.
type leaving struct {
	dir      string
	patterns []string
}

// leavings are apt's; dnf's file for the words of scriptlets, which Python names; rpm's scriptlets, the keyrings
// of libzypp, and the temporary files of SQLite below rpm's database; and the trees and archives of mkinitramfs and
// dracut, which packages' scripts run as well.
func leavings() []leaving {
	return []leaving{
		{"/tmp", []string{
			"apt-dpkg-install-??????", "apt.conf.??????", "apt.sig.??????", "apt.data.??????", "apt-key-gpghome.??????????", "fileutl.message.??????",
			pythonTemporary,
		}},
		{"/var/tmp", []string{
			"rpm-tmp.??????", "zypp.??????", "etilqs_????????????????",
			"mkinitramfs_??????", "mkinitramfs-OL_??????", "mkinitramfs-MAIN_??????", "mkinitramfs-FW_??????", "dracut.??????",
		}},
	}
}

// pythonTemporary is any file that a program in Python made for a moment: of these only files go that nobody
// but root could read.
const pythonTemporary = "tmp[a-z0-9_][a-z0-9_][a-z0-9_][a-z0-9_][a-z0-9_][a-z0-9_][a-z0-9_][a-z0-9_]"

func (im *Image) clear(dir string, patterns []string) error {
	tmp, err := im.host.OpenDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return im.faulty(dir, err)
	}
	defer tmp.Close()
	for _, pattern := range patterns {
		names, err := fs.Glob(tmp.FS(), pattern)
		if err != nil {
			return im.faulty(dir, err)
		}
		for _, name := range names {
			if pattern == pythonTemporary {
				if info, err := tmp.Lstat(name); err != nil || info.Mode() != 0o600 {
					continue
				}
			}
			if err := tmp.RemoveAll(name); err != nil {
				return im.faulty(dir+"/"+name, err)
			}
		}
	}
	return nil
}

// noteKeys says which private keys an image would be delivered with.
func (r *run) noteKeys() error {
	if !r.inImage() {
		return nil
	}
	for _, p := range keyPairs() {
		file := p.key
		switch _, err := r.host.Lstat(file); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return r.note("it is not known whether the image holds the private key %s: %v", file, err)
		default:
			if err := r.note("the image holds the private key %s, which signs modules: whoever gets the image can sign some for every host that trusts it; "+
				"remove it before the image is delivered", file); err != nil {
				return err
			}
		}
	}
	return nil
}

// isWorkerOf says that a process is a worker of a run. The number comes from a lock file, and that of an image
// may say anything.
func isWorkerOf(pid int, id string) bool {
	if pid <= 1 {
		return false
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return false
	}
	words := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
	return len(words) > 3 && slices.Equal(words[1:4], []string{"install-worker", "--run", id})
}

// inImage says that the host does not run: nothing can be started in it, and nothing asked that runs.
func (r *run) inImage() bool { return r.host.Told().Kind == "root" }
