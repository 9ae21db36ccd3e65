package install

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// files are the programs that copy, compare and remove, on the files of the host. A tree goes file by file.
func (h *fakeHost) files(res host.Result, argv []string) (host.Result, error) {
	argv = slices.Clone(argv)
	for i, word := range argv {
		if strings.HasPrefix(word, "/") {
			argv[i] = h.path(word)
		}
	}
	last := argv[len(argv)-1]
	if argv[0] == "rm" {
		var all []string
		err := filepath.WalkDir(last, func(p string, _ fs.DirEntry, err error) error {
			if err == nil {
				all = append(all, p)
			}
			return nil
		})
		if err != nil {
			return res, err
		}
		for _, p := range slices.Backward(all) {
			if err := os.Remove(p); err != nil {
				return res, err
			}
			h.tick()
		}
		return res, nil
	}
	err := exec.Command(argv[0], argv[1:]...).Run()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		return res, err
	}
	if err != nil {
		res.Exit = 1
	}
	return res, nil
}

// without is a database without what is foreseen to be gone.
func (m *fakeManager) without(db map[string]pkgmgr.Package) map[string]pkgmgr.Package {
	out := map[string]pkgmgr.Package{}
	for key, p := range db {
		if !slices.Contains(m.gone, key) {
			out[key] = p
		}
	}
	return out
}

// removals adds what is asked to go, and what depends on it and gets nothing in its place.
func (m *fakeManager) removals(db fakeDB, names []string, asked map[string]string, sol *plan.Solution) {
	goes := slices.Clone(names)
	for i := 0; i < len(goes); i++ {
		p, ok := db.Packages[goes[i]+":amd64"]
		if !ok || p.Status == pkgmgr.ConfigFiles {
			continue
		}
		sol.Actions = append(sol.Actions, plan.ResolvedPackage{Name: p.Name, Arch: "amd64", From: p.Version, Action: "remove"})
		for _, q := range db.Packages {
			if q.Status == pkgmgr.Installed && asked[q.Name] == "" && slices.Contains(m.repo[q.Name].needs, p.Name) && !slices.Contains(goes, q.Name) {
				goes = append(goes, q.Name)
			}
		}
	}
}

func (m *fakeManager) Without(files []string) pkgmgr.Staging {
	out := *m
	out.repo, out.leaves = map[string]fakeRepo{}, true
	for name, p := range m.repo {
		if p.own != "" { // the vendor's offers were in those files
			p.version = p.own
		}
		out.repo[name] = p
	}
	return &out
}

func (m *fakeManager) After(_ context.Context, dir string, gone []string) (pkgmgr.Manager, error) {
	out := *m
	out.gone = gone
	return &out, nil
}

func (m *fakeManager) Versions(_ context.Context, names []string) (map[string][]pkgmgr.Offer, error) {
	all := map[string][]pkgmgr.Offer{}
	for _, n := range names {
		p, ok := m.offers()[n]
		if ok && p.own != p.version {
			repository := "http://distribution"
			if p.own != "" {
				repository = "http://vendor/"
			}
			all[n] = append(all[n], pkgmgr.Offer{Version: p.version, Repository: repository})
		}
		if p.own != "" && p.own != "none" {
			all[n] = append(all[n], pkgmgr.Offer{Version: p.own, Repository: "http://distribution"})
		}
	}
	return all, nil
}

// migrationPlan goes back from a vendor's stack.
func migrationPlan() plan.Plan {
	return plan.Plan{
		Schema: plan.Schema, Verdict: plan.Install, Summary: "back to the distribution's stack", Warnings: []plan.Reason{}, Reboot: true,
		Steps: []plan.Step{
			{ID: "packages", Kind: plan.KindPackages, Summary: "restore", Changes: plan.Changes{
				Packages: []plan.PackageChange{{Name: "lib", Action: "restore"}, {Name: "scripts", Action: "restore", Optional: true}, {Name: "alpha", Action: "install"}},
				NotFrom:  []string{"http://vendor"},
			}},
			{ID: plan.LeftoversStep, Kind: plan.KindRemove, Summary: "leftovers", Changes: plan.Changes{Trees: []string{"/etc/infiniband", "/usr/src/ofa_kernel", "/etc/not-there"}}},
			{ID: plan.OldRepositoryStep, Kind: plan.KindFiles, Summary: "repository", Changes: plan.Changes{Files: []plan.FileChange{{Path: "/etc/apt/sources.list.d/vendor.list", Action: "remove"}}}},
			{ID: "initramfs", Kind: plan.KindInitramfs, Summary: "initramfs", Changes: plan.Changes{Kernel: "6.1.0-9-amd64"}},
			{ID: "activate", Kind: plan.KindActivate, Summary: "at the next boot", Reboot: true},
		},
	}
}

