package apt_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/host"
	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/install/pkgmgr"
	"github.com/rdmactl/rdmactl/install/pkgmgr/apt"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/plan"
)

// stocked is a root whose repository has alpha (needs beta, recommends delta), gamma (needs beta) and
// bad, whose script fails.
func stocked(t *testing.T) (*aptRoot, *apt.Manager) {
	t.Helper()
	r := newAptRoot(t)
	r.deb("alpha", "1.0", "Depends: beta\nRecommends: delta\n", "")
	r.deb("beta", "1.0", "", "")
	r.deb("gamma", "1.0", "Depends: beta\n", "")
	r.deb("delta", "1.0", "", "")
	r.deb("bad", "1.0", "Depends: beta\n", "#!/bin/sh\nexit 1\n")
	r.publish()
	m := apt.New(r)
	if warnings, err := m.Refresh(context.Background()); err != nil || len(warnings) > 0 {
		t.Fatalf("refresh: %v, %v", warnings, err)
	}
	return r, m
}

func request(words ...string) pkgmgr.Request {
	req := pkgmgr.Request{}
	for _, w := range words {
		name, version, _ := strings.Cut(w, "=")
		req.Install = append(req.Install, pkgmgr.Want{Name: name, Version: version})
	}
	return req
}

func apply(t *testing.T, m *apt.Manager, words ...string) {
	t.Helper()
	ctx := context.Background()
	if err := m.Fetch(ctx, request(words...)); err != nil {
		t.Fatal(err)
	}
	if err := m.Apply(ctx, request(words...)); err != nil {
		t.Fatal(err)
	}
}

func versions(t *testing.T, m *apt.Manager) map[string]string {
	t.Helper()
	db, err := m.Installed(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, p := range db {
		out[p.Name] = p.Version
		if p.Status != pkgmgr.Installed {
			out[p.Name] += " " + string(p.Status)
		}
	}
	return out
}

func TestRealInstallAndUndo(t *testing.T) {
	ctx := context.Background()
	r, m := stocked(t)
	before, tree := versions(t, m), r.tree()
	candidates, sources, err := m.Available(ctx, []string{"alpha", "nowhere"})
	if err != nil || candidates["alpha"].Version != "1.0" || len(candidates) != 1 || len(sources) != 1 {
		t.Errorf("available: %v, %v, %v", candidates, sources, err)
	}
	sol, err := m.Solve(ctx, request("alpha=1.0"))
	if err != nil {
		t.Fatal(err)
	}
	want := []plan.ResolvedPackage{
		{Name: "alpha", Arch: "all", Version: "1.0", Origin: "test:stable", Action: "install"},
		{Name: "beta", Arch: "all", Version: "1.0", Origin: "test:stable", Action: "install"},
	}
	for i := range sol.Actions {
		if i < len(want) && strings.Contains(sol.Actions[i].Origin, "stable") {
			sol.Actions[i].Origin = "test:stable" // how apt writes the origin of a flat repository differs by version
		}
	}
	if diff := cmp.Diff(want, sol.Actions); diff != "" {
		t.Errorf("solution (-want +got):\n%s", diff)
	}
	if sol.DownloadBytes <= 0 || sol.InstalledBytes <= 0 {
		t.Errorf("sizes %d, %d", sol.DownloadBytes, sol.InstalledBytes)
	}
	db, err := m.Installed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, m, "alpha=1.0")
	after, err := m.Installed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if diff := pkgmgr.Difference(db, after, sol.Actions); len(diff) > 0 {
		t.Errorf("the database differs from the answer: %v", diff)
	}
	if auto, err := m.Auto(ctx); err != nil || !slices.Equal(auto, []string{"beta"}) {
		t.Errorf("auto %v, %v", auto, err)
	}
	r.put("/etc/beta.conf", "edited\n")
	if edited, err := m.Edited(ctx, []string{"alpha", "beta"}); err != nil || !slices.Equal(edited, []string{"/etc/beta.conf"}) {
		t.Errorf("edited %v, %v", edited, err)
	}
	undo := pkgmgr.Undo{Purge: []string{"alpha", "beta"}}
	if actions, err := m.SolveUndo(ctx, undo); err != nil || len(actions) != 2 {
		t.Errorf("undo: %v, %v", actions, err)
	}
	apply(t, m, "gamma=1.0")
	actions, err := m.SolveUndo(ctx, undo)
	if err != nil || !slices.ContainsFunc(actions, func(a plan.ResolvedPackage) bool {
		return a.Name == "gamma" && a.Action == "remove" && a.Arch == "all"
	}) {
		t.Errorf("undo with a foreign package: %v, %v", actions, err)
	}
	undo.Purge = append(undo.Purge, "gamma")
	if err := m.Undo(ctx, undo); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, versions(t, m)); diff != "" {
		t.Errorf("packages left:\n%s", diff)
	}
	if diff := cmp.Diff(tree, r.tree()); diff != "" {
		t.Errorf("files left:\n%s", diff)
	}
}

