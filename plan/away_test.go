package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan"
)

// vendorKernel adds the vendor's modules: a package for DKMS, what it has built, and the module in memory.
func vendorKernel(f *facts.Facts) {
	installed(facts.Package{Name: "mlnx-ofed-kernel-dkms", Version: "24.10.OFED.24.10.1.1.4.1-1", Status: "install ok installed", Origin: "mlnx-ofed"})(f)
	f.Modules.DKMS = facts.Is([]facts.DKMSPackage{{Name: "mlnx-ofed-kernel", Version: "24.10.OFED.24.10.1.1.4.1", Origin: "mlnx-ofed"}}, "dkms status")
}

// orphan has modules in DKMS whose package is gone.
func orphan(f *facts.Facts) {
	f.Modules.DKMS = facts.Is([]facts.DKMSPackage{{Name: "mlnx-ofed-kernel", Version: "24.10.OFED.24.10.1.1.4.1", Origin: "mlnx-ofed"}}, "dkms status")
}

func repositories(list ...facts.Repository) change {
	return func(f *facts.Facts) { f.Packages.RepositoryList = facts.Is(list, "/etc/apt") }
}

func aptSource(file, url, stack string) facts.Repository {
	return facts.Repository{Kind: "apt", File: file, URL: url, Stack: stack, Enabled: true}
}

// restored are the packages that a plan gives back.
func restored(p plan.Plan) []string {
	var out []string
	for _, s := range p.Steps {
		for _, c := range s.Changes.Packages {
			if c.Action == "restore" {
				out = append(out, c.Name)
			}
		}
	}
	return out
}

func TestVendorStackIsGivenBack(t *testing.T) {
	const own, vendors = "/etc/apt/sources.list", "/etc/apt/sources.list.d/mlnx.list"
	debian := aptSource(own, "http://deb.example.com/debian", "inbox")
	for name, c := range map[string]struct {
		f        facts.Facts
		req      plan.Request
		profile  string
		verdict  plan.Verdict
		restored []string
		steps    []string // in this order
		without  []string
	}{
		"with its modules": {
			f: bookworm(connectX5, vendorPackages, vendorKernel), verdict: plan.Install, restored: []string{"libibverbs1", "mlnx-ofed-kernel-dkms", "ofed-scripts"},
			steps: []string{"packages", "leftovers", "initramfs", "activate"}, without: []string{"load-modules", "verify", "old-repository"},
		},
		"its user space alone, which needs no boot": {
			f: bookworm(connectX5, vendorPackages), verdict: plan.Install, restored: []string{"libibverbs1", "ofed-scripts"},
			steps: []string{"packages", "leftovers", "load-modules", "verify"}, without: []string{"initramfs", "activate"},
		},
		"in an image": {
			f: bookworm(connectX5, vendorPackages, vendorKernel, func(f *facts.Facts) { f.Origin, f.Kernel.Running = "root", false }), req: plan.Request{Root: "/srv/x", Activate: plan.ActivateNone},
			verdict: plan.Install, restored: []string{"libibverbs1", "mlnx-ofed-kernel-dkms", "ofed-scripts"}, steps: []string{"packages", "leftovers", "initramfs"}, without: []string{"activate", "verify"},
		},
		"with its repository": {
			f: bookworm(connectX5, vendorPackages, repositories(debian, aptSource(vendors, "https://example.com/mlnx_ofed/", "mlnx-ofed"))), verdict: plan.Install,
			restored: []string{"libibverbs1", "ofed-scripts"}, steps: []string{"packages", "leftovers", "old-repository"},
		},
		"whose repository stands beside others": {
			f: bookworm(connectX5, vendorPackages, repositories(debian, aptSource(own, "https://example.com/mlnx_ofed/", "mlnx-ofed"))), verdict: plan.Install,
			restored: []string{"libibverbs1", "ofed-scripts"}, without: []string{"old-repository"},
		},
		"half configured": {
			f: bookworm(connectX5, vendorPackages, func(f *facts.Facts) {
				half := facts.Package{Name: "mlnx-tools", Version: "24.10-0.2410068", Status: "install ok half-configured", Origin: "mlnx-ofed"}
				f.Packages.Broken = facts.Is([]facts.Package{half}, f.Packages.Broken.Source)
				installed(half)(f)
			}), verdict: plan.Install, restored: []string{"libibverbs1", "mlnx-tools", "ofed-scripts"}, steps: []string{"packages"},
		},
		"half configured, of somebody else": {f: bookworm(connectX5, vendorPackages, halfConfigured), verdict: plan.Refuse},
		"only what DKMS keeps": {
			f: bookworm(connectX5, orphan), verdict: plan.Install, steps: []string{"packages", "leftovers", "initramfs", "activate"},
		},
		"packages that were built from source": {
			f: bookworm(connectX5, installed(
				facts.Package{Name: "libibverbs1", Version: "56.1-1+rdmactl1", Status: "install ok installed", Origin: "inbox"},
				facts.Package{Name: "rdma-core", Version: "56.1-1+rdmactl1", Status: "install ok installed", Origin: "inbox"},
			)), verdict: plan.Install,
			restored: []string{"libibverbs1", "rdma-core"}, steps: []string{"packages", "load-modules", "verify"}, without: []string{"initramfs", "activate", "old-repository"},
		},
		"an inbox package of the same names is not the vendor's": {
			f: bookworm(connectX5, installed(facts.Package{Name: "libibverbs1", Version: "44.0-2", Status: "install ok installed", Origin: "inbox"})), verdict: plan.Install,
			without: []string{"leftovers", "initramfs", "activate"},
		},
		"a package of unknown origin that the vendor lists": {
			f: bookworm(connectX5, vendorPackages, installed(
				facts.Package{Name: "rshim", Version: "2.0.5", Status: "install ok installed", Origin: "unknown"},
				facts.Package{Name: "libfabric1", Version: "1.17", Status: "install ok installed", Origin: "unknown"},
				facts.Package{Name: "mpi-selector", Version: "1.0.3", Status: "install ok installed", Origin: "unknown"},
			)), verdict: plan.Install, restored: []string{"libibverbs1", "ofed-scripts", "rshim"},
		},
		"as the last resort of a profile": {f: bookworm(vendorPackages, connectX3), profile: "lts", verdict: plan.Refuse},
		"for a device of Soft-RoCE":       {f: bookworm(vendorPackages), profile: "soft", verdict: plan.Refuse},
		"on hold": {
			f: bookworm(connectX5, vendorPackages, func(f *facts.Facts) { f.Packages.Held = facts.Is([]string{"ofed-scripts"}, "dpkg") }), verdict: plan.Refuse,
		},
	} {
		t.Run(name, func(t *testing.T) {
			profile := c.profile
			if profile == "" {
				profile = "inbox"
			}
			p := makePlan(t, c.f, profile, c.req)
			if p.Verdict != c.verdict {
				t.Fatalf("%s: %s", p.Verdict, p.Summary)
			}
			if diff := cmp.Diff(c.restored, restored(p)); diff != "" {
				t.Errorf("(-want +restored):\n%s", diff)
			}
			ids := stepIDs(p)
			at := -1
			for _, id := range c.steps {
				i := slices.Index(ids, id)
				if i <= at {
					t.Errorf("step %s is not in its place: %q", id, ids)
				}
				at = i
			}
			for _, id := range c.without {
				if slices.Contains(ids, id) {
					t.Errorf("there is a step %s: %q", id, ids)
				}
			}
			if p.Verdict == plan.Install && plan.ByHand(p) != "" {
				t.Errorf("by hand: %s", plan.ByHand(p))
			}
			if slices.Contains(ids, "activate") != p.Reboot {
				t.Errorf("reboot is %t with steps %q", p.Reboot, ids)
			}
		})
	}
}

