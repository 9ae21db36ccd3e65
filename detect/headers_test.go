package detect

import (
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

func TestHeadersPackage(t *testing.T) {
	tests := []struct{ id, family, release, want string }{
		{"debian", "debian", "6.1.0-50-amd64", "linux-headers-6.1.0-50-amd64"},
		{"debian", "debian", "6.12.117+deb13-cloud-amd64", "linux-headers-6.12.117+deb13-cloud-amd64"},
		{"debian", "debian", "6.11.5-amd64", "linux-headers-6.11.5-amd64"},
		{"debian", "debian", "6.1.0-rc7-custom", ""},
		{"debian", "debian", "6.8.12-9-pve", "proxmox-headers-6.8.12-9-pve"},
		{"debian", "debian", "6.2.16-20-pve", "pve-headers-6.2.16-20-pve"},
		{"debian", "debian", "5.15.131-2-pve", "pve-headers-5.15.131-2-pve"},
		{"ubuntu", "debian", "5.15.0-1050-azure", "linux-headers-5.15.0-1050-azure"},
		{"ubuntu", "debian", "6.11.0-1003-nvidia-64k", "linux-headers-6.11.0-1003-nvidia-64k"},
		{"ubuntu", "debian", "5.14.0-rc5", ""},
		{"ubuntu", "debian", "5.10.35", ""},
		{"rhel", "rhel", "5.14.0-427.13.1.el9_4.x86_64", "kernel-devel-5.14.0-427.13.1.el9_4.x86_64"},
		{"rhel", "rhel", "4.18.0-553.rt7.342.el8_10.x86_64", "kernel-rt-devel-4.18.0-553.rt7.342.el8_10.x86_64"},
		{"rhel", "rhel", "5.14.0-427.13.1.el9_4.aarch64+64k", "kernel-64k-devel-5.14.0-427.13.1.el9_4.aarch64"},
		{"ol", "rhel", "5.4.17-2102.203.6.el8uek.x86_64", "kernel-uek-devel-5.4.17-2102.203.6.el8uek.x86_64"},
		{"fedora", "rhel", "6.11.4-301.fc41.x86_64", "kernel-devel-6.11.4-301.fc41.x86_64"},
		{"openeuler", "rhel", "5.10.0-60.18.0.50.oe2203.x86_64", "kernel-devel-5.10.0-60.18.0.50.oe2203.x86_64"},
		{"rocky", "rhel", "6.9.1-1.el9.elrepo.x86_64", ""},
		{"centos", "rhel", "4.19.0-1.0.1.6.aarch64", ""},
		{"sles", "suse", "6.4.0-150600.23.25-default", "kernel-default-devel"},
		{"sles", "suse", "5.14.21-150500.33.63-azure", "kernel-azure-devel"},
		{"sles", "suse", "6.9.0", ""},
	}
	for _, tt := range tests {
		d := facts.Distro{ID: facts.Is(tt.id, "s"), Family: facts.Is(tt.family, "s")}
		got := headersPackage(tt.release, d)
		if tt.want == "" && !got.IsAbsent() || got.Or("") != tt.want {
			t.Errorf("%s %s: %+v, want %q", tt.id, tt.release, got, tt.want)
		}
	}
	if got := headersPackage("6.1.0", facts.Distro{}); !got.IsUnknown() {
		t.Errorf("no distribution: %+v", got)
	}
}

func TestPageSize(t *testing.T) {
	tests := []struct {
		arch, release string
		config        map[string]string
		want          int // 0: unknown
	}{
		{"x86_64", "6.1.0", nil, 4096},
		{"aarch64", "6.11.0-1003-nvidia-64k", nil, 65536},
		{"aarch64", "5.14.0-427.el9.aarch64+64k", nil, 65536},
		{"aarch64", "6.8.0-90-generic", nil, 0},
		{"aarch64", "6.8.0-90-generic", map[string]string{"ARM64_4K_PAGES": "y"}, 4096},
		{"aarch64", "5.15.0", map[string]string{"ARM64_16K_PAGES": "n", "ARM64_64K_PAGES": "y"}, 65536},
		{"ppc64le", "4.18.0", map[string]string{"PPC_64K_PAGES": "y"}, 65536},
	}
	p := probe{told: host.Told{Kind: "live"}}
	for _, tt := range tests {
		k := facts.Kernel{Release: facts.Is(tt.release, "s"), Arch: facts.Is(tt.arch, "s")}
		if tt.config != nil {
			k.Config = facts.Is(tt.config, "s")
		}
		if got := p.pageSize(k); got.Or(0) != tt.want || tt.want == 0 && !got.IsUnknown() {
			t.Errorf("%s %s: %+v, want %d", tt.arch, tt.release, got, tt.want)
		}
	}
	e := asked(map[string]string{"uname -r": "6.8.0\n", "uname -m": "aarch64\n", "getconf PAGESIZE": "65536\n"})
	if got := detected(t, e).Kernel.PageSize; got.Or(0) != 65536 {
		t.Errorf("getconf: %+v", got)
	}
}

func TestCompilerOf(t *testing.T) {
	for text, want := range map[string]string{
		"Linux version 6.1.0-50-amd64 (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14) 12.2.0, GNU ld (GNU Binutils for Debian) 2.40) #1 SMP": "gcc-12 (Debian 12.2.0-14) 12.2.0",
		"Linux version 4.18.0-553.el8_10.x86_64 (mockbuild@b.example.com) (gcc version 8.5.0 20210514 (Red Hat 8.5.0-22) (GCC)) #1 SMP":                  "gcc version 8.5.0 20210514 (Red Hat 8.5.0-22) (GCC)",
		"Linux version 6.1": "",
	} {
		e := asked(nil)
		e.Files["/proc/version"] = text + "\n"
		e.Commands["uname -r"] = host.Answer{Stdout: "6.1.0\n"}
		if got := detected(t, e).Kernel.Compiler; got.Or("") != want || want == "" && !got.IsUnknown() {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestEnforcedBy(t *testing.T) {
	silent := facts.Field[bool]{}
	forced := facts.Kernel{Config: facts.Is(map[string]string{"MODULE_SIG_FORCE": "y"}, "config")}
	argument := facts.Kernel{Running: true, Cmdline: facts.Is("ro module.sig_enforce quiet", "cmdline")}
	tests := []struct {
		name string
		told facts.Field[bool]
		k    facts.Kernel
		want facts.Field[bool]
	}{
		{"the kernel says so", facts.Is(false, "sysfs"), forced, facts.Is(false, "sysfs")},
		{"configuration", silent, forced, facts.Is(true, "config")},
		{"command line", silent, argument, facts.Is(true, "cmdline")},
		{"not forced is not known", silent, facts.Kernel{Config: facts.Is(map[string]string{"MODULE_SIG_FORCE": "n"}, "config")}, silent},
	}
	for _, tt := range tests {
		if got := enforcedBy(tt.told, tt.k); got != tt.want {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}
