package rpmhosts

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/cache"
	"github.com/rdmactl/rdmactl/test/internal/rootlab"
)

// plugins brings dnf's plugins of the release that the programs come from, unpacked. Nothing else is wanted of the root
// that mmdebstrap makes for it; one package has to be in it.
const plugins = `set -e
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
cd "$PLUGINS"
apt-get download --quiet -o APT::Sandbox::User=root dnf-plugins-core
dpkg-deb -x dnf-plugins-core_*.deb unpacked`

// versionlock gives a host the plugin that python3-dnf-plugin-versionlock has on EL.
func (im image) versionlock(t *testing.T) {
	t.Helper()
	c, err := cache.Open()
	must(t, err)
	hash, err := cache.Key(1, suite, plugins)
	must(t, err)
	dir, err := c.Get("rpmplugins-"+suite, hash, func(dir string) error {
		cmd := exec.Command("mmdebstrap", "--variant=extract", "--quiet", "--include=gcc-12-base", "--extract-hook="+plugins, suite, filepath.Join(dir, "root"))
		cmd.Env = append(os.Environ(), "PLUGINS="+dir)
		return errors.Join(rootlab.Run(cmd), os.RemoveAll(filepath.Join(dir, "root")))
	})
	must(t, err)
	const python = "usr/lib/python3/dist-packages/"
	for _, one := range []string{python + "dnf-plugins/versionlock.py", python + "dnfpluginscore", "etc/dnf/plugins/versionlock.conf", "etc/dnf/plugins/versionlock.list"} {
		must(t, os.MkdirAll(filepath.Dir(im.Path(one)), 0o755))
		must(t, rootlab.Run(exec.Command("cp", "-a", "--no-target-directory", filepath.Join(dir, "unpacked", one), im.Path(one))))
	}
}

// locksFile is where the manager keeps its locks.
func (im image) locksFile() string {
	if im.manager == "zypper" {
		return "/etc/zypp/locks"
	}
	return "/etc/dnf/plugins/versionlock.list"
}

// locks are the locks as the manager keeps them.
func (im image) locks(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(im.Path(im.locksFile()))
	if !errors.Is(err, os.ErrNotExist) {
		must(t, err)
	}
	return string(data)
}

// newer is a repository that also has a newer version of the package victim, as the distribution's updates have.
func (im image) newer(t *testing.T) string {
	t.Helper()
	c, err := cache.Open()
	must(t, err)
	trusted, err := rootlab.NewSigner(c, "rpmhostkey", "trusted")
	must(t, err)
	repo := t.TempDir()
	must(t, rootlab.Run(exec.Command("cp", "-a", "--no-target-directory", filepath.Join(im.material.repos, good), repo)))
	must(t, os.RemoveAll(repo+"/repodata"))
	r := recipe{name: victim, version: "99.0-" + im.suffix("1"), fill: func(tree string) error { return put(tree+"/usr/share/"+victim+"/newer", "") }}
	must(t, r.build(repo, im.Dir, im.vendor))
	file, err := only(filepath.Join(repo, victim+"-99.0-*.rpm"))
	must(t, err)
	must(t, trusted.RPMs(file))
	must(t, rootlab.Run(exec.Command("createrepo_c", "-q", "--general-compress-type=gz", repo)))
	must(t, trusted.Detach(repo+"/repodata/repomd.xml"))
	must(t, trusted.Stop())
	return serve(t, repo)
}

// upgrades is what an upgrade of the whole host would do.
func (im image) upgrades(t *testing.T) string {
	t.Helper()
	if im.manager == "zypper" {
		return im.inside(t, "zypper --non-interactive refresh >&2; zypper --non-interactive --no-refresh update --dry-run")
	}
	return im.inside(t, "dnf -y --refresh makecache >&2; dnf -C --assumeno upgrade || :")
}

// TestHolds installs with --hold: an upgrade of the host passes the packages over until the hold is lifted, and a
// rollback leaves the host as it was, but for what a person changed.
func TestHolds(t *testing.T) {
	each(t, func(t *testing.T, s system) {
		im := newImage(t, s, good)
		hold := func(exit int) rootlab.Result {
			t.Helper()
			return lab.Rdmactl(t, exit, im.args("install", "--hold", "--yes", "-o", "json")...)
		}
		lift, locks := "zypper --non-interactive removelock "+victim, im.locksFile()
		if s.manager == "dnf" {
			lift = "dnf -q versionlock delete " + victim
			bare := im.files(t)
			if r := hold(4); !strings.Contains(r.Stderr, "install the package python3-dnf-plugin-versionlock") {
				t.Errorf("without the plugin: %s", r)
			}
			if diff := bare.Changed(im.files(t)); len(diff) > 0 {
				t.Errorf("a stopped run changed files:\n%s", strings.Join(diff, "\n"))
			}
			im.versionlock(t)
			must(t, put(im.Path(locks), "kernel-core-0:1-1.el9.*\n"))
		} else {
			im.inside(t, "zypper --non-interactive addlock kernel-firmware-all")
		}
		text := func() string { return im.locks(t) }
		before, packages, locked := im.files(t), im.packages(t), text()
		if r := rootlab.Decode[rootlab.Report](t, hold(0)); r.Verdict != "done" || !r.Changed {
			t.Errorf("the report is %+v", r)
		}
		for _, name := range []string{"rdma-core", s.library, victim} {
			if strings.Count(text(), name+"-0:") != 1 && strings.Count(text(), "solvable_name: "+name+"\n") != 1 {
				t.Errorf("%s is not locked once:\n%s", name, text())
			}
		}
		if !strings.Contains(text(), "kernel-") {
			t.Errorf("a person's lock is gone:\n%s", text())
		}
		if r := rootlab.Decode[rootlab.Report](t, hold(0)); r.Verdict != "nothing-to-do" {
			t.Errorf("another run is %+v", r)
		}
		must(t, im.source(im.newer(t)))
		if out := im.upgrades(t); !strings.Contains(out, "Nothing to do") || strings.Contains(out, "99.0-") {
			t.Errorf("an upgrade of the host replaces what is held:\n%s", out)
		}
		// The twin: lifted as the plan says that it is done by hand.
		im.inside(t, lift)
		if strings.Contains(text(), victim) {
			t.Errorf("%q leaves the lock:\n%s", lift, text())
		}
		if out := im.upgrades(t); !strings.Contains(out, victim) {
			t.Errorf("without the hold an upgrade of the host does not replace %s:\n%s", victim, out)
		}
		// And back: the repository is no part of the run.
		must(t, im.source(serve(t, im.material.repos)+"/"+good))
		lab.RollsBack(t, im.Root)
		if diff := packages.Changed(im.packages(t)); len(diff) > 0 {
			t.Errorf("the packages are not as before: %v", diff)
		}
		left := strings.Fields(text())
		if was := strings.Fields(locked); strings.Join(left, " ") != strings.Join(was, " ") {
			t.Errorf("the locks were %q and are %q", was, left)
		}
		for _, file := range before.Changed(im.files(t)) {
			if !strings.Contains(file, locks) && !strings.Contains(file, "base.repo") {
				t.Errorf("changed: %s", file)
			}
		}
	})
}