func TestRealBadRepositories(t *testing.T) {
	tests := map[string]func(t *testing.T, r *aptRoot){
		"index changed after signing": func(t *testing.T, r *aptRoot) {
			replace(t, r.repo+"/InRelease", "Suite: stable", "Suite: stablf")
		},
		"signature taken away": func(t *testing.T, r *aptRoot) {
			if err := os.Remove(r.repo + "/InRelease"); err != nil {
				t.Fatal(err)
			}
		},
		"signed by another key": func(t *testing.T, r *aptRoot) {
			other := newAptRoot(t)
			other.deb("alpha", "1.0", "", "")
			other.publish()
			data, err := os.ReadFile(other.repo + "/InRelease")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(r.repo+"/InRelease", data, 0o644); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			r, m := stocked(t)
			spoil(t, r)
			_, err := m.Refresh(context.Background())
			var sig *pkgmgr.SignatureError
			if !errors.As(err, &sig) {
				t.Fatalf("refresh: %v, want a signature error", err)
			}
		})
	}
	t.Run("package changed after signing", func(t *testing.T) {
		r, m := stocked(t)
		f, err := os.OpenFile(r.repo+"/beta_1.0_all.deb", os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		err = m.Fetch(context.Background(), request("alpha=1.0"))
		if err == nil || !strings.Contains(err.Error(), "Hash Sum mismatch") {
			t.Errorf("fetch: %v", err)
		}
		if got := versions(t, m); len(got) != 0 {
			t.Errorf("packages came: %v", got)
		}
	})
	t.Run("repository gone", func(t *testing.T) {
		r, m := stocked(t)
		if err := os.Rename(r.repo, r.repo+"-away"); err != nil {
			t.Fatal(err)
		}
		warnings, err := m.Refresh(context.Background())
		if err == nil && len(warnings) == 0 {
			t.Error("nothing was said")
		}
	})
}

func replace(t *testing.T, file, from, to string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), from) {
		t.Fatalf("%s does not contain %q", file, from)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(data), from, to)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestRealFailingScript(t *testing.T) {
	ctx := context.Background()
	r, m := stocked(t)
	tree := r.tree()
	if err := m.Fetch(ctx, request("bad=1.0")); err != nil {
		t.Fatal(err)
	}
	err := m.Apply(ctx, request("bad=1.0"))
	var failed *pkgmgr.CommandError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "bad") {
		t.Fatalf("apply: %v", err)
	}
	if err := m.Healthy(ctx); err == nil || !strings.Contains(err.Error(), "bad") {
		t.Errorf("healthy: %v", err)
	}
	if _, err := m.Repair(ctx); err == nil {
		t.Error("a failing script was repaired")
	}
	if err := m.Undo(ctx, pkgmgr.Undo{Purge: []string{"bad", "beta"}}); err != nil {
		t.Fatal(err)
	}
	if err := m.Healthy(ctx); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(tree, r.tree()); diff != "" {
		t.Errorf("files left:\n%s", diff)
	}
}

