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
)

// jammy is Ubuntu 22.04 with its first kernel, known headers and a ConnectX-5.
func jammy(changes ...change) facts.Facts {
	f := host("22.04", "5.15.0-25-generic", "jammy", connectX5)
	f.Distro.ID, f.Distro.PrettyName = facts.Is("ubuntu", "/etc/os-release"), facts.Is("Ubuntu 22.04 LTS", "/etc/os-release")
	f.Kernel.Flavour = facts.Is("generic", "uname -r")
	f.Kernel.Headers = facts.Is("/usr/src/linux-headers-5.15.0-25-generic", "/lib/modules/5.15.0-25-generic/build")
	f.Access.DefaultRouteDriver = facts.Is("virtio_net", "/sys/class/net/ens3")
	for _, c := range changes {
		c(&f)
	}
	return f
}

func withDOCA29(f *facts.Facts) {
	installed(facts.Package{Name: "doca-ofed", Version: "2.9.1-018000", Status: "install ok installed", Origin: "doca-ofed"})(f)
	f.Packages.OFEDInfo = facts.Is("OFED-internal-24.10-1.1.4", "ofed_info -s")
}

// A working host of a long-term branch keeps its release, although nothing documents it and newer ones exist.
func TestInstalledReleaseStays(t *testing.T) {
	day := plan.Request{Date: "2026-11-30"}
	p := makePlan(t, jammy(withDOCA29), "lts", day)
	if p.Verdict == plan.Refuse || p.Chosen.Stack != "doca-ofed" || p.Chosen.Version != "2.9.1" || !slices.Contains(codes(p.Reasons), "release-in-place") {
		t.Fatalf("%s: %+v, %v", p.Summary, p.Chosen, codes(p.Reasons))
	}
	for _, s := range p.Steps {
		if s.Kind == plan.KindPackages || s.Kind == plan.KindActivate {
			t.Errorf("the stack is in place and the plan has the step %s", s.ID)
		}
	}
	// The twins: asked to move, and a host without it.
	day.Stack, day.Upgrade = "doca-ofed", true
	if up := makePlan(t, jammy(withDOCA29), "lts", day); up.Chosen == nil || up.Chosen.Version == "2.9.1" || step(t, up, "packages").ID == "" {
		t.Errorf("--upgrade: %s", up.Summary)
	}
	if bare := makePlan(t, jammy(), "lts", plan.Request{Date: "2026-11-30"}); slices.Contains(codes(bare.Reasons), "release-in-place") {
		t.Errorf("nothing is in place: %v", codes(bare.Reasons))
	}
}

// A special drop is another release than the drop that its number starts like.
func TestSpecialDropIsAnotherRelease(t *testing.T) {
	has := func(info string) change {
		return func(f *facts.Facts) { f.Packages.OFEDInfo = facts.Is(info, "ofed_info -s") }
	}
	for info, want := range map[string]string{
		"MLNX_OFED_LINUX-24.10-1.1.4.0": "24.10-1.1.4.0", "MLNX_OFED_LINUX-24.10-1.1.4.0.105": "24.10-1.1.4.0.105",
	} {
		p := makePlan(t, jammy(has(info)), "lts", plan.Request{Stack: "mlnx-ofed", Date: "2026-11-30"})
		if p.Chosen == nil || p.Chosen.Version != want {
			t.Errorf("%s: chosen %+v, want %s", info, p.Chosen, want)
		}
	}
}

