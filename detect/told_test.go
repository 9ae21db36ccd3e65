package detect

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// row finds the line of a label in the table, with its continuation.
func row(t *testing.T, f facts.Facts, label string) string {
	t.Helper()
	var out []string
	for line := range strings.Lines(rendered(t, f, false)) {
		head, rest := strings.TrimSpace(line[:min(labelWidth, len(line))]), line[min(labelWidth, len(line)):]
		if head == label || len(out) > 0 && head == "" {
			out = append(out, rest)
		} else if len(out) > 0 {
			break
		}
	}
	return strings.Join(strings.Fields(strings.Join(out, " ")), " ")
}

func asked(lines map[string]string) *host.Evidence {
	e := &host.Evidence{Files: map[string]string{}, Dirs: map[string][]string{}, Commands: map[string]host.Answer{}}
	for line, text := range lines {
		e.Commands[line] = host.Answer{Stdout: text}
	}
	return e
}

const (
	inboxCore = "filename:       /lib/modules/6.1.0/kernel/drivers/infiniband/core/ib_core.ko\nvermagic: 6.1.0 SMP\n"
	inboxMlx5 = "filename:       /lib/modules/6.1.0/kernel/drivers/infiniband/hw/mlx5/mlx5_ib.ko\nvermagic: 6.1.0 SMP\n"
	lsmodHead = "Module                  Size  Used by\n"
)

// What is on disk says nothing about what is in memory.
func TestModulesWithoutAList(t *testing.T) {
	f := detected(t, asked(map[string]string{"uname -r": "6.1.0\n", "modinfo ib_core": inboxCore, "modinfo mlx5_ib": inboxMlx5}))
	if got := row(t, f, "Verbs modules"); got != "on disk: ib_core inbox; unknown: ib_uverbs" {
		t.Errorf("verbs modules %q", got)
	}
	if got := row(t, f, "Driver"); got != "on disk: mlx5_ib inbox" {
		t.Errorf("driver %q", got)
	}
	// With a list that names others the same modules are not loaded.
	f = detected(t, asked(map[string]string{
		"uname -r": "6.1.0\n", "modinfo ib_core": inboxCore, "modinfo mlx5_ib": inboxMlx5, "lsmod": lsmodHead + "virtio_net 65536 0\n",
	}))
	if got := row(t, f, "Verbs modules"); got != "not loaded: ib_core inbox, ib_uverbs" {
		t.Errorf("twin: %q", got)
	}
}

// A list that names a module without those that it links with is an excerpt.
func TestExcerptOfLoadedModules(t *testing.T) {
	lines := lsmodHead + "mlx5_ib 348160 0\nib_uverbs 139264 1 mlx5_ib\n"
	f := detected(t, asked(map[string]string{"uname -r": "6.1.0\n", "lsmod": lines}))
	if got := row(t, f, "Verbs modules"); got != "loaded: ib_core, ib_uverbs" {
		t.Errorf("verbs modules %q", got)
	}
	if got := row(t, f, "Driver"); got != "loaded: mlx5_core, mlx5_ib" {
		t.Errorf("driver %q", got)
	}
	if got := row(t, f, "Kernel ULPs"); strings.Contains(got, "not loaded") {
		t.Errorf("what an excerpt leaves out is not known: %q", got)
	}
	whole := asked(map[string]string{"uname -r": "6.1.0\n", "lsmod": lines + "ib_core 430080 2 ib_uverbs,mlx5_ib\nmlx5_core 999 1 mlx5_ib\n"})
	f = detected(t, whole)
	if got := row(t, f, "Kernel ULPs"); f.Modules.LoadedExcerpt || !strings.HasPrefix(got, "not loaded: rdma_cm, rdma_ucm") {
		t.Errorf("a list without gaps: excerpt %v, %q", f.Modules.LoadedExcerpt, got)
	}
	// A kernel that has the core built in lists none of it.
	builtin := asked(map[string]string{"uname -r": "6.1.0\n", "lsmod": lines})
	builtin.Files["/boot/config-6.1.0"] = "CONFIG_INFINIBAND=y\nCONFIG_MLX5_CORE=y\n"
	f = detected(t, builtin)
	if got := row(t, f, "Verbs modules"); f.Modules.LoadedExcerpt || !strings.Contains(got, "ib_core builtin") {
		t.Errorf("built in: excerpt %v, %q", f.Modules.LoadedExcerpt, got)
	}
	// On a live host the list is whole whatever it lacks.
	live := Host(t.Context(), posing{Reader: host.NewReplay(asked(map[string]string{"uname -r": "6.1.0\n", "lsmod": lines})), kind: "live"})
	if live.Modules.LoadedExcerpt || isLoaded(live.Modules.Loaded, "ib_core") {
		t.Errorf("live: %+v", live.Modules)
	}
}

