package images

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
			if r.Verdict != "done" || !r.Changed || r.Root != im.root || !strings.HasPrefix(r.Log, im.root+"/var/log/rdmactl/") {
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
				if data, err := os.ReadFile(im.path(file)); err != nil || !strings.Contains(string(data), text) {
					t.Errorf("%s holds %q, %v; want %q", file, data, err, text)
				}
			}
			// What maintainer scripts enable is enabled, although nothing runs.
			if links, err := filepath.Glob(im.path("etc/rc2.d/S*iwpmd")); err != nil || len(links) != 1 {
				t.Errorf("iwpmd is enabled by %v, %v", links, err)
			}
			if _, err := os.Lstat(im.path("usr/sbin/policy-rc.d")); !os.IsNotExist(err) {
				t.Errorf("policy-rc.d is left in the image: %v", err)
			}

			if r := im.installs(t, flags...); r.Verdict != "nothing-to-do" || r.Changed {
				t.Errorf("the second run is %+v", r)
			}
			rdmactl(t, 0, "history", "--root", im.root).says(t, r.RunID, "done")
			rdmactl(t, 0, append([]string{"plan", "--root", im.root}, flags...)...).says(t, "nothing to do")

			im.rollsBack(t)
			if diff := before.changed(im.guarded(t)); len(diff) > 0 {
				t.Errorf("the image is not as before:\n%s", strings.Join(diff, "\n"))
			}
			if diff := tree(packages).changed(tree(im.packages(t))); len(diff) > 0 {
				t.Errorf("the packages are not as before: %v", diff)
			}
			host.unchanged(t)
		})
	}
}

// TestDryRunChangesNothing has the image's own package manager solve.
func TestDryRunChangesNothing(t *testing.T) {
	im := newImage(t)
	before := treeOf(t, im.root, []string{"."}, nil)
	rdmactl(t, 4, "install", "--root", im.root, "--profile", "inbox", "--dry-run").says(t, "no repository has it")
	if diff := before.changed(treeOf(t, im.root, []string{"."}, []string{"/var/cache/apt/*.bin"})); len(diff) > 0 {
		t.Errorf("a dry run changed the image:\n%s", strings.Join(diff, "\n"))
	}
	im.installs(t, "--profile", "inbox") // reads the repository
	im.rollsBack(t)
	rdmactl(t, 0, "install", "--root", im.root, "--profile", "inbox", "--dry-run").says(t, "libibverbs1", "ibverbs-providers")
	rdmactl(t, 0, "plan", "--root", im.root, "--profile", "inbox", "--resolve").says(t, "ibverbs-providers", "install --root "+im.root)
}

// TestWhichKernel asks for the kernel where the image does not say.
func TestWhichKernel(t *testing.T) {
	im := newImage(t)
	kernels, err := os.ReadDir(im.path("lib/modules"))
	must(t, err)
	if len(kernels) != 1 {
		t.Fatalf("the image has %d kernels", len(kernels))
	}
	one := kernels[0].Name()
	plan := []string{"plan", "--root", im.root, "--profile", "inbox"}
	rdmactl(t, 0, plan...)
	rdmactl(t, 2, append(plan, "--kernel", "5.10.0-9-amd64")...).says(t, one, "--kernel")
	must(t, os.Mkdir(im.path("lib/modules/5.10.0-9-amd64"), 0o755))
	install := []string{"install", "--root", im.root, "--profile", "inbox", "--yes"}
	for _, args := range [][]string{plan, install} {
		rdmactl(t, 2, args...).says(t, one, "5.10.0-9-amd64", "name one with --kernel")
	}
	rdmactl(t, 0, append(install, "--kernel", one)...).says(t, "done")
	im.rollsBack(t)
	must(t, os.RemoveAll(im.path("usr/lib/modules")))
	rdmactl(t, 0, plan...)
}

