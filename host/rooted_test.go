package host_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
)

// TestMain lets the test's own binary be the helper that enters an image, as rdmactl's is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == host.ImageExecCommand {
		os.Exit(host.RootedChild(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func newRooted(t *testing.T, root string) *host.Rooted {
	t.Helper()
	r, err := host.NewRooted(root)
	must(t, err)
	t.Cleanup(func() { must(t, r.Close()) })
	return r
}

// hostile makes an image whose links try to reach a file beside it.
func hostile(t *testing.T) (image, outside string) {
	t.Helper()
	base := t.TempDir()
	image, outside = filepath.Join(base, "image"), filepath.Join(base, "outside")
	must(t, os.MkdirAll(filepath.Join(image, "etc"), 0o755))
	must(t, os.MkdirAll(outside, 0o755))
	must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("of the build host"), 0o644))
	must(t, os.WriteFile(filepath.Join(image, "inside"), []byte("of the image"), 0o644))
	for name, target := range map[string]string{
		"etc/absolute": filepath.Join(outside, "secret"), "etc/dots": "../../../../../../../../.." + outside + "/secret",
		"etc/dir": outside, "etc/dotdir": "../../outside", "etc/loop": "loop", "etc/good": "/inside", "etc/updots": "../../../inside",
	} {
		must(t, os.Symlink(target, filepath.Join(image, name)))
	}
	return image, outside
}

func TestRootedStaysInside(t *testing.T) {
	for _, walk := range []bool{false, true} {
		name := map[bool]string{false: "openat2", true: "own walk"}[walk]
		t.Run(name, func(t *testing.T) {
			image, outside := hostile(t)
			r := newRooted(t, image)
			if walk {
				r.WalkOnly()
			}
			for _, p := range []string{"/etc/absolute", "/etc/dots", "/etc/dir/secret", "/etc/dotdir/secret", "/../outside/secret", "/etc/../../outside/secret"} {
				if data, err := r.ReadFile(p); err == nil || !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: read %q, %v; want that it is absent", p, data, err)
				}
				if _, err := r.Stat(p); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: stat %v; want that it is absent", p, err)
				}
			}
			for _, p := range []string{"/etc/good", "/etc/updots", "/etc/../inside", "//inside"} {
				if data, err := r.ReadFile(p); err != nil || string(data) != "of the image" {
					t.Errorf("%s: read %q, %v; want the image's file", p, data, err)
				}
			}
			if _, err := r.ReadFile("/etc/loop"); err == nil || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a loop of links gives %v", err)
			}
			for _, p := range []string{"/etc/dir/new", "/etc/dotdir/new"} {
				if err := r.WriteFile(p, []byte("x"), 0); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: written, %v", p, err)
				}
				if err := r.Symlink("x", p); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: linked, %v", p, err)
				}
			}
			if err := r.Chmod("/etc/absolute", 0o777); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("chmod outside gives %v", err)
			}
			if err := r.Remove("/etc/dir/secret"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("remove outside gives %v", err)
			}
			// A link is replaced by a file, not written through.
			must(t, r.WriteFile("/etc/absolute", []byte("new"), 0))
			names, err := os.ReadDir(outside)
			must(t, err)
			data, err := os.ReadFile(filepath.Join(outside, "secret"))
			must(t, err)
			if len(names) != 1 || string(data) != "of the build host" {
				t.Errorf("outside now holds %v, %q", names, data)
			}
		})
	}
}

// TestRootedParentSwap renames a directory and a link to the outside in turn while files are
// written and read below it.
func TestRootedParentSwap(t *testing.T) {
	for _, walk := range []bool{false, true} {
		image, outside := hostile(t)
		r := newRooted(t, image)
		if walk {
			r.WalkOnly()
		}
		real, swap := filepath.Join(image, "swap.real"), filepath.Join(image, "swap")
		must(t, os.Mkdir(real, 0o755))
		must(t, os.Rename(real, swap))
		link := filepath.Join(image, "swap.link")
		must(t, os.Symlink(outside, link))
		stop, stopped := make(chan struct{}), make(chan error, 1)
		go func() {
			for {
				select {
				case <-stop:
					stopped <- nil
					return
				default:
				}
				if err := errors.Join(os.Rename(swap, real), os.Rename(link, swap), os.Rename(swap, link), os.Rename(real, swap)); err != nil {
					stopped <- err
					return
				}
				runtime.Gosched()
			}
		}()
		// As many tries as it takes to meet the directory in its place, besides those to race.
		written := 0
		for try := 0; try < 300 || written < 3 && try < 200000; try++ {
			if r.WriteFile("/swap/file", []byte("x"), 0) == nil {
				written++
			}
			if data, err := r.ReadFile("/swap/secret"); err == nil {
				t.Fatalf("read %q from outside", data)
			}
		}
		close(stop)
		must(t, <-stopped)
		entries, err := os.ReadDir(outside)
		must(t, err)
		if len(entries) != 1 {
			t.Errorf("outside holds %v", entries)
		}
		if written == 0 {
			t.Error("no write succeeded: the race was not tried")
		}
	}
}

