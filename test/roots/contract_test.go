package roots

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/apt"
	"github.com/rdmactl/rdmactl/install/pkgmgr/dnf"
	"github.com/rdmactl/rdmactl/install/pkgmgr/zypper"
	"github.com/rdmactl/rdmactl/plan"
)

// subject is one package manager in a root with the repository "good" configured.
type subject struct {
	*Root
	m pkgmgr.Manager
	// release ends every version of a package: "-1" where packages have one.
	release string
	notes   *[]string
}

// v is a version as the manager writes it.
func (s subject) v(version string) string { return version + s.release }

func (s subject) want(words ...string) pkgmgr.Request {
	req := pkgmgr.Request{Install: []pkgmgr.Want{}}
	for _, w := range words {
		if name, ok := strings.CutPrefix(w, "!"); ok {
			req.Remove = append(req.Remove, name)
			continue
		}
		name, version, _ := strings.Cut(w, "=")
		req.Install = append(req.Install, pkgmgr.Want{Name: name, Version: s.v(version)})
	}
	return req
}

// configure writes a .repo file for one of the repositories.
func (r *Root) configure(dir, name string, lines ...string) {
	r.t.Helper()
	text := "[" + name + "]\nname=" + name + "\nbaseurl=" + r.URL + "/" + name + "/\nenabled=1\ngpgcheck=1\nrepo_gpgcheck=1\n" +
		"gpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-test\n" + strings.Join(lines, "\n") + "\n"
	r.Put(dir+"/"+name+".repo", text)
}

func dnfSubject(t *testing.T) subject {
	t.Helper()
	r := rpmRoot(t, "rocky")
	r.configure("/etc/yum.repos.d", repoGood)
	m := dnf.New(r)
	notes := &[]string{}
	m.Note = func(text string) { *notes = append(*notes, text) }
	return subject{Root: r, m: m, release: "-1", notes: notes}
}

func zypperSubject(t *testing.T) subject {
	t.Helper()
	r := rpmRoot(t, "leap")
	r.configure("/etc/zypp/repos.d", repoGood, "type=rpm-md", "autorefresh=0", "pkg_gpgcheck=1")
	m := zypper.New(r)
	notes := &[]string{}
	m.Note = func(text string) { *notes = append(*notes, text) }
	return subject{Root: r, m: m, release: "-1", notes: notes}
}

func aptSubject(t *testing.T) subject {
	t.Helper()
	r := debRoot(t)
	r.Put("/etc/apt/sources.list.d/good.list", "deb [signed-by=/etc/apt/keyrings/test.asc] "+r.URL+"/good ./\n")
	return subject{Root: r, m: apt.New(r), notes: &[]string{}}
}

// managers runs a test for each manager, on a root of its own.
func managers(t *testing.T, test func(t *testing.T, s subject)) {
	t.Helper()
	for _, one := range []struct {
		name string
		make func(*testing.T) subject
	}{{"apt", aptSubject}, {"dnf", dnfSubject}, {"zypper", zypperSubject}} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			s := one.make(t)
			if warnings, err := s.m.Refresh(context.Background()); err != nil || len(warnings) > 0 {
				t.Fatalf("refresh: %v, %v", warnings, err)
			}
			test(t, s)
			t.Logf("%.1f s", time.Since(begin).Seconds())
		})
	}
}

