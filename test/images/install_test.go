package images

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// TestInstallsAndRollsBack is the whole job for the profiles whose modules are the distribution's.
func TestInstallsAndRollsBack(t *testing.T) {
	for _, c := range []struct {
		profile string
		flags   []string
		want    []string // packages
		files   map[string]string
	}{
		{"inbox", nil, []string{"rdma-core", "libibverbs1", "ibverbs-providers", "infiniband-diags", "perftest", "mstflint"}, map[string]string{
			"etc/modules-load.d/rdmactl.conf": "ib_uverbs", "etc/security/limits.d/90-rdmactl-memlock.conf": "memlock",
			"usr/lib/udev/rules.d/60-rdma-persistent-naming.rules": "rdma",
		}},
		{"soft", []string{"--netdev", "eth0"}, []string{"rdma-core", "libibverbs1", "ibverbs-providers"}, map[string]string{
			"etc/modules-load.d/rdmactl.conf": "rdma_rxe", "etc/systemd/system/rdmactl-rxe@.service": "ExecStart",
			"etc/udev/rules.d/91-rdmactl-soft-roce.rules": "rdmactl-rxe@",
		}},
	} {
		t.Run(c.profile, func(t *testing.T) {
			im := newImage(t)
			host := thisMachine(t)
			before, packages := im.guarded(t), im.packages(t)
			flags := append([]string{"--profile", c.profile}, c.flags...)

			r := im.installs(t, flags...)
			if r.Verdict != "done" || !r.Changed || r.Root != im.Dir || !strings.HasPrefix(r.Log, im.Dir+"/var/log/rdmactl/") {
				t.Errorf("the report is %+v", r)
			}
			if _, err := os.Stat(r.Log); err != nil {
				t.Errorf("the log that is named: %v", err)
			}
			for _, s := range r.Steps {
				if s.Status != "done" {
					t.Errorf("step %s is %s", s.ID, s.Status)
				}
			}
			now := im.packages(t)
			for _, name := range c.want {
				if now[name] == "" || strings.Contains(now[name], " ") || packages[name] != "" {
					t.Errorf("package %s was %q and is %q", name, packages[name], now[name])
				}
			}
			for file, text := range c.files {
				if data, err := os.ReadFile(im.Path(file)); err != nil || !strings.Contains(string(data), text) {
					t.Errorf("%s holds %q, %v; want %q", file, data, err, text)
				}
			}
			// What maintainer scripts enable is enabled, although nothing runs.
			if links, err := filepath.Glob(im.Path("etc/rc2.d/S*iwpmd")); err != nil || len(links) != 1 {
				t.Errorf("iwpmd is enabled by %v, %v", links, err)
			}
			if _, err := os.Lstat(im.Path("usr/sbin/policy-rc.d")); !os.IsNotExist(err) {
				t.Errorf("policy-rc.d is left in the image: %v", err)
			}

			if r := im.installs(t, flags...); r.Verdict != "nothing-to-do" || r.Changed {
				t.Errorf("the second run is %+v", r)
			}
			lab.Rdmactl(t, 0, "history", "--root", im.Dir).Says(t, r.RunID, "done")
			lab.Rdmactl(t, 0, append([]string{"plan", "--root", im.Dir}, flags...)...).Says(t, "nothing to do")

			lab.RollsBack(t, im.Root)
			if diff := before.Changed(im.guarded(t)); len(diff) > 0 {
				t.Errorf("the image is not as before:\n%s", strings.Join(diff, "\n"))
			}
			if diff := packages.Changed(im.packages(t)); len(diff) > 0 {
				t.Errorf("the packages are not as before: %v", diff)
			}
			host.unchanged(t)
		})
	}
}

// TestDryRunChangesNothing has the image's own package manager solve.
func TestDryRunChangesNothing(t *testing.T) {
	im := newImage(t)
	all := rootlab.View{Skip: []string{"/var/cache/apt/*.bin"}} // apt writes its index of the lists when it is asked
	before := rootlab.TreeOf(t, im.Dir, all)
	lab.Rdmactl(t, 0, "install", "--root", im.Dir, "--profile", "inbox", "--dry-run").Says(t, "the list of no repository has been read here", "nothing was changed")
	if diff := before.Changed(rootlab.TreeOf(t, im.Dir, all)); len(diff) > 0 {
		t.Errorf("a dry run changed the image:\n%s", strings.Join(diff, "\n"))
	}
	im.installs(t, "--profile", "inbox") // reads the repository
	lab.RollsBack(t, im.Root)
	lab.Rdmactl(t, 0, "install", "--root", im.Dir, "--profile", "inbox", "--dry-run").Says(t, "libibverbs1", "ibverbs-providers")
	lab.Rdmactl(t, 0, "plan", "--root", im.Dir, "--profile", "inbox", "--resolve").Says(t, "ibverbs-providers", "install --root "+im.Dir)
}