// What to type next asks for the same thing again.
func TestNextKeepsTheRequest(t *testing.T) {
	p := makePlan(t, jammy(), "lts", plan.Request{Stack: "doca-ofed", Version: "2.9.4", Matrix: []string{"my mirror.yaml"}, Keys: []string{"/root/vendor.asc"}, Date: "2026-11-30"})
	if p.Chosen == nil || p.Chosen.Version != "2.9.4" {
		t.Fatalf("%s", p.Summary)
	}
	for _, want := range []string{"--stack doca-ofed", "--version 2.9.4", "--matrix 'my mirror.yaml'", "--key /root/vendor.asc"} {
		if !strings.Contains(p.Next[0].Command, want) {
			t.Errorf("no %q in %q", want, p.Next[0].Command)
		}
	}
	// Nothing is promised that this version does not do.
	if !strings.HasPrefix(p.Next[0].Command, "sudo rdmactl install") || slices.Contains(codes(p.Warnings), "not-installable") {
		t.Errorf("%q, %v", p.Next, codes(p.Warnings))
	}
	rhel76 := rhel94(func(f *facts.Facts) {
		f.Distro.VersionID = facts.Is("7.6", "/etc/os-release")
		f.Kernel.Release = facts.Is("3.10.0-957.el7.x86_64", "uname -r")
		for i := range f.PCI.Value {
			if d := &f.PCI.Value[i]; d.RDMACapable {
				d.Device, d.Generation = "1017", facts.Is("connectx-5", "ids")
			}
		}
	})
	script := makePlan(t, rhel76, "lts", plan.Request{Stack: "ofed", Date: "2026-11-30"}) // its own install.pl is the only way
	if script.Verdict != plan.Install {
		t.Fatalf("by the vendor's script: %s", script.Summary)
	}
	if !strings.HasSuffix(script.Next[0].Command, "--stack ofed --accept-eol --source BUNDLE --sha256 DIGITS") || slices.Contains(codes(script.Warnings), "not-installable") {
		t.Errorf("%q, %v", script.Next, codes(script.Warnings))
	}
	if inbox := makePlan(t, jammy(), "inbox", plan.Request{}); !strings.HasPrefix(inbox.Next[0].Command, "sudo rdmactl install") || slices.Contains(codes(inbox.Warnings), "not-installable") {
		t.Errorf("%q, %v", inbox.Next, codes(inbox.Warnings))
	}
}

func TestHeadersComeWithTheTools(t *testing.T) {
	request := plan.Request{Stack: "doca-ofed", Date: "2026-11-30"}
	absent := func(f *facts.Facts) { f.Kernel.Headers = facts.None[string]("/lib/modules/5.15.0-25-generic/build") }
	names := func(p plan.Plan) []string {
		var out []string
		for _, c := range step(t, p, "build-tools").Changes.Packages {
			out = append(out, c.Name)
		}
		return out
	}
	const headers = "linux-headers-5.15.0-25-generic"
	if got := names(makePlan(t, jammy(absent), "lts", request)); !slices.Contains(got, headers) || !slices.Contains(got, "dkms") {
		t.Errorf("%q", got)
	}
	if got := names(makePlan(t, jammy(), "lts", request)); slices.Contains(got, headers) {
		t.Errorf("the headers are there and asked for: %q", got)
	}
}

func TestModulesThatAreBuiltHaveAStep(t *testing.T) {
	pages := jammy(func(f *facts.Facts) {
		f.Distro.ID, f.Distro.VersionID, f.Distro.Family = facts.Is("rhel", "os"), facts.Is("9.4", "os"), facts.Is("rhel", "os")
		f.Kernel.Release = facts.Is("5.14.0-427.13.1.el9_4.aarch64+64k", "uname -r")
		f.Kernel.Arch = facts.Is("aarch64", "uname -m")
		f.Packages.Manager = facts.Is("dnf", "os")
	})
	p := makePlan(t, pages, "lts", plan.Request{Stack: "mlnx-ofed", Date: "2026-11-30"})
	if p.Chosen == nil || p.Chosen.Modules != "built" {
		t.Fatalf("%s: %+v", p.Summary, p.Chosen)
	}
	order := stepIDs(p)
	if slices.Index(order, "build-modules") < 0 || slices.Index(order, "build-modules") > slices.Index(order, "packages") {
		t.Errorf("modules are built before the old packages go: %q", order)
	}
}

func TestSourceBuildsAsTheProfileSays(t *testing.T) {
	own := profile(t, "edge")
	build := *own.Build
	build.Version = "52.0"
	own.Build = &build
	p, err := plan.Make(jammy(), own, known(t), plan.Request{Date: "2026-11-30"})
	if err != nil {
		t.Fatal(err)
	}
	if p.Chosen == nil || p.Chosen.Stack != "rdma-core" || p.Chosen.Version != "52.0" {
		t.Fatalf("%s: %+v", p.Summary, p.Chosen)
	}
	// Without a word of the profile about it, it is built as profile edge does.
	edge := makePlan(t, jammy(), "edge", plan.Request{Date: "2026-11-30"})
	named := makePlan(t, jammy(), "lts", plan.Request{Stack: "rdma-core", Date: "2026-11-30"})
	if diff := cmp.Diff(step(t, edge, "build"), step(t, named, "build")); diff != "" || len(step(t, named, "build-tools").Changes.Packages) < 3 {
		t.Errorf("--stack rdma-core builds in another way than profile edge:\n%s", diff)
	}
}