func TestDriverOfADeviceByItsName(t *testing.T) {
	e := asked(nil)
	e.Files["/sys/class/infiniband/mlx5_0/ports/1/state"] = "2: INIT\n"
	f := detected(t, e)
	if got := row(t, f, "Driver"); got != "in use: mlx5_ib by mlx5_0" {
		t.Errorf("driver %q", got)
	}
	if got := row(t, f, "RDMA devices"); !strings.Contains(got, "port 1 INIT (physical state unknown)") {
		t.Errorf("devices %q", got)
	}
	renamed := asked(nil)
	renamed.Files["/sys/class/infiniband/ibp1s0/ports/1/state"] = "2: INIT\n"
	if f := detected(t, renamed); !f.RDMA.Value[0].Driver.IsUnknown() {
		t.Errorf("the name of a rule tells no driver: %+v", f.RDMA.Value[0].Driver)
	}
}

func TestLockdownWithoutSecurityfs(t *testing.T) {
	// The mount point is there, the file is not.
	mountPoint := asked(nil)
	mountPoint.Dirs["/sys/kernel/security"] = []string{}
	if f := detected(t, mountPoint).Kernel.Lockdown; !f.IsUnknown() || !strings.Contains(f.Error, "securityfs") {
		t.Errorf("not mounted: %+v", f)
	}
	mounted := asked(nil)
	mounted.Dirs["/sys/kernel/security"] = []string{"lsm"}
	if f := detected(t, mounted).Kernel.Lockdown; !f.IsAbsent() {
		t.Errorf("mounted, a kernel without it: %+v", f)
	}
	mounted.Files["/sys/kernel/security/lockdown"] = "none [integrity] confidentiality\n"
	if f := detected(t, mounted).Kernel.Lockdown; f.Or("") != "integrity" {
		t.Errorf("mounted: %+v", f)
	}
}

func TestImageWithoutDepmod(t *testing.T) {
	image := func(index ...string) facts.Facts {
		e := asked(nil)
		e.Dirs["/lib"] = []string{"modules"}
		e.Dirs["/lib/modules"] = []string{"6.1.0-50-amd64"}
		e.Dirs["/lib/modules/6.1.0-50-amd64"] = append([]string{"kernel"}, index...)
		for _, name := range index {
			e.Files["/lib/modules/6.1.0-50-amd64/"+name] = "\n"
		}
		for _, m := range stackModules() {
			if len(index) > 0 { // the index does not name it
				e.Commands["modinfo -k 6.1.0-50-amd64 -n "+m.name] = host.Answer{}
			}
		}
		e.Files["/etc/os-release"] = "ID=debian\nVERSION_ID=\"12\"\n"
		return Host(t.Context(), posing{Reader: host.NewReplay(e), kind: "root"})
	}
	for _, m := range image().Modules.OnDisk {
		if !m.Path.IsUnknown() || !strings.Contains(m.Path.Error, "depmod") {
			t.Fatalf("without modules.dep: %+v", m)
		}
	}
	for _, m := range image("modules.dep", "modules.builtin").Modules.OnDisk {
		if !m.Path.IsAbsent() {
			t.Fatalf("with an index that does not name it: %+v", m)
		}
	}
}

// A release becomes a part of paths: what is none must not.
func TestKernelReleaseThatIsNone(t *testing.T) {
	for _, release := range []string{"../../etc", "..", "a b", "6.1\nx", "/", "-k"} {
		e := evidence(t, "no-card")
		seen := make(chan string, 10000)
		f := HostWithKernel(t.Context(), posing{Reader: host.NewReplay(e), kind: "evidence", asked: seen}, release)
		close(seen)
		if f.Kernel.Release.IsKnown() || f.Kernel.Running || len(f.Modules.OnDisk) > 0 {
			t.Errorf("%q: %+v", release, f.Kernel)
		}
		for line := range seen {
			if strings.Contains(line, release+"/") || strings.Contains(line, "-k "+release) {
				t.Errorf("%q was asked: %s", release, line)
			}
		}
	}
	f := HostWithKernel(t.Context(), host.NewReplay(evidence(t, "no-card")), "6.1.0-1-amd64")
	if f.Kernel.Release.Or("") != "6.1.0-1-amd64" {
		t.Errorf("a good one: %+v", f.Kernel.Release)
	}
}