func TestRootedKnowsWhatIsNotTheTargets(t *testing.T) {
	for _, walk := range []bool{false, true} {
		image := t.TempDir()
		for _, dir := range []string{"proc/sys", "etc", "usr"} {
			must(t, os.MkdirAll(filepath.Join(image, dir), 0o755))
		}
		must(t, os.WriteFile(filepath.Join(image, "proc/version"), []byte("of the build host"), 0o644))
		must(t, os.Symlink("/proc/mounts", filepath.Join(image, "etc/mtab")))
		must(t, os.Symlink("../proc/version", filepath.Join(image, "etc/version")))
		r := newRooted(t, image)
		if walk {
			r.WalkOnly()
		}
		for _, p := range []string{"/proc/version", "/proc/gone", "/sys/class/infiniband", "/dev/infiniband", "/etc/mtab", "/etc/version"} {
			if _, err := r.ReadFile(p); !errors.Is(err, host.ErrUnknown) || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s gives %v, want unknown", p, err)
			}
		}
		if _, err := r.ReadDir("/proc"); !errors.Is(err, host.ErrUnknown) {
			t.Errorf("listing /proc gives %v, want unknown", err)
		}
		for _, p := range []string{"/etc/gone", "/usr/gone/x", "/procx"} {
			if _, err := r.ReadFile(p); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s gives %v, want absent", p, err)
			}
		}
		for _, argv := range [][]string{
			{"uname", "-r"},
			{"lspci", "-nn"},
			{"lsmod"},
			{"ip", "link"},
			{"rdma", "link"},
			{"dmesg"},
			{"ibv_devinfo"},
			{"systemctl", "is-active", "openibd"},
			{"modinfo", "mlx5_core"},
			{"cat", "/proc/version"},
			{"ls", "/sys"},
			{"sysctl", "-n", "kernel.ostype"},
			{"mokutil", "--sb-state"},
		} {
			if _, err := r.Query(context.Background(), argv...); !errors.Is(err, host.ErrUnknown) {
				t.Errorf("%v gives %v, want unknown", argv, err)
			}
		}
		if _, err := r.Query(context.Background(), "dpkg-query", "-W"); !errors.Is(err, host.ErrNotInstalled) {
			t.Errorf("dpkg-query in an image without it gives %v", err)
		}
		if _, err := r.Query(context.Background(), "modprobe", "mlx5_core"); !errors.Is(err, host.ErrNotAllowed) {
			t.Errorf("modprobe gives %v", err)
		}
	}
}

func TestReadingNeverOpensPipesAndDevices(t *testing.T) {
	root := sample(t)
	r := newRooted(t, root)
	if _, err := r.ReadFile("/fifo"); err == nil {
		t.Error("a named pipe was read")
	}
	if info, err := r.Stat("/fifo"); err != nil || info.Mode&fs.ModeNamedPipe == 0 {
		t.Errorf("stat of a named pipe: %+v, %v", info, err)
	}
	never := func(io.ReaderAt, int64) (string, error) { return "", errors.New("it was opened") }
	for _, live := range []struct {
		reader host.Reader
		dir    string
	}{{r, ""}, {host.NewLive(), root}} {
		paths := []string{live.dir + "/fifo"}
		if live.dir != "" {
			paths = append(paths, "/dev/zero", "/dev/tty")
		}
		for _, p := range paths {
			if _, err := live.reader.ReadFile(p); !errors.Is(err, syscall.EINVAL) {
				t.Errorf("reading %s gives %v", p, err)
			}
			if _, err := live.reader.ReadDir(p); !errors.Is(err, syscall.ENOTDIR) {
				t.Errorf("listing %s gives %v", p, err)
			}
			if _, err := live.reader.Derive(t.Context(), p, []string{"modinfo", p}, never); !errors.Is(err, syscall.EINVAL) {
				t.Errorf("deriving from %s gives %v", p, err)
			}
		}
	}
}