// TestRefusals are the roots that are none, and wishes that no image can have.
func TestRefusals(t *testing.T) {
	im := newImage(t)
	untouched := treeOf(t, im.root, []string{"var/lib", "var/log"}, nil)
	install := func(root string, more ...string) []string {
		return append([]string{"install", "--root", root, "--profile", "inbox", "--yes"}, more...)
	}
	for _, root := range []string{"/", "/..", "/etc/../", "/proc/self/root"} {
		rdmactl(t, 2, install(root)...).says(t, "root of the running host", "leave --root away")
		rdmactl(t, 2, "plan", "--root", root).says(t, "root of the running host")
		rdmactl(t, 2, "rollback", "--root", root).says(t, "root of the running host")
		rdmactl(t, 2, "history", "--root", root).says(t, "root of the running host")
	}
	rdmactl(t, 2, install(filepath.Join(im.state, "gone"))...).says(t, "no such file")
	rdmactl(t, 2, install(im.path("etc/os-release"))...).says(t, "not a directory")
	rdmactl(t, 2, install(im.root, "--activate", "live")...).says(t, "--activate live")
	rdmactl(t, 2, "install", "--profile", "inbox", "--kernel", "6.1.0-9-amd64", "--yes").says(t, "--root")
	rdmactl(t, 4, "install", "--root", im.root, "--profile", "inbox").says(t, "--yes")
	rdmactl(t, 4, "install", "--root", im.root, "--resume", "--yes").says(t, "no run is unfinished", "history --root "+im.root)
	rdmactl(t, 0, "rollback", "--root", im.root).says(t, "no run to roll back")
	rdmactl(t, 0, "history", "--root", im.root).says(t, "no runs")

	must(t, os.Chmod(im.root, 0o777))
	rdmactl(t, 4, install(im.root)...).says(t, "others may write", "go-w")
	must(t, os.Chmod(im.root, 0o755))
	must(t, os.Chown(im.root, 1000, 1000))
	rdmactl(t, 4, install(im.root)...).says(t, "root does not own")
	must(t, os.Chown(im.root, 0, 0))

	empty := filepath.Join(im.state, "empty")
	must(t, os.Mkdir(empty, 0o755))
	if r := rdmactl(t, 3, install(empty)...); !strings.Contains(r.stdout+r.stderr, "refused") {
		t.Errorf("an empty directory: %s", r)
	}
	names, err := os.ReadDir(empty)
	must(t, err)
	if len(names) != 0 {
		t.Errorf("an empty directory now holds %v", names)
	}
	if diff := untouched.changed(treeOf(t, im.root, []string{"var/lib", "var/log"}, nil)); len(diff) > 0 {
		t.Errorf("refusals changed the image:\n%s", strings.Join(diff, "\n"))
	}
	rdmactl(t, 0, install(im.root)...) // the same image is taken once nothing is wrong with it
	if names, err := os.ReadDir(im.path("var/lib/rdmactl/runs")); err != nil || !slices.ContainsFunc(names, os.DirEntry.IsDir) {
		t.Errorf("the image has no journal: %v, %v", names, err)
	}
}

// TestWhatScriptsSee has a package that looks around: the kernel is the image's, a unit can be enabled and not
// started, and a signing key that it leaves is named.
func TestWhatScriptsSee(t *testing.T) {
	if whyNot() != "" {
		prepared(t)
	}
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
	initrds, err := filepath.Glob(im.path("boot/initrd.img-*"))
	must(t, err)
	if len(initrds) != 1 {
		t.Fatalf("the image has the initramfs %v", initrds)
	}
	before, err := os.Stat(initrds[0])
	must(t, err)
	kernels, err := os.ReadDir(im.path("lib/modules"))
	must(t, err)
	r := rdmactl(t, 0, "install", "--root", im.root, "--profile", "inbox", "--yes")
	r.says(t, "private key /var/lib/dkms/mok.key")
	if text, err := os.ReadFile(im.path("kernel")); err != nil || strings.TrimSpace(string(text)) != kernels[0].Name() {
		t.Errorf("uname told %q, %v; the image's kernel is %s", text, err, kernels[0].Name())
	}
	if _, err := os.Lstat(im.path("etc/systemd/system/timers.target.wants/fstrim.timer")); !os.IsNotExist(err) {
		t.Errorf("the unit is not disabled: %v", err)
	}
	if _, err := os.Lstat(im.path("etc/systemd/system/multi-user.target.wants/systemd-networkd.service")); err != nil {
		t.Errorf("the unit is not enabled: %v", err)
	}
	if after, err := os.Stat(initrds[0]); err != nil || !after.ModTime().After(before.ModTime()) {
		t.Errorf("the initramfs was not made anew: %v", err)
	}
	// The twin: an image without a key is not warned of one.
	other := newImage(t)
	if r := rdmactl(t, 0, "install", "--root", other.root, "--profile", "inbox", "--yes"); strings.Contains(r.stdout+r.stderr, "private key") {
		t.Errorf("a key is named where there is none:\n%s", r)
	}
}

// TestTheImageKnowsItsHistory starts the image's system, as far as a chroot does, and takes the run back from
// within: what was done to the image is known where it runs.
func TestTheImageKnowsItsHistory(t *testing.T) {
	im := newImage(t)
	before := im.guarded(t)
	r := im.installs(t, "--profile", "inbox")
	file, err := program()
	must(t, err)
	must(t, run(exec.Command("cp", file, im.path("opt/rdmactl"))))
	within := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("unshare", append([]string{"--mount", "--pid", "--fork", "--root=" + im.root, "--mount-proc", "/opt/rdmactl"}, args...)...)
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
	must(t, os.Remove(im.path("opt/rdmactl")))
	after := im.guarded(t)
	for _, files := range []tree{before, after} {
		for p := range files {
			if strings.HasPrefix(p, "/run/") { // of a running system, in memory there
				delete(files, p)
			}
		}
	}
	if diff := before.changed(after); len(diff) > 0 {
		t.Errorf("the image is not as before:\n%s", strings.Join(diff, "\n"))
	}
}