// The repositories that nothing is taken from are named, and of those that go the key that rdmactl laid down.
func TestOldRepositories(t *testing.T) {
	mirror := "http://mirror.example.com/a"
	f := bookworm(connectX5, vendorPackages, repositories(
		aptSource("/etc/apt/sources.list.d/debian.sources", "http://deb.example.com/debian", "inbox"),
		aptSource("/etc/apt/sources.list.d/rdmactl-mlnx-ofed.list", mirror, "unknown"),
	))
	p := makePlan(t, f, "inbox", plan.Request{})
	if diff := cmp.Diff([]string{mirror}, step(t, p, "packages").Changes.NotFrom); diff != "" {
		t.Error(diff)
	}
	want := []plan.FileChange{
		{Path: "/etc/apt/sources.list.d/rdmactl-mlnx-ofed.list", Action: "remove"}, {Path: "/etc/apt/keyrings/rdmactl-mlnx-ofed.asc", Action: "remove"},
	}
	if diff := cmp.Diff(want, step(t, p, "old-repository").Changes.Files); diff != "" {
		t.Error(diff)
	}
}

// After the stack has gone and before the boot there is nothing to take away, and nothing to load.
// The vendor's guides name the files, so a mirror is found whose address tells nothing; another's file stays.
func TestRepositoryByItsFile(t *testing.T) {
	removes := func(file string) bool {
		p := makePlan(t, bookworm(connectX5, vendorPackages, repositories(aptSource(file, "https://mirror.example.com/deb/rdma", ""))), "inbox", plan.Request{Stack: "inbox"})
		return slices.ContainsFunc(p.Steps, func(s plan.Step) bool {
			return s.ID == "old-repository" && slices.ContainsFunc(s.Changes.Files, func(c plan.FileChange) bool { return c.Path == file && c.Action == "remove" })
		})
	}
	for _, name := range []string{"mlnx_ofed.list", "mellanox_mlnx_ofed.sources", "doca.list"} {
		if !removes("/etc/apt/sources.list.d/" + name) {
			t.Errorf("%s stays", name)
		}
	}
	for _, name := range []string{"docker.list", "doca-apps.list", "mlnx_ofed_old.list"} {
		if removes("/etc/apt/sources.list.d/" + name) {
			t.Errorf("%s goes", name)
		}
	}
}