func (s subject) db() pkgmgr.Database {
	s.t.Helper()
	db, err := s.m.Installed(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	return db
}

func (s subject) auto() []string {
	s.t.Helper()
	auto, err := s.m.Auto(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	slices.Sort(auto)
	return auto
}

func (s subject) solve(req pkgmgr.Request) plan.Solution {
	s.t.Helper()
	sol, err := s.m.Solve(context.Background(), req)
	if err != nil {
		s.t.Fatal(err)
	}
	return sol
}

// apply solves, fetches and applies a request, and compares the database with the answer.
func (s subject) apply(req pkgmgr.Request) plan.Solution {
	s.t.Helper()
	ctx := context.Background()
	sol := s.solve(req)
	before, tree := s.db(), s.Tree()
	if err := s.m.Fetch(ctx, req); err != nil {
		s.t.Fatal(err)
	}
	if diff := cmp.Diff(before, s.db()); diff != "" {
		s.t.Errorf("fetch changed the database:\n%s", diff)
	}
	if diff := cmp.Diff(tree, s.Tree()); diff != "" {
		s.t.Errorf("fetch changed files:\n%s", diff)
	}
	if err := s.m.Apply(ctx, req); err != nil {
		s.t.Fatal(err)
	}
	if diff := pkgmgr.Difference(before, s.db(), sol.Actions); len(diff) > 0 {
		s.t.Errorf("the database differs from the answer: %v", diff)
	}
	if err := s.m.Healthy(ctx); err != nil {
		s.t.Errorf("not healthy afterwards: %v", err)
	}
	return sol
}

// shown are actions without what differs between managers.
func shown(actions []plan.ResolvedPackage) []string {
	out := []string{}
	for _, a := range actions {
		out = append(out, strings.TrimSpace(a.Action+" "+a.Name+" "+a.From+" "+a.Version))
	}
	return out
}

func TestInstallAndUndo(t *testing.T) {
	managers(t, func(t *testing.T, s subject) {
		ctx := context.Background()
		before, tree, autoBefore := s.db(), s.Tree(), s.auto()
		candidates, sources, err := s.m.Available(ctx, []string{"alpha", "delta", "nowhere"})
		if err != nil || len(candidates) != 2 || candidates["alpha"].Version != s.v("2.0") || candidates["delta"].Version != "3:"+s.v("1.0") || len(sources) == 0 {
			t.Errorf("available: %v, %v, %v", candidates, sources, err)
		}
		req := s.want("alpha=1.0")
		sol := s.apply(req)
		want := []string{"install alpha  " + s.v("1.0"), "install beta  " + s.v("2.0")}
		if diff := cmp.Diff(want, shown(sol.Actions)); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
		if sol.DownloadBytes <= 0 {
			t.Errorf("sizes %d, %d", sol.DownloadBytes, sol.InstalledBytes)
		}
		want = append(slices.Clone(autoBefore), "beta")
		slices.Sort(want)
		if diff := cmp.Diff(want, s.auto()); diff != "" {
			t.Errorf("marks (-want +got):\n%s", diff)
		}
		if again := s.solve(req); len(again.Actions) != 0 {
			t.Errorf("a second time: %v", again.Actions)
		}
		if err := s.m.Apply(ctx, req); err != nil {
			t.Errorf("a second time: %v", err)
		}
		undo := pkgmgr.Undo{Purge: []string{"alpha", "beta"}}
		actions, err := s.m.SolveUndo(ctx, undo)
		if err != nil || len(actions) != 2 {
			t.Errorf("undo would do %v, %v", actions, err)
		}
		s.Put("/etc/alpha.conf", "edited\n")
		if edited, err := s.m.Edited(ctx, []string{"alpha", "beta"}); err != nil || !slices.Equal(edited, []string{"/etc/alpha.conf"}) {
			t.Errorf("edited: %v, %v", edited, err)
		}
		if err := s.m.Undo(ctx, undo); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, s.db()); diff != "" {
			t.Errorf("the database after undo (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(tree, s.Tree()); diff != "" {
			t.Errorf("files after undo (-before +after):\n%s", diff)
		}
		if err := s.m.Undo(ctx, undo); err != nil {
			t.Errorf("undo a second time: %v", err)
		}
	})
}

func TestReplaceAndPutBack(t *testing.T) {
	managers(t, func(t *testing.T, s subject) {
		ctx := context.Background()
		s.apply(s.want("beta=1.0", "alpha=1.0"))
		if err := s.m.SetAuto(ctx, []string{"beta"}, nil); err != nil {
			t.Fatal(err)
		}
		s.Put("/etc/alpha.conf", "the administrator's\n")
		before, tree, auto := s.db(), s.Tree(), s.auto()
		req := s.want("alpha=2.0")
		sol := s.solve(req)
		want := []string{"upgrade alpha " + s.v("1.0") + " " + s.v("2.0"), "upgrade beta " + s.v("1.0") + " " + s.v("2.0")}
		if diff := cmp.Diff(want, shown(sol.Actions)); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
		old := []pkgmgr.Package{}
		for _, a := range sol.Actions {
			old = append(old, before[a.Name+":"+a.Arch])
		}
		dir := "/var/lib/rdmactl/runs/test/packages"
		kept, err := s.m.Keep(ctx, old, dir)
		if err != nil || len(kept) != 2 {
			t.Fatalf("kept %v, %v", kept, err)
		}
		for _, k := range kept {
			if _, err := os.Stat(filepath.Join(s.Dir, k.File)); err != nil {
				t.Error(err)
			}
		}
		if again, err := s.m.Keep(ctx, old, dir); err != nil || !cmp.Equal(again, kept) {
			t.Errorf("kept again: %v, %v", again, err)
		}
		s.apply(req)
		if text := s.Text("/etc/alpha.conf"); text != "the administrator's\n" {
			t.Errorf("the administrator's file is %q", text)
		}
		undo := pkgmgr.Undo{Back: kept}
		actions, err := s.m.SolveUndo(ctx, undo)
		if err != nil || len(actions) != 2 || actions[0].Action != "downgrade" {
			t.Errorf("undo would do %v, %v", actions, err)
		}
		if err := s.m.Undo(ctx, undo); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, s.db()); diff != "" {
			t.Errorf("the database after undo (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(tree, s.Tree()); diff != "" {
			t.Errorf("files after undo (-before +after):\n%s", diff)
		}
		// apt marks what is given as a file as asked for; a run restores the marks that it noted.
		if err := s.m.SetAuto(ctx, []string{"beta"}, []string{"alpha"}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(auto, s.auto()); diff != "" {
			t.Errorf("marks after undo (-before +after):\n%s", diff)
		}
	})
}

func TestReplaceByAnother(t *testing.T) {
	managers(t, func(t *testing.T, s subject) {
		ctx := context.Background()
		s.apply(s.want("gamma=1.0", "beta=2.0"))
		before, tree := s.db(), s.Tree()
		req := s.want("rival=1.0", "!gamma")
		sol := s.solve(req)
		want := []string{"remove gamma " + s.v("1.0"), "install rival  " + s.v("1.0")}
		if diff := cmp.Diff(want, shown(sol.Actions)); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
		// Without naming gamma, nothing may push it out.
		if sol, err := s.m.Solve(ctx, s.want("rival=1.0")); err == nil && len(sol.Actions) > 0 && !slices.Contains(shown(sol.Actions), want[0]) {
			t.Errorf("the conflict is passed over: %v", sol.Actions)
		}
		kept, err := s.m.Keep(ctx, []pkgmgr.Package{before["gamma:"+sol.Actions[0].Arch]}, "/var/lib/rdmactl/runs/test/packages")
		if err != nil {
			t.Fatal(err)
		}
		s.apply(req)
		undo := pkgmgr.Undo{Purge: []string{"rival"}, Back: kept}
		if err := s.m.Undo(ctx, undo); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, s.db()); diff != "" {
			t.Errorf("the database after undo (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(tree, s.Tree()); diff != "" {
			t.Errorf("files after undo (-before +after):\n%s", diff)
		}
	})
}
