package sidebyside

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// chroot runs commands in a root that has a /proc and a /dev, in namespaces of their own: nothing outside of it is
// reached, and no systemd is there.
type chroot struct{ root string }

func (c chroot) run(t *testing.T, user int, script string) (out, errs string, exit int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	const enter = `set -e
mount -t proc proc "$1/proc"
mount -t tmpfs -o mode=755 run "$1/run"
mount --rbind /dev "$1/dev"
shift
exec "$@"`
	argv := []string{"--mount", "--pid", "--fork", "--kill-child", "--net", "--ipc", "--uts", "sh", "-c", enter, "sh", c.root, "chroot"}
	if user != 0 {
		argv = append(argv, fmt.Sprintf("--userspec=%d:%d", user, user))
	}
	cmd := exec.CommandContext(ctx, "unshare", append(argv, c.root, "/bin/sh", "-c", script)...)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatalf("cannot enter %s: %v", c.root, err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// says runs a script that must end with 0, and gives what it prints.
func (c chroot) says(t *testing.T, user int, script string) string {
	t.Helper()
	out, errs, exit := c.run(t, user, script)
	if exit != 0 {
		t.Fatalf("%s\nended with %d:\n%s%s", script, exit, out, errs)
	}
	return out
}

const nobody = 65534

func prepared(t *testing.T) (chroot, string) {
	t.Helper()
	root, version := built(t)
	must(t, rootlab.Build(filepath.Join(root, "usr/local/bin/rdmactl")))
	return chroot{root}, version
}

// loaded are the libraries of rdma-core that the loader starts for a command, as LD_DEBUG tells.
func (c chroot) loaded(t *testing.T, user int, command string) []string {
	t.Helper()
	_, errs, _ := c.run(t, user, "LD_DEBUG=libs "+command) // without RDMA in the kernel the tools themselves fail
	var out []string
	for line := range strings.Lines(errs) {
		_, file, ok := strings.Cut(strings.TrimSpace(line), "calling init: ")
		if base := filepath.Base(file); ok && (strings.HasPrefix(base, "libibverbs.so") || strings.Contains(base, "-rdmav")) {
			out = append(out, file)
		}
	}
	return out
}

// TestRealBuildBesideTheDistributions has all that is tried in one root: a copy of it takes longer than the rest.
func TestRealBuildBesideTheDistributions(t *testing.T) {
	c, version := prepared(t)
	t.Run("loaded", func(t *testing.T) { loaded(t, c, version) })
	t.Run("rights", func(t *testing.T) { rights(t, c, version) })
	t.Run("shells", func(t *testing.T) { shells(t, c, version) })
	t.Run("service", func(t *testing.T) { service(t, c, version) })
	t.Run("cost", func(t *testing.T) { cost(t, c, version) })
}

// loaded proves by the loader's own word and by /proc/PID/maps which files programs map.
func loaded(t *testing.T, c chroot, version string) {
	prefix := "/opt/rdma-core/" + version
	stack := "rdma-core@" + version
	ours := []string{prefix + "/lib/libibverbs.so.1"}
	theirs := []string{"/lib/x86_64-linux-gnu/libibverbs.so.1"}
	if multi := c.says(t, 0, "dpkg-architecture -qDEB_HOST_MULTIARCH"); strings.TrimSpace(multi) != "" {
		theirs = []string{"/lib/" + strings.TrimSpace(multi) + "/libibverbs.so.1"}
	}
	inbox := []string{"/usr" + theirs[0]}

	c.says(t, 0, "ldconfig")
	for _, user := range []int{0, nobody} {
		for _, step := range []struct {
			command string
			want    []string
		}{
			{"/usr/bin/ibv_devices", theirs},
			{"rdmactl run --stack " + stack + " -- ibv_devices", ours},
			{"rdmactl run --stack " + stack + " -- /usr/bin/ibv_devices", ours},
			{"rdmactl run --stack inbox -- ibv_devices", theirs},
		} {
			if diff := cmp.Diff(step.want, only(c.loaded(t, user, step.command), "libibverbs.so")); diff != "" {
				t.Errorf("user %d: %s loads (-want +got):\n%s", user, step.command, diff)
			}
		}
	}
	if got := c.says(t, nobody, "rdmactl run --stack "+stack+" -- sh -c 'command -v ibv_devices'"); strings.TrimSpace(got) != prefix+"/bin/ibv_devices" {
		t.Errorf("ibv_devices is %s", got)
	}

	// The maps of a process that stands still with the library in it: python is one that can.
	const maps = `python3 -c 'import ctypes,os; ctypes.CDLL("libibverbs.so.1"); ctypes.CDLL("libmlx5.so.1"); print(open("/proc/self/maps").read())' | grep -o '/.*\.so.*' | sort -u`
	got := c.says(t, nobody, "rdmactl run --stack "+stack+" -- "+maps)
	for line := range strings.Lines(got) {
		if base := filepath.Base(line); (strings.HasPrefix(base, "libibverbs") || strings.HasPrefix(base, "libmlx5")) && !strings.HasPrefix(line, prefix+"/lib/") {
			t.Errorf("mapped is %s", line)
		}
	}
	if !strings.Contains(got, prefix+"/lib/libmlx5.so.1.") {
		t.Errorf("libmlx5 of the build is not mapped:\n%s", got)
	}

	// The default, by ldconfig's cache, and back.
	def := func() string { return c.says(t, 0, "ldconfig -p | sed -n 's/.*libibverbs.so.1 .* => //p' | head -n1") }
	before := tree(t, c.root)
	if got := strings.TrimSpace(def()); got != theirs[0] {
		t.Fatalf("the root starts with %s", got)
	}
	c.says(t, 0, "rdmactl use "+stack+" --yes")
	if got := strings.TrimSpace(def()); got != ours[0] {
		t.Errorf("after use the cache has %s", got)
	}
	for _, step := range []struct {
		command string
		want    []string
	}{
		{"/usr/bin/ibv_devices", ours},
		{"rdmactl run --stack inbox -- ibv_devices", inbox},
		{"rdmactl run --stack inbox -- /usr/bin/ibv_devices", inbox},
		{"rdmactl run --stack rdma-core -- /usr/bin/ibv_devices", ours},
	} {
		if diff := cmp.Diff(step.want, only(c.loaded(t, nobody, step.command), "libibverbs.so")); diff != "" {
			t.Errorf("with the build as the default %s loads (-want +got):\n%s", step.command, diff)
		}
	}
	if out := c.says(t, 0, "rdmactl use "+stack+" --yes"); !strings.Contains(out, "already") {
		t.Errorf("a second use: %s", out)
	}
	if out := c.says(t, nobody, "rdmactl use"); !strings.Contains(out, "* "+stack) {
		t.Errorf("use shows:\n%s", out)
	}
	c.says(t, 0, "rdmactl rollback")
	if got := strings.TrimSpace(def()); got != theirs[0] {
		t.Errorf("after the rollback the cache has %s", got)
	}
	if diff := cmp.Diff(before, tree(t, c.root)); diff != "" {
		t.Errorf("the rollback did not leave the root as it was (-before +after):\n%s", diff)
	}
	c.says(t, 0, "rdmactl use "+stack+" --yes && rdmactl use inbox --yes")
	if got := strings.TrimSpace(def()); got != theirs[0] {
		t.Errorf("after use inbox the cache has %s", got)
	}
}

// only are the files of a name.
func only(files []string, name string) []string {
	var out []string
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), name) {
			out = append(out, file)
		}
	}
	return out
}

