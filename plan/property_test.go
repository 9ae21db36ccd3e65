package plan_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/internal/version"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/profiles"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// generated is a host drawn from distributions, kernels, architectures, cards, installed stacks and ways to
// reach it.
type generated struct {
	facts facts.Facts
	card  string // generation, empty for none
	route string // driver of the default route
}

type system struct {
	id, version, family, manager string
	kernels                      []string
}

func systems() []system {
	return []system{
		{"debian", "11", "debian", "apt", []string{"5.10.0-32-amd64"}},
		{"debian", "12", "debian", "apt", []string{"6.1.0-50-amd64", "6.1.0-50-cloud-amd64"}},
		{"debian", "13", "debian", "apt", []string{"6.12.117+deb13-amd64"}},
		{"ubuntu", "18.04", "debian", "apt", []string{"4.15.0-20-generic"}},
		{"ubuntu", "20.04", "debian", "apt", []string{"5.4.0-26-generic", "5.14.0-rc5"}},
		{"ubuntu", "22.04", "debian", "apt", []string{"5.15.0-25-generic", "6.8.0-1018-azure"}},
		{"ubuntu", "24.04", "debian", "apt", []string{"6.8.0-31-generic", "6.11.0-1003-nvidia-64k"}},
		{"rhel", "7.3", "rhel", "yum", []string{"3.10.0-514.el7.x86_64"}},
		{"rhel", "7.9", "rhel", "yum", []string{"3.10.0-1160.el7.x86_64"}},
		{"rhel", "8.10", "rhel", "dnf", []string{"4.18.0-553.el8_10.x86_64", "4.18.0-553.40.1.el8_10.x86_64"}},
		{"rhel", "9.4", "rhel", "dnf", []string{"5.14.0-427.13.1.el9_4.x86_64"}},
		{"rocky", "8.5", "rhel", "dnf", []string{"4.18.0-348.el8.0.2.x86_64"}},
		{"ol", "8.6", "rhel", "dnf", []string{"5.4.17-2136.307.3.el8uek.x86_64"}},
		{"sles", "15.4", "suse", "zypper", []string{"5.14.21-150400.22-default"}},
		{"openEuler", "22.03", "rhel", "dnf", []string{"5.10.0-60.18.0.50.oe2203.x86_64"}},
	}
}

// devices are PCI ids by generation.
func devices() map[string]string {
	return map[string]string{
		"connectx-3": "1003", "connect-ib": "1011", "connectx-4": "1013", "connectx-4-lx": "1015", "connectx-5": "1017",
		"connectx-6": "101b", "connectx-6-dx": "101d", "connectx-7": "1021", "connectx-8": "1023", "bluefield-2": "a2d6", "bluefield-3": "a2dc",
	}
}

func generate(r *rand.Rand) generated {
	s := pickOne(r, systems())
	kernel := pickOne(r, s.kernels)
	f := host(s.version, kernel, "")
	f.Distro.ID, f.Distro.Family = facts.Is(s.id, "/etc/os-release"), facts.Is(s.family, "/etc/os-release")
	f.Distro.Codename, f.Distro.PrettyName = facts.None[string]("/etc/os-release"), facts.Is(s.id+" "+s.version, "/etc/os-release")
	f.Kernel.Arch = facts.Is(pickOne(r, []string{"x86_64", "x86_64", "aarch64"}), "uname -m")
	f.Kernel.Flavour = facts.Field[string]{}
	switch r.IntN(3) {
	case 0:
		f.Kernel.Headers = facts.Is("/usr/src/linux", "/lib/modules/build")
	case 1:
		f.Kernel.Headers = facts.None[string]("/lib/modules/build")
	}
	if r.IntN(6) == 0 {
		f.Kernel.Config.Value["MLX5_CORE"], f.Kernel.Config.Value["MLX4_CORE"] = "y", "y"
	}
	f.Packages.Manager = facts.Is(s.manager, "/usr/bin")
	g := generated{route: "virtio_net"}
	cards := append([]string{""}, slices.Sorted(keys(devices()))...)
	if g.card = pickOne(r, cards); g.card != "" {
		driver, rdma, provider := "mlx5_core", "mlx5_ib", "mlx5"
		if g.card == "connectx-3" {
			driver, rdma, provider = "mlx4_core", "mlx4_ib", "mlx4"
		}
		function(facts.PCIDevice{
			Address: "0000:3b:00.0", Vendor: "15b3", Device: devices()[g.card], Class: "0207", Generation: facts.Is(g.card, "ids"),
			VF: facts.Is(r.IntN(5) == 0, "ids"), RDMACapable: true, WantsDriver: driver, WantsRDMADriver: rdma, WantsProvider: provider,
		})(&f)
		if r.IntN(2) == 0 {
			g.route = driver
		}
	}
	f.Access.DefaultRouteDriver = facts.Is(g.route, "/sys/class/net")
	switch r.IntN(5) {
	case 0:
		installed(facts.Package{Name: "libibverbs1", Version: "44.0-2", Status: "install ok installed", Origin: "inbox"},
			facts.Package{Name: "rdma-core", Version: "44.0-2", Status: "install ok installed", Origin: "inbox"})(&f)
	case 1:
		vendorPackages(&f)
		f.Packages.OFEDInfo = facts.Is("MLNX_OFED_LINUX-24.10-1.1.4.0", "ofed_info -s")
	case 2:
		installed(facts.Package{Name: "doca-ofed", Version: "2.9.1-018000", Status: "install ok installed", Origin: "doca-ofed"})(&f)
		f.Packages.OFEDInfo = facts.Is("OFED-internal-24.10-1.1.4", "ofed_info -s")
	}
	g.facts = f
	return g
}

