package dnf

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

func TestLocks(t *testing.T) {
	bash := pkgmgr.Hold{Name: "bash", Version: "5.1.8-9.el9"}
	epoch := pkgmgr.Hold{Name: "rdma-core", Version: "2:46.0-1.el9"}
	const table = "\n[[packages]]\nname = \"%\"\ncomment = \"Added by rdmactl\"\n[[packages.conditions]]\nkey = \"evr\"\ncomparator = \"=\"\nvalue = \"#\"\n"
	toml := func(name, value string) string {
		return strings.NewReplacer("%", name, "#", value).Replace(table)
	}
	for name, c := range map[string]struct {
		d            dialect
		text         string // that is there
		others       []pkgmgr.Hold
		locked, gone string
	}{
		"dnf, empty": {d: dnf4, locked: "bash-0:5.1.8-9.el9.*\nrdma-core-2:46.0-1.el9.*\n"},
		"dnf, a person's": {
			d: dnf4, text: "# Added lock on Mon\nkernel-0:5.14.0-1.el9.*\n!vim-2:8.2-1.el9.*\nrdma-core-2:46.0-1.el9.x86_64\nopensm*",
			others: []pkgmgr.Hold{{Name: "kernel", Version: "5.14.0-1.el9"}, epoch, {Name: "opensm*"}},
			locked: "# Added lock on Mon\nkernel-0:5.14.0-1.el9.*\n!vim-2:8.2-1.el9.*\nrdma-core-2:46.0-1.el9.x86_64\nopensm*\nbash-0:5.1.8-9.el9.*\n",
			gone:   "# Added lock on Mon\nkernel-0:5.14.0-1.el9.*\n!vim-2:8.2-1.el9.*\nrdma-core-2:46.0-1.el9.x86_64\nopensm*\n",
		},
		"yum": {
			d: yum3, text: "0:gcc-4.8.5-44.el7.*\n", others: []pkgmgr.Hold{{Name: "gcc", Version: "4.8.5-44.el7"}},
			locked: "0:gcc-4.8.5-44.el7.*\n0:bash-5.1.8-9.el9.*\n2:rdma-core-46.0-1.el9.*\n", gone: "0:gcc-4.8.5-44.el7.*\n",
		},
		"dnf5, empty": {
			d: dnf5, locked: "version = \"1.0\"\n" + toml("bash", "0:5.1.8-9.el9") + toml("rdma-core", "2:46.0-1.el9"), gone: "version = \"1.0\"\n\n\n",
		},
		"dnf5, a person's": {
			d: dnf5, text: "version = '1.0'\n" + toml("vim", "0:9-1.fc42"), others: []pkgmgr.Hold{{Name: "vim", Version: "9-1.fc42"}},
			locked: "version = '1.0'\n" + toml("vim", "0:9-1.fc42") + toml("bash", "0:5.1.8-9.el9") + toml("rdma-core", "2:46.0-1.el9"),
			gone:   "version = '1.0'\n" + toml("vim", "0:9-1.fc42") + "\n\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var there []pkgmgr.Hold
			for _, e := range entriesOf(c.d, c.text) {
				if e.hold.Name != "" {
					there = append(there, e.hold)
				}
			}
			if diff := cmp.Diff(c.others, there); diff != "" {
				t.Errorf("is read as (-want +got):\n%s", diff)
			}
			locked := withLocks(c.d, c.text, []pkgmgr.Hold{bash, epoch})
			if diff := cmp.Diff(c.locked, locked); diff != "" {
				t.Errorf("locked (-want +got):\n%s", diff)
			}
			if again := withLocks(c.d, locked, []pkgmgr.Hold{bash, epoch}); again != locked {
				t.Errorf("locked twice: %q", again)
			}
			ours := slices.DeleteFunc([]pkgmgr.Hold{bash, epoch}, func(h pkgmgr.Hold) bool { return slices.Contains(c.others, h) })
			gone := withoutLocks(c.d, locked, ours)
			if c.d == dnf5 { // an empty line before a table is no part of it
				gone, c.gone = strings.TrimRight(gone, "\n"), strings.TrimRight(c.gone, "\n")
			}
			if diff := cmp.Diff(c.gone, gone); diff != "" {
				t.Errorf("lifted (-want +got):\n%s", diff)
			}
		})
	}
}

