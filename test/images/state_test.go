package images

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmactl/rdmactl/install"
)

// result is how a command ended.
type result struct {
	exit           int
	stdout, stderr string
	argv           []string
}

func (r result) String() string {
	return fmt.Sprintf("$ %s\n%s%s[exit %d]", strings.Join(r.argv, " "), r.stdout, r.stderr, r.exit)
}

// limit is far above what any command here takes; one that hangs fails its test.
const limit = 5 * time.Minute

// command is rdmactl, not started yet.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	file, err := program()
	must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, file, args...)
}

// rdmactl runs the program and checks its exit code.
func rdmactl(t *testing.T, exit int, args ...string) result {
	t.Helper()
	cmd := command(t, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	r := result{cmd.ProcessState.ExitCode(), out.String(), said.String(), append([]string{"rdmactl"}, args...)}
	if r.exit != exit {
		t.Fatalf("exit %d, want %d:\n%s", r.exit, exit, r)
	}
	return r
}

// says checks that an output holds each text.
func (r result) says(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.stdout+r.stderr, text) {
			t.Errorf("%q is not said:\n%s", text, r)
		}
	}
}

// report is what is read of rdmactl.run/v1.
type report struct {
	RunID   string `json:"run_id"`
	Verdict string `json:"verdict"`
	Root    string `json:"root"`
	Changed bool   `json:"changed"`
	Log     string `json:"log"`
	Steps   []struct {
		ID, Status string
	} `json:"steps"`
}

func decode[T any](t *testing.T, r result) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, r)
	}
	return v
}

// installs installs a profile into an image and returns the report.
func (im image) installs(t *testing.T, args ...string) report {
	t.Helper()
	return decode[report](t, rdmactl(t, 0, append([]string{"install", "--root", im.root, "--yes", "-o", "json"}, args...)...))
}

// rollsBack undoes the latest run.
func (im image) rollsBack(t *testing.T) {
	t.Helper()
	if r := decode[report](t, rdmactl(t, 0, "rollback", "--root", im.root, "-o", "json")); r.Verdict != "rolled-back" {
		t.Errorf("the verdict of the rollback is %s", r.Verdict)
	}
}

// tree describes each file below a directory by what a change shows in.
type tree map[string]string

// treeOf reads the directories below root, without the paths that skip names (path.Match).
func treeOf(t *testing.T, root string, dirs, skip []string) tree {
	t.Helper()
	out := tree{}
	for _, dir := range dirs {
		must(t, filepath.WalkDir(filepath.Join(root, dir), func(p string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // gone meanwhile
			}
			if err != nil {
				return err
			}
			rel := "/" + strings.TrimPrefix(strings.TrimPrefix(p, root), "/")
			if slices.ContainsFunc(skip, func(pattern string) bool { hit, err := path.Match(pattern, rel); return err == nil && hit }) {
				if d.IsDir() {
					return filepath.SkipDir
				}
				return nil
			}
			what, err := describe(p)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			out[rel] = what
			return err
		}))
	}
	return out
}

func describe(p string) (string, error) {
	info, err := os.Lstat(p)
	if err != nil {
		return "", err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", fmt.Errorf("no owner of %s", p)
	}
	what := fmt.Sprintf("%v %d:%d", info.Mode(), st.Uid, st.Gid)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(p)
		return what + " -> " + target, err
	case info.Mode().IsRegular():
		data, err := os.ReadFile(p)
		if err != nil {
			return "", err
		}
		sum := sha256.Sum256(data)
		return what + " " + hex.EncodeToString(sum[:8]), nil
	}
	return what, nil
}

// changed lists what differs.
func (before tree) changed(after tree) []string {
	var out []string
	for p, what := range after {
		switch was, ok := before[p]; {
		case !ok:
			out = append(out, "+ "+p+" "+what)
		case was != what:
			out = append(out, "~ "+p+" "+was+" => "+what)
		}
	}
	for p, what := range before {
		if _, ok := after[p]; !ok {
			out = append(out, "- "+p+" "+what)
		}
	}
	slices.Sort(out)
	return out
}