func TestSourceOfUnknownPackages(t *testing.T) {
	for text, want := range map[string]string{
		"ID=ubuntu\n": "dpkg-query -W", "ID=rhel\n": "rpm -q", "ID=sles\n": "rpm -q", "": "dpkg-query -W or rpm -q",
	} {
		e := asked(nil)
		if text != "" {
			e.Files["/etc/os-release"] = text
		}
		if f := detected(t, e).Packages.Installed; !f.IsUnknown() || f.Source != want {
			t.Errorf("%q: %+v, want the source %q", text, f, want)
		}
	}
}

func TestDKMS(t *testing.T) {
	const os = "ID=ubuntu\nVERSION_ID=\"22.04\"\n"
	built := func(source string) []facts.DKMSPackage {
		return []facts.DKMSPackage{{
			Name: "mlnx-ofed-kernel", Version: "23.07.OFED.23.07.0.5.1.1", Kernels: []string{"5.15.0-1050-azure"}, Origin: "mlnx-ofed",
			Installed: facts.Is([]string{"5.15.0-1050-azure"}, source),
		}}
	}
	text := asked(map[string]string{"dkms status": "mlnx-ofed-kernel/23.07.OFED.23.07.0.5.1.1, 5.15.0-1050-azure, x86_64: installed\nzfs/2.1.5, 5.15.0, x86_64: installed\n"})
	tree := asked(nil)
	tree.Dirs["/var/lib/dkms"] = []string{"dkms_dbversion", "mlnx-ofed-kernel", "zfs"}
	tree.Dirs["/var/lib/dkms/mlnx-ofed-kernel"] = []string{"23.07.OFED.23.07.0.5.1.1", "kernel-5.15.0-1050-azure-x86_64"}
	tree.Dirs["/var/lib/dkms/mlnx-ofed-kernel/23.07.OFED.23.07.0.5.1.1"] = []string{"5.15.0-1050-azure", "source"}
	tree.Links = map[string]string{"/var/lib/dkms/mlnx-ofed-kernel/kernel-5.15.0-1050-azure-x86_64": "23.07.OFED.23.07.0.5.1.1/5.15.0-1050-azure/x86_64"}
	for source, e := range map[string]*host.Evidence{"dkms status": text, "/var/lib/dkms/mlnx-ofed-kernel": tree} {
		e.Files["/etc/os-release"] = os
		f := detected(t, e).Modules.DKMS
		if diff := cmp.Diff(built(source), f.Or(nil)); diff != "" {
			t.Errorf("%s: %s", source, diff)
		}
	}
	// Built and not installed: another version's modules are in their place.
	tree.Links["/var/lib/dkms/mlnx-ofed-kernel/kernel-5.15.0-1050-azure-x86_64"] = "5.8/5.15.0-1050-azure/x86_64"
	if f := detected(t, tree).Modules.DKMS.Or(nil); len(f) != 1 || !f[0].Installed.IsAbsent() {
		t.Errorf("another version is installed: %+v", f)
	}
	if f := parseDKMSStatus("mlnx-ofed-kernel/5.8, 6.1.0-1-amd64, x86_64: built\n", "s"); len(f) != 1 || !f[0].Installed.IsAbsent() {
		t.Errorf("only built: %+v", f)
	}
	if f := detected(t, asked(nil)).Modules.DKMS; !f.IsUnknown() {
		t.Errorf("not told: %+v", f)
	}
	empty := asked(nil)
	empty.Dirs["/var/lib"] = []string{"dpkg"}
	if f := detected(t, empty).Modules.DKMS; !f.IsAbsent() {
		t.Errorf("not there: %+v", f)
	}
	for line, want := range map[string]int{
		"mlnx-ofed-kernel, 4.9, 5.4.0-1-generic, x86_64: installed": 1, "mlnx-ofed-kernel/5.8: added": 1, "Error! nothing": 0, "mlnx-ofed-kernel/5.8": 0,
	} {
		if got := parseDKMSStatus(line, "s"); len(got) != want {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

func TestNotToldIsOneRow(t *testing.T) {
	f := detected(t, asked(map[string]string{"uname -r": "6.1.0\n"}))
	text := rendered(t, f, false)
	if strings.Contains(text, "(not told") || strings.Count(text, "Not told") != 1 {
		t.Error(text)
	}
	for _, want := range []string{"Device nodes (/dev/infiniband)", "Card (lspci -nn)", "Verbs modules (lsmod)"} {
		if !strings.Contains(row(t, f, "Not told"), want) {
			t.Errorf("no %q in %q", want, row(t, f, "Not told"))
		}
	}
	// A live host has something to mend in each row.
	f.Origin = "live"
	if text := rendered(t, f, false); strings.Contains(text, "Not told") || !strings.Contains(text, "Device nodes        unknown (not told: /dev/infiniband)") {
		t.Error(text)
	}
	// A reason is no silence.
	f.Origin, f.Nodes.Error = "evidence", "permission denied"
	if got := row(t, f, "Device nodes"); got != "unknown (permission denied)" {
		t.Errorf("got %q", got)
	}
}

func TestTextOfPorts(t *testing.T) {
	for want, port := range map[string]facts.Port{
		"1 ACTIVE LinkUp, GIDs unknown":                          {Number: 1, State: facts.Is("ACTIVE", ""), PhysState: facts.Is("LinkUp", "")},
		"1 ACTIVE (physical state unknown), GIDs unknown":        {Number: 1, State: facts.Is("ACTIVE", "")},
		"2 state unknown (physical state Polling), GIDs unknown": {Number: 2, PhysState: facts.Is("Polling", "")},
		"1 state unknown, GIDs unknown":                          {Number: 1},
		"1 state unknown, InfiniBand, LID none, GIDs unknown":    {Number: 1, LinkLayer: facts.Is("InfiniBand", ""), LID: facts.Is(65535, "")},
		"1 state unknown, InfiniBand, LID 700, GIDs unknown":     {Number: 1, LinkLayer: facts.Is("InfiniBand", ""), LID: facts.Is(700, "")},
		"1 DOWN Disabled, Ethernet, GIDs none":                   {Number: 1, State: facts.Is("DOWN", ""), PhysState: facts.Is("Disabled", ""), LinkLayer: facts.Is("Ethernet", ""), LID: facts.Is(0, ""), GIDs: facts.None[[]facts.GID]("")},
	} {
		if got := portText(port); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestCounts(t *testing.T) {
	two := facts.Is([]facts.PCIDevice{{Vendor: "1af4"}, {Vendor: "1af4"}}, "")
	if got := cardRows(two); !slices.Equal(got, []string{"2 network functions without RDMA"}) {
		t.Errorf("got %q", got)
	}
	one := facts.Memlock{PAM: facts.Is([]string{"x"}, ""), Soft: facts.Is("unlimited", "")}
	if got := memlockRow(one); !strings.HasSuffix(got, "; 1 line in limits.d") {
		t.Errorf("got %q", got)
	}
	inside := facts.Facts{Platform: facts.Platform{Container: facts.Is(true, "")}}
	if got := hostRow(inside); !strings.Contains(got, ", in a container,") {
		t.Errorf("got %q", got)
	}
	inside.Platform.ContainerRuntime = facts.Is("docker", "")
	if got := hostRow(inside); !strings.Contains(got, ", in a docker container,") {
		t.Errorf("got %q", got)
	}
}

// A source is a name that a reader knows, and an image says why it is silent.
func TestSourcesOfAnImage(t *testing.T) {
	f := Host(t.Context(), posing{Reader: host.NewReplay(asked(nil)), kind: "root"})
	if f.PCI.Source != "--root" || f.PCI.Error != "an image has no hardware of its own" || f.Platform.Systemd.Error == "" || !f.Platform.Container.IsUnknown() {
		t.Errorf("%+v, %+v", f.PCI, f.Platform)
	}
	if got := row(t, f, "Card"); got != "unknown (an image has no hardware of its own)" {
		t.Errorf("card %q", got)
	}
}
