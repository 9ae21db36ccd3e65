package kmod

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
)

func TestConfig(t *testing.T) {
	h := &fakeHost{
		t: t,
		files: map[string]string{
			"/etc/modprobe.d/a.conf":     "# blacklist mlx5_core\n blacklist ib-uverbs \noptions ib_core \\\n  netns_mode=0\nsoftdep mlx5_ib pre: ib_core post: rdma_ucm\n",
			"/etc/modprobe.d/b.conf":     "install siw /bin/false\ninstall mlx4_core /sbin/modprobe --ignore-install mlx4_core && /usr/libexec/mlx4-setup.sh\n",
			"/etc/modprobe.d/notes.txt":  "blacklist ib_core\n",
			"/usr/lib/modprobe.d/a.conf": "blacklist mlx5_ib\n",
			"/usr/lib/modprobe.d/m.conf": "blacklist rdma_cm\n",
			"/usr/lib/modprobe.d/z.conf": "blacklist rdma_rxe\n",
			"/proc/cmdline":              "quiet module_blacklist=irdma,efa modprobe.blacklist=bnxt_re ib_core.netns_mode=1\n",
		},
		links: map[string]string{"/etc/modprobe.d/m.conf": "/dev/null"},
	}
	c, err := Config(h)
	if err != nil || len(c.Unread) > 0 {
		t.Fatal(err, c.Unread)
	}
	for name, want := range map[string]string{
		"ib_uverbs": "/etc/modprobe.d/a.conf:2",
		"siw":       "/etc/modprobe.d/b.conf:1 (install /bin/false)",
		"rdma_rxe":  "/usr/lib/modprobe.d/z.conf:1",
		"efa":       "kernel command line (module_blacklist)",
		"bnxt-re":   "kernel command line (modprobe.blacklist)",
		"mlx5_core": "", // a comment
		"mlx5_ib":   "", // shadowed by a file of the same name in /etc
		"rdma_cm":   "", // masked
		"mlx4_core": "", // its install command loads it
		"ib_core":   "", // not a .conf file
	} {
		hit, where := c.Blacklisted(name)
		if hit != (want != "") || where != want {
			t.Errorf("Blacklisted(%s) = %v, %q; want %q", name, hit, where, want)
		}
	}
	wantOptions := []Directive{
		{Word: "options", Module: "ib_core", Args: "netns_mode=0", Where: "/etc/modprobe.d/a.conf:3"},
		{Word: "options", Module: "ib_core", Args: "netns_mode=1", Where: "kernel command line"},
	}
	if diff := cmp.Diff(wantOptions, c.Options("ib_core")); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Softdep{{Pre: []string{"ib_core"}, Post: []string{"rdma_ucm"}}}, c.Softdeps("mlx5-ib")); diff != "" {
		t.Errorf("softdeps (-want +got):\n%s", diff)
	}
}

func TestConfigUnreadIsTold(t *testing.T) {
	h := &fakeHost{t: t, files: map[string]string{"/etc/modprobe.d/a.conf": "blacklist siw\n"}, denied: map[string]bool{"/etc/modprobe.d/a.conf": true}}
	if c, err := Config(h); err != nil || len(c.Unread) != 1 {
		t.Errorf("unreadable file: %v, %v", c.Unread, err)
	}
	if _, err := Config(&fakeHost{t: t, silent: true}); !errors.Is(err, host.ErrUnknown) {
		t.Errorf("silence: %v, want unknown", err)
	}
	if c, err := Config(&fakeHost{t: t}); err != nil || len(c.Directives)+len(c.Unread) != 0 {
		t.Errorf("host without configuration: %+v, %v", c, err)
	}
}

func TestOnlyEnds(t *testing.T) {
	for command, want := range map[string]bool{
		"/bin/true": true, "/usr/bin/false": true, ":": true, "exit 0": true, "/bin/false # off": true,
		"/bin/true && modprobe x": false, "/sbin/modprobe --ignore-install x": false, "": false,
	} {
		if got := onlyEnds(command); got != want {
			t.Errorf("onlyEnds(%q) = %v", command, got)
		}
	}
}
