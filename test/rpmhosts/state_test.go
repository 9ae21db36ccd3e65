package rpmhosts

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
	Changed bool   `json:"changed"`
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

// args is a command about the host: what would be asked for ConnectX-5 with the distribution's stack.
func (im image) args(verb string, more ...string) []string {
	return append([]string{verb, "--root", im.root, "--profile", "inbox", "--card", "connectx-5", "--kernel", im.kernel}, more...)
}

// installs installs and returns the report.
func (im image) installs(t *testing.T) report {
	t.Helper()
	return decode[report](t, rdmactl(t, 0, im.args("install", "--yes", "-o", "json")...))
}

// rollsBack undoes the latest run.
func (im image) rollsBack(t *testing.T) {
	t.Helper()
	if r := decode[report](t, rdmactl(t, 0, "rollback", "--root", im.root, "-o", "json")); r.Verdict != "rolled-back" {
		t.Errorf("the verdict of the rollback is %s", r.Verdict)
	}
}

// tree describes each file below a directory by what a change shows in, or each package of a database.
type tree map[string]string

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

// files is the host without what a rollback leaves: the exceptions, databases and caches of the package
// manager, which packages tells of, and the runs themselves.
func (im image) files(t *testing.T) tree {
	t.Helper()
	skip := []string{
		"/var/lib/rdmactl", "/var/log", "/var/cache", "/var/lib/rpm", "/usr/lib/sysimage/rpm",
		"/var/lib/dnf", "/var/lib/zypp",
		"/var/lib/YaST2", // libzypp keeps the cookies of web servers there
	}
	for _, e := range install.Exceptions() {
		skip = append(skip, e.Path)
	}
	out := tree{}
	must(t, filepath.WalkDir(im.root, func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone meanwhile
		}
		if err != nil {
			return err
		}
		rel := "/" + strings.TrimPrefix(strings.TrimPrefix(p, im.root), "/")
		if strings.Contains(rel, "__pycache__") || slices.ContainsFunc(skip, func(pattern string) bool { hit, err := path.Match(pattern, rel); return err == nil && hit }) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		what, err := describe(p)
		out[rel] = what
		return err
	}))
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
	case info.Mode().IsRegular() && (strings.Contains(p, "/usr/lib/modules/") && strings.HasSuffix(p, ".ko") || strings.Contains(p, "/boot/")):
		// Large, and nobody writes into them but with another time.
		return fmt.Sprintf("%s %d bytes of %v", what, info.Size(), info.ModTime()), nil
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

// inside runs a command in the root and returns what it prints.
func (im image) inside(t *testing.T, script string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := chroot(im.root, script)
	cmd.Stdout = &out
	must(t, run(cmd))
	return out.String()
}

// packages is the rpm database as rpm tells it, keys included: name and architecture to version.
func (im image) packages(t *testing.T) tree {
	t.Helper()
	out := tree{}
	for line := range strings.Lines(im.inside(t, `rpm -qa --qf '%{NAME}\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\t%{ARCH}\n'`)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 3 {
			t.Fatalf("rpm says %q", line)
		}
		name := f[0]
		if name == "gpg-pubkey" {
			name += "-" + f[1]
		}
		if was, twice := out[name]; twice {
			t.Errorf("%s is installed as %s and as %s", name, was, f[1])
		}
		out[name] = f[1]
	}
	return out
}

// eventually polls until cond holds.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if cond() {
			return
		}
	}
	t.Fatalf("%s: not within two minutes", what)
}