// tree is the root as far as a run may change it, by name: kind, mode and text.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, top := range []string{"etc", "opt", "usr/lib/systemd"} {
		must(t, filepath.WalkDir(filepath.Join(root, top), func(file string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			text := info.Mode().String()
			if name := strings.TrimPrefix(file, root); info.Mode().IsRegular() && name != "/etc/ld.so.cache" {
				data, err := os.ReadFile(file)
				if err != nil {
					return err
				}
				text += " " + string(data)
			}
			out[strings.TrimPrefix(file, root)] = text
			return nil
		}))
	}
	return out
}

// rights: programs that gain some are refused. That the loader drops LD_LIBRARY_PATH for them is shown as well.
func rights(t *testing.T, c chroot, version string) {
	stack := "rdma-core@" + version
	c.says(t, 0, `cd /usr/local/bin && cp /usr/bin/ibv_devices plain && cp plain suid && chmod 4755 suid && cp plain sgid && chgrp 2 sgid && chmod 2755 sgid && cp plain caps && setcap cap_net_raw+ep caps
printf '#!/usr/local/bin/caps\n' >script && chmod 4755 script`)
	if got := c.loaded(t, nobody, "rdmactl run --stack "+stack+" -- plain"); len(got) == 0 || !strings.HasPrefix(got[0], "/opt/") {
		t.Fatalf("a plain program loads %v", got)
	}
	for program, why := range map[string]string{"suid": "is set-user-id", "sgid": "is set-group-id", "caps": "has file capabilities", "script": "has file capabilities", "sudo": "is set-user-id"} {
		_, errs, exit := c.run(t, nobody, "rdmactl run --stack "+stack+" -- "+program)
		if exit != 4 || !strings.Contains(errs, why) || !strings.Contains(errs, "hint: ") {
			t.Errorf("%s: exit %d, %s", program, exit, errs)
		}
	}
	// What would have happened otherwise: the same program with capabilities and without.
	c.says(t, 0, "cp --dereference /usr/bin/python3 /usr/bin/pyplain && cp /usr/bin/pyplain /usr/bin/pycaps && setcap cap_net_raw+ep /usr/bin/pycaps")
	const maps = ` -c 'import ctypes; ctypes.CDLL("libibverbs.so.1"); print(open("/proc/self/maps").read())' | grep -o "/.*libibverbs.so.*" | sort -u`
	for program, want := range map[string]string{"pyplain": "/opt/rdma-core/", "pycaps": "/usr/lib/"} {
		if out := c.says(t, nobody, "LD_LIBRARY_PATH=/opt/rdma-core/"+version+"/lib "+program+maps); !strings.HasPrefix(out, want) {
			t.Errorf("%s maps %s, want one below %s", program, out, want)
		}
	}
	// For root such a program gains nothing.
	if got := c.loaded(t, 0, "rdmactl run --stack "+stack+" -- suid"); len(got) == 0 || !strings.HasPrefix(got[0], "/opt/") {
		t.Errorf("for root suid loads %v", got)
	}
}

