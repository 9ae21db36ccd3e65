package plan_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/profiles"
)

func TestBareHostWithoutCard(t *testing.T) {
	p := makePlan(t, bookworm(), "lts", plan.Request{})
	if p.Verdict != plan.Refuse || p.Chosen != nil || len(p.Steps) != 0 {
		t.Fatalf("got %+v", p)
	}
	if diff := cmp.Diff([]string{"no-rdma-hardware"}, codes(p.Reasons)); diff != "" {
		t.Error(diff)
	}
	if len(p.Looked) == 0 || !strings.Contains(p.Looked[0], "/sys/bus/pci/devices: 1 network function (1af4:1000)") {
		t.Errorf("looked at %q", p.Looked)
	}
	var commands []string
	for _, h := range p.Next {
		commands = append(commands, h.Command)
	}
	for _, want := range []string{"--profile inbox", "--profile soft", "--card"} {
		if !slices.ContainsFunc(commands, func(c string) bool { return strings.Contains(c, want) }) {
			t.Errorf("no way out with %s in %q", want, commands)
		}
	}
	// The ways out say what they would do on this host, not on any.
	for _, name := range []string{"inbox", "soft"} {
		would := makePlan(t, bookworm(), name, plan.Request{}).Summary
		if !slices.ContainsFunc(p.Next, func(h plan.Hint) bool {
			return strings.HasSuffix(h.Command, "--profile "+name) && strings.HasSuffix(h.Text, would)
		}) {
			t.Errorf("no hint says %q: %q", would, p.Next)
		}
	}
	twin := makePlan(t, bookworm(cloudKernel), "lts", plan.Request{})
	if slices.ContainsFunc(twin.Next, func(h plan.Hint) bool {
		return strings.Contains(h.Command, "soft") || strings.Contains(h.Text, "refused: ")
	}) ||
		!strings.HasSuffix(twin.Next[0].Command, "--profile inbox") {
		t.Errorf("on a cloud kernel soft cannot work and inbox can: %q", twin.Next)
	}
	if f := plan.Fault(p); f == nil || f.Kind != fault.Refused || f.Code != "no-rdma-hardware" || f.Hint == "" {
		t.Errorf("fault %+v", f)
	}
}

func TestUnknownHardwareIsNotNone(t *testing.T) {
	p := makePlan(t, bookworm(func(f *facts.Facts) { f.PCI = facts.Field[[]facts.PCIDevice]{} }), "lts", plan.Request{})
	if diff := cmp.Diff([]string{"hardware-unknown"}, codes(p.Reasons)); diff != "" {
		t.Error(diff)
	}
}

func TestLTSFallsToInboxAndSaysSo(t *testing.T) {
	p := makePlan(t, bookworm(connectX5), "lts", plan.Request{})
	if p.Verdict != plan.Install || p.Chosen.Stack != "inbox" || p.Chosen.Status != plan.Present {
		t.Fatalf("got %+v", p.Chosen)
	}
	for _, want := range []string{"lts is inbox", "no release of doca-ofed or mlnx-ofed"} {
		if !strings.Contains(p.Summary, want) {
			t.Errorf("no %q in %q", want, p.Summary)
		}
	}
	if diff := cmp.Diff([]string{"inbox-serves", "nothing-documented", "nothing-documented"}, codes(p.Reasons)); diff != "" {
		t.Errorf("why not the vendor's (-want +got):\n%s", diff)
	}
	// The twin names inbox itself: nothing was passed over.
	twin := makePlan(t, bookworm(connectX5), "inbox", plan.Request{})
	if len(twin.Reasons) != 1 || strings.Contains(twin.Summary, "doca") {
		t.Errorf("%q, %v", twin.Summary, codes(twin.Reasons))
	}
	if diff := cmp.Diff(p.Steps, twin.Steps); diff != "" {
		t.Errorf("the way to inbox depends on the profile's name:\n%s", diff)
	}
}

func TestEveryStackHasAVerdict(t *testing.T) {
	p := makePlan(t, bookworm(connectX5), "lts", plan.Request{})
	var names []string
	for _, s := range p.Stacks {
		names = append(names, s.Stack)
		if len(s.Reasons) == 0 || s.Status == "" || s.Verdict == "" {
			t.Errorf("%+v", s)
		}
	}
	if diff := cmp.Diff(plan.StackNames(), names); diff != "" {
		t.Error(diff)
	}
}