// guarded is the image without what a rollback leaves: the exceptions, the package manager's own files and the
// runs themselves.
func (im image) guarded(t *testing.T) tree {
	t.Helper()
	skip := []string{
		"/var/lib/rdmactl", "/var/log", "/var/cache", "/var/lib/apt", "/srv",
		// dpkg rewrites its database, and systemd's helper keeps notes of what was purged.
		"/var/lib/dpkg", "/var/lib/systemd/deb-systemd-helper-*", "/var/backups",
	}
	for _, e := range install.Exceptions() {
		skip = append(skip, e.Path)
	}
	return treeOf(t, im.root, []string{"."}, skip)
}

// packages is the package database of the image: name to version, of what is installed whole.
func (im image) packages(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(im.path("var/lib/dpkg/status"))
	must(t, err)
	out := map[string]string{}
	for block := range strings.SplitSeq(string(text), "\n\n") {
		field := map[string]string{}
		for line := range strings.Lines(block) {
			if name, value, ok := strings.Cut(line, ":"); ok && name != "" && name[0] != ' ' {
				field[name] = strings.TrimSpace(value)
			}
		}
		if field["Package"] == "" {
			continue
		}
		if field["Status"] == "install ok installed" {
			out[field["Package"]] = field["Version"]
		} else {
			out[field["Package"]] = field["Status"]
		}
	}
	return out
}

// machine is what an installation into an image must leave alone: the build host.
type machine struct {
	files   tree
	modules []string
	mounts  []string
	links   []string
	kernel  map[string]string
}

// thisMachine reads the build host. Mounts and files below the cache are the tests' own.
func thisMachine(t *testing.T) machine {
	t.Helper()
	m := machine{kernel: map[string]string{}}
	m.files = treeOf(t, "/", []string{"etc", "run", "boot"}, []string{"/run/user", "/run/systemd/*", "/run/log", "/run/udev/data"})
	for _, f := range []struct {
		file   string
		column int
		into   *[]string
	}{{"/proc/modules", 0, &m.modules}, {"/proc/self/mountinfo", 4, &m.mounts}} {
		text, err := os.ReadFile(f.file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // this kernel has no modules
		}
		must(t, err)
		for line := range strings.Lines(string(text)) {
			if word := strings.Fields(line)[f.column]; !strings.HasPrefix(word, "/var/cache/") && !strings.HasPrefix(word, "/tmp/") {
				*f.into = append(*f.into, word)
			}
		}
	}
	links, err := os.ReadDir("/sys/class/net")
	must(t, err)
	for _, l := range links {
		m.links = append(m.links, l.Name())
	}
	for _, name := range []string{"hostname", "printk_ratelimit_burst", "panic_on_oops", "core_pattern", "modprobe", "sysrq"} {
		if text, err := os.ReadFile("/proc/sys/kernel/" + name); err == nil {
			m.kernel[name] = string(text)
		}
	}
	if len(m.files) == 0 || len(m.mounts) == 0 || len(m.kernel) == 0 {
		t.Fatalf("this machine is not seen: %d files, %d mounts, %d settings", len(m.files), len(m.mounts), len(m.kernel))
	}
	return m
}

// unchanged checks that the build host is as before.
func (m machine) unchanged(t *testing.T) {
	t.Helper()
	now := thisMachine(t)
	if diff := m.files.changed(now.files); len(diff) > 0 {
		t.Errorf("files of the build host changed:\n%s", strings.Join(diff, "\n"))
	}
	for what, pair := range map[string][2][]string{"modules": {m.modules, now.modules}, "mounts": {m.mounts, now.mounts}, "interfaces": {m.links, now.links}} {
		slices.Sort(pair[0])
		slices.Sort(pair[1])
		if !slices.Equal(pair[0], pair[1]) {
			t.Errorf("the %s of the build host were %v and are %v", what, pair[0], pair[1])
		}
	}
	for name, was := range m.kernel {
		if now.kernel[name] != was {
			t.Errorf("kernel.%s of the build host was %q and is %q", name, was, now.kernel[name])
		}
	}
}
