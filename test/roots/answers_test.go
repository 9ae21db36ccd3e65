package roots

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/dnf"
	"github.com/rdmactl/rdmactl/install/pkgmgr/zypper"
)

// rpmManagers runs a test for each manager of rpm packages.
func rpmManagers(t *testing.T, test func(t *testing.T, kind rpmKind, s subject)) {
	t.Helper()
	for _, kind := range rpmKinds() {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			r := rpmRoot(t, kind.pose)
			r.configure(kind.dir, repoGood, kind.lines...)
			s := subject{Root: r, m: kind.make(r), release: "-1"}
			if warnings, err := s.m.Refresh(context.Background()); err != nil || len(warnings) > 0 {
				t.Fatalf("refresh: %v, %v", warnings, err)
			}
			test(t, kind, s)
		})
	}
}

// TestAnswers: what the managers announce beside plain installations.
func TestAnswers(t *testing.T) {
	rpmManagers(t, func(t *testing.T, kind rpmKind, s subject) {
		ctx := context.Background()
		s.apply(s.want("gamma=1.0", "kernel-devel=5.14.0", "kernel-source=5.14.0"))
		long := "a-package-with-a-very-long-name-that-does-not-fit-its-column"
		for _, one := range []struct {
			what string
			req  pkgmgr.Request
			want []string
		}{
			{"an obsolete package", s.want("obsolete=1.0"), []string{"remove gamma 1.0-1", "install obsolete  1.0-1"}},
			{"a row that is too long", s.want(long + "=1.0.20260101.git0123456789abcdef"), []string{"install " + long + "  1.0.20260101.git0123456789abcdef-1"}},
			{"an epoch", s.want("delta=3:1.0"), []string{"install delta  3:1.0-1"}},
			{"a second kernel", s.want("kernel-devel=5.15.0"), []string{"install kernel-devel-5.15.0-1  5.15.0-1"}},
			{"a kernel's name, but not side by side", s.want("kernel-source=5.15.0"), []string{"remove kernel-source-5.14.0-1 5.14.0-1", "install kernel-source-5.15.0-1  5.15.0-1"}},
			{"what others need", s.want("!beta"), []string{"remove beta 2.0-1", "remove gamma 1.0-1"}},
			{"what is not there", s.want("!rival"), []string{}},
			{"what is installed", s.want("gamma=1.0"), []string{}},
		} {
			if diff := cmp.Diff(one.want, shown(s.solve(one.req).Actions)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", one.what, diff)
			}
		}
		s.apply(s.want("kernel-source=5.15.0"))
		for what, req := range map[string]pkgmgr.Request{
			"a version that nobody has": s.want("delta=3:9.9"),
			"a name that nobody has":    s.want("nowhere=1.0"),
			"a provided name":           {Install: []pkgmgr.Want{{Name: "system-release", Version: "9.4-1"}}},
			"a wrong epoch":             s.want("delta=4:1.0"),
		} {
			if sol, err := s.m.Solve(ctx, req); err == nil {
				t.Errorf("%s: %v", what, sol.Actions)
			}
		}
		for _, name := range []string{"", "-y", "--nogpgcheck", "!alpha", "al*", "alpha beta", "/etc/passwd", "http://x/y.rpm", "alpha.rpm", "@group", "alpha;x", "alpha\nremove beta", "alpha>1"} {
			for _, req := range []pkgmgr.Request{{Install: []pkgmgr.Want{{Name: name, Version: "1.0-1"}}}, {Remove: []string{name}}} {
				if _, err := s.m.Solve(ctx, req); err == nil || !strings.Contains(err.Error(), "package name") {
					t.Errorf("name %q: %v", name, err)
				}
			}
		}
		for _, version := range []string{"", "1.0", "1.0-1 beta", "1.0-1\nremove beta", "-1", "1.0-1*", "x:1.0-1"} {
			if _, err := s.m.Solve(ctx, pkgmgr.Request{Install: []pkgmgr.Want{{Name: "alpha", Version: version}}}); err == nil || !strings.Contains(err.Error(), "version") {
				t.Errorf("version %q: %v", version, err)
			}
		}
	})
}

