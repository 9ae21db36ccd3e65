package roots

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmactl/rdmactl/install/pkgmgr"
)

// TestStaging: a repository that the host does not have is solved with and fetched from, while the
// host's configuration, files and database stay as they are; then what was staged is installed without
// the repository.
func TestStaging(t *testing.T) {
	for _, one := range []struct {
		name string
		make func(*testing.T) subject
		conf string
	}{
		{"apt", aptSubject, "/etc/apt/sources.list.d/good.list"},
		{"dnf", dnfSubject, "/etc/yum.repos.d/good.repo"},
		{"zypper", zypperSubject, "/etc/zypp/repos.d/good.repo"},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			s := one.make(t)
			s.must("rm", one.conf)
			trust := func() string { return "" }
			if s.release != "" {
				// The host trusts no key at all.
				for _, k := range strings.Fields(s.must("rpm", "-qa", "gpg-pubkey*")) {
					s.must("rpm", "-e", "--force-debian", k)
				}
				trust = func() string { return s.must("rpm", "-qa", "gpg-pubkey*") }
			}
			if warnings, err := s.m.Refresh(ctx); err != nil || len(warnings) > 0 {
				t.Fatalf("refresh: %v, %v", warnings, err)
			}
			if candidates, _, err := s.m.Available(ctx, []string{"alpha"}); err != nil || len(candidates) != 0 {
				t.Fatalf("the host has alpha already: %v, %v", candidates, err)
			}
			before, tree := s.db(), s.Tree()
			repo := pkgmgr.Repository{
				ID: "rdmactl-test", Name: "test", URL: s.URL + "/good", SignedIndex: true,
				Key: []byte(readFile(t, filepath.Join(s.repo, "trusted.asc"))),
			}
			const dir = "/var/lib/rdmactl/runs/test/repositories"
			staged, err := s.m.(pkgmgr.Staging).WithRepositories(ctx, dir, []pkgmgr.Repository{repo})
			if err != nil {
				t.Fatal(err)
			}
			if warnings, err := staged.Refresh(ctx); err != nil || len(warnings) > 0 {
				t.Fatalf("refresh: %v, %v", warnings, err)
			}
			candidates, sources, err := staged.Available(ctx, []string{"alpha"})
			if err != nil || candidates["alpha"].Version != s.v("2.0") || len(sources) == 0 {
				t.Fatalf("available: %v, %v, %v", candidates, sources, err)
			}
			req := s.want("alpha=2.0")
			sol, err := staged.Solve(ctx, req)
			if err != nil || len(sol.Actions) != 2 {
				t.Fatalf("answer: %v, %v", sol.Actions, err)
			}
			if err := staged.Fetch(ctx, req); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, s.db()); diff != "" {
				t.Errorf("staging changed the database:\n%s", diff)
			}
			if diff := cmp.Diff(tree, s.Tree()); diff != "" {
				t.Errorf("staging changed files:\n%s", diff)
			}
			if keys := trust(); keys != "" && one.name != "zypper" {
				t.Errorf("staging made rpm trust %s", keys)
			}
			s.Lose(func(*http.Request) bool { return true })
			// A run that is resumed stages again, and finds what it had.
			staged, err = s.m.(pkgmgr.Staging).WithRepositories(ctx, dir, []pkgmgr.Repository{repo})
			if err != nil {
				t.Fatal(err)
			}
			if err := staged.Apply(ctx, req); err != nil {
				t.Fatal(err)
			}
			if diff := pkgmgr.Difference(before, s.db(), sol.Actions); len(diff) > 0 {
				t.Errorf("the database differs from the answer: %v", diff)
			}
			if err := staged.Undo(ctx, pkgmgr.Undo{Purge: []string{"alpha", "beta"}}); err != nil {
				t.Fatal(err)
			}
			if u, ok := s.m.(pkgmgr.Untrusting); ok {
				if trust() == "" {
					t.Error("what was installed is signed by nobody")
				}
				if err := errors.Join(u.Untrust(ctx, dir), u.Untrust(ctx, dir), u.Untrust(ctx, "/nowhere")); err != nil {
					t.Fatal(err)
				}
				if keys := trust(); keys != "" {
					t.Errorf("after undo rpm trusts %s", keys)
				}
			}
			if diff := cmp.Diff(tree, s.Tree()); diff != "" {
				t.Errorf("files after undo (-before +after):\n%s", diff)
			}
		})
	}
}

// TestStagingRefusesOthersKey: a repository that is signed by another key than the one that was given.
func TestStagingRefusesOthersKey(t *testing.T) {
	for _, one := range []struct {
		name string
		make func(*testing.T) subject
	}{{"apt", aptSubject}, {"dnf", dnfSubject}, {"zypper", zypperSubject}} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			s := one.make(t)
			name := repoOtherIndex
			if one.name == "apt" {
				name = repoGood
				s.must("rm", "/etc/apt/sources.list.d/good.list") // one address with two keys is refused before all else
			}
			key := readFile(t, filepath.Join(s.repo, "trusted.asc"))
			if one.name == "apt" {
				key = readFile(t, filepath.Join(rpmReposOf(t), "stranger.asc"))
			}
			staged, err := s.m.(pkgmgr.Staging).WithRepositories(ctx, "/var/lib/rdmactl/runs/test/repositories", []pkgmgr.Repository{{
				ID: "rdmactl-test", URL: s.URL + "/" + name, SignedIndex: true, Key: []byte(key),
			}})
			if err != nil {
				t.Fatal(err)
			}
			warnings, err := staged.Refresh(ctx)
			var sig *pkgmgr.SignatureError
			if !errors.As(err, &sig) {
				t.Errorf("trusted: %v, %v", warnings, err)
			}
		})
	}
}

// TestConfiguredFiles: the files that configure a repository for good are read by the manager itself.
func TestConfiguredFiles(t *testing.T) {
	managers(t, func(t *testing.T, s subject) {
		ctx := context.Background()
		files, err := s.m.(pkgmgr.Staging).Files([]pkgmgr.Repository{{
			ID: "rdmactl-test", Name: "Vendor's", URL: s.URL + "/good", SignedIndex: true,
			Key: []byte(readFile(t, filepath.Join(s.repo, "trusted.asc"))),
		}})
		if err != nil {
			t.Fatal(err)
		}
		s.must("rm", "-rf", "/etc/yum.repos.d", "/etc/zypp/repos.d", "/etc/apt/sources.list.d")
		if err := pkgmgr.WriteFiles(s.Rooted, files); err != nil {
			t.Fatal(err)
		}
		if warnings, err := s.m.Refresh(ctx); err != nil || len(warnings) > 0 {
			t.Fatalf("refresh: %v, %v", warnings, err)
		}
		candidates, sources, err := s.m.Available(ctx, []string{"alpha"})
		if err != nil || candidates["alpha"].Version != s.v("2.0") || !slices.ContainsFunc(sources, func(l string) bool {
			return strings.Contains(l, "rdmactl-test") || strings.Contains(l, s.URL)
		}) {
			t.Errorf("available: %v, %v, %v", candidates, sources, err)
		}
	})
}