// TestWhichKernel asks for the kernel where the image does not say.
func TestWhichKernel(t *testing.T) {
	im := newImage(t)
	kernels, err := os.ReadDir(im.Path("lib/modules"))
	must(t, err)
	if len(kernels) != 1 {
		t.Fatalf("the image has %d kernels", len(kernels))
	}
	one := kernels[0].Name()
	plan := []string{"plan", "--root", im.Dir, "--profile", "inbox"}
	lab.Rdmactl(t, 0, plan...)
	lab.Rdmactl(t, 2, append(plan, "--kernel", "5.10.0-9-amd64")...).Says(t, one, "--kernel")
	must(t, os.Mkdir(im.Path("lib/modules/5.10.0-9-amd64"), 0o755))
	install := []string{"install", "--root", im.Dir, "--profile", "inbox", "--yes"}
	for _, args := range [][]string{plan, install} {
		lab.Rdmactl(t, 2, args...).Says(t, one, "5.10.0-9-amd64", "name one with --kernel")
	}
	lab.Rdmactl(t, 0, append(install, "--kernel", one)...).Says(t, "done")
	lab.RollsBack(t, im.Root)
	must(t, os.RemoveAll(im.Path("usr/lib/modules")))
	lab.Rdmactl(t, 0, plan...)
}

// TestRefusals are the roots that are none, and wishes that no image can have.
func TestRefusals(t *testing.T) {
	im := newImage(t)
	untouched := rootlab.TreeOf(t, im.Dir, rootlab.View{Dirs: []string{"var/lib", "var/log"}})
	install := func(root string, more ...string) []string {
		return append([]string{"install", "--root", root, "--profile", "inbox", "--yes"}, more...)
	}
	for _, root := range []string{"/", "/..", "/etc/../", "/proc/self/root"} {
		lab.Rdmactl(t, 2, install(root)...).Says(t, "root of the running host", "leave --root away")
		lab.Rdmactl(t, 2, "plan", "--root", root).Says(t, "root of the running host")
		lab.Rdmactl(t, 2, "rollback", "--root", root).Says(t, "root of the running host")
		lab.Rdmactl(t, 2, "history", "--root", root).Says(t, "root of the running host")
	}
	lab.Rdmactl(t, 2, install(filepath.Join(im.State, "gone"))...).Says(t, "no such file")
	lab.Rdmactl(t, 2, install(im.Path("etc/os-release"))...).Says(t, "not a directory")
	lab.Rdmactl(t, 2, install(im.Dir, "--activate", "live")...).Says(t, "--activate live")
	lab.Rdmactl(t, 2, "install", "--profile", "inbox", "--kernel", "6.1.0-9-amd64", "--yes").Says(t, "--root")
	lab.Rdmactl(t, 4, "install", "--root", im.Dir, "--profile", "inbox").Says(t, "--yes")
	lab.Rdmactl(t, 4, "install", "--root", im.Dir, "--resume", "--yes").Says(t, "no run is unfinished", "history --root "+im.Dir)
	lab.Rdmactl(t, 0, "rollback", "--root", im.Dir).Says(t, "no run to roll back")
	lab.Rdmactl(t, 0, "history", "--root", im.Dir).Says(t, "no runs")

	must(t, os.Chmod(im.Dir, 0o777))
	lab.Rdmactl(t, 4, install(im.Dir)...).Says(t, "others may write", "go-w")
	must(t, os.Chmod(im.Dir, 0o755))
	must(t, os.Chown(im.Dir, 1000, 1000))
	lab.Rdmactl(t, 4, install(im.Dir)...).Says(t, "root does not own")
	must(t, os.Chown(im.Dir, 0, 0))

	empty := filepath.Join(im.State, "empty")
	must(t, os.Mkdir(empty, 0o755))
	if r := lab.Rdmactl(t, 3, install(empty)...); !strings.Contains(r.Stdout+r.Stderr, "refused") {
		t.Errorf("an empty directory: %s", r)
	}
	names, err := os.ReadDir(empty)
	must(t, err)
	if len(names) != 0 {
		t.Errorf("an empty directory now holds %v", names)
	}
	if diff := untouched.Changed(rootlab.TreeOf(t, im.Dir, rootlab.View{Dirs: []string{"var/lib", "var/log"}})); len(diff) > 0 {
		t.Errorf("refusals changed the image:\n%s", strings.Join(diff, "\n"))
	}
	lab.Rdmactl(t, 0, install(im.Dir)...) // the same image is taken once nothing is wrong with it
	if names, err := os.ReadDir(im.Path("var/lib/rdmactl/runs")); err != nil || !slices.ContainsFunc(names, os.DirEntry.IsDir) {
		t.Errorf("the image has no journal: %v, %v", names, err)
	}
}