func pickOne[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func keys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// TestPlansOfGeneratedHosts holds what must be true of every plan, whatever the host.
func TestPlansOfGeneratedHosts(t *testing.T) {
	m := known(t)
	names, err := profiles.List()
	if err != nil {
		t.Fatal(err)
	}
	var all []profiles.Profile
	for _, name := range names {
		all = append(all, profile(t, name))
	}
	var requests []plan.Request
	for _, stack := range append([]string{""}, plan.StackNames()...) {
		requests = append(requests, plan.Request{Stack: stack})
	}
	hosts := 200
	if testing.Short() {
		hosts = 60
	}
	r := rand.New(rand.NewPCG(3, 141))
	chosen := map[string]int{}
	for n := range hosts {
		g := generate(r)
		p := all[n%len(all)]
		for _, req := range requests {
			if p.SoftRoCE != nil && req.Stack != "" && req.Stack != "inbox" {
				continue // refused as a faulty request
			}
			got, err := plan.Make(g.facts, p, m, req)
			if err != nil {
				t.Fatal(err)
			}
			again, err := plan.Make(g.facts, p, m, req)
			if err != nil || len(plan.Compare(got, again)) > 0 {
				t.Errorf("not the same twice: %v", err)
			}
			where := g.facts.Distro.PrettyName.Value + " " + g.facts.Kernel.Release.Value + " " + g.card + " profile " + p.Name + " stack " + req.Stack
			holds(t, where, m, g, req, got)
			if got.Verdict != plan.Install {
				continue
			}
			chosen[got.Chosen.Stack]++
			after := applied(g.facts, m, got)
			second, err := plan.Make(after, p, m, req)
			if err != nil {
				t.Fatal(err)
			}
			if second.Verdict != plan.NothingToDo {
				t.Errorf("%s: after the plan for %s %s: %s %q\n%s", where, got.Chosen.Stack, got.Chosen.Version, second.Verdict, stepIDs(second), second.Summary)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	for _, stack := range []string{"inbox", "rdma-core", "mlnx-ofed", "doca-ofed"} {
		if chosen[stack] < hosts/20 {
			t.Errorf("%s was chosen %d times only: the hosts do not test it (%v)", stack, chosen[stack], chosen)
		}
	}
}

func holds(t *testing.T, where string, m *matrix.Index, g generated, req plan.Request, p plan.Plan) {
	t.Helper()
	if p.Verdict == plan.Refuse {
		if len(p.Steps) > 0 || len(p.Reasons) == 0 {
			t.Errorf("%s: a refusal with %d steps and %d reasons", where, len(p.Steps), len(p.Reasons))
		}
		return
	}
	c := p.Chosen
	inPlace := slices.Contains(codes(p.Reasons), "release-in-place")
	if req.Stack == "" && c.Stack != "inbox" && !inPlace && !slices.Contains([]plan.Status{plan.Supported, plan.Community, plan.Present}, c.Status) {
		t.Errorf("%s: %s %s was chosen by itself with status %s", where, c.Stack, c.Version, c.Status)
	}
	vendor := c.Stack == "mlnx-ofed" || c.Stack == "doca-ofed"
	if vendor && g.card != "" && !served(t, m, c.Stack, c.Version, g.card) {
		t.Errorf("%s: %s %s does not serve %s", where, c.Stack, c.Version, g.card)
	}
	for _, s := range p.Steps {
		if s.Kind == plan.KindActivate && strings.HasPrefix(g.route, "mlx") && !s.Reboot {
			t.Errorf("%s: modules are unloaded live under the default route", where)
		}
		for _, change := range s.Changes.Packages {
			if change.Action == "install" && vendor && slices.Contains([]string{"rdma-core", "libibverbs1", "libibverbs", "ibverbs-providers"}, change.Name) {
				t.Errorf("%s: %s of the distribution is installed with %s", where, change.Name, c.Stack)
			}
			if change.Action == "install" && !vendor && (strings.HasPrefix(change.Name, "mlnx-") || strings.HasPrefix(change.Name, "doca-")) {
				t.Errorf("%s: %s is installed with %s", where, change.Name, c.Stack)
			}
		}
	}
}

// served says by the matrix alone whether a release serves a card.
func served(t *testing.T, m *matrix.Index, stack, text, card string) bool {
	t.Helper()
	release, ok := m.Find(stack, text)
	if !ok {
		return false
	}
	v, err := version.ParseStack(release.Version)
	if err != nil {
		t.Fatal(err)
	}
	rules := m.Card(stack, card)
	for _, rule := range rules {
		if m.Meets(rule.Allowed, v) {
			return true
		}
	}
	return len(rules) == 0 && (len(release.Cards) == 0 || slices.Contains(release.Cards, card))
}

// applied is the host after the plan was carried out, and has booted where that is needed.
func applied(f facts.Facts, m *matrix.Index, p plan.Plan) facts.Facts {
	if p.Chosen.Stack == "inbox" {
		return carriedOut(f, p)
	}
	var left []facts.Package
	gone := map[string]bool{}
	for _, s := range p.Steps {
		for _, change := range s.Changes.Packages {
			gone[change.Name] = gone[change.Name] || change.Action == "replace" || change.Action == "remove" || change.Action == "upgrade"
		}
	}
	for _, have := range f.Packages.Installed.Value {
		if !gone[have.Name] {
			left = append(left, have)
		}
	}
	f.Packages.Installed = facts.Is(left, "/var/lib/dpkg/status")
	replaced := false
	for i := range p.Steps {
		s := p.Steps[i]
		if s.Kind == plan.KindPackages && s.ID == "packages" {
			replaced = true
		}
		if s.Kind == plan.KindBuild && p.Chosen.Stack == "rdma-core" {
			f.Userspace.Libibverbs = facts.Is([]facts.Libibverbs{{Path: s.Changes.Build.Prefix + "/lib/libibverbs.so.1"}}, "ld.so")
		}
		if s.Kind == plan.KindBuild && p.Chosen.Stack == "ofed" {
			f.Packages.OFEDInfo = facts.Is("OFED-"+p.Chosen.Version, "ofed_info -s")
		}
	}
	// The executor of files is the same for every stack.
	files := p
	files.Steps = slices.DeleteFunc(slices.Clone(p.Steps), func(s plan.Step) bool { return s.Kind == plan.KindPackages || s.Kind == plan.KindActivate })
	f = carriedOut(f, files)
	if replaced {
		release, _ := m.Find(p.Chosen.Stack, p.Chosen.Version)
		info := "MLNX_OFED_LINUX-" + release.Version
		if p.Chosen.Stack == "doca-ofed" {
			info = "OFED-internal-" + release.Driver
		}
		f.Packages.OFEDInfo = facts.Is(info, "ofed_info -s")
		installed(facts.Package{Name: strings.Replace(p.Chosen.Stack, "mlnx-ofed", "mlnx-ofed-all", 1), Version: release.Version, Status: "install ok installed", Origin: p.Chosen.Stack})(&f)
	}
	return f
}