func TestRealRepair(t *testing.T) {
	ctx := context.Background()
	dpkg := func(t *testing.T, r *aptRoot, args ...string) {
		t.Helper()
		if res, err := r.Run(ctx, host.Command{Argv: append([]string{"dpkg"}, args...)}); err != nil || res.Exit != 0 {
			t.Fatalf("dpkg %v: %v, %s", args, err, res.Stderr)
		}
	}
	tests := map[string]func(t *testing.T, r *aptRoot){
		"unpacked, not configured": func(t *testing.T, r *aptRoot) {
			dpkg(t, r, "--unpack", r.repo+"/beta_1.0_all.deb", r.repo+"/alpha_1.0_all.deb")
		},
		"unpacked, dependency not there yet": func(t *testing.T, r *aptRoot) {
			dpkg(t, r, "--unpack", r.repo+"/alpha_1.0_all.deb")
		},
		"half unpacked": func(t *testing.T, r *aptRoot) {
			dpkg(t, r, "--unpack", r.repo+"/beta_1.0_all.deb", r.repo+"/alpha_1.0_all.deb")
			replace(t, r.path("/var/lib/dpkg/status"), "install ok unpacked", "install reinstreq half-installed")
		},
	}
	for name, cut := range tests {
		t.Run(name, func(t *testing.T) {
			r, m := stocked(t)
			if text, err := m.Repair(ctx); text != "" || err != nil {
				t.Fatalf("repair of a whole database: %q, %v", text, err)
			}
			if err := m.Fetch(ctx, request("alpha=1.0")); err != nil {
				t.Fatal(err)
			}
			cut(t, r)
			if err := m.Healthy(ctx); err == nil {
				t.Fatal("a broken database is called healthy")
			}
			text, err := m.Repair(ctx)
			if err != nil || text == "" {
				t.Fatalf("repair: %q, %v", text, err)
			}
			apply(t, m, "alpha=1.0")
			if diff := cmp.Diff(map[string]string{"alpha": "1.0", "beta": "1.0"}, versions(t, m)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRealUpgradeAndBack(t *testing.T) {
	ctx := context.Background()
	r, m := stocked(t)
	apply(t, m, "alpha=1.0")
	tree := r.tree()
	r.deb("alpha", "2.0", "Depends: beta, delta\n", "")
	r.publish()
	if _, err := m.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	old, err := m.Keep(ctx, []pkgmgr.Package{{Name: "alpha", Arch: "all", Version: "1.0"}}, r.dir+"/var/lib/kept")
	if err != nil || len(old) != 1 {
		t.Fatalf("keep: %v, %v", old, err)
	}
	if _, err := m.Keep(ctx, []pkgmgr.Package{{Name: "alpha", Arch: "all", Version: "0.5"}}, r.dir+"/var/lib/kept"); err == nil {
		t.Error("a version that no repository has was kept")
	}
	sol, err := m.Solve(ctx, request("alpha=2.0"))
	if err != nil || sol.Actions[0].Action != "upgrade" || sol.Actions[0].From != "1.0" {
		t.Fatalf("solution %v, %v", sol, err)
	}
	apply(t, m, "alpha=2.0")
	undo := pkgmgr.Undo{Purge: []string{"delta"}, Back: old}
	actions, err := m.SolveUndo(ctx, undo)
	if err != nil || len(actions) != 2 {
		t.Fatalf("undo: %v, %v", actions, err)
	}
	if err := m.Undo(ctx, undo); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"alpha": "1.0", "beta": "1.0"}, versions(t, m)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tree, r.tree()); diff != "" {
		t.Errorf("files left:\n%s", diff)
	}
}

// TestRealRun takes the whole way through the engine.
func TestRealRun(t *testing.T) {
	ctx := context.Background()
	r, m := stocked(t)
	env := install.Env{Host: r, Paths: install.Paths{State: r.dir + "/var/lib/rdmactl", Log: r.dir + "/var/log/rdmactl", Lock: r.dir + "/run/rdmactl/lock"}}
	p := plan.Plan{Verdict: plan.Install, Summary: "test", Steps: []plan.Step{
		{ID: "packages", Kind: plan.KindPackages, Summary: "install alpha", Changes: plan.Changes{Packages: []plan.PackageChange{
			{Name: "alpha", Action: "install"}, {Name: "nowhere", Action: "install", Optional: true},
		}}},
		{ID: "files", Kind: plan.KindFiles, Summary: "write", Changes: plan.Changes{Files: []plan.FileChange{{Path: "/etc/rdma.d/x.conf", Action: "write", Mode: "0644", Content: "x\n"}}}},
	}}
	tree := r.tree()
	rep, err := install.Start(ctx, env, p, install.Options{Foreground: true})
	if err != nil || rep.Verdict != install.VerdictDone {
		t.Fatalf("%+v, %v", rep, err)
	}
	if diff := cmp.Diff(map[string]string{"alpha": "1.0", "beta": "1.0"}, versions(t, m)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	log, err := os.ReadFile(rep.Log)
	if err != nil || !strings.Contains(string(log), "apt-get install") || !strings.Contains(string(log), "= exit 0 after") {
		t.Errorf("log: %v\n%s", err, log)
	}
	again, err := install.Start(ctx, env, p, install.Options{Foreground: true})
	if err != nil || again.Verdict != install.VerdictNothingToDo {
		t.Fatalf("second run: %+v, %v", again, err)
	}
	r.put("/etc/alpha.conf", "edited\n")
	apply(t, m, "gamma=1.0")
	_, err = install.Rollback(ctx, env, install.RollbackOptions{Foreground: true})
	if fault.KindOf(err) != fault.Stopped || !strings.Contains(err.Error(), "gamma") {
		t.Fatalf("rollback under a foreign package: %v", err)
	}
	if err := m.Undo(ctx, pkgmgr.Undo{Purge: []string{"gamma"}}); err != nil {
		t.Fatal(err)
	}
	rep, err = install.Rollback(ctx, env, install.RollbackOptions{Foreground: true})
	if err != nil || rep.Verdict != install.VerdictRolledBack || !slices.Equal(rep.Kept, []string{"/etc/alpha.conf"}) {
		t.Fatalf("rollback: %+v, %v", rep, err)
	}
	tree["/etc/alpha.conf"] = "-rw-r--r-- edited\n"
	if diff := cmp.Diff(tree, r.tree()); diff != "" {
		t.Errorf("files left:\n%s", diff)
	}
	for _, argv := range r.asked {
		if err := host.Allowed(argv); err != nil {
			t.Errorf("a Reader would not run %q: %v", argv, err)
		}
	}
}