// image copies programs of this machine and their libraries into a root.
func image(t *testing.T, programs ...string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not root: commands inside an image need namespaces")
	}
	if out, err := exec.Command("unshare", "-m", "-p", "-f", "true").CombinedOutput(); err != nil {
		t.Skipf("namespaces cannot be made here: %v %s", err, out)
	}
	root := t.TempDir()
	for _, dir := range []string{"proc", "sys", "dev", "run", "etc", "usr/bin", "usr/sbin", "var/lib/dpkg", "tmp"} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	must(t, os.Symlink("usr/bin", filepath.Join(root, "bin")))
	library := regexp.MustCompile(`(/\S+\.so\S*)`)
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("%s is not installed", name)
		}
		out, err := exec.Command("ldd", path).CombinedOutput()
		if err != nil {
			t.Skipf("ldd %s: %v %s", path, err, out)
		}
		copyFile(t, path, filepath.Join(root, "usr/bin", name))
		for _, lib := range library.FindAllString(string(out), -1) {
			copyFile(t, lib, filepath.Join(root, lib))
		}
	}
	return root
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	must(t, err)
	must(t, os.MkdirAll(filepath.Dir(to), 0o755))
	must(t, os.WriteFile(to, data, 0o755))
}

// run executes a shell script in the image.
func run(t *testing.T, r *host.Rooted, script string) host.Result {
	t.Helper()
	res, err := r.Run(context.Background(), host.Command{Argv: []string{"sh", "-c", script}})
	must(t, err)
	return res
}

func TestRootedRunsInside(t *testing.T) {
	root := image(t, "sh", "cat", "ls", "mknod", "id", "chmod")
	r := newRooted(t, root)
	must(t, os.WriteFile(filepath.Join(root, "etc/mark"), []byte("the image"), 0o644))

	got := run(t, r, "cat /etc/mark; echo err >&2; exit 3")
	if got.Stdout != "the image" || got.Stderr != "err\n" || got.Exit != 3 {
		t.Errorf("got %+v", got)
	}
	res, err := r.Query(context.Background(), "cat", "/etc/mark")
	if err != nil || res.Stdout != "the image" {
		t.Errorf("query gives %+v, %v", res, err)
	}
	if got := run(t, r, "ls /dev; ls /sys; ls /run; echo x >/dev/null && echo null works"); !strings.Contains(got.Stdout, "urandom\n") ||
		!strings.Contains(got.Stdout, "null works") || strings.Contains(got.Stdout, "infiniband") || strings.Contains(got.Stdout, "kernel\n") {
		t.Errorf("/dev, /sys and /run are %+v", got)
	}
	// DAC_READ_SEARCH 2, NET_ADMIN 12, SYS_MODULE 16, SYS_RAWIO 17, SYS_PTRACE 19, SYS_ADMIN 21, SYS_BOOT 22,
	// SYS_TIME 25, MKNOD 27
	status := run(t, r, "cat /proc/self/status").Stdout
	for _, set := range []string{"CapEff", "CapPrm", "CapBnd"} {
		m := regexp.MustCompile(set + `:\s+([0-9a-f]+)`).FindStringSubmatch(status)
		if m == nil {
			t.Fatalf("no %s in %s", set, status)
		}
		if mask := hexNumber(t, m[1]); mask&(1<<2|1<<12|1<<16|1<<17|1<<19|1<<21|1<<22|1<<25|1<<27) != 0 || mask&(1<<0) == 0 {
			t.Errorf("%s is %x", set, mask)
		}
	}
	if got := run(t, r, "mknod /tmp/sda b 8 0"); got.Exit == 0 {
		t.Error("a device node could be made")
	}
	if got := run(t, r, "echo 1 >/proc/sys/kernel/panic_on_oops"); got.Exit == 0 {
		t.Error("a setting of the running kernel could be written")
	}
	if got := run(t, r, "echo $$; ls /proc"); slices.Contains(strings.Fields(got.Stdout), "kthreadd") || len(got.Stdout) > 4000 {
		t.Errorf("the host's processes are seen: %s", got.Stdout)
	}
	if got := run(t, r, "cat /../../../etc/mark"); got.Stdout != "the image" {
		t.Errorf("dots lead out: %+v", got)
	}
	if _, err := r.Run(context.Background(), host.Command{Argv: []string{"nosuch"}}); !errors.Is(err, host.ErrNotInstalled) {
		t.Errorf("a missing program gives %v", err)
	}
	left, err := os.ReadDir(filepath.Join(root, "dev"))
	must(t, err)
	if len(left) != 0 {
		t.Errorf("the image's /dev was written to: %v", left)
	}
}

