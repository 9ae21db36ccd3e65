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
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// bookwormBundle is Debian 12 with a bundle of MLNX_OFED at hand.
func bookwormBundle(t *testing.T, changes ...change) (facts.Facts, *matrix.Index) {
	t.Helper()
	f := host("12", "6.1.0-9-amd64", "bookworm", connectX5)
	f.Kernel.Headers = facts.Is("/usr/src/linux-headers-6.1.0-9-amd64", "/lib/modules/6.1.0-9-amd64/build")
	for _, c := range changes {
		c(&f)
	}
	held := matrix.Holding{
		Stack: "mlnx-ofed", Version: "24.10-2.1.8.0", ID: "debian", VersionID: "12.5", Arch: "x86_64", DKMS: true, Origin: "/srv/bundle.tgz",
		Packages: []matrix.HoldingPackage{{Name: "libibverbs1", Version: "2410mlnx54-1.2410068", Arch: "amd64", Bytes: 1000}, {Name: "mlnx-ofed-kernel-dkms", Version: "24.10.OFED.24.10.2.1.8.1-1", Arch: "all", Bytes: 1000}},
		File:     &matrix.HoldingFile{SHA256: strings.Repeat("a", 64), Folder: "B/DEBS", Repository: "B/DEBS", Proof: "sha256"},
	}
	merged, err := matrix.Merge(known(t).Matrix(), &matrix.Matrix{Holdings: []matrix.Holding{held}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := matrix.NewIndex(merged)
	if err != nil {
		t.Fatal(err)
	}
	return f, m
}

func scriptRequest() plan.Request {
	return plan.Request{
		Stack: "mlnx-ofed", Method: "vendor-script", Source: "/srv/bundle.tgz", Date: "2026-11-30",
		Installer: &plan.Installer{File: "/srv/bundle.tgz", SHA256: strings.Repeat("a", 64), Folder: "B", Entries: 3, Bytes: 3000, Version: "24.10-2.1.8.0", Proof: "sha256"},
	}
}

func TestVendorScriptCommand(t *testing.T) {
	place := plan.SourcesDir + "/" + strings.Repeat("a", 64) + "-whole/repository/mlnxofedinstall"
	inbox := func(f *facts.Facts) {
		installed(facts.Package{Name: "rdma-core", Version: "44.0-2", Status: "install ok installed", Origin: "inbox"})(f)
		installed(facts.Package{Name: "coreutils", Version: "9.1-1", Status: "install ok installed", Origin: "inbox"})(f)
	}
	for _, c := range []struct {
		name    string
		profile string
		changes []change
		ask     func(*plan.Request)
		want    string // arguments
	}{
		{"all", "lts", nil, nil, "--all --without-fw-update --without-mlnx-fw-updater --distro debian12.5 --kernel 6.1.0-9-amd64 --tmpdir {run}/tmp -q"},
		{"hpc", "hpc", nil, nil, "--hpc --without-fw-update --without-mlnx-fw-updater --distro debian12.5 --kernel 6.1.0-9-amd64 --tmpdir {run}/tmp -q"},
		{"firmware", "lts", nil, func(r *plan.Request) { r.Firmware = true }, "--all --distro debian12.5 --kernel 6.1.0-9-amd64 --tmpdir {run}/tmp -q"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, m := bookwormBundle(t, append(c.changes, inbox)...)
			req := scriptRequest()
			if c.ask != nil {
				c.ask(&req)
			}
			p, err := plan.Make(f, profile(t, c.profile), m, req)
			if err != nil || p.Verdict != plan.Install || p.Chosen.Method != "vendor-script" {
				t.Fatalf("%+v, %v", p.Summary, err)
			}
			s := step(t, p, "vendor-script")
			x := s.Changes.Script
			if got := strings.Join(x.Args, " "); got != c.want || x.Program != place || x.Force != "--force" {
				t.Errorf("%s %s %s", x.Program, got, x.Force)
			}
			gone := []string{}
			for _, p := range s.Changes.Packages {
				gone = append(gone, p.Action+" "+p.Name)
			}
			want := []string{"replace rdma-core"}
			if c.ask == nil {
				want = append(want, "exclude mlnx-fw-updater")
			}
			if diff := cmp.Diff(want, gone); diff != "" {
				t.Error(diff)
			}
			if !slices.Contains(x.Brings["libibverbs1"], "2410mlnx54-1.2410068") || slices.Contains(x.Args, "--without-depcheck") || slices.Contains(x.Args, "--force") {
				t.Errorf("%+v", x)
			}
			if !slices.Contains(codes(p.Warnings), "vendor-script") || slices.Contains(codes(p.Warnings), "firmware-burned") != req.Firmware {
				t.Errorf("the warnings are %v", codes(p.Warnings))
			}
			if next := p.Next[0].Command; !strings.Contains(next, "--method vendor-script") || strings.Contains(next, "--accept-eol") {
				t.Error(next)
			}
			if ids := stepIDs(p); slices.Contains(ids, "packages") || slices.Contains(ids, "repository") || slices.Contains(ids, "firmware") || !slices.Contains(ids, "initramfs") {
				t.Errorf("the steps are %v", ids)
			}
		})
	}
	// In an image without headers the installer takes the kernel that uname tells, which is the image's.
	f, m := bookwormBundle(t, func(f *facts.Facts) { f.Kernel.Headers = facts.None[string]("/lib/modules"); f.Origin = "root" })
	if p, err := plan.Make(f, profile(t, "lts"), m, scriptRequest()); err != nil || !slices.Contains(step(t, p, "vendor-script").Changes.Script.Args, "--kernel") {
		t.Errorf("DKMS brings the headers: %v", err)
	}
}

func TestVendorScriptRefused(t *testing.T) {
	f, m := bookwormBundle(t)
	other := scriptRequest()
	other.Installer.Version = "23.10-1.1.9.0"
	if _, err := plan.Make(f, profile(t, "lts"), m, other); fault.KindOf(err) != fault.Stopped || !strings.Contains(err.Error(), "that is 23.10-1.1.9.0") {
		t.Errorf("another release: %v", err)
	}
	doca := scriptRequest()
	doca.Stack, doca.Installer, doca.Source = "doca-ofed", nil, ""
	if p, err := plan.Make(f, profile(t, "lts"), m, doca); err != nil || p.Verdict != plan.Refuse || !slices.Contains(codes(p.Reasons), "method-not-offered") {
		t.Errorf("DOCA has no installer: %v, %v", codes(p.Reasons), err)
	}
	unproven := scriptRequest()
	unproven.Installer.Proof = ""
	p, err := plan.Make(f, profile(t, "lts"), m, unproven)
	if err != nil || !strings.Contains(step(t, p, "vendor-script").Why, "nothing proves the file yet") {
		t.Errorf("no proof: %v", err)
	}
	folder := scriptRequest()
	folder.Installer = &plan.Installer{Directory: "/srv/B", Version: "24.10-2.1.8.0"}
	p, err = plan.Make(f, profile(t, "lts"), m, folder)
	if s := step(t, p, "vendor-script"); err != nil || s.Changes.Script.Program != "/srv/B/mlnxofedinstall" || !strings.Contains(s.Why, "not where it is from") {
		t.Errorf("unpacked: %+v, %v", s, err)
	}
}

// el7 is RHEL 7.6 with a card that OFED 4.17-1 knows.
func el7(changes ...change) facts.Facts {
	f := rhel94(func(f *facts.Facts) {
		f.Distro.VersionID, f.Distro.PrettyName = facts.Is("7.6", "/etc/os-release"), facts.Is("RHEL 7.6", "os")
		f.Kernel.Release = facts.Is("3.10.0-957.el7.x86_64", "uname -r")
		f.Packages.Manager = facts.Is("yum", "os")
		for i := range f.PCI.Value {
			if d := &f.PCI.Value[i]; d.RDMACapable {
				d.Device, d.Generation = "1017", facts.Is("connectx-5", "ids")
			}
		}
	})
	for _, c := range changes {
		c(&f)
	}
	return f
}

func ofedRequest() plan.Request {
	return plan.Request{
		Stack: "ofed", Source: "/srv/OFED-4.17-1.tgz", Date: "2026-11-30",
		Installer: &plan.Installer{File: "/srv/OFED-4.17-1.tgz", SHA256: strings.Repeat("b", 64), Folder: "OFED-4.17-1", Entries: 9, Bytes: 9, Version: "4.17-1", Proof: "sha256"},
	}
}

func TestOFEDByItsInstaller(t *testing.T) {
	for name, want := range map[string]string{"lts": "--all --kernel 3.10.0-957.el7.x86_64", "hpc": "--hpc --kernel 3.10.0-957.el7.x86_64"} {
		has := func(name string) change {
			return installed(facts.Package{Name: name, Version: "1", Status: "install ok installed", Origin: "inbox"})
		}
		p := makePlan(t, el7(has("rdma-core"), has("libibverbs"), has("mpi-selector"), has("coreutils")), name, ofedRequest())
		if p.Verdict != plan.Install {
			t.Fatalf("%s: %s", name, p.Summary)
		}
		gone := []string{}
		for _, c := range step(t, p, "vendor-script").Changes.Packages {
			gone = append(gone, c.Action+" "+c.Name)
		}
		if diff := cmp.Diff([]string{"replace libibverbs", "replace rdma-core"}, gone); diff != "" {
			t.Error(diff)
		}
		x := step(t, p, "vendor-script").Changes.Script
		if got := strings.Join(x.Args, " "); got != want || x.Force != "" || !strings.HasSuffix(x.Program, "-whole/repository/install.pl") {
			t.Errorf("%s: %s %s %s", name, x.Program, got, x.Force)
		}
		if !strings.Contains(p.Next[0].Command, "--accept-eol") || strings.Contains(p.Next[0].Command, "--source BUNDLE") || !slices.Contains(codes(p.Warnings), "not-maintained") || !plan.NeedsConsent(p) {
			t.Errorf("%s: %s, %v", name, p.Next[0].Command, codes(p.Warnings))
		}
	}
	// What nobody documents for it is refused, and no consent changes that.
	card := func(device, generation string) change {
		return func(f *facts.Facts) {
			for i := range f.PCI.Value {
				if d := &f.PCI.Value[i]; d.RDMACapable {
					d.Device, d.Generation = device, facts.Is(generation, "ids")
				}
			}
		}
	}
	for name, c := range map[string]struct {
		facts facts.Facts
		code  string
	}{
		"Ubuntu":         {jammy(), "ofed-not-documented"},
		"RHEL 9.4":       {rhel94(card("1017", "connectx-5")), "ofed-not-documented"},
		"a ConnectX-7":   {el7(card("1021", "connectx-7")), "card-not-served"},
		"a BlueField-2":  {el7(card("a2d6", "bluefield-2")), "card-not-served"},
		"a ConnectX-6Dx": {el7(card("101d", "connectx-6-dx")), "card-not-served"},
	} {
		req := ofedRequest()
		req.AcceptEOL = true
		p := makePlan(t, c.facts, "lts", req)
		if p.Verdict != plan.Refuse || !slices.Contains(codes(p.Reasons), c.code) {
			t.Errorf("%s: %s, %v", name, p.Verdict, codes(p.Reasons))
		}
	}
	other := ofedRequest()
	other.Installer.Version = "4.8-2"
	var f *fault.Error
	if _, err := plan.Make(el7(), profile(t, "lts"), known(t), other); !errors.As(err, &f) || f.Code != "source-not-for-host" {
		t.Errorf("another release: %v", err)
	}
}