// releasePlan removes an old release before the new one comes.
func releasePlan(fingerprint string) plan.Plan {
	return plan.Plan{
		Schema: plan.Schema, Verdict: plan.Install, Summary: "another release", Warnings: []plan.Reason{}, Reboot: true,
		Steps: []plan.Step{
			{ID: "repository", Kind: plan.KindRepository, Summary: "vendor", Changes: plan.Changes{Repository: &plan.RepositoryChange{
				URL: "https://vendor.example.com/repo/", File: "/etc/repos.d/rdmactl-vendor.list", Fingerprint: fingerprint,
			}}},
			{ID: plan.RemovalStep, Kind: plan.KindPackages, Summary: "remove", Changes: plan.Changes{
				Packages: []plan.PackageChange{{Name: "lib", Action: "remove"}, {Name: "scripts", Action: "remove"}},
			}},
			{ID: "packages", Kind: plan.KindPackages, Summary: "install", Changes: plan.Changes{Packages: []plan.PackageChange{{Name: "vendor", Action: "install"}}}},
			{ID: plan.OldRepositoryStep, Kind: plan.KindFiles, Summary: "repository", Changes: plan.Changes{Files: []plan.FileChange{{Path: "/etc/apt/sources.list.d/vendor.list", Action: "remove"}}}},
			{ID: "initramfs", Kind: plan.KindInitramfs, Summary: "initramfs", Changes: plan.Changes{Kernel: "6.1.0-9-amd64"}},
		},
	}
}

// migrationBench has a vendor's stack, with a key for another release of it.
func migrationBench(t *testing.T, key string) *bench {
	t.Helper()
	b := vendorBench(t, key)
	b.env.Paths.Inside = "/var/lib/rdmactl"
	b.m.repo["lib"] = fakeRepo{version: "9-2410mlnx54", own: "44.0-2"}
	b.m.repo["scripts"] = fakeRepo{version: "24.10", own: "none"}
	b.m.repo["vendor"] = fakeRepo{version: "25.04", needs: []string{"lib", "driver"}, vendor: true}
	db := b.m.load()
	for _, p := range []pkgmgr.Package{
		{Name: "lib", Arch: "amd64", Version: "9-2410mlnx54", Status: pkgmgr.Installed},
		{Name: "scripts", Arch: "amd64", Version: "24.10", Status: pkgmgr.Installed},
	} {
		db.Packages[p.Key()] = p
	}
	db.Auto["lib"] = true
	b.m.store(db)
	b.h.put("/etc/infiniband/openib.conf.rpmsave", "ONBOOT=yes\n")
	b.h.put("/etc/infiniband/deep/info", "x\n")
	b.h.put("/usr/src/ofa_kernel/x86_64/6.1.0-9-amd64/Module.symvers", "0x1\n")
	b.h.put("/etc/apt/sources.list.d/vendor.list", "deb http://vendor/ ./\n")
	return b
}

func (b *bench) starts(p plan.Plan) (RunReport, error) {
	return Start(context.Background(), b.env, p, b.opts)
}

// What must come from the distribution stops the run where no repository has it: no host is left without a stack.
func TestMigrationNeedsTheDistribution(t *testing.T) {
	b := migrationBench(t, "")
	before := b.h.tree()
	p := migrationPlan()
	p.Steps[0].Changes.Packages[1].Optional = false
	rep, err := b.starts(p)
	wantKind(t, err, fault.Stopped, "scripts", "no repository has it")
	if rep.Changed {
		t.Errorf("%+v", rep)
	}
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("something was changed (-before +after):\n%s", diff)
	}
}

