package install

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/host"
)

// fakeHost is a host in a directory. Its programs (modprobe, rmmod, systemctl, udevadm, df) are in
// Go and keep their state in files below it, so that a crash loses what a crash would lose. tick is
// called before and after every change.
type fakeHost struct {
	t     *testing.T
	root  string
	uid   int
	tick  func()
	ran   []string
	fails map[string]string // command line -> what it says on stderr, ending with 1
	free  int64             // KiB that df tells
	// script is what a vendor's installer does, a program below /srv.
	script func(host.Command) host.Result
}

func newFakeHost(t *testing.T) *fakeHost {
	t.Helper()
	h := &fakeHost{t: t, root: memoryDir(t), tick: func() {}, fails: map[string]string{}, free: 10 << 20}
	h.put("/proc/modules", "ext4 1 0 - Live 0x0\n")
	h.put("/proc/sys/kernel/osrelease", "6.1.0-9-amd64\n")
	h.put("/proc/sys/kernel/random/boot_id", "0f0e\n")
	h.put("/proc/cmdline", "quiet\n")
	h.put("/lib/modules/6.1.0-9-amd64/modules.dep", "kernel/rdma_rxe.ko: kernel/ib_core.ko\nkernel/ib_core.ko:\nkernel/mlx5_core.ko:\n")
	h.put("/lib/modules/6.1.0-9-amd64/modules.builtin", "")
	h.put("/run/udev/control", "")
	h.put("/run/systemd/system/.keep", "")
	h.put("/run/units.json", "{}")
	h.put("/etc/old.conf", "old text\n")
	h.put("/etc/gone.conf", "to be removed\n")
	h.put("/usr/bin/tool", "tool\n")
	h.put("/usr/share/doc/x", "")
	h.put("/var/log/x", "")
	return h
}

// memoryDir is a temporary directory, in memory where there is one: the journal is synced at each
// entry, and the crash tests write tens of thousands.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "rdmactl-test")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func (h *fakeHost) path(p string) string { return filepath.Join(h.root, p) }

