package install

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install/build"
	"github.com/rdmactl/rdmactl/install/journal"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// packagesPlan builds the packages alpha and tool, of which tool is installed.
func packagesPlan() plan.Plan {
	return plan.Plan{
		Schema: plan.Schema, Verdict: plan.Install, Summary: "packages from source", Warnings: []plan.Reason{},
		Steps: []plan.Step{
			{ID: plan.BuildToolsStep, Kind: plan.KindPackages, Summary: "tools"},
			{ID: "build", Kind: plan.KindBuild, Summary: "build", Changes: plan.Changes{Build: &plan.BuildChange{Source: "/srv/source.tar.gz", SHA256: strings.Repeat("a", 64), Version: "2.0", Packages: "deb"}}},
			{ID: plan.BuiltPackagesStep, Kind: plan.KindPackages, Summary: "install", Changes: plan.Changes{BuiltBy: "build", Packages: []plan.PackageChange{
				{Name: "alpha", Action: "install"}, {Name: "tool", Action: "upgrade"},
			}}},
			{ID: "verify", Kind: plan.KindVerify, Summary: "verify"},
		},
	}
}

// buildingManager is a fake manager that knows what a build needs.
type buildingManager struct {
	*fakeManager
	needs []pkgmgr.Want
	unmet []string
}

func (m buildingManager) BuildNeeds(context.Context, string, []string) ([]pkgmgr.Want, error) {
	if len(m.unmet) > 0 {
		return nil, &pkgmgr.UnmetNeedsError{Lines: m.unmet}
	}
	return m.needs, nil
}

func (m buildingManager) WithRepositories(ctx context.Context, dir string, repos []pkgmgr.Repository) (pkgmgr.Manager, error) {
	for _, r := range repos {
		if err := r.Check(); err != nil {
			return nil, err
		}
		if _, err := m.h.Stat(strings.TrimPrefix(r.URL, "file:") + "/InRelease"); err != nil {
			return nil, err
		}
	}
	with, err := m.fakeManager.WithRepositories(ctx, dir, repos)
	if err != nil {
		return nil, err
	}
	return buildingManager{with.(*fakeManager), m.needs, m.unmet}, nil
}

const ours = "1.5-1+rdmactl1"

// packagesBench has a builder that makes small packages of the version ours.
func packagesBench(t *testing.T) (*bench, *buildingManager) {
	t.Helper()
	b := newBench(t)
	b.m.repo["alpha"] = fakeRepo{version: ours, needs: []string{"beta"}, vendor: true}
	b.m.repo["tool"] = fakeRepo{version: ours, vendor: true}
	b.m.repo["compiler"] = fakeRepo{version: "12"}
	m := &buildingManager{fakeManager: b.m, needs: []pkgmgr.Want{{Name: "compiler", Version: "12"}}}
	b.env.Manager = m
	b.env.Paths.Inside = "/var/lib/rdmactl"
	b.env.packager = &packager{
		index: ownIndex,
		able:  func(context.Context, build.Host) error { return nil },
		unpack: func(_ context.Context, _ build.Host, req build.Request) (build.Packaging, error) {
			work, err := req.PackagingWork()
			if err != nil {
				return build.Packaging{}, err
			}
			b.h.put(work+"/tree/debian/rules", "rules")
			return build.Packaging{Work: work, Version: ours, Packages: []string{"alpha", "tool", "extra"}}, nil
		},
		make: func(_ context.Context, _ build.Host, _ build.Request, p build.Packaging) (build.BuiltPackages, error) {
			b.h.tick()
			out := build.BuiltPackages{Dir: p.Work + "/debs", As: "nobody"}
			for _, name := range []string{"alpha", "tool", "extra"} {
				file := name + "_" + ours + "_amd64.deb"
				b.h.put(path.Join(out.Dir, file), smallDeb(t, name))
				out.Packages = append(out.Packages, build.PackageFile{Name: name, File: file})
			}
			return out, nil
		},
	}
	b.h.put("/var/cache/rdmactl/build/.keep", "") // the directory is there before and after
	return b, m
}

// smallDeb is a package without files.
func smallDeb(t *testing.T, name string) string {
	t.Helper()
	packed := func(name, text string) string {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		w := tar.NewWriter(z)
		var err error
		if name != "" {
			err = w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))})
			if err == nil {
				_, err = w.Write([]byte(text))
			}
		}
		if err := errors.Join(err, w.Close(), z.Close()); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	out := "!<arch>\n"
	for _, member := range [][2]string{
		{"debian-binary", "2.0\n"},
		{"control.tar.gz", packed("./control", "Package: "+name+"\nVersion: "+ours+"\nArchitecture: amd64\nMaintainer: Test <t@rdmactl.invalid>\nDescription: test\n")},
		{"data.tar.gz", packed("", "")},
	} {
		out += fmt.Sprintf("%-16s%-12d%-6d%-6d%-8o%-10d`\n", member[0], 0, 0, 0, 0o100644, len(member[1])) + member[1]
		if len(member[1])%2 == 1 {
			out += "\n"
		}
	}
	return out
}

func (b *bench) startPackages() (RunReport, error) {
	p := packagesPlan()
	if db := b.m.load(); db.Packages["alpha:amd64"].Version == ours && db.Packages["alpha:amd64"].Status == pkgmgr.Installed && db.Packages["tool:amd64"].Version == ours {
		p.Verdict, p.Steps = plan.NothingToDo, []plan.Step{} // as it is planned for such a host
	}
	return Start(context.Background(), b.env, p, b.opts)
}