// TestSideBySide: a second kernel comes beside the first, and an undo takes only the second.
func TestSideBySide(t *testing.T) {
	rpmManagers(t, func(t *testing.T, kind rpmKind, s subject) {
		s.apply(s.want("kernel-devel=5.14.0"))
		before, tree := s.db(), s.Tree()
		s.apply(s.want("kernel-devel=5.15.0"))
		both := s.db()
		if p, ok := both.Find("kernel-devel"); !ok || p.Version != "5.15.0-1" || !both.Has("kernel-devel-5.14.0-1.noarch") {
			t.Errorf("both: %v", both)
		}
		if err := s.m.Undo(context.Background(), pkgmgr.Undo{Purge: []string{"kernel-devel-5.15.0-1"}}); err != nil {
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

// TestHeld: excludes and locks of the administrator are respected.
func TestHeld(t *testing.T) {
	rpmManagers(t, func(t *testing.T, kind rpmKind, s subject) {
		if kind.name == "dnf" {
			s.Put("/etc/dnf/dnf.conf", s.Text("/etc/dnf/dnf.conf")+"excludepkgs=beta-2*\n")
		} else {
			s.must("zypper", "--non-interactive", "addlock", "beta")
		}
		if sol, err := s.m.Solve(context.Background(), s.want("alpha=2.0")); err == nil {
			t.Errorf("the hold on beta is passed over: %v", sol.Actions)
		}
	})
}

// TestRepack: an installed package that no repository has any more is packed from its files, with its
// scripts, dependencies and configuration files; one that was changed is refused and named.
func TestRepack(t *testing.T) {
	rpmManagers(t, func(t *testing.T, kind rpmKind, s subject) {
		ctx := context.Background()
		s.apply(s.want("slow=1.0", "beta=2.0"))
		before, tree := s.db(), s.Tree()
		s.must("rm", "-f", "/waiting")
		s.Lose(func(r *http.Request) bool { return strings.Contains(r.URL.Path, "slow-1.0") })
		s.must("sh", "-c", "rm -rf /var/cache/dnf/*/packages /var/cache/zypp/packages")
		dir := "/var/lib/rdmactl/runs/test/packages"
		s.Put("/usr/share/slow/data", "changed\n")
		old := []pkgmgr.Package{before["slow:noarch"]}
		if kept, err := s.m.Keep(ctx, old, dir); err == nil || !strings.Contains(err.Error(), "slow") {
			t.Errorf("a changed package is kept: %v, %v", kept, err)
		}
		s.Put("/usr/share/slow/data", "1.0\n")
		kept, err := s.m.Keep(ctx, old, dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(kept) != 1 || !strings.Contains(kept[0].File, "unsigned") {
			t.Errorf("kept %v", kept)
		}
		for _, q := range []string{"--requires", "--provides", "--scripts", "--configfiles", "--list"} {
			installed := strings.Fields(s.must("rpm", "-q", q, "slow"))
			packed := strings.Fields(s.must("rpm", "-qp", "--nosignature", q, kept[0].File))
			slices.Sort(installed)
			slices.Sort(packed)
			if diff := cmp.Diff(slices.Compact(installed), slices.Compact(packed)); diff != "" {
				t.Errorf("%s (-installed +packed):\n%s", q, diff)
			}
		}
		s.apply(s.want("slow=2.0"))
		s.must("rm", "-f", "/waiting")
		if err := s.m.Undo(ctx, pkgmgr.Undo{Back: kept}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(s.Dir + "/waiting"); err != nil {
			t.Errorf("the script of the packed package did not run: %v", err)
		}
		if diff := cmp.Diff(before, s.db()); diff != "" {
			t.Errorf("the database after undo (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(tree, s.Tree()); diff != "" {
			t.Errorf("files after undo (-before +after):\n%s", diff)
		}
		// A kept file that was damaged since is not put back.
		s.apply(s.want("slow=2.0"))
		if err := flip(s.Dir + kept[0].File); err != nil {
			t.Fatal(err)
		}
		var sig *pkgmgr.SignatureError
		if err := s.m.Undo(ctx, pkgmgr.Undo{Back: kept}); !errors.As(err, &sig) {
			t.Errorf("a damaged file is put back: %v", err)
		}
	})
}

// TestEditedConfiguration: the administrator's file stays in its place, by every kind of package and
// through replacement, removal and their undo, and is spoken of.
func TestEditedConfiguration(t *testing.T) {
	rpmManagers(t, func(t *testing.T, kind rpmKind, s subject) {
		ctx := context.Background()
		notes := []string{}
		switch m := s.m.(type) {
		case *dnf.Manager:
			m.Note = func(text string) { notes = append(notes, text) }
		case *zypper.Manager:
			m.Note = func(text string) { notes = append(notes, text) }
		}
		s.apply(s.want("plain=1.0", "gamma=1.0", "beta=1.0"))
		for _, name := range []string{"plain", "gamma", "beta"} {
			s.Put("/etc/"+name+".conf", "the administrator's "+name+"\n")
		}
		before, tree := s.db(), s.Tree()
		kept, err := s.m.Keep(ctx, []pkgmgr.Package{before["plain:noarch"], before["gamma:noarch"], before["beta:noarch"]}, "/var/lib/rdmactl/runs/test/packages")
		if err != nil {
			t.Fatal(err)
		}
		s.apply(s.want("plain=2.0", "beta=2.0", "!gamma"))
		for _, name := range []string{"plain", "beta"} {
			if text := s.Text("/etc/" + name + ".conf"); text != "the administrator's "+name+"\n" {
				t.Errorf("%s.conf is %q", name, text)
			}
			if text := s.Text("/etc/" + name + ".conf.rpmnew"); text != "default 2.0\n" {
				t.Errorf("%s.conf.rpmnew is %q", name, text)
			}
			if !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "/etc/"+name+".conf") }) {
				t.Errorf("%s.conf is not spoken of: %q", name, notes)
			}
		}
		if text := s.Text("/etc/gamma.conf.rpmsave"); text != "the administrator's gamma\n" {
			t.Errorf("gamma.conf.rpmsave is %q", text)
		}
		if err := s.m.Undo(ctx, pkgmgr.Undo{Back: kept}); err != nil {
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