func TestSoftRoCEIsForInbox(t *testing.T) {
	_, err := plan.Make(jammy(), profile(t, "soft"), known(t), plan.Request{Stack: "doca-ofed"})
	if fault.KindOf(err) != fault.Usage {
		t.Errorf("got %v", err)
	}
	if _, err := plan.Make(jammy(), profile(t, "soft"), known(t), plan.Request{Stack: "inbox"}); err != nil {
		t.Error(err)
	}
}

// A profile of long-term branches keeps to them when the stack is named.
func TestLongTermFirstAlsoWhenNamed(t *testing.T) {
	p := makePlan(t, jammy(), "lts", plan.Request{Stack: "doca-ofed", Date: "2026-11-30"})
	if p.Chosen == nil || !strings.HasPrefix(p.Chosen.Version, "3.2.") {
		t.Errorf("%s", p.Summary)
	}
	late := makePlan(t, jammy(), "latest", plan.Request{Stack: "doca-ofed", Date: "2026-11-30"})
	if late.Chosen == nil || strings.HasPrefix(late.Chosen.Version, "3.2.") {
		t.Errorf("latest: %s", late.Summary)
	}
}

// A source that has nothing for the host is no reason to go to the vendor's address instead.
func TestSourceOfAnotherSystem(t *testing.T) {
	ask := plan.Request{Stack: "doca-ofed", Version: "2.9.4", Date: "2026-11-30", Source: "/srv/doca-rhel9.rpm"}
	_, err := plan.Make(jammy(), profile(t, "lts"), known(t), ask)
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != "source-not-for-host" || !strings.Contains(err.Error(), "/srv/doca-rhel9.rpm") || !strings.Contains(err.Error(), "ubuntu 22.04") {
		t.Errorf("%v", err)
	}
	ask.Source = ""
	if p := makePlan(t, jammy(), "lts", ask); step(t, p, "repository").Changes.Repository.URL == "" {
		t.Error("without a source the plan has no repository")
	}
}

// Firmware is burned by a step of its own, only when asked for, and not where there is no card to burn.
func TestFirmware(t *testing.T) {
	ask := plan.Request{Stack: "doca-ofed", Version: "2.9.4", Date: "2026-11-30"}
	excluded := func(p plan.Plan) (out []string) {
		for _, c := range step(t, p, "packages").Changes.Packages {
			if c.Action == "exclude" {
				out = append(out, c.Name)
			}
		}
		return out
	}
	p := makePlan(t, jammy(), "lts", ask)
	updater := excluded(p)
	if len(updater) != 1 || slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.ID == "firmware" }) {
		t.Fatalf("not asked for: excluded are %v, steps %v", updater, stepKinds(p))
	}
	ask.Firmware = true
	p = makePlan(t, jammy(), "lts", ask)
	if s := step(t, p, "firmware"); len(s.Changes.Packages) != 1 || s.Changes.Packages[0].Name != updater[0] || s.Changes.Packages[0].Action != "install" || !strings.Contains(s.Undo, "the firmware stays") {
		t.Errorf("the step is %+v", s)
	}
	if len(excluded(p)) != 0 || !slices.Contains(codes(p.Warnings), "firmware-burned") || !strings.Contains(p.Next[0].Command, " --firmware") {
		t.Errorf("excluded %v, warnings %v, %q", excluded(p), codes(p.Warnings), p.Next[0].Command)
	}
	refused := func(f facts.Facts, req plan.Request) error {
		t.Helper()
		_, err := plan.Make(f, profile(t, "lts"), known(t), req)
		return err
	}
	image := jammy()
	image.Origin = "root"
	guest := jammy(func(f *facts.Facts) {
		for i := range f.PCI.Value {
			f.PCI.Value[i].VF = facts.Is(true, "/sys/bus/pci")
		}
	})
	for name, err := range map[string]error{
		"an image": refused(image, ask), "virtual functions only": refused(guest, ask),
		"inbox": refused(jammy(), plan.Request{Stack: "inbox", Firmware: true}), "rdma-core": refused(jammy(), plan.Request{Stack: "rdma-core", Firmware: true}),
	} {
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != "no-firmware-here" || f.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