func TestBuiltPackages(t *testing.T) {
	b, _ := packagesBench(t)
	before := b.h.tree()
	was := b.m.load()
	rep, err := b.startPackages()
	if err != nil {
		t.Fatal(err)
	}
	if rep.Verdict != VerdictDone || b.state(rep.RunID) != journal.Done {
		t.Errorf("%+v", rep)
	}
	db := b.m.load()
	for name, want := range map[string]string{"alpha": ours, "tool": ours, "compiler": "12", "beta": "1.0", "extra": ""} {
		if got := db.Packages[name+":amd64"].Version; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if !db.Auto["tool"] || db.Auto["alpha"] {
		t.Errorf("marked as dependencies: %v", db.Auto)
	}
	release, err := os.ReadFile(b.h.path(path.Join("/var/lib/rdmactl/runs", rep.RunID, "built/InRelease")))
	if err != nil || !strings.Contains(string(release), "-----BEGIN PGP SIGNED MESSAGE-----") {
		t.Errorf("the index is %q, %v", release, err)
	}
	if left, err := filepath.Glob(b.h.path(path.Join(build.Cache, "*"))); err != nil || len(left) != 1 { // .keep
		t.Errorf("the build left %v, %v", left, err)
	}
	if again, err := b.startPackages(); err != nil || again.Verdict != VerdictNothingToDo {
		t.Errorf("the second run: %+v, %v", again, err)
	}
	if _, err := b.rollback(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("rolled back (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(was, b.m.load()); diff != "" {
		t.Errorf("the package database (-before +after):\n%s", diff)
	}
}

// TestBuiltPackagesStop: what is known before stops before anything changes, what the build shows rolls the run back.
func TestBuiltPackagesStop(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*bench, *buildingManager)
		kind   fault.Kind
		says   string
	}{
		"needs that nobody has": {func(_ *bench, m *buildingManager) { m.unmet = []string{"Depends: cmake (>= 99)"} }, fault.Stopped, "cmake (>= 99)"},
		"an older source": {func(b *bench, _ *buildingManager) {
			db := b.m.load()
			p := db.Packages["tool:amd64"]
			p.Version = "1.5-2"
			db.Packages["tool:amd64"] = p
			b.m.store(db)
		}, fault.Stopped, "tool 1.5-2 is installed"},
		"a newer one in a repository": {func(b *bench, _ *buildingManager) { b.m.repo["tool"] = fakeRepo{version: "3.0"} }, fault.Stopped, "tool 3.0 is in a repository"},
		"a packaging without the package": {func(b *bench, _ *buildingManager) {
			unpack := b.env.packager.unpack
			b.env.packager.unpack = func(ctx context.Context, h build.Host, req build.Request) (build.Packaging, error) {
				p, err := unpack(ctx, h, req)
				p.Packages = []string{"alpha"}
				return p, err
			}
		}, fault.Stopped, "does not make tool"},
		"a host that cannot shut it in": {func(b *bench, _ *buildingManager) {
			b.env.packager.able = func(context.Context, build.Host) error {
				return fault.New(fault.Stopped, "cannot-confine", "", "cannot shut a build in")
			}
		}, fault.Stopped, "cannot shut"},
		"a build that fails": {func(b *bench, _ *buildingManager) {
			b.env.packager.make = func(context.Context, build.Host, build.Request, build.Packaging) (build.BuiltPackages, error) {
				return build.BuiltPackages{}, fault.New(fault.Failed, "build-failed", "", "cannot build packages: x.c is bad")
			}
		}, fault.RolledBack, "x.c is bad"},
		"packages of others that would go": {func(b *bench, _ *buildingManager) {
			b.m.repo["alpha"] = fakeRepo{version: ours, vendor: true, conflicts: []string{"other"}}
			db := b.m.load()
			db.Packages["other:amd64"] = pkgmgr.Package{Name: "other", Arch: "amd64", Version: "1", Status: pkgmgr.Installed}
			b.m.store(db)
		}, fault.RolledBack, "remove other"},
		"a package that is none": {func(b *bench, _ *buildingManager) {
			make := b.env.packager.make
			b.env.packager.make = func(ctx context.Context, h build.Host, req build.Request, p build.Packaging) (build.BuiltPackages, error) {
				out, err := make(ctx, h, req, p)
				b.h.put(path.Join(out.Dir, out.Packages[0].File), "no package")
				return out, err
			}
		}, fault.RolledBack, "alpha_"},
	} {
		t.Run(name, func(t *testing.T) {
			b, m := packagesBench(t)
			test.change(b, m)
			before := b.h.tree()
			_, err := b.startPackages()
			wantKind(t, err, test.kind, test.says)
			if diff := cmp.Diff(before, b.h.tree()); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
		})
	}
}

func TestCrashOfBuiltPackagesAtEveryPoint(t *testing.T) {
	key, _ := vendorKey(t, time.Now().AddDate(-1, 0, 0), 0)
	crashEverywhere(t, 50, func() *bench {
		b, _ := packagesBench(t)
		b.env.packager.index = func(_ context.Context, folder *os.Root, _ string, _ time.Time) (string, error) {
			return key, writeNew(folder, "InRelease", []byte("index"), 0o644) // a key of its own for each run takes long
		}
		return b
	}, (*bench).startPackages, journal.Done)
}

func TestDryRunOfBuiltPackages(t *testing.T) {
	b, m := packagesBench(t)
	before := b.h.tree()
	var out bytes.Buffer
	env := b.env
	env.Manager = m
	rep, err := DryRun(context.Background(), env, packagesPlan(), nil, &out)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(rep.Warnings, func(r plan.Reason) bool { return r.Code == "not-resolved" }) || rep.Verdict != VerdictDone {
		t.Errorf("%+v\n%s", rep, out.String())
	}
	if diff := cmp.Diff(before, b.h.tree()); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}