// TestWhatScriptsSee has a package that looks around: the kernel is the image's, a unit can be enabled and not
// started, and a signing key that it leaves is named.
func TestWhatScriptsSee(t *testing.T) {
	prepared(t) // skips before a package is built
	im := newImage(t, debian(t, "ethtool", "2:99", `#!/bin/sh
set -e
uname -r >/kernel
systemctl disable fstrim.timer
systemctl enable systemd-networkd.service
systemctl start systemd-networkd.service >/started 2>&1 || :
mkdir -p /var/lib/dkms
echo secret >/var/lib/dkms/mok.key
depmod "$(uname -r)"
update-initramfs -u -k "$(uname -r)" >/initramfs
`))
	initrds, err := filepath.Glob(im.Path("boot/initrd.img-*"))
	must(t, err)
	if len(initrds) != 1 {
		t.Fatalf("the image has the initramfs %v", initrds)
	}
	before, err := os.Stat(initrds[0])
	must(t, err)
	kernels, err := os.ReadDir(im.Path("lib/modules"))
	must(t, err)
	r := lab.Rdmactl(t, 0, "install", "--root", im.Dir, "--profile", "inbox", "--yes")
	r.Says(t, "private key /var/lib/dkms/mok.key")
	if text, err := os.ReadFile(im.Path("kernel")); err != nil || strings.TrimSpace(string(text)) != kernels[0].Name() {
		t.Errorf("uname told %q, %v; the image's kernel is %s", text, err, kernels[0].Name())
	}
	if _, err := os.Lstat(im.Path("etc/systemd/system/timers.target.wants/fstrim.timer")); !os.IsNotExist(err) {
		t.Errorf("the unit is not disabled: %v", err)
	}
	if _, err := os.Lstat(im.Path("etc/systemd/system/multi-user.target.wants/systemd-networkd.service")); err != nil {
		t.Errorf("the unit is not enabled: %v", err)
	}
	if after, err := os.Stat(initrds[0]); err != nil || !after.ModTime().After(before.ModTime()) {
		t.Errorf("the initramfs was not made anew: %v", err)
	}
	// The twin: an image without a key is not warned of one.
	other := newImage(t)
	if r := lab.Rdmactl(t, 0, "install", "--root", other.Dir, "--profile", "inbox", "--yes"); strings.Contains(r.Stdout+r.Stderr, "private key") {
		t.Errorf("a key is named where there is none:\n%s", r)
	}
}

// TestTheImageKnowsItsHistory starts the image's system, as far as a chroot does, and takes the run back from
// within: what was done to the image is known where it runs.
func TestTheImageKnowsItsHistory(t *testing.T) {
	im := newImage(t)
	before := im.guarded(t)
	r := im.installs(t, "--profile", "inbox")
	must(t, rootlab.Run(exec.Command("cp", lab.Program(t), im.Path("opt/rdmactl"))))
	within := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("unshare", append([]string{"--mount", "--pid", "--fork", "--root=" + im.Dir, "--mount-proc", "/opt/rdmactl"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if said := within("history"); !strings.Contains(said, r.RunID) || !strings.Contains(said, "done") {
		t.Errorf("history says %s", said)
	}
	if said := within("rollback"); !strings.Contains(said, "rolled-back") {
		t.Errorf("rollback says %s", said)
	}
	must(t, os.Remove(im.Path("opt/rdmactl")))
	after := im.guarded(t)
	for _, files := range []rootlab.Tree{before, after} {
		for p := range files {
			if strings.HasPrefix(p, "/run/") { // of a running system, in memory there
				delete(files, p)
			}
		}
	}
	if diff := before.Changed(after); len(diff) > 0 {
		t.Errorf("the image is not as before:\n%s", strings.Join(diff, "\n"))
	}
}