// lockHost is a host in a directory, with nothing but files.
func lockHost(t *testing.T, files map[string]string) *Manager {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(dir+name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h, err := host.NewRooted(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return New(h)
}

func TestCanHold(t *testing.T) {
	const plugin = "/usr/lib/python3.9/site-packages/dnf-plugins/versionlock.py"
	whole := func(changes ...string) map[string]string {
		files := map[string]string{"/usr/bin/dnf": "", plugin: "", "/etc/dnf/dnf.conf": "[main]\nplugins=1\n", "/etc/dnf/plugins/versionlock.conf": "[main]\nenabled = 1\nlocklist = /etc/dnf/plugins/versionlock.list\n"}
		for i := 0; i+1 < len(changes); i += 2 {
			files[changes[i]] = changes[i+1]
			if changes[i+1] == "gone" {
				delete(files, changes[i])
			}
		}
		return files
	}
	yum := map[string]string{"/usr/bin/yum": "", "/usr/lib/yum-plugins/versionlock.py": "", "/etc/yum.conf": "[main]\nplugins=1\n", "/etc/yum/pluginconf.d/versionlock.conf": "[main]\nenabled = 1\n"}
	yumWithout := map[string]string{"/usr/bin/yum": "", "/etc/yum.conf": "[main]\nplugins=1\n"}
	for name, c := range map[string]struct {
		files map[string]string
		says  string
		hint  string
	}{
		"dnf":                     {whole(), "", ""},
		"without the plugin":      {whole(plugin, "gone", "/etc/dnf/plugins/versionlock.conf", "gone"), "not installed", "install the package python3-dnf-plugin-versionlock"},
		"its configuration alone": {whole(plugin, "gone"), "not installed", "python3-dnf-plugin-versionlock"},
		"turned off":              {whole("/etc/dnf/plugins/versionlock.conf", "[main]\nenabled = 0\n"), "turns the versionlock plugin off", "enabled=1"},
		"all turned off":          {whole("/etc/dnf/dnf.conf", "[main]\nplugins = False\n"), "turns all plugins off", "plugins=1"},
		"another list":            {whole("/etc/dnf/plugins/versionlock.conf", "[main]\nlocklist=/srv/locks\n"), "/srv/locks", "locklist"},
		"yum":                     {yum, "", ""},
		"yum without":             {yumWithout, "not installed", "yum-plugin-versionlock"},
	} {
		err := lockHost(t, c.files).CanHold()
		var none *pkgmgr.NoHoldError
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.says != "" && (!errors.As(err, &none) || !strings.Contains(none.Why, c.says) || !strings.Contains(none.Hint, c.hint)):
			t.Errorf("%s: %v, %+v", name, err, none)
		}
	}
}

func TestLocksOfAHost(t *testing.T) {
	ctx := context.Background()
	const list = "/etc/dnf/plugins/versionlock.list"
	m := lockHost(t, map[string]string{"/usr/bin/dnf": "", list: "kernel-0:5.14.0-1.el9.*\n"})
	holds, err := m.HoldsOn(ctx, []pkgmgr.Package{{Name: "rdma-core", Arch: "x86_64", Version: "46.0-1.el9"}, {Name: "kernel-5.14.0-2.el9", Base: "kernel", Arch: "x86_64", Version: "5.14.0-2.el9"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]pkgmgr.Hold{{Name: "rdma-core", Version: "46.0-1.el9"}, {Name: "kernel", Version: "5.14.0-2.el9"}}, holds); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := m.Hold(ctx, holds[:1]); err != nil {
		t.Fatal(err)
	}
	now, err := m.Holds(ctx)
	if err != nil || len(now) != 2 || now[1] != holds[0] {
		t.Errorf("%v, %v", now, err)
	}
	pm, err := m.Released(ctx, "/var/lib/x", holds)
	if err != nil {
		t.Fatal(err)
	}
	released, ok := pm.(*Manager)
	if !ok || !slices.Contains(released.options(dnf4), "--setopt=pluginconfpath=/etc/dnf/plugins,/var/lib/x") || slices.ContainsFunc(m.options(dnf4), func(o string) bool { return strings.Contains(o, "pluginconfpath") }) {
		t.Errorf("%v", released.options(dnf4))
	}
	if text, err := m.Host.ReadFile("/var/lib/x/versionlock.list"); err != nil || string(text) != "kernel-0:5.14.0-1.el9.*\n" {
		t.Errorf("%q, %v", text, err)
	}
	if err := m.Release(ctx, holds); err != nil {
		t.Fatal(err)
	}
	if text, err := m.Host.ReadFile(list); err != nil || string(text) != "kernel-0:5.14.0-1.el9.*\n" {
		t.Errorf("%q, %v", text, err)
	}
	// Nothing to lift needs no other configuration; what is no name and no version is not written.
	if pm, err := m.Released(ctx, "/var/lib/x", holds); err != nil || pm != pkgmgr.Manager(m) {
		t.Errorf("%v, %v", pm, err)
	}
	for _, h := range []pkgmgr.Hold{{Name: "-x", Version: "1-1"}, {Name: "x\ny", Version: "1-1"}, {Name: "x", Version: "1-1\ny"}, {Name: "x"}} {
		if err := m.Hold(ctx, []pkgmgr.Hold{h}); err == nil {
			t.Errorf("%+v was locked", h)
		}
	}
	const yumList = "/etc/yum/pluginconf.d/versionlock.list"
	alone := lockHost(t, map[string]string{"/usr/bin/yum": "", yumList: "# by hand\n0:rdma-core-46.0-1.el9.*\n"})
	if pm, err := alone.Released(ctx, "/var/lib/x", holds[:1]); err != nil || !slices.Contains(pm.(*Manager).options(yum3), "--disableplugin=versionlock") {
		t.Errorf("yum, nothing else is locked: %v", err)
	}
	yum := lockHost(t, map[string]string{"/usr/bin/yum": "", yumList: "0:rdma-core-46.0-1.el9.*\n!0:gcc-4.8-1.el7.*\n"})
	var none *pkgmgr.NoHoldError
	if _, err := yum.Released(ctx, "/var/lib/x", holds[:1]); !errors.As(err, &none) || !strings.Contains(none.Hint, "yum versionlock delete") {
		t.Errorf("yum: %v", err)
	}
}
