package detect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

func TestHoldFiles(t *testing.T) {
	const f = "/f"
	tests := []struct {
		name  string
		parse func(file, text string) []facts.Hold
		text  string
		want  []facts.Hold
	}{
		{
			"dnf", parseVersionlock, "# Added lock\nlibibverbs-0:48.0-1.el9.*\nkernel-core-2:5.14.0-427.el9.x86_64\nrdma-core\n!ucx-1.17.0-1.el9.*\nLast metadata check: now\n",
			[]facts.Hold{
				{Package: "libibverbs", Version: "48.0-1.el9", Kind: "versionlock", Source: f},
				{Package: "kernel-core", Version: "2:5.14.0-427.el9", Kind: "versionlock", Source: f},
				{Package: "rdma-core", Kind: "versionlock", Source: f},
				{Package: "ucx", Version: "1.17.0-1.el9", Kind: "exclude", Source: f},
			},
		},
		{
			"yum", parseVersionlock, "0:kernel-3.10.0-1160.el7.*\n1:mlnx-ofa_kernel-4.9-OFED.4.9.7.1.0.1.rhel7u9.*\n",
			[]facts.Hold{
				{Package: "kernel", Version: "3.10.0-1160.el7", Kind: "versionlock", Source: f},
				{Package: "mlnx-ofa_kernel", Version: "1:4.9-OFED.4.9.7.1.0.1.rhel7u9", Kind: "versionlock", Source: f},
			},
		},
		{
			"dnf5", parseVersionlockTOML, "version = \"1.0\"\n\n[[packages]]\nname = \"rdma-core\"\ncomment = \"Added by versionlock\"\n[[packages.conditions]]\nkey = \"evr\"\ncomparator = \"=\"\nvalue = \"0:51.0-5.fc41\"\n\n" +
				"[[packages]]\nname = \"ucx\"\n[[packages.conditions]]\nkey = \"evr\"\ncomparator = \"<\"\nvalue = \"1.18\"\n[[packages.conditions]]\nkey = \"arch\"\ncomparator = \"=\"\nvalue = \"x86_64\"\n",
			[]facts.Hold{{Package: "rdma-core", Version: "51.0-5.fc41", Kind: "versionlock", Source: f}, {Package: "ucx", Version: "<1.18", Kind: "versionlock", Source: f}},
		},
		{ // as zypper 1.14 wrote it
			"zypper", parseZyppLocks, "\ntype: package\nversion: == 6.4.0\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: kernel-default\n\n\ntype: package\nmatch_type: glob\nsolvable_name: libibverbs1\n\n\ntype: pattern\nsolvable_name: basesystem\n",
			[]facts.Hold{{Package: "kernel-default", Version: "== 6.4.0", Kind: "lock", Source: f}, {Package: "libibverbs1", Kind: "lock", Source: f}},
		},
		{
			"zypper locks", parseZypperTable, "\n# | Name                    | Type    | Repository\n--+-------------------------+---------+-----------\n1 | kernel-default == 6.4.0 | package | (any)\n2 | libibverbs1             | package | doca\n3 | x | pattern | (any)\n",
			[]facts.Hold{{Package: "kernel-default", Version: "== 6.4.0", Kind: "lock", Source: f}, {Package: "libibverbs1", Kind: "lock", Repository: "doca", Source: f}},
		},
		{
			"preferences", parsePreferences, "Package: libibverbs1 rdma-core\nPin: version 50.0-2*\nPin-Priority: 1001\n\nPackage: *\nPin: origin https://u:p@mirror.example.com\nPin-Priority: 100\n\nPackage: broken\nPin: version 1\n",
			[]facts.Hold{
				{Package: "libibverbs1", Version: "version 50.0-2*", Kind: "pin", Priority: 1001, Source: f},
				{Package: "rdma-core", Version: "version 50.0-2*", Kind: "pin", Priority: 1001, Source: f},
				{Package: "*", Version: "origin https://mirror.example.com", Kind: "pin", Priority: 100, Source: f},
			},
		},
		{
			"dnf.conf", parseMainExcludes, "[main]\ngpgcheck=1\nexcludepkgs=rdma-core*,\n  libibverbs*\n[other]\nexclude=x\n",
			[]facts.Hold{{Package: "rdma-core*", Kind: "exclude", Source: f}, {Package: "libibverbs*", Kind: "exclude", Source: f}},
		},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.parse(f, tt.text)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		if got := tt.parse(f, ""); len(got) != 0 {
			t.Errorf("%s: an empty file holds %+v", tt.name, got)
		}
	}
}

// Nothing held is only known when every place was looked at.
func TestNothingHeld(t *testing.T) {
	e := &host.Evidence{
		Files: map[string]string{"/etc/os-release": "ID=rocky\nVERSION_ID=\"9.4\"\n", "/etc/dnf/dnf.conf": "[main]\n"},
		Dirs:  map[string][]string{"/etc": {"dnf", "os-release"}, "/etc/dnf": {"dnf.conf"}},
	}
	if p := detected(t, e).Packages; !p.Held.IsAbsent() || !p.Holds.IsAbsent() {
		t.Errorf("all told: %+v, %+v", p.Held, p.Holds)
	}
	delete(e.Dirs, "/etc")
	if p := detected(t, e).Packages; !p.Held.IsUnknown() || !p.Holds.IsUnknown() {
		t.Errorf("a part told: %+v, %+v", p.Held, p.Holds)
	}
	e.Files["/etc/zypp/locks"] = "type: package\nsolvable_name: rdma-core\n"
	if p := detected(t, e).Packages; cmp.Diff([]string{"rdma-core"}, p.Held.Or(nil)) != "" || len(p.Holds.Or(nil)) != 1 {
		t.Errorf("one lock: %+v, %+v", p.Held, p.Holds)
	}
	e.Commands = map[string]host.Answer{"cat /etc/dnf/plugins/versionlock.list": {Stderr: "cat: /etc/dnf/plugins/versionlock.list: Permission denied\n", Exit: 1}}
	if p := detected(t, e).Packages; p.Unread["/etc/dnf/plugins/versionlock.list"] == "" || len(p.Holds.Or(nil)) != 1 {
		t.Errorf("one file unreadable: %+v, %v", p.Holds, p.Unread)
	}
}
