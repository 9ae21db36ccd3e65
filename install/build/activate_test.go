package build_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/build"
)

func TestActivate(t *testing.T) {
	b := newBench(t)
	b.placed()
	p, err := build.Read(b.h, b.req.Prefix)
	must(t, err)
	about := "# Written by rdmactl: rdma-core 56.1 in " + b.req.Prefix + ".\n"
	changes, err := p.Activate(build.Activation{Library: true, Path: true, Udev: true, Units: []string{"ibacm.service"}, Modules: []string{"rdma"}})
	must(t, err)
	got := map[string]string{}
	for _, c := range changes {
		if c.Action != "write" || c.Mode != "0644" {
			t.Errorf("%+v", c)
		}
		got[c.Path] = c.Content
	}
	want := map[string]string{
		"/etc/ld.so.conf.d/00-rdmactl-rdma-core.conf":       about + b.at("lib") + "\n",
		"/etc/profile.d/rdmactl-rdma-core.sh":               about + "case \":$PATH:\" in *:" + b.at("bin") + ":*) ;; *) PATH=" + b.at("bin") + ":$PATH ;; esac\nexport PATH\n",
		"/etc/udev/rules.d/60-rdma-persistent-naming.rules": about + `ACTION=="add", PROGRAM="` + b.at("lib/udev/rdma_rename") + ` %k NAME_FALLBACK", RUN{builtin}+="kmod load x", PROGRAM=="other a"` + "\n",
		"/etc/systemd/system/ibacm.service":                 about + "[Service]\n",
		"/etc/modules-load.d/rdmactl-rdma-core.conf":        about + "# rdma\nib_ipoib\nrdma_ucm\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if changes, err = p.Activate(build.Activation{}); err != nil || len(changes) != 0 {
		t.Errorf("side by side: %v, %v", changes, err)
	}
	_, err = p.Activate(build.Activation{Units: []string{"sshd.service"}})
	wantCode(t, err, "no-such-unit")
	_, err = p.Activate(build.Activation{Modules: []string{"nvme"}})
	wantCode(t, err, "no-such-list")
	if _, err := build.Read(b.h, b.dir+"/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing is read: %v", err)
	}
}

// The profile's script puts the prefix first once, however often it is read.
func TestProfileScript(t *testing.T) {
	b := newBench(t)
	b.placed()
	p, err := build.Read(b.h, b.req.Prefix)
	must(t, err)
	changes, err := p.Activate(build.Activation{Path: true})
	must(t, err)
	script := filepath.Join(b.dir, "profile.sh")
	must(t, os.WriteFile(script, []byte(changes[0].Content), 0o644))
	cmd := exec.Command("sh", "-euc", ". "+script+"; . "+script+`; echo "$PATH"; command -v ibv_devices`)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	must(t, err)
	if want := b.at("bin") + ":/usr/bin:/bin\n" + b.at("bin/ibv_devices") + "\n"; string(out) != want {
		t.Errorf("%q, not %q", out, want)
	}
}

// answering is a reader that has an answer for ldconfig -p.
type answering struct {
	host.Reader
	text string
	exit int
}

func (a answering) Query(_ context.Context, argv ...string) (host.Result, error) {
	if strings.Join(argv, " ") != "ldconfig -p" {
		return host.Result{}, host.ErrNotInstalled
	}
	return host.Result{Argv: argv, Stdout: a.text, Exit: a.exit}, nil
}

func TestLoadedLibrary(t *testing.T) {
	const head = "3 libs found in cache `/etc/ld.so.cache'\n"
	for _, c := range []struct{ text, want string }{
		{head + "\tlibibverbs.so.1 (libc6,x86-64) => /opt/rdma-core/65.0/lib/libibverbs.so.1\n\tlibibverbs.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libibverbs.so.1\n", "/opt/rdma-core/65.0/lib/libibverbs.so.1"},
		{head + "\tlibibverbs.so.1 (libc6) => /lib/i386-linux-gnu/libibverbs.so.1\n\tlibibverbs.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libibverbs.so.1\n", "/lib/x86_64-linux-gnu/libibverbs.so.1"},
		{head + "\tlibibverbs.so.1 (libc6,AArch64, OS ABI: Linux 3.7.0) => /lib/aarch64-linux-gnu/libibverbs.so.1\n", "/lib/aarch64-linux-gnu/libibverbs.so.1"},
		{head + "\tlibibverbs.so.1 (libc6) => /lib/i386-linux-gnu/libibverbs.so.1\n", "/lib/i386-linux-gnu/libibverbs.so.1"},
		{head + "\tlibibverbs.so (libc6,x86-64) => /usr/lib/libibverbs.so\n\tlibibverbs.so.10 (libc6,x86-64) => /x\n", ""},
		{"", ""},
	} {
		got, err := build.LoadedLibrary(context.Background(), answering{text: c.text})
		if got != c.want || (c.want == "") != errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q gives %q, %v", c.text, got, err)
		}
	}
	if _, err := build.LoadedLibrary(context.Background(), answering{exit: 1}); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a failing ldconfig: %v", err)
	}
}

func TestServes(t *testing.T) {
	b := newBench(t)
	m := b.placed().Manifest
	if !m.Serves(b.at("lib/libibverbs.so.1")) || m.Serves("/usr/lib/libibverbs.so.1") || m.Serves(b.at("lib/libother.so.1")) {
		t.Error("the file that serves is not told from others")
	}
}