func TestMigrationAndBack(t *testing.T) {
	b := migrationBench(t, "")
	before := b.h.tree()
	rep, err := b.starts(migrationPlan())
	if err != nil || rep.Verdict != VerdictDone || !rep.RebootRequired {
		t.Fatalf("%+v, %v", rep, err)
	}
	db := b.m.load()
	for name, want := range map[string]string{"lib": "44.0-2", "scripts": "", "alpha": "2.0", "beta": "1.0", "tool": "1.0"} {
		if got := db.Packages[name+":amd64"].Version; got != want {
			t.Errorf("package %s is %q, want %q", name, got, want)
		}
	}
	if !db.Auto["lib"] || db.Auto["alpha"] {
		t.Errorf("the marks are %v", db.Auto)
	}
	for _, gone := range []string{"/etc/infiniband", "/usr/src/ofa_kernel", "/etc/apt/sources.list.d/vendor.list"} {
		if _, err := os.Lstat(b.h.path(gone)); err == nil {
			t.Errorf("%s is there", gone)
		}
	}
	if again, err := b.starts(migrationPlan()); err != nil || again.Changed {
		t.Errorf("a second run: %+v, %v", again, err)
	}
	if rep, err := b.rollback(); err != nil || rep.RebootRequired { // of modules that no boot has loaded
		t.Fatalf("%+v, %v", rep, err)
	}
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("rolled back (-before +after):\n%s", diff)
	}
}

// TestRollbackAfterTheBoot: the modules of the run are in memory until the next boot.
func TestRollbackAfterTheBoot(t *testing.T) {
	b := migrationBench(t, "")
	if _, err := b.starts(migrationPlan()); err != nil {
		t.Fatal(err)
	}
	b.reboot()
	if rep, err := b.rollback(); err != nil || !rep.RebootRequired {
		t.Fatalf("%+v, %v", rep, err)
	}
}

// What someone made in a place that the run emptied is someone's.
func TestLeftoversThatCameAgain(t *testing.T) {
	b := migrationBench(t, "")
	if _, err := b.starts(migrationPlan()); err != nil {
		t.Fatal(err)
	}
	b.h.put("/etc/infiniband/mine", "mine\n")
	rep, err := b.rollback()
	if err != nil || !slices.Contains(rep.Kept, "/etc/infiniband") {
		t.Fatalf("%+v, %v", rep, err)
	}
	if got := b.h.text("/etc/infiniband/mine"); got != "mine\n" {
		t.Errorf("it is %q", got)
	}
	if got := b.h.text("/usr/src/ofa_kernel/x86_64/6.1.0-9-amd64/Module.symvers"); got != "0x1\n" {
		t.Errorf("the other is %q", got)
	}
}

// A package that could not be configured goes as well, and is so again after the rollback; one of somebody else stops.
func TestMigrationOfHalfAStack(t *testing.T) {
	breaks := func(b *bench, name string) {
		db := b.m.load()
		p := db.Packages[name+":amd64"]
		p.Status = pkgmgr.Broken
		db.Packages[name+":amd64"] = p
		b.m.store(db)
	}
	b := migrationBench(t, "")
	breaks(b, "scripts")
	before := b.h.tree()
	if rep, err := b.starts(migrationPlan()); err != nil || rep.Verdict != VerdictDone {
		t.Fatalf("%+v, %v", rep, err)
	}
	if _, err := b.rollback(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("rolled back (-before +after):\n%s", diff)
	}
	b = migrationBench(t, "")
	breaks(b, "tool")
	_, err := b.starts(migrationPlan())
	wantKind(t, err, fault.Stopped, "tool:amd64 is not installed whole")
}