func TestSoft(t *testing.T) {
	p := makePlan(t, bookworm(), "soft", plan.Request{})
	want := []string{
		"packages", "modprobe-options", "modules-load", "memlock", "udev-rules", "soft-roce-unit", "udev-reload", "load-modules",
		"services", "verify",
	}
	if diff := cmp.Diff(want, stepIDs(p)); diff != "" {
		t.Fatal(diff)
	}
	if text := step(t, p, "modprobe-options").Changes.Files[0].Content; !strings.Contains(text, "\nsoftdep rdma_rxe pre: crc32_generic\n") {
		t.Error(text)
	}
	if text := step(t, p, "memlock").Changes.Files[0].Content; !strings.Contains(text, "\n@rdma - memlock unlimited\n") {
		t.Error(text)
	}
	for _, s := range p.Steps {
		if s.Why == "" || s.Undo == "" || s.Summary == "" {
			t.Errorf("step %s lacks why, undo or summary", s.ID)
		}
		if s.Network != (s.ID == "packages") || s.Root != (s.ID != "verify") {
			t.Errorf("step %s: network %v, root %v", s.ID, s.Network, s.Root)
		}
		for _, f := range s.Changes.Files {
			if !strings.HasPrefix(f.Content, "# Written by rdmactl") || f.Mode != "0644" || !strings.HasSuffix(f.Content, "\n") {
				t.Errorf("%s: %+v", s.ID, f)
			}
		}
	}
}