// shells: each shell of the root evaluates what env prints, values that need quotes among them.
func shells(t *testing.T, c chroot, version string) {
	stack := "rdma-core@" + version
	const odd = `/odd dir/it's "x" $HOME \n!1 *`
	for shell, program := range map[string]string{
		"sh":   `eval "$(rdmactl env --stack STACK)"; sh -c "$SHOW"; eval "$(rdmactl env --unset)"; sh -c "$SHOW"`,
		"bash": `eval "$(rdmactl env --stack STACK --shell bash)"; sh -c "$SHOW"; eval "$(rdmactl env --unset)"; sh -c "$SHOW"`,
		"zsh":  `eval "$(rdmactl env --stack STACK --shell zsh)"; sh -c "$SHOW"; eval "$(rdmactl env --unset --shell zsh)"; sh -c "$SHOW"`,
		"ksh":  `eval "$(rdmactl env --stack STACK --shell ksh)"; sh -c "$SHOW"; eval "$(rdmactl env --unset)"; sh -c "$SHOW"`,
		"fish": `rdmactl env --stack STACK --shell fish | source; sh -c "$SHOW"; rdmactl env --unset --shell fish | source; sh -c "$SHOW"`,
		"tcsh": `set noglob; eval "` + "`rdmactl env --stack STACK --shell tcsh`" + `"; sh -c "$SHOW"; eval "` + "`rdmactl env --unset --shell tcsh`" + `"; sh -c "$SHOW"`,
	} {
		out, errs, _ := c.run(t, nobody, `export LD_LIBRARY_PATH='`+strings.ReplaceAll(odd, "'", `'\''`)+`' SHOW='printf "%s|%s|%s\n" "$LD_LIBRARY_PATH" "$IBV_DRIVERS" "$(command -v ibv_devices)"' IBV_DRIVERS=hns
exec `+shell+` -c '`+strings.ReplaceAll(strings.ReplaceAll(program, "STACK", stack), "'", `'\''`)+`'`)
		prefix := "/opt/rdma-core/" + version
		want := prefix + "/lib:" + odd + "||" + prefix + "/bin/ibv_devices\n" + odd + "|hns|/usr/bin/ibv_devices\n"
		if diff := cmp.Diff(want, out); diff != "" {
			t.Errorf("%s (-want +got):\n%s%s", shell, diff, errs)
		}
	}
}

// cost prints what run adds to the start of a program. It reads all files of the build and asks for the loader's cache.
func cost(t *testing.T, c chroot, version string) {
	out := c.says(t, nobody, "rdmactl run --stack rdma-core@"+version+` -- true
one() { python3 -c 'import subprocess,sys,time
best=9
for i in range(10):
    begin=time.monotonic(); subprocess.run(sys.argv[1:], check=True); best=min(best, time.monotonic()-begin)
print(round(best*1000,1))' "$@"; }
one /bin/true; one rdmactl run --stack rdma-core@`+version+" -- /bin/true")
	t.Logf("true alone, and with rdmactl run (ms): %s", strings.ReplaceAll(strings.TrimSpace(out), "\n", ", "))
}