func hexNumber(t *testing.T, s string) (n uint64) {
	t.Helper()
	for _, c := range s {
		n = n<<4 | uint64(strings.IndexRune("0123456789abcdef", c))
	}
	return n
}

func TestRootedForbidsServices(t *testing.T) {
	root := image(t, "sh", "cat")
	r := newRooted(t, root)
	script := "/usr/sbin/policy-rc.d; echo $?"
	if got := run(t, r, script).Stdout; got != "101\n" {
		t.Errorf("policy-rc.d answers %q", got)
	}
	if _, err := os.Lstat(filepath.Join(root, "usr/sbin/policy-rc.d")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("policy-rc.d is left in the image: %v", err)
	}
	own := filepath.Join(root, "usr/sbin/policy-rc.d")
	must(t, os.WriteFile(own, []byte("#!/bin/sh\nexit 0\n"), 0o755))
	if got := run(t, r, script).Stdout; got != "101\n" {
		t.Errorf("the image's own policy-rc.d is not covered: %q", got)
	}
	data, err := os.ReadFile(own)
	must(t, err)
	if string(data) != "#!/bin/sh\nexit 0\n" {
		t.Errorf("the image's own policy-rc.d became %q", data)
	}
}

// TestRootedMountsThroughNoLink has an image whose /dev, /proc and /run point at the host's files.
func TestRootedMountsThroughNoLink(t *testing.T) {
	root := image(t, "sh", "ls")
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "kept"), nil, 0o644))
	must(t, os.Remove(filepath.Join(root, "run")))
	must(t, os.Symlink(outside, filepath.Join(root, "run")))
	r := newRooted(t, root)
	_, err := r.Run(context.Background(), host.Command{Argv: []string{"sh", "-c", "ls " + outside}})
	names, readErr := os.ReadDir(outside)
	must(t, readErr)
	if len(names) != 1 {
		t.Errorf("the host's directory now holds %v (run: %v)", names, err)
	}
}

func TestRootedRunIsCancelled(t *testing.T) {
	root := image(t, "sh", "sleep")
	r := newRooted(t, root)
	ctx, cancel := context.WithCancel(context.Background())
	started := writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	res, err := r.Run(ctx, host.Command{Argv: []string{"sh", "-c", "trap 'echo ended; exit 4' TERM; echo ready; while :; do sleep 0.1; done"}, Output: started})
	if !errors.Is(err, context.Canceled) || !strings.Contains(res.Stdout, "ended") {
		t.Errorf("got %+v, %v; want that it ends itself after SIGTERM", res, err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// The refusal is for ordinary users, so root runs this test again as one.
func TestRootedNeedsRoot(t *testing.T) {
	if os.Geteuid() == 0 {
		const nobody = 65534
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestRootedNeedsRoot$", "-test.v")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestRootedNeedsRoot") {
			t.Errorf("as an ordinary user: %v\n%s", err, out)
		}
		return
	}
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "usr/bin"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "usr/bin/dpkg"), nil, 0o755))
	_, err := newRooted(t, dir).Query(context.Background(), "dpkg", "-l")
	if !errors.Is(err, fs.ErrPermission) || errors.Is(err, host.ErrUnknown) || !strings.Contains(err.Error(), "needs root") {
		t.Errorf("got %v", err)
	}
}

func TestRootedChildRefusesToBeStartedByHand(t *testing.T) {
	cmd := exec.Command(exePath(t), host.ImageExecCommand)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "started by rdmactl itself") {
		t.Errorf("got %v, %s", err, out)
	}
}

func TestDeriveReadsBinary(t *testing.T) {
	root := sample(t)
	r := newRooted(t, root)
	res, err := r.Derive(context.Background(), "/lib/modules/6.1.0/mlx5_core.ko", []string{"modinfo", "mlx5_core"}, func(f io.ReaderAt, size int64) (string, error) {
		b := make([]byte, size)
		_, err := f.ReadAt(b, 0)
		return string(b[1:4]) + "\n", err
	})
	must(t, err)
	if diff := cmp.Diff(host.Result{Argv: []string{"modinfo", "mlx5_core"}, Stdout: "ELF\n"}, res); diff != "" {
		t.Error(diff)
	}
	if !r.Now().After(time.Time{}) || r.Told().Kind != "root" || r.Told().Root != root {
		t.Errorf("told %+v", r.Told())
	}
}

func exePath(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	return exe
}