func TestInterfaceNamesWithDash(t *testing.T) {
	p := makePlan(t, bookworm(netdevs(netdev("br-lan", "up"))), "soft", plan.Request{Netdev: "br-lan"})
	text := step(t, p, "soft-roce-unit").Changes.Files[0].Content
	for _, want := range []string{`BindsTo=sys-subsystem-net-devices-br\x2dlan.device`, "netdev br-lan\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestSecondRunHasNothingToDo(t *testing.T) {
	slurm := services(unit("slurmd.service", "loaded", "65536"))
	for _, tc := range []struct {
		profile string
		facts   facts.Facts
	}{
		{"soft", bookworm(slurm)},
		{"soft", host("11", "5.10.0-32-amd64", "bullseye")},
		{"inbox", bookworm()},
		{"inbox", bookworm(cloudKernel)},
		{"lts", bookworm(connectX5, slurm)},
		{"lts", bookworm(connectX3)},
	} {
		first := makePlan(t, tc.facts, tc.profile, plan.Request{})
		if first.Verdict != plan.Install {
			t.Fatalf("%s: %s", tc.profile, first.Summary)
		}
		done := carriedOut(tc.facts, first)
		// The default route may move: the device stays where it is.
		done.Access.DefaultRouteNetdev = facts.Is("wlan0", "/proc/net/route")
		done.Services = append([]facts.Service{}, done.Services...)
		for i := range done.Services {
			done.Services[i].Memlock = facts.Is("infinity", "systemctl show")
		}
		second := makePlan(t, done, tc.profile, plan.Request{})
		if second.Verdict != plan.NothingToDo || len(second.Steps) != 0 || !strings.HasPrefix(second.Summary, "nothing to do") {
			t.Errorf("%s again: %s %v", tc.profile, second.Summary, stepIDs(second))
		}
		if plan.Fault(second) != nil {
			t.Errorf("%s again is a fault", tc.profile)
		}
	}
}

// Each row takes one thing away from a finished host.
func TestPartialStates(t *testing.T) {
	start := bookworm(services(unit("slurmd.service", "loaded", "65536")))
	done := carriedOut(start, makePlan(t, start, "soft", plan.Request{}))
	without := func(path string) change {
		return func(f *facts.Facts) {
			managed := map[string]string{}
			for k, v := range f.Managed.Value {
				if k != path {
					managed[k] = v
				}
			}
			f.Managed = facts.Is(managed, "/etc")
		}
	}
	for _, tc := range []struct {
		name  string
		spoil change
		want  []string
	}{
		{"nothing", func(*facts.Facts) {}, nil},
		{"package removed", func(f *facts.Facts) {
			f.Packages.Installed = facts.Is(slices.DeleteFunc(slices.Clone(f.Packages.Installed.Value), func(p facts.Package) bool { return p.Name == "ibverbs-providers" }), "dpkg")
		}, []string{"packages", "verify"}},
		{"package removed, configuration left", func(f *facts.Facts) {
			list := slices.Clone(f.Packages.Installed.Value)
			for i := range list {
				if list[i].Name == "rdma-core" {
					list[i].Status = "deinstall ok config-files"
				}
			}
			f.Packages.Installed = facts.Is(list, "dpkg")
		}, []string{"packages", "verify"}},
		{"packages not told", func(f *facts.Facts) { f.Packages.Installed = facts.Field[[]facts.Package]{} }, []string{"packages", "verify"}},
		{"limits edited", func(f *facts.Facts) {
			without("")(f)
			f.Managed.Value["/etc/security/limits.d/90-rdmactl-memlock.conf"] = strings.Repeat("0", 64)
		}, []string{"memlock", "verify"}},
		{"drop-in gone", without("/etc/systemd/system/slurmd.service.d/50-rdmactl-memlock.conf"), []string{"memlock", "services", "verify"}},
		{"rule gone", without("/etc/udev/rules.d/91-rdmactl-soft-roce.rules"), []string{"udev-rules", "udev-reload", "verify"}},
		{"module unloaded", func(f *facts.Facts) {
			f.Modules.Loaded = facts.Is(slices.DeleteFunc(slices.Clone(f.Modules.Loaded.Value), func(m facts.LoadedModule) bool { return m.Name == "rdma_ucm" }), "/proc/modules")
		}, []string{"load-modules", "verify"}},
		{"device deleted", func(f *facts.Facts) { f.RDMA = facts.None[[]facts.RDMADevice]("/sys/class/infiniband") }, []string{"services", "verify"}},
		{"devices not told", func(f *facts.Facts) { f.RDMA = facts.Field[[]facts.RDMADevice]{} }, []string{"services", "verify"}},
		{"files not told", func(f *facts.Facts) { f.Managed = facts.Field[map[string]string]{} }, []string{
			"modprobe-options", "modules-load", "memlock", "udev-rules", "soft-roce-unit", "udev-reload", "services", "verify",
		}},
	} {
		f := done
		tc.spoil(&f)
		p := makePlan(t, f, "soft", plan.Request{})
		if diff := cmp.Diff(tc.want, stepIDs(p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestMemlockUnits(t *testing.T) {
	p := makePlan(t, bookworm(services(
		unit("slurmd.service", "loaded", "8388608"), // limited: gets a drop-in
		unit("containerd", "loaded", "8388608"),     // the same, told without its suffix
		unit("docker.service", "loaded", "infinity"),
		unit("kubelet.service", "not-found", ""),
		unit("crio.service", "masked", ""),
		unit("other.service", "loaded", "8388608"), // not the profile's business
	)), "inbox", plan.Request{})
	var paths []string
	for _, f := range step(t, p, "memlock").Changes.Files {
		paths = append(paths, f.Path)
	}
	want := []string{
		"/etc/security/limits.d/90-rdmactl-memlock.conf",
		"/etc/systemd/system/slurmd.service.d/50-rdmactl-memlock.conf",
		"/etc/systemd/system/containerd.service.d/50-rdmactl-memlock.conf",
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]plan.ServiceChange{{Action: "daemon-reload"}}, step(t, p, "services").Changes.Services); diff != "" {
		t.Errorf("a plan must not restart what runs jobs:\n%s", diff)
	}
	if !slices.Contains(codes(p.Warnings), "restart-services") {
		t.Errorf("warnings %v", codes(p.Warnings))
	}
}

func TestInboxWithoutCard(t *testing.T) {
	p := makePlan(t, bookworm(), "inbox", plan.Request{})
	if p.Verdict != plan.Install || !slices.Contains(codes(p.Warnings), "no-device-to-verify") {
		t.Errorf("%s, %v", p.Summary, codes(p.Warnings))
	}
	twin := makePlan(t, bookworm(connectX5), "inbox", plan.Request{})
	if slices.Contains(codes(twin.Warnings), "no-device-to-verify") {
		t.Errorf("with a card: %v", codes(twin.Warnings))
	}
	var names []string
	for _, m := range step(t, p, "load-modules").Changes.Modules {
		names = append(names, m.Name)
	}
	if diff := cmp.Diff([]string{"ib_uverbs", "rdma_ucm", "ib_umad", "mlx5_ib", "ib_ipoib", "ib_iser", "rpcrdma"}, names); diff != "" {
		t.Error(diff)
	}
}

// A module that does not exist would leave systemd-modules-load failed after each boot.
func TestMissingModulesAreInNoFile(t *testing.T) {
	p := makePlan(t, bookworm(cloudKernel), "inbox", plan.Request{})
	text := step(t, p, "modules-load").Changes.Files[0].Content
	if strings.Contains(text, "ib_ipoib") || !strings.Contains(text, "\nmlx5_ib\n") {
		t.Error(text)
	}
	if !slices.Contains(codes(p.Warnings), "module-left-out") {
		t.Errorf("warnings %v", codes(p.Warnings))
	}
}

func TestBlacklistedOptionalModules(t *testing.T) {
	keptOut := func(f *facts.Facts) {
		f.Modules.Blacklisted = facts.Is(map[string]string{"ib_ipoib": "/etc/modprobe.d/local.conf:1"}, "/etc/modprobe.d")
	}
	p := makePlan(t, bookworm(keptOut), "inbox", plan.Request{})
	if p.Verdict != plan.Install || strings.Contains(step(t, p, "modules-load").Changes.Files[0].Content, "ib_ipoib") ||
		strings.Contains(step(t, p, "load-modules").Summary, "ib_ipoib") {
		t.Errorf("%s: the administrator's wish is not honoured", p.Summary)
	}
}

// What is loaded says nothing about a kernel that does not run.
func TestLoadedModulesOfAnotherKernel(t *testing.T) {
	loaded := func(f *facts.Facts) {
		f.Modules.Loaded = facts.Is([]facts.LoadedModule{{Name: "rdma_rxe"}}, "/proc/modules")
		f.Kernel.Config.Value["RDMA_RXE"] = "n"
	}
	if p := makePlan(t, bookworm(loaded), "soft", plan.Request{}); p.Verdict != plan.Install {
		t.Errorf("running: %s", p.Summary)
	}
	p := makePlan(t, bookworm(loaded, func(f *facts.Facts) { f.Kernel.Running = false }), "soft", plan.Request{})
	if !slices.Equal(codes(p.Reasons), []string{"module-missing"}) {
		t.Errorf("not running: %s", p.Summary)
	}
}

// No repository had the package in the first run, and a second must end all the same.
func TestOptionalPackageIsNoReasonForARun(t *testing.T) {
	p := profile(t, "inbox")
	p.Packages = map[string][]profiles.Package{"debian": {
		{Name: "rdma-core", Why: "rules"},
		{Name: "ibacm", Why: "address cache", Optional: true},
		{Name: "librdmacm1t64", Why: "library", Releases: []string{"debian 13"}},
	}}
	first, err := plan.Make(bookworm(), p, known(t), plan.Request{})
	if err != nil {
		t.Fatal(err)
	}
	want := []plan.PackageChange{
		{Name: "rdma-core", Action: "install", Why: "rules"},
		{Name: "ibacm", Action: "install", Why: "address cache", Optional: true},
	}
	if diff := cmp.Diff(want, step(t, first, "packages").Changes.Packages); diff != "" {
		t.Error(diff)
	}
	second, err := plan.Make(bookworm(installed(facts.Package{Name: "rdma-core", Status: "install ok installed"})), p, known(t), plan.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(stepIDs(second), "packages") {
		t.Errorf("steps %v", stepIDs(second))
	}
}

func TestSystemThatDoesNotRun(t *testing.T) {
	for name, f := range map[string]facts.Facts{
		"root":         bookworm(func(f *facts.Facts) { f.Origin = "root" }),
		"other kernel": bookworm(func(f *facts.Facts) { f.Kernel.Running = false }),
	} {
		p := makePlan(t, f, "soft", plan.Request{})
		if diff := cmp.Diff([]string{"packages", "modprobe-options", "modules-load", "memlock", "udev-rules", "soft-roce-unit"}, stepIDs(p)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if !slices.Contains(codes(p.Warnings), "activation-at-boot") || p.Reboot != (name == "other kernel") {
			t.Errorf("%s: reboot %v, %v", name, p.Reboot, codes(p.Warnings))
		}
	}
	p := makePlan(t, bookworm(), "soft", plan.Request{Kernel: "6.12.1-amd64"})
	if !p.Reboot || slices.Contains(stepIDs(p), "load-modules") {
		t.Errorf("--kernel of another kernel: %v", stepIDs(p))
	}
}

func TestCloudKernelNamesTheOther(t *testing.T) {
	p := makePlan(t, bookworm(cloudKernel), "soft", plan.Request{})
	if p.Next[0].Command != "sudo apt-get install linux-image-amd64" {
		t.Errorf("%q", p.Next)
	}
	evil := makePlan(t, bookworm(cloudKernel, func(f *facts.Facts) { f.Kernel.Flavour = facts.Is("cloud-x; reboot", "uname -r") }), "soft", plan.Request{})
	if strings.Contains(evil.Next[0].Command, "reboot") {
		t.Errorf("text of the facts became a command: %q", evil.Next)
	}
}

func TestRequestsForOtherStacks(t *testing.T) {
	p := makePlan(t, bookworm(connectX5), "lts", plan.Request{Stack: "mlnx-ofed"})
	if p.Verdict != plan.Install || p.Chosen.Stack != "mlnx-ofed" || p.Chosen.Status != plan.Unknown || !slices.Contains(codes(p.Warnings), "unknown-combination") {
		t.Errorf("%s: %v", p.Summary, codes(p.Warnings))
	}
	p = makePlan(t, bookworm(connectX5), "lts", plan.Request{Stack: "mlnx-ofed", Version: "77.1"})
	if p.Verdict != plan.Refuse || !slices.Equal(codes(p.Reasons), []string{"version-not-known"}) {
		t.Errorf("%s: %v", p.Summary, codes(p.Reasons))
	}
	p = makePlan(t, bookworm(connectX5), "lts", plan.Request{Stack: "inbox"})
	if p.Verdict != plan.Install || !strings.Contains(p.Next[0].Command, "--stack inbox") {
		t.Errorf("%s: %v", p.Summary, p.Next)
	}
	p = makePlan(t, bookworm(connectX5), "inbox", plan.Request{Version: "56.1"})
	if !slices.Equal(codes(p.Reasons), []string{"version-not-offered"}) {
		t.Errorf("%v", codes(p.Reasons))
	}
	p = makePlan(t, bookworm(connectX5), "inbox", plan.Request{Method: "container"})
	if !slices.Equal(codes(p.Reasons), []string{"method-not-offered"}) {
		t.Errorf("%v", codes(p.Reasons))
	}
}

func TestStatedCard(t *testing.T) {
	p := makePlan(t, bookworm(), "lts", plan.Request{Cards: []string{"ConnectX-3", "connectx-3"}})
	if p.Verdict != plan.Install || !slices.Equal(p.Cards, []string{"connectx-3"}) || !slices.Contains(codes(p.Warnings), "card-stated") {
		t.Errorf("%s %v %v", p.Summary, p.Cards, codes(p.Warnings))
	}
	if !strings.Contains(step(t, p, "modules-load").Changes.Files[0].Content, "\nmlx4_ib\n") {
		t.Error("the stated card's driver is not loaded at boot")
	}
	p = makePlan(t, bookworm(connectX5), "lts", plan.Request{Cards: []string{"connectx-3"}})
	if !slices.Equal(codes(p.Reasons), []string{"card-contradicted"}) {
		t.Errorf("%v", codes(p.Reasons))
	}
}

func TestFaultyRequests(t *testing.T) {
	for code, tc := range map[string]struct {
		profile string
		req     plan.Request
	}{
		"unknown-stack":         {"lts", plan.Request{Stack: "ofed5"}},
		"unknown-card":          {"lts", plan.Request{Cards: []string{"connectx-99"}}},
		"unknown-card empty":    {"lts", plan.Request{Cards: []string{"connectx-5", " "}}},
		"bad-netdev":            {"soft", plan.Request{Netdev: "a b"}},
		"bad-netdev newline":    {"soft", plan.Request{Netdev: "ens3\n"}},
		"bad-kernel slash":      {"inbox", plan.Request{Kernel: "../../etc"}},
		"bad-kernel dots":       {"inbox", plan.Request{Kernel: ".."}},
		"bad-kernel blank":      {"inbox", plan.Request{Kernel: "6.1.0 x"}},
		"bad-kernel newline":    {"inbox", plan.Request{Kernel: "6.1.0\n"}},
		"bad-kernel shell":      {"inbox", plan.Request{Kernel: "6.1.0;reboot"}},
		"bad-date month":        {"inbox", plan.Request{Date: "2026-13-01"}},
		"bad-date not real":     {"inbox", plan.Request{Date: "2026-02-30"}},
		"bad-date with a time":  {"inbox", plan.Request{Date: "2026-02-03T00:00:00Z"}},
		"bad-date another form": {"inbox", plan.Request{Date: "03.02.2026"}},
	} {
		_, err := plan.Make(bookworm(), profile(t, tc.profile), known(t), tc.req)
		var f *fault.Error
		want, _, _ := strings.Cut(code, " ")
		if fault.KindOf(err) != fault.Usage || !errors.As(err, &f) || f.Code != want || f.Hint == "" || !strings.Contains(err.Error(), "cannot plan") {
			t.Errorf("%s: %v", code, err)
		}
	}
	good := plan.Request{Kernel: "6.1.0-50-amd64", Date: "2024-02-29", Cards: []string{" ConnectX-5 "}, Netdev: "ens3"}
	if _, err := plan.Make(bookworm(), profile(t, "soft"), known(t), good); err != nil {
		t.Errorf("a good request: %v", err)
	}
	if _, err := plan.Make(bookworm(), profile(t, "inbox"), known(t), plan.Request{Netdev: "ens3"}); fault.KindOf(err) != fault.Usage {
		t.Errorf("--netdev without a device to put on it: %v", err)
	}
	if _, err := plan.Make(bookworm(), profiles.Profile{Name: "empty"}, known(t), plan.Request{}); fault.KindOf(err) != fault.Usage {
		t.Errorf("a profile without a stack: %v", err)
	}
}

func TestPreconditionsStop(t *testing.T) {
	for _, tc := range []struct {
		name string
		f    facts.Facts
		code string
		kind fault.Kind
	}{
		{"inbox", bookworm(halfConfigured), "broken-packages", fault.Stopped},
		{"inbox", bookworm(vendorPackages, ofedInfoOnly), "foreign-stack", fault.Stopped},
		{"soft", bookworm(vendorPackages), "foreign-stack", fault.Stopped},
		{"inbox", bookworm(inContainer), "container", fault.Refused},
		{"soft", bookworm(cloudKernel), "module-missing", fault.Refused},
		{"lts", bookworm(intelE810), "foreign-hardware", fault.Refused},
		{"soft", bookworm(noRoute, netdevs()), "no-netdev", fault.Refused},
	} {
		p := makePlan(t, tc.f, tc.name, plan.Request{})
		f := plan.Fault(p)
		if f == nil || f.Kind != tc.kind || f.Code != tc.code || f.Hint == "" {
			t.Errorf("%s: %+v", tc.code, f)
		}
	}
}

func TestRisksOfAProfileAreSaid(t *testing.T) {
	p := profile(t, "inbox")
	p.Memlock.Everyone = true
	p.Udev.UmadGroup = "rdma"
	got, err := plan.Make(bookworm(), p, known(t), plan.Request{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"memlock-everyone", "umad-group"} {
		if !slices.Contains(codes(got.Warnings), want) {
			t.Errorf("no %s in %v", want, codes(got.Warnings))
		}
	}
	if text := step(t, got, "memlock").Changes.Files[0].Content; !strings.Contains(text, "\n* - memlock unlimited\nroot - memlock unlimited\n") {
		t.Error(text)
	}
	if diff := cmp.Diff([]string{"infiniband_mad"}, step(t, got, "udev-reload").Changes.Subsystems); diff != "" {
		t.Error(diff)
	}
	twin := makePlan(t, bookworm(), "inbox", plan.Request{})
	if slices.Contains(codes(twin.Warnings), "memlock-everyone") || slices.Contains(stepIDs(twin), "udev-rules") {
		t.Errorf("without them: %v %v", codes(twin.Warnings), stepIDs(twin))
	}
}

func TestFilesOfAnotherProfileAreNamed(t *testing.T) {
	f := bookworm()
	f = carriedOut(f, makePlan(t, f, "soft", plan.Request{}))
	p := makePlan(t, f, "inbox", plan.Request{})
	if !slices.Contains(codes(p.Warnings), "other-profile-files") {
		t.Errorf("warnings %v", codes(p.Warnings))
	}
	f.Managed.Value["/etc/systemd/system/rdmactl-finish.service"] = "00" // of the tool itself, of no profile
	twin := makePlan(t, f, "soft", plan.Request{})
	if slices.Contains(codes(twin.Warnings), "other-profile-files") {
		t.Errorf("warnings %v", codes(twin.Warnings))
	}
}