func TestGoneAndNotBooted(t *testing.T) {
	f := bookworm(connectX5, func(f *facts.Facts) {
		f.Modules.Loaded = facts.Is([]facts.LoadedModule{{Name: "mlx5_core", Version: facts.Is("24.10-1.1.4", "/sys/module/mlx5_core/version")}}, "/proc/modules")
		f.Modules.OnDisk = []facts.DiskModule{{Name: "mlx5_core", Path: facts.Is("/lib/modules/x/kernel/mlx5_core.ko", "modules.dep"), Origin: facts.Is("inbox", "modules.dep"), Version: facts.None[string]("modinfo")}}
	})
	p, err := plan.Uninstall(f, profile(t, "inbox"), known(t), plan.Request{Profile: "inbox"}, nil)
	if err != nil || p.Verdict != plan.NothingToDo || !strings.Contains(p.Summary, "until the next boot") {
		t.Fatalf("%s %s, %v", p.Verdict, p.Summary, err)
	}
	if p := makePlan(t, f, "inbox", plan.Request{}); p.Verdict != plan.Install || slices.Contains(stepIDs(p), "load-modules") || !p.Reboot {
		t.Errorf("inbox: %s, %q, %s", p.Verdict, stepIDs(p), p.Summary)
	}
	f.Modules.OnDisk[0].Origin = facts.Is("dkms", "modules.dep")
	f.Modules.OnDisk[0].Version = facts.Is("24.10-1.1.4", "modinfo")
	if p, err := plan.Uninstall(f, profile(t, "inbox"), known(t), plan.Request{Profile: "inbox"}, nil); err != nil || p.Verdict != plan.Refuse {
		t.Errorf("with modules on disk that nobody owns: %s %s, %v", p.Verdict, p.Summary, err)
	}
}

func TestUninstall(t *testing.T) {
	build := facts.BuiltLibrary{Prefix: "/opt/rdma-core/65.0", Path: "/opt/rdma-core/65.0/lib/libibverbs.so.1", Version: facts.Is("65.0", "name"), Active: facts.Is(true, "ldconfig")}
	aside := build
	aside.Active = facts.Is(false, "ldconfig")
	library := func(f *facts.Facts) {
		f.Userspace.Libibverbs = facts.Is([]facts.Libibverbs{{Path: "/usr/lib/x86_64-linux-gnu/libibverbs.so.1"}}, "ld.so")
	}
	for name, c := range map[string]struct {
		f       facts.Facts
		profile string
		builds  []facts.BuiltLibrary
		verdict plan.Verdict
		steps   string
	}{
		"nothing there":             {bookworm(), "inbox", nil, plan.NothingToDo, ""},
		"nothing there, and a card": {bookworm(connectX5), "inbox", nil, plan.NothingToDo, ""},
		"a build in use":            {bookworm(library), "inbox", []facts.BuiltLibrary{build}, plan.Install, "use remove-builds verify"},
		"a build beside":            {bookworm(library), "inbox", []facts.BuiltLibrary{aside}, plan.Install, "remove-builds verify"},
		"a build without the distribution's library": {
			bookworm(), "inbox", []facts.BuiltLibrary{build}, plan.Install, "packages modules-load memlock use remove-builds load-modules verify",
		},
		"a vendor's to nothing":        {bookworm(connectX5, vendorPackages), "none", nil, plan.Install, "packages leftovers verify"},
		"a vendor's and a build":       {bookworm(connectX5, vendorPackages, library), "none", []facts.BuiltLibrary{build}, plan.Install, "packages leftovers use remove-builds verify"},
		"a vendor's that nobody lists": {bookworm(connectX5, ofedInfo), "inbox", nil, plan.Refuse, ""},
	} {
		t.Run(name, func(t *testing.T) {
			to := plan.Nothing()
			if c.profile != "none" {
				to = profile(t, c.profile)
			}
			p, err := plan.Uninstall(c.f, to, known(t), plan.Request{Profile: c.profile}, c.builds)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(stepIDs(p), " "); p.Verdict != c.verdict || got != c.steps {
				t.Errorf("%s %q: %s", p.Verdict, got, p.Summary)
			}
		})
	}
}

// A person reads what goes, and a plan without it does not say so.
func TestWhatGoesIsShown(t *testing.T) {
	const place = "remove /etc/infiniband"
	if text := render(t, makePlan(t, bookworm(connectX5, vendorPackages), "inbox", plan.Request{}), false); !strings.Contains(text, place) || !strings.Contains(text, "restore libibverbs1") {
		t.Errorf("it says\n%s", text)
	}
	if text := render(t, makePlan(t, bookworm(connectX5), "inbox", plan.Request{}), false); strings.Contains(text, place) {
		t.Errorf("without the stack it says\n%s", text)
	}
}
