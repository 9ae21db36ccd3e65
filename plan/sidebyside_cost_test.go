package plan_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/profiles/matrix"
)

// sized are the host's own lists: each package that any stack's plan names has a file of 1000 bytes and takes
// 5000 on disk, but for what edit changes; what it removes is in the lists of nobody.
func sized(t *testing.T, f facts.Facts, name string, m *matrix.Index, req plan.Request, edit func(pkg string, p *facts.PackageSize) bool) facts.Facts {
	t.Helper()
	c := compared(t, f, name, m, req)
	var all []facts.PackageSize
	for _, s := range c.Stacks {
		for _, pkg := range s.Added {
			p := facts.PackageSize{Name: pkg, Version: "2", Download: facts.Is[int64](1000, "apt-cache show"), Installed: facts.Is[int64](5000, "apt-cache show")}
			if !slices.ContainsFunc(all, func(have facts.PackageSize) bool { return have.Name == pkg }) && (edit == nil || edit(pkg, &p)) {
				all = append(all, p)
			}
		}
	}
	f.Packages.Sizes = facts.Is(all, "apt-cache show")
	return f
}

func compared(t *testing.T, f facts.Facts, name string, m *matrix.Index, req plan.Request) plan.Comparison {
	t.Helper()
	c, err := plan.SideBySide(f, profile(t, name), m, req)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func stackOf(t *testing.T, c plan.Comparison, name string) plan.Compared {
	t.Helper()
	i := slices.IndexFunc(c.Stacks, func(s plan.Compared) bool { return s.Stack.Stack == name })
	if i < 0 {
		t.Fatalf("no stack %s", name)
	}
	return c.Stacks[i]
}

func wantAmount(t *testing.T, what string, a plan.Amount, want int64, scope plan.Scope) {
	t.Helper()
	if a.Value == nil || *a.Value != want || a.Scope != scope || a.Source == "" || a.Reason != "" {
		t.Errorf("%s: %s, want %d of %s", what, asText(t, a), want, scope)
	}
}

func wantUnknown(t *testing.T, what string, a plan.Amount, why string) {
	t.Helper()
	if a.Value != nil || !strings.Contains(a.Reason, why) {
		t.Errorf("%s: %s, want null because %q", what, asText(t, a), why)
	}
	if text := asText(t, a); !strings.Contains(text, `"value":null`) {
		t.Errorf("%s: %s has no null", what, text)
	}
}

func asText(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func day() plan.Request { return plan.Request{Date: "2026-11-30"} }

// The inbox stack costs the sum over the packages that the plan names; without the host's lists it costs
// nobody knows what, and never 0.
func TestCostOfInbox(t *testing.T) {
	m, bare := known(t), jammy()
	none := stackOf(t, compared(t, bare, "inbox", m, day()), "inbox")
	n := int64(len(none.Added))
	if n < 4 {
		t.Fatalf("%d packages", n)
	}
	wantUnknown(t, "no lists, download", none.Download, "nothing tells the size of")
	wantUnknown(t, "no lists, disk", none.Disk, "nothing tells the size of")

	all := stackOf(t, compared(t, sized(t, bare, "inbox", m, day(), nil), "inbox", m, day()), "inbox")
	wantAmount(t, "download", all.Download, n*1000, plan.ScopeNamed)
	wantAmount(t, "disk", all.Disk, n*5000, plan.ScopeNamed)
	if !strings.Contains(all.Download.Text, "--resolve") {
		t.Errorf("%q does not say that it is a part", all.Download.Text)
	}
	if all.Minutes.To == nil || *all.Minutes.To != 0 {
		t.Errorf("nothing is compiled: %+v", all.Minutes)
	}

	// What the host has in that version brings nothing; an older version is fetched.
	has := func(version string) plan.Compared {
		return stackOf(t, compared(t, sized(t, bare, "inbox", m, day(), func(name string, p *facts.PackageSize) bool {
			if name == none.Added[0] {
				p.Have = version
			}
			return true
		}), "inbox", m, day()), "inbox")
	}
	wantAmount(t, "one is there", has("2").Download, (n-1)*1000, plan.ScopeNamed)
	wantAmount(t, "one is there in another version", has("1").Download, n*1000, plan.ScopeNamed)

	// One without a size makes the sum a part, which is said and is no sum.
	lacks := stackOf(t, compared(t, sized(t, bare, "inbox", m, day(), func(name string, p *facts.PackageSize) bool {
		if name == none.Added[0] {
			p.Installed = facts.Field[int64]{Source: "apt-cache show", Error: "the package has no Installed-Size"}
		}
		return name != none.Added[1]
	}), "inbox", m, day()), "inbox")
	wantUnknown(t, "one is untold", lacks.Download, none.Added[1])
	wantUnknown(t, "two are untold", lacks.Disk, "the package has no Installed-Size")
}

// A package that no repository has is no reason to know nothing where it may be left out.
func TestCostLeavesOutWhatIsOptional(t *testing.T) {
	m, bare := known(t), jammy(func(f *facts.Facts) {
		f.Distro.ID, f.Distro.VersionID, f.Distro.Family = facts.Is("rhel", "os"), facts.Is("9.4", "os"), facts.Is("rhel", "os")
		f.Packages.Manager = facts.Is("dnf", "os")
		f.Kernel.Release = facts.Is("5.14.0-427.13.1.el9_4.x86_64", "uname -r")
		f.Kernel.Installed = facts.Is([]string{f.Kernel.Release.Value}, "/lib/modules")
	})
	req := day()
	req.Stack = "inbox"
	alone := makePlan(t, bare, "hpc", req)
	optional, needed := "", ""
	for _, p := range step(t, alone, "packages").Changes.Packages {
		if p.Optional {
			optional = p.Name
		} else {
			needed = p.Name
		}
	}
	if optional == "" || needed == "" {
		t.Fatal("the profile has no optional package, or no other")
	}
	without := func(absent string) plan.Amount {
		return stackOf(t, compared(t, sized(t, bare, "hpc", m, req, func(name string, p *facts.PackageSize) bool {
			if name == absent {
				p.Download, p.Installed = facts.None[int64]("apt-cache show"), facts.None[int64]("apt-cache show")
			}
			return true
		}), "hpc", m, req), "inbox").Download
	}
	n := int64(len(step(t, alone, "packages").Changes.Packages))
	wantAmount(t, "optional", without(optional), (n-1)*1000, plan.ScopeNamed)
	wantUnknown(t, "needed", without(needed), "no configured repository has it")
}

// A host that has it all costs 0, which is known.
func TestCostOfNothing(t *testing.T) {
	f := jammy()
	var have []facts.Package
	for _, p := range step(t, makePlan(t, f, "inbox", day()), "packages").Changes.Packages {
		have = append(have, facts.Package{Name: p.Name, Version: "1", Status: "install ok installed", Origin: "inbox"})
	}
	s := stackOf(t, compared(t, jammy(installed(have...)), "inbox", known(t), day()), "inbox")
	wantAmount(t, "download", s.Download, 0, plan.ScopeNothing)
	wantAmount(t, "disk", s.Disk, 0, plan.ScopeNothing)
}

// A build from source has the cost that was measured for its release, and no other's.
func TestCostOfSource(t *testing.T) {
	m, bare := known(t), jammy()
	at := func(version string, f facts.Facts) plan.Compared {
		return stackOf(t, compared(t, f, "edge", m, plan.Request{Date: "2026-11-30", Stack: "rdma-core", Version: version}), "rdma-core")
	}
	req := plan.Request{Date: "2026-11-30", Stack: "rdma-core", Version: "64.0"}
	full := sized(t, bare, "edge", m, req, nil)
	s := at("64.0", full)
	n := int64(len(s.Added))
	wantAmount(t, "disk of 64.0", s.Disk, 18_000_000+n*5000, plan.ScopeBuild)
	wantUnknown(t, "download of 64.0", s.Download, "no source tells the size of the archive")
	if s.Minutes.From == nil || *s.Minutes.From != 1 || *s.Minutes.To != 1 || !strings.Contains(s.Minutes.MeasuredOn, "64.0 on 2 cores") {
		t.Errorf("%s", asText(t, s.Minutes))
	}
	wantUnknown(t, "disk of 64.0 without lists", at("64.0", bare).Disk, "nothing tells the size of")
	// Its twin was not measured: the time is the span of those that were, with their names, the space is not known.
	other := at("60.0", full)
	wantUnknown(t, "disk of 60.0", other.Disk, "nobody measured")
	if m := other.Minutes; m.From == nil || *m.From != 1 || *m.To != 2 || !strings.Contains(m.MeasuredOn, "of 60.0 itself no source tells") {
		t.Errorf("%s", asText(t, m))
	}
}

// Soft-RoCE is planned on the distribution's stack alone: the others are judged, and have no cost, not even 0.
func TestCostOfWhatIsNotPlanned(t *testing.T) {
	m := known(t)
	c := compared(t, bookworm(), "soft", m, day())
	if c.Chosen != "inbox" {
		t.Fatalf("%s", c.Summary)
	}
	judged := 0
	for _, s := range c.Stacks {
		if s.Stack.Stack == "inbox" || s.Verdict == plan.StackRefused {
			continue
		}
		judged++
		wantUnknown(t, s.Stack.Stack, s.Download, "nothing is planned")
		wantUnknown(t, s.Stack.Stack, s.Disk, "nothing is planned")
		if s.Minutes.To != nil || s.Steps != 0 || len(s.Added) != 0 {
			t.Errorf("%s: %s, %d steps, adds %q", s.Stack.Stack, asText(t, s.Minutes), s.Steps, s.Added)
		}
	}
	if judged == 0 {
		t.Error("every other stack is refused: the test sees nothing")
	}
}

// withHolding is the matrix with a repository at hand for the host jammy.
func withHolding(t *testing.T, packages ...matrix.HoldingPackage) *matrix.Index {
	t.Helper()
	base, err := matrix.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	m, err := matrix.Merge(base, &matrix.Matrix{Holdings: []matrix.Holding{{
		Stack: "doca-ofed", Version: "2.9.1", ID: "ubuntu", VersionID: "22.04", Arch: "x86_64", DKMS: true,
		Origin: "https://mirror.example/doca", Date: "2026-11-30T00:00:00Z", Packages: packages,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	x, err := matrix.NewIndex(m)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// A vendor's packages have the size that an import tells; without one, and where the import lacks sizes,
// nobody knows it: the set that a plan names is an empty package.
func TestCostOfVendor(t *testing.T) {
	req := plan.Request{Date: "2026-11-30", Stack: "doca-ofed", Version: "2.9.1"}
	set := matrix.HoldingPackage{Name: "doca-ofed", Version: "2.9.1-0.1.6", Arch: "amd64", Bytes: 900, Installed: 1024}
	driver := matrix.HoldingPackage{Name: "mlnx-ofed-kernel-dkms", Version: "24.10", Arch: "all", Bytes: 2_000_000, Installed: 30_000_000}
	cost := func(m *matrix.Index, edit func(string, *facts.PackageSize) bool) plan.Compared {
		return stackOf(t, compared(t, sized(t, jammy(), "lts", m, req, edit), "lts", m, req), "doca-ofed")
	}
	whole := cost(withHolding(t, set, driver), nil)
	rest := int64(0)
	for _, name := range whole.Added {
		if name != set.Name && name != driver.Name {
			rest++
		}
	}
	wantAmount(t, "download", whole.Download, 2_000_900+rest*1000, plan.ScopeHeld)
	wantAmount(t, "disk", whole.Disk, 30_001_024+rest*5000, plan.ScopeHeld)
	if whole.Minutes.To != nil || whole.Minutes.Reason == "" {
		t.Errorf("no source tells a time of DOCA: %s", asText(t, whole.Minutes))
	}
	driver.Installed = 0
	part := cost(withHolding(t, set, driver), nil)
	wantAmount(t, "download of an import without installed sizes", part.Download, 2_000_900+rest*1000, plan.ScopeHeld)
	wantUnknown(t, "disk of an import without installed sizes", part.Disk, "1 of its 2 packages")

	none := cost(known(t), nil)
	wantUnknown(t, "download without an import", none.Download, "matrix import")
	wantUnknown(t, "disk without an import", none.Disk, "matrix import")

	// What a vendor's page says is told as such, and is no size of a download.
	req.Stack, req.Version = "mlnx-ofed", "24.10-1.1.4.0"
	stated := stackOf(t, compared(t, jammy(), "lts", known(t), req), "mlnx-ofed")
	wantAmount(t, "disk of MLNX_OFED", stated.Disk, 1_000_000_000, plan.ScopeRequired)
	wantUnknown(t, "download of MLNX_OFED", stated.Download, "no source tells a size")
	if stated.Compiles && (stated.Minutes.From != nil || stated.Minutes.To == nil || *stated.Minutes.To != 12 || !strings.Contains(stated.Minutes.Source, "network-operator/pull/318")) {
		t.Errorf("%s", asText(t, stated.Minutes))
	}
}

// The table fits 80 columns but for addresses, which stay whole to be copied.
func TestComparisonIsNarrow(t *testing.T) {
	m := known(t)
	c := compared(t, sized(t, jammy(), "lts", m, day(), nil), "lts", m, day())
	var text strings.Builder
	if err := plan.RenderComparison(&text, c, false); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		line = strings.TrimRight(line, "\n")
		if utf8.RuneCountInString(line) > 80 && !strings.Contains(line, "://") && strings.Contains(strings.TrimSpace(line), " ") {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
	for _, want := range []string{"DOWNLOAD", "DISK", "COMPILE", "MiB+", "?", "released: ", "download: ", "disk: not known: "} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
}