func (h *fakeHost) put(p, text string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(h.path(p)), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(h.path(p), []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *fakeHost) text(p string) string {
	h.t.Helper()
	data, err := os.ReadFile(h.path(p))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(data)
}

// tree is the host's state, without the tool's own files.
func (h *fakeHost) tree() map[string]string {
	h.t.Helper()
	state := map[string]string{}
	err := filepath.WalkDir(h.root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(h.root, p)
		if d.IsDir() && slices.Contains([]string{"var/lib/rdmactl", "var/log/rdmactl", "run/rdmactl"}, rel) {
			return filepath.SkipDir
		}
		info, err := os.Lstat(p)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			state[rel] = info.Mode().String()
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			state[rel] = "-> " + target
		default:
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			state[rel] = info.Mode().String() + " " + string(data)
		}
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return state
}

func (h *fakeHost) ReadFile(p string) ([]byte, error) { return os.ReadFile(h.path(p)) }

func (h *fakeHost) ReadDir(p string) ([]string, error) {
	entries, err := os.ReadDir(h.path(p))
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

func (h *fakeHost) Readlink(p string) (string, error) { return os.Readlink(h.path(p)) }

func (h *fakeHost) Stat(p string) (host.FileInfo, error) {
	info, err := os.Stat(h.path(p))
	return infoFrom(info, err)
}

func (h *fakeHost) Lstat(p string) (host.FileInfo, error) {
	info, err := os.Lstat(h.path(p))
	return infoFrom(info, err)
}

func infoFrom(info fs.FileInfo, err error) (host.FileInfo, error) {
	if err != nil {
		return host.FileInfo{}, err
	}
	st := info.Sys().(*syscall.Stat_t)
	return host.FileInfo{Mode: info.Mode(), UID: st.Uid, GID: st.Gid, Size: info.Size(), ModTime: info.ModTime()}, nil
}

func (h *fakeHost) Now() time.Time { return time.Now() }
func (h *fakeHost) Told() host.Told {
	uid := h.uid
	return host.Told{Kind: "live", UID: &uid}
}

func (h *fakeHost) Derive(_ context.Context, p string, argv []string, decode host.Decoder) (host.Result, error) {
	f, err := os.Open(h.path(p))
	if err != nil {
		return host.Result{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return host.Result{}, err
	}
	text, err := decode(f, info.Size())
	return host.Result{Argv: argv, Stdout: text}, err
}

func (h *fakeHost) units() map[string]string {
	units := map[string]string{}
	if err := json.Unmarshal([]byte(h.text("/run/units.json")), &units); err != nil {
		h.t.Fatal(err)
	}
	return units
}

func (h *fakeHost) Query(_ context.Context, argv ...string) (host.Result, error) {
	res := host.Result{Argv: argv}
	switch argv[0] {
	case "systemctl":
		word := h.units()[argv[1]+" "+argv[2]]
		if word == "" {
			word = map[string]string{"is-active": "inactive", "is-enabled": "disabled"}[argv[1]]
			res.Exit = 3
		}
		res.Stdout = word + "\n"
	case "df":
		res.Stdout = "Filesystem 1024-blocks Used Available Capacity Mounted on\n" +
			strings.Repeat(fmt.Sprintf("/dev/vda 1 1 %d 1%% /\n", h.free), len(argv)-3) // behind -P and -k
	case "dmesg":
	default:
		return res, host.ErrNotAllowed
	}
	return res, nil
}

func (h *fakeHost) Run(_ context.Context, cmd host.Command) (host.Result, error) {
	line := strings.Join(cmd.Argv, " ")
	h.ran = append(h.ran, line)
	res := host.Result{Argv: cmd.Argv}
	if said, ok := h.fails[line]; ok {
		res.Exit, res.Stderr = 1, said
		return res, nil
	}
	h.tick()
	defer h.tick()
	name := cmd.Argv[len(cmd.Argv)-1]
	switch cmd.Argv[0] {
	case "modprobe":
		for _, m := range map[string][]string{"rdma_rxe": {"ib_core", "rdma_rxe"}}[name] {
			if !strings.Contains(h.text("/proc/modules"), m+" ") {
				used := "-"
				h.put("/proc/modules", m+" 1 0 "+used+" Live 0x0\n"+h.text("/proc/modules"))
			}
		}
	case "rmmod":
		kept := ""
		for l := range strings.Lines(h.text("/proc/modules")) {
			if !strings.HasPrefix(l, name+" ") {
				kept += l
			}
		}
		h.put("/proc/modules", kept)
	case "systemctl":
		units := h.units()
		switch verb := cmd.Argv[2]; verb {
		case "start", "restart":
			units["is-active "+name] = "active"
		case "stop":
			delete(units, "is-active "+name)
		case "daemon-reload":
		default:
			h.t.Fatalf("unexpected %q", line)
		}
		data, err := json.Marshal(units)
		if err != nil {
			h.t.Fatal(err)
		}
		h.put("/run/units.json", string(data))
	case "update-initramfs":
		file := "/boot/initrd.img-" + name
		h.put(file+".dpkg-bak", h.text(file))
		h.tick()
		h.put(file+".new", "half\n")
		h.tick()
		h.put(file+".new", "of "+h.text(fakeDBPath))
		h.tick()
		for _, do := range []func() error{
			func() error { return os.Rename(h.path(file+".new"), h.path(file)) },
			func() error { return os.Remove(h.path(file + ".dpkg-bak")) },
		} {
			if err := do(); err != nil {
				return res, err
			}
			h.tick()
		}
	case "udevadm", "sync", "depmod":
	case "cp", "rm", "diff":
		return h.files(res, cmd.Argv)
	case "systemd-run":
		i := slices.Index(cmd.Argv, "--")
		worker := exec.Command(cmd.Argv[i+1], cmd.Argv[i+2:]...)
		worker.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := worker.Start(); err != nil {
			return res, err
		}
		go func() { _ = worker.Wait() }()
	default:
		if h.script != nil && strings.HasPrefix(cmd.Argv[0], "/srv/") {
			res = h.script(cmd)
			res.Argv = cmd.Argv
			return res, nil
		}
		h.t.Fatalf("unexpected command %q", line)
	}
	return res, nil
}

func (h *fakeHost) WriteFile(p string, data []byte, mode fs.FileMode) error {
	h.tick()
	defer h.tick()
	if mode == 0 {
		mode = 0o644
		if info, err := os.Stat(h.path(p)); err == nil {
			mode = info.Mode().Perm()
		}
	}
	// The name is one that the real host gives (host/treetemp.go): a crash leaves it, and a run must tidy it.
	tmp := filepath.Join(filepath.Dir(h.path(p)), "."+filepath.Base(p)+".rdmactl-abcdefghijkl~")
	if err := os.WriteFile(tmp, data, mode); err != nil {
		return err
	}
	h.tick()
	if err := os.Chmod(tmp, mode); err != nil {
		return err
	}
	return os.Rename(tmp, h.path(p))
}

func (h *fakeHost) MkdirAll(p string, mode fs.FileMode) error {
	h.tick()
	defer h.tick()
	return os.MkdirAll(h.path(p), mode)
}

func (h *fakeHost) Remove(p string) error {
	h.tick()
	defer h.tick()
	return os.Remove(h.path(p))
}

func (h *fakeHost) Rename(from, to string) error {
	h.tick()
	defer h.tick()
	return os.Rename(h.path(from), h.path(to))
}

func (h *fakeHost) Symlink(target, p string) error {
	h.tick()
	defer h.tick()
	return os.Symlink(target, h.path(p))
}

func (h *fakeHost) Chown(string, uint32, uint32) error       { return nil }
func (h *fakeHost) Chmod(p string, mode fs.FileMode) error   { return os.Chmod(h.path(p), mode) }
func (h *fakeHost) SetXattr(string, string, []byte) error    { return nil }
func (h *fakeHost) Xattrs(string) (map[string][]byte, error) { return nil, nil }