// Somebody else's package that depends on what goes stops both ways, unless it is named.
func TestMigrationStopsForOthers(t *testing.T) {
	key, fingerprint := vendorKey(t, time.Now().AddDate(-1, 0, 0), 0)
	for name, c := range map[string]struct {
		p     plan.Plan
		needs string
	}{"to inbox": {migrationPlan(), "scripts"}, "to another release": {releasePlan(fingerprint), "lib"}} {
		b := migrationBench(t, key)
		b.m.repo["theirs"] = fakeRepo{version: "1.0", needs: []string{c.needs}}
		db := b.m.load()
		db.Packages["theirs:amd64"] = pkgmgr.Package{Name: "theirs", Arch: "amd64", Version: "1.0", Status: pkgmgr.Installed}
		b.m.store(db)
		before := b.h.tree()
		_, err := b.starts(c.p)
		wantKind(t, err, fault.Stopped, "remove theirs")
		if diff := cmp.Diff(before, b.h.tree()); diff != "" {
			t.Errorf("%s: something changed (-before +after):\n%s", name, diff)
		}
		b.opts.AllowRemove = []string{"theirs"}
		if rep, err := b.starts(c.p); err != nil || rep.Verdict != VerdictDone {
			t.Errorf("%s: %+v, %v", name, rep, err)
		}
		if _, err := b.rollback(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, b.h.tree()); diff != "" {
			t.Errorf("%s: rolled back (-before +after):\n%s", name, diff)
		}
	}
}

// A vendor's package that would come with the distribution's stops the run.
func TestMigrationTakesNothingOfTheVendor(t *testing.T) {
	b := migrationBench(t, "")
	b.m.repo["alpha"] = fakeRepo{version: "2.0", needs: []string{"beta"}}
	b.m.repo["beta"] = fakeRepo{version: "1.0-2410mlnx54"}
	_, err := b.starts(migrationPlan())
	wantKind(t, err, fault.Stopped, "beta 1.0-2410mlnx54 of a vendor")
}

// shortSighted answers for the host as it is, and for no other.
type shortSighted struct{ pkgmgr.Staging }

func (m shortSighted) WithRepositories(ctx context.Context, dir string, repos []pkgmgr.Repository) (pkgmgr.Manager, error) {
	staged, err := m.Staging.WithRepositories(ctx, dir, repos)
	return struct{ pkgmgr.Manager }{staged}, err
}

// A package manager that cannot be asked about the host without the old release stops before anything changes.
func TestReleaseAfterRemovalNeedsForesight(t *testing.T) {
	key, fingerprint := vendorKey(t, time.Now().AddDate(-1, 0, 0), 0)
	b := migrationBench(t, key)
	b.env.Manager = shortSighted{b.m}
	before := b.h.tree()
	p := releasePlan(fingerprint)
	p.Steps = slices.Delete(p.Steps, 3, 4)
	_, err := b.starts(p)
	wantKind(t, err, fault.Stopped, "cannot tell what the host would get")
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("something changed (-before +after):\n%s", diff)
	}
}

func TestReleaseAfterRemoval(t *testing.T) {
	key, fingerprint := vendorKey(t, time.Now().AddDate(-1, 0, 0), 0)
	b := migrationBench(t, key)
	before := b.h.tree()
	rep, err := b.starts(releasePlan(fingerprint))
	if err != nil || rep.Verdict != VerdictDone {
		t.Fatalf("%+v, %v", rep, err)
	}
	db := b.m.load()
	for name, want := range map[string]string{"lib": "44.0-2", "scripts": "", "vendor": "25.04", "driver": "24.10"} {
		if got := db.Packages[name+":amd64"].Version; got != want {
			t.Errorf("package %s is %q, want %q", name, got, want)
		}
	}
	if _, err := b.rollback(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("rolled back (-before +after):\n%s", diff)
	}
}

func TestCrashOfAMigrationAtEveryPoint(t *testing.T) {
	key, fingerprint := vendorKey(t, time.Now().AddDate(-1, 0, 0), 0)
	t.Run("to inbox", func(t *testing.T) {
		crashEverywhere(t, 100, func() *bench { return migrationBench(t, key) },
			func(b *bench) (RunReport, error) { return b.starts(migrationPlan()) }, journal.AwaitingReboot)
	})
	t.Run("to another release", func(t *testing.T) {
		crashEverywhere(t, 100, func() *bench { return migrationBench(t, key) },
			func(b *bench) (RunReport, error) { return b.starts(releasePlan(fingerprint)) })
	})
}
